#pragma once
#include <cstdint>
#include <span>

#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/detail/window_worker.hpp>
#include <wordloom/sampler/huffman_path.hpp>
#include <wordloom/sampler/negative_sampling.hpp>
#include <wordloom/sampler/window.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Skip-gram by whole windows (pWord2Vec: Ji et al. 2016, "Parallelizing Word2Vec in Shared and
/// Distributed Memory", section III-B): all context words of a centre word form one block, n x M,
/// and share the centre's targets (the centre and K negatives, or its path in the Huffman tree), so
/// that the block is a matrix product.
template <class Targets = NegativeSampling>
struct BasicSharedNegative {
  Window window = {};
  Targets targets = {};

  static BasicSharedNegative from(const Hyperparameters& parameters) {
    return {Window::from(parameters), policy_from<Targets>(parameters)};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit_parameters_of(visit, window, targets);
  }

  /// The scratch memory of one thread.
  class Worker {
   public:
    template <class Tables>
    Worker(const BasicSharedNegative& policy, const Tables& tables)
        : windows_(policy.window, tables) {}

    Block::Shape max_block() const noexcept {
      return {.inputs = windows_.max_context(), .outputs = windows_.max_outputs()};
    }

    void begin_epoch(const Random& stream, std::uint64_t picks) noexcept {
      windows_.begin_epoch(stream, picks);
    }
    std::uint64_t picks() const noexcept { return windows_.picks(); }

    template <class Sink>
    void sample(const Sentences& text, Random& random, Sink&& sink) {
      windows_.for_each_window(text, random, sink,
                               [&](std::span<const RowId> context, const TargetSet& drawn) {
                                 sink(Block{.inputs = context,
                                            .outputs = drawn.outputs,
                                            .positives = drawn.positives,
                                            .examples = context.size()});
                               });
    }

   private:
    detail::WindowWorker<Targets> windows_;
  };

  auto start(const Vocabulary& vocabulary) const {
    return SamplerRun(*this, targets.start(vocabulary));
  }
};

/// Skip-gram in which all context words of a window share the negatives of its centre.
using SharedNegative = BasicSharedNegative<NegativeSampling>;

/// Skip-gram with hierarchical softmax.
using HierarchicalSoftmax = BasicSharedNegative<HuffmanPath>;

static_assert(Sampler<SharedNegative> && Sampler<HierarchicalSoftmax>);

}}  // namespace wordloom::WORDLOOM_ABI
