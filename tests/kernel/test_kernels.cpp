#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/registry.hpp>

#include "catch.hpp"
#include "kernel/oracle.hpp"

using namespace wordloom;

namespace {

/// A block that owns its ids.
struct OwnedBlock {
  std::vector<RowId> inputs, outputs;
  std::size_t positives = 1;
  std::vector<std::uint32_t> bag_ends = {};
  std::vector<std::uint32_t> left_out = {};
  std::vector<float> weights = {};  // of pairs
  Sides update = Sides::both;
  BagGradient bag_gradient = BagGradient::mean;

  operator Block() const {
    return {.inputs = inputs,
            .bag_ends = bag_ends,
            .left_out = left_out,
            .outputs = outputs,
            .positives = positives,
            .weights = {.values = weights},
            .examples = 1,
            .update = update,
            .bag_gradient = bag_gradient};
  }
  std::size_t input_count() const { return Block(*this).input_count(); }
  BlockShape shape() const {
    return {input_count(), outputs.size(), Block(*this).has_bags() ? inputs.size() : 0};
  }
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

std::vector<RowId> distinct(std::size_t count, std::size_t rows, Random& random) {
  std::vector<RowId> all(rows);
  for (std::size_t i = 0; i < rows; ++i) all[i] = static_cast<RowId>(i);
  for (std::size_t i = 0; i < count; ++i)
    std::swap(all[i], all[i + static_cast<std::size_t>(random.below(rows - i))]);
  all.resize(count);
  return all;
}

std::vector<RowId> any_rows(std::size_t count, std::size_t rows, Random& random) {
  std::vector<RowId> result(count);
  for (RowId& id : result) id = static_cast<RowId>(random.below(rows));
  return result;
}

/// From -2 to 2, a quarter of them 0.
std::vector<float> any_weights(std::size_t count, Random& random) {
  std::vector<float> result(count);
  for (float& weight : result)
    weight = static_cast<float>(random.below(4) == 0 ? 0.0 : random.uniform() * 4.0 - 2.0);
  return result;
}

/// `bags` bags of 1 to 5 rows, of so few rows that members repeat in a bag and between bags.
OwnedBlock bags_of(std::size_t bags, std::size_t outputs, std::size_t rows, Random& random) {
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
OwnedBlock bags_without_one(std::size_t own, std::size_t outputs, std::size_t rows,
                            Random& random) {
  OwnedBlock block{.inputs = any_rows(2 + random.below(9), rows, random),
                   .outputs = any_rows(outputs, rows, random),
                   .positives = static_cast<std::size_t>(random.below(outputs + 1))};
  for (std::size_t j = 0; j < std::min(own, outputs); ++j)
    block.left_out.push_back(static_cast<std::uint32_t>(random.below(block.inputs.size())));
  return block;
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
bool same_bits(const Model& a, const Model& b) {
  return same_bits(a.input, b.input) && same_bits(a.output, b.output);
}

/// Whether rows that are not among `ids` have every bit as before.
bool others_keep_every_bit(const RowMatrix& now, const RowMatrix& before,
                           const std::vector<RowId>& ids) {
  for (std::size_t i = 0; i < now.rows(); ++i)
    if (std::find(ids.begin(), ids.end(), static_cast<RowId>(i)) == ids.end() &&
        !std::equal(now.row(i).begin(), now.row(i).end(), before.row(i).begin()))
      return false;
  return true;
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
  if (block.update == Sides::inputs) CHECK(same_bits(model.output, start.output));
  if (block.update == Sides::outputs) CHECK(same_bits(model.input, start.input));
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
  Kernels::for_each([&]<class Kernel>(std::string_view name) {
    DYNAMIC_SECTION(name) { test.template operator()<Kernel>(); }
  });
}

}  // namespace

TEST_CASE("an update equals the oracle's for every block shape and dimension", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    Random random(7);
    for (const std::size_t dimension : {1u, 7u, 16u, 17u, 32u, 48u, 100u, 128u, 300u})
      for (std::size_t inputs = 1; inputs <= 20; ++inputs)
        for (const std::size_t outputs :
             {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 11u, 12u, 13u, 18u, 21u}) {
#ifndef NDEBUG
          if ((inputs + outputs + dimension) % 7 != 0) continue;
#endif
          const std::size_t rows = 48;
          check_update<Kernel>(dimension,
                               {.inputs = distinct(inputs, rows, random),
                                .outputs = distinct(outputs, rows, random),
                                .positives = static_cast<std::size_t>(random.below(outputs + 1))},
                               rows);
        }
  });
}

TEST_CASE("duplicate rows of a block get every change", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    Random random(11);
    for (const std::size_t dimension : {1u, 7u, 100u, 128u, 300u})
      for (int repetition = 0; repetition < 40; ++repetition) {
        const std::size_t rows = 4;  // so few that nearly every block repeats rows
        OwnedBlock block{
            .inputs = any_rows(1 + static_cast<std::size_t>(random.below(12)), rows, random),
            .outputs = any_rows(1 + static_cast<std::size_t>(random.below(14)), rows, random)};
        block.positives = static_cast<std::size_t>(random.below(block.outputs.size() + 1));
        check_update<Kernel>(dimension, block, rows, 0.1f);
      }
  });
}

