#pragma once
#include <algorithm>
#include <cstddef>
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

namespace wordloom::inline WORDLOOM_ABI {

/// A word that a query found, and its score.
struct Neighbour {
  std::string word;
  float score;
};

/// How an analogy a : b = c : ? is answered, with unit vectors: by the largest cos(d, b - a + c)
/// (3CosAdd, Mikolov et al. 2013c) or cos(d, b) cos(d, c) / cos(d, a) (3CosMul, Levy and Goldberg
/// 2014).
enum class AnalogyMethod { cos_add, cos_mul };

/// Words and their vectors [V x D], V and D above 0, immutable. Copies share the vectors; all
/// members are thread-safe. References, spans and views that members return are valid as long as
/// any copy of the embeddings; a temporary does not give them out. A moved-from object may only be
/// assigned to or destroyed.
///
/// Queries compare with every word, on `threads` threads; 0: on the calling thread alone when that
/// takes a few milliseconds at most, on more for more work. Their results do not depend on it.
class Embeddings {
 public:
  /// Throws InvalidArgument unless `vectors` has one row for each word, and something in each.
  Embeddings(WordList words, RowMatrix vectors) {
    if (words.size() != vectors.rows())
      throw InvalidArgument("embeddings need one vector for each word, got " +
                            std::to_string(words.size()) + " words and " +
                            std::to_string(vectors.rows()) + " vectors");
    if (vectors.rows() == 0 || vectors.columns() == 0)
      throw InvalidArgument("embeddings need at least one word and one dimension, got " +
                            std::to_string(vectors.rows()) + " x " +
                            std::to_string(vectors.columns()));
    auto inverse = detail::inverse_lengths(vectors);
    store_ = std::make_shared<const Store>(
        Store{std::move(words), std::move(vectors), std::move(inverse)});
  }

  std::size_t size() const noexcept { return store_->words.size(); }
  std::size_t dimension() const noexcept { return store_->vectors.columns(); }
  const WordList& words() const& noexcept { return store_->words; }
  void words() const&& = delete;
  /// [V x D], row-major.
  const RowMatrix& vectors() const& noexcept { return store_->vectors; }
  void vectors() const&& = delete;
  /// [V] 1 / length of each vector, 0 for a vector of zeros.
  std::span<const float> inverse_lengths() const& noexcept { return store_->inverse_lengths; }
  void inverse_lengths() const&& = delete;
  std::string_view word(std::size_t id) const& noexcept { return words()[id]; }
  void word(std::size_t id) const&& = delete;
  std::span<const float> vector(std::size_t id) const& noexcept { return vectors().row(id); }
  void vector(std::size_t id) const&& = delete;
  /// Throws UnknownWord.
  std::span<const float> vector(std::string_view word) const& { return vector(words().at(word)); }
  void vector(std::string_view word) const&& = delete;

  /// Cosine of two words by id, 0 when a vector is all zeros.
  [[nodiscard]] float similarity(WordId a, WordId b) const noexcept {
    double sum = 0;
    const auto x = vector(a), y = vector(b);
    for (std::size_t i = 0; i < x.size(); ++i)
      sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    return static_cast<float>(sum) * inverse_lengths()[a] * inverse_lengths()[b];
  }
  /// Cosine of two words. Throws UnknownWord.
  [[nodiscard]] float similarity(std::string_view a, std::string_view b) const {
    return similarity(words().at(a), words().at(b));
  }

  /// The k words nearest to `word` by cosine, best first, itself left out; all when there are
  /// fewer. Throws UnknownWord.
  [[nodiscard]] std::vector<Neighbour> most_similar(std::string_view word, std::size_t k,
                                                    std::size_t threads = 0) const {
    return most_similar(std::span(&word, 1), k, threads).front();
  }

  /// The same for many words at once, which costs less than one after the other.
  [[nodiscard]] std::vector<std::vector<Neighbour>> most_similar(
      std::span<const std::string_view> asked, std::size_t k, std::size_t threads = 0) const {
    std::vector<WordId> ids;
    for (const std::string_view word : asked) ids.push_back(words().at(word));
    RowMatrix questions(ids.size(), dimension());
    for (std::size_t i = 0; i < ids.size(); ++i) add_unit(ids[i], 1, questions.row(i));
    return nearest(questions, k, threads,
                   [&](std::size_t q, std::size_t row) { return row == ids[q]; });
  }

  /// The k words nearest to a vector [D] by cosine, best first. Throws InvalidArgument for another
  /// length than dimension().
  [[nodiscard]] std::vector<Neighbour> most_similar(std::span<const float> vector, std::size_t k,
                                                    std::size_t threads = 0) const {
    if (vector.size() != dimension())
      throw InvalidArgument("the vector has " + std::to_string(vector.size()) +
                            " numbers, the embeddings " + std::to_string(dimension()));
    RowMatrix question(1, dimension());
    std::copy(vector.begin(), vector.end(), question.row_data(0));
    normalize(question.row(0));
    return nearest(question, k, threads, [](std::size_t, std::size_t) { return false; }).front();
  }

  /// The k best answers to "a is to b as c is to ?", a, b and c left out. Throws UnknownWord.
  [[nodiscard]] std::vector<Neighbour> analogy(std::string_view a, std::string_view b,
                                               std::string_view c, std::size_t k,
                                               AnalogyMethod method = AnalogyMethod::cos_add,
                                               std::size_t threads = 0) const {
    const Analogy ids{words().at(a), words().at(b), words().at(c)};
    return named(analogies(std::span(&ids, 1), k, method, size(), threads)).front();
  }

  /// Words a, b and c of an analogy by id.
  struct Analogy {
    WordId a, b, c;
  };

  /// The k best answers to each of many analogies among the first `count` words, by id.
  [[nodiscard]] std::vector<std::vector<NearestRow>> analogies(std::span<const Analogy> asked,
                                                               std::size_t k, AnalogyMethod method,
                                                               std::size_t count,
                                                               std::size_t threads = 0) const {
    const auto skip = [&](std::size_t q, std::size_t row) {
      return row == asked[q].a || row == asked[q].b || row == asked[q].c;
    };
    const bool add = method == AnalogyMethod::cos_add;
    const std::size_t each = add ? 1 : 3;
    RowMatrix questions(asked.size() * each, dimension());
    for (std::size_t q = 0; q < asked.size(); ++q) {
      const auto [a, b, c] = asked[q];
      add_unit(a, add ? -1.0f : 1.0f, questions.row(q * each));
      add_unit(b, 1, questions.row(q * each + (add ? 0 : 1)));
      add_unit(c, 1, questions.row(q * each + (add ? 0 : 2)));
      if (add) normalize(questions.row(q));
    }
    return detail::nearest_rows(vectors(), inverse_lengths(), std::min(count, size()), questions,
                                each, k, add ? detail::cosine_score : detail::cos_mul_score, skip,
                                threads);
  }

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

  template <class Skip>
  std::vector<std::vector<Neighbour>> nearest(const RowMatrix& questions, std::size_t k,
                                              std::size_t threads, const Skip& skip) const {
    return named(detail::nearest_rows(vectors(), inverse_lengths(), size(), questions, 1, k,
                                      detail::cosine_score, skip, threads));
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

}  // namespace wordloom::inline WORDLOOM_ABI
