// Several processes train one model. Usage: mpirun -np N train_by_ranks TEXT VECTORS
#include <exception>
#include <iostream>
#include <wordloom/mpi.hpp>
#include <wordloom/wordloom.hpp>

using namespace wordloom;

int main(int argc, char** argv) try {
  if (argc != 3) throw InvalidArgument("usage: mpirun -np N train_by_ranks TEXT VECTORS");

  MpiSession session;
  MpiRanks ranks;
  const auto vocabulary = rank_vocabulary(ranks, argv[1]);  // the same on all ranks
  const auto corpus = rank_corpus<EncodedCorpus>(ranks, argv[1], vocabulary);
  Trainer<SharedNegative, FusedKernel, Allreduce<MpiRanks>, RankScaledDecay> trainer{
      {.dimension = 128}, Allreduce<MpiRanks>(ranks)};
  const Embeddings words = trainer.fit(corpus, vocabulary);

  if (ranks.rank() == 0) words.save(argv[2]);
} catch (const std::exception& error) {
  std::cerr << "train_by_ranks: " << error.what() << '\n';
  return 1;
}
