// Rows that ranks pass on to each other, and the ranks that train by strata with them.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/evaluation/word_tests.hpp>
#include <wordloom/sync/detail/passed_rows.hpp>
#include <wordloom/sync/row_allgather.hpp>
#include <wordloom/sync/thread_ranks.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "demo_text.hpp"
#include "small_models.hpp"
#include "support.hpp"
#include "train/paired_corpus.hpp"
#include "train/strata_scenario.hpp"

using namespace wordloom;
using namespace strata_scenario;

TEST_CASE("rows that are passed on as fp32 keep all bits", "[sync]") {
  const std::vector<float> row{-0.0f, 0.0f, 1e-42f,    -3.0000002f,
                               3e38f, 0.1f, -INFINITY, std::bit_cast<float>(0x7fc12345u)};
  const auto got = passed(Format::fp32, row);
  CHECK(std::memcmp(got.data(), row.data(), row.size() * sizeof(float)) == 0);
  for (const std::size_t size : {1u, 7u, 100u}) {
    CHECK(PassedRows(Format::fp32, size).bytes() == 4 * size);
    CHECK(PassedRows(Format::bf16, size).bytes() == 2 * size);
    CHECK(PassedRows(Format::bits8, size).bytes() == 4 + size);
  }
}

TEST_CASE("rounded rows are off by less than a step, and on average by nothing", "[sync]") {
  constexpr std::size_t times = 2000;
  for (const Format format : {Format::bf16, Format::bits8})
    for (const std::size_t size : {1u, 7u, 40u}) {
      INFO("format " << static_cast<int>(format) << ", " << size << " values");
      const auto row = values_of(size, size);
      std::vector<double> sums(size);
      for (std::size_t seed = 0; seed < times; ++seed) {
        const auto got = passed(format, row, seed);
        for (std::size_t i = 0; i < size; ++i) {
          sums[i] += double{got[i]};
          if (std::abs(double{got[i]} - double{row[i]}) > step_of(format, row, i) * 1.0001)
            FAIL(row[i] << " becomes " << got[i]);
        }
      }
      // A value between two others has a deviation of half a step at most.
      for (std::size_t i = 0; i < size; ++i)
        if (std::abs(sums[i] / times - double{row[i]}) >
            4.5 * step_of(format, row, i) / 2 / std::sqrt(times) + 1e-7)
          FAIL(row[i] << " becomes " << sums[i] / times << " on average");
      CHECK(passed(format, row, 3) == passed(format, row, 3));
      if (size > 1) CHECK(passed(format, row, 3) != passed(format, row, 4));
    }
}

TEST_CASE("zeros stay zeros when rows are rounded, as 8 bits beside zeros", "[sync]") {
  for (const Format format : formats) {
    INFO("format " << static_cast<int>(format));
    CHECK(passed(format, std::vector<float>(9)) == std::vector<float>(9));
    // Enough of them that any random number comes up.
    std::vector<float> row(1 << 20);
    row[5] = -1;
    const auto got = passed(format, row);
    if (format == Format::bits8)  // which has no code for zero
      CHECK(std::ranges::all_of(
          got, [](float x) { return std::abs(x < -0.5f ? x + 1 : x) <= 0.501 / 127; }));
    else
      CHECK(std::ranges::count(got, 0.0f) == (1 << 20) - 1);
  }
}

TEST_CASE("the smallest numbers are rounded to a step, too, as 8 bits to zeros", "[sync]") {
  const std::vector<float> row{0.0f, 1e-38f, 0.0f, -2e-39f, 0.0f};
  for (const Format format : formats) {
    INFO("format " << static_cast<int>(format));
    const auto tiny = passed(format, row);
    for (std::size_t i = 0; i < row.size(); ++i)
      CHECK(std::abs(double{tiny[i]} - double{row[i]}) < (row[i] == 0               ? 1e-60
                                                          : format == Format::bits8 ? 1.1e-38
                                                                                    : 1e-40));
  }
}

