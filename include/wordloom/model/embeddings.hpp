#pragma once
#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/model/nearest_rows.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// A query: the sum of the unit vectors of `positive` minus those of `negative`.
struct WordSum {
  std::vector<std::string_view> positive, negative = {};
};

/// Words and their vectors [V x D], V and D above 0, immutable. Copies share the vectors; all
/// members are thread-safe. References, spans and views that members return are valid as long as
/// any copy of the embeddings. These members cannot be called on a temporary. A moved-from object
/// may only be assigned to or destroyed.
class Embeddings {
 public:
  /// Throws InvalidArgument unless there is one row per word and neither dimension is 0.
  Embeddings(WordList words, RowMatrix vectors);

  std::size_t size() const noexcept { return store_->words.size(); }
  std::size_t dimension() const noexcept { return store_->vectors.columns(); }
  const WordList& words() const& noexcept { return store_->words; }
  void words() const&& = delete;
  /// Returns the vectors [V x D], row-major.
  const RowMatrix& vectors() const& noexcept { return store_->vectors; }
  void vectors() const&& = delete;
  /// Returns 1 / length of each vector [V], 0 for a vector of zeros.
  std::span<const float> inverse_lengths() const& noexcept { return store_->inverse_lengths; }
  void inverse_lengths() const&& = delete;
  bool contains(std::string_view word) const noexcept { return words().find(word).has_value(); }
  std::string_view word(std::size_t id) const& noexcept { return words()[id]; }
  void word(std::size_t id) const&& = delete;
  std::span<const float> vector(std::size_t id) const& noexcept { return vectors().row(id); }
  void vector(std::size_t id) const&& = delete;
  /// Returns the vector of a word. Throws UnknownWord.
  std::span<const float> vector(std::string_view word) const& { return vector(words().at(word)); }
  void vector(std::string_view word) const&& = delete;

  /// Returns the cosine of two words by id, 0 if a vector is all zeros.
  [[nodiscard]] float similarity(WordId a, WordId b) const noexcept {
    double sum = 0;
    const auto x = vector(a), y = vector(b);
    for (std::size_t i = 0; i < x.size(); ++i)
      sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    return static_cast<float>(sum) * inverse_lengths()[a] * inverse_lengths()[b];
  }
  /// Returns the cosine of two words. Throws UnknownWord.
  [[nodiscard]] float similarity(std::string_view a, std::string_view b) const {
    return similarity(words().at(a), words().at(b));
  }

  /// Returns the k words nearest to `word` by cosine, best first, without `word` itself; all if
  /// there are fewer. Throws UnknownWord.
  [[nodiscard]] std::vector<Neighbour> most_similar(std::string_view word, std::size_t k,
                                                    QueryOptions options = {}) const {
    return nearest_to_each({words().at(word)}, k, options).front();
  }

  /// Returns the k words nearest to the sum of some words minus others, without any of these words:
  /// `most_similar({.positive = {"king", "woman"}, .negative = {"man"}}, 3)`. Throws UnknownWord,
  /// and InvalidArgument if there are no words.
  [[nodiscard]] std::vector<Neighbour> most_similar(const WordSum& sum, std::size_t k,
                                                    QueryOptions options = {}) const;

  /// Returns the nearest words of each of many words; faster than one query after the other.
  template <class Words>
  requires WordRange<const Words&>
  [[nodiscard]] std::vector<std::vector<Neighbour>> most_similar(const Words& words, std::size_t k,
                                                                 QueryOptions options = {}) const {
    return nearest_to_each(ids_of(words), k, options);
  }
  [[nodiscard]] std::vector<std::vector<Neighbour>> most_similar(
      std::initializer_list<std::string_view> words, std::size_t k,
      QueryOptions options = {}) const {
    return nearest_to_each(ids_of(words), k, options);
  }

  /// Returns the word of `words` that is least similar to the mean of all, the first of them if
  /// there are several. Throws UnknownWord, and InvalidArgument if there are no words.
  template <class Words>
  requires WordRange<const Words&>
  [[nodiscard]] std::string doesnt_match(const Words& words) const {
    return odd_one(ids_of(words));
  }
  [[nodiscard]] std::string doesnt_match(std::initializer_list<std::string_view> words) const {
    return odd_one(ids_of(words));
  }

