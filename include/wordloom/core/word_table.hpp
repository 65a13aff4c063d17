#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hash.hpp>
#include <wordloom/core/types.hpp>

namespace wordloom::detail {

/// Words numbered from 0 in the order in which they were added, and a hash table (open addressing,
/// at most half full) that finds their numbers. A word is any bytes. Not thread-safe while words
/// are added.
class WordTable {
 public:
  std::size_t size() const noexcept { return ends_.size(); }

  /// Returns a view that is valid until a word is added; i < size().
  std::string_view operator[](std::size_t i) const noexcept {
    const std::uint64_t begin = i == 0 ? 0 : ends_[i - 1];
    return {text_.data() + begin, static_cast<std::size_t>(ends_[i] - begin)};
  }

  /// Prepares for `words` words of `bytes` bytes together.
  void reserve(std::size_t words, std::size_t bytes) {
    ends_.reserve(words);
    text_.reserve(bytes);
    while (slots_.size() / 2 < words) grow();
  }

  /// Returns the number of a word, the lowest if it was added several times.
  std::optional<WordId> find(std::string_view word) const noexcept {
    const Slot slot = slots_[slot_of(word, Hash::of(word))];
    if (slot.number == 0) return std::nullopt;
    return slot.number - 1;
  }

  /// Returns the number of `word`, which is added if it is new. Throws InvalidArgument when the
  /// table has 2^32 - 2 words.
  WordId insert(std::string_view word) {
    const std::uint64_t hash = Hash::of(word);
    Slot& slot = slots_[slot_of(word, hash)];
    if (slot.number != 0) return slot.number - 1;
    push_back(word);
    slot = {tag_of(hash), static_cast<WordId>(size())};
    if (size() > slots_.size() / 2) grow();
    return static_cast<WordId>(size() - 1);
  }

  /// Adds `word` even if it is not new, and returns whether it is. Throws as `insert`.
  bool append(std::string_view word) {
    const std::size_t before = size();
    insert(word);
    if (size() > before) return true;
    push_back(word);
    return false;
  }

  /// Whether both have the same words in the same order.
  friend bool operator==(const WordTable& a, const WordTable& b) noexcept {
    return a.ends_ == b.ends_ && a.text_ == b.text_;
  }

 private:
  struct Slot {
    std::uint32_t tag = 0;  // the part of the hash that does not choose the slot
    WordId number = 0;      // of the word, plus 1; 0: the slot is free
  };

  static std::uint32_t tag_of(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash >> 32);
  }

  /// Returns the slot of a word, or the free one that it would take.
  std::size_t slot_of(std::string_view word, std::uint64_t hash) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    const std::uint32_t tag = tag_of(hash);
    std::size_t at = hash & mask;
    while (slots_[at].number != 0 &&
           (slots_[at].tag != tag || (*this)[slots_[at].number - 1] != word))
      at = (at + 1) & mask;
    return at;
  }

  void push_back(std::string_view word) {
    if (size() >= std::numeric_limits<WordId>::max() - 1)
      throw InvalidArgument("a list of words holds at most 4294967294 words");
    text_.append(word);
    ends_.push_back(text_.size());
  }

  void grow() {
    slots_.assign(slots_.size() * 2, {});
    for (std::size_t i = 0; i < size(); ++i) {
      const std::uint64_t hash = Hash::of((*this)[i]);
      Slot& slot = slots_[slot_of((*this)[i], hash)];
      if (slot.number == 0) slot = {tag_of(hash), static_cast<WordId>(i + 1)};
    }
  }

  std::string text_;                 // all words, one after the other
  std::vector<std::uint64_t> ends_;  // [size] in `text_`
  std::vector<Slot> slots_{1};       // a power of two
};

}  // namespace wordloom::detail
