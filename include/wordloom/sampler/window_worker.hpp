#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/sampler/targets.hpp>

namespace wordloom::inline WORDLOOM_ABI::detail {

/// Walks over the windows of a sentence: calls `use(context words, targets)` for each centre that
/// has a context. Targets are drawn, and rows announced, two words ahead. The worker of
/// SharedNegative and Cbow.
template <class Window, class Targets>
class WindowWorker {
 public:
  template <class Tables>
  WindowWorker(const Window& window, const Tables& tables)
      : window_(window),
        max_outputs_(tables.max_outputs()),
        targets_(tables.worker(2 * at_once, at_once)),
        inputs_(2 * window.max_reach()) {}

  std::size_t max_context() const noexcept { return inputs_.size(); }
  std::size_t max_outputs() const noexcept { return max_outputs_; }

  template <class Sink, class Use>
  void for_each_window(std::span<const WordId> sentence, Random& random, Sink& sink, Use&& use) {
    std::size_t drawn = 0;
    begin(sentence, 0, random);
    for (std::size_t center = 0; center < sentence.size(); ++center) {
      for (; drawn < sentence.size() && drawn <= center + lookahead; ++drawn)
        announce(sentence, drawn, random, sink);
      const std::size_t reach = window_.reach(random);
      const std::size_t left = std::min(center, reach);
      const std::size_t right = std::min(sentence.size() - 1 - center, reach);
      if (left + right == 0) continue;  // a lone word has no context
      // The whole window is copied and a part of it used: the reach is random, and loops of random
      // length cost more than a few words.
      const std::size_t most = window_.max_reach();
      const std::size_t before = std::min(center, most);
      const std::size_t after = std::min(sentence.size() - 1 - center, most);
      for (std::size_t i = 0; i < before; ++i)
        inputs_[most - before + i] = sentence[center - before + i];
      for (std::size_t i = 0; i < after; ++i) inputs_[most + i] = sentence[center + 1 + i];
      use(std::span<const RowId>(inputs_).subspan(most - left, left + right),
          targets_.at(center % (2 * at_once)));
    }
  }

 private:
  // Words between the announcement of rows and their use, so that they can arrive. Measured with an
  // earlier FusedKernel and 68,000 words, M words/s: 0 words 4.2, 1 to 4 words 5.5 to 5.6.
  static constexpr std::size_t lookahead = 2;
  // Words whose targets are drawn together.
  static constexpr std::size_t at_once = 4;

  static std::span<const WordId> centers(std::span<const WordId> sentence, std::size_t first) {
    return sentence.subspan(first, std::min(at_once, sentence.size() - first));
  }
  void begin(std::span<const WordId> sentence, std::size_t first, Random& random) noexcept {
    targets_.begin(centers(sentence, first), random);
  }

  template <class Sink>
  void announce(std::span<const WordId> sentence, std::size_t center, Random& random, Sink& sink) {
    if (center % at_once == 0) {
      const auto group = centers(sentence, center);
      targets_.finish(group, center % (2 * at_once), random);
      begin(sentence, center + group.size(), random);
    }
    const std::size_t entering = std::min(center + window_.max_reach(), sentence.size() - 1);
    announce_rows(sink, sentence.subspan(entering, 1), targets_.at(center % (2 * at_once)).outputs);
  }

  Window window_;
  std::size_t max_outputs_;
  TargetWorker<Targets> targets_;  // [2 at_once] slots
  std::vector<RowId> inputs_;      // [2 max_reach] the context words
};

}  // namespace wordloom::inline WORDLOOM_ABI::detail
