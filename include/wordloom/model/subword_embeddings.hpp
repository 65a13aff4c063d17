#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <wordloom/core/error.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/corpus/subwords.hpp>
#include <wordloom/model/any_word_embeddings.hpp>
#include <wordloom/model/detail/composed_vectors.hpp>
#include <wordloom/model/embeddings.hpp>
#include <wordloom/model/model.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// Computes the vector of any word as the mean of a bag of rows. Copies share the rows;
/// thread-safe.
class SubwordComposer {
 public:
  /// Takes `input` [V + buckets x D]. Throws InvalidArgument for another number of rows and for
  /// options out of bounds.
  SubwordComposer(const WordList& words, RowMatrix input, const SubwordOptions& subwords);

  const SubwordOptions& subwords() const noexcept { return rows_->subwords; }
  const RowMatrix& input() const noexcept { return rows_->input; }

  bool has_vector(std::string_view word) const {
    bool has = false;
    for_each_ngram(word, subwords(), [&](std::string_view, std::uint32_t) { has = true; });
    return has;
  }
  void compose(std::string_view word, std::span<float> vector) const {
    compose_vector(word, std::nullopt, rows_->words.size(), input(), subwords(), vector);
  }
  Embeddings known(std::span<const std::uint64_t> counts) const {
    return {rows_->words, composed_vectors(rows_->words, input(), subwords()), counts};
  }

 private:
  struct Rows {
    RowMatrix input;
    SubwordOptions subwords;
    WordList words;
  };
  std::shared_ptr<const Rows> rows_;
};

}  // namespace detail

/// The vectors of words with subwords: the mean of the rows of a word's n-grams, and of its own row
/// if it is in the vocabulary. An unknown word without n-grams has no vector.
class SubwordEmbeddings : public detail::AnyWordEmbeddings<detail::SubwordComposer> {
 public:
  /// `input` [V + buckets x D]: the rows of the words, then those of the n-grams. `counts`: as of
  /// Embeddings. Throws InvalidArgument for another number of rows or counts and for options out of
  /// bounds.
  SubwordEmbeddings(const WordList& words, RowMatrix input, const SubwordOptions& subwords,
                    std::span<const std::uint64_t> counts = {})
      : SubwordEmbeddings(detail::SubwordComposer(words, std::move(input), subwords), counts) {}

  /// Takes the input of a model, whose other matrices are freed before vectors are composed. Where
  /// it has no subwords, words out of the vocabulary have vectors of zeros. Throws InvalidArgument
  /// for a model without words.
  explicit SubwordEmbeddings(Model&& model)
      : SubwordEmbeddings(composer_of(model), model.vocabulary.counts()) {}

  const SubwordOptions& subwords() const noexcept { return composer().subwords(); }
  /// The rows [V + buckets x D] whose means are the vectors.
  const RowMatrix& input() const& noexcept { return composer().input(); }
  void input() const&& = delete;

 private:
  SubwordEmbeddings(const detail::SubwordComposer& composer, std::span<const std::uint64_t> counts)
      : AnyWordEmbeddings(composer.known(counts), composer) {}

  static detail::SubwordComposer composer_of(Model& model) {
    if (model.vocabulary.empty()) throw InvalidArgument("a model without words has no embeddings");
    model.output = {};
    model.state.clear();
    return {model.vocabulary.words(), std::move(model.input),
            model.subwords.value_or(SubwordOptions{.maxn = 0})};
  }
};

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

WORDLOOM_FUNCTION SubwordComposer::SubwordComposer(const WordList& words, RowMatrix input,
                                                   const SubwordOptions& subwords)
    : rows_(std::make_shared<const Rows>(Rows{std::move(input), subwords, words})) {
  validate_parameters(subwords);
  if (rows_->input.rows() != words.size() + subwords.rows())
    throw InvalidArgument{"vectors of ",
                          words.size(),
                          " words and ",
                          subwords.rows(),
                          " buckets need as many rows, got ",
                          rows_->input.rows()};
}

}  // namespace detail

#endif

}}  // namespace wordloom::WORDLOOM_ABI
