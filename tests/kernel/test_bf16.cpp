#include <wordloom/kernel/bf16_kernel.hpp>

#include "kernel/block_checks.hpp"
#include "support.hpp"

using namespace wordloom;
using namespace wordloom_test;

namespace {

using PackedModel = detail::PackedRows<Bf16Kernel::Run>;

bool can_run() {
  if (!Bf16Kernel::runs_here()) skip("this processor lacks AVX512_BF16");
  return Bf16Kernel::runs_here();
}

/// Random rows that are bfloat16 exactly.
Model rounded_model(std::size_t rows, std::size_t dimension, std::uint64_t seed) {
  Model model = random_model(rows, dimension, seed);
  const auto run = Bf16Kernel().start(model);
  PackedModel(run, model, 1).unpack();
  return model;
}

LossSum update(Model& model, const Block& block, Block::Shape most, float rate) {
  const auto run = Bf16Kernel().start(model);
  const PackedModel packed(run, model, 1);
  return run.worker(model, most).update<true>(model, block, rate);
}

/// The distance from a bfloat16 to the next one of larger size.
double spacing(double x) { return std::exp2(std::floor(std::log2(std::abs(x) + 1e-30)) - 7); }

/// The largest error of a matrix, minus one spacing of bfloat16, and minus room for gradients,
/// which are rounded to bfloat16 too. `sizes`: of the changes.
double excess(const RowMatrix& got, const oracle::Matrix& start, const oracle::Matrix& want,
              const oracle::Matrix& sizes) {
  double worst = -1;
  for (std::size_t i = 0; i < got.rows(); ++i)
    for (std::size_t c = 0; c < got.columns(); ++c) {
      const double x = static_cast<double>(got.row(i)[c]), w = want.at(i, c);
      const double room = sizes.at(i, c) * 0x1p-8 + 1e-6;
      const double size = std::max(std::abs(w), std::abs(start.at(i, c))) + room;
      worst = std::max(worst, std::abs(x - w) - spacing(size) - room);
    }
  return worst;
}

/// The sums of the sizes of all changes of each number, positive, by the oracle.
oracle::Model sizes_of_changes(const oracle::Model& start, const Block& block, double rate) {
  oracle::Model sizes = start;
  std::fill(sizes.input.values.begin(), sizes.input.values.end(), 0.0);
  std::fill(sizes.output.values.begin(), sizes.output.values.end(), 0.0);
  for (std::size_t i = 0; i < block.inputs.size(); ++i)
    for (std::size_t j = 0; j < block.outputs.size(); ++j) {
      const double g = rate * std::abs(oracle::weight(block, i, j));
      const RowId in = block.inputs[i], out = block.outputs[j];
      for (std::size_t c = 0; c < start.input.columns; ++c) {
        sizes.input.at(in, c) += g * std::abs(start.output.at(out, c));
        sizes.output.at(out, c) += g * std::abs(start.input.at(in, c));
      }
    }
  return sizes;
}

bool is_bf16(const RowMatrix& matrix) {
  for (std::size_t i = 0; i < matrix.rows(); ++i)
    for (const float x : matrix.row(i))
      if ((std::bit_cast<std::uint32_t>(x) & 0xffffu) != 0) return false;
  return true;
}

void check_bf16_update(std::size_t dimension, const OwnedBlock& block, std::size_t rows,
                       float rate) {
  const Model start = rounded_model(rows, dimension, dimension);
  Model model = rounded_model(rows, dimension, dimension);
  const oracle::Model before(start);
  oracle::Model expected = before;
  oracle::update(expected, block, static_cast<double>(rate));
  const oracle::Model sizes = sizes_of_changes(before, block, static_cast<double>(rate));
  const LossSum loss = update(model, block, block.shape(), rate);
  INFO("D " << dimension << ", " << block.inputs.size() << " x " << block.outputs.size() << ", "
            << block.positives << " positives, weights " << block.weights.size());
  CHECK(loss.value() == Approx(oracle::loss(before, block, false)).epsilon(1e-5).margin(1e-5));
  CHECK(excess(model.input, before.input, expected.input, sizes.input) <= 0);
  CHECK(excess(model.output, before.output, expected.output, sizes.output) <= 0);
  CHECK(is_bf16(model.input));
  CHECK(is_bf16(model.output));
  CHECK(padding_is_zero(model.input));
  CHECK(padding_is_zero(model.output));
  CHECK(others_keep_every_bit(model.input, start.input, block.inputs));
  CHECK(others_keep_every_bit(model.output, start.output, block.outputs));
}

}  // namespace

