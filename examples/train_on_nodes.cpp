// Trains a replica of one model on each NUMA node. Usage: train_on_nodes TEXT VECTORS
#include <exception>
#include <iostream>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/numa.hpp>
#include <wordloom/wordloom.hpp>

using namespace wordloom;

int main(int argc, char** argv) try {
  if (argc != 3) throw InvalidArgument("usage: train_on_nodes TEXT VECTORS");
  const auto vocabulary = Vocabulary::from_text(argv[1]);
  const auto corpus = EncodedCorpus::from_text(argv[1], vocabulary);

  run_on_nodes([&](ThreadRanks rank, std::size_t threads) {
    Trainer<SharedNegative, FusedKernel, Allreduce<ThreadRanks>, RankScaledDecay> trainer{
        {.dimension = 128, .threads = threads}, Allreduce(rank)};
    const Embeddings words = trainer.fit(corpus, vocabulary);  // the same on all ranks
    if (rank.rank() == 0) words.save(argv[2]);
  });
} catch (const std::exception& error) {
  std::cerr << "train_on_nodes: " << error.what() << '\n';
  return 1;
}
