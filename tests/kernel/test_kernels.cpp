#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "kernel/oracle.hpp"

using namespace wordloom;

#if WORDLOOM_HAS_BLAS
#define WORDLOOM_TESTED_KERNELS DotKernel, GemmKernel, FusedKernel<>
#else
#define WORDLOOM_TESTED_KERNELS DotKernel, FusedKernel<>
#endif

namespace {

/// A block that owns its ids.
struct OwnedBlock {
  std::vector<WordId> inputs, outputs;
  std::size_t positives = 1;
  std::vector<float> weights;
  std::vector<float> pair_weights = {};
  operator Block() const { return {inputs, outputs, positives, weights, pair_weights}; }
};

Model random_model(std::size_t rows, std::size_t dimension, std::uint64_t seed, double size = 1.0) {
  Model model(rows, dimension, seed);
  Random random(seed, 1);
  for (RowMatrix* matrix : {&model.input, &model.output})
    for (std::size_t i = 0; i < rows; ++i)
      for (float& x : matrix->row(i))
        x = static_cast<float>(size * (2.0 * random.uniform() - 1.0) /
                               std::sqrt(static_cast<double>(dimension)));
  return model;
}

std::vector<WordId> distinct(std::size_t count, std::size_t rows, Random& random) {
  std::vector<WordId> all(rows);
  for (std::size_t i = 0; i < rows; ++i) all[i] = static_cast<WordId>(i);
  for (std::size_t i = 0; i < count; ++i)
    std::swap(all[i], all[i + static_cast<std::size_t>(random.below(rows - i))]);
  all.resize(count);
  return all;
}

/// The largest difference in units of float rounding of values of size 1.
double difference(const Model& model, const oracle::Model& expected) {
  double worst = 0;
  const auto compare = [&](const RowMatrix& got, const oracle::Matrix& want) {
    for (std::size_t i = 0; i < got.rows(); ++i)
      for (std::size_t c = 0; c < got.columns(); ++c)
        worst = std::max(worst, std::abs(static_cast<double>(got.row(i)[c]) - want.at(i, c)) /
                                    (1.0 + std::abs(want.at(i, c))));
  };
  compare(model.input, expected.input);
  compare(model.output, expected.output);
  return worst * 0x1p23;
}

bool padding_is_zero(const RowMatrix& matrix) {
  for (std::size_t i = 0; i < matrix.rows(); ++i)
    for (std::size_t c = matrix.columns(); c < matrix.stride(); ++c)
      if (matrix.row_data(i)[c] != 0.0f) return false;
  return true;
}

bool same_bits(const RowMatrix& a, const RowMatrix& b) {
  return std::equal(a.data(), a.data() + a.bytes() / sizeof(float), b.data(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  });
}

/// Updates with the kernel and with the oracle and compares models and losses.
template <class Kernel>
void check_update(std::size_t dimension, const OwnedBlock& block, std::size_t rows,
                  float learning_rate = 0.5f) {
  const Model start = random_model(rows, dimension, dimension * 1000 + block.inputs.size());
  Model model = random_model(rows, dimension, dimension * 1000 + block.inputs.size());
  oracle::Model expected(model);
  const double expected_loss = oracle::loss(expected, block, false);
  oracle::update(expected, block, static_cast<double>(learning_rate));

  Kernel kernel(Hyperparameters{.dimension = dimension},
                BlockShape{block.inputs.size(), block.outputs.size()});
  const LossSum loss = kernel.template update<true>(model, block, learning_rate);
  INFO("D " << dimension << ", " << block.inputs.size() << " x " << block.outputs.size() << ", "
            << block.positives << " positives");
  CHECK(difference(model, expected) <
        8.0 + 2.0 * static_cast<double>(block.inputs.size() + block.outputs.size()));
  CHECK(loss.value() == Approx(expected_loss).epsilon(1e-5).margin(1e-5));
  CHECK(padding_is_zero(model.input));
  CHECK(padding_is_zero(model.output));

  // Rows that are not in the block keep every bit.
  const auto untouched = [&](const RowMatrix& now, const RowMatrix& before,
                             const std::vector<WordId>& ids) {
    for (std::size_t i = 0; i < rows; ++i)
      if (std::find(ids.begin(), ids.end(), static_cast<WordId>(i)) == ids.end() &&
          !std::equal(now.row(i).begin(), now.row(i).end(), before.row(i).begin()))
        return false;
    return true;
  };
  CHECK(untouched(model.input, start.input, block.inputs));
  CHECK(untouched(model.output, start.output, block.outputs));
}

}  // namespace

TEMPLATE_TEST_CASE("an update equals the oracle's for every block shape and dimension", "[kernel]",
                   WORDLOOM_TESTED_KERNELS) {
  Random random(7);
  for (const std::size_t dimension : {1u, 7u, 16u, 17u, 32u, 48u, 100u, 128u, 300u})
    for (std::size_t inputs = 1; inputs <= 20; ++inputs)
      for (const std::size_t outputs : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 11u, 12u, 13u, 18u, 21u}) {
#ifndef NDEBUG
        if ((inputs + outputs + dimension) % 7 != 0) continue;
#endif
        const std::size_t rows = 48;
        check_update<TestType>(dimension,
                               {.inputs = distinct(inputs, rows, random),
                                .outputs = distinct(outputs, rows, random),
                                .positives = static_cast<std::size_t>(random.below(outputs + 1)),
                                .weights = {}},
                               rows);
      }
}

