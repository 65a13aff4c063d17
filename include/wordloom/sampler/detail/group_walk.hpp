#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/sampler/sentences.hpp>
#include <wordloom/sampler/targets.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Successive words of a sentence that are centres together, and the words around them.
template <class Outputs>
struct CenterGroup {
  std::span<const WordId> sentence = {};
  std::size_t begin = 0, end = 0;   // in the sentence: the centres and their context
  std::size_t first = 0, size = 0;  // in the sentence: the centres
  typename Outputs::Group outputs = {};
};

/// Cuts sentences into groups of G successive words with S words of context on either side, and
/// gives each group its outputs: SharedOutputs or OwnOutputs. Rows are announced `ahead` groups
/// ahead, across the borders of sentences. One object for each thread.
template <class Outputs>
class GroupWalk {
 public:
  using Group = CenterGroup<Outputs>;

  /// `outputs` keeps the outputs of `ahead + 1` groups.
  GroupWalk(Outputs outputs, std::size_t group, std::size_t side, std::size_t ahead)
      : group_(group), side_(side), outputs_(std::move(outputs)), announced_(ahead + 1) {}

  std::size_t max_centers() const noexcept { return group_; }
  std::size_t shared() const noexcept { return outputs_.shared(); }
  Block::Shape max_block() const noexcept {
    return {.inputs = group_ + 2 * side_, .outputs = outputs_.max_outputs()};
  }

  void begin_epoch(const Random& stream, std::uint64_t picks) noexcept {
    begin_epoch_of(outputs_, stream, picks);
  }
  std::uint64_t picks() const noexcept { return picks_of(outputs_); }

  /// Calls `use(group)` for each group of each sentence of at least two words. The first group of a
  /// sentence is of random length if the borders of groups matter (`random_first`).
  template <bool random_first = true, class Sink, class Use>
  void for_each_group(const Sentences& text, Random& random, Sink& sink, Use&& use) {
    Cut next{.of = sentence_of_two(text, 0)};
    if (next.of == text.count()) return;
    outputs_.begin_draw(text[next.of].first((std::min)(group_, text[next.of].size())), random);
    next.size = first_size<random_first>(text[next.of], random);
    std::size_t made = 0;
    for (std::size_t used = 0;; ++used) {
      for (; next.size > 0 && made < used + announced_.size(); ++made) {
        const Cut cut = std::exchange(next, after<random_first>(text, next, random));
        announced_[made % announced_.size()] = announce(text, cut, next, random, sink);
      }
      if (used == made) return;
      use(std::as_const(announced_[used % announced_.size()]));
    }
  }

 private:
  /// The centres of a group: `size` words of sentence `of` from `first` on; none after the last
  /// group.
  struct Cut {
    std::size_t of = 0, first = 0, size = 0;
    std::span<const WordId> centers(const Sentences& text) const {
      return size == 0 ? std::span<const WordId>() : text[of].subspan(first, size);
    }
  };

  /// Returns the first sentence from `i` on with at least two words, text.count() if there is none.
  static std::size_t sentence_of_two(const Sentences& text, std::size_t i) noexcept {
    while (i < text.count() && text[i].size() < 2) ++i;
    return i;
  }

  template <bool random_first>
  std::size_t first_size(std::span<const WordId> sentence, Random& random) const noexcept {
    return (std::min<std::size_t>)(random_first ? 1 + random.below(group_) : group_,
                                   sentence.size());
  }

  template <bool random_first>
  Cut after(const Sentences& text, const Cut& cut, Random& random) const noexcept {
    const std::size_t first = cut.first + cut.size, rest = text[cut.of].size() - first;
    if (rest > 0) return {cut.of, first, (std::min)(group_, rest)};
    const std::size_t of = sentence_of_two(text, cut.of + 1);
    if (of == text.count()) return {};
    return {of, 0, first_size<random_first>(text[of], random)};
  }

  /// Draws the outputs of a group and announces the rows that it needs.
  template <class Sink>
  Group announce(const Sentences& text, const Cut& cut, const Cut& next, Random& random,
                 Sink& sink) {
    const auto sentence = text[cut.of];
    const std::size_t last = cut.first + cut.size;
    const Group group{sentence,
                      cut.first - (std::min)(cut.first, side_),
                      (std::min)(sentence.size(), last + side_),
                      cut.first,
                      cut.size,
                      outputs_.next(cut.centers(text), next.centers(text), random)};
    // Words that the group before did not need.
    const std::size_t entering =
        cut.first == 0 ? 0 : (std::min)(cut.first + side_, sentence.size());
    announce_rows(sink, sentence.subspan(entering, group.end - entering), group.outputs);
    return group;
  }

  std::size_t group_, side_;  // G, S
  Outputs outputs_;
  std::vector<Group> announced_;  // [ahead + 1]
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