  /// Returns the mean of the unit vectors of `words` [D], not divided by its length. Throws as
  /// doesnt_match.
  template <class Words>
  requires WordRange<const Words&>
  [[nodiscard]] std::vector<float> mean_vector(const Words& words) const {
    return mean_of(ids_of(words));
  }
  [[nodiscard]] std::vector<float> mean_vector(
      std::initializer_list<std::string_view> words) const {
    return mean_of(ids_of(words));
  }

  /// Returns embeddings with vectors of length 1; vectors of zeros stay.
  [[nodiscard]] Embeddings normalized() const {
    RowMatrix unit(size(), dimension());
    for (std::size_t i = 0; i < size(); ++i) add_unit(static_cast<WordId>(i), 1, unit.row(i));
    return Embeddings(words(), std::move(unit));
  }

  /// Returns the k words nearest to a vector [D] by cosine, best first. Throws InvalidArgument
  /// unless its length is dimension().
  [[nodiscard]] std::vector<Neighbour> most_similar(std::span<const float> vector, std::size_t k,
                                                    QueryOptions options = {}) const;

  /// Returns the k best answers to "a is to b as c is to ?", without a, b and c. Throws
  /// UnknownWord.
  [[nodiscard]] std::vector<Neighbour> analogy(std::string_view a, std::string_view b,
                                               std::string_view c, std::size_t k,
                                               AnalogyMethod method = AnalogyMethod::cos_add,
                                               QueryOptions options = {}) const {
    const Analogy ids{words().at(a), words().at(b), words().at(c)};
    return named(analogies(std::span(&ids, 1), k, method, options)).front();
  }

  /// The words a, b and c of an analogy by id.
  struct Analogy {
    WordId a, b, c;
  };

  /// Returns the k best answers to each of many analogies, by id.
  [[nodiscard]] std::vector<std::vector<NearestRow>> analogies(std::span<const Analogy> questions,
                                                               std::size_t k, AnalogyMethod method,
                                                               QueryOptions options = {}) const;

 private:
  struct Store {
    WordList words;
    RowMatrix vectors;
    std::vector<float> inverse_lengths;
  };

  /// Adds the vector of a word, divided by its length and times `sign`, to `sum` [D].
  void add_unit(WordId id, float sign, std::span<float> sum) const noexcept {
    const float scale = inverse_lengths()[id] * sign;
    const auto row = vector(id);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += row[i] * scale;
  }

  static void normalize(std::span<float> vector) noexcept {
    const double scale = detail::inverse_length(vector);
    for (float& x : vector) x = static_cast<float>(static_cast<double>(x) * scale);
  }

  template <class Words>
  std::vector<WordId> ids_of(const Words& words) const {
    std::vector<WordId> ids;
    for (const auto& word : words) ids.push_back(store_->words.at(word));
    return ids;
  }
  static void require_words(const std::vector<WordId>& ids) {
    if (ids.empty()) throw InvalidArgument("a query needs at least one word");
  }

  std::vector<float> mean_of(const std::vector<WordId>& ids) const {
    require_words(ids);
    std::vector<float> mean(dimension());
    for (const WordId id : ids) add_unit(id, 1.0f / static_cast<float>(ids.size()), mean);
    return mean;
  }

  std::string odd_one(const std::vector<WordId>& ids) const {
    const std::vector<float> mean = mean_of(ids);
    const auto score = [&](WordId id) {
      double sum = 0;
      for (std::size_t i = 0; i < mean.size(); ++i)
        sum += static_cast<double>(mean[i]) * static_cast<double>(vector(id)[i]);
      return sum * static_cast<double>(inverse_lengths()[id]);
    };
    return std::string(word(*std::min_element(
        ids.begin(), ids.end(), [&](WordId a, WordId b) { return score(a) < score(b); })));
  }

  std::vector<std::vector<Neighbour>> nearest_to_each(const std::vector<WordId>& ids, std::size_t k,
                                                      QueryOptions options) const;

  template <class Score, class Skip>
  std::vector<std::vector<NearestRow>> nearest_rows(const RowMatrix& questions, std::size_t each,
                                                    std::size_t k, const Score& score,
                                                    const Skip& skip, QueryOptions options) const {
    const std::size_t first = options.restrict_vocabulary;
    return detail::nearest_rows(vectors(), inverse_lengths(),
                                first == 0 ? size() : std::min(first, size()), questions, each, k,
                                score, skip, options.threads);
  }

