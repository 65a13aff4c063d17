#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/graph/detail/graph_rows.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The number of walks that take their steps in turn, so that the memory accesses of the others
/// complete meanwhile: enough to hide the latency of memory.
inline constexpr std::size_t walker_width = 64;

/// The first node of a walk and the random numbers of all its steps.
struct WalkStart {
  WordId node = 0;
  Random random{0};
};

/// Walks up to walker_width walks at a time, of first or second order.
///
/// A step of second order is drawn by rejection: a neighbour is drawn as in a step of first order
/// and then accepted in proportion to its bias (Yang et al. 2019, "KnightKing"). Most are accepted
/// without a lookup of edges. In undirected graphs without weights and duplicates, the excess of
/// the bias 1/p over the others is drawn as a separate case, so that a small p does not lower the
/// acceptance rate. After max_tries failures the step is drawn from the biases of all neighbours.
/// None of this changes the probabilities. One thread at a time.
class Walker {
 public:
  Walker(const GraphRows& rows, std::size_t length, double p, double q)
      : rows_(rows), length_(length), walks_(walker_width), nodes_(walker_width * length) {
    const bool weighted = !rows.weights.empty();
    second_order_ = p != 1 || q != 1;
    const bool folds = !weighted && rows.simple && !rows.directed;
    const double others = (std::max)(1.0, 1 / q);
    const double highest = folds ? others : (std::max)(others, 1 / p);
    back_ = 1 / p;
    out_ = 1 / q;
    excess_ = (std::max)(0.0, 1 / p - highest) / highest;
    accept_back_ = (std::min)(1.0, 1 / p / highest);
    accept_near_ = 1 / highest;
    accept_far_ = 1 / q / highest;
  }

  /// Walks from each of at most walker_width nodes.
  void run(std::span<const WalkStart> starts) {
    count_ = starts.size();
    for (std::size_t i = 0; i < count_; ++i) {
      walks_[i] = {starts[i].random, static_cast<std::uint32_t>(i), starts[i].node};
      nodes_[i * length_] = starts[i].node;
      __builtin_prefetch(&rows_.ends[starts[i].node]);
    }
    if (!rows_.weights.empty())
      second_order_ ? run_as<true, true>() : run_as<true, false>();
    else
      second_order_ ? run_as<false, true>() : run_as<false, false>();
  }

  std::size_t count() const noexcept { return count_; }
  /// Returns the i-th walk, valid until the next run().
  std::span<const WordId> walk(std::size_t i) const noexcept {
    return std::span(nodes_).subspan(i * length_, lengths_[i]);
  }

 private:
  struct Walk {
    Random random{0};
    std::uint32_t number = 0;
    WordId node = 0, before = 0, next = 0;
    bool is_near = false;  // whether `next` is a neighbour of `before`
    std::uint64_t begin = 0, size = 0, begin_before = 0, size_before = 0;
    AliasTable::Place place{};
    double rest = 0;  // of the random number that chose the bucket, in [0, 1)
  };

  template <bool weighted, bool second_order>
  void run_as() {
    std::size_t active = count_;
    std::fill_n(lengths_, count_, static_cast<std::uint32_t>(length_));
    for (std::size_t step = 1; step < length_ && active > 0; ++step) {
      for (std::size_t i = 0; i < active;) {
        Walk& walk = walks_[i];
        walk.begin = rows_.begin(walk.node);
        walk.size = rows_.ends[walk.node] - walk.begin;
        if (walk.size == 0) {
          lengths_[walk.number] = static_cast<std::uint32_t>(step);
          walk = walks_[--active];
          continue;
        }
        draw<weighted, second_order>(walk, step > 1);
        ++i;
      }
      if (second_order && step > 1)
        choose_all<weighted>(active);
      else
        for (Walk& walk : std::span(walks_).first(active)) walk.next = take<weighted>(walk);
      for (Walk& walk : std::span(walks_).first(active)) {
        nodes_[walk.number * length_ + step] = walk.next;
        __builtin_prefetch(&rows_.ends[walk.next]);
        walk.before = walk.node;
        walk.begin_before = walk.begin;
        walk.size_before = walk.size;
        walk.node = walk.next;
      }
    }
  }

  /// Chooses a place in the row of a walk's node and prefetches it.
  template <bool weighted, bool second_order>
  void draw(Walk& walk, bool may_go_back) noexcept {
    if constexpr (weighted) {
      walk.place = AliasTable::draw_place(walk.random, walk.size);
      __builtin_prefetch(&rows_.aliases[walk.begin + walk.place.bucket]);
      __builtin_prefetch(&rows_.neighbours[walk.begin + walk.place.bucket]);
    } else {
      if (second_order && may_go_back && excess_ > 0) {
        const double at = walk.random.uniform() * (static_cast<double>(walk.size) + excess_);
        walk.place.bucket = static_cast<std::uint32_t>(at);
        walk.rest = at - static_cast<double>(walk.place.bucket);
      } else {
        walk.place = AliasTable::draw_place(walk.random, walk.size);
        walk.rest = static_cast<double>(walk.place.fraction) * 0x1p-32;
      }
      __builtin_prefetch(rows_.neighbours.data() + walk.begin + walk.place.bucket);
    }
  }

