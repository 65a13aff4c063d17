#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <vector>
#include <wordloom/any_trainer.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/thread_ranks.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "demo_text.hpp"
#include "small_models.hpp"
#include "sync/sync_run.hpp"

using namespace wordloom;

namespace {

/// Long enough for dozens of synchronisations; nothing here depends on what is learnt.
const DemoText& short_text() {
  static const DemoText text(150'000);
  return text;
}

using RankTrainer = Trainer<SharedNegative, FusedKernel, Allreduce<ThreadRanks>, RankScaledDecay>;

RankTrainer rank_trainer(ThreadRanks self, SyncOptions options = {}) {
  return RankTrainer({.dimension = 16, .epochs = 2, .threads = 1},
                     Allreduce<ThreadRanks>(self, options));
}

}  // namespace

TEST_CASE("ranks resume from a checkpoint to the same bits", "[sync][checkpoint]") {
  const auto& text = short_text();
  const TemporaryFolder folder;
  // Seldom, and more often than threads report (every some hundred words).
  const SyncOptions waiting{.overlap = false}, often{.interval = 300, .overlap = false},
      of_few_bits{.overlap = false, .format = SyncOptions::Format::bits4};
  struct Case {
    std::size_t ranks;
    SyncOptions options;
  };
  for (const Case& of :
       {Case{1, waiting}, Case{3, often}, Case{3, of_few_bits}, Case{3, waiting}}) {
    const std::size_t ranks = of.ranks;
    const SyncOptions options = of.options;
    std::vector<std::optional<Embeddings>> whole(ranks), rest(ranks);
    std::vector<std::uint64_t> tokens(ranks);
    std::filesystem::remove(folder / "middle");
    ThreadRanks::run(ranks, [&](ThreadRanks self) {
      auto trainer = rank_trainer(self, options);
      trainer.checkpoint_to(folder / "state", 0s);
      if (self.rank() == 0)
        trainer.on_progress(
            [&](const Progress& progress) {
              // What a kill at this moment would leave.
              if (progress.fraction() > 0.6 && !std::filesystem::exists(folder / "middle"))
                std::filesystem::copy(folder / "state", folder / "middle");
              return true;
            },
            0s);
      whole[self.rank()].emplace(trainer.fit(text.corpus, text.vocabulary));
      tokens[self.rank()] = trainer.report().tokens;
    });
    CHECK(detail::Checkpoint::load(folder / "middle").ranks.size() == ranks);
    ThreadRanks::run(ranks, [&](ThreadRanks self) {
      auto trainer = rank_trainer(self, options);
      trainer.checkpoint_to(folder / "again", 0s);  // making rows agree is part of the run
      rest[self.rank()].emplace(trainer.resume(text.corpus, text.vocabulary, folder / "middle"));
      if (trainer.report().tokens != tokens[self.rank()]) throw TrainingError("other tokens");
    });
    for (std::size_t rank = 0; rank < ranks; ++rank)
      for (std::size_t i = 0; i < text.vocabulary.size(); ++i) {
        const auto a = whole[rank]->vector(i), b = rest[rank]->vector(i);
        if (!std::equal(a.begin(), a.end(), b.begin())) FAIL("row " << i << " differs");
      }
  }
  // The default format depends on the machines: any continues a checkpoint.
  using Format = SyncOptions::Format;
  for (const Format format : {Format::fp32, Format::bf16, Format::bits4, Format::bits2})
    ThreadRanks::run(3, [&](ThreadRanks self) {
      auto trainer = rank_trainer(self, {.overlap = false, .format = format});
      trainer.resume(text.corpus, text.vocabulary, folder / "middle");
      if (trainer.report().stopped || !(trainer.report().loss < 5))
        throw TrainingError("not trained to the end");
    });
  for (const SyncOptions& other :
       {SyncOptions{.interval = 1000, .overlap = false},
        SyncOptions{.first_rows = 100, .overlap = false}, SyncOptions{.overlap = true}})
    CHECK_THROWS_WITH(
        ThreadRanks::run(
            3,
            [&](ThreadRanks self) {
              rank_trainer(self, other).resume(text.corpus, text.vocabulary, folder / "middle");
            }),
        Catch::Contains("synchronise in another way (rule, interval"));
}

TEST_CASE("three ranks resume a run of four, then six resume it", "[sync][checkpoint]") {
  const auto& text = short_text();
  const TemporaryFolder folder;
  std::vector<std::size_t> epochs;
  std::vector<std::optional<Embeddings>> of_ranks(6);
  double until = 0.3;
  const auto go_on = [&](std::size_t ranks) {
    std::vector<std::uint64_t> tokens(ranks);
    ThreadRanks::run(ranks, [&](ThreadRanks self) {
      auto trainer = rank_trainer(self);
      trainer.checkpoint_to(folder / "state");
      trainer.on_progress([&](const Progress& now) { return now.fraction() < until; }, 0s);
      if (self.rank() == 0)
        trainer.on_epoch([&](const Progress& now) { epochs.push_back(now.epoch); });
      of_ranks[self.rank()] = ranks == 4
                                  ? trainer.fit(text.corpus, text.vocabulary)
                                  : trainer.resume(text.corpus, text.vocabulary, folder / "state");
      tokens[self.rank()] = trainer.report().tokens;
    });
    return std::accumulate(tokens.begin(), tokens.end(), std::uint64_t{0});
  };
  const auto all = static_cast<double>(2 * text.corpus.token_count());
  CHECK(static_cast<double>(go_on(4)) == Approx(0.3 * all).epsilon(0.2));
  CHECK(Checkpoint(folder / "state").team().ranks == 4);
  until = 0.7;
  CHECK(static_cast<double>(go_on(3)) == Approx(0.7 * all).epsilon(0.1));
  CHECK(epochs == std::vector<std::size_t>{0});
  until = 2;
  CHECK(static_cast<double>(go_on(6)) == Approx(all).epsilon(0.02));
  CHECK(epochs == std::vector<std::size_t>{0, 1});
  for (std::size_t rank = 1; rank < 6; ++rank)
    for (std::size_t i = 0; i < text.vocabulary.size(); ++i)
      if (!std::ranges::equal(of_ranks[rank]->vector(i), of_ranks[0]->vector(i)))
        FAIL("row " << i << " of rank " << rank);
}

TEST_CASE("ranks resume only with the same rule and the same times of synchronisation",
          "[sync][checkpoint]") {
  const SyncOptions uneven{.bytes_per_word = 1e-9}, by_epoch{.interval = SyncOptions::epoch};
  const auto resumes = [&](const SyncOptions& options, SyncOptions::Rule rule) {
    std::string message;
    ThreadRanks::run(1, [&](ThreadRanks self) {
      Model model(zipf_vocabulary(40, 1000), 5);
      RankInfo run = sync_run(model, 1000, {}, [](double) { return 0.1; });
      Allreduce first(self, by_epoch, SyncOptions::Rule()), second(self, options, rule);
      first.start(model, run);
      run.positions = first.gather(model, {});
      run.resumes = true;
      try {
        second.start(model, run);
      } catch (const InvalidArgument& error) {
        message = error.what();
      }
    });
    return message == "";
  };
  CHECK(resumes(by_epoch, {}));
  CHECK_FALSE(resumes(by_epoch, {SyncOptions::Rule::Kind::sum}));
  CHECK_FALSE(resumes(uneven, {}));  // as often, but denser at first
}

TEST_CASE("ranks resume with bags and the nodes of a tree", "[sync][checkpoint]") {
  const auto& text = short_text();
  const TemporaryFolder folder;
  const std::string sampler = GENERATE("cbow", "shared-hs");
  const auto trainer_of = [&](ThreadRanks self) {
    return make_trainer(sampler, "fused", {.dimension = 16, .epochs = 2, .threads = 1},
                        {.sync = Allreduce<ThreadRanks>(self, {.overlap = false})});
  };
  std::vector<std::optional<Model>> whole(2), rest(2);
  ThreadRanks::run(2, [&](ThreadRanks self) {
    auto trainer = trainer_of(self);
    Model model = trainer.new_model(text.vocabulary);
    trainer.checkpoint_to(folder / "state");
    trainer.on_progress([](const Progress& progress) { return progress.fraction() < 0.6; }, 0s);
    trainer.train(text.corpus, model);
    whole[self.rank()].emplace(std::move(model));
  });
  const auto checkpoint = detail::Checkpoint::load(folder / "state");
  REQUIRE(checkpoint.matrices.size() == 2);
  CHECK(checkpoint.ranks.size() == 2);
  CHECK(checkpoint.matrices[1].matrix.rows() == text.vocabulary.size() - (sampler != "cbow"));
  // They resume to the same on all ranks.
  ThreadRanks::run(2, [&](ThreadRanks self) {
    auto trainer = trainer_of(self);
    Model model = trainer.new_model(text.vocabulary);
    trainer.resume_training(text.corpus, model, folder / "state");
    rest[self.rank()].emplace(std::move(model));
  });
  const auto same = [](const RowMatrix& a, const RowMatrix& b) {
    for (std::size_t i = 0; i < a.rows(); ++i)
      if (!std::equal(a.row(i).begin(), a.row(i).end(), b.row(i).begin())) return false;
    return a.rows() == b.rows();
  };
  for (std::size_t rank = 0; rank < 2; ++rank) {
    CHECK(same(whole[rank]->input, checkpoint.matrices[0].matrix));
    CHECK(same(whole[rank]->output, checkpoint.matrices[1].matrix));
    CHECK(same(rest[rank]->input, rest[0]->input));
    CHECK(same(rest[rank]->output, rest[0]->output));
    CHECK_FALSE(same(rest[rank]->input, whole[rank]->input));
  }
}

TEST_CASE("each rank reports the end of each epoch once when one stops there and all resume",
          "[sync][checkpoint]") {
  const auto& text = short_text();
  const TemporaryFolder folder;
  std::vector<std::vector<std::size_t>> epochs(3);
  for (const bool resumes : {false, true})
    ThreadRanks::run(3, [&](ThreadRanks self) {
      auto trainer = rank_trainer(self, {.interval = 300});
      trainer.checkpoint_to(folder / "state");
      trainer.on_epoch([&](const Progress& progress) {
        epochs[self.rank()].push_back(progress.epoch);
        return resumes || self.rank() != 1 || progress.epoch != 0;
      });
      if (resumes)
        trainer.resume(text.corpus, text.vocabulary, folder / "state");
      else
        trainer.fit(text.corpus, text.vocabulary);
      if (trainer.report().stopped == resumes) throw TrainingError("not as it was told");
    });
  for (const auto& of_rank : epochs) CHECK(of_rank == std::vector<std::size_t>{0, 1});
}

TEST_CASE("stopping one rank stops all, and they resume from there", "[sync][checkpoint]") {
  const auto& text = short_text();
  const TemporaryFolder folder;
  for (const bool saves : {false, true}) {
    std::vector<std::uint64_t> stopped(3), whole(3);
    ThreadRanks::run(3, [&](ThreadRanks self) {
      auto trainer = rank_trainer(self);
      if (saves) trainer.checkpoint_to(folder / "state");
      trainer.on_progress(
          [&](const Progress& progress) { return self.rank() != 1 || progress.fraction() < 0.3; },
          0s);
      trainer.fit(text.corpus, text.vocabulary);
      if (!trainer.report().stopped) throw TrainingError("not stopped");
      stopped[self.rank()] = trainer.report().tokens;
    });
    for (const std::uint64_t tokens : stopped) {
      CHECK(tokens > text.corpus.token_count() / 6);
      CHECK(tokens < text.corpus.token_count() / 2);
    }
    if (!saves) continue;
    CHECK(detail::Checkpoint::load(folder / "state").ranks[1].tokens == stopped[1]);
    ThreadRanks::run(3, [&](ThreadRanks self) {
      auto trainer = rank_trainer(self);
      trainer.resume(text.corpus, text.vocabulary, folder / "state");
      whole[self.rank()] = trainer.report().tokens;
    });
    CHECK(whole[0] + whole[1] + whole[2] == 2 * text.corpus.token_count());
  }
  CHECK_THROWS_WITH(ThreadRanks::run(2,
                                     [&](ThreadRanks self) {
                                       auto trainer = rank_trainer(self);
                                       if (self.rank() == 1)
                                         trainer.checkpoint_to(folder / "state");
                                       trainer.fit(text.corpus, text.vocabulary);
                                     }),
                    Catch::Contains("rank 1 has another use of checkpoints"));
}