TEMPLATE_TEST_CASE("rows that stand in a block several times get every change", "[kernel]",
                   WORDLOOM_TESTED_KERNELS) {
  Random random(11);
  for (const std::size_t dimension : {1u, 7u, 100u, 128u, 300u})
    for (int repetition = 0; repetition < 40; ++repetition) {
      const std::size_t rows = 4;  // so few that nearly every block repeats rows
      OwnedBlock block;
      block.inputs.resize(1 + static_cast<std::size_t>(random.below(12)));
      block.outputs.resize(1 + static_cast<std::size_t>(random.below(14)));
      for (WordId& id : block.inputs) id = static_cast<WordId>(random.below(rows));
      for (WordId& id : block.outputs) id = static_cast<WordId>(random.below(rows));
      block.positives = static_cast<std::size_t>(random.below(block.outputs.size() + 1));
      check_update<TestType>(dimension, block, rows, 0.1f);
    }
}

TEMPLATE_TEST_CASE("weights scale the gradients of their inputs and not the loss", "[kernel]",
                   WORDLOOM_TESTED_KERNELS) {
  Random random(13);
  for (const std::size_t inputs : {1u, 3u, 4u, 6u, 9u})
    for (const std::size_t outputs : {1u, 6u, 8u, 15u}) {
      OwnedBlock block{.inputs = distinct(inputs, 20, random),
                       .outputs = distinct(outputs, 20, random),
                       .positives = 1,
                       .weights = {}};
      for (std::size_t i = 0; i < inputs; ++i)
        block.weights.push_back(static_cast<float>(random.uniform() * 3.0));
      check_update<TestType>(100, block, 20);
    }
}

TEMPLATE_TEST_CASE("pairs have labels and weights of their own, and 0 is no pair", "[kernel]",
                   WORDLOOM_TESTED_KERNELS) {
  Random random(31);
  for (const std::size_t inputs : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 9u, 14u})
    for (const std::size_t outputs : {1u, 2u, 5u, 6u, 7u, 13u}) {
      OwnedBlock block{.inputs = distinct(inputs, 20, random),
                       .outputs = distinct(outputs, 20, random),
                       .positives = 0,
                       .weights = {}};
      for (std::size_t k = 0; k < inputs * outputs; ++k)
        block.pair_weights.push_back(
            static_cast<float>(random.below(4) == 0 ? 0.0 : random.uniform() * 4.0 - 2.0));
      check_update<TestType>(100, block, 20);
      if (inputs > 2) block.inputs[2] = block.inputs[0];
      check_update<TestType>(48, block, 20);
    }
}

TEMPLATE_TEST_CASE("the change of a model is the negative gradient of the loss", "[kernel]",
                   WORDLOOM_TESTED_KERNELS) {
  const std::size_t dimension = 7, rows = 6;
  const OwnedBlock block{
      .inputs = {1, 4, 1}, .outputs = {2, 3, 5, 3}, .positives = 1, .weights = {1.0f, 0.5f, 2.0f}};
  Model model = random_model(rows, dimension, 3, 2.0);
  const oracle::Model start(model);
  TestType kernel(Hyperparameters{.dimension = dimension}, BlockShape{3, 4});
  const float rate = 0x1p-10f;
  kernel.template update<false>(model, block, rate);

  const auto check = [&](const RowMatrix& changed, auto&& matrix) {
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t c = 0; c < dimension; ++c) {
        const double step = 1e-5;
        oracle::Model up = start, down = start;
        matrix(up).at(i, c) += step;
        matrix(down).at(i, c) -= step;
        const double slope =
            (oracle::loss(up, block, true) - oracle::loss(down, block, true)) / (2 * step);
        oracle::Model same = start;
        const double change = (static_cast<double>(changed.row(i)[c]) - matrix(same).at(i, c)) /
                              static_cast<double>(rate);
        CHECK(change == Approx(-slope).margin(2e-4));
      }
  };
  check(model.input, [](oracle::Model& m) -> oracle::Matrix& { return m.input; });
  check(model.output, [](oracle::Model& m) -> oracle::Matrix& { return m.output; });
}

TEMPLATE_TEST_CASE("the loss does not change what is learnt, bit for bit", "[kernel]",
                   WORDLOOM_TESTED_KERNELS) {
  Random random(17);
  const OwnedBlock block{
      .inputs = distinct(6, 20, random), .outputs = distinct(6, 20, random), .weights = {}};
  Model with = random_model(20, 100, 5), without = random_model(20, 100, 5);
  TestType kernel(Hyperparameters{.dimension = 100}, BlockShape{6, 6});
  kernel.template update<true>(with, block, 0.1f);
  kernel.template update<false>(without, block, 0.1f);
  CHECK(same_bits(with.input, without.input));
  CHECK(same_bits(with.output, without.output));
}

