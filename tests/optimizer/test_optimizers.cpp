#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/kernel/dot_kernel.hpp>
#include <wordloom/kernel/fused_kernel.hpp>
#include <wordloom/kernel/with_optimizer.hpp>
#include <wordloom/optimizer/ada_grad.hpp>
#include <wordloom/optimizer/adam.hpp>
#include <wordloom/optimizer/sgd.hpp>
#include <wordloom/sampler/hogwild.hpp>
#include <wordloom/train/checkpoint.hpp>
#include <wordloom/train/trainer.hpp>
#if WORDLOOM_HAS_BLAS
#include <wordloom/kernel/gemm_kernel.hpp>
#endif

#include "catch.hpp"
#include "kernel/block_checks.hpp"
#include "small_models.hpp"
#include "support.hpp"

using namespace wordloom;
using namespace wordloom_test;

namespace {

/// A row and its state in double precision, changed by the plainest code.
struct OracleRow {
  std::vector<double> values, mean, square;
  double steps = 0, sum = 0;

  explicit OracleRow(std::span<const float> row)
      : values(row.begin(), row.end()), mean(row.size()), square(row.size()) {}

  void step(const Sgd&, std::span<const float> gradient, double rate) {
    for (std::size_t c = 0; c < values.size(); ++c)
      values[c] += rate * static_cast<double>(gradient[c]);
  }
  void step(const AdaGrad& policy, std::span<const float> gradient, double rate) {
    for (const float x : gradient) {
      const auto g = static_cast<double>(x);
      sum += g * g / static_cast<double>(values.size());
    }
    for (std::size_t c = 0; c < values.size(); ++c) {
      const auto g = static_cast<double>(gradient[c]);
      square[c] += g * g;
      values[c] += rate * g / (std::sqrt(policy.per_row ? sum : square[c]) + policy.epsilon);
    }
  }
  void step(const Adam& policy, std::span<const float> gradient, double rate) {
    steps += 1;
    for (std::size_t c = 0; c < values.size(); ++c) {
      const auto g = static_cast<double>(gradient[c]);
      mean[c] = policy.beta1 * mean[c] + (1 - policy.beta1) * g;
      square[c] = policy.beta2 * square[c] + (1 - policy.beta2) * g * g;
      const double unbiased_mean = mean[c] / (1 - std::pow(policy.beta1, steps));
      const double unbiased_square = square[c] / (1 - std::pow(policy.beta2, steps));
      values[c] += rate * unbiased_mean / (std::sqrt(unbiased_square) + policy.epsilon);
    }
  }
};

bool all_padding_is_zero(Model& model) {
  return std::ranges::all_of(model.matrices(),
                             [](const auto& named) { return padding_is_zero(*named.matrix); });
}

/// Steps random rows of both sides by random gradients, some of whose elements are zero, and
/// compares with the oracle.
template <class Policy>
void check_against_oracle(const Policy& policy, std::size_t dimension, int count) {
  const std::size_t rows = 3;
  Model model = wordloom_test::random_model(rows, dimension, dimension);
  const auto run = policy.start(model);
  std::vector<OracleRow> expected;
  for (RowMatrix* matrix : {&model.input, &model.output})
    for (std::size_t i = 0; i < rows; ++i) expected.emplace_back(matrix->row(i));

  Random random(dimension, 7);
  RowMatrix gradient(1, dimension);
  for (int k = 0; k < count; ++k) {
    for (float& g : gradient.row(0))
      g = random.below(5) == 0 ? 0.0f : static_cast<float>(random.uniform() - 0.4);
    const auto rate = static_cast<float>(0.1 * random.uniform());
    const std::size_t row = random.below(rows), side = random.below(2);
    RowMatrix& matrix = side == 0 ? model.input : model.output;
    run.step(side == 0 ? Side::input : Side::output, static_cast<RowId>(row), matrix.row_data(row),
             gradient.data(), rate);
    expected[side * rows + row].step(policy, gradient.row(0), static_cast<double>(rate));
  }
  INFO("D " << dimension);
  for (std::size_t k = 0; k < expected.size(); ++k) {
    const RowMatrix& matrix = k < rows ? model.input : model.output;
    for (std::size_t c = 0; c < dimension; ++c) {
      const double want = expected[k].values[c];
      const auto got = static_cast<double>(matrix.row(k % rows)[c]);
      REQUIRE(std::abs(got - want) <= 2e-5 * (1 + std::abs(want)));  // false for NaN
    }
  }
  CHECK(all_padding_is_zero(model));
}

template <class Policy>
void check_against_oracle(const Policy& policy) {
  for (const std::size_t dimension : {1u, 7u, 16u, 17u, 32u, 48u, 100u, 128u, 300u})
    check_against_oracle(policy, dimension, 300);
}

/// Steps a row that is zero by a gradient and returns the row.
template <class Run>
std::vector<float> step_from_zero(const Run& run, Model& model, RowId id, const RowMatrix& gradient,
                                  float rate) {
  std::ranges::fill(model.input.row(id), 0.0f);
  run.step(Side::input, id, model.input.row_data(id), gradient.data(), rate);
  return {model.input.row(id).begin(), model.input.row(id).end()};
}

bool is_near(float got, double want, double relative) {
  return std::abs(static_cast<double>(got) - want) <= relative * std::abs(want);
}

RowMatrix some_gradient() {
  RowMatrix gradient(1, 21);
  for (std::size_t c = 0; c < 21; ++c)
    gradient.row(0)[c] = (c % 2 == 0 ? 1.0f : -1.0f) * 0.01f * static_cast<float>(c + 1);
  return gradient;
}

const RowMatrix& state_of(const Model& model, std::string_view name) {
  for (const auto& [known, matrix] : model.matrices())
    if (known == name) return *matrix;
  FAIL("no matrix " << name);
  throw;
}

}  // namespace

