#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <wordloom/core/parallel.hpp>
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
  /// 0: a window is scored before it changes rows. Otherwise its context words are trained one
  /// after the other, and at most this many share negatives (Block::in_turn). At a high learning
  /// rate the many gradients of a wide window, all of the rows before it, overshoot in the targets.
  /// Trained in turn, walks give the scores of Hogwild, where each pair has negatives of its own
  /// (benchmarks/results/node2vec-defaults.md); texts were not measured.
  std::size_t block_contexts = 0;

  static BasicSharedNegative from(const Hyperparameters& parameters) {
    return {Window::from(parameters), policy_from<Targets>(parameters)};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit_parameters_of(visit, window, targets);
    visit("block_contexts", block_contexts, 0, 2000);
  }

  /// The scratch memory of one thread.
  class Worker {
   public:
    template <class Tables>
    Worker(const BasicSharedNegative& policy, const Tables& tables)
        : windows_(policy.window, tables),
          most_(policy.block_contexts == 0
                    ? windows_.max_context()
                    : (std::min)(policy.block_contexts, windows_.max_context())),
          in_turn_(policy.block_contexts != 0) {}

    Block::Shape max_block() const noexcept {
      return {.inputs = most_, .outputs = windows_.max_outputs()};
    }

    void begin_epoch(const Random& stream, std::uint64_t picks) noexcept {
      windows_.begin_epoch(stream, picks);
    }
    std::uint64_t picks() const noexcept { return windows_.picks(); }

    template <class Sink>
    void sample(const Sentences& text, Random& random, Sink&& sink) {
      windows_.for_each_window(
          text, random, sink, [&](std::span<const RowId> context, TargetSet targets, auto&& more) {
            const auto train = [&](std::span<const RowId> part) {
              sink(Block{.inputs = part,
                         .outputs = targets.outputs,
                         .positives = targets.positives,
                         .examples = part.size(),
                         .in_turn = in_turn_});
            };
            if (context.size() <= most_) return train(context);
            const std::size_t parts = (context.size() + most_ - 1) / most_;
            for (std::size_t i = 0; i < parts; ++i) {
              const auto [first, last] = detail::part_of(context.size(), i, parts);
              const TargetSet next = i + 1 < parts ? more(i) : TargetSet{};
              train(context.subspan(first, last - first));
              targets = next;
            }
          });
    }

   private:
    detail::WindowWorker<Targets> windows_;
    std::size_t most_;  // inputs of a block
    bool in_turn_;
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
