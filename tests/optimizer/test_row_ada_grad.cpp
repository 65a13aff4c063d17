#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/kernel/with_optimizer.hpp>
#include <wordloom/optimizer/row_ada_grad.hpp>
#include <wordloom/sampler/cbow.hpp>
#include <wordloom/sampler/grouped_cbow.hpp>
#include <wordloom/sampler/grouped_window.hpp>
#include <wordloom/sampler/huffman_path.hpp>
#include <wordloom/sampler/shared_negative.hpp>
#include <wordloom/train/trainer.hpp>

#include "optimizer/optimizer_checks.hpp"

namespace {

using Fused = WithOptimizer<FusedKernel, RowAdaGrad>;

/// A model and its sums in double precision, changed by the plainest code.
struct Oracle {
  oracle::Model model;
  std::array<std::vector<double>, 2> sums;

  explicit Oracle(const Model& from)
      : model(from),
        sums{std::vector<double>(from.input.rows()), std::vector<double>(from.output.rows())} {}

  void update(const Block& block, double rate, double start_sum) {
    oracle::Model after = model;
    oracle::update(after, block, 1.0);
    change(model.input, after.input, sums[0], rate, start_sum);
    change(model.output, after.output, sums[1], rate, start_sum);
  }

  static void change(oracle::Matrix& rows, const oracle::Matrix& after, std::vector<double>& sums,
                     double rate, double start_sum) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      double square = 0;
      const double scale = rate / std::sqrt(std::sqrt(sums[i] + start_sum));
      for (std::size_t c = 0; c < rows.columns; ++c) {
        const double g = after.at(i, c) - rows.at(i, c);
        rows.at(i, c) += scale * g;
        square += g * g;
      }
      sums[i] += square / static_cast<double>(rows.columns);
    }
  }
};

/// Blocks of few rows of every kind: of rows, weighted, of one side, of pairs, of bags.
std::vector<OwnedBlock> blocks_of_rows(std::size_t rows, Random& random) {
  std::vector<OwnedBlock> blocks;
  for (const std::size_t n : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 11u})
    for (const std::size_t m : {1u, 2u, 5u, 6u, 7u, 13u}) {
      blocks.push_back({.inputs = any_rows(n, rows, random),
                        .outputs = any_rows(m, rows, random),
                        .positives = static_cast<std::size_t>(random.below(m + 1))});
      if (random.below(2) == 0) blocks.back().weights = any_weights(n * m, random);
    }
  return blocks;
}
std::vector<OwnedBlock> other_blocks(std::size_t rows, Random& random) {
  std::vector<OwnedBlock> blocks;
  for (const std::size_t n : {1u, 2u, 5u, 8u})
    for (const std::size_t m : {1u, 6u, 9u}) {
      const OwnedBlock block{.inputs = any_rows(n, rows, random),
                             .outputs = any_rows(m, rows, random)};
      for (OwnedBlock more :
           {block, bags_of(1, m, rows, random), bags_of(n, m, rows, random),
            bags_without_one(n, m, rows, random), bags_without_one(n, m, rows, random)})
        for (const Block::Sides side :
             {Block::Sides::both, Block::Sides::inputs, Block::Sides::outputs}) {
          more.update = side;
          more.bag_gradient = random.below(2) == 0 ? BagGradient::mean : BagGradient::whole;
          blocks.push_back(more);
        }
      blocks.push_back(block);
      blocks.back().paired = std::min(n, m);
    }
  return blocks;
}

