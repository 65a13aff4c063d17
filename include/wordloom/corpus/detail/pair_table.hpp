#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <wordloom/core/types.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Two words, and the number of the sequence of connectors between them: 0 if they are neighbours.
struct WordPair {
  WordId first = 0, second = 0;
  std::uint32_t between = 0;

  /// Returns a hash whose bits are all random enough to choose a part of a table by the highest and
  /// a slot by the lowest.
  std::uint64_t hash() const noexcept {
    std::uint64_t mixed = (std::uint64_t{first} << 32 | second) * 0x9e3779b185ebca87;
    mixed = (mixed ^ mixed >> 32 ^ between) * 0xc2b2ae3d27d4eb4f;
    return mixed ^ mixed >> 29;
  }

  friend bool operator==(const WordPair&, const WordPair&) = default;
};

/// A number above 0 for each pair, found by open addressing: 16 bytes a slot, at most 3/4 of them
/// in use. Several threads may call `find`.
class PairTable {
 public:
  /// Reads the slot of a hash into the cache, to be written.
  void prefetch(std::uint64_t hash) const noexcept {
    __builtin_prefetch(&slots_[hash & (slots_.size() - 1)], 1);
  }

  /// Returns the number of a pair, 0 if it has none. `hash`: pair.hash().
  std::uint32_t find(const WordPair& pair, std::uint64_t hash) const noexcept {
    return slots_[slot_of(pair, hash)].value;
  }
  std::uint32_t find(const WordPair& pair) const noexcept { return find(pair, pair.hash()); }

  /// Adds 1 to the number of a pair, which stays at 2^32 - 1.
  void count(const WordPair& pair, std::uint64_t hash) {
    Slot& slot = slots_[slot_of(pair, hash)];
    if (slot.value == 0)
      insert(slot, pair, 1);
    else if (slot.value != (std::numeric_limits<std::uint32_t>::max)())
      ++slot.value;
  }

  /// Gives a pair that has no number one, which is above 0; returns false if it has one.
  bool insert(const WordPair& pair, std::uint32_t value) {
    Slot& slot = slots_[slot_of(pair, pair.hash())];
    if (slot.value != 0) return false;
    insert(slot, pair, value);
    return true;
  }

  /// Removes the pairs whose number is at most `value`.
  void remove_up_to(std::uint32_t value) {
    size_ = 0;
    for (Slot& slot : slots_)
      if (slot.value <= value)
        slot.value = 0;
      else
        ++size_;
    rebuild(slots_.size());
  }

  std::size_t size() const noexcept { return size_; }

  /// Calls `use(pair, number)` for each pair.
  template <class Use>
  void for_each(Use&& use) const {
    for (const Slot& slot : slots_)
      if (slot.value != 0) use(slot.pair, slot.value);
  }

 private:
  struct Slot {
    WordPair pair;
    std::uint32_t value = 0;  // 0: free
  };

  /// Returns the slot of a pair, or the free one that it would take.
  std::size_t slot_of(const WordPair& pair, std::uint64_t hash) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (slots_[at].value != 0 && !(slots_[at].pair == pair)) at = (at + 1) & mask;
    return at;
  }

  void insert(Slot& slot, const WordPair& pair, std::uint32_t value) {
    slot = {pair, value};
    if (++size_ > slots_.size() / 4 * 3) rebuild(slots_.size() * 2);
  }

  void rebuild(std::size_t size) {
    const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(size));
    for (const Slot& slot : before)
      if (slot.value != 0) slots_[slot_of(slot.pair, slot.pair.hash())] = slot;
  }

  std::vector<Slot> slots_ = std::vector<Slot>(16);  // their number is a power of two
  std::size_t size_ = 0;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