TEST_CASE("optimizers change rows as their formulas say", "[optimizer]") {
  SECTION("Sgd") { check_against_oracle(Sgd{}); }
  SECTION("AdaGrad") { check_against_oracle(AdaGrad{}); }
  SECTION("AdaGrad by row") { check_against_oracle(AdaGrad{.per_row = true}); }
  SECTION("AdaGrad with a large epsilon") { check_against_oracle(AdaGrad{.epsilon = 0.5}); }
  SECTION("Adam") { check_against_oracle(Adam{}); }
  SECTION("Adam with other betas") {
    check_against_oracle(Adam{.beta1 = 0.5, .beta2 = 0.9, .epsilon = 0.1});
  }
  SECTION("Adam without memory") { check_against_oracle(Adam{.beta1 = 0, .beta2 = 0}); }
}

TEST_CASE("Adam is right when its bias correction ends", "[optimizer]") {
  check_against_oracle(Adam{.beta1 = 0.9, .beta2 = 0.99}, 17, 15'000);
}

TEST_CASE("the first step of Adam moves each element by the learning rate", "[optimizer]") {
  Model model(4, 21);
  const auto run = Adam{}.start(model);
  const RowMatrix gradient = some_gradient();
  const auto row = step_from_zero(run, model, 2, gradient, 0.25f);
  for (std::size_t c = 0; c < row.size(); ++c)
    CHECK(is_near(row[c], gradient.row(0)[c] > 0 ? 0.25 : -0.25, 1e-5));
}

TEST_CASE("step k of AdaGrad with a constant gradient is one over the root of k", "[optimizer]") {
  Model model(4, 21);
  const auto by_element = AdaGrad{}.start(model);
  const auto by_row = AdaGrad{.per_row = true}.start(model);
  const RowMatrix gradient = some_gradient();
  double mean_square = 0;
  for (const float g : gradient.row(0)) mean_square += static_cast<double>(g * g) / 21;
  for (int k = 1; k <= 50; ++k) {
    const auto one = step_from_zero(by_element, model, 1, gradient, 0.5f);
    const auto other = step_from_zero(by_row, model, 1, gradient, 0.5f);
    for (std::size_t c = 0; c < one.size(); ++c) {
      const auto g = static_cast<double>(gradient.row(0)[c]);
      CHECK(is_near(one[c], 0.5 * g / (std::sqrt(k) * std::abs(g)), 1e-5));
      CHECK(is_near(other[c], 0.5 * g / std::sqrt(k * mean_square), 1e-5));
    }
  }
}

TEST_CASE("Adam corrects each row by the number of its own updates", "[optimizer]") {
  Model model(4, 21);
  const auto run = Adam{}.start(model);
  const RowMatrix gradient = some_gradient();
  for (int k = 0; k < 30; ++k) step_from_zero(run, model, 0, gradient, 0.1f);
  // A row that comes late has a first step as any other, also on the other side.
  const auto row = step_from_zero(run, model, 3, gradient, 0.25f);
  run.step(Side::output, 0, model.output.row_data(0), gradient.data(), 0.25f);
  for (std::size_t c = 0; c < row.size(); ++c) {
    const double expected = gradient.row(0)[c] > 0 ? 0.25 : -0.25;
    CHECK(is_near(row[c], expected, 1e-5));
    CHECK(is_near(model.output.row(0)[c], expected, 1e-5));
  }
  const RowMatrix& steps = state_of(model, "input.adam_steps");
  CHECK(steps.row(0)[0] == 30);
  CHECK(steps.row(1)[0] == 0);
  CHECK(steps.row(3)[0] == 1);
  CHECK(state_of(model, "output.adam_steps").row(0)[0] == 1);
  CHECK(std::ranges::all_of(state_of(model, "input.adam_square").row(1),
                            [](float x) { return x == 0; }));
}

TEST_CASE("a gradient of zeros leaves a new row as it is", "[optimizer]") {
  const RowMatrix zeros(1, 33);
  const auto check = [&](const auto& policy) {
    Model model = wordloom_test::random_model(2, 33, 1);
    const Model before = wordloom_test::random_model(2, 33, 1);
    policy.start(model).step(Side::input, 1, model.input.row_data(1), zeros.data(), 10.0f);
    CHECK(same_bits(model, before));
  };
  check(Sgd{});
  check(AdaGrad{.epsilon = 1e-30});
  check(AdaGrad{.per_row = true, .epsilon = 1e-30});
  check(Adam{.epsilon = 1e-30});
}

TEST_CASE("the state of an optimizer is among the matrices of the model", "[optimizer]") {
  const auto names = [](const auto& policy, bool one_matrix) {
    Model model(zipf_vocabulary(5), {.dimension = 20, .one_matrix = one_matrix});
    policy.start(model);
    policy.start(model);  // finds the state of before
    std::vector<std::string> result;
    for (const auto& [name, matrix] : model.matrices())
      result.push_back(std::string(name) + " " + std::to_string(matrix->rows()) + " x " +
                       std::to_string(matrix->columns()));
    return result;
  };
  using Names = std::vector<std::string>;
  CHECK(names(Sgd{}, false) == Names{"input 5 x 20", "output 5 x 20"});
  CHECK(names(AdaGrad{}, false) ==
        Names{"input 5 x 20", "output 5 x 20", "input.ada_grad 5 x 20", "output.ada_grad 5 x 20"});
  CHECK(names(AdaGrad{.per_row = true}, true) ==
        Names{"input 5 x 20", "input.ada_grad_by_row 5 x 1"});
  CHECK(names(Adam{}, true) == Names{"input 5 x 20", "input.adam_mean 5 x 20",
                                     "input.adam_square 5 x 20", "input.adam_steps 5 x 1"});
  CHECK(names(Adam{}, false).size() == 8);
}

namespace {

/// Calls `test.operator()<Kernel>()` for each kernel that writes gradients.
template <class Test>
void for_each_gradient_kernel(Test test) {
  SECTION("FusedKernel") { test.template operator()<FusedKernel>(); }
  SECTION("DotKernel") { test.template operator()<DotKernel>(); }
#if WORDLOOM_HAS_BLAS
  SECTION("GemmKernel") { test.template operator()<GemmKernel>(); }
#endif
}

/// Blocks of few rows, so that duplicates are common, with and without weights, of one side or
/// both.
std::vector<OwnedBlock> random_blocks(std::size_t count, std::size_t rows, Random& random) {
  std::vector<OwnedBlock> blocks;
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t n = 1 + random.below(12), m = 1 + random.below(14);
    OwnedBlock block{.inputs = any_rows(n, rows, random),
                     .outputs = any_rows(m, rows, random),
                     .positives = static_cast<std::size_t>(random.below(m + 1))};
    if (random.below(2) == 0) block.weights = any_weights(n * m, random);
    if (random.below(3) == 0) block.update = random.below(2) == 0 ? Sides::inputs : Sides::outputs;
    blocks.push_back(std::move(block));
  }
  return blocks;
}

}  // namespace