/// Updates a model by the blocks with the worker that `worker_of` makes and with the oracle.
template <class WorkerOf>
void check_against_oracle(const std::vector<OwnedBlock>& blocks, std::size_t rows,
                          std::size_t dimension, double start_sum, WorkerOf worker_of) {
  Model model = wordloom_test::random_model(rows, dimension, dimension);
  Oracle expected(model);
  const Fused kernel{.kernel = {}, .optimizer = {.start_sum = start_sum}, .every = 1};
  const auto run = kernel.start(model);
  auto worker = worker_of(run, model, Block::Shape{16, 16, 64});
  for (const OwnedBlock& block : blocks) {
    const double loss = oracle::loss(expected.model, block, false);
    expected.update(block, 0.25, start_sum);
    const LossSum got = worker.template update<true>(model, block, 0.25f);
    INFO("D " << dimension << ", " << block.input_count() << " x " << block.outputs.size());
    REQUIRE(got.value() == Approx(loss).epsilon(1e-3).margin(1e-3));
    for (const std::size_t side : {0u, 1u}) {
      const RowMatrix& sums =
          state_of(model, side == 0 ? "input.row_ada_grad" : "output.row_ada_grad");
      for (std::size_t i = 0; i < rows; ++i)
        REQUIRE(static_cast<double>(sums.row(i)[0]) ==
                Approx(expected.sums[side][i]).epsilon(1e-3).margin(1e-5));
    }
    REQUIRE(difference(model, expected.model) < 3000.0);
  }
  CHECK(all_padding_is_zero(model));
}

/// RowAdaGrad of a new model whose first step is that of FusedKernel.
struct FirstStep {
  struct Worker {
    Fused::Run run;
    Fused::Worker worker;
    template <bool with_loss>
    LossSum update(Model& model, const Block& block, float learning_rate) {
      return worker.update<with_loss>(model, block, learning_rate);
    }
  };
  Worker worker(Model& model, Block::Shape most) const {
    const auto run = Fused{.kernel = {}, .optimizer = {.start_sum = 1}, .every = 1}.start(model);
    return {run, run.worker(model, most)};
  }
};

struct Task {
  Vocabulary vocabulary = zipf_vocabulary(50);
  EncodedCorpus corpus = EncodedCorpus::from_sentences(neighbouring_words(1000, 50), vocabulary);
};

Hyperparameters parameters(std::size_t threads = 1) {
  return {.dimension = 20, .subsample = 0.0, .learning_rate = 0.1, .epochs = 3, .threads = threads};
}

template <class Sampler>
void check_training() {
  const Task task;
  const TemporaryFolder folder;
  Trainer<Sampler, Fused> trainer(parameters());
  Model whole = trainer.new_model(task.vocabulary);
  trainer.train(task.corpus, whole);
  CHECK(whole.state.size() == 2);
  const auto& losses = trainer.report().epoch_losses;
  CHECK(losses.back() < losses.front());

  Trainer<Sampler, Fused> first(parameters());
  first.checkpoint_to(folder / "state");
  first.on_progress([](const Progress& progress) { return progress.fraction() < 0.4; }, 0s);
  first.fit(task.corpus, task.vocabulary);
  REQUIRE(first.report().stopped);
  Trainer<Sampler, Fused> rest(parameters());
  Model resumed = rest.new_model(task.vocabulary);
  rest.resume_training(task.corpus, resumed, folder / "state");
  CHECK(same_matrices(resumed, whole));

  Trainer<Sampler, Fused> two(parameters(2));
  two.fit(task.corpus, task.vocabulary);
  CHECK(two.report().epoch_losses.back() < two.report().epoch_losses.front());
}

}  // namespace

TEST_CASE("FusedKernel under RowAdaGrad changes rows by the formula", "[optimizer]") {
  Random random(3);
  const auto worker = [](const auto& run, const Model& model, Block::Shape most) {
    return run.worker(model, most);
  };
  for (const std::size_t dimension : {1u, 17u, 100u, 128u, 300u})
    for (const double start_sum : {0.1, 2.0}) {
      check_against_oracle(blocks_of_rows(12, random), 12, dimension, start_sum,
                           [](const auto& run, const Model& model, Block::Shape most) {
                             return run.row_worker(model, most);
                           });
      check_against_oracle(other_blocks(12, random), 12, dimension, start_sum, worker);
    }
}

