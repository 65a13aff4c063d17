#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>
#include <wordloom/cuda/detail/device_rows.hpp>
#include <wordloom/cuda/detail/host_kernel.hpp>
#include <wordloom/cuda/detail/warp_scheme.hpp>
#include <wordloom/evaluation/word_tests.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/thread_ranks.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "demo_text.hpp"

using namespace wordloom;

namespace {

using Kernel = cuda::HostKernel<cuda::WarpScheme<11>, 1, cuda::HostTeam<32>>;
template <class Combine>
using DeviceSync = Allreduce<ThreadRanks, Combine, cuda::DeviceRows<cuda::HostMachine>>;
using RankTrainer = Trainer<SharedNegative, Kernel, DeviceSync<CoherentSum>, RankScaledDecay>;

RankTrainer rank_trainer(ThreadRanks self, SyncOptions options, std::size_t epochs) {
  return RankTrainer({.dimension = 32, .learning_rate = 0.05, .epochs = epochs},
                     DeviceSync<CoherentSum>(self, options));
}

bool same(const std::optional<Embeddings>& a, const std::optional<Embeddings>& b) {
  for (std::size_t i = 0; i < a->size(); ++i)
    if (!std::ranges::equal(a->vector(i), b->vector(i))) return false;
  return true;
}

}  // namespace

TEST_CASE("kernels on devices of several ranks learn the demo corpus together",
          "[sync][cuda][quality]") {
  const DemoText text(400'000);
  std::vector<std::optional<Embeddings>> of_ranks(2);
  ThreadRanks::run(2, [&](ThreadRanks self) {
    auto trainer = rank_trainer(self, {}, 3);
    of_ranks[self.rank()] = trainer.fit(text.corpus, text.vocabulary);
    // 64 an epoch.
    if (trainer.sync().synchronisations() != 192) throw TrainingError("other synchronisations");
  });
  CHECK(same(of_ranks[0], of_ranks[1]));
  CHECK(evaluate_analogies(*of_ranks[0], demo::analogies()).total.accuracy() >= 0.9);
}

TEST_CASE("kernels on devices resume from a checkpoint to the same bits",
          "[sync][cuda][checkpoint]") {
  const DemoText text(50'000);
  const TemporaryFolder folder;
  const SyncOptions waiting{.interval = 2000, .overlap = false};
  for (const std::size_t ranks : {1u, 2u}) {
    std::vector<std::optional<Embeddings>> whole(ranks), rest(ranks);
    std::vector<std::uint64_t> tokens(ranks);
    std::filesystem::remove(folder / "middle");
    ThreadRanks::run(ranks, [&](ThreadRanks self) {
      auto trainer = rank_trainer(self, waiting, 2);
      trainer.checkpoint_to(folder / "state", 0s);
      if (self.rank() == 0)
        trainer.on_progress(
            [&](const Progress& progress) {
              // What a kill at this moment would leave: in the middle of the second epoch.
              if (progress.fraction() > 0.7 && !std::filesystem::exists(folder / "middle"))
                std::filesystem::copy(folder / "state", folder / "middle");
              return true;
            },
            0s);
      whole[self.rank()].emplace(trainer.fit(text.corpus, text.vocabulary));
      tokens[self.rank()] = trainer.report().tokens;
    });
    const auto middle = detail::Checkpoint::load(folder / "middle");
    REQUIRE(middle.ranks.size() == ranks);
    CHECK(middle.ranks[0].threads[0].epoch == 1);
    CHECK(middle.ranks[0].threads[0].sentences > 0);
    ThreadRanks::run(ranks, [&](ThreadRanks self) {
      auto trainer = rank_trainer(self, waiting, 2);
      trainer.checkpoint_to(folder / "again", 0s);  // making rows agree is part of the run
      rest[self.rank()].emplace(trainer.resume(text.corpus, text.vocabulary, folder / "middle"));
      if (trainer.report().tokens != tokens[self.rank()]) throw TrainingError("other tokens");
    });
    for (std::size_t rank = 0; rank < ranks; ++rank) CHECK(same(whole[rank], rest[rank]));
  }
}

TEST_CASE("an interrupted kernel on a device resumes at its position", "[cuda][checkpoint]") {
  const DemoText text(100'000);
  const TemporaryFolder folder;
  using DeviceTrainer = Trainer<SharedNegative, Kernel>;
  const Hyperparameters parameters{.dimension = 32, .epochs = 2};
  const auto whole = DeviceTrainer(parameters).fit(text.corpus, text.vocabulary);
  DeviceTrainer stopped(parameters);
  stopped.checkpoint_to(folder / "state");
  stopped.on_progress([](const Progress& progress) { return progress.fraction() < 0.3; }, 0s);
  stopped.fit(text.corpus, text.vocabulary);
  REQUIRE(stopped.report().stopped);
  DeviceTrainer rest(parameters);
  const auto resumed = rest.resume(text.corpus, text.vocabulary, folder / "state");
  CHECK(rest.report().tokens == 2 * text.corpus.token_count());
  for (std::size_t i = 0; i < whole.size(); ++i)
    if (!std::ranges::equal(whole.vector(i), resumed.vector(i))) FAIL("row " << i << " differs");
}
