#include <wordloom/sync/row_allgather.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <wordloom/kernel/with_optimizer.hpp>
#include <wordloom/optimizer/adam.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/bf16_ranks.hpp>
#include <wordloom/sync/thread_ranks.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "support.hpp"
#include "sync/column_scenario.hpp"

using namespace wordloom;

namespace {

using Sync = RowAllgather<ThreadRanks>;
static_assert(SyncPolicy<Sync>);

/// Ranks that sum, and do not gather rows.
class SumRanks : private ThreadRanks {
 public:
  SumRanks(ThreadRanks self) : ThreadRanks(std::move(self)) {}
  using ThreadRanks::begin_sum, ThreadRanks::done, ThreadRanks::wait, ThreadRanks::broadcast,
      ThreadRanks::gather, ThreadRanks::fail, ThreadRanks::rank, ThreadRanks::size;
};
static_assert(Bf16Collective<SumRanks> && !RowCollective<SumRanks>);

const ColumnScenario& scenario() {
  static const ColumnScenario all;
  return all;
}

constexpr auto no_options = [](std::size_t, auto&) {};

/// Returns what ranks train, each in a thread of its own. `prepare(rank, trainer)` sets options.
template <class Kernel, class Ranks = ThreadRanks, class Prepare = decltype(no_options)>
std::vector<std::optional<Model>> train_ranks(std::size_t ranks, const Hyperparameters& parameters,
                                              const ColumnScenario& text = scenario(),
                                              Prepare prepare = no_options) {
  std::vector<std::optional<Model>> result(ranks);
  ThreadRanks::run(ranks, [&](ThreadRanks self) {
    ColumnTrainer<RowAllgather<Ranks>, Kernel> trainer(parameters,
                                                       RowAllgather<Ranks>(Ranks(self)));
    Model model = trainer.new_model(text.vocabulary);
    prepare(self.rank(), trainer);
    trainer.train(text.matrix, model);
    result[self.rank()].emplace(std::move(model));
  });
  return result;
}

/// Returns whether all ranks have the bits of one model.
bool all_same(const std::vector<std::optional<Model>>& ranks, const Model& expected) {
  return std::ranges::all_of(
      ranks, [&](const std::optional<Model>& model) { return same_matrices(*model, expected); });
}

using AdamKernel = WithOptimizer<FusedKernel, Adam>;

}  // namespace

TEMPLATE_TEST_CASE("any number of ranks and threads trains the model of one process", "[sync]",
                   FusedKernel, AdamKernel) {
  const Model alone = train_alone<TestType>(scenario());
  CHECK(alone.state.size() == (std::is_same_v<TestType, AdamKernel> ? 6 : 0));
  CHECK_FALSE(same_matrix(alone.input, Model(scenario().vocabulary, 20).input));
  for (const std::size_t ranks : {1u, 2u, 3u, 8u})
    for (const std::size_t threads : {1u, 2u})
      CHECK(all_same(train_ranks<TestType>(ranks, ColumnScenario::parameters(threads)), alone));
}

TEST_CASE("ranks that can only sum, or that round sums, still gather rows exactly", "[sync]") {
  const Model alone = train_alone<AdamKernel>(scenario());
  const auto parameters = ColumnScenario::parameters();
  CHECK(all_same(train_ranks<AdamKernel, SumRanks>(3, parameters), alone));
  CHECK(all_same(train_ranks<AdamKernel, Bf16Ranks<ThreadRanks>>(3, parameters), alone));
  CHECK(all_same(train_ranks<AdamKernel, Bf16Ranks<SumRanks>>(3, parameters), alone));
}

