#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/huffman_path.hpp>
#include <wordloom/sampler/negative_sampling.hpp>
#include <wordloom/sampler/window.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Skip-gram as in word2vec (Mikolov et al. 2013b; word2vec.c): each context word of each centre
/// word is a block of its own, 1 x M, with newly drawn targets: the centre and K negatives, or the
/// centre's path in the Huffman tree. As there, the context word is the input and the centre word
/// the positive output.
template <class Targets = NegativeSampling>
struct BasicHogwild {
  Window window = {};
  Targets targets = {};

  static BasicHogwild from(const Hyperparameters& parameters) {
    return {Window::from(parameters), policy_from<Targets>(parameters)};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit_parameters_of(visit, window, targets);
  }

  class Worker;
  auto start(const Vocabulary& vocabulary) const {
    return SamplerRun(*this, targets.start(vocabulary));
  }
};

/// The scratch memory of one thread.
template <class Targets>
class BasicHogwild<Targets>::Worker {
 public:
  template <class Tables>
  Worker(const BasicHogwild& policy, const Tables& tables)
      : window_(policy.window),
        max_outputs_(tables.max_outputs()),
        targets_(tables.worker(slot_count, 1)),
        contexts_(slot_count) {}

  Block::Shape max_block() const noexcept { return {.inputs = 1, .outputs = max_outputs_}; }

  template <class Sink>
  void sample(const Sentences& text, Random& random, Sink&& sink) {
    std::size_t drawn = 0, used = 0;
    const auto use = [&] {
      const std::size_t slot = used++ % slot_count;
      const TargetSet set = targets_.at(slot);
      // Constructs the span from its parts: GCC would copy it by one load, which waits for the two
      // stores before.
      sink(Block{.inputs = std::span(contexts_).subspan(slot, 1),
                 .outputs = {set.outputs.data(), set.outputs.size()},
                 .positives = set.positives,
                 .examples = 1});
    };
    for (std::size_t i = 0; i < text.count(); ++i) {
      const std::span<const WordId> sentence = text[i];
      for (std::size_t center = 0; center < sentence.size(); ++center) {
        const detail::WindowRange range(center, window_.reach(random), sentence.size());
        for (std::size_t context = range.first; context < range.end; ++context) {
          if (context == center) continue;
          const std::size_t slot = drawn++ % slot_count;
          contexts_[slot] = sentence[context];
          targets_.draw(sentence[center], slot, random);
          announce_rows(sink, std::span(contexts_).subspan(slot, 1), targets_.at(slot).outputs);
          if (drawn >= slot_count) use();
        }
      }
    }
    while (used < drawn) use();
  }

 private:
  /// The number of blocks between the drawing of targets and their use, so that rows can be
  /// prefetched, plus one.
  static constexpr std::size_t slot_count = 4;

  Window window_;
  std::size_t max_outputs_;
  detail::TargetWorker<Targets> targets_;
  std::vector<RowId> contexts_;  // [slot_count] the context word of each block
};

/// Skip-gram with negative sampling, pair after pair, as word2vec has it.
using Hogwild = BasicHogwild<NegativeSampling>;

static_assert(Sampler<Hogwild>);

}}  // namespace wordloom::WORDLOOM_ABI
