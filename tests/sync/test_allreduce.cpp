#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>
#include <wordloom/any_trainer.hpp>
#include <wordloom/evaluation/word_tests.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/thread_ranks.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "demo_text.hpp"
#include "small_models.hpp"
#include "sync/sync_run.hpp"

using namespace wordloom;

namespace {

constexpr std::size_t rows = 40, dimension = 5;

/// A learning rate with which each row has come to rest: what ranks did alike is averaged.
constexpr auto at_rest = [](double) { return 1e9; };

/// Row 0 is changed by all ranks, row 1 by rank 0 alone, row 2 by ranks 0 and 1, row 39 by nobody;
/// returns row i of the input matrix of each rank afterwards, less what it was.
template <class Combine>
std::vector<std::vector<float>> combined(std::size_t ranks, SyncOptions options = {},
                                         Combine combine = {}) {
  std::vector<std::vector<float>> result(ranks, std::vector<float>(rows));
  ThreadRanks::run(ranks, [&](ThreadRanks self) {
    // Other ranks start otherwise: the model of rank 0 is what counts.
    Model model(zipf_vocabulary(rows, 1000), dimension, self.rank() + 1);
    const Model start(zipf_vocabulary(rows, 1000), dimension, 1);
    Allreduce<ThreadRanks, Combine> sync(self, options, combine);
    RankInfo run = sync_run(model, 1000, {.epochs = 1}, at_rest);
    sync.start(model, run);
    const auto change = [&](std::size_t row, float by) {
      for (float& x : model.input.row(row)) x += by;
      for (float& x : model.output.row(row)) x += by;
    };
    const auto r = static_cast<float>(self.rank());
    change(0, 1 + r);
    if (self.rank() == 0) change(1, 8);
    if (self.rank() < 2) change(2, 4 + r);
    sync.finish(model);
    for (std::size_t i = 0; i < rows; ++i) {
      result[self.rank()][i] = model.input.row(i)[0] - start.input.row(i)[0];
      for (std::size_t d = 0; d < dimension; ++d)
        // CoherentSum treats what input rows have in common apart, which is anywhere.
        if (!std::is_same_v<Combine, CoherentSum> && !std::is_same_v<Combine, SyncOptions::Rule> &&
            model.output.row(i)[d] != model.output.row(i)[0])
          throw TrainingError("columns differ");
    }
  });
  return result;
}

}  // namespace

TEST_CASE("changes of ranks are combined by each rule", "[sync]") {
  for (const std::size_t first_rows : {1u, 7u, 1024u}) {
    const SyncOptions options{.first_rows = first_rows, .interval = 100};
    for (const auto& of_rank : combined<DeltaSum>(4, options)) {
      CHECK(of_rank[0] == Approx(1 + 2 + 3 + 4).epsilon(1e-5));
      CHECK(of_rank[1] == Approx(8).epsilon(1e-5));
      CHECK(of_rank[2] == Approx(4 + 5).epsilon(1e-5));
      CHECK(of_rank[39] == 0.0f);
    }
    for (const auto& of_rank : combined<Average>(4, options)) {
      CHECK(of_rank[0] == Approx(10.0 / 4).epsilon(1e-5));
      CHECK(of_rank[1] == Approx(8.0 / 4).epsilon(1e-5));
      CHECK(of_rank[2] == Approx(9.0 / 4).epsilon(1e-5));
      CHECK(of_rank[39] == 0.0f);
    }
    for (const auto& of_rank : combined<TouchedAverage>(4, options)) {
      CHECK(of_rank[0] == Approx(10.0 / 4).epsilon(1e-5));
      CHECK(of_rank[1] == Approx(8).epsilon(1e-5));
      CHECK(of_rank[2] == Approx(9.0 / 2).epsilon(1e-5));
      CHECK(of_rank[39] == 0.0f);
    }
    // Parallel: the sum of squares by the sum.
    for (const auto& of_rank : combined<CoherentSum>(4, options)) {
      CHECK(of_rank[0] == Approx((1 + 4 + 9 + 16) / 10.0).epsilon(1e-5));
      CHECK(of_rank[1] == Approx(8).epsilon(1e-5));
      // Row 0 may have been agreed on before, which gives the others something in common.
      CHECK(of_rank[2] == Approx((16 + 25) / 9.0).epsilon(5e-3));
      CHECK(of_rank[39] == 0.0f);
    }
  }
  CHECK(combined<DeltaSum>(1)[0][1] == Approx(8).epsilon(1e-5));
  // Chosen at run time they are the same, to the bit.
  using Kind = SyncOptions::Rule::Kind;
  CHECK(combined<SyncOptions::Rule>(4) == combined<CoherentSum>(4));
  CHECK(combined(4, {}, SyncOptions::Rule{Kind::average}) == combined<Average>(4));
  CHECK(combined(4, {}, SyncOptions::Rule{Kind::touched}) == combined<TouchedAverage>(4));
  CHECK(combined(4, {}, SyncOptions::Rule{Kind::sum}) == combined<DeltaSum>(4));
}

