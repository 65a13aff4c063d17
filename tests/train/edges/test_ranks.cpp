// Ranks and checkpoints beside training threads: nothing but rows is shared without locks.
#include <cstddef>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>
#include <wordloom/kernel/dot_kernel.hpp>
#include <wordloom/sampler/shared_negative.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/thread_ranks.hpp>
#include <wordloom/train/trainer.hpp>

#include "catch.hpp"
#include "support.hpp"
#include "train/paired_corpus.hpp"

using namespace wordloom;

namespace {

using RankTrainer = Trainer<SharedNegative, DotKernel, Allreduce<ThreadRanks>>;

}  // namespace

TEST_CASE("checkpoints are copied while threads and ranks train", "[trainer][checkpoint][sync]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary, 1000);
  const TemporaryFolder folder;
  for (const std::size_t ranks : {1u, 2u})
    ThreadRanks::run(ranks, [&](ThreadRanks self) {
      RankTrainer trainer(small(2), Allreduce<ThreadRanks>(self));
      trainer.checkpoint_to(folder / "state", 0s);
      trainer.on_progress([](const Progress& progress) { return progress.fraction() < 0.7; }, 0s);
      trainer.fit(corpus, vocabulary);
      if (!trainer.report().stopped) throw std::logic_error("not stopped");
      trainer.on_progress([](const Progress&) { return true; }, 0s);
      trainer.resume(corpus, vocabulary, folder / "state");
    });
  CHECK(detail::Checkpoint::load(folder / "state").ranks.size() == 2);
}

TEST_CASE("an exception on one rank reaches its caller, and names it on the others",
          "[trainer][sync]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  for (const std::string kind : {"library", "standard", "int"}) {
    std::vector<std::string> arrived(3);
    const auto work = [&](ThreadRanks self) {
      RankTrainer trainer(small(), Allreduce<ThreadRanks>(self));
      if (self.rank() == 1)
        trainer.on_progress(
            [&](const Progress& progress) {
              if (progress.fraction() < 0.5) return true;
              if (kind == "library") throw UnknownWord("mine");
              if (kind == "standard") throw std::out_of_range("mine");
              throw 42;
            },
            0s);
      std::string& here = arrived[self.rank()];
      try {
        trainer.fit(corpus, vocabulary);
      } catch (const std::exception& error) {
        here = error.what();
      } catch (int number) {
        here = std::to_string(number);
      }
    };
    ThreadRanks::run(3, work);
    const std::string cause = kind == "library"    ? "unknown word 'mine'"
                              : kind == "standard" ? "mine"
                                                   : "an exception that is not a std::exception";
    CHECK(arrived[1] == (kind == "int" ? "42" : cause));
    for (const std::size_t other : {0u, 2u}) CHECK(arrived[other] == "rank 1 has failed: " + cause);
  }
}

TEST_CASE("if ranks stop and the checkpoint cannot be written, only the first rank fails",
          "[trainer][checkpoint][sync]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  const TemporaryFolder folder;
  std::vector<std::string> arrived(2);
  std::filesystem::create_directory(folder / "there");
  ThreadRanks::run(2, [&](ThreadRanks self) {
    RankTrainer trainer(small(), Allreduce<ThreadRanks>(self));
    trainer.checkpoint_to(folder / "there" / "state");
    trainer.on_progress(
        [&](const Progress& progress) {
          if (progress.fraction() < 0.5) return true;
          if (self.rank() == 0) std::filesystem::remove_all(folder / "there");
          return false;
        },
        0s);
    try {
      trainer.fit(corpus, vocabulary);
    } catch (const Error& error) {
      arrived[self.rank()] = error.what();
    }
  });
  CHECK(contains(arrived[0], "cannot write checkpoint"));
  CHECK(contains(arrived[1], "rank 0 has failed: cannot write checkpoint"));
}
