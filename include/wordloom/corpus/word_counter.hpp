#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

namespace wordloom::detail {

/// Counts words: open addressing over words that lie one after the other in one buffer, so that a
/// known word costs a hash, a look and a comparison. Not thread-safe; each thread counts into its
/// own and `merge` adds up.
class WordCounter {
 public:
  WordCounter() : slots_(std::size_t{1} << 12) {}

  void add(std::string_view word, std::uint64_t count = 1) {
    const std::size_t hash = std::hash<std::string_view>{}(word);
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].count != 0) {
      if (slots_[at].hash == hash && word_of(slots_[at]) == word) {
        slots_[at].count += count;
        return;
      }
      at = (at + 1) & (slots_.size() - 1);
    }
    slots_[at] = {hash, text_.size(), word.size(), count};
    text_.insert(text_.end(), word.begin(), word.end());
    if (++size_ * 2 > slots_.size()) grow();
  }

  void merge(const WordCounter& other) {
    other.for_each([this](std::string_view word, std::uint64_t count) { add(word, count); });
  }

  /// Distinct words.
  std::size_t size() const noexcept { return size_; }

  /// Calls `use(word, count)` for each word, in no particular order; views live as long as this.
  template <class Use>
  void for_each(Use&& use) const {
    for (const Slot& slot : slots_)
      if (slot.count != 0) use(word_of(slot), slot.count);
  }

 private:
  struct Slot {
    std::size_t hash = 0;
    std::size_t begin = 0;
    std::size_t length = 0;
    std::uint64_t count = 0;  // 0: free
  };

  std::string_view word_of(const Slot& slot) const noexcept {
    return {text_.data() + slot.begin, slot.length};
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.count == 0) continue;
      std::size_t at = slot.hash & (slots_.size() - 1);
      while (slots_[at].count != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  std::vector<char> text_;
  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace wordloom::detail