TEST_CASE("a number that is not finite does not become finite when it is passed on", "[sync]") {
  for (const Format format : formats)
    for (const float wrong : {INFINITY, -INFINITY, std::numeric_limits<float>::quiet_NaN()})
      for (const std::size_t place : {0u, 4u, 32u}) {
        INFO("format " << static_cast<int>(format) << ", " << wrong << " at " << place);
        auto row = values_of(33, 5);
        row[place] = wrong;
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
          const auto got = passed(format, row, seed);
          CHECK_FALSE(std::isfinite(got[place]));
          if (std::isnan(wrong)) CHECK(std::isnan(got[place]));
        }
      }
}

TEST_CASE("each rank takes the rows of the rank behind, and at last all have the rows of each",
          "[sync]") {
  for (const Format format : formats) {
    INFO("format " << static_cast<int>(format));
    std::vector<std::vector<detail::NamedMatrix>> passed_on(3), gathered(3);
    std::vector<std::uint64_t> bytes(3);
    ThreadRanks::run(3, [&](ThreadRanks self) {
      const std::size_t r = self.rank();
      Sync sync(self, format);
      Model model = model_of(r);
      // Rank r gives 2 or 3 rows, rank 2 the last of them.
      const std::vector<std::vector<RowId>> given{{7, 2}, {4, 0}, {9, 8, 3}};
      sync.begin_pass(model, Model::Side::output, given[r], 3, one_thread);
      sync.end_pass(model, Model::Side::output, given[(r + 1) % 3], one_thread);
      passed_on[r] = model.copy_of_matrices();
      for (const auto side : {Model::Side::input, Model::Side::output})
        sync.gather_rows(model, side, std::vector<RowId>{1, 5, 3, 4, 11, 0, 2},
                         std::vector<std::uint64_t>{0, 3, 3, 7});
      bytes[r] = sync.bytes_sent();
      gathered[r] = model.copy_of_matrices();
    });
    const std::vector<std::set<RowId>> taken{{4, 0}, {9, 8, 3}, {7, 2}};
    const std::set<RowId> of_first{1, 5, 3}, of_last{4, 11, 0, 2};
    const std::size_t of_row = format == Format::fp32 ? 20 : format == Format::bf16 ? 10 : 9;
    CHECK(bytes ==
          std::vector<std::uint64_t>{3 * of_row + 2 * 3 * 20, 3 * of_row, 3 * of_row + 2 * 4 * 20});
    for (std::size_t r = 0; r < 3; ++r) {
      const Model before = model_of(r), behind = model_of((r + 1) % 3);
      CHECK(same_matrix(passed_on[r][0].matrix, before.input));
      for (RowId i = 0; i < 12; ++i) {
        const auto expected = taken[r].contains(i) ? behind.output.row(i) : before.output.row(i);
        const std::vector<float> values(expected.begin(), expected.end());
        for (std::size_t c = 0; c < 5; ++c) {
          const bool rounded = taken[r].contains(i) && format != Format::fp32;
          const double off = std::abs(double{passed_on[r][1].matrix.row(i)[c]} - double{values[c]});
          if (off > (rounded ? step_of(format, values, c) * 1.0001 : 0)) FAIL("row " << i);
        }
        for (const std::size_t side : {0u, 1u}) {
          const std::size_t from = of_first.contains(i) ? 0 : of_last.contains(i) ? 2 : r;
          if (!std::ranges::equal(gathered[r][side].matrix.row(i),
                                  passed_on[from][side].matrix.row(i)))
            FAIL("gathered row " << i << " of rank " << r);
        }
      }
    }
  }
}

namespace {

/// Ranks that exchange no text, and pass nothing on.
class GatheringRanks : private ThreadRanks {
 public:
  GatheringRanks(ThreadRanks self) : ThreadRanks(std::move(self)) {}
  using ThreadRanks::begin_sum, ThreadRanks::done, ThreadRanks::wait, ThreadRanks::broadcast,
      ThreadRanks::gather, ThreadRanks::fail, ThreadRanks::rank, ThreadRanks::size;
};

}  // namespace

