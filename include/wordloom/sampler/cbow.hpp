#pragma once
#include <array>
#include <cstdint>
#include <span>

#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/detail/window_worker.hpp>
#include <wordloom/sampler/huffman_path.hpp>
#include <wordloom/sampler/negative_sampling.hpp>
#include <wordloom/sampler/window.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// Returns the expected updates of a sampler that scores the mean of a centre's n context words
/// against the centre's targets. When a member changes, a score changes by 1 / n of that. `share`:
/// the mean part of the gradient that a member receives.
template <class TargetTables>
ExpectedUpdates expected_of_cbow(const WordRates& rates, double share,
                                 const TargetTables& targets) {
  ExpectedUpdates result = expected_of_skip_gram(rates, 1.0, targets);
  for (float& updates : result.input) updates *= static_cast<float>(share);
  return result;
}

}  // namespace detail

/// Continuous bag of words (Mikolov et al. 2013a): the mean of a centre's context words is scored
/// against the centre's targets, 1 x M. Each member of the window receives 1 / sqrt(n) of the
/// gradient of the mean (ours), or all of it, as word2vec.c and gensim do, or 1 / n, the derivative
/// (Irsoy, Benton and Stratos 2021, "Corrected CBOW performs as well as skip-gram"). The best
/// learning rates differ: 0.1, 0.05 and 0.15.
template <class Targets = NegativeSampling>
struct BasicCbow {
  Window window = {};
  Targets targets = {};
  BagGradient gradient = BagGradient::root;

  static constexpr Block::Features uses = {.bags = true};

  static BasicCbow from(const Hyperparameters& parameters) {
    return {Window::from(parameters), policy_from<Targets>(parameters)};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit_parameters_of(visit, window, targets);
    visit("bag_gradient", static_cast<std::uint64_t>(gradient), 0, 2);
  }

  /// The scratch memory of one thread.
  class Worker {
   public:
    template <class Tables>
    Worker(const BasicCbow& policy, const Tables& tables)
        : windows_(policy.window, tables), gradient_(policy.gradient) {}

    Block::Shape max_block() const noexcept {
      return {.inputs = 1, .outputs = windows_.max_outputs(), .members = windows_.max_context()};
    }

    void begin_epoch(const Random& stream, std::uint64_t picks) noexcept {
      windows_.begin_epoch(stream, picks);
    }
    std::uint64_t picks() const noexcept { return windows_.picks(); }

    template <class Sink>
    void sample(const Sentences& text, Random& random, Sink&& sink) {
      windows_.for_each_window(text, random, sink,
                               [&](std::span<const RowId> context, const TargetSet& drawn, auto&&) {
                                 const std::array end{static_cast<std::uint32_t>(context.size())};
                                 sink(Block{.inputs = context,
                                            .bag_ends = end,
                                            .outputs = drawn.outputs,
                                            .positives = drawn.positives,
                                            .examples = 1,
                                            .bag_gradient = gradient_});
                               });
    }

   private:
    detail::WindowWorker<Targets> windows_;
    BagGradient gradient_;
  };

  auto start(const Vocabulary& vocabulary) const {
    return SamplerRun(*this, targets.start(vocabulary));
  }
  template <class Tables>
  detail::ExpectedUpdates expected_updates(const WordRates& rates, const Tables& tables) const {
    const double share = window.mean_of(
        [&](std::size_t n) { return detail::member_share(gradient, static_cast<float>(n)); });
    return detail::expected_of_cbow(rates, share, tables);
  }
};

/// CBOW with negative sampling, as word2vec has it. With hierarchical softmax:
/// BasicCbow<HuffmanPath>.
using Cbow = BasicCbow<NegativeSampling>;

static_assert(Sampler<Cbow> && Sampler<BasicCbow<HuffmanPath>>);

}}  // namespace wordloom::WORDLOOM_ABI
