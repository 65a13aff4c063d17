// Fails on rank 1 in the way that its argument names, and says on each rank what arrives there.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/kernel/dot_kernel.hpp>
#include <wordloom/mpi.hpp>
#include <wordloom/sampler/shared_negative.hpp>

using namespace wordloom;

namespace {

Vocabulary vocabulary_of(std::size_t size) {
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  for (std::size_t i = 0; i < size; ++i) counts.emplace_back("w" + std::to_string(i), 100 - i);
  return Vocabulary::from_counts(counts);
}

void run(const std::string& failure) {
  MpiRanks ranks;
  const bool fails = ranks.rank() == 1;
  const auto vocabulary = vocabulary_of(fails && failure == "vocabulary" ? 11 : 10);
  const std::vector<std::vector<WordId>> text(2000, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  const auto corpus = EncodedCorpus::from_sentences(text, vocabulary_of(10));
  // Words are lost by the exception alone: nobody calls ranks.fail().
  if (fails && failure == "outside") throw UnknownWord("mine");
  ranks.gather(1);
  Trainer<SharedNegative, DotKernel, Allreduce<MpiRanks>> trainer(
      {.dimension = 16, .subsample = 0, .epochs = 3, .threads = 2}, Allreduce<MpiRanks>(ranks));
  if (fails)
    trainer.on_progress(
        [&](const Progress& progress) {
          if (failure == "end" && progress.fraction() == 1) throw UnknownWord("mine");
          if (progress.fraction() < 0.5) return true;
          if (failure == "library") throw UnknownWord("mine");
          if (failure == "standard") throw std::out_of_range("mine");
          if (failure == "int") throw 42;
          return true;
        },
        std::chrono::seconds(0));
  trainer.fit(corpus, vocabulary);
}

int say(const std::string& what) {
  std::cout << what + '\n' << std::flush;
  return 1;
}

}  // namespace

int main(int, char** arguments) {
  const MpiSession session;
  try {
    run(arguments[1]);
    say("no exception");
    return 0;
  } catch (const SyncError& error) {
    return say(std::string("SyncError: ") + error.what());
  } catch (const Error& error) {
    return say(std::string("Error: ") + error.what());
  } catch (const std::exception& error) {
    return say(std::string("std::exception: ") + error.what());
  } catch (int number) {
    return say("int: " + std::to_string(number));
  }
}
