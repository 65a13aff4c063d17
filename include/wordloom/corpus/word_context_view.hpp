#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/kept_words.hpp>

namespace wordloom::inline WORDLOOM_ABI::detail {

/// The part of a word in WordContextView::places.
struct WordPlaces {
  std::uint32_t first, count;
  std::uint64_t start;  // of its sequence
};

/// The arrays of a WordContextIndex in the memory of the host or of a device, and the steps by
/// which a context is found there. Thread-safe.
struct WordContextView {
  static constexpr WordId end_mark = KeptWords::end_mark;
  /// How often another slot is tried where a sentence ends between a word and its context.
  static constexpr std::uint64_t retries = 16;

  const WordId* ids;  // see KeptWords; `window` end marks before the first and after the last
  const std::uint32_t* places;  // of the words in `ids`, by word
  std::uint64_t window;         // words on each side

  /// A word of the corpus and its context, by places in `ids`; at first their numbers among the
  /// places of the word and of its window.
  struct Slot {
    std::int64_t place, target;
  };

  /// The number that gives the slot of a word in a column.
  static WORDLOOM_BOTH std::uint64_t number(const WordPlaces& word, std::uint64_t column) {
    constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;  // 2^64 / the golden ratio
    return word.start + column * golden;
  }
  /// The number that replaces it when it has been tried `attempt` times.
  static WORDLOOM_BOTH std::uint64_t next(std::uint64_t number, std::uint64_t attempt) {
    return Random::from_state(number, attempt)();
  }

  /// Returns the slot of a word that a number falls on, and prefetches its place.
  WORDLOOM_BOTH Slot slot_at(const WordPlaces& word, std::uint64_t number) const {
    // The number of the slot divided by 2 * window, and the remainder, without a division.
    const wide product = wide{number} * word.count;
    const std::uint64_t of_window = 2 * window;  // places
    const wide rest = wide{static_cast<std::uint64_t>(product)} * of_window;
    const auto place =
        static_cast<std::int64_t>(word.first + static_cast<std::uint64_t>(product >> 64));
    prefetch(places + place);
    return {place, static_cast<std::int64_t>(rest >> 64)};
  }

  /// Returns the slot with places in `ids`, and prefetches those.
  WORDLOOM_BOTH Slot find_place(const Slot& slot) const {
    const auto width = static_cast<std::int64_t>(window);
    const std::int64_t place = places[slot.place];
    const std::int64_t target = place - width + slot.target + (slot.target >= width);
    prefetch(ids + place);
    prefetch(ids + target);
    return {place, target};
  }

  /// Returns whether a sentence ends between a word and its context.
  WORDLOOM_BOTH bool ends_between(const Slot& slot) const {
    if (window <= 8) {
      // Masks, because a branch would be mispredicted every other time.
      const bool is_after = slot.target > slot.place;
      const WordId* const first = ids + (is_after ? slot.place : slot.target);
      const std::int64_t between = slot.target - slot.place;
      const auto size = static_cast<std::uint64_t>(is_after ? between : -between);
      WordId all = 0;
      for (std::uint64_t k = 0; k < window; ++k) all |= first[k] & (0u - WordId{k < size});
      return (all & end_mark) != 0;
    }
    // From the word outwards: most sentences end soon.
    std::int64_t place = slot.place;
    while (place < slot.target && !ends_at(place)) ++place;
    while (place > slot.target && !ends_at(place - 1)) --place;
    return place != slot.target;
  }

  WORDLOOM_BOTH WordId word_at(std::int64_t place) const { return ids[place] & ~end_mark; }

  /// Returns a random word of the window of a place, when all attempts at a number have failed.
  WORDLOOM_BOTH WordId any_context(std::int64_t place, std::uint64_t number) const {
    std::int64_t before = 0, after = 0;
    const auto width = static_cast<std::int64_t>(window);
    while (before < width && !ends_at(place - 1 - before)) ++before;
    while (after < width && !ends_at(place + after)) ++after;
    Random random = Random::from_state(number, retries + 1);
    const auto drawn =
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(before + after)));
    return word_at(place - before + drawn + (drawn >= before));
  }

  /// Returns the context of a word in a column: what WordContextIndex::contexts finds for many.
  WORDLOOM_BOTH WordId context(const WordPlaces& word, std::uint64_t column) const {
    const std::uint64_t x = number(word, column);
    Slot slot = find_place(slot_at(word, x));
    for (std::uint64_t attempt = 1; ends_between(slot); ++attempt) {
      if (attempt > retries) return any_context(slot.place, x);
      slot = find_place(slot_at(word, next(x, attempt)));
    }
    return word_at(slot.target);
  }

 private:
  __extension__ typedef unsigned __int128 wide;  // nvcc knows no __extension__ using

  WORDLOOM_BOTH bool ends_at(std::int64_t place) const { return (ids[place] & end_mark) != 0; }
  static WORDLOOM_BOTH void prefetch([[maybe_unused]] const void* at) {
#ifndef __CUDA_ARCH__
    __builtin_prefetch(at);
#endif
  }
};

}  // namespace wordloom::inline WORDLOOM_ABI::detail