TEST_CASE("weights scale the gradients of their pairs and not the loss", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    Random random(13);
    for (const std::size_t inputs : {1u, 3u, 4u, 6u, 9u})
      for (const std::size_t outputs : {1u, 6u, 8u, 15u}) {
        OwnedBlock block{.inputs = distinct(inputs, 20, random),
                         .outputs = distinct(outputs, 20, random)};
        for (std::size_t i = 0; i < inputs * outputs; ++i) {
          const auto weight = static_cast<float>(random.uniform() * 3.0);
          block.weights.push_back(i < inputs ? weight : -weight);  // one positive
        }
        check_update<Kernel>(100, block, 20);
      }
  });
}

TEST_CASE("pairs have labels and weights of their own, and 0 is no pair", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    Random random(31);
    for (const std::size_t inputs : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 9u, 14u})
      for (const std::size_t outputs : {1u, 2u, 5u, 6u, 7u, 13u}) {
        OwnedBlock block{.inputs = distinct(inputs, 20, random),
                         .outputs = distinct(outputs, 20, random),
                         .positives = 0,
                         .weights = any_weights(inputs * outputs, random)};
        check_update<Kernel>(100, block, 20);
        if (inputs > 2) block.inputs[2] = block.inputs[0];
        check_update<Kernel>(48, block, 20);
      }
  });
}

TEST_CASE("a kernel knows weights by their version and address", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    const std::size_t rows = 30, dimension = 40, outputs = 5;
    // Seven inputs: some are in groups of 4, some in a group of 3. Blocks of two are of another
    // shape.
    struct Step {
      std::size_t matrix;  // of two, which lie at the same places throughout
      std::uint64_t version;
      bool is_new;  // has other weights than before
      std::size_t inputs = 7, bag_size = 1;
    };
    const std::vector<Step> steps{
        {0, 1, true},        {0, 1, false},       {1, 1, true},        {0, 1, false},
        {1, 1, false},       {0, 2, true},        {1, 1, false, 7, 3}, {0, 2, false, 7, 3},
        {0, 3, true, 2},     {0, 3, false, 2, 2}, {1, 1, false},       {0, 4, true},
        {0, 0, true},        {0, 0, true},        {0, 5, true},        {1, 2, true, 2},
        {1, 2, false, 2, 3}, {0, 5, false},       {0, 6, true, 7, 2},  {0, 6, false}};
    Random random(41);
    std::vector<float> matrices[2] = {std::vector<float>(7 * outputs),
                                      std::vector<float>(7 * outputs)};
    Model model = random_model(rows, dimension, 5), expected = random_model(rows, dimension, 5);
    const BlockShape most{7, outputs, 21};
    auto worker = Kernel{}.worker(model, most);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      if (step.is_new) {
        const auto weights = any_weights(step.inputs * outputs, random);
        std::copy(weights.begin(), weights.end(), matrices[step.matrix].begin());
      }
      // A block without weights now and then.
      if (i % 4 == 3) {
        const OwnedBlock plain{.inputs = distinct(7, rows, random),
                               .outputs = distinct(outputs, rows, random)};
        worker.template update<false>(model, plain, 0.1f);
        Kernel{}.worker(expected, most).template update<false>(expected, plain, 0.1f);
      }
      OwnedBlock owned{.inputs = distinct(step.inputs * step.bag_size, rows, random),
                       .outputs = distinct(outputs, rows, random)};
      if (step.bag_size > 1)
        for (std::size_t k = 1; k <= step.inputs; ++k)
          owned.bag_ends.push_back(static_cast<std::uint32_t>(k * step.bag_size));
      Block block = owned;
      block.weights = {std::span(matrices[step.matrix]).first(step.inputs * outputs), step.version};
      const LossSum loss = worker.template update<true>(model, block, 0.1f);
      block.weights.version = 0;
      const LossSum expected_loss =
          Kernel{}.worker(expected, most).template update<true>(expected, block, 0.1f);
      INFO("step " << i);
      REQUIRE(loss.value() == expected_loss.value());
      REQUIRE(same_bits(model, expected));
    }
  });
}

