#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>
#include <wordloom/kernel/dot_kernel.hpp>
#include <wordloom/kernel/fused_kernel.hpp>
#include <wordloom/kernel/with_optimizer.hpp>
#include <wordloom/optimizer/ada_grad.hpp>
#include <wordloom/optimizer/adam.hpp>
#include <wordloom/optimizer/row_ada_grad.hpp>
#include <wordloom/optimizer/sgd.hpp>
#include <wordloom/sync/thread_ranks.hpp>
#if WORDLOOM_HAS_BLAS
#include <wordloom/kernel/gemm_kernel.hpp>
#endif

#include "../../benchmarks/support/averaged_gradients.hpp"
#include "optimizer/optimizer_checks.hpp"

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
    if (random.below(3) == 0)
      block.update = random.below(2) == 0 ? Block::Sides::inputs : Block::Sides::outputs;
    blocks.push_back(std::move(block));
  }
  return blocks;
}

}  // namespace

TEST_CASE("gradients equal the oracle's, and the model does not change", "[optimizer]") {
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
        check(inputs, block.inputs, start.input, expected.input,
              block.update != Block::Sides::outputs);
        check(outputs, block.outputs, start.output, expected.output,
              block.update != Block::Sides::inputs);
      }
  });
}

TEST_CASE("a kernel with Sgd trains like the kernel alone", "[optimizer]") {
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
          if (block.update == Block::Sides::inputs) REQUIRE(same_bits(model.output, same.output));
          if (block.update == Block::Sides::outputs) REQUIRE(same_bits(model.input, same.input));
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
        check(model.input, start.input, sums.input, block.inputs,
              block.update != Block::Sides::outputs, "input.adam_steps");
        check(model.output, start.output, sums.output, block.outputs,
              block.update != Block::Sides::inputs, "output.adam_steps");
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
    one.flush(other, 0.1f);
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t c = 0; c < 20; ++c) {
        const double want = sides.input.at(i, c) + sides.output.at(i, c) - start.output.at(i, c);
        CHECK(std::abs(static_cast<double>(other.input.row(i)[c]) - want) <= 1e-7);
      }

    const auto run = WithOptimizer<DotKernel, Adam>{.batch = batch}.start(model);
    auto worker = run.worker(model, block.shape());
    worker.update<false>(model, block, 0.1f);
    worker.flush(model, 0.1f);
  }
  const RowMatrix& steps = state_of(model, "input.adam_steps");
  CHECK(steps.row(0)[0] == 2);
  CHECK(steps.row(1)[0] == 2);  // one for each block, though it stands three times
  CHECK(steps.row(2)[0] == 2);
  CHECK(steps.row(3)[0] == 0);
}