namespace {

/// Each rank fills its own rows, [first[r], first[r + 1]), with numbers of which all bits matter.
template <class Ranks>
void gather_special_rows(const std::vector<std::uint64_t>& first) {
  constexpr std::array<float, 5> numbers{-0.0f, 0.0f, 1e-42f, -3.0000002f, 1e38f};
  const std::size_t ranks = first.size() - 1, size = 16;
  ThreadRanks::run(ranks, [&](ThreadRanks self) {
    std::vector<float> rows(first.back() * size, 7.0f), expected;
    for (std::size_t i = 0; i < rows.size(); ++i) expected.push_back(numbers[i % numbers.size()]);
    for (std::uint64_t i = first[self.rank()] * size; i < first[self.rank() + 1] * size; ++i)
      rows[i] = expected[i];
    Ranks all(self);
    detail::gather_rows(all, std::span<float>(rows), size, first);
    if (std::memcmp(rows.data(), expected.data(), rows.size() * sizeof(float)) != 0)
      throw TrainingError("rank " + std::to_string(self.rank()) + " has other bits");
  });
}

}  // namespace

TEMPLATE_TEST_CASE("rows are gathered exactly, bit for bit", "[sync]", ThreadRanks, SumRanks,
                   Bf16Ranks<ThreadRanks>) {
  gather_special_rows<TestType>({0, 5});
  gather_special_rows<TestType>({0, 5, 5, 12});  // rank 1 has none
  gather_special_rows<TestType>({0, 0, 0, 9, 9});
  SUCCEED("no rank has thrown");
}

TEST_CASE("ranges of rows that overlap or leave some out are refused", "[sync]") {
  const auto refused = [](std::size_t middle, std::size_t last) {
    std::vector<std::string> messages(2);
    ThreadRanks::run(2, [&](ThreadRanks self) {
      Sync sync(self);
      Model model(10, 3);
      try {
        if (self.rank() == 0)
          sync.share_rows(model, Model::Side::input, 0, middle);
        else
          sync.share_rows(model, Model::Side::input, 4, last);
      } catch (const InvalidArgument& error) {
        messages[self.rank()] = error.what();
        sync.fail(error.what());
      } catch (const SyncError& error) {
        messages[self.rank()] = error.what();
      }
    });
    return messages;
  };
  CHECK(refused(4, 10) == std::vector<std::string>(2));
  for (const auto& messages : {refused(3, 10), refused(5, 10), refused(4, 9)})
    CHECK((contains(messages[0], "must cover the matrix") &&
           contains(messages[1], "must cover the matrix")));
}

TEST_CASE("each rank sends its own rows, once for each step", "[sync]") {
  std::vector<std::uint64_t> bytes(3);
  ThreadRanks::run(3, [&](ThreadRanks self) {
    ColumnTrainer<Sync> trainer(ColumnScenario::parameters(), Sync(self));
    trainer.fit(scenario().matrix, scenario().vocabulary);
    bytes[self.rank()] = trainer.sync().bytes_sent();
  });
  const std::uint64_t steps = 2 * 2 * scenario().matrix.columns();
  CHECK(bytes[0] + bytes[1] + bytes[2] == steps * 3000 * 32 * sizeof(float));
  CHECK(bytes[0] < bytes[1] + bytes[2]);
}

TEST_CASE("more ranks than parts of a column train the model of one process", "[sync]") {
  const ColumnScenario small(100);
  const Model alone = train_alone<AdamKernel>(small);
  std::vector<std::uint64_t> tokens(3);
  CHECK(all_same(train_ranks<AdamKernel>(3, ColumnScenario::parameters(), small), alone));
  ThreadRanks::run(3, [&](ThreadRanks self) {
    ColumnTrainer<Sync> trainer(ColumnScenario::parameters(), Sync(self));
    trainer.on_progress([](const Progress&) {}, 0s);
    trainer.fit(small.matrix, small.vocabulary);
    tokens[self.rank()] = trainer.report().tokens;
  });
  std::ranges::sort(tokens);
  CHECK(tokens == std::vector<std::uint64_t>{0, 0, 2 * small.matrix.token_count()});
}