TEST_CASE("ranks that cannot pass rows on are refused, and so are other formats", "[sync]") {
  ThreadRanks::run(1, [&](ThreadRanks self) {
    for (const Format format : {Format::bits4, Format::bits2, Format::bits1})
      CHECK(message_of<InvalidArgument>([&] { Sync(self, format); }) ==
            "rows that ranks pass on travel as fp32, bf16 or 8bit");
    for (const Format format : formats) CHECK(Sync(self, format).format() == format);
    CHECK(Sync(self).format() == Format::fp32);
    RowAllgather<GatheringRanks> other{GatheringRanks(self)};
    Model model(12, 5);
    CHECK(message_of<InvalidArgument>([&] { other.begin_exchange({""}); }) ==
          "these ranks cannot exchange text, which training by strata needs: use MpiRanks or "
          "ThreadRanks");
    CHECK(message_of<InvalidArgument>([&] {
            other.begin_pass(model, Model::Side::output, std::vector<RowId>{1}, 1, one_thread);
          }) ==
          "these ranks cannot pass rows on, which training by strata needs: use MpiRanks or "
          "ThreadRanks");
  });
}

TEST_CASE("any number of ranks trains by strata the model of one process", "[sync][strata]") {
  for (const auto& [strata, teams] :
       {std::pair{std::size_t{20},
                  std::vector<std::pair<std::size_t, std::size_t>>{
                      {1, 2}, {2, 1}, {2, 2}, {3, 1}, {3, 2}, {5, 1}}},
        {std::size_t{2}, {{2, 2}}},
        {std::size_t{3}, {{3, 1}, {2, 2}}}}) {
    const Model alone = train_strata(scenario(), 1, StrataScenario::sampler(strata));
    for (const auto& [ranks, threads] : teams) {
      INFO(ranks << " ranks of " << threads << " threads and " << strata << " strata");
      CHECK(all_same(train_team({ranks, threads, Format::fp32, strata}), alone));
    }
  }
}

TEST_CASE("ranks that round the rows which they pass on train nearly the same model",
          "[sync][strata]") {
  const Model alone = train_strata(scenario(), 1, StrataScenario::sampler(20));
  for (const Format format : {Format::bf16, Format::bits8}) {
    INFO("format " << static_cast<int>(format));
    const auto models = train_team({3, 1, format});
    CHECK(all_same(models, *models[0]));
    CHECK(all_same(train_team({3, 2, format}), *models[0]));
    CHECK(all_same(train_team({1, 2, format}), alone));  // passes nothing on
    CHECK_FALSE(same_matrices(*models[0], alone));
    for (const auto matrix : {&Model::input, &Model::output})
      for (std::size_t i = 0; i < alone.vocabulary.size(); ++i) {
        const auto a = (alone.*matrix).row(i), b = ((*models[0]).*matrix).row(i);
        const double similarity = cosine({a.begin(), a.end()}, {b.begin(), b.end()});
        if (similarity < 0.99) FAIL("row " << i << " has a cosine of " << similarity);
      }
  }
}

