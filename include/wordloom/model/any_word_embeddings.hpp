#pragma once
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/model/embeddings.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Embeddings that have a vector for any string, by a function of its characters. Members inherited
/// from Embeddings know only the vocabulary, whose vectors [V x D] are computed once; the members
/// below accept any string. Immutable; copies share everything; thread-safe.
///
/// `Composer`: a copyable type with `has_vector(word)`, for words out of the vocabulary, and
/// `compose(word, vector)`, which writes the vector [D] of such a word; both const, thread-safe.
template <class Composer>
class AnyWordEmbeddings : public Embeddings {
 public:
  /// `known`: the vectors of the vocabulary.
  AnyWordEmbeddings(Embeddings known, Composer composer)
      : Embeddings(std::move(known)), composer_(std::move(composer)) {}

  /// Returns whether a word is in the vocabulary or can be composed.
  [[nodiscard]] bool has_vector(std::string_view word) const {
    return contains(word) || composer_.has_vector(word);
  }

  using Embeddings::vector;
  /// Returns the vector [D] of any word; zeros if has_vector() is false.
  [[nodiscard]] std::vector<float> vector(std::string_view word) const& {
    std::vector<float> composed(dimension());
    if (const auto id = words().find(word)) {
      const std::span<const float> known = vector(*id);
      composed.assign(known.begin(), known.end());
    } else {
      composer_.compose(word, composed);
    }
    return composed;
  }
  [[nodiscard]] std::vector<float> vector(std::string_view word) const&& { return vector(word); }

  using Embeddings::similarity;
  /// Returns the cosine of any two words; 0 if a vector is all zeros.
  [[nodiscard]] float similarity(std::string_view a, std::string_view b) const {
    const std::vector<float> x = vector(a), y = vector(b);
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    return static_cast<float>(sum * detail::inverse_length(std::span(x)) *
                              detail::inverse_length(std::span(y)));
  }

  using Embeddings::most_similar;
  /// Returns the k words of the vocabulary nearest to any word by cosine, best first, without the
  /// word itself.
  [[nodiscard]] std::vector<Neighbour> most_similar(std::string_view word, std::size_t k,
                                                    QueryOptions options = {}) const {
    if (contains(word)) return Embeddings::most_similar(word, k, options);
    const std::vector<float> composed = vector(word);
    return Embeddings::most_similar(std::span(composed), k, options);
  }

 protected:
  const Composer& composer() const noexcept { return composer_; }

 private:
  Composer composer_;
};

}}  // namespace wordloom::WORDLOOM_ABI