TEMPLATE_TEST_CASE("scores far from zero neither saturate nor break a kernel", "[kernel]",
                   WORDLOOM_TESTED_KERNELS) {
  const OwnedBlock block{.inputs = {0}, .outputs = {0, 1}, .positives = 1, .weights = {}};
  TestType kernel(Hyperparameters{.dimension = 16}, BlockShape{1, 2});
  const auto loss_of = [&](float score) {
    Model model(2, 16);
    std::fill(model.input.row(0).begin(), model.input.row(0).end(), 1.0f);
    model.output.row(0)[0] = score;   // positive
    model.output.row(1)[0] = -score;  // negative
    return kernel.template update<true>(model, block, 0.0f).value();
  };
  CHECK(loss_of(20.0f) == Approx(2 * std::log1p(std::exp(-20.0))).margin(2e-7));
  CHECK(loss_of(-20.0f) == Approx(40.0));
  CHECK(loss_of(-1e4f) == Approx(2e4));
  CHECK(loss_of(1e4f) == Approx(0.0).margin(1e-6));
  CHECK(loss_of(-std::numeric_limits<float>::infinity()) ==
        std::numeric_limits<double>::infinity());
  CHECK(std::isnan(loss_of(std::numeric_limits<float>::quiet_NaN())));
}

TEMPLATE_TEST_CASE("what a kernel did before changes nothing, bit for bit", "[kernel]",
                   WORDLOOM_TESTED_KERNELS) {
  Random random(23);
  TestType used(Hyperparameters{.dimension = 33}, BlockShape{13, 25});
  for (int repetition = 0; repetition < 300; ++repetition) {
    const auto n = 1 + static_cast<std::size_t>(random.below(13));
    const auto m = 1 + static_cast<std::size_t>(random.below(25));
    const OwnedBlock block{.inputs = distinct(n, 30, random),
                           .outputs = distinct(m, 30, random),
                           .positives = static_cast<std::size_t>(random.below(m + 1)),
                           .weights = {}};
    Model one = random_model(30, 33, 5), other = random_model(30, 33, 5);
    TestType fresh(Hyperparameters{.dimension = 33}, BlockShape{13, 25});
    REQUIRE(LossSum(used.template update<true>(one, block, 0.1f)).value() ==
            LossSum(fresh.template update<true>(other, block, 0.1f)).value());
    REQUIRE(same_bits(one.input, other.input));
    REQUIRE(same_bits(one.output, other.output));
  }
}

TEST_CASE("FusedKernel of a fixed dimension equals the run-time one bit for bit", "[kernel]") {
  Random random(19);
  const OwnedBlock block{
      .inputs = distinct(7, 20, random), .outputs = distinct(6, 20, random), .weights = {}};
  Model fixed = random_model(20, 128, 5), any = random_model(20, 128, 5);
  FusedKernel<128>(Hyperparameters{.dimension = 128}, BlockShape{7, 6})
      .update<true>(fixed, block, 0.1f);
  FusedKernel<>(Hyperparameters{.dimension = 128}, BlockShape{7, 6}).update<true>(any, block, 0.1f);
  CHECK(same_bits(fixed.input, any.input));
  CHECK(same_bits(fixed.output, any.output));
  CHECK_THROWS_AS((FusedKernel<128>(Hyperparameters{.dimension = 100}, BlockShape{7, 6})),
                  InvalidArgument);
}

TEST_CASE("rows that FusedKernel is told of ahead change nothing, bit for bit", "[kernel]") {
  Random random(37);
  const OwnedBlock block{
      .inputs = distinct(6, 20, random), .outputs = distinct(9, 20, random), .weights = {}};
  Model told = random_model(20, 100, 5), untold = random_model(20, 100, 5);
  FusedKernel<> one(Hyperparameters{.dimension = 100}, BlockShape{6, 9});
  FusedKernel<> other(Hyperparameters{.dimension = 100}, BlockShape{6, 9});
  std::vector<WordId> all(20);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<WordId>(i);
  for (int repetition = 0; repetition < 3; ++repetition) {
    one.prefetch(told, all, all);  // more than it has room for
    one.prefetch(told, all, all);
    one.update<false>(told, block, 0.1f);
    other.update<false>(untold, block, 0.1f);
  }
  CHECK(same_bits(told.input, untold.input));
  CHECK(same_bits(told.output, untold.output));
}

#if WORDLOOM_HAS_BLAS
TEST_CASE("OneBlasThread gives the host its number of threads back", "[kernel]") {
  if (openblas_get_num_threads == nullptr) return;  // another CBLAS
  const int before = openblas_get_num_threads();
  openblas_set_num_threads(2);
  {
    OneBlasThread first;
    CHECK(openblas_get_num_threads() == 1);
    {
      OneBlasThread second = first;
      CHECK(openblas_get_num_threads() == 1);
    }
    CHECK(openblas_get_num_threads() == 1);
  }
  CHECK(openblas_get_num_threads() == 2);
  openblas_set_num_threads(before);
}
#endif