TEST_CASE("gradients are those of the oracle, and the model stays as it is", "[optimizer]") {
  for_each_gradient_kernel([]<class Kernel>() {
    Random random(3);
    for (const std::size_t dimension : {1u, 17u, 64u, 100u})
      for (OwnedBlock block : random_blocks(30, 40, random)) {
        block.inputs = distinct(block.inputs.size(), 40, random);
        block.outputs = distinct(block.outputs.size(), 40, random);
        Model model = wordloom_test::random_model(40, dimension, 3);
        const Model start = wordloom_test::random_model(40, dimension, 3);
        oracle::Model expected(model);
        const double loss = oracle::loss(expected, block, false);
        oracle::update(expected, block, 1.0);
        auto worker = detail::one_side_worker_of(Kernel{}, model, block.shape());
        RowMatrix inputs(block.inputs.size(), dimension), outputs(block.outputs.size(), dimension);
        for (RowMatrix* matrix : {&inputs, &outputs})
          for (std::size_t i = 0; i < matrix->rows(); ++i) std::ranges::fill(matrix->row(i), 7.0f);
        const LossSum got = worker.template gradients<true>(model, block, inputs, outputs);
        REQUIRE(got.value() == Approx(loss).epsilon(1e-5).margin(1e-5));
        REQUIRE(same_bits(model, start));
        const auto check = [&](const RowMatrix& rows, const std::vector<RowId>& ids,
                               const RowMatrix& before, const oracle::Matrix& after, bool updated) {
          REQUIRE(padding_is_zero(rows));
          for (std::size_t k = 0; k < ids.size(); ++k)
            for (std::size_t c = 0; c < dimension; ++c) {
              const double want =
                  updated ? after.at(ids[k], c) - static_cast<double>(before.row(ids[k])[c]) : 7.0;
              REQUIRE(std::abs(static_cast<double>(rows.row(k)[c]) - want) <= 1e-5);
            }
        };
        check(inputs, block.inputs, start.input, expected.input, block.update != Sides::outputs);
        check(outputs, block.outputs, start.output, expected.output, block.update != Sides::inputs);
      }
  });
}