TEST_CASE("with an interval of an epoch, all rows are synchronised at its end only", "[sync]") {
  ThreadRanks::run(2, [&](ThreadRanks self) {
    Model model(zipf_vocabulary(rows, 1000), dimension);
    Allreduce<ThreadRanks, Average> sync(
        self, {.first_rows = 1, .interval = SyncOptions::epoch, .overlap = false});
    RankInfo run = sync_run(model, 1000, {.epochs = 4}, at_rest);
    sync.start(model, run);
    const std::vector<std::pair<double, std::size_t>> expected{
        {0.2, 0}, {0.249, 0}, {0.25, 1}, {0.49, 1}, {0.5, 2}, {0.8, 3}, {1.0, 3}};
    for (const auto& [progress, times] : expected) {
      model.input.row(rows - 1)[0] = static_cast<float>(self.rank());
      sync.tick(model, progress, RankInfo::Signal::go_on);
      if (sync.synchronisations() != times) throw TrainingError("synchronised at another time");
    }
    sync.finish(model);
    if (sync.synchronisations() != 4) throw TrainingError("not once an epoch");
    if (model.input.row(rows - 1)[0] != Approx(0.5)) throw TrainingError("not the mean");
    // All rows of both matrices and two numbers of each, and a flag.
    if (sync.bytes_sent() != 4 * sizeof(float) * (2 * rows * (dimension + 2) + 1))
      throw TrainingError("not all rows");
  });
  SUCCEED("no rank has thrown");
}

TEST_CASE("without overlap an exchange takes effect at the next synchronisation", "[sync]") {
  std::vector<std::vector<float>> seen(2);
  ThreadRanks::run(2, [&](ThreadRanks self) {
    Model model(zipf_vocabulary(rows, 1000), dimension);
    const float start = model.input.row(0)[0];
    Allreduce<ThreadRanks, DeltaSum> sync(self, {.interval = 100, .overlap = false});
    RankInfo run = sync_run(model, 1000, {.epochs = 1}, at_rest);
    sync.start(model, run);
    const auto tick = [&](double progress) {
      for (float& x : model.input.row(0)) x += self.rank() == 0 ? 1.0f : 8.0f;
      sync.tick(model, progress, RankInfo::Signal::go_on);
      seen[self.rank()].push_back(std::round(model.input.row(0)[0] - start));
    };
    tick(0.07);  // begins the first of ten
    tick(0.08);
    tick(0.14);  // begins the second
    sync.finish(model);
    seen[self.rank()].push_back(std::round(model.input.row(0)[0] - start));
  });
  CHECK(seen[0] == std::vector<float>{1, 2, 3 + 8, 27});
  CHECK(seen[1] == std::vector<float>{8, 16, 24 + 1, 27});
}

TEST_CASE("training during a synchronisation is not lost", "[sync]") {
  std::vector<float> result(2);
  std::barrier both(2);
  ThreadRanks::run(2, [&](ThreadRanks self) {
    Model model(zipf_vocabulary(rows, 1000), dimension);
    const float start = model.input.row(0)[0];
    Allreduce<ThreadRanks, DeltaSum> sync(self, {.interval = 100});
    RankInfo run = sync_run(model, 1000, {.epochs = 1}, at_rest);
    sync.start(model, run);
    const auto change = [&](float by) {
      for (float& x : model.input.row(0)) x += by;
    };
    change(1);
    sync.tick(model, 0.1, RankInfo::Signal::go_on);  // begins the first of ten
    change(10);                                      // while it travels
    both.arrive_and_wait();
    sync.finish(model);
    result[self.rank()] = model.input.row(0)[0] - start;
  });
  CHECK(result[0] == Approx(22).epsilon(1e-5));
  CHECK(result[1] == Approx(22).epsilon(1e-5));
}

