// What training by the columns of a word-context matrix computes.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>
#include <wordloom/optimizer/sgd.hpp>
#include <wordloom/testing/oracle.hpp>

#include "train/column_task.hpp"

using namespace column_task;

namespace {

/// The probability that two words of one topic are more alike than two of different topics.
double separation(const Embeddings& words) {
  std::vector<float> within, across;
  for (WordId a = 0; a < words.size(); ++a)
    for (WordId b = 0; b < a; ++b)
      (a % topics == b % topics ? within : across).push_back(words.similarity(a, b));
  std::ranges::sort(across);
  double below = 0;
  for (const float x : within)
    below += static_cast<double>(std::ranges::lower_bound(across, x) - across.begin());
  return below / static_cast<double>(within.size() * across.size());
}

}  // namespace

TEMPLATE_TEST_CASE("any number of threads trains columns to the same bits", "[columns]", Fused, Dot,
                   FusedWithAdam) {
  // Less than one part, exactly one, and several, of which the last is smaller.
  for (const std::size_t words : {41u, 256u, 700u}) {
    const Task task(words);
    const auto matrix = task.matrix(5);
    REQUIRE(matrix.words().size() == words);
    const Model expected = trained(TestType(parameters(1)), matrix, task.vocabulary);
    for (const std::size_t threads : {2u, 5u, 7u}) {
      INFO(words << " words, " << threads << " threads");
      CHECK(
          same_matrices(trained(TestType(parameters(threads)), matrix, task.vocabulary), expected));
    }
    auto other = parameters();
    other.seed = 2;
    CHECK_FALSE(same_matrices(trained(TestType(other), matrix, task.vocabulary), expected));
  }
}

TEST_CASE("a batch of an optimizer ends with each step of a column", "[columns]") {
  const Task task(300);
  const auto matrix = task.matrix(4);
  const auto train = [&](std::size_t threads, std::size_t batch) {
    return trained(
        FusedWithAdam(parameters(threads), UniformMatrix::from(parameters()), {.batch = batch}),
        matrix, task.vocabulary);
  };
  // No row comes twice in a step, so the bits are those of steps for single blocks.
  const Model expected = train(1, 1);
  for (const std::size_t threads : {1u, 2u, 3u})
    CHECK(same_matrices(train(threads, 100), expected));
}

TEST_CASE("a virtual and a mapped matrix train to the same bits in one epoch", "[columns]") {
  const Task task(300);
  const TemporaryFolder folder;
  const auto mapped = task.matrix(6, folder / "matrix");
  const auto in_memory = task.matrix(6);
  REQUIRE(mapped.is_mapped());
  REQUIRE_FALSE(in_memory.is_mapped());
  const auto train = [&](const auto& matrix, std::size_t threads, std::size_t epochs) {
    return trained(Fused(parameters(threads, epochs)), matrix, task.vocabulary);
  };
  CHECK(same_matrices(train(mapped, 2, 1), train(in_memory, 1, 1)));
  // Later epochs of a virtual matrix have new contexts.
  CHECK_FALSE(same_matrices(train(mapped, 1, 2), train(in_memory, 1, 2)));
}

TEMPLATE_TEST_CASE("training by columns learns which words are of one topic", "[columns]", Fused,
                   Dot, FusedWithAdam) {
  const Task task(80);
  const auto matrix = task.matrix(150);
  for (const std::size_t minibatch : {0u, 1u})
    for (const std::size_t threads : {1u, 3u}) {
      auto with = parameters(threads, 3);
      with.minibatch = minibatch;
      with.learning_rate = std::is_same_v<TestType, FusedWithAdam> ? 0.01 : 0.2;
      TestType trainer(with);
      const Embeddings words = trainer.fit(matrix, task.vocabulary);
      CHECK(trainer.report().epoch_losses.back() < trainer.report().epoch_losses.front());
      CHECK(separation(words) > 0.97);
    }
}

TEST_CASE("the loss of columns starts at log 2 for each target", "[columns]") {
  const Task task(600);
  auto with = parameters(2, 1);
  with.learning_rate = 1e-9;
  with.negatives = 4;
  Fused trainer(with);
  trainer.fit(task.matrix(9), task.vocabulary);
  CHECK(trainer.report().loss == Approx(5 * std::log(2.0)).epsilon(1e-4));
}

namespace {

/// A block of a step, and the learning rate that it was trained with.
struct Recorded {
  std::vector<RowId> inputs, outputs;
  std::vector<float> weights;
  std::size_t paired;
  Block::Sides update;
  float rate;
};

/// Records the blocks that it is given, and trains none. For one thread.
struct RecordingKernel {
  static constexpr Block::Features honours = FusedKernel::honours;
  std::vector<Recorded>* blocks = nullptr;

  template <class Visit>
  void visit_parameters(Visit&&) const {}