TEST_CASE("a kernel with Sgd does what the kernel does", "[optimizer]") {
  for_each_gradient_kernel([]<class Kernel>() {
    Random random(5);
    for (const std::size_t rows : {4u, 60u})
      for (const std::size_t dimension : {1u, 7u, 100u, 128u})
        for (const OwnedBlock& block : random_blocks(60, rows, random)) {
          Model model = wordloom_test::random_model(rows, dimension, 9);
          Model same = wordloom_test::random_model(rows, dimension, 9);
          const auto run = WithOptimizer<Kernel, Sgd>{}.start(model);
          auto worker = run.worker(model, block.shape());
          const LossSum loss = worker.template update<true>(model, block, 0.1f);
          const LossSum expected =
              DotKernel{}.worker(same, block.shape()).template update<true>(same, block, 0.1f);
          REQUIRE(loss.value() == Approx(expected.value()).epsilon(1e-5).margin(1e-5));
          REQUIRE(difference(model, oracle::Model(same)) <
                  8.0 + 2.0 * static_cast<double>(block.inputs.size() + block.outputs.size()));
          REQUIRE(all_padding_is_zero(model));
          if (block.update == Sides::inputs) REQUIRE(same_bits(model.output, same.output));
          if (block.update == Sides::outputs) REQUIRE(same_bits(model.input, same.input));
        }
  });
}