namespace {

/// The vectors of each rank.
template <class Combine = CoherentSum>
std::vector<std::optional<Embeddings>> train_ranks(std::size_t ranks, Hyperparameters parameters,
                                                   SyncOptions options) {
  const auto& text = demo_text();
  std::vector<std::optional<Embeddings>> result(ranks);
  ThreadRanks::run(ranks, [&](ThreadRanks self) {
    using Sync = Allreduce<ThreadRanks, Combine>;
    Trainer<SharedNegative, FusedKernel, Sync, RankScaledDecay> trainer(parameters,
                                                                        Sync(self, options));
    result[self.rank()] = trainer.fit(text.corpus, text.vocabulary);
  });
  return result;
}

bool same(const std::optional<Embeddings>& a, const std::optional<Embeddings>& b) {
  for (std::size_t i = 0; i < a->size(); ++i)
    for (std::size_t d = 0; d < a->dimension(); ++d)
      if (a->vector(i)[d] != b->vector(i)[d]) return false;
  return true;
}

}  // namespace

TEST_CASE("ranks learn the demo corpus together", "[sync][quality]") {
  for (const std::size_t threads : {1u, 2u}) {
    const auto of_ranks =
        train_ranks(3, {.dimension = 32, .threads = threads}, {.bytes_per_word = 200});
    CHECK(same(of_ranks[0], of_ranks[1]));
    CHECK(same(of_ranks[0], of_ranks[2]));
    CHECK(evaluate_analogies(*of_ranks[0], demo::analogies()).total.accuracy() >= 0.9);
  }
}

namespace {

/// The models of three ranks that train a sampler on the demo corpus.
std::vector<std::optional<Model>> train_models(std::string_view sampler,
                                               const Hyperparameters& parameters) {
  const auto& text = demo_text();
  std::vector<std::optional<Model>> result(3);
  ThreadRanks::run(3, [&](ThreadRanks self) {
    AnyTrainer trainer =
        make_trainer(sampler, "fused", parameters,
                     {.sync = Allreduce<ThreadRanks>(self, {.bytes_per_word = 200})});
    Model model = trainer.new_model(text.vocabulary);
    trainer.train(text.corpus, model);
    result[self.rank()].emplace(std::move(model));
  });
  return result;
}

bool same(const RowMatrix& a, const RowMatrix& b) {
  if (a.rows() != b.rows()) return false;
  for (std::size_t i = 0; i < a.rows(); ++i)
    if (!std::equal(a.row(i).begin(), a.row(i).end(), b.row(i).begin())) return false;
  return true;
}

}  // namespace

TEST_CASE("ranks with every kind of targets and inputs end with equal models, and learn",
          "[sync][quality]") {
  const auto check = [](std::string_view sampler, double learning_rate, std::size_t output_rows) {
    INFO(sampler);
    const auto of_ranks =
        train_models(sampler, {.dimension = 32, .learning_rate = learning_rate, .threads = 1});
    CHECK(of_ranks[0]->output.rows() == output_rows);
    for (const std::size_t rank : {1u, 2u}) {
      CHECK(same(of_ranks[0]->input, of_ranks[rank]->input));
      CHECK(same(of_ranks[0]->output, of_ranks[rank]->output));
    }
    // One rank: similarity 0.81 to 0.91, analogies 0.69 (cbow-hs) to 0.98.
    const auto words = of_ranks[0]->embeddings();
    CHECK(evaluate_similarity(words, demo::similarity_pairs()).spearman >= 0.75);
    CHECK(evaluate_analogies(words, demo::analogies()).total.accuracy() >= 0.62);
  };
  const std::size_t V = demo_text().vocabulary.size();
  check("shared-hs", 0.025, V - 1);
  check("cbow-hs", 0.075, V - 1);
  check("shared-hs-negative", 0.025, 2 * V - 1);
  check("cbow", 0.075, V);
}