TEST_CASE("Bf16Kernel rounds the oracle's update, for every block shape", "[bf16]") {
  if (!can_run()) return;
  Random random(7);
  for (std::size_t inputs = 1; inputs <= 20; ++inputs)
    for (std::size_t outputs = 1; outputs <= 20; ++outputs) {
      // Not a multiple of 32, of 16, of anything; less than a vector.
      constexpr std::size_t dimensions[] = {100, 48, 33, 128, 7, 300, 1, 64};
      const std::size_t dimension = dimensions[(inputs * 20 + outputs) % 8];
      OwnedBlock block{.inputs = distinct(inputs, 24, random),
                       .outputs = distinct(outputs, 24, random),
                       .positives = static_cast<std::size_t>(random.below(outputs + 1))};
      check_bf16_update(dimension, block, 24, 0.1f);
      block.weights = any_weights(inputs * outputs, random);
      check_bf16_update(dimension, block, 24, 0.1f);
    }
}

TEST_CASE("Bf16Kernel gives duplicate rows of a block every change", "[bf16]") {
  if (!can_run()) return;
  Random random(11);
  for (int repetition = 0; repetition < 200; ++repetition) {
    OwnedBlock block{.inputs = any_rows(1 + random.below(12), 4, random),
                     .outputs = any_rows(1 + random.below(14), 4, random)};
    block.positives = static_cast<std::size_t>(random.below(block.outputs.size() + 1));
    if (repetition % 2 == 1)
      block.weights = any_weights(block.inputs.size() * block.outputs.size(), random);
    check_bf16_update(repetition % 3 == 0 ? 100 : 64, block, 4, 0.1f);
  }
}

TEST_CASE("Bf16Kernel rounds without bias: changes below the spacing add up", "[bf16]") {
  if (!can_run()) return;
  // Inputs are held in registers in the first block, outputs in the others.
  for (const auto& [inputs, outputs] :
       {std::pair(7u, 10u), std::pair(6u, 6u), std::pair(9u, 13u)}) {
    Random random(3);
    const OwnedBlock block{.inputs = distinct(inputs, 16, random),
                           .outputs = distinct(outputs, 16, random)};
    Model model = rounded_model(16, 128, 5);
    const oracle::Model start(model);
    oracle::Model expected = start;
    {
      const auto run = Bf16Kernel().start(model);
      const PackedModel packed(run, model, 1);
      auto worker = run.worker(model, block.shape());
      for (int step = 0; step < 2000; ++step) {
        worker.update<false>(model, block, 2e-5f);  // changes of a hundredth of the spacing
        oracle::update(expected, block, static_cast<double>(2e-5f));
      }
    }
    // The part of the expected change that was made, by least squares.
    const auto part = [](const RowMatrix& got, const oracle::Matrix& before,
                         const oracle::Matrix& after) {
      double both = 0, squares = 0;
      for (std::size_t i = 0; i < got.rows(); ++i)
        for (std::size_t c = 0; c < got.columns(); ++c) {
          const double change = after.at(i, c) - before.at(i, c);
          both += change * (static_cast<double>(got.row(i)[c]) - before.at(i, c));
          squares += change * change;
        }
      return both / squares;
    };
    CHECK(part(model.input, start.input, expected.input) == Approx(1.0).margin(0.05));
    CHECK(part(model.output, start.output, expected.output) == Approx(1.0).margin(0.05));
  }
}

