// Blocks that change one side, blocks of pairs, and gradients that are not applied.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/kernel/fused_one_side.hpp>
#include <wordloom/kernel/with_optimizer.hpp>
#include <wordloom/optimizer/sgd.hpp>

#include "kernel/block_checks.hpp"

using namespace wordloom;
using namespace wordloom_test;

namespace {

constexpr std::size_t rows = 120;  // of each matrix
constexpr std::size_t few = 8;     // rows from which duplicates are drawn

/// A kernel by its workers for two-step training.
template <class Kernel>
struct OneSided {
  auto worker(const Model& model, Block::Shape most) const {
    return detail::one_side_worker_of(Kernel{}, model, most);
  }
};

/// Calls `test.operator()<Kernel>()` for each kernel, and for the workers for one side of those
/// that have some.
template <class Test>
void for_each_worker(Test test) {
  Policies::Kernels::for_each([&]<class Kernel>(std::string_view name) {
    DYNAMIC_SECTION(name) { test.template operator()<Kernel>(); }
    if constexpr (requires(const Model& model) { Kernel{}.one_side_worker(model, Block::Shape()); })
      DYNAMIC_SECTION(name << " for one side") { test.template operator()<OneSided<Kernel>>(); }
  });
}

/// The kinds of blocks: which side changes, and whether rows meet in pairs and of which side all
/// are paired.
struct Kind {
  Block::Sides update = Block::Sides::both;
  bool pairs = false;
  bool inputs_are_longer = false;
};

std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds;
  for (const Block::Sides update :
       {Block::Sides::both, Block::Sides::inputs, Block::Sides::outputs})
    for (const bool pairs : {false, true})
      for (const bool inputs_are_longer : {false, true})
        kinds.push_back({update, pairs, inputs_are_longer});
  return kinds;
}

/// `count` rows of one side and up to 24 more of the other. Half of the blocks have weights, of all
/// pairs or of the rows of the longer side. Half have duplicates among rows that stand still, and a
/// quarter among rows that move.
OwnedBlock random_block(const Kind& kind, std::size_t count, Random& random) {
  const std::size_t more = random.below(25);
  const auto ids = [&](std::size_t size, bool moves) {
    return random.below(moves ? 4 : 2) == 0 ? any_rows(size, few, random)
                                            : distinct(size, rows, random);
  };
  OwnedBlock block;
  block.inputs =
      ids(count + (kind.inputs_are_longer ? more : 0), kind.update != Block::Sides::outputs);
  block.outputs =
      ids(count + (kind.inputs_are_longer ? 0 : more), kind.update != Block::Sides::inputs);
  block.positives = random.below(block.outputs.size() + 1);
  block.update = kind.update;
  if (kind.pairs) block.paired = count;
  if (random.below(2) == 0)
    block.weights =
        any_weights(kind.pairs ? count + more : block.inputs.size() * block.outputs.size(), random);
  return block;
}

std::string_view name_of(Block::Sides sides) {
  return sides == Block::Sides::both     ? "both sides"
         : sides == Block::Sides::inputs ? "inputs"
                                         : "outputs";
}

/// The gradients of each row of a block at rate 1, and the loss.
struct Gradients {
  std::vector<std::vector<double>> inputs, outputs;
  double loss = 0;
};

Gradients gradients_of(const oracle::Model& model, const Block& block) {
  const std::size_t columns = model.input.columns;
  Gradients result;
  result.inputs.assign(block.inputs.size(), std::vector<double>(columns));
  result.outputs.assign(block.outputs.size(), std::vector<double>(columns));
  for (std::size_t i = 0; i < block.inputs.size(); ++i)
    for (std::size_t j = 0; j < block.outputs.size(); ++j) {
      const double weight = oracle::weight(block, i, j);
      if (weight == 0) continue;
      double score = 0;
      for (std::size_t c = 0; c < columns; ++c)
        score += model.input.at(block.inputs[i], c) * model.output.at(block.outputs[j], c);
      result.loss += oracle::negative_log_sigmoid(weight > 0 ? score : -score);
      const double label = weight > 0 ? 1.0 : 0.0;
      const double g = (label - 1.0 / (1.0 + std::exp(-score))) * std::abs(weight);
      for (std::size_t c = 0; c < columns; ++c) {
        result.inputs[i][c] += g * model.output.at(block.outputs[j], c);
        result.outputs[j][c] += g * model.input.at(block.inputs[i], c);
      }
    }
  return result;
}