TEST_CASE("an input that is a bag is the mean of its members", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    Random random(43);
    for (const std::size_t dimension : {1u, 16u, 33u, 100u, 300u})
      for (const std::size_t bags : {1u, 2u, 3u, 4u, 5u, 7u, 12u})
        for (const std::size_t outputs : {1u, 2u, 6u, 7u, 13u})
          for (const BagGradient gradient : {BagGradient::mean, BagGradient::whole})
            for (OwnedBlock block :
                 {bags_of(bags, outputs, 6, random), bags_without_one(bags, outputs, 6, random)}) {
              block.bag_gradient = gradient;
              check_update<Kernel>(dimension, block, 6, 0.1f);
              block.weights =
                  any_weights(block.left_out.empty() ? bags * outputs : outputs, random);
              check_update<Kernel>(dimension, block, 6, 0.1f);
            }
  });
}

TEST_CASE("bags of one are inputs that are no bags", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    Random random(47);
    for (const std::size_t inputs : {1u, 3u, 6u}) {
      const OwnedBlock rows{.inputs = distinct(inputs, 20, random),
                            .outputs = distinct(6, 20, random)};
      OwnedBlock bags = rows;
      for (std::size_t i = 1; i <= inputs; ++i)
        bags.bag_ends.push_back(static_cast<std::uint32_t>(i));
      for (const BagGradient gradient : {BagGradient::mean, BagGradient::whole}) {
        bags.bag_gradient = gradient;
        check_update<Kernel>(100, bags, 20);
        Model one = random_model(20, 100, 5), other = random_model(20, 100, 5);
        Kernel{}.worker(one, rows.shape()).template update<false>(one, rows, 0.1f);
        Kernel{}.worker(other, bags.shape()).template update<false>(other, bags, 0.1f);
        CHECK(difference(one, oracle::Model(other)) < 4);
      }
    }
  });
}

TEST_CASE("a bag without a member is the bag of the others", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    Random random(61);
    for (const std::size_t dimension : {7u, 100u})
      for (const BagGradient gradient : {BagGradient::mean, BagGradient::whole}) {
        OwnedBlock without_one = bags_without_one(5, 6, 12, random);
        without_one.bag_gradient = gradient;
        OwnedBlock bags = without_one;
        bags.left_out.clear();
        bags.inputs.clear();
        for (std::size_t i = 0; i < 6; ++i) {
          const auto members = oracle::bag(without_one, i);
          bags.inputs.insert(bags.inputs.end(), members.begin(), members.end());
          bags.bag_ends.push_back(static_cast<std::uint32_t>(bags.inputs.size()));
        }
        for (std::size_t j = 0; j < 6; ++j)
          for (std::size_t i = 0; i < 6; ++i)
            bags.weights.push_back(static_cast<float>(oracle::weight(without_one, i, j)));
        Model one = random_model(12, dimension, 5), other = random_model(12, dimension, 5);
        Kernel{}.worker(one, without_one.shape()).template update<false>(one, without_one, 0.1f);
        Kernel{}.worker(other, bags.shape()).template update<false>(other, bags, 0.1f);
        CHECK(difference(one, oracle::Model(other)) < 16);
      }
  });
}

TEST_CASE("the whole gradient of a bag is as many times the mean's as it has members", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    OwnedBlock block{.inputs = {3, 5, 3, 1}, .outputs = {2, 4, 0}, .bag_ends = {4}};
    const auto change = [&](BagGradient gradient) {
      Model model = random_model(6, 24, 9);
      block.bag_gradient = gradient;
      Kernel{}.worker(model, block.shape()).template update<false>(model, block, 0.5f);
      const Model start = random_model(6, 24, 9);
      std::vector<float> result;
      for (std::size_t i = 0; i < 6; ++i)
        for (std::size_t c = 0; c < 24; ++c)
          result.push_back(model.input.row(i)[c] - start.input.row(i)[c]);
      return result;
    };
    const auto mean = change(BagGradient::mean), whole = change(BagGradient::whole);
    for (std::size_t i = 0; i < mean.size(); ++i)
      CHECK(whole[i] == Approx(4 * mean[i]).margin(1e-6));
    // Row 3 is a member twice.
    for (std::size_t c = 0; c < 24; ++c)
      CHECK(mean[3 * 24 + c] == Approx(2 * mean[5 * 24 + c]).margin(1e-6));
  });
}