TEST_CASE("earlier blocks and prefetches change no bit of Bf16Kernel's results", "[bf16]") {
  if (!can_run()) return;
  Random random(23);
  Model any(30, 33);
  const Block::Shape most{14, 25, 0};
  const auto run = Bf16Kernel().start(any);
  auto used = run.worker(any, most);
  for (int repetition = 0; repetition < 200; ++repetition) {
    const std::size_t n = 1 + random.below(13), m = 1 + random.below(25);
    OwnedBlock owned{.inputs = distinct(n, 30, random),
                     .outputs = distinct(m, 30, random),
                     .positives = static_cast<std::size_t>(random.below(m + 1))};
    if (random.below(3) == 0) owned.weights = any_weights(n * m, random);
    const Block block = owned;
    Model one = rounded_model(30, 33, 5), other = rounded_model(30, 33, 5);
    {
      const PackedModel packed_one(run, one, 1), packed_other(run, other, 2);
      auto fresh = run.worker(any, most);
      used.prefetch(one, block.outputs, block.inputs);
      REQUIRE(used.update<true>(one, block, 0.1f).value() ==
              fresh.update<true>(other, block, 0.1f).value());
    }
    REQUIRE(same_bits(one, other));
  }
}

TEST_CASE("Bf16Kernel keeps weights of one version and address", "[bf16]") {
  if (!can_run()) return;
  Random random(29);
  std::vector<float> weights = any_weights(35, random);
  const OwnedBlock rows{.inputs = distinct(5, 30, random), .outputs = distinct(7, 30, random)};
  const auto run_with = [&](auto& worker, std::uint64_t version) {
    Model model = rounded_model(30, 40, 5);
    const auto run = Bf16Kernel().start(model);
    Block block = rows;
    block.weights = {weights, version};
    {
      const PackedModel packed(run, model, 1);
      worker.template update<false>(model, block, 0.1f);
    }
    return model;
  };
  Model any(30, 40);
  const auto run = Bf16Kernel().start(any);
  auto worker = run.worker(any, {5, 7, 0});
  const Model first = run_with(worker, 1);
  CHECK(same_bits(run_with(worker, 1), first));
  weights = any_weights(35, random);
  const Model second = run_with(worker, 2);
  CHECK(!same_bits(second, first));
  weights = any_weights(35, random);
  CHECK(!same_bits(run_with(worker, 0), second));
}

TEST_CASE("rows are rounded to nearest, in place, and unpacked exactly", "[bf16]") {
  if (!can_run()) return;
  Model model(3, 5);
  const float values[] = {1.0f, 1.0f + 0x1p-8f, 1.0f + 0x1.8p-7f, -1.0f - 0x1.1p-8f, 0x1.ffp-30f};
  const float nearest[] = {1.0f, 1.0f, 1.0f + 0x1p-6f, -1.0f - 0x1p-7f, 0x1p-29f};
  std::copy(std::begin(values), std::end(values), model.input.row(1).begin());
  model.output.row(2)[4] = std::numeric_limits<float>::infinity();
  model.output.row(2)[3] = std::numeric_limits<float>::quiet_NaN();
  const auto run = Bf16Kernel().start(model);
  { const PackedModel packed(run, model, 2); }
  CHECK(std::equal(std::begin(nearest), std::end(nearest), model.input.row(1).begin()));
  CHECK(model.output.row(2)[4] == std::numeric_limits<float>::infinity());
  CHECK(std::isnan(model.output.row(2)[3]));
  CHECK(padding_is_zero(model.input));
}

TEST_CASE("Bf16Kernel refuses models it cannot train, and names a kernel that can", "[bf16]") {
  if (!Bf16Kernel::runs_here()) {
    Model model(3, 5);
    const auto message = message_of<UnsupportedProcessor>([&] { Bf16Kernel().start(model); });
    CHECK(contains(message, "AVX512_BF16"));
    CHECK(contains(message, "--kernel fused"));
    return;
  }
  Model model(Vocabulary(), {.dimension = 5, .input_rows = 3, .one_matrix = true});
  CHECK(contains(message_of<InvalidArgument>([&] { Bf16Kernel().start(model); }), "two matrices"));
}