/// Writes gradients with a kernel and compares them, the loss, the other rows of both matrices,
/// their padding and the model with the oracle.
template <class Kernel>
void check_gradients(std::size_t dimension, const OwnedBlock& block) {
  constexpr float untouched = 7.0f;
  constexpr std::size_t more_rows = 3;
  Model model = random_model(rows, dimension, dimension);
  const Model start = random_model(rows, dimension, dimension);
  const Gradients expected = gradients_of(oracle::Model(model), block);

  RowMatrix inputs(block.inputs.size() + more_rows, dimension);
  RowMatrix outputs(block.outputs.size() + more_rows, dimension);
  for (RowMatrix* matrix : {&inputs, &outputs})
    for (std::size_t i = 0; i < matrix->rows(); ++i) std::ranges::fill(matrix->row(i), untouched);
  auto worker = OneSided<Kernel>{}.worker(model, block.shape());
  const LossSum loss = worker.template gradients<true>(model, block, inputs, outputs);
  CHECK(loss.value() == Approx(expected.loss).epsilon(1e-5).margin(1e-5));
  CHECK(same_bits(model, start));

  const double tolerance =
      0x1p-23 * (8.0 + 2.0 * static_cast<double>(block.inputs.size() + block.outputs.size()));
  const auto check = [&](const RowMatrix& got, const std::vector<std::vector<double>>& want,
                         bool updated) {
    double worst = 0;
    for (std::size_t i = 0; i < got.rows(); ++i)
      for (std::size_t c = 0; c < dimension; ++c) {
        const double value =
            updated && i < want.size() ? want[i][c] : static_cast<double>(untouched);
        worst = std::max(
            worst, std::abs(static_cast<double>(got.row(i)[c]) - value) / (1.0 + std::abs(value)));
      }
    CHECK(worst < tolerance);
    CHECK(padding_is_zero(got));
  };
  check(inputs, expected.inputs, block.update != Block::Sides::outputs);
  check(outputs, expected.outputs, block.update != Block::Sides::inputs);

  // The loss changes no gradient.
  RowMatrix same_inputs(inputs.rows(), dimension), same_outputs(outputs.rows(), dimension);
  for (std::size_t i = 0; i < inputs.rows(); ++i)
    std::ranges::copy(inputs.row(i), same_inputs.row(i).begin());
  for (std::size_t j = 0; j < outputs.rows(); ++j)
    std::ranges::copy(outputs.row(j), same_outputs.row(j).begin());
  worker.template gradients<false>(model, block, same_inputs, same_outputs);
  CHECK(same_bits(same_inputs, inputs));
  CHECK(same_bits(same_outputs, outputs));
}

/// Updates with a kernel and Sgd and compares the model with the oracle's.
template <class Kernel>
void check_with_sgd(std::size_t dimension, const OwnedBlock& block) {
  Model model = random_model(rows, dimension, dimension);
  const Model start = random_model(rows, dimension, dimension);
  oracle::Model expected(model);
  oracle::update(expected, block, static_cast<double>(0.1f));
  const auto run = WithOptimizer<Kernel, Sgd>{}.start(model);
  auto worker = run.worker(model, block.shape());
  worker.template update<true>(model, block, 0.1f);
  CHECK(difference(model, expected) <
        8.0 + 2.0 * static_cast<double>(block.inputs.size() + block.outputs.size()));
  if (block.update == Block::Sides::inputs) CHECK(same_bits(model.output, start.output));
  if (block.update == Block::Sides::outputs) CHECK(same_bits(model.input, start.input));
}

/// Calls `check(dimension, block)` with blocks of every kind: 1 to 40 rows of the shorter side,
/// dimensions 1 to 200 in steps, from another start for each kind, and 300. Each dimension comes
/// with two of the twelve kinds, in `cmake/test.sh full` with four.
template <class Check>
void for_random_blocks(std::uint64_t seed, Check check) {
  constexpr std::size_t step = WORDLOOM_TEST_LONG ? 3 : 6;
  Random random(seed);
  std::size_t count = 0, start = 0;
  for (const Kind& kind : all_kinds()) {
    std::vector<std::size_t> dimensions(200 / step / 10 + 1, 300);
    for (std::size_t d = 1 + start++ % step; d <= 200; d += step) dimensions.push_back(d);
    for (const std::size_t dimension : dimensions) {
      if (leaves_out(random)) continue;
      const OwnedBlock block = random_block(kind, 1 + count++ % 40, random);
      INFO("D " << dimension << ", updates " << name_of(block.update) << ", " << block.inputs.size()
                << " x " << block.outputs.size() << ", " << block.paired << " pairs, "
                << block.weights.size() << " weights");
      check(dimension, block);
    }
  }
}

}  // namespace

