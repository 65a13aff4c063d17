// Kernels on models whose two sides are one matrix, as first-order LINE trains them.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>
#include <wordloom/sampler/edge_pairs.hpp>
#include <wordloom/train/detail/thread_loop.hpp>

#include "catch.hpp"
#include "kernel/block_checks.hpp"
#include "small_models.hpp"

using namespace wordloom;
using namespace wordloom_test;

namespace {

/// Random rows, as in the midst of training.
Model one_matrix(std::size_t words, std::size_t dimension, double size = 1) {
  Model model(zipf_vocabulary(words, 1000), {.dimension = dimension, .one_matrix = true});
  Random random(dimension);
  for (std::size_t i = 0; i < words; ++i)
    for (float& x : model.input.row(i))
      x = static_cast<float>(size * (2.0 * random.uniform() - 1.0) /
                             std::sqrt(static_cast<double>(dimension)));
  return model;
}

/// The update of a block whose inputs and outputs are rows of one matrix.
void update_one(oracle::Model& model, const Block& block, double learning_rate) {
  const std::vector<double> before = model.input.values;
  model.output = model.input;
  oracle::update(model, block, learning_rate);
  for (std::size_t i = 0; i < before.size(); ++i)
    model.input.values[i] += model.output.values[i] - before[i];
  model.output = model.input;
}

/// The loss of a block when its rows are those of one matrix.
double loss_of_one(oracle::Model model, const Block& block) {
  model.output = model.input;
  return oracle::loss(model, block, true);
}

}  // namespace

TEST_CASE("rows that are inputs and outputs in turn receive all changes", "[one_matrix]") {
  // Few nodes, so that the input of a block was an output of the one before, and the reverse.
  for_each_kernel([]<class Kernel>() {
    for (const std::size_t dimension : {1u, 7u, 16u, 50u, 128u, 300u})
      for (const std::size_t nodes : {4u, 40u}) {
        INFO("D " << dimension << ", " << nodes << " nodes");
        Model model = one_matrix(nodes, dimension);
        oracle::Model expected(model);
        Random random(dimension + nodes);
        std::vector<WordId> sentence(120);
        for (WordId& node : sentence) node = static_cast<WordId>(random.below(nodes));
        auto sampler = detail::LineFirstOrder{}.start(model.vocabulary).worker();
        auto kernel = Kernel{}.worker(model, sampler.max_block());
        detail::UpdateSink sink(model, kernel, sampler.max_block(), 0.1, {});
        double expected_loss = 0;
        std::size_t examples = 0;
        const auto both = [&](const Block& block) {
          expected_loss += loss_of_one(expected, block);
          ++examples;
          update_one(expected, block, static_cast<double>(0.1f));
          sink(block);
        };
        sampler.sample(sentence, random, both);
        sink.end_update();
        CHECK(examples > 40);
        CHECK(sink.done.examples == examples);
        CHECK(sink.done.loss.value() == Approx(expected_loss).epsilon(1e-5));
        CHECK(difference(model, expected) < 1e-5 * 0x1p23);
        CHECK(padding_is_zero(model.input));
      }
  });
}

TEST_CASE("all kernels train one matrix to the same numbers", "[one_matrix]") {
  std::vector<Model> models;
  Policies::Kernels::for_each([&]<class Kernel>(std::string_view) {
    Model& model = models.emplace_back(one_matrix(30, 24));
    Random random(1);
    std::vector<WordId> sentence(1000);
    for (WordId& node : sentence) node = static_cast<WordId>(random.below(30));
    auto sampler = detail::LineFirstOrder{}.start(model.vocabulary).worker();
    auto kernel = Kernel{}.worker(model, sampler.max_block());
    detail::UpdateSink sink(model, kernel, sampler.max_block(), 0.05, {});
    sampler.sample(sentence, random, sink);
    sink.end_update();
  });
  REQUIRE(models.size() >= 2);
  for (const Model& model : models)
    CHECK(difference(model, oracle::Model(models[0])) < 1e-5 * 0x1p23);
}

TEST_CASE("a step changes one matrix by the gradient of the first-order objective",
          "[one_matrix]") {
  for_each_kernel([]<class Kernel>() {
    const std::size_t dimension = 7, nodes = 6;
    for (const OwnedBlock& block : {OwnedBlock{.inputs = {2}, .outputs = {4, 0, 5}},
                                    OwnedBlock{.inputs = {0}, .outputs = {1}},
                                    OwnedBlock{.inputs = {3}, .outputs = {1, 2, 2, 5, 2}}}) {
      Model model = one_matrix(nodes, dimension, 2);
      const oracle::Model start(model);
      const float rate = 0x1p-10f;
      Kernel{}.worker(model, block.shape()).template update<false>(model, block, rate);
      for (std::size_t i = 0; i < nodes; ++i)
        for (std::size_t c = 0; c < dimension; ++c) {
          const double step = 1e-5;
          oracle::Model up = start, down = start;
          up.input.at(i, c) += step;
          down.input.at(i, c) -= step;
          const double slope = (loss_of_one(up, block) - loss_of_one(down, block)) / (2 * step);
          const double change =
              (static_cast<double>(model.input.row(i)[c]) - start.input.at(i, c)) /
              static_cast<double>(rate);
          CHECK(change == Approx(-slope).margin(2e-4));
        }
    }
  });
}
