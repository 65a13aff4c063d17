#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/negative_sampling.hpp>
#include <wordloom/sampler/window.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Context combining as published (pSGNScc: Rengasamy et al. 2017, "Optimizing Word2Vec Performance
/// on Multicore Systems"): windows anywhere in a batch of T words become one block if their centres
/// are outputs of it. The batch has an inverse index, from each word to the places at which it is a
/// centre. A block begins with the window of the first centre that has not been in a block yet, and
/// with those of K drawn negatives that differ from the centre. Then each output in turn, the
/// centre first, adds the window around its next place, again and again until the block has C
/// windows or no output has a place left. An input is a positive of its own centre and a negative
/// of all other outputs. A negative that was drawn c times has weight c, also as a positive.
///
/// CombinedContext combines windows that follow each other. Several ranks cannot train
/// IndexedContext, because the number of updates of a row depends on all words of a batch.
struct IndexedContext {
  Window window = {};
  NegativeSampling targets = {};
  std::size_t minibatch = 8;    // C, windows of a block
  std::size_t words = 500'000;  // T, to the end of a sentence

  static constexpr Block::Features uses = {.weights = true};

  static IndexedContext from(const Hyperparameters& parameters) {
    return {Window::from(parameters), NegativeSampling::from(parameters),
            parameters.minibatch == 0 ? 8 : parameters.minibatch};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit_parameters_of(visit, window, targets);
    visit("minibatch", minibatch, 1, 1000);
    visit("words", words, 1, 1 << 30);
  }

  class Worker;
  struct Run;
  /// Throws CorpusError for a vocabulary of fewer than two words.
  Run start(const Vocabulary& vocabulary) const;
};

/// The scratch memory of one thread.
class IndexedContext::Worker {
 public:
  Worker(const IndexedContext& policy, const NegativeSampling::Run& tables)
      : window_(policy.window),
        windows_(policy.minibatch),
        words_(policy.words),
        negatives_(tables.distribution(), policy.targets.negatives, tables.pool()),
        drawn_(policy.targets.negatives),
        first_(tables.output_rows(), none) {
    const Block::Shape most = max_block();
    for (Draft& draft : drafts_) {
      draft.inputs.reserve(most.inputs);
      draft.centers.reserve(most.inputs);
      draft.outputs.reserve(most.outputs);
      draft.times.reserve(most.outputs);
      draft.weights.reserve(most.inputs * most.outputs);
    }
  }

  Block::Shape max_block() const noexcept {
    return {.inputs = windows_ * 2 * window_.size, .outputs = 1 + drawn_.size()};
  }
  std::size_t words_at_once() const noexcept { return words_; }

  void begin_epoch(const Random& stream, std::uint64_t picks) noexcept {
    negatives_.begin_epoch(stream, picks);
  }
  std::uint64_t picks() const noexcept { return negatives_.picks(); }

  /// Calls `pass(part)` before each block with the part of the text's windows that came before it.
  /// The text is one batch, of any length; scratch grows to the longest.
  template <class Sink, class Pass = detail::AnyPass>
  void sample(const Sentences& text, Random& random, Sink&& sink, Pass pass = {}) {
    const std::span<const WordId> all = text.words();
    make_index(text);
    negatives_.begin_draw(random, drawn_.size());
    std::size_t begun = 0, used = 0;  // windows
    const auto use = [&](const Draft& draft) {
      pass(static_cast<double>(used) / static_cast<double>(all.size()));
      used += draft.windows;
      sink(draft.block());
    };
    const Draft* ready = nullptr;  // announced
    for (std::size_t place = 0; place < all.size(); ++place) {
      if (first_[all[place]] != place) continue;  // it was in a block already
      Draft& draft = drafts_[begun % 2];
      draft.clear();
      add_window(draft, 0, place, text, random);
      if (draft.inputs.empty()) continue;  // the only word of its sentence
      add_outputs(draft, all[place], random);
      add_related(draft, text, random);
      draft.fill_weights();
      announce_rows(sink, draft.inputs, draft.outputs);
      if (ready != nullptr) use(*ready);
      ready = &draft;
      ++begun;
    }
    if (ready != nullptr) use(*ready);
  }

 private:
  static constexpr std::uint32_t none = (std::numeric_limits<std::uint32_t>::max)();