TEST_CASE("training by strata that was stopped resumes to the same bits", "[strata][checkpoint]") {
  const StrataScenario text;
  const Model whole = train_strata(text);
  const TemporaryFolder folder;
  const auto stop = [&](bool after_epoch) {
    StrataTrainer<> trainer(StrataScenario::parameters(2), StrataScenario::sampler());
    trainer.checkpoint_to(folder / "state");
    if (after_epoch)
      trainer.on_epoch([](const Progress&) { return false; });
    else
      trainer.on_progress([](const Progress& progress) { return progress.fraction() < 0.2; }, 0s);
    Model model = trainer.new_model(text.vocabulary);
    CHECK(trainer.train(text.corpus, model).stopped);
    CHECK_FALSE(same_matrices(model, whole));
    const auto state = detail::Checkpoint::load(folder / "state");
    CHECK(state.ranks.at(0).threads.at(0).epoch == (after_epoch ? 1 : 0));
    CHECK((state.ranks[0].threads[0].sentences > 0) == !after_epoch);  // episodes
  };
  for (const bool after_epoch : {true, false}) {
    stop(after_epoch);
    for (const std::size_t threads : {2u, 1u, 3u}) {
      StrataTrainer<> trainer(StrataScenario::parameters(threads), StrataScenario::sampler());
      Model model = trainer.new_model(text.vocabulary);
      std::vector<std::size_t> epochs;
      trainer.on_epoch([&](const Progress& progress) { epochs.push_back(progress.epoch); });
      const auto report = trainer.resume_training(text.corpus, model, folder / "state");
      CHECK(same_matrices(model, whole));
      CHECK(report.tokens == 2 * text.corpus.token_count());
      CHECK(epochs == (after_epoch ? std::vector<std::size_t>{1} : std::vector<std::size_t>{0, 1}));
    }
  }
  StrataTrainer<> other(StrataScenario::parameters(), StrataScenario::sampler(6));
  CHECK(contains(message_of<InvalidArgument>([&] {
                   static_cast<void>(other.resume(text.corpus, text.vocabulary, folder / "state"));
                 }),
                 "strata"));
}

TEST_CASE("ranks that one of them has stopped resume to the same bits", "[sync][strata]") {
  const TemporaryFolder folder;
  const auto sampler = StrataScenario::sampler(20);
  const Model whole = train_strata(scenario(), 1, sampler);
  stop_ranks(Format::fp32, folder / "state");
  for (const std::size_t ranks : {3u, 1u, 2u, 5u})
    CHECK(all_same(train_team({ranks, ranks % 2 + 1}, folder / "state"), whole));
  StrataTrainer<> alone(StrataScenario::parameters(2), sampler);
  Model model = alone.new_model(scenario().vocabulary);
  alone.resume_training(scenario().corpus, model, folder / "state");
  CHECK(same_matrices(model, whole));

  // Ranks continue the run of one process.
  alone.checkpoint_to(folder / "alone");
  alone.on_epoch([](const Progress&) { return false; });
  alone.fit(scenario().corpus, scenario().vocabulary);
  CHECK(alone.report().stopped);
  CHECK(all_same(train_team({3, 1}, folder / "alone"), whole));
}

TEST_CASE("ranks that round the rows which they pass on resume to the same bits, too",
          "[sync][strata]") {
  const TemporaryFolder folder;
  for (const Format format : {Format::bf16, Format::bits8}) {
    INFO("format " << static_cast<int>(format));
    stop_ranks(format, folder / "state");
    CHECK(all_same(train_team({3, 2, format}, folder / "state"), *train_team({3, 1, format})[0]));
  }
}

TEST_CASE("a rank that fails while it trains by strata ends the others", "[sync][strata]") {
  // At the third tick, and after the last one, when the others may have ended.
  const std::uint32_t steps = detail::steps_of_tick(1, 3, 7, 1500);
  CHECK((steps == 4 && detail::steps_of_tick(2, 8, 64, std::uint64_t{1} << 26) == 8));
  const std::size_t episodes = 2 * ((scenario().corpus.token_count() + 1499) / 1500);
  for (const std::size_t failing_call : {std::size_t{3}, 2 * episodes + 1})
    for (const std::size_t threads : {1u, 2u}) {
      std::vector<std::string> messages(3);
      const auto run = [&] {
        ThreadRanks::run(3, [&](ThreadRanks self) {
          RankTrainer trainer(StrataScenario::parameters(threads), StrataScenario::sampler(),
                              FusedKernel{}, Sync(self));
          std::size_t calls = 0;
          if (self.rank() == 1)
            trainer.on_progress(
                [&](const Progress&) {
                  if (++calls == failing_call) throw Error("the disk is full");
                },
                0s);
          try {
            trainer.fit(scenario().corpus, scenario().vocabulary);
          } catch (const SyncError& error) {
            messages[self.rank()] = error.what();
          }
        });
      };
      CHECK_THROWS_WITH(run(), "the disk is full");
      CHECK(messages[0] == "rank 1 has failed: the disk is full");
      CHECK(messages[1].empty());
      CHECK(messages[2] == messages[0]);
    }
}

