#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/registry.hpp>
#include <wordloom/testing/oracle.hpp>

#include "catch.hpp"

/// Blocks to test kernels with, and comparisons with the oracle.
namespace wordloom_test {

using namespace wordloom;

/// A block that owns its ids.
struct OwnedBlock {
  std::vector<RowId> inputs, outputs;
  std::size_t positives = 1;
  std::vector<std::uint32_t> bag_ends = {};
  std::vector<std::uint32_t> left_out = {};
  std::vector<float> weights = {};  // of pairs, or of the rows of the longer side
  Block::Sides update = Block::Sides::both;
  BagGradient bag_gradient = BagGradient::mean;
  std::size_t paired = 0;

  operator Block() const {
    return {.inputs = inputs,
            .bag_ends = bag_ends,
            .left_out = left_out,
            .outputs = outputs,
            .paired = paired,
            .positives = positives,
            .weights = {.values = weights},
            .examples = 1,
            .update = update,
            .bag_gradient = bag_gradient};
  }
  std::size_t input_count() const { return Block(*this).input_count(); }
  Block::Shape shape() const {
    return {input_count(), outputs.size(), Block(*this).has_bags() ? inputs.size() : 0};
  }
};

inline Model random_model(std::size_t rows, std::size_t dimension, std::uint64_t seed,
                          double size = 1.0) {
  Model model(rows, dimension, seed);
  Random random(seed, 1);
  for (RowMatrix* matrix : {&model.input, &model.output})
    for (std::size_t i = 0; i < rows; ++i)
      for (float& x : matrix->row(i))
        x = static_cast<float>(size * (2.0 * random.uniform() - 1.0) /
                               std::sqrt(static_cast<double>(dimension)));
  return model;
}

inline std::vector<RowId> distinct(std::size_t count, std::size_t rows, Random& random) {
  std::vector<RowId> all(rows);
  for (std::size_t i = 0; i < rows; ++i) all[i] = static_cast<RowId>(i);
  for (std::size_t i = 0; i < count; ++i)
    std::swap(all[i], all[i + static_cast<std::size_t>(random.below(rows - i))]);
  all.resize(count);
  return all;
}

inline std::vector<RowId> any_rows(std::size_t count, std::size_t rows, Random& random) {
  std::vector<RowId> result(count);
  for (RowId& id : result) id = static_cast<RowId>(random.below(rows));
  return result;
}

inline constexpr BagGradient bag_gradients[] = {BagGradient::mean, BagGradient::whole,
                                                BagGradient::root};

/// From -2 to 2, a quarter of them 0.
inline std::vector<float> any_weights(std::size_t count, Random& random) {
  std::vector<float> result(count);
  for (float& weight : result)
    weight = static_cast<float>(random.below(4) == 0 ? 0.0 : random.uniform() * 4.0 - 2.0);
  return result;
}

/// `bags` bags of 1 to 5 rows, of so few rows that members repeat in a bag and between bags.
inline OwnedBlock bags_of(std::size_t bags, std::size_t outputs, std::size_t rows, Random& random) {
  OwnedBlock block{.inputs = {},
                   .outputs = any_rows(outputs, rows, random),
                   .positives = static_cast<std::size_t>(random.below(outputs + 1))};
  for (std::size_t i = 0; i < bags; ++i) {
    const auto more = any_rows(1 + static_cast<std::size_t>(random.below(5)), rows, random);
    block.inputs.insert(block.inputs.end(), more.begin(), more.end());
    block.bag_ends.push_back(static_cast<std::uint32_t>(block.inputs.size()));
  }
  return block;
}

/// A bag of 2 to 10 rows, of which `own` outputs, if there are as many, leave out one each.
inline OwnedBlock bags_without_one(std::size_t own, std::size_t outputs, std::size_t rows,
                                   Random& random) {
  OwnedBlock block{.inputs = any_rows(2 + random.below(9), rows, random),
                   .outputs = any_rows(outputs, rows, random),
                   .positives = static_cast<std::size_t>(random.below(outputs + 1))};
  for (std::size_t j = 0; j < std::min(own, outputs); ++j)
    block.left_out.push_back(static_cast<std::uint32_t>(random.below(block.inputs.size())));
  return block;
}

/// The largest difference in units of float rounding of values of size 1.
inline double difference(const Model& model, const oracle::Model& expected) {
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

inline bool padding_is_zero(const RowMatrix& matrix) {
  for (std::size_t i = 0; i < matrix.rows(); ++i)
    for (std::size_t c = matrix.columns(); c < matrix.stride(); ++c)
      if (matrix.row_data(i)[c] != 0.0f) return false;
  return true;
}

inline bool same_bits(const RowMatrix& a, const RowMatrix& b) {
  return std::equal(a.data(), a.data() + a.bytes() / sizeof(float), b.data(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  });
}
inline bool same_bits(const Model& a, const Model& b) {
  return same_bits(a.input, b.input) && same_bits(a.output, b.output);
}

/// Whether rows that are not among `ids` have every bit as before.
inline bool others_keep_every_bit(const RowMatrix& now, const RowMatrix& before,
                                  const std::vector<RowId>& ids) {
  for (std::size_t i = 0; i < now.rows(); ++i)
    if (std::find(ids.begin(), ids.end(), static_cast<RowId>(i)) == ids.end() &&
        !std::equal(now.row(i).begin(), now.row(i).end(), before.row(i).begin()))
      return false;
  return true;
}

/// Returns whether a test of very many blocks leaves the next one out: most without optimisation
/// and, except in `cmake/test.sh full`, on an instruction set that WORDLOOM_TARGET names.
inline bool leaves_out(Random& random) {
#ifdef NDEBUG
  static const bool takes_all = WORDLOOM_TEST_LONG || std::getenv("WORDLOOM_TARGET") == nullptr;
#else
  constexpr bool takes_all = false;
#endif
  return !takes_all && random.below(6) > 0;
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

  auto worker = Kernel{}.worker(model, block.shape());
  const LossSum loss = worker.template update<true>(model, block, learning_rate);
  INFO("D " << dimension << ", " << block.input_count() << " x " << block.outputs.size() << ", "
            << block.positives << " positives, " << block.inputs.size() << " rows of inputs");
  CHECK(difference(model, expected) <
        8.0 + 2.0 * static_cast<double>(block.inputs.size() + block.outputs.size()));
  CHECK(loss.value() == Approx(expected_loss).epsilon(1e-5).margin(1e-5));
  CHECK(padding_is_zero(model.input));
  CHECK(padding_is_zero(model.output));
  CHECK(others_keep_every_bit(model.input, start.input, block.inputs));
  CHECK(others_keep_every_bit(model.output, start.output, block.outputs));
  if (block.update == Block::Sides::inputs) CHECK(same_bits(model.output, start.output));
  if (block.update == Block::Sides::outputs) CHECK(same_bits(model.input, start.input));
}

/// The change of the model by a small step is the negative gradient of the loss.
template <class Kernel>
void check_gradient(const OwnedBlock& block) {
  const std::size_t dimension = 7, rows = 6;
  Model model = random_model(rows, dimension, 3, 2.0);
  const oracle::Model start(model);
  const float rate = 0x1p-10f;
  Kernel{}.worker(model, block.shape()).template update<false>(model, block, rate);

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

/// Calls `test.operator()<Kernel>()` for each kernel of the library, in a section of its name.
template <class Test>
void for_each_kernel(Test test) {
  Policies::Kernels::for_each([&]<class Kernel>(std::string_view name) {
    DYNAMIC_SECTION(name) { test.template operator()<Kernel>(); }
  });
}

}  // namespace wordloom_test