  /// Returns the neighbour that draw() chose.
  template <bool weighted>
  WordId take(const Walk& walk) const noexcept {
    const WordId* const row = &rows_.neighbours[walk.begin];
    if constexpr (weighted)
      return row[AliasTable::end_draw(&rows_.aliases[walk.begin], walk.place)];
    else
      return walk.place.bucket < walk.size ? row[walk.place.bucket] : walk.before;
  }

  /// Chooses the next node of each walk, a step of second order. Walks are put into lists without a
  /// branch for each, which would be mispredicted every other time.
  template <bool weighted>
  void choose_all(std::size_t active) noexcept {
    std::uint32_t open[walker_width], unsure[walker_width];
    std::size_t open_count = active;
    for (std::size_t i = 0; i < active; ++i) open[i] = static_cast<std::uint32_t>(i);
    const double sure = (std::min)(accept_near_, accept_far_);
    for (int tries = 0;; ++tries) {
      std::size_t unsure_count = 0, again = 0;
      for (std::size_t k = 0; k < open_count; ++k) {
        const std::uint32_t i = open[k];
        Walk& walk = walks_[i];
        walk.next = take<weighted>(walk);
        if constexpr (weighted) walk.rest = walk.random.uniform();
        const bool is_back = walk.next == walk.before;
        const bool accepted = (walk.rest < (is_back ? accept_back_ : sure)) |
                              (!weighted & (walk.place.bucket >= walk.size));
        unsure[unsure_count] = i;
        unsure_count += !accepted & !is_back;
        open[again] = i;
        again += !accepted & is_back;
      }
      find_near({unsure, unsure_count});
      for (const std::uint32_t i : std::span(unsure, unsure_count)) {
        open[again] = i;
        again += !(walks_[i].rest < (walks_[i].is_near ? accept_near_ : accept_far_));
      }
      open_count = again;
      const auto rejected = std::span(open, open_count);
      if (tries == max_tries) {
        for (const std::uint32_t i : rejected) walks_[i].next = draw_exactly(walks_[i]);
        return;
      }
      if (rejected.empty()) return;
      for (const std::uint32_t i : rejected) draw<weighted, true>(walks_[i], true);
    }
  }

  /// Sets is_near of these walks. Their binary searches advance in lockstep, so that the loads of
  /// one overlap those of the others.
  void find_near(std::span<const std::uint32_t> which) noexcept {
    const WordId* rows[walker_width];
    std::uint64_t sizes[walker_width];
    WordId nodes[walker_width];
    std::uint64_t longest = 1;
    for (std::size_t k = 0; k < which.size(); ++k) {
      const Walk& walk = walks_[which[k]];
      rows[k] = &rows_.neighbours[walk.begin_before];
      sizes[k] = walk.size_before;
      nodes[k] = walk.next;
      longest = (std::max)(longest, sizes[k]);
    }
    for (; longest > 1; longest -= longest / 2)
      for (std::size_t k = 0; k < which.size(); ++k) {
        const std::uint64_t half = sizes[k] / 2;
        rows[k] += rows[k][half] <= nodes[k] ? half : 0;
        sizes[k] -= half;
      }
    for (std::size_t k = 0; k < which.size(); ++k) walks_[which[k]].is_near = *rows[k] == nodes[k];
  }

  /// Draws from the biases of all neighbours.
  [[gnu::noinline]] WordId draw_exactly(Walk& walk) const noexcept {
    const auto nearby = rows_.neighbours.subspan(walk.begin_before, walk.size_before);
    const auto bias = [&](std::size_t i) {
      const WordId next = rows_.neighbours[walk.begin + i];
      const double weight =
          rows_.weights.empty() ? 1.0 : static_cast<double>(rows_.weights[walk.begin + i]);
      return weight * (next == walk.before                                      ? back_
                       : std::binary_search(nearby.begin(), nearby.end(), next) ? 1.0
                                                                                : out_);
    };
    double total = 0;
    for (std::size_t i = 0; i < walk.size; ++i) total += bias(i);
    double left = walk.random.uniform() * total;
    std::size_t i = 0;
    for (; i + 1 < walk.size; ++i)
      if ((left -= bias(i)) < 0) break;
    return rows_.neighbours[walk.begin + i];
  }

  static constexpr int max_tries = 64;

  GraphRows rows_;
  std::size_t length_, count_ = 0;
  bool second_order_;
  double back_, out_;                              // biases, besides 1 for near nodes
  double excess_;                                  // of the step back, in rows
  double accept_back_, accept_near_, accept_far_;  // probabilities
  std::vector<Walk> walks_;
  std::vector<WordId> nodes_;  // [walker_width x length_]
  std::uint32_t lengths_[walker_width] = {};
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