TEST_CASE("a block that updates one side leaves the other as it is, bit for bit", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    Random random(53);
    for (const Sides sides : {Sides::inputs, Sides::outputs})
      for (const std::size_t dimension : {1u, 17u, 100u})
        for (const std::size_t inputs : {1u, 2u, 4u, 7u})
          for (const std::size_t outputs : {1u, 5u, 13u}) {
            // Rows repeat, in the side that is updated and in the other.
            OwnedBlock block{.inputs = any_rows(inputs, 6, random),
                             .outputs = any_rows(outputs, 6, random),
                             .update = sides};
            check_update<Kernel>(dimension, block, 6, 0.1f);
            block.weights = any_weights(inputs * outputs, random);
            check_update<Kernel>(dimension, block, 6, 0.1f);
            for (OwnedBlock bags : {bags_of(inputs, outputs, 6, random),
                                    bags_without_one(inputs, outputs, 6, random)}) {
              bags.update = sides;
              check_update<Kernel>(dimension, bags, 6, 0.1f);
              bags.bag_gradient = BagGradient::whole;
              check_update<Kernel>(dimension, bags, 6, 0.1f);
            }
          }
  });
}

TEST_CASE("the change of a model is the negative gradient of the loss", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    const OwnedBlock rows{.inputs = {1, 4, 1}, .outputs = {2, 3, 5, 3}};
    OwnedBlock weighted = rows;
    weighted.weights = {1.0f, 0.5f, 2.0f, -1.0f, -0.5f, -2.0f, -1.0f, 0.0f, 0.25f, -1.5f, -1, -1};
    // Bags of one, two and five rows: row 1 is in all of them and twice in the last.
    const OwnedBlock bags{
        .inputs = {1, 4, 1, 0, 1, 5, 1, 2}, .outputs = {2, 3, 5, 3}, .bag_ends = {1, 3, 8}};
    OwnedBlock weighted_bags = bags;
    weighted_bags.weights = weighted.weights;
    // Bags of four of five rows, of which row 1 is two, and of all five.
    OwnedBlock without_one{
        .inputs = {1, 4, 1, 0, 5}, .outputs = {2, 3, 5, 3, 1, 3}, .left_out = {2, 4, 2}};
    without_one.weights = {1.0f, 0.5f, 2.0f, -1.0f, 0.0f, -1.5f};
    for (const OwnedBlock& block : {rows, weighted, bags, weighted_bags, without_one})
      check_gradient<Kernel>(block);
  });
}

TEST_CASE("the loss does not change what is learnt, bit for bit", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    Random random(17);
    const OwnedBlock rows{.inputs = distinct(6, 20, random), .outputs = distinct(6, 20, random)};
    for (const OwnedBlock& block :
         {rows, bags_of(6, 6, 20, random), bags_without_one(6, 6, 20, random)}) {
      Model with = random_model(20, 100, 5), without = random_model(20, 100, 5);
      auto worker = Kernel{}.worker(with, block.shape());
      worker.template update<true>(with, block, 0.1f);
      worker.template update<false>(without, block, 0.1f);
      CHECK(same_bits(with, without));
    }
  });
}

TEST_CASE("scores far from zero neither saturate nor break a kernel", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    const OwnedBlock block{.inputs = {0}, .outputs = {0, 1}};
    const auto loss_of = [&](float score) {
      Model model(2, 16);
      std::fill(model.input.row(0).begin(), model.input.row(0).end(), 1.0f);
      model.output.row(0)[0] = score;   // positive
      model.output.row(1)[0] = -score;  // negative
      return Kernel{}
          .worker(model, block.shape())
          .template update<true>(model, block, 0.0f)
          .value();
    };
    CHECK(loss_of(20.0f) == Approx(2 * std::log1p(std::exp(-20.0))).margin(2e-7));
    CHECK(loss_of(-20.0f) == Approx(40.0));
    CHECK(loss_of(-1e4f) == Approx(2e4));
    CHECK(loss_of(1e4f) == Approx(0.0).margin(1e-6));
    CHECK(loss_of(-std::numeric_limits<float>::infinity()) ==
          std::numeric_limits<double>::infinity());
    CHECK(std::isnan(loss_of(std::numeric_limits<float>::quiet_NaN())));
  });
}

