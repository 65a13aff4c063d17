#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/corpus/subwords.hpp>
#include <wordloom/model/composed_vectors.hpp>
#include <wordloom/model/embeddings.hpp>
#include <wordloom/model/model.hpp>

namespace wordloom::inline WORDLOOM_ABI {

/// Embeddings that have a vector for any word: the mean of the rows of its n-grams, and of its own
/// row if it is in the vocabulary. What Embeddings offers concerns the words of the vocabulary,
/// whose vectors [V x D] are composed once; the members here take any string. Immutable; copies
/// share everything; thread-safe.
class SubwordEmbeddings : public Embeddings {
 public:
  /// `input` [V + buckets x D]: the rows of the words, then those of the n-grams. Throws
  /// InvalidArgument for another number of rows and for options out of bounds.
  SubwordEmbeddings(const WordList& words, RowMatrix input, const SubwordOptions& subwords)
      : SubwordEmbeddings(words, make_rows(std::move(input), subwords)) {}

  /// Takes the input of a model, whose other matrices are freed before vectors are composed. Where
  /// it has no subwords, words out of the vocabulary have vectors of zeros. Throws InvalidArgument
  /// for a model without words.
  explicit SubwordEmbeddings(Model&& model)
      : SubwordEmbeddings(model.vocabulary.words(), rows_of(model)) {}

  const SubwordOptions& subwords() const noexcept { return rows_->subwords; }
  /// [V + buckets x D]: the rows that vectors are means of.
  const RowMatrix& input() const& noexcept { return rows_->input; }
  void input() const&& = delete;

  /// Whether a word is in the vocabulary or has an n-gram.
  [[nodiscard]] bool has_vector(std::string_view word) const {
    bool has = contains(word);
    if (!has)
      detail::for_each_ngram(word, rows_->subwords,
                             [&](std::string_view, std::uint32_t) { has = true; });
    return has;
  }

  using Embeddings::vector;
  /// The vector [D] of any word; zeros for one that is not in the vocabulary and has no n-gram.
  [[nodiscard]] std::vector<float> vector(std::string_view word) const& {
    std::vector<float> composed(dimension());
    detail::compose_vector(word, words().find(word), size(), rows_->input, rows_->subwords,
                           composed);
    return composed;
  }

  [[nodiscard]] std::vector<float> vector(std::string_view word) const&& { return vector(word); }

  using Embeddings::similarity;
  /// Cosine of any two words; 0 when a vector is all zeros.
  [[nodiscard]] float similarity(std::string_view a, std::string_view b) const {
    const std::vector<float> x = vector(a), y = vector(b);
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    return static_cast<float>(sum * detail::inverse_length(std::span(x)) *
                              detail::inverse_length(std::span(y)));
  }

  using Embeddings::most_similar;
  /// The k words of the vocabulary nearest to any word by cosine, best first, itself left out.
  [[nodiscard]] std::vector<Neighbour> most_similar(std::string_view word, std::size_t k,
                                                    QueryOptions options = {}) const {
    if (contains(word)) return Embeddings::most_similar(word, k, options);
    const std::vector<float> composed = vector(word);
    return Embeddings::most_similar(std::span(composed), k, options);
  }

 private:
  struct Rows {
    RowMatrix input;
    SubwordOptions subwords;
  };

  SubwordEmbeddings(const WordList& words, std::shared_ptr<const Rows> rows)
      : Embeddings(words, composed(words, *rows)), rows_(std::move(rows)) {}

  static std::shared_ptr<const Rows> make_rows(RowMatrix input, const SubwordOptions& subwords) {
    return std::make_shared<const Rows>(Rows{std::move(input), subwords});
  }
  static std::shared_ptr<const Rows> rows_of(Model& model) {
    if (model.vocabulary.empty())
      throw InvalidArgument("a model without words has no embeddings");
    model.output = {};
    model.state.clear();
    return make_rows(std::move(model.input), model.subwords.value_or(SubwordOptions{.maxn = 0}));
  }
  static RowMatrix composed(const WordList& words, const Rows& rows) {
    detail::validate(rows.subwords);
    if (rows.input.rows() != words.size() + rows.subwords.rows())
      throw InvalidArgument("vectors of " + std::to_string(words.size()) + " words and " +
                            std::to_string(rows.subwords.rows()) +
                            " buckets need as many rows, got " + std::to_string(rows.input.rows()));
    return detail::composed_vectors(words, rows.input, rows.subwords);
  }

  std::shared_ptr<const Rows> rows_;
};

}  // namespace wordloom::inline WORDLOOM_ABI