TEST_CASE("input and output may have different numbers of rows", "[sync]") {
  // 8,200 are more than travel at a time.
  for (const std::size_t output_rows : {rows - 1, 2 * rows - 1, std::size_t{8200}})
    for (const std::size_t first_rows : {1u, 1024u})
      ThreadRanks::run(3, [&](ThreadRanks self) {
        const auto vocabulary = zipf_vocabulary(rows, 1000);
        Model model(vocabulary, {.dimension = dimension, .output_rows = output_rows},
                    self.rank() + 1);
        const Model start(vocabulary, {.dimension = dimension, .output_rows = output_rows}, 1);
        RowMatrix& state = model.state_matrix("input.steps", rows, 1);
        for (std::size_t i = 0; i < rows; ++i) state.row(i)[0] = static_cast<float>(self.rank());
        Allreduce<ThreadRanks, DeltaSum> sync(self, {.first_rows = first_rows, .interval = 100});
        RankInfo run = sync_run(model, 1000, {.epochs = 1}, at_rest);
        sync.start(model, run);
        // All is as on rank 0, an optimizer's state too.
        if (!same(model.input, start.input) || state.row(rows - 1)[0] != 0.0f)
          throw TrainingError("models differ");
        const auto change = [&](RowMatrix& matrix, float by) {
          for (std::size_t i = 0; i < matrix.rows(); ++i)
            for (float& x : matrix.row(i)) x += by * static_cast<float>(i + 1);
        };
        const auto r = static_cast<float>(self.rank());
        change(model.input, 1 + r);  // 6 i in all
        change(model.output, 2 + r);
        sync.finish(model);
        const auto require = [&](const RowMatrix& now, const RowMatrix& before, float sum) {
          for (std::size_t i = 0; i < now.rows(); ++i)
            for (std::size_t d = 0; d < dimension; ++d)
              if (now.row(i)[d] - before.row(i)[d] !=
                  Approx(sum * static_cast<float>(i + 1)).epsilon(1e-4))
                throw TrainingError("row " + std::to_string(i) + " is not the sum");
        };
        require(model.input, start.input, 6);
        require(model.output, start.output, 9);
      });
  SUCCEED("no rank has thrown");
}

TEST_CASE("without overlap a run of several ranks repeats bit by bit", "[sync]") {
  const Hyperparameters parameters{.dimension = 20, .epochs = 1, .threads = 1};
  const SyncOptions options{.interval = 20'000, .overlap = false};
  CHECK(same(train_ranks(3, parameters, options)[1], train_ranks(3, parameters, options)[2]));
}

TEST_CASE("ranks without sentences take part", "[sync]") {
  const auto vocabulary = zipf_vocabulary(30);
  const auto corpus = EncodedCorpus::from_sentences(
      std::vector<std::vector<WordId>>{{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11}}, vocabulary);
  std::vector<std::uint64_t> tokens(5);
  ThreadRanks::run(5, [&](ThreadRanks self) {
    using Sync = Allreduce<ThreadRanks>;
    Trainer<SharedNegative, FusedKernel, Sync> trainer({.dimension = 8, .epochs = 3, .threads = 2},
                                                       Sync(self, {.interval = 1}));
    trainer.fit(corpus, vocabulary);
    tokens[self.rank()] = trainer.report().tokens;
  });
  // Two of the five ranks have a sentence.
  CHECK(std::accumulate(tokens.begin(), tokens.end(), std::uint64_t{0}) == 3 * 11);
  CHECK(std::ranges::count(tokens, std::uint64_t{0}) == 3);
}

namespace {

/// Ranks that note which threads begin sums, and may be for several of them.
struct NotingRanks : ThreadRanks {
  NotingRanks(ThreadRanks ranks, bool may, std::set<std::thread::id>& noted)
      : ThreadRanks(std::move(ranks)), any(may), threads(&noted) {}
  bool any_thread() const { return any; }
  void begin_sum(std::span<float> values) {
    threads->insert(std::this_thread::get_id());
    ThreadRanks::begin_sum(values);
  }

  bool any;
  std::set<std::thread::id>* threads;
};

}  // namespace

TEST_CASE("threads of a rank share the work of synchronising where they may", "[sync]") {
  for (const bool may : {false, true})
    ThreadRanks::run(2, [&](ThreadRanks self) {
      std::set<std::thread::id> threads;
      using Sync = Allreduce<NotingRanks>;
      Trainer<SharedNegative, FusedKernel, Sync> trainer(
          {.dimension = 16, .epochs = 1, .threads = 3},
          Sync(NotingRanks(self, may, threads), {.interval = 1000}));
      trainer.fit(demo_text().corpus, demo_text().vocabulary);
      if (may && threads.size() < 2) throw TrainingError("one thread does all");
      if (!may && threads != std::set{std::this_thread::get_id()})
        throw TrainingError("another thread than that of the ranks synchronises");
    });
  SUCCEED("no rank has thrown");
}

TEST_CASE("the learning rate starts higher with more ranks", "[sync]") {
  const Hyperparameters parameters{.learning_rate = 0.02};
  CHECK(RankScaledDecay::from(parameters).rate(0.3) == LinearDecay::from(parameters).rate(0.3));
  CHECK(RankScaledDecay::from(parameters, 64).rate(0) == Approx(0.04));
  CHECK(RankScaledDecay::from(parameters, 64).rate(0.5) == Approx(0.02));
}