TEST_CASE("an exception in any thread of a rank ends all threads of all ranks", "[sync][strata]") {
  for (const bool in_first_thread : {true, false})
    for (const std::size_t threads : {2u, 3u}) {
      std::vector<std::string> messages(2);
      const auto run = [&] {
        ThreadRanks::run(2, [&](ThreadRanks self) {
          StrataTrainer<FailingKernel, Sync> trainer(
              StrataScenario::parameters(threads), StrataScenario::sampler(40),
              FailingKernel{self.rank(), in_first_thread}, Sync(self));
          try {
            trainer.fit(scenario().corpus, scenario().vocabulary);
          } catch (const SyncError& error) {
            messages[self.rank()] = error.what();
          }
        });
      };
      CHECK_THROWS_WITH(run(), "no more rows");
      CHECK(messages == std::vector<std::string>{"rank 1 has failed: no more rows", ""});
    }
}

TEST_CASE("ranks that train by strata in different ways are refused, on all of them",
          "[sync][strata]") {
  const auto refusals = [&]<class Error>(std::size_t ranks, std::size_t strata, auto change) {
    std::set<std::string> messages;
    std::mutex guard;
    ThreadRanks::run(ranks, [&](ThreadRanks self) {
      StratifiedPairs sampler = StrataScenario::sampler(strata);
      Format format = Format::fp32;
      if (self.rank() == 1) change(sampler, format);
      RankTrainer trainer(StrataScenario::parameters(), sampler, FusedKernel{}, Sync(self, format));
      const auto message =
          message_of<Error>([&] { trainer.fit(scenario().corpus, scenario().vocabulary); });
      const std::lock_guard lock(guard);
      messages.insert(message);
    });
    return messages;
  };
  const auto nothing = [](StratifiedPairs&, Format&) {};
  CHECK(refusals.operator()<InvalidArgument>(3, 2, nothing) ==
        std::set<std::string>{
            "there are 3 ranks and 2 strata: set strata to that number or more; each has "
            "16 words or more"});
  CHECK(refusals.operator()<SyncError>(
            2, 7, [](StratifiedPairs& sampler, Format&) { sampler.episode = 999; }) ==
        std::set<std::string>{"rank 1 has another method or set of hyperparameters than rank 0 "
                              "(episode 999, not episode 1500)"});
  const auto formats_differ = refusals.operator()<SyncError>(
      2, 7, [](StratifiedPairs&, Format& format) { format = Format::bits8; });
  REQUIRE(formats_differ.size() == 1);
  CHECK(*formats_differ.begin() == "rank 1 has another format of rows than rank 0 (8, not 32)");
}

TEST_CASE("training by strata learns the known answers of the demo corpus, and ranks as well",
          "[sync][strata]") {
  const DemoText text(300'000);
  const Hyperparameters parameters{.dimension = 32, .epochs = 5, .threads = 1};
  const auto check = [](const Embeddings& words) {
    CHECK(evaluate_analogies(words, demo::analogies()).total.accuracy() >= 0.9);
    CHECK(evaluate_similarity(words, demo::similarity_pairs()).spearman >= 0.9);
  };
  check(StrataTrainer<>(parameters).fit(text.corpus, text.vocabulary));
  std::vector<std::optional<Embeddings>> all(4);
  ThreadRanks::run(4, [&](ThreadRanks self) {
    RankTrainer trainer(parameters, Sync(self, Format::bits8));
    trainer.sampler().strata = 4;
    all[self.rank()] = trainer.fit(text.corpus, text.vocabulary);
  });
  for (const auto& of_rank : all) CHECK(same(*of_rank, *all[0]));
  check(*all[0]);
}