TEST_CASE("a duplicate row gets one step, by the sum of its gradients", "[optimizer]") {
  for_each_gradient_kernel([]<class Kernel>() {
    Random random(6);
    for (const std::size_t dimension : {7u, 100u})
      for (const OwnedBlock& block : random_blocks(40, 5, random)) {
        Model model = wordloom_test::random_model(5, dimension, 9);
        const Model start = wordloom_test::random_model(5, dimension, 9);
        oracle::Model sums(model);
        oracle::update(sums, block, 1.0);
        const auto run = WithOptimizer<Kernel, Adam>{.optimizer = {.epsilon = 1e-2}}.start(model);
        auto worker = run.worker(model, block.shape());
        worker.template update<false>(model, block, 0.1f);
        const auto check = [&](const RowMatrix& got, const RowMatrix& before,
                               const oracle::Matrix& after, const std::vector<RowId>& ids,
                               bool updated, const char* steps) {
          for (RowId id = 0; id < 5; ++id) {
            const bool is_stepped = updated && std::ranges::count(ids, id) > 0;
            REQUIRE(state_of(model, steps).row(id)[0] == (is_stepped ? 1.0f : 0.0f));
            for (std::size_t c = 0; c < dimension; ++c) {
              const auto old = static_cast<double>(before.row(id)[c]);
              const double g = is_stepped ? after.at(id, c) - old : 0.0;
              const double want = old + 0.1 * g / (std::abs(g) + 1e-2);
              REQUIRE(std::abs(static_cast<double>(got.row(id)[c]) - want) <= 1e-4);
            }
          }
        };
        check(model.input, start.input, sums.input, block.inputs, block.update != Sides::outputs,
              "input.adam_steps");
        check(model.output, start.output, sums.output, block.outputs, block.update != Sides::inputs,
              "output.adam_steps");
      }
  });
}

TEST_CASE("in a model of one matrix, a row has one state for both roles", "[optimizer]") {
  Model model(zipf_vocabulary(6), {.dimension = 20, .one_matrix = true});
  const OwnedBlock block{.inputs = {0, 1, 1}, .outputs = {1, 2}};
  for (const std::size_t batch : {1u, 2u}) {
    Model other(zipf_vocabulary(6), {.dimension = 20, .one_matrix = true});
    const oracle::Model start(other);
    oracle::Model sides = start;  // as two matrices
    oracle::update(sides, block, 0.1);
    const auto sgd = WithOptimizer<DotKernel, Sgd>{.batch = batch}.start(other);
    auto one = sgd.worker(other, block.shape());
    one.update<false>(other, block, 0.1f);
    one.finish(other, 0.1f);
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t c = 0; c < 20; ++c) {
        const double want = sides.input.at(i, c) + sides.output.at(i, c) - start.output.at(i, c);
        CHECK(std::abs(static_cast<double>(other.input.row(i)[c]) - want) <= 1e-7);
      }

    const auto run = WithOptimizer<DotKernel, Adam>{.batch = batch}.start(model);
    auto worker = run.worker(model, block.shape());
    worker.update<false>(model, block, 0.1f);
    worker.finish(model, 0.1f);
  }
  const RowMatrix& steps = state_of(model, "input.adam_steps");
  CHECK(steps.row(0)[0] == 2);
  CHECK(steps.row(1)[0] == 2);  // one for each block, though it stands three times
  CHECK(steps.row(2)[0] == 2);
  CHECK(steps.row(3)[0] == 0);
}

TEST_CASE("a batch of blocks is one block that holds them", "[optimizer]") {
  for_each_gradient_kernel([]<class Kernel>() {
    const auto check = [](const auto& policy) {
      using Policy = std::remove_cvref_t<decltype(policy)>;
      Random random(8);
      for (const std::size_t dimension : {7u, 100u}) {
        Model batched = wordloom_test::random_model(12, dimension, 4);
        Model whole = wordloom_test::random_model(12, dimension, 4);
        const WithOptimizer<Kernel, Policy> many{.optimizer = policy, .batch = 5},
            one{.optimizer = policy};
        const auto of_many = many.start(batched);
        const auto of_one = one.start(whole);
        auto worker = of_many.worker(batched, {1, 6});
        auto whole_worker = of_one.worker(whole, {5, 6});
        for (int round = 0; round < 4; ++round) {
          const OwnedBlock block{.inputs = any_rows(5, 12, random),
                                 .outputs = any_rows(6, 12, random),
                                 .positives = 2};
          const float rate = 0.1f;
          const LossSum expected = whole_worker.template update<true>(whole, block, rate);
          LossSum loss;
          const Model before = [&] {
            Model copy(12, dimension);
            copy.input = batched.input.copy();
            copy.output = batched.output.copy();
            return copy;
          }();
          for (const RowId input : block.inputs) {
            REQUIRE(same_bits(batched, before));  // no step until the batch is full
            const OwnedBlock part{.inputs = {input}, .outputs = block.outputs, .positives = 2};
            loss += worker.template update<true>(batched, part, rate);
          }
          REQUIRE_FALSE(same_bits(batched, before));
          REQUIRE(loss.value() == Approx(expected.value()).epsilon(1e-4));
          REQUIRE(difference(batched, oracle::Model(whole)) < 2000.0);
          REQUIRE(all_padding_is_zero(batched));
        }
      }
    };
    check(Sgd{});
    check(AdaGrad{.epsilon = 1e-3});
    check(AdaGrad{.per_row = true});
    check(Adam{.epsilon = 1e-3});
  });
}

