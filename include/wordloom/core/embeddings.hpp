#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <wordloom/core/error.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/word_list.hpp>

namespace wordloom {

/// Words and their vectors [V x D], immutable. Copies share the vectors; all members are
/// thread-safe.
class Embeddings {
 public:
  /// Throws InvalidArgument unless `vectors` has one row for each word.
  Embeddings(WordList words, RowMatrix vectors)
      : words_(std::move(words)), vectors_(std::make_shared<const RowMatrix>(std::move(vectors))) {
    if (words_.size() != vectors_->rows())
      throw InvalidArgument("embeddings need one vector for each word, got " +
                            std::to_string(words_.size()) + " words and " +
                            std::to_string(vectors_->rows()) + " vectors");
  }

  std::size_t size() const noexcept { return words_.size(); }
  std::size_t dimension() const noexcept { return vectors_->columns(); }
  const WordList& words() const noexcept { return words_; }
  /// [V x D], row-major.
  const RowMatrix& vectors() const noexcept { return *vectors_; }
  std::string_view word(std::size_t id) const noexcept { return words_[id]; }
  std::span<const float> vector(std::size_t id) const noexcept { return vectors_->row(id); }
  /// Throws UnknownWord.
  std::span<const float> vector(std::string_view word) const { return vector(words_.at(word)); }

 private:
  WordList words_;
  std::shared_ptr<const RowMatrix> vectors_;
};

}  // namespace wordloom