  /// A block under construction.
  struct Draft {
    std::vector<RowId> inputs, outputs;  // [N], [M]
    std::vector<std::uint32_t> centers;  // [N] the output that each input is a positive of
    std::vector<float> times;            // [M] the number of times each output was drawn
    std::vector<float> weights;          // [M x N]
    std::size_t windows = 0;

    void clear() noexcept {
      inputs.clear();
      outputs.clear();
      centers.clear();
      times.clear();
      windows = 0;
    }
    void fill_weights() noexcept {
      weights.resize(outputs.size() * inputs.size());
      float* weight = weights.data();
      for (std::uint32_t j = 0; j < outputs.size(); ++j) {
        const float once = times[j];
        for (const std::uint32_t center : centers) *weight++ = center == j ? once : -once;
      }
    }
    Block block() const noexcept {
      return {
          .inputs = inputs, .outputs = outputs, .weights = {weights}, .examples = inputs.size()};
    }
  };

  /// Links the places of each word. The lists of the batch before are empty by now.
  void make_index(const Sentences& text) {
    places_.resize(text.words().size());
    for (std::size_t sentence = text.count(); sentence-- > 0;)
      for (std::size_t i = text.end(sentence); i-- > text.begin(sentence);) {
        std::uint32_t& first = first_[text.words()[i]];
        places_[i] = {first, static_cast<std::uint32_t>(sentence)};
        first = static_cast<std::uint32_t>(i);
      }
  }

  /// Takes a place, the first of its word, from the index, and adds the window around it.
  void add_window(Draft& draft, std::size_t center, std::size_t place, const Sentences& text,
                  Random& random) noexcept {
    const std::span<const WordId> all = text.words();
    const auto [next, sentence] = places_[place];
    first_[all[place]] = next;
    ++draft.windows;
    const std::size_t begin = text.begin(sentence);
    const detail::WindowRange range(place - begin, window_.reach(random),
                                    text.end(sentence) - begin);
    for (std::size_t i = begin + range.first; i < begin + range.end; ++i)
      if (i != place) draft.inputs.push_back(all[i]);
    draft.centers.resize(draft.inputs.size(), static_cast<std::uint32_t>(center));
  }

  void add_outputs(Draft& draft, WordId center, Random& random) noexcept {
    negatives_.end_draw(drawn_);
    negatives_.begin_draw(random, drawn_.size());
    draft.outputs.push_back(center);
    draft.times.push_back(1.0f);
    for (const WordId word : drawn_) {
      if (word == center) continue;
      const auto known = std::find(draft.outputs.begin(), draft.outputs.end(), word);
      if (known != draft.outputs.end()) {
        draft.times[static_cast<std::size_t>(known - draft.outputs.begin())] += 1.0f;
      } else {
        draft.outputs.push_back(word);
        draft.times.push_back(1.0f);
      }
    }
  }

  void add_related(Draft& draft, const Sentences& text, Random& random) noexcept {
    for (std::size_t before = 0; before != draft.windows && draft.windows < windows_;) {
      before = draft.windows;
      for (std::size_t j = 0; j < draft.outputs.size() && draft.windows < windows_; ++j)
        if (const std::uint32_t place = first_[draft.outputs[j]]; place != none)
          add_window(draft, j, place, text, random);
    }
  }

  /// Another place of the same word, and the sentence that holds this one.
  struct Place {
    std::uint32_t next, sentence;
  };

  Window window_;
  std::size_t windows_, words_;  // C, T
  detail::NegativeBatch negatives_;
  std::vector<WordId> drawn_;         // [K]
  std::vector<std::uint32_t> first_;  // [V] the first place of each word not used yet
  std::vector<Place> places_;         // [words of the batch]
  std::array<Draft, 2> drafts_;       // one is announced while the other is in use
};

/// The tables of a run, without expected updates.
struct IndexedContext::Run {
  IndexedContext policy;
  NegativeSampling::Run tables;

  Worker worker() const { return {policy, tables}; }
  std::size_t output_rows() const noexcept { return tables.output_rows(); }
};
inline IndexedContext::Run IndexedContext::start(const Vocabulary& vocabulary) const {
  return {*this, targets.start(vocabulary)};
}

static_assert(Sampler<IndexedContext>);

}}  // namespace wordloom::WORDLOOM_ABI