  template <class Skip>
  std::vector<std::vector<Neighbour>> nearest(const RowMatrix& questions, std::size_t k,
                                              QueryOptions options, const Skip& skip) const {
    return named(nearest_rows(questions, 1, k, detail::cosine_score, skip, options));
  }

  std::vector<std::vector<Neighbour>> named(
      const std::vector<std::vector<NearestRow>>& found) const {
    std::vector<std::vector<Neighbour>> result(found.size());
    for (std::size_t q = 0; q < found.size(); ++q)
      for (const NearestRow& nearest : found[q])
        result[q].push_back({std::string(word(nearest.row)), nearest.score});
    return result;
  }

  std::shared_ptr<const Store> store_;
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION Embeddings::Embeddings(WordList words, RowMatrix vectors) {
  if (words.size() != vectors.rows())
    throw InvalidArgument{"embeddings need one vector for each word, got ", words.size(),
                          " words and ", vectors.rows(), " vectors"};
  if (vectors.rows() == 0 || vectors.columns() == 0)
    throw InvalidArgument{"embeddings need at least one word and one dimension, got ",
                          vectors.rows(), " x ", vectors.columns()};
  auto inverse = detail::inverse_lengths(vectors);
  store_ = std::make_shared<const Store>(
      Store{std::move(words), std::move(vectors), std::move(inverse)});
}

WORDLOOM_FUNCTION std::vector<Neighbour> Embeddings::most_similar(const WordSum& sum, std::size_t k,
                                                                  QueryOptions options) const {
  std::vector<WordId> ids = ids_of(sum.positive);
  RowMatrix question(1, dimension());
  for (const WordId id : ids) add_unit(id, 1, question.row(0));
  for (const WordId id : ids_of(sum.negative)) {
    add_unit(id, -1, question.row(0));
    ids.push_back(id);
  }
  require_words(ids);
  normalize(question.row(0));
  return nearest(question, k, options,
                 [&](std::size_t, std::size_t row) {
                   return std::find(ids.begin(), ids.end(), row) != ids.end();
                 })
      .front();
}

WORDLOOM_FUNCTION std::vector<Neighbour> Embeddings::most_similar(std::span<const float> vector,
                                                                  std::size_t k,
                                                                  QueryOptions options) const {
  if (vector.size() != dimension())
    throw InvalidArgument{"the vector has ", vector.size(), " numbers, the embeddings ",
                          dimension()};
  RowMatrix question(1, dimension());
  std::copy(vector.begin(), vector.end(), question.row_data(0));
  normalize(question.row(0));
  return nearest(question, k, options, [](std::size_t, std::size_t) { return false; }).front();
}

WORDLOOM_FUNCTION std::vector<std::vector<NearestRow>> Embeddings::analogies(
    std::span<const Analogy> questions, std::size_t k, AnalogyMethod method,
    QueryOptions options) const {
  const auto skip = [&](std::size_t q, std::size_t row) {
    return row == questions[q].a || row == questions[q].b || row == questions[q].c;
  };
  const bool add = method == AnalogyMethod::cos_add;
  const std::size_t each = add ? 1 : 3;
  RowMatrix vectors(questions.size() * each, dimension());
  for (std::size_t q = 0; q < questions.size(); ++q) {
    const auto [a, b, c] = questions[q];
    add_unit(a, add ? -1.0f : 1.0f, vectors.row(q * each));
    add_unit(b, 1, vectors.row(q * each + (add ? 0 : 1)));
    add_unit(c, 1, vectors.row(q * each + (add ? 0 : 2)));
    if (add) normalize(vectors.row(q));
  }
  return nearest_rows(vectors, each, k, add ? detail::cosine_score : detail::cos_mul_score, skip,
                      options);
}

WORDLOOM_FUNCTION std::vector<std::vector<Neighbour>> Embeddings::nearest_to_each(
    const std::vector<WordId>& ids, std::size_t k, QueryOptions options) const {
  RowMatrix questions(ids.size(), dimension());
  for (std::size_t i = 0; i < ids.size(); ++i) add_unit(ids[i], 1, questions.row(i));
  return nearest(questions, k, options,
                 [&](std::size_t q, std::size_t row) { return row == ids[q]; });
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