TEST_CASE("finish applies a batch that is not full, once", "[optimizer]") {
  Random random(2);
  const OwnedBlock block{.inputs = any_rows(3, 8, random), .outputs = any_rows(4, 8, random)};
  Model batched = wordloom_test::random_model(8, 30, 4);
  Model whole = wordloom_test::random_model(8, 30, 4);
  const auto run = WithOptimizer<DotKernel, Sgd>{.batch = 100}.start(batched);
  auto worker = run.worker(batched, block.shape());
  worker.update<false>(batched, block, 0.1f);
  CHECK(same_bits(batched, whole));
  worker.finish(batched, 0.1f);
  DotKernel{}.worker(whole, block.shape()).update<false>(whole, block, 0.1f);
  CHECK(difference(batched, oracle::Model(whole)) < 16.0);
  const RowMatrix input = batched.input.copy(), output = batched.output.copy();
  worker.finish(batched, 0.1f);
  CHECK(same_bits(batched.input, input));
  CHECK(same_bits(batched.output, output));
}

namespace {

struct Task {
  Vocabulary vocabulary = zipf_vocabulary(50);
  EncodedCorpus corpus;
  Task() : corpus(make(vocabulary)) {}

  /// Words come with their neighbours in the vocabulary, so that there is something to learn.
  static EncodedCorpus make(const Vocabulary& vocabulary) {
    std::vector<std::vector<WordId>> sentences(2000);
    Random random(9);
    for (auto& sentence : sentences) {
      const std::size_t around = random.below(vocabulary.size() - 5);
      for (std::size_t i = 0; i < 2 + random.below(15); ++i)
        sentence.push_back(static_cast<WordId>(around + random.below(5)));
    }
    return EncodedCorpus::from_sentences(sentences, vocabulary);
  }
};

Hyperparameters parameters(std::size_t threads = 1) {
  return {
      .dimension = 20, .subsample = 0.0, .learning_rate = 0.01, .epochs = 3, .threads = threads};
}

template <class Policy>
using Optimized = Trainer<Hogwild, WithOptimizer<DotKernel, Policy>>;

bool same_matrices(const Model& a, const Model& b) {
  const auto one = a.matrices(), other = b.matrices();
  return std::ranges::equal(one, other, [](const auto& x, const auto& y) {
    return x.name == y.name && same_matrix(*x.matrix, *y.matrix);
  });
}

}  // namespace

TEMPLATE_TEST_CASE("an optimizer resumes from a checkpoint to the same bits", "[optimizer]", Adam,
                   AdaGrad, Sgd) {
  const Task task;
  const TemporaryFolder folder;
  using AnyTrainer = Optimized<TestType>;
  AnyTrainer trainer(parameters());
  Model whole = trainer.new_model(task.vocabulary);
  trainer.fit(task.corpus, whole);
  CHECK((whole.state.size() > 0) == TestType::has_state);
  for (const double fraction : {0.1, 0.5, 0.8}) {
    AnyTrainer first(parameters());
    first.checkpoint_to(folder / "state");
    first.on_progress([&](const Progress& progress) { return progress.fraction() < fraction; }, 0s);
    first.fit(task.corpus, task.vocabulary);
    REQUIRE(first.report().stopped);
    CHECK(Checkpoint::load(folder / "state").matrices.size() == whole.matrices().size());
    AnyTrainer rest(parameters());
    Model resumed = rest.new_model(task.vocabulary);
    rest.resume(task.corpus, resumed, folder / "state");
    CHECK(same_matrices(resumed, whole));
  }
}