TEST_CASE("an update of one side or of pairs equals the oracle's", "[kernel]") {
  for_each_worker([]<class Kernel>() {
    for_random_blocks(61, [](std::size_t dimension, const OwnedBlock& block) {
      check_update<Kernel>(dimension, block, rows, 0.1f);
    });
  });
}

TEST_CASE("in blocks of pairs alone, rows are scored only against their partners", "[kernel]") {
  for_each_worker([]<class Kernel>() {
    Random random(67);
    for (const Block::Sides update :
         {Block::Sides::both, Block::Sides::inputs, Block::Sides::outputs})
      for (const std::size_t count : {1u, 2u, 3u, 4u, 5u, 16u, 17u, 40u}) {
        OwnedBlock block{.inputs = distinct(count, rows, random),
                         .outputs = any_rows(count, few, random),
                         .update = update,
                         .paired = count};
        check_update<Kernel>(33, block, rows, 0.1f);
        block.weights = any_weights(count, random);
        check_update<Kernel>(33, block, rows, 0.1f);
      }
  });
}

TEST_CASE("weights of one version may be used for blocks of any side and shape in turn",
          "[kernel]") {
  for_each_worker([]<class Kernel>() {
    Random random(71);
    constexpr std::size_t dimension = 40, most = 20, shared = 5;
    // Two vectors of weights of rows, of which smaller blocks use the end, as UniformMatrix does.
    const std::vector<float> of_rows[2] = {any_weights(most + shared, random),
                                           any_weights(most + shared, random)};
    // And weights of all pairs, each with the shape of its own.
    constexpr std::pair<std::size_t, std::size_t> shapes[] = {{4, 9}, {9, 4}, {7, 7}, {13, 6}};
    std::vector<std::vector<float>> of_pairs;
    for (const auto& [n, m] : shapes) of_pairs.push_back(any_weights(n * m, random));

    Model model = random_model(rows, dimension, 5), expected = random_model(rows, dimension, 5);
    const Block::Shape max{most + shared, most + shared};
    auto worker = Kernel{}.worker(model, max);
    for (int step = 0; step < 600; ++step) {
      const auto update = static_cast<Block::Sides>(random.below(3));
      std::vector<RowId> inputs, outputs;
      Block block;
      block.update = update;
      const std::size_t choice = random.below(4);
      if (choice < 2) {
        const std::size_t count = 1 + random.below(most);
        inputs = distinct(count, rows, random);
        outputs = distinct(count + shared, rows, random);
        if (update == Block::Sides::outputs) std::swap(inputs, outputs);
        block.paired = count;
        block.weights = {std::span(of_rows[choice]).subspan(most - count), 1};
      } else {
        const std::size_t shape = random.below(4);
        inputs = distinct(shapes[shape].first, rows, random);
        outputs = distinct(shapes[shape].second, rows, random);
        block.positives = random.below(outputs.size() + 1);
        if (choice == 2) block.weights = {of_pairs[shape], 1 + random.below(2)};
      }
      // Duplicates among rows that move take another path.
      if (random.below(4) == 0 && inputs.size() > 1) inputs[1] = inputs[0];
      if (random.below(4) == 0 && outputs.size() > 1) outputs[1] = outputs[0];
      block.inputs = inputs;
      block.outputs = outputs;
      const LossSum loss = worker.template update<true>(model, block, 0.1f);
      block.weights.version = 0;
      const LossSum expected_loss =
          Kernel{}.worker(expected, max).template update<true>(expected, block, 0.1f);
      INFO("step " << step << ", updates " << name_of(update) << ", " << inputs.size() << " x "
                   << outputs.size() << ", " << block.paired << " pairs");
      REQUIRE(loss.value() == expected_loss.value());
      REQUIRE(same_bits(model, expected));
    }
  });
}

