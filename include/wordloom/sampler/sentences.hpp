#pragma once
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include <wordloom/core/types.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Successive sentences of a text, which a sampler takes at once: rows of the next sentence can
/// then be announced while one is trained. A view; the words and ends must outlive it.
class Sentences {
 public:
  /// One sentence.
  template <class Words>
  requires(std::convertible_to<const Words&, std::span<const WordId>> &&
           !std::same_as<Words, Sentences>) Sentences(const Words& sentence)
      : words_(sentence) {}

  /// Sentence i ends before word ends[i]; the last one ends with `words`.
  Sentences(std::span<const WordId> words, std::span<const std::size_t> ends)
      : words_(words), ends_(ends) {}

  std::span<const WordId> words() const noexcept { return words_; }
  std::size_t count() const noexcept { return ends_.empty() ? 1 : ends_.size(); }
  std::size_t begin(std::size_t i) const noexcept { return i == 0 ? 0 : ends_[i - 1]; }
  std::size_t end(std::size_t i) const noexcept { return ends_.empty() ? words_.size() : ends_[i]; }
  std::span<const WordId> operator[](std::size_t i) const noexcept {
    return words_.subspan(begin(i), end(i) - begin(i));
  }

 private:
  std::span<const WordId> words_;
  std::span<const std::size_t> ends_;  // empty: one sentence
};

namespace detail {

/// Collects sentences until there are enough words to train.
class SentenceBuffer {
 public:
  std::size_t words() const noexcept { return words_.size(); }

  // Called once a sentence; inlined, its allocations would be in each trainer.
  [[gnu::noinline]] void add(std::span<const WordId> sentence) {
    words_.insert(words_.end(), sentence.begin(), sentence.end());
    ends_.push_back(words_.size());
  }
  void clear() noexcept {
    words_.clear();
    ends_.clear();
  }
  Sentences sentences() const noexcept { return {words_, ends_}; }

 private:
  std::vector<WordId> words_;
  std::vector<std::size_t> ends_;
};

}  // namespace detail
}}  // namespace wordloom::WORDLOOM_ABI