TEST_CASE("what a kernel did before changes nothing, bit for bit", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    Random random(23);
    const Model any(30, 33);
    const BlockShape most{14, 25, 65};  // 13 bags, or 13 left out of one
    auto used = Kernel{}.worker(any, most);
    for (int repetition = 0; repetition < 300; ++repetition) {
      const auto n = 1 + static_cast<std::size_t>(random.below(13));
      const auto m = 1 + static_cast<std::size_t>(random.below(25));
      OwnedBlock block{.inputs = distinct(n, 30, random),
                       .outputs = distinct(m, 30, random),
                       .positives = static_cast<std::size_t>(random.below(m + 1))};
      // Blocks of all kinds, one after the other.
      if (random.below(4) == 0) block = bags_of(n, m, 30, random);
      if (random.below(4) == 0) block = bags_without_one(n, m, 30, random);
      if (random.below(3) == 0) block.weights = any_weights(n * m, random);
      if (random.below(3) == 0)
        block.update = random.below(2) == 0 ? Sides::inputs : Sides::outputs;
      if (random.below(2) == 0) block.bag_gradient = BagGradient::whole;
      Model one = random_model(30, 33, 5), other = random_model(30, 33, 5);
      auto fresh = Kernel{}.worker(any, most);
      REQUIRE(LossSum(used.template update<true>(one, block, 0.1f)).value() ==
              LossSum(fresh.template update<true>(other, block, 0.1f)).value());
      REQUIRE(same_bits(one, other));
    }
  });
}

TEST_CASE("prefetched rows change no bit of FusedKernel's results", "[kernel]") {
  Random random(37);
  const OwnedBlock block{.inputs = distinct(6, 20, random), .outputs = distinct(9, 20, random)};
  Model told = random_model(20, 100, 5), untold = random_model(20, 100, 5);
  auto one = FusedKernel{}.worker(told, block.shape());
  auto other = FusedKernel{}.worker(untold, block.shape());
  std::vector<RowId> all(20);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<RowId>(i);
  for (int repetition = 0; repetition < 3; ++repetition) {
    one.prefetch(told, all, all);  // more than it has room for
    one.prefetch(told, all, all);
    one.update<false>(told, block, 0.1f);
    other.update<false>(untold, block, 0.1f);
  }
  CHECK(same_bits(told, untold));
}

TEST_CASE("the halves of an update are the whole of it, bit for bit", "[kernel]") {
  Random random(59);
  OwnedBlock one_sided{.inputs = any_rows(5, 20, random),
                       .outputs = any_rows(6, 20, random),
                       .update = Sides::inputs};
  for (OwnedBlock block :
       {OwnedBlock{.inputs = any_rows(7, 20, random), .outputs = any_rows(9, 20, random)},
        bags_of(5, 7, 20, random), bags_without_one(5, 7, 20, random), one_sided}) {
    Model whole = random_model(20, 100, 5), halves = random_model(20, 100, 5);
    const BlockShape most = block.shape();
    FusedKernel{}.worker(whole, most).update<false>(whole, block, 0.1f);
    auto worker = FusedKernel{}.worker(halves, most);
    {
      OwnedBlock gone = std::move(block);
      worker.score(halves, gone, 0.1f);
      // The block may be gone in the second half, its memory used again.
      std::fill(gone.inputs.begin(), gone.inputs.end(), RowId{0});
      std::fill(gone.outputs.begin(), gone.outputs.end(), RowId{0});
      std::fill(gone.bag_ends.begin(), gone.bag_ends.end(), 0u);
      std::fill(gone.left_out.begin(), gone.left_out.end(), 0u);
    }
    CHECK(same_bits(halves, random_model(20, 100, 5)));
    worker.apply<false>(halves);
    CHECK(same_bits(whole, halves));
    worker.apply<false>(halves);  // nothing is scored
    CHECK(same_bits(whole, halves));
  }
}

#if WORDLOOM_HAS_BLAS
TEST_CASE("OneBlasThread gives the host its number of threads back", "[kernel]") {
  using detail::OneBlasThread;
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
