// A sentence through each sampler and each kernel is what the oracle makes of the same blocks.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "kernel/oracle.hpp"
#include "small_models.hpp"

using namespace wordloom;

namespace {

/// The largest difference of a sentence's training from the oracle's.
template <class AnySampler, class Kernel>
double difference(const Hyperparameters& parameters) {
  const Vocabulary vocabulary = zipf_vocabulary(60, 1000);  // few, so that words repeat in blocks
  Model model = random_model(vocabulary, parameters.dimension);
  oracle::Model expected(model);
  AnySampler sampler(parameters, vocabulary);
  Kernel kernel(parameters, sampler.max_block());
  Random random(11);
  std::vector<WordId> sentence(97);
  for (WordId& word : sentence) word = static_cast<WordId>(random.below(60));
  detail::UpdateSink<Kernel> sink{model, kernel, sampler.max_block(), 0.05f, true, {}};
  double expected_loss = 0;
  sampler.sample(sentence, random, [&](const Block& block) {
    expected_loss += oracle::loss(expected, block, false);
    oracle::update(expected, block, 0.05);
    sink(block);
  });
  sink.finish();
  CHECK(sink.done.loss.value() == Approx(expected_loss).epsilon(1e-5));
  double worst = 0;
  for (std::size_t i = 0; i < model.rows(); ++i)
    for (std::size_t c = 0; c < parameters.dimension; ++c) {
      worst = std::max(
          worst, std::abs(static_cast<double>(model.input.row(i)[c]) - expected.input.at(i, c)));
      worst = std::max(
          worst, std::abs(static_cast<double>(model.output.row(i)[c]) - expected.output.at(i, c)));
    }
  return worst;
}

}  // namespace

TEMPLATE_TEST_CASE("a sentence through a sampler and each kernel equals the oracle's", "[kernel]",
                   Hogwild, SharedNegative, SharedNegativeFixedWindow, SplitSharedNegative,
                   SentenceMinibatch, SentenceMinibatchFixedWindow, CombinedContext,
                   CombinedContextFixedWindow, GroupedWindow) {
  for (const std::size_t minibatch : {0u, 3u, 16u})
    for (const std::size_t shared : {0u, 7u}) {
      // GroupedWindow has no groups beyond the window.
      const std::size_t window =
          std::is_same_v<TestType, GroupedWindow> ? std::max<std::size_t>(5, minibatch) : 5;
      const Hyperparameters parameters{
          .dimension = 100, .window = window, .minibatch = minibatch, .shared_negatives = shared};
      CHECK(difference<TestType, DotKernel>(parameters) < 2e-5);
      CHECK(difference<TestType, FusedKernel<>>(parameters) < 2e-5);
      CHECK(difference<TestType, FusedKernel<100>>(parameters) < 2e-5);
#if WORDLOOM_HAS_BLAS
      CHECK(difference<TestType, GemmKernel>(parameters) < 2e-5);
#endif
    }
}