TEMPLATE_TEST_CASE(
    "stopping one rank stops all after the same column, and they resume to the same bits",
    "[sync][checkpoint]", FusedKernel, AdamKernel) {
  using RankTrainer = ColumnTrainer<Sync, TestType>;
  const Model alone = train_alone<TestType>(scenario());
  const TemporaryFolder folder;
  const auto parameters = ColumnScenario::parameters();
  const auto stopped =
      train_ranks<TestType>(3, parameters, scenario(), [&](std::size_t rank, RankTrainer& trainer) {
        trainer.checkpoint_to(folder / "state", 0s);
        if (rank == 1)
          trainer.on_progress([](const Progress& progress) { return progress.fraction() < 0.5; },
                              0s);
      });
  CHECK_FALSE(same_matrices(*stopped[0], alone));
  CHECK(all_same(stopped, *stopped[0]));

  const auto checkpoint = detail::Checkpoint::load(folder / "state");
  REQUIRE(checkpoint.ranks.size() == 3);
  for (const auto& rank : checkpoint.ranks) {
    CHECK(rank.threads[0].epoch == checkpoint.ranks[0].threads[0].epoch);
    CHECK(rank.threads[0].sentences == checkpoint.ranks[0].threads[0].sentences);
    CHECK(rank.tokens > 0);
  }
  const auto of_model = stopped[0]->matrices();
  REQUIRE(checkpoint.matrices.size() == of_model.size());
  for (std::size_t i = 0; i < of_model.size(); ++i)
    CHECK(same_matrix(checkpoint.matrices[i].matrix, *of_model[i].matrix));

  std::vector<std::optional<Model>> resumed(3);
  std::vector<std::uint64_t> tokens(3);
  ThreadRanks::run(3, [&](ThreadRanks self) {
    RankTrainer trainer(ColumnScenario::parameters(2), Sync(self));
    Model model = trainer.new_model(scenario().vocabulary);
    trainer.resume_training(scenario().matrix, model, folder / "state");
    tokens[self.rank()] = trainer.report().tokens;
    resumed[self.rank()].emplace(std::move(model));
  });
  CHECK(all_same(resumed, alone));
  CHECK(tokens[0] + tokens[1] + tokens[2] == 2 * scenario().matrix.token_count());

  // Any number of ranks resumes it to the same bits.
  for (const std::size_t ranks : {1u, 2u, 5u}) {
    resumed = std::vector<std::optional<Model>>(ranks);
    ThreadRanks::run(ranks, [&](ThreadRanks self) {
      RankTrainer trainer(parameters, Sync(self));
      Model model = trainer.new_model(scenario().vocabulary);
      trainer.resume_training(scenario().matrix, model, folder / "state");
      resumed[self.rank()].emplace(std::move(model));
    });
    CHECK(all_same(resumed, alone));
  }
}

TEST_CASE("a run without checkpoints stops on all ranks after the same column", "[sync]") {
  std::vector<std::uint64_t> columns(3);
  ThreadRanks::run(3, [&](ThreadRanks self) {
    ColumnTrainer<Sync> trainer(ColumnScenario::parameters(), Sync(self));
    trainer.on_progress(
        [&](const Progress&) {
          ++columns[self.rank()];
          return self.rank() != 2 || columns[2] < 3;
        },
        0s);
    trainer.fit(scenario().matrix, scenario().vocabulary);
    if (!trainer.report().stopped) throw TrainingError("not stopped");
  });
  CHECK(columns == std::vector<std::uint64_t>(3, 4));  // and the last report
}

TEST_CASE("a request to stop wins over a request for a checkpoint", "[sync]") {
  using enum RankInfo::Signal;
  for (const auto& [requests, agreed] :
       {std::pair{std::array{go_on, go_on, go_on}, go_on},
        std::pair{std::array{go_on, checkpoint, go_on}, checkpoint},
        std::pair{std::array{checkpoint, go_on, stop}, stop}})
    ThreadRanks::run(3, [&, &requests = requests, &agreed = agreed](ThreadRanks self) {
      Model model(4, 4);
      if (Sync(self).tick(model, 0.5, requests[self.rank()]) != agreed)
        throw TrainingError("another signal");
    });
  SUCCEED("no rank has thrown");
}