  struct Worker {
    std::vector<Recorded>* blocks;
    template <bool>
    double update(Model&, const Block& block, float rate) {
      blocks->push_back({{block.inputs.begin(), block.inputs.end()},
                         {block.outputs.begin(), block.outputs.end()},
                         {block.weights.values.begin(), block.weights.values.end()},
                         block.paired,
                         block.update,
                         rate});
      return 0.0;
    }
  };
  Worker worker(const Model&, Block::Shape) const { return {blocks}; }
};

/// Cuts the blocks of a run into those of single steps.
std::vector<std::vector<Recorded>> steps_of(const std::vector<Recorded>& blocks) {
  std::vector<std::vector<Recorded>> steps;
  for (const Recorded& block : blocks) {
    if (steps.empty() || steps.back().front().update != block.update) steps.emplace_back();
    steps.back().push_back(block);
  }
  return steps;
}

/// A step in the plainest code: `own` is the matrix that changes, `other` the one that stands
/// still.
void train_step(const std::vector<Recorded>& step, oracle::Matrix& own,
                const oracle::Matrix& other) {
  for (const Recorded& block : step) {
    const auto& moving = block.update == Block::Sides::inputs ? block.inputs : block.outputs;
    const auto& standing = block.update == Block::Sides::inputs ? block.outputs : block.inputs;
    for (std::size_t i = 0; i < moving.size(); ++i) {
      std::vector<double> change(own.columns);
      for (std::size_t j = 0; j < standing.size(); ++j) {
        if (j < block.paired && j != i) continue;  // the context of another word
        const double weight = static_cast<double>(block.weights[j]);
        double score = 0;
        for (std::size_t c = 0; c < own.columns; ++c)
          score += own.at(moving[i], c) * other.at(standing[j], c);
        const double label = weight > 0 ? 1.0 : 0.0;
        const double g = (label - 1 / (1 + std::exp(-score))) * std::abs(weight) *
                         static_cast<double>(block.rate);
        for (std::size_t c = 0; c < own.columns; ++c) change[c] += g * other.at(standing[j], c);
      }
      for (std::size_t c = 0; c < own.columns; ++c) own.at(moving[i], c) += change[c];
    }
  }
}

}  // namespace

TEST_CASE("each column is trained in two steps, each word once in both", "[columns]") {
  const Task task(600);
  constexpr std::size_t columns = 19;  // more than those whose contexts are found together
  const auto matrix = task.matrix(columns);
  std::vector<Recorded> blocks;
  Trainer(parameters(), UniformMatrix::from(parameters()), RecordingKernel{&blocks})
      .fit(matrix, task.vocabulary);
  const auto steps = steps_of(blocks);
  REQUIRE(steps.size() == 2 * 2 * columns);  // of two epochs
  std::set<std::vector<RowId>> all_negatives;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const std::size_t column = k / 2;
    std::vector<RowId> words, contexts;
    for (const Recorded& block : steps[k]) {
      CHECK(block.update == (k % 2 == 0 ? Block::Sides::inputs : Block::Sides::outputs));
      CHECK(static_cast<double>(block.rate) ==
            Approx(0.05 * (1 - static_cast<double>(column) / (2.0 * columns))));
      const auto& moving = k % 2 == 0 ? block.inputs : block.outputs;
      const auto& standing = k % 2 == 0 ? block.outputs : block.inputs;
      words.insert(words.end(), moving.begin(), moving.end());
      const auto partners = static_cast<std::ptrdiff_t>(block.paired);
      contexts.insert(contexts.end(), standing.begin(), standing.begin() + partners);
      all_negatives.emplace(standing.begin() + partners, standing.end());
    }
    CHECK(std::ranges::equal(words, matrix.words()));
    std::vector<WordId> expected(words.size());
    matrix.contexts(column, 0, expected);
    CHECK(contexts == expected);
  }
  // Five of 600 words: rarely twice the same in the same order.
  CHECK(all_negatives.size() > blocks.size() * 99 / 100);
}

TEMPLATE_TEST_CASE("columns are trained as two plain steps in double precision would", "[columns]",
                   Fused, Dot, (Trainer<UniformMatrix, WithOptimizer<FusedKernel, Sgd>>)) {
  for (const std::size_t words : {41u, 600u})
    for (const std::size_t minibatch : {1u, 16u, 200u}) {
      INFO(words << " words, B " << minibatch);
      const Task task(words);
      const auto matrix = task.matrix(3);
      auto with = parameters(2);
      with.minibatch = minibatch;
      with.shared_negatives = minibatch == 16 ? 9 : 0;
      with.learning_rate = 2;

      std::vector<Recorded> blocks;
      auto alone = with;
      alone.threads = 1;
      Trainer(alone, UniformMatrix::from(with), RecordingKernel{&blocks})
          .fit(matrix, task.vocabulary);
      TestType trainer(with);
      Model model = trainer.new_model(task.vocabulary);
      oracle::Model expected(model);
      for (const auto& step : steps_of(blocks))
        if (step.front().update == Block::Sides::inputs)
          train_step(step, expected.input, expected.output);
        else
          train_step(step, expected.output, expected.input);
      trainer.train(matrix, model);

      double worst = 0, largest = 0;
      const auto compare = [&](const RowMatrix& got, const oracle::Matrix& want) {
        for (std::size_t i = 0; i < got.rows(); ++i)
          for (std::size_t c = 0; c < got.columns(); ++c) {
            worst = std::max(worst, std::abs(static_cast<double>(got.row(i)[c]) - want.at(i, c)));
            largest = std::max(largest, std::abs(want.at(i, c)));
          }
      };
      compare(model.input, expected.input);
      compare(model.output, expected.output);
      CHECK(largest > 0.1);  // it has learnt
      CHECK(worst < 1e-5 * largest);
    }
}
