#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/sampler/negative_sampling.hpp>
#include <wordloom/sampler/shared_outputs.hpp>

namespace wordloom::detail {

/// Successive words of a sentence that are centres together, and the words around them.
struct CenterGroup {
  std::size_t begin = 0, end = 0;       // in the sentence: the centres and their context
  std::size_t first = 0, size = 0;      // in the sentence: the centres
  std::span<const RowId> outputs = {};  // the centres, then the negatives
};

/// Cuts sentences into groups of G successive words, the first of random length, with S words of
/// context on either side and H negatives for each group. Rows are announced a group ahead. One for
/// each thread.
class GroupWalk {
 public:
  GroupWalk(NegativeDistribution negatives, std::size_t group, std::size_t side, std::size_t shared)
      : group_(group), side_(side), outputs_(std::move(negatives), group, shared) {}

  std::size_t max_centers() const noexcept { return group_; }
  std::size_t max_context() const noexcept { return group_ + 2 * side_; }
  std::size_t shared() const noexcept { return outputs_.shared(); }

  /// Calls `use(group)` for each group of a sentence; a lone word is none.
  template <class Sink, class Use>
  void for_each_group(std::span<const WordId> sentence, Random& random, Sink& sink, Use&& use) {
    if (sentence.size() < 2) return;
    outputs_.begin(random);
    CenterGroup group =
        announce(sentence, 0, std::min<std::size_t>(1 + random.below(group_), sentence.size()),
                 random, sink);
    while (group.size > 0) {
      const std::size_t first = group.first + group.size;
      CenterGroup next;
      if (first < sentence.size())
        next = announce(sentence, first, std::min(group_, sentence.size() - first), random, sink);
      use(std::as_const(group));
      group = next;
    }
  }

 private:
  /// Draws the negatives of a group and announces the rows that it needs.
  template <class Sink>
  CenterGroup announce(std::span<const WordId> sentence, std::size_t first, std::size_t size,
                       Random& random, Sink& sink) {
    const std::size_t last = first + size;
    const CenterGroup group{
        first - std::min(first, side_), std::min(sentence.size(), last + side_), first, size,
        outputs_.next(sentence.subspan(first, size), last < sentence.size(), random)};
    const std::size_t entering = std::min(first + side_, sentence.size());
    announce_rows(sink, sentence.subspan(entering, group.end - entering), group.outputs);
    return group;
  }

  std::size_t group_, side_;  // G, S
  SharedOutputs outputs_;
};

}  // namespace wordloom::detail