TEST_CASE("weights of a version of 0 may change from block to block", "[kernel]") {
  for_each_worker([]<class Kernel>() {
    Random random(73);
    std::vector<float> weights(12);
    Model model = random_model(rows, 20, 5), expected = random_model(rows, 20, 5);
    auto worker = Kernel{}.worker(model, {8, 12});
    for (int step = 0; step < 20; ++step) {
      std::ranges::copy(any_weights(12, random), weights.begin());
      const auto inputs = distinct(8, rows, random), outputs = distinct(12, rows, random);
      const Block block{.inputs = inputs,
                        .outputs = outputs,
                        .paired = 8,
                        .weights = {weights},
                        .examples = 1,
                        .update = Block::Sides::inputs};
      worker.template update<false>(model, block, 0.1f);
      Kernel{}.worker(expected, {8, 12}).template update<false>(expected, block, 0.1f);
      REQUIRE(same_bits(model, expected));
    }
  });
}

TEMPLATE_TEST_CASE("a block of one side is trained in halves, with prefetches meanwhile",
                   "[kernel]", FusedKernel, OneSided<FusedKernel>) {
  Random random(79);
  std::vector<RowId> all(rows);
  for (std::size_t i = 0; i < rows; ++i) all[i] = static_cast<RowId>(i);
  for (const Kind& kind : all_kinds())
    for (const std::size_t count : {1u, 4u, 6u, 7u, 21u}) {
      OwnedBlock block = random_block(kind, count, random);
      INFO("updates " << name_of(block.update) << ", " << block.inputs.size() << " x "
                      << block.outputs.size() << ", " << block.paired << " pairs");
      Model whole = random_model(rows, 100, 5), halves = random_model(rows, 100, 5);
      const Block::Shape most = block.shape();
      const LossSum expected =
          TestType{}.worker(whole, most).template update<true>(whole, block, 0.1f);
      auto worker = TestType{}.worker(halves, most);
      worker.score(halves, block, 0.1f);
      CHECK(same_bits(halves, random_model(rows, 100, 5)));
      // The block may be gone in the second half, its memory used again.
      std::ranges::fill(block.inputs, RowId{0});
      std::ranges::fill(block.outputs, RowId{0});
      std::ranges::fill(block.weights, 0.0f);
      worker.prefetch(halves, std::span(all).first(random.below(rows)),
                      std::span(all).first(random.below(rows)));
      CHECK(worker.template apply<true>(halves).value() == expected.value());
      CHECK(same_bits(whole, halves));
      CHECK(worker.template apply<true>(halves).value() == 0.0);  // nothing is scored
      CHECK(same_bits(whole, halves));
    }
}

TEST_CASE("gradients of one side, of both and of pairs equal the oracle's", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    for_random_blocks(83, [](std::size_t dimension, const OwnedBlock& block) {
      check_gradients<Kernel>(dimension, block);
    });
  });
}

TEST_CASE("applying gradients by Sgd equals an update", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    for_random_blocks(89, [](std::size_t dimension, const OwnedBlock& block) {
      check_with_sgd<Kernel>(dimension, block);
    });
  });
}

TEST_CASE("gradients are the finite differences of the loss", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    const OwnedBlock all_pairs{.inputs = {1, 4, 0},
                               .outputs = {2, 3, 5, 0},
                               .weights = {1, 0.5f, 2, -1, -0.5f, -2, -1, 0, 0.25f, -1.5f, -1, 1}};
    OwnedBlock pairs{
        .inputs = {1, 4, 0}, .outputs = {2, 3, 5, 0, 1}, .weights = {1, 0.5f, 2, -1.5f, -0.25f}};
    pairs.paired = 3;
    for (const OwnedBlock& block : {all_pairs, pairs}) {
      constexpr std::size_t dimension = 7;
      Model model = random_model(6, dimension, 3, 2.0);
      const oracle::Model start(model);
      RowMatrix inputs(block.inputs.size(), dimension), outputs(block.outputs.size(), dimension);
      OneSided<Kernel>{}
          .worker(model, block.shape())
          .template gradients<false>(model, block, inputs, outputs);
      const auto check = [&](const RowMatrix& got, const std::vector<RowId>& ids,
                             oracle::Matrix oracle::Model::*matrix) {
        for (std::size_t k = 0; k < ids.size(); ++k)
          for (std::size_t c = 0; c < dimension; ++c) {
            const double step = 1e-5;
            oracle::Model up = start, down = start;
            (up.*matrix).at(ids[k], c) += step;
            (down.*matrix).at(ids[k], c) -= step;
            const double slope =
                (oracle::loss(up, block, true) - oracle::loss(down, block, true)) / (2 * step);
            CHECK(static_cast<double>(got.row(k)[c]) == Approx(-slope).margin(1e-5));
          }
      };
      check(inputs, block.inputs, &oracle::Model::input);
      check(outputs, block.outputs, &oracle::Model::output);
    }
  });
}