TEST_CASE("a checkpoint of another SyncPolicy is refused, on all ranks", "[sync][checkpoint]") {
  std::vector<std::string> messages(3);
  ThreadRanks::run(3, [&](ThreadRanks self) {
    Model model(4, 4);
    Sync sync(self);
    RankInfo run{.resumes = true, .positions = {{}, {0, self.rank() == 0 ? 5u : 0u}}};
    try {
      sync.start(model, run);
    } catch (const InvalidArgument& error) {
      messages[self.rank()] = error.what();
    }
  });
  for (const std::string& message : messages)
    CHECK(message == "the checkpoint was written with another SyncPolicy");
}

TEST_CASE("a rank that fails while it trains columns ends the others", "[sync]") {
  // In the third of ten columns, and after the last one, when the others may have ended.
  for (const std::size_t failing_call : {3u, 11u}) {
    std::vector<std::string> messages(3);
    const auto run = [&] {
      ThreadRanks::run(3, [&](ThreadRanks self) {
        ColumnTrainer<Sync> trainer(ColumnScenario::parameters(2), Sync(self));
        std::size_t calls = 0;
        if (self.rank() == 1)
          trainer.on_progress(
              [&](const Progress&) {
                if (++calls == failing_call) throw Error("the disk is full");
              },
              0s);
        try {
          trainer.fit(scenario().matrix, scenario().vocabulary);
        } catch (const Error& error) {
          messages[self.rank()] = error.what();
          if (self.rank() == 1) throw;
        }
      });
    };
    CHECK_THROWS_WITH(run(), "the disk is full");
    CHECK(messages[0] == "rank 1 has failed: the disk is full");
    CHECK(messages[2] == messages[0]);
  }
}

TEST_CASE("ranks that train different columns are refused, on all of them", "[sync]") {
  const ColumnScenario other_seed(3000, {.columns = 5, .seed = 9, .threads = 1});
  const auto refusals = [&](auto change, const ColumnScenario& of_rank_2) {
    std::vector<std::string> messages(3);
    ThreadRanks::run(3, [&](ThreadRanks self) {
      Hyperparameters parameters = ColumnScenario::parameters();
      UniformMatrix sampler;
      if (self.rank() == 2) change(parameters, sampler);
      const ColumnScenario& text = self.rank() == 2 ? of_rank_2 : scenario();
      ColumnTrainer<Sync> trainer(parameters, sampler, FusedKernel{}, Sync(self));
      try {
        trainer.fit(text.matrix, text.vocabulary);
      } catch (const SyncError& error) {
        messages[self.rank()] = error.what();
      }
    });
    return std::set<std::string>(messages.begin(), messages.end());
  };
  const auto expect = [](const std::set<std::string>& messages, const std::string& what) {
    REQUIRE(messages.size() == 1);
    CHECK(messages.begin()->starts_with("rank 2 has another " + what));
  };
  const auto nothing = [](Hyperparameters&, UniformMatrix&) {};
  expect(refusals([](Hyperparameters& p, UniformMatrix&) { p.seed = 5; }, scenario()),
         "method or set of hyperparameters");
  expect(refusals([](Hyperparameters&, UniformMatrix& s) { s.minibatch = 4; }, scenario()),
         "method or set of hyperparameters");
  expect(refusals(nothing, other_seed), "corpus (fingerprint)");
  expect(refusals(nothing, ColumnScenario(200)), "corpus (words)");
  CHECK(*refusals(nothing, scenario()).begin() == "");
}

TEST_CASE("ranks that train columns need a policy that shares rows", "[sync]") {
  std::vector<std::string> messages(2);
  ThreadRanks::run(2, [&](ThreadRanks self) {
    ColumnTrainer<Allreduce<ThreadRanks>> trainer(ColumnScenario::parameters(),
                                                  Allreduce<ThreadRanks>(self));
    messages[self.rank()] =
        message_of<InvalidArgument>([&] { trainer.fit(scenario().matrix, scenario().vocabulary); });
  });
  for (const std::string& message : messages)
    CHECK(message ==
          "ranks that train columns or strata need the SyncPolicy RowAllgather: this one has no "
          "share_rows(replica, side, first, last)");
}