TEST_CASE("a batch of blocks is trained like one block that contains them", "[optimizer]") {
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

TEST_CASE("flush() applies a batch that is not full, once", "[optimizer]") {
  Random random(2);
  const OwnedBlock block{.inputs = any_rows(3, 8, random), .outputs = any_rows(4, 8, random)};
  Model batched = wordloom_test::random_model(8, 30, 4);
  Model whole = wordloom_test::random_model(8, 30, 4);
  const auto run = WithOptimizer<DotKernel, Sgd>{.batch = 100}.start(batched);
  auto worker = run.worker(batched, block.shape());
  worker.update<false>(batched, block, 0.1f);
  CHECK(same_bits(batched, whole));
  worker.flush(batched, 0.1f);
  DotKernel{}.worker(whole, block.shape()).update<false>(whole, block, 0.1f);
  CHECK(difference(batched, oracle::Model(whole)) < 16.0);
  const RowMatrix input = batched.input.copy(), output = batched.output.copy();
  worker.flush(batched, 0.1f);
  CHECK(same_bits(batched.input, input));
  CHECK(same_bits(batched.output, output));
}

namespace {

/// Adds the gradients of a block, for the model `at`, times `rate` to `sums`.
void add_gradients(const oracle::Model& at, const OwnedBlock& block, double rate,
                   oracle::Model& sums) {
  oracle::Model moved = at;
  oracle::update(moved, block, rate);
  for (auto side : {&oracle::Model::input, &oracle::Model::output})
    for (std::size_t i = 0; i < (at.*side).values.size(); ++i)
      (sums.*side).values[i] += (moved.*side).values[i] - (at.*side).values[i];
}

}  // namespace

TEST_CASE("a dense Adam steps all rows after every batch, as in its paper", "[optimizer]") {
  const Adam adam{.epsilon = 1e-3, .dense = true};
  Model model = random_model(12, 20, 4);
  oracle::Model expected(model), zero = expected;
  for (auto side : {&oracle::Model::input, &oracle::Model::output})
    std::ranges::fill((zero.*side).values, 0.0);
  oracle::Model means = zero, squares = zero;
  const WithOptimizer<DotKernel, Adam> kernel{.optimizer = adam, .batch = 3};
  const auto run = kernel.start(model);
  auto worker = run.worker(model, {4, 5});
  Random random(7);
  for (int t = 1; t <= 40; ++t) {
    oracle::Model gradients = zero;
    for (int k = 0; k < 3; ++k) {  // later batches lack half of the rows
      const std::size_t rows = t < 4 ? 12 : 6;
      const OwnedBlock block{.inputs = any_rows(4, rows, random),
                             .outputs = any_rows(5, rows, random)};
      add_gradients(expected, block, 1.0, gradients);
      worker.update<false>(model, block, 0.01f);
    }
    for (auto side : {&oracle::Model::input, &oracle::Model::output})
      for (std::size_t i = 0; i < (zero.*side).values.size(); ++i) {
        const double g = (gradients.*side).values[i];
        double& mean = (means.*side).values[i];
        double& square = (squares.*side).values[i];
        mean = 0.9 * mean + 0.1 * g;
        square = 0.999 * square + 0.001 * g * g;
        (expected.*side).values[i] += 0.01 * mean / (1 - std::pow(0.9, t)) /
                                      (std::sqrt(square / (1 - std::pow(0.999, t))) + 1e-3);
      }
    for (std::size_t row = 0; row < 12; ++row)
      for (std::size_t c = 0; c < 20; ++c) {
        REQUIRE(std::abs(static_cast<double>(model.input.row(row)[c]) - expected.input.at(row, c)) <
                1e-4);
        REQUIRE(std::abs(static_cast<double>(model.output.row(row)[c]) -
                         expected.output.at(row, c)) < 1e-4);
      }
  }
  REQUIRE(all_padding_is_zero(model));
  const RowMatrix before = model.input.copy();
  worker.flush(model, 0.01f);  // nothing is left
  CHECK(same_bits(model.input, before));
  CHECK_THROWS_WITH((WithOptimizer<DotKernel, Adam>{.optimizer = adam}.start(model)),
                    "an optimizer that steps all rows needs a batch above 1");
}

TEST_CASE("ranks that average gradients take one common step by the mean of all", "[optimizer]") {
  Random random(9);
  std::vector<OwnedBlock> blocks[2];  // of both ranks
  for (const std::size_t rank : {0u, 1u})
    for (std::size_t k = 0; k < (rank == 0 ? 5 : 2); ++k)
      blocks[rank].push_back(
          {.inputs = any_rows(1, 12, random), .outputs = any_rows(4, 12, random)});
  Model models[2] = {random_model(12, 16, 4), random_model(12, 16, 4)};
  oracle::Model expected(models[0]);
  ThreadRanks::run(2, [&](ThreadRanks self) {
    Model& model = models[self.rank()];
    const auto run = AveragedGradients<Sgd, ThreadRanks>{.ranks = self, .batch = 4}.start(model);
    auto worker = run.worker(model, {1, 4});
    // The rank that has more is also slower: the others wait with gradients of zero.
    for (const OwnedBlock& block : blocks[self.rank()])
      worker.update<false>(model, block, self.rank() == 0 ? 0.1f : 0.3f);
    worker.flush(model, self.rank() == 0 ? 0.1f : 0.3f);
  });
  const std::vector<const OwnedBlock*> batches[3] = {
      {&blocks[0][0], &blocks[0][1], &blocks[1][0], &blocks[1][1]},
      {&blocks[0][2], &blocks[0][3]},
      {&blocks[0][4]}};
  for (const auto& batch : batches) {
    oracle::Model next = expected;
    for (const OwnedBlock* block : batch)  // the mean of both rates, for the mean gradient
      add_gradients(expected, *block, 0.2 / 2, next);
    expected = next;
  }
  CHECK(difference(models[0], expected) < 40.0);
  CHECK(same_bits(models[0], models[1]));
}
