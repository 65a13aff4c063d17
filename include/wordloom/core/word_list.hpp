#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/types.hpp>

namespace wordloom {

/// Immutable list of words, id <-> word. A word is any bytes. Copies share one store, so they are
/// cheap; all members are thread-safe. A word that stands twice is found at its first place.
class WordList {
  struct Store {
    std::string text;                 // all words, one after the other
    std::vector<std::uint64_t> ends;  // [size] end of each word in `text`
    std::vector<WordId> slots;        // open addressing, a power of two, id + 1, 0 = free

    std::string_view word(std::size_t i) const noexcept {
      const std::uint64_t first = i == 0 ? 0 : ends[i - 1];
      return {text.data() + first, static_cast<std::size_t>(ends[i] - first)};
    }
    std::size_t slot_of(std::string_view key) const noexcept {
      const std::size_t mask = slots.size() - 1;
      std::size_t slot = std::hash<std::string_view>{}(key)&mask;
      while (slots[slot] != 0 && word(slots[slot] - 1) != key) slot = (slot + 1) & mask;
      return slot;
    }
  };

 public:
  WordList() : store_(empty_store()) {}

  /// Collects words in order.
  class Builder {
   public:
    /// `bytes`: of all words together.
    void reserve(std::size_t words, std::size_t bytes) {
      store_.ends.reserve(words);
      store_.text.reserve(bytes);
    }
    /// Throws InvalidArgument past 2^32 - 2 words.
    void add(std::string_view word) {
      if (store_.ends.size() >= std::numeric_limits<WordId>::max() - 1)
        throw InvalidArgument("a word list holds at most 4294967294 words");
      store_.text.append(word);
      store_.ends.push_back(store_.text.size());
    }
    std::size_t size() const noexcept { return store_.ends.size(); }

    WordList build() && {
      store_.slots.assign(std::bit_ceil(store_.ends.size() * 2 + 1), 0);
      for (std::size_t i = 0; i < store_.ends.size(); ++i) {
        const std::size_t slot = store_.slot_of(store_.word(i));
        if (store_.slots[slot] == 0) store_.slots[slot] = static_cast<WordId>(i + 1);
      }
      return WordList(std::make_shared<const Store>(std::move(store_)));
    }

   private:
    Store store_;
  };

  /// From any range of things that convert to std::string_view.
  template <class Words>
  static WordList from(const Words& words) {
    Builder builder;
    for (const auto& word : words) builder.add(word);
    return std::move(builder).build();
  }

  std::size_t size() const noexcept { return store_->ends.size(); }
  bool empty() const noexcept { return size() == 0; }
  /// Valid as long as any copy of this list lives; `id` < size().
  std::string_view operator[](std::size_t id) const noexcept { return store_->word(id); }
  std::optional<WordId> find(std::string_view word) const noexcept {
    const WordId found = store_->slots[store_->slot_of(word)];
    if (found == 0) return std::nullopt;
    return found - 1;
  }
  /// Throws UnknownWord.
  WordId at(std::string_view word) const {
    if (const auto id = find(word)) return *id;
    throw UnknownWord(word);
  }
  bool contains(std::string_view word) const noexcept { return find(word).has_value(); }

  /// Same words in the same order.
  friend bool operator==(const WordList& a, const WordList& b) noexcept {
    return a.store_ == b.store_ ||
           (a.store_->ends == b.store_->ends && a.store_->text == b.store_->text);
  }

 private:
  explicit WordList(std::shared_ptr<const Store> store) : store_(std::move(store)) {}
  static const std::shared_ptr<const Store>& empty_store() {
    static const auto store = [] {
      auto fresh = std::make_shared<Store>();
      fresh->slots.assign(1, 0);
      return std::shared_ptr<const Store>(std::move(fresh));
    }();
    return store;
  }
  std::shared_ptr<const Store> store_;
};

}  // namespace wordloom
