#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/detail/sentence.hpp>

/// The windows and negatives of a sentence, drawn for many windows at once by a warp.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// The reaches of successive windows.
template <class Task>
class Reaches {
 public:
  WORDLOOM_BOTH explicit Reaches(const Task& task) : task_(task) {}

  /// Returns the reach of a window. Must be called for each centre in turn.
  WORDLOOM_BOTH std::uint32_t of(std::uint32_t center) {
    if (task_.sampling.fixed_window) return task_.sampling.max_reach;
    WORDLOOM_MARK(13);
    if (center % 32 == 0) {
      WORDLOOM_MARK(2);
      reaches_ = task_.team.of_first_warp(
          [&](int l) { return task_.reach(center + static_cast<std::uint32_t>(l)); });
    }
    return task_.team.from(reaches_, static_cast<int>(center % 32));
  }

 private:
  const Task& task_;
  typename Task::Team::template Lanes<std::uint32_t> reaches_;
};

/// The negatives of successive windows, in registers of each warp.
template <class Task>
class Negatives {
 public:
  WORDLOOM_BOTH explicit Negatives(const Task& task)
      : task_(task), windows_(32 / task.sampling.per_window) {}

  /// Draws the negatives of the window of `center`. Must be called for each centre in turn.
  WORDLOOM_BOTH void move_to(std::uint32_t center) {
    first_ += task_.sampling.per_window;
    if (center != next_) return;
    WORDLOOM_MARK(1);
    first_ = 0;
    next_ = center + windows_;
    negatives_ = task_.team.of_first_warp([&](int l) {
      const Sampling& sampling = task_.sampling;
      const auto lane = static_cast<std::uint32_t>(l);
      const std::uint32_t own = center + lane / sampling.per_window, last = task_.sentence.size - 1;
      return sampling.negative(task_.sentence.random, center * sampling.per_window + lane,
                               task_.sentence.words[own < last ? own : last]);
    });
  }
  /// Returns negative k, 0 to K - 1, of the window; no_word if it is left out.
  WORDLOOM_BOTH WordId operator[](std::uint32_t k) const {
    return task_.team.from(negatives_, static_cast<int>(first_ + k));
  }

 private:
  const Task& task_;
  std::uint32_t windows_;               // that 32 threads draw negatives for; K is at most 32
  std::uint32_t next_ = 0, first_ = 0;  // next centre to draw for; thread of the first negative
  typename Task::Team::template Lanes<WordId> negatives_;
};

/// The number of outputs that a warp scores at once, and the memory of GroupedOutputs in floats.
inline constexpr unsigned outputs_of_group = 6;
inline constexpr std::size_t output_floats = 128;

/// Six values, one for each output of a group. In threads 16 to 31 the first three and the last
/// three have changed places: see transposed_sums.
template <class Team>
struct GroupValues {
  typename Team::template Lanes<Quad> half[2];

  /// Reads value k, or (k + 3) % 6 in threads 16 to 31. Memory has 8 places for them, so that three
  /// are read by one access: value o is at place_of(o).
  WORDLOOM_BOTH GroupValues(const Team& team, const float* from)
      : half{team.each([&](int l) { return Quad::load(from + own_half(l)); }),
             team.each([&](int l) { return Quad::load(from + (own_half(l) ^ 4)); })} {}

  WORDLOOM_BOTH auto operator()(const Team& team, unsigned k) const {
    return team.each([&](int l) { return team.own(half[k / 3], l).at[k % 3]; });
  }
  /// The place of value o, and the value of a place.
  static WORDLOOM_BOTH constexpr std::uint32_t place_of(std::uint32_t o) { return o + o / 3; }
  static WORDLOOM_BOTH constexpr std::uint32_t at(std::uint32_t place) { return place - place / 4; }

 private:
  static WORDLOOM_BOTH std::uint32_t own_half(int l) {
    return static_cast<std::uint32_t>(l) / 16 * 4;
  }
};

/// The outputs of successive windows, each the positive and its negatives, in groups, in the memory
/// of a warp.
template <class Task>
class GroupedOutputs {
 public:
  using Values = GroupValues<typename Task::Team>;

  WORDLOOM_BOTH GroupedOutputs(const Task& task, float* memory)
      : task_(task),
        memory_(memory),
        outputs_(task.sampling.per_window + 1),
        windows_(32 / outputs_),
        groups_((outputs_ + outputs_of_group - 1) / outputs_of_group) {}

  WORDLOOM_BOTH std::uint32_t groups() const { return groups_; }

  /// Draws the outputs of the window of `center`. Must be called for each centre in turn, after a
  /// barrier of the warp if there were reads.
  WORDLOOM_BOTH void move_to(std::uint32_t center) {
    at_ += 8 * groups_;
    first_ += outputs_;
    if (center != next_) return;
    WORDLOOM_MARK(1);
    next_ = center + windows_;
    at_ = memory_;
    first_ = 0;
    const auto is_left_out = task_.team.each([&](int l) {
      const Sampling& sampling = task_.sampling;
      const std::uint32_t window = static_cast<std::uint32_t>(l) / outputs_;
      const std::uint32_t o = static_cast<std::uint32_t>(l) % outputs_;
      const std::uint32_t own = center + window, last = task_.sentence.size - 1;
      const WordId positive = task_.sentence.words[own < last ? own : last];
      const WordId negative =
          sampling.negative(task_.sentence.random, own * sampling.per_window + o - 1, positive);
      const bool is_absent = o != 0 && negative == no_word;
      // The last threads draw for part of one more window, which is not used.
      put(window, o, o == 0 || is_absent ? positive : negative);
      WORDLOOM_NO_UNROLL
      for (std::uint32_t i = o == 0 ? outputs_ : ~0u; i < groups_ * outputs_of_group; ++i) {
        WORDLOOM_MARK(12);
        put(window, i, positive);
      }
      return is_absent;
    });
    absent_ = task_.team.ballot(is_left_out);
    task_.team.warp_barrier();
  }
  /// Returns whether every group has six outputs, none of which is left out.
  WORDLOOM_BOTH bool is_complete() const {
    return absent_ == 0 && groups_ * outputs_of_group == outputs_;
  }
  /// Returns whether a group has output o.
  WORDLOOM_BOTH bool has(std::uint32_t group, std::uint32_t o) const {
    o += group * outputs_of_group;
    return o < outputs_ && (absent_ >> (first_ + o) & 1u) == 0;
  }
  /// Returns the words of a group, as bits; the positive's for an output that the group does not
  /// have.
  WORDLOOM_BOTH Values words(std::uint32_t group) const {
    return Values(task_.team, at_ + group * 8);
  }

 private:
  WORDLOOM_BOTH void put(std::uint32_t window, std::uint32_t o, WordId word) const {
    memory_[(window * groups_ + o / outputs_of_group) * 8 +
            Values::place_of(o % outputs_of_group)] = std::bit_cast<float>(word);
  }

  const Task& task_;
  float* memory_;
  const float* at_ = memory_;                 // the outputs of the window
  std::uint32_t outputs_, windows_, groups_;  // of a window; that 32 threads draw for; of outputs
  std::uint32_t next_ = 0, first_ = 0;  // the next centre to draw for; the thread of the positive
  std::uint32_t absent_ = 0;            // bit l: the negative of thread l is left out
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