TEMPLATE_TEST_CASE("optimizers learn, on one thread and on several", "[optimizer]", Adam, AdaGrad,
                   Sgd) {
  const Task task;
  for (const std::size_t threads : {1u, 3u})
    for (const std::size_t batch : {1u, 16u}) {
      Optimized<TestType> trainer(parameters(threads), Hogwild{}, {.batch = batch});
      trainer.fit(task.corpus, task.vocabulary);
      const auto& losses = trainer.report().epoch_losses;
      CHECK(losses.back() < losses.front());
    }
}

TEST_CASE("a batch in progress is applied at the end of an epoch and on stopping", "[optimizer]") {
  Task task;
  const std::vector<std::vector<WordId>> few(300, {1, 2, 3, 4, 5, 6, 7});
  task.corpus = EncodedCorpus::from_sentences(few, task.vocabulary);
  const auto is_zero = [](const RowMatrix& matrix) {
    return std::all_of(matrix.data(), matrix.data() + matrix.bytes() / sizeof(float),
                       [](float x) { return x == 0; });
  };
  for (const bool stops : {false, true}) {
    Hyperparameters with = parameters();
    with.epochs = 1;
    Optimized<Sgd> trainer(with, Hogwild{}, {.batch = 65536});  // more than the corpus has
    if (stops) trainer.on_progress([](const Progress&) { return false; }, 0s);
    Model model = trainer.new_model(task.vocabulary);
    REQUIRE(is_zero(model.output));
    trainer.fit(task.corpus, model);
    CHECK(trainer.report().stopped == stops);
    CHECK_FALSE(is_zero(model.output));
  }
}

TEST_CASE("parameters out of bounds are refused by name", "[optimizer]") {
  const auto refusal = [](auto kernel, Hyperparameters with = parameters()) {
    return message_of<InvalidArgument>([&] { Trainer(with, Hogwild{}, kernel); });
  };
  using WithAdam = WithOptimizer<DotKernel, Adam>;
  using WithAdaGrad = WithOptimizer<DotKernel, AdaGrad>;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(contains(refusal(WithAdam{.optimizer = {.beta1 = 1.0}}), "beta1 is 1, must be from 0"));
  CHECK(contains(refusal(WithAdam{.optimizer = {.beta1 = -0.1}}), "beta1"));
  CHECK(contains(refusal(WithAdam{.optimizer = {.beta2 = nan}}), "beta2"));
  CHECK(contains(refusal(WithAdam{.optimizer = {.epsilon = 0}}), "epsilon is 0"));
  CHECK(contains(refusal(WithAdaGrad{.optimizer = {.epsilon = 0}}), "epsilon is 0"));
  CHECK(contains(refusal(WithAdam{.batch = 0}), "batch is 0, must be from 1 to 65536"));
  CHECK(contains(refusal(WithAdam{.batch = 65537}), "batch is 65537"));
  Hyperparameters with = parameters();
  with.learning_rate = 11;
  CHECK(contains(refusal(WithAdam{}, with), "learning_rate is 11"));
}

TEST_CASE("a checkpoint of another optimizer is refused", "[optimizer]") {
  const Task task;
  const TemporaryFolder folder;
  Optimized<Adam> first(parameters());
  first.checkpoint_to(folder / "state");
  first.on_progress([](const Progress&) { return false; }, 0s);
  first.fit(task.corpus, task.vocabulary);
  const auto refusal = [&](auto kernel) {
    return message_of<InvalidArgument>([&] {
      Trainer(parameters(), Hogwild::from(parameters()), kernel)
          .resume(task.corpus, task.vocabulary, folder / "state");
    });
  };
  using WithAdam = WithOptimizer<DotKernel, Adam>;
  CHECK(contains(refusal(WithAdam{.optimizer = {.beta2 = 0.99}}), "another method"));
  CHECK(contains(refusal(WithAdam{.batch = 2}), "another method"));
  CHECK(contains(refusal(WithOptimizer<DotKernel, AdaGrad>{}), "another method"));
}
