#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <wordloom/core/error.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/word_table.hpp>

namespace wordloom {

/// An immutable list of words, id <-> word. A word is any bytes. Copies share the words, so they
/// are cheap; all members are thread-safe. A duplicate word is found at its first place.
class WordList {
 public:
  WordList() {
    static const auto empty = std::make_shared<const detail::WordTable>();
    words_ = empty;
  }

  /// Collects words in order.
  class Builder {
   public:
    /// `bytes`: of all words together.
    void reserve(std::size_t words, std::size_t bytes) { words_.reserve(words, bytes); }
    /// Returns whether the word is new. Throws InvalidArgument past 2^32 - 2 words.
    bool add(std::string_view word) { return words_.append(word); }
    /// Returns the first place of a word that was added.
    std::optional<WordId> find(std::string_view word) const noexcept { return words_.find(word); }
    std::size_t size() const noexcept { return words_.size(); }
    WordList build() && {
      WordList list;
      list.words_ = std::make_shared<const detail::WordTable>(std::exchange(words_, {}));
      return list;
    }

   private:
    detail::WordTable words_;
  };

  /// Makes a list of any range of things that convert to std::string_view.
  template <class Words>
  static WordList from(const Words& words) {
    Builder builder;
    for (const auto& word : words) builder.add(word);
    return std::move(builder).build();
  }

  std::size_t size() const noexcept { return words_->size(); }
  bool empty() const noexcept { return size() == 0; }
  /// Returns a view that is valid as long as any copy of this list lives; `id` < size().
  std::string_view operator[](std::size_t id) const noexcept { return (*words_)[id]; }
  std::optional<WordId> find(std::string_view word) const noexcept { return words_->find(word); }
  /// Throws UnknownWord.
  WordId at(std::string_view word) const {
    if (const auto id = find(word)) return *id;
    throw UnknownWord(word);
  }
  bool contains(std::string_view word) const noexcept { return find(word).has_value(); }

  /// Whether both have the same words in the same order.
  friend bool operator==(const WordList& a, const WordList& b) noexcept {
    return a.words_ == b.words_ || *a.words_ == *b.words_;
  }

 private:
  std::shared_ptr<const detail::WordTable> words_;
};

}  // namespace wordloom
