// A sentence through each sampler and each kernel is what the oracle makes of the same blocks.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>
#include <wordloom/registry.hpp>
#include <wordloom/testing/oracle.hpp>
#include <wordloom/train/detail/thread_loop.hpp>

#include "catch.hpp"
#include "small_models.hpp"

using namespace wordloom;

namespace {

constexpr std::size_t words = 60;  // few, so that they repeat in blocks

using Sink = std::function<void(const Block&)>;
using Sample = std::function<void(std::span<const WordId>, Random&, const Sink&)>;

/// A sampler of any kind.
struct AnySampler {
  Block::Shape max_block;
  std::size_t output_rows;
  Sample sample;
};

template <class Policy>
AnySampler any_sampler(const Policy& policy) {
  const auto vocabulary = zipf_vocabulary(words, 1000);
  const auto run = policy.start(vocabulary);
  auto worker = detail::worker_of(run);
  return {worker.max_block(), detail::output_rows(run, vocabulary),
          [worker](std::span<const WordId> sentence, Random& random, const Sink& sink) mutable {
            worker.sample(sentence, random, sink);
          }};
}

double difference(const RowMatrix& got, const oracle::Matrix& expected) {
  double worst = 0;
  for (std::size_t i = 0; i < got.rows(); ++i)
    for (std::size_t c = 0; c < got.columns(); ++c)
      worst = std::max(worst, std::abs(static_cast<double>(got.row(i)[c]) - expected.at(i, c)));
  return worst;
}

/// Trains a sentence with the kernel and with the oracle and compares models and losses.
template <class MakeWorker>
void check_sentence(const AnySampler& sampler, const MakeWorker& make_worker) {
  Model model = random_model(zipf_vocabulary(words, 1000), 100, sampler.output_rows);
  oracle::Model expected(model);
  auto worker = make_worker(model, sampler.max_block);
  detail::UpdateSink<decltype(worker)> sink(model, worker, sampler.max_block, 0.05, {});
  Random random(11);
  std::vector<WordId> sentence(97);
  for (WordId& word : sentence) word = static_cast<WordId>(random.below(words));
  double expected_loss = 0;
  std::size_t blocks = 0, examples = 0;
  sampler.sample(sentence, random, [&](const Block& block) {
    ++blocks;
    examples += block.examples;
    Block part = block;
    const std::size_t together = block.in_turn ? 1 : block.inputs.size();
    for (std::size_t i = 0; i < block.inputs.size(); i += together) {
      part.inputs = block.inputs.subspan(i, together);
      expected_loss += oracle::loss(expected, part, false);
      oracle::update(expected, part, 0.05);
    }
    sink(block);
  });
  sink.end_update();
  CHECK(blocks > 0);
  CHECK(sink.done.examples == examples);
  CHECK(sink.done.loss.value() == Approx(expected_loss).epsilon(1e-5));
  CHECK(difference(model.input, expected.input) < 2e-5);
  CHECK(difference(model.output, expected.output) < 2e-5);
}

void check_sentence_with_every_kernel(const AnySampler& sampler) {
  Policies::Kernels::for_each([&]<class Kernel>(std::string_view kernel) {
    INFO("kernel " << kernel);
    check_sentence(sampler, [](const Model& model, Block::Shape most) {
      return Kernel{}.worker(model, most);
    });
  });
}

}  // namespace

TEST_CASE("a sentence through every sampler and every kernel equals the oracle's",
          "[kernel][training]") {
  const auto check = []<class Policy>(std::string_view name) {
    for (const std::size_t minibatch : {0u, 3u, 16u})
      for (const std::size_t shared : {0u, 7u}) {
        INFO("sampler " << name << ", minibatch " << minibatch << ", shared_negatives " << shared);
        // Some have no groups beyond the window.
        const std::size_t window = std::max<std::size_t>(5, minibatch);
        check_sentence_with_every_kernel(any_sampler(Policy::from(Hyperparameters{
            .window = window, .minibatch = minibatch, .shared_negatives = shared})));
      }
  };
  Policies::Samplers::for_each(check);
  Policies::PublishedSamplers::for_each(check);
  check_sentence_with_every_kernel(any_sampler(CombinedContext{.window = Window::fixed(3)}));
}

TEST_CASE("contexts that are trained in turn equal the oracle's", "[kernel][training]") {
  const auto check = [](const AnySampler& sampler) {
    check_sentence_with_every_kernel(sampler);  // most are given blocks of one input
    check_sentence(sampler, [](const Model& model, Block::Shape most) {
      return FusedKernel{}.row_worker(model, most);
    });
  };
  for (const std::size_t contexts : {1u, 3u, 4u, 100u})
    for (const std::size_t negatives : {2u, 5u, 9u})
      check(any_sampler(SharedNegative{
          .window = {8}, .targets = {.negatives = negatives}, .block_contexts = contexts}));
  check(any_sampler(HierarchicalSoftmax{.window = {8}, .block_contexts = 4}));
}

TEST_CASE("bags with each gradient through every kernel equal the oracle's", "[kernel][training]") {
  for (const BagGradient gradient : bag_gradients) {
    check_sentence_with_every_kernel(any_sampler(Cbow{.gradient = gradient}));
    const GroupedCbow groups{.gradient = gradient};
    check_sentence_with_every_kernel(any_sampler(groups));
    check_sentence_with_every_kernel(any_sampler(detail::AttractionRepulsion<GroupedCbow>{groups}));
  }
}

namespace {

/// Writes no number.
struct NanKernel {
  struct Worker : DotKernel::Worker {
    using DotKernel::Worker::Worker;
    template <bool with_loss>
    LossSum update(Model& model, const Block& block, float) {
      model.input.row(block.inputs[0])[0] = std::nanf("");
      return {};
    }
  };
  Worker worker(const Model& model, Block::Shape most) const { return {model, most}; }
};

/// Trains at another rate than it is told.
struct FastKernel {
  struct Worker : DotKernel::Worker {
    using DotKernel::Worker::Worker;
    template <bool with_loss>
    LossSum update(Model& model, const Block& block, float rate) {
      return DotKernel::Worker::update<with_loss>(model, block, 1.01f * rate);
    }
  };
  Worker worker(const Model& model, Block::Shape most) const { return {model, most}; }
};

}  // namespace

TEST_CASE("the distance of a kernel from the oracle shows a wrong gradient", "[kernel]") {
  CHECK(oracle::largest_error(DotKernel()) < 1e-4);
  CHECK(oracle::largest_error(FusedKernel(), {.inputs = 3, .outputs = 17}, 33) < 1e-4);
  CHECK(oracle::largest_error(FastKernel()) > 5e-3);
  CHECK(oracle::largest_error(NanKernel()) > 1e9);
  CHECK_THROWS_AS(oracle::largest_error(DotKernel(), {2, 2}, 10, 0), InvalidArgument);
}
