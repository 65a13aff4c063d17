#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>
#include <wordloom/optimizer/ada_grad.hpp>
#include <wordloom/optimizer/adam.hpp>
#include <wordloom/optimizer/rms_prop.hpp>
#include <wordloom/optimizer/row_ada_grad.hpp>
#include <wordloom/optimizer/sgd.hpp>

#include "optimizer/optimizer_checks.hpp"

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
  void step(const RowAdaGrad& policy, std::span<const float> gradient, double rate) {
    const double scale = 1 / std::sqrt(std::sqrt(sum + policy.start_sum));
    for (std::size_t c = 0; c < values.size(); ++c) {
      const auto g = static_cast<double>(gradient[c]);
      sum += g * g / static_cast<double>(values.size());
      values[c] += rate * scale * g;
    }
  }
  void step(const RmsProp& policy, std::span<const float> gradient, double rate) {
    for (std::size_t c = 0; c < values.size(); ++c) {
      const auto g = static_cast<double>(gradient[c]);
      square[c] = policy.decay * square[c] + (1 - policy.decay) * g * g;
      values[c] += rate * g / (std::sqrt(square[c]) + policy.epsilon);
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
    run.step(side == 0 ? Model::Side::input : Model::Side::output, static_cast<RowId>(row),
             matrix.row_data(row), gradient.data(), rate);
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
  run.step(Model::Side::input, id, model.input.row_data(id), gradient.data(), rate);
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

}  // namespace

TEST_CASE("optimizers change rows by their formulas", "[optimizer]") {
  SECTION("Sgd") { check_against_oracle(Sgd{}); }
  SECTION("AdaGrad") { check_against_oracle(AdaGrad{}); }
  SECTION("AdaGrad by row") { check_against_oracle(AdaGrad{.per_row = true}); }
  SECTION("AdaGrad with a large epsilon") { check_against_oracle(AdaGrad{.epsilon = 0.5}); }
  SECTION("RowAdaGrad") { check_against_oracle(RowAdaGrad{}); }
  SECTION("RmsProp") { check_against_oracle(RmsProp{}); }
  SECTION("RmsProp with a long memory") {
    check_against_oracle(RmsProp{.decay = 0.9999, .epsilon = 1e-3});
  }
  SECTION("Adam") { check_against_oracle(Adam{}); }
  SECTION("Adam with other betas") {
    check_against_oracle(Adam{.beta1 = 0.5, .beta2 = 0.9, .epsilon = 0.1});
  }
  SECTION("Adam without memory") { check_against_oracle(Adam{.beta1 = 0, .beta2 = 0}); }
}

TEST_CASE("Adam is right at the end of its bias correction", "[optimizer]") {
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
  run.step(Model::Side::output, 0, model.output.row_data(0), gradient.data(), 0.25f);
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

TEST_CASE("a gradient of zeros does not change a new row", "[optimizer]") {
  const RowMatrix zeros(1, 33);
  const auto check = [&](const auto& policy) {
    Model model = wordloom_test::random_model(2, 33, 1);
    const Model before = wordloom_test::random_model(2, 33, 1);
    policy.start(model).step(Model::Side::input, 1, model.input.row_data(1), zeros.data(), 10.0f);
    CHECK(same_bits(model, before));
  };
  check(Sgd{});
  check(AdaGrad{.epsilon = 1e-30});
  check(AdaGrad{.per_row = true, .epsilon = 1e-30});
  check(RowAdaGrad{.start_sum = 1e-6});
  check(RmsProp{.epsilon = 1e-30});
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
  CHECK(names(RowAdaGrad{}, false) == Names{"input 5 x 20", "output 5 x 20",
                                            "input.row_ada_grad 5 x 1",
                                            "output.row_ada_grad 5 x 1"});
  CHECK(names(RmsProp{}, false) ==
        Names{"input 5 x 20", "output 5 x 20", "input.rms_prop 5 x 20", "output.rms_prop 5 x 20"});
  CHECK(names(Adam{}, true) == Names{"input 5 x 20", "input.adam_mean 5 x 20",
                                     "input.adam_square 5 x 20", "input.adam_steps 5 x 1"});
  CHECK(names(Adam{}, false).size() == 8);
}
