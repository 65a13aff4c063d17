// A custom rule that combines the changes of several ranks: their sum, clipped.
// Allreduce takes any type with gains() (wordloom/sync/combine.hpp). Usage: custom_combine TEXT
#include <cmath>
#include <exception>
#include <iostream>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/thread_ranks.hpp>
#include <wordloom/wordloom.hpp>

using namespace wordloom;

/// The sum of all changes of a row since the last agreement, but no step longer than `max_length`,
/// so that rows that all ranks change much do not overshoot.
struct ClippedSum {
  static constexpr float max_length = 0.25f;

  static RowSum::Gains gains(const RowSum& row) {
    const float length = std::sqrt(row.square);
    const float gain = length > max_length ? max_length / length : 1.0f;
    return {.along = gain, .rest = gain};
  }
};

/// Returns the loss of two ranks, threads of this process, that train one model together.
template <class Combine>
double train(const EncodedCorpus& corpus, const Vocabulary& vocabulary) {
  double loss = 0;
  ThreadRanks::run(2, [&](ThreadRanks self) {
    using Sync = Allreduce<ThreadRanks, Combine>;
    const Hyperparameters parameters{.epochs = 2, .threads = 1};  // of each rank
    Trainer<SharedNegative, FusedKernel, Sync> trainer(parameters, Sync(self));
    trainer.fit(corpus, vocabulary);
    if (self.rank() == 0) loss = trainer.report().loss;
  });
  return loss;
}

int main(int argc, char** argv) try {
  if (argc != 2) throw InvalidArgument("usage: custom_combine TEXT");
  const auto vocabulary = Vocabulary::from_text(argv[1]);
  const auto corpus = EncodedCorpus::from_text(argv[1], vocabulary);
  std::cout << "loss of two ranks: clipped sum " << train<ClippedSum>(corpus, vocabulary)
            << ", coherent sum " << train<CoherentSum>(corpus, vocabulary) << '\n';
} catch (const std::exception& error) {
  std::cerr << "custom_combine: " << error.what() << '\n';
  return 1;
}
