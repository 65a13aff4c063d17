#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/sampler/sentences.hpp>
#include <wordloom/sampler/targets.hpp>
#include <wordloom/sampler/window.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Iterates over the windows of sentences: calls `use(context words, targets, more)` for each
/// centre that has a context; `more(i)` draws and announces other targets of it, which are valid
/// until `more(i + 2)`. Targets are drawn, and rows announced, two words ahead. The worker of
/// SharedNegative and Cbow.
template <class Targets>
class WindowWorker {
 public:
  template <class Tables>
  WindowWorker(const Window& window, const Tables& tables)
      : window_(window),
        max_outputs_(tables.max_outputs()),
        targets_(tables.worker(2 * at_once + 2, at_once)),
        inputs_(2 * window.size) {}

  std::size_t max_context() const noexcept { return inputs_.size(); }
  std::size_t max_outputs() const noexcept { return max_outputs_; }

  void begin_epoch(const Random& stream, std::uint64_t picks) noexcept {
    begin_epoch_of(targets_, stream, picks);
  }
  std::uint64_t picks() const noexcept { return picks_of(targets_); }

  /// Announces the rows of a sentence's first windows while the sentence before it is in use.
  template <class Sink, class Use>
  void for_each_window(const Sentences& text, Random& random, Sink& sink, Use&& use) {
    const std::span<const WordId> words = text.words();
    std::size_t drawn = 0, drawn_sentence = 0;
    begin_draw(words, 0, random);
    for (std::size_t i = 0; i < text.count(); ++i) {
      const std::size_t first = text.begin(i), last = text.end(i);
      for (std::size_t center = first; center < last; ++center) {
        for (; drawn < words.size() && drawn <= center + lookahead; ++drawn) {
          while (drawn == text.end(drawn_sentence)) ++drawn_sentence;
          announce(words, drawn, text.begin(drawn_sentence), text.end(drawn_sentence), random,
                   sink);
        }
        const std::size_t reach = window_.reach(random);
        const std::size_t left = (std::min)(center - first, reach);
        const std::size_t right = (std::min)(last - 1 - center, reach);
        if (left + right == 0) continue;  // a single word has no context
        // The whole window is copied and a part of it used: the reach is random, and loops of
        // random length cost more than copying a few words.
        const std::size_t most = window_.size;
        const std::size_t before = (std::min)(center - first, most);
        const std::size_t after = (std::min)(last - 1 - center, most);
        for (std::size_t k = 0; k < before; ++k)
          inputs_[most - before + k] = words[center - before + k];
        for (std::size_t k = 0; k < after; ++k) inputs_[most + k] = words[center + 1 + k];
        use(std::span<const RowId>(inputs_).subspan(most - left, left + right),
            targets_.at(center % (2 * at_once)), [&](std::size_t k) {
              const std::size_t slot = 2 * at_once + k % 2;
              draw_again(targets_, words[center], slot, random);
              const TargetSet drawn_again = targets_.at(slot);
              announce_rows(sink, {}, drawn_again.outputs.subspan(drawn_again.positives));
              return drawn_again;
            });
      }
    }
  }

 private:
  // The number of words between the announcement of rows and their use, so that they can arrive.
  // Measured with an earlier FusedKernel and 68,000 words, M words/s: 0 words 4.2, 1 to 4 words 5.5
  // to 5.6.
  static constexpr std::size_t lookahead = 2;
  // The number of words whose targets are drawn together.
  static constexpr std::size_t at_once = 4;

  static std::span<const WordId> centers(std::span<const WordId> words, std::size_t first) {
    return words.subspan(first, (std::min)(at_once, words.size() - first));
  }
  void begin_draw(std::span<const WordId> words, std::size_t first, Random& random) noexcept {
    targets_.begin_draw(centers(words, first), random);
  }

  /// Announces the rows that a centre needs and the centre before it did not. Its sentence is
  /// words[first .. last).
  template <class Sink>
  void announce(std::span<const WordId> words, std::size_t center, std::size_t first,
                std::size_t last, Random& random, Sink& sink) {
    if (center % at_once == 0) {
      const auto group = centers(words, center);
      targets_.end_draw(group, center % (2 * at_once), random);
      begin_draw(words, center + group.size(), random);
    }
    const std::size_t entering = (std::min)(center + window_.size, last - 1);
    const std::size_t from = center == first ? first : entering;
    announce_rows(sink, words.subspan(from, entering + 1 - from),
                  targets_.at(center % (2 * at_once)).outputs);
  }

  Window window_;
  std::size_t max_outputs_;
  TargetWorker<Targets> targets_;  // [2 at_once + 2] slots
  std::vector<RowId> inputs_;      // [2 W] the context words
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