TEST_CASE("blocks that change one side use the worker for one side", "[optimizer]") {
  Random random(3);
  std::vector<OwnedBlock> blocks;
  for (int k = 0; k < 30; ++k)
    blocks.push_back({.inputs = any_rows(5, 12, random),
                      .outputs = any_rows(6, 12, random),
                      .update = k % 2 == 0 ? Block::Sides::inputs : Block::Sides::outputs});
  check_against_oracle(blocks, 12, 100, 0.1,
                       [](const auto& run, const Model& model, Block::Shape most) {
                         return detail::one_side_worker_of(run, model, most);
                       });
}

TEST_CASE("the first step of RowAdaGrad follows the gradient", "[optimizer]") {
  Random random(4);
  for (const OwnedBlock& block : other_blocks(6, random)) {
    check_update<FirstStep>(33, block, 6, 0.1f);
    // The changes of several bags are rounded more often than that test allows.
    if (block.bag_gradient == BagGradient::mean && block.update == Block::Sides::both &&
        (!Block(block).has_bags() || block.bag_ends.size() == 1))
      check_gradient<FirstStep>(block);
  }
}

TEST_CASE("one block in `every` is measured, and counts for all", "[optimizer]") {
  const std::size_t rows = 500, dimension = 24;
  for (const std::size_t every : {1u, 4u, 16u}) {
    Model model = wordloom_test::random_model(rows, dimension, 3);
    const auto run = Fused{.kernel = {}, .optimizer = {}, .every = every}.start(model);
    auto worker = run.row_worker(model, {4, 6});
    const RowMatrix& sums = state_of(model, "input.row_ada_grad");
    Random random(every);
    double measured = 0, blocks = 4000, sum = 0, expected = 0;
    for (int k = 0; k < 4000; ++k) {
      const OwnedBlock block{.inputs = distinct(4, rows, random),
                             .outputs = distinct(6, rows, random)};
      std::optional<Oracle> now;
      if (k % 100 == 0) now.emplace(model).update(block, 1e-3, 0.1);  // slow
      std::array<float, 4> before;
      for (std::size_t i = 0; i < 4; ++i) before[i] = sums.row(block.inputs[i])[0];
      worker.update<false>(model, block, 1e-3f);
      int changed = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        changed += sums.row(block.inputs[i])[0] != before[i];
        sum += static_cast<double>(sums.row(block.inputs[i])[0] - before[i]);
        if (now) expected += 100 * now->sums[0][block.inputs[i]];
      }
      REQUIRE((changed == 0 || changed == 4));
      measured += changed / 4;
    }
    const double share = 1.0 / static_cast<double>(every);
    CHECK(std::abs(measured - share * blocks) <= 5 * std::sqrt(blocks * share * (1 - share)));
    CHECK(sum == Approx(expected).epsilon(0.25));
  }
}

TEST_CASE("RowAdaGrad trains, resumes to the same bits, and with two threads",
          "[optimizer][training]") {
  SECTION("shared") { check_training<SharedNegative>(); }
  SECTION("grouped") { check_training<GroupedWindow>(); }
  SECTION("cbow") { check_training<Cbow>(); }
  SECTION("grouped cbow") { check_training<GroupedCbow>(); }
  SECTION("hierarchical softmax") { check_training<HierarchicalSoftmax>(); }
}

TEST_CASE("parameters of RowAdaGrad out of bounds are refused by name", "[optimizer]") {
  const auto refusal = [](const Fused& kernel) {
    return message_of<InvalidArgument>(
        [&] { Trainer(parameters(), SharedNegative::from(parameters()), kernel); });
  };
  CHECK(contains(refusal({.kernel = {}, .optimizer = {.start_sum = 0}}), "start_sum is 0"));
  CHECK(contains(refusal({.kernel = {}, .optimizer = {}, .every = 0}), "every is 0"));
  CHECK(contains(refusal({.kernel = {}, .optimizer = {}, .every = 65}), "every is 65"));
}
