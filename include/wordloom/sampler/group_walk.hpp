#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/sampler/block.hpp>

namespace wordloom::inline WORDLOOM_ABI::detail {

/// Successive words of a sentence that are centres together, and the words around them.
template <class Outputs>
struct CenterGroup {
  std::size_t begin = 0, end = 0;   // in the sentence: the centres and their context
  std::size_t first = 0, size = 0;  // in the sentence: the centres
  typename Outputs::Group outputs = {};
};

/// Cuts sentences into groups of G successive words with S words of context on either side, and
/// gives each group its outputs: SharedOutputs or OwnOutputs. Rows are announced `ahead` groups
/// ahead. One for each thread.
template <class Outputs>
class GroupWalk {
 public:
  using Group = CenterGroup<Outputs>;

  /// `outputs` keeps those of `ahead + 1` groups.
  GroupWalk(Outputs outputs, std::size_t group, std::size_t side, std::size_t ahead)
      : group_(group), side_(side), outputs_(std::move(outputs)), announced_(ahead + 1) {}

  std::size_t max_centers() const noexcept { return group_; }
  std::size_t shared() const noexcept { return outputs_.shared(); }
  BlockShape max_block() const noexcept {
    return {.inputs = group_ + 2 * side_, .outputs = outputs_.max_outputs()};
  }

  /// Calls `use(group)` for each group of a sentence; a lone word is none. The first group is of
  /// random length where the borders of groups matter (`random_first`).
  template <bool random_first = true, class Sink, class Use>
  void for_each_group(std::span<const WordId> sentence, Random& random, Sink& sink, Use&& use) {
    if (sentence.size() < 2) return;
    std::size_t next = 0, made = 0;
    outputs_.begin(following(sentence, 0), random);
    std::size_t size = random_first ? 1 + random.below(group_) : group_;
    for (std::size_t used = 0;; ++used) {
      for (; next < sentence.size() && made < used + announced_.size(); ++made) {
        size = std::min(size, sentence.size() - next);
        announced_[made % announced_.size()] = announce(sentence, next, size, random, sink);
        next += size;
        size = group_;
      }
      if (used == made) return;
      use(std::as_const(announced_[used % announced_.size()]));
    }
  }

 private:
  std::span<const WordId> following(std::span<const WordId> sentence, std::size_t first) const {
    return sentence.subspan(first, std::min(group_, sentence.size() - first));
  }

  /// Draws the outputs of a group and announces the rows that it needs.
  template <class Sink>
  Group announce(std::span<const WordId> sentence, std::size_t first, std::size_t size,
                 Random& random, Sink& sink) {
    const std::size_t last = first + size;
    const Group group{
        first - std::min(first, side_), std::min(sentence.size(), last + side_), first, size,
        outputs_.next(sentence.subspan(first, size), following(sentence, last), random)};
    const std::size_t entering = std::min(first + side_, sentence.size());
    announce_rows(sink, sentence.subspan(entering, group.end - entering), group.outputs);
    return group;
  }

  std::size_t group_, side_;  // G, S
  Outputs outputs_;
  std::vector<Group> announced_;  // [ahead + 1]
};

}  // namespace wordloom::inline WORDLOOM_ABI::detail
