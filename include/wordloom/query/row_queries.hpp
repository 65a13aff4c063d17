#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/query/nearest_rows.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Words a, b and c of an analogy by id.
struct AnalogyIds {
  WordId a, b, c;
};

/// Queries of words by id. Thread-safe. Functions throw InvalidArgument where there are no words.
struct RowQueries {
  using Ids = std::vector<WordId>;
  using Nearest = std::vector<NearestRow>;  // best first

  const RowMatrix& vectors;                // [V x D]
  std::span<const float> inverse_lengths;  // [V] 0 for a vector of zeros

  /// Adds the vector of a word, divided by its length and times `sign`, to `sum` [D].
  void add_unit(WordId id, float sign, std::span<float> sum) const noexcept {
    const float scale = inverse_lengths[id] * sign;
    const auto row = vectors.row(id);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += row[i] * scale;
  }

  float cosine(WordId a, WordId b) const noexcept {
    return cosine_of(vectors.row(a), vectors.row(b), inverse_lengths[a], inverse_lengths[b]);
  }
  /// Returns the cosine of the means of the vectors, as they are, of two lists of words.
  float cosine_of_means(const Ids& a, const Ids& b) const;
  /// Returns the cosines of all words [V] with a vector [D].
  std::vector<float> cosines(std::span<const float> vector) const;
  /// Returns the words nearer to `a` than `b` is, ascending.
  Ids closer_than(WordId a, WordId b) const;

  /// Returns the mean of the unit vectors [D].
  std::vector<float> mean(const Ids& ids) const;
  /// Returns the word that is least similar to the mean of all, the first of them if several are.
  WordId odd_one(const Ids& ids) const;

  /// Returns the k words nearest to a vector [D], without those left out.
  Nearest nearest_to(std::span<const float> vector, const Ids& without, std::size_t k,
                     QueryOptions options) const;
  Nearest nearest_to_sum(const Ids& positive, const Ids& negative, std::size_t k,
                         QueryOptions options) const;
  Nearest nearest_by_product(const Ids& positive, const Ids& negative, std::size_t k,
                             QueryOptions options) const;
  std::vector<Nearest> nearest_to_each(const Ids& ids, std::size_t k, QueryOptions options) const;
  /// Returns the k best answers to each analogy. a, b and c are left out.
  std::vector<Nearest> analogies(std::span<const AnalogyIds> questions, std::size_t k,
                                 AnalogyMethod method, QueryOptions options) const;

 private:
  static void require_words(const Ids& ids) {
    if (ids.empty()) throw InvalidArgument("a query needs at least one word");
  }
  static Ids joined(Ids ids, const Ids& more) {
    ids.insert(ids.end(), more.begin(), more.end());
    return ids;
  }
  static bool contains(const Ids& ids, std::size_t row) {
    return std::find(ids.begin(), ids.end(), row) != ids.end();
  }
  static RowMatrix question_of(std::span<const float> vector) {
    check_question(vector);
    RowMatrix question(1, vector.size());
    std::copy(vector.begin(), vector.end(), question.row_data(0));
    scale_to_unit(question.row(0));
    return question;
  }

  template <class Score, class Skip>
  std::vector<Nearest> search(const RowMatrix& questions, std::size_t each, std::size_t k,
                              const Score& score, const Skip& skip, QueryOptions options) const {
    const std::size_t first = options.restrict_vocabulary, size = vectors.rows();
    return nearest_rows(MatrixCosines(vectors, inverse_lengths),
                        first == 0 ? size : (std::min)(first, size), questions, each, k, score,
                        skip, options.threads);
  }
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION float RowQueries::cosine_of_means(const Ids& a, const Ids& b) const {
  const auto sum_of = [&](const Ids& ids) {
    require_words(ids);
    std::vector<float> sum(vectors.columns());
    for (const WordId id : ids)
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += vectors.row(id)[i];
    return sum;
  };
  const std::vector<float> x = sum_of(a), y = sum_of(b);
  return static_cast<float>(dot_in_double(x, y) * inverse_length(x) * inverse_length(y));
}

WORDLOOM_FUNCTION std::vector<float> RowQueries::cosines(std::span<const float> vector) const {
  const RowMatrix question = question_of(vector);
  std::vector<float> result(vectors.rows());
  simd::dot_product_function()({.questions = question.data(),
                                .question_count = 1,
                                .rows = vectors.data(),
                                .row_count = result.size(),
                                .stride = vectors.stride(),
                                .scales = inverse_lengths.data(),
                                .products = result.data(),
                                .to_next = result.size()});
  return result;
}

WORDLOOM_FUNCTION RowQueries::Ids RowQueries::closer_than(WordId a, WordId b) const {
  const std::vector<float> all = cosines(vectors.row(a));
  Ids closer;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i] > all[b] && i != a) closer.push_back(static_cast<WordId>(i));
  return closer;
}

WORDLOOM_FUNCTION std::vector<float> RowQueries::mean(const Ids& ids) const {
  require_words(ids);
  std::vector<float> result(vectors.columns());
  for (const WordId id : ids) add_unit(id, 1.0f / static_cast<float>(ids.size()), result);
  return result;
}

WORDLOOM_FUNCTION WordId RowQueries::odd_one(const Ids& ids) const {
  const std::vector<float> center = mean(ids);
  const auto score = [&](WordId id) {
    return dot_in_double(center, vectors.row(id)) * static_cast<double>(inverse_lengths[id]);
  };
  return *std::min_element(ids.begin(), ids.end(),
                           [&](WordId a, WordId b) { return score(a) < score(b); });
}

WORDLOOM_FUNCTION RowQueries::Nearest RowQueries::nearest_to(std::span<const float> vector,
                                                             const Ids& without, std::size_t k,
                                                             QueryOptions options) const {
  const RowMatrix question = question_of(vector);
  const auto skip = [&](std::size_t, std::size_t row) { return contains(without, row); };
  return search(question, 1, k, CosineScore(), skip, options).front();
}

WORDLOOM_FUNCTION RowQueries::Nearest RowQueries::nearest_to_sum(const Ids& positive,
                                                                 const Ids& negative, std::size_t k,
                                                                 QueryOptions options) const {
  const Ids all = joined(positive, negative);
  require_words(all);
  std::vector<float> sum(vectors.columns());
  for (std::size_t i = 0; i < all.size(); ++i) add_unit(all[i], i < positive.size() ? 1 : -1, sum);
  return nearest_to(sum, all, k, options);
}

WORDLOOM_FUNCTION RowQueries::Nearest RowQueries::nearest_by_product(const Ids& positive,
                                                                     const Ids& negative,
                                                                     std::size_t k,
                                                                     QueryOptions options) const {
  require_words(positive);
  const Ids all = joined(positive, negative);
  RowMatrix questions(all.size(), vectors.columns());
  for (std::size_t i = 0; i < all.size(); ++i) add_unit(all[i], 1, questions.row(i));
  const auto score = [&](const float* cosines) {
    float above = 1, below = 1;
    for (std::size_t i = 0; i < all.size(); ++i)
      (i < positive.size() ? above : below) *= (1.0f + cosines[i]) / 2.0f;
    return above / (below + 1e-6f);
  };
  const auto skip = [&](std::size_t, std::size_t row) { return contains(all, row); };
  return search(questions, all.size(), k, score, skip, options).front();
}

WORDLOOM_FUNCTION std::vector<RowQueries::Nearest> RowQueries::nearest_to_each(
    const Ids& ids, std::size_t k, QueryOptions options) const {
  RowMatrix questions(ids.size(), vectors.columns());
  for (std::size_t i = 0; i < ids.size(); ++i) add_unit(ids[i], 1, questions.row(i));
  const auto skip = [&](std::size_t q, std::size_t row) { return row == ids[q]; };
  return search(questions, 1, k, CosineScore(), skip, options);
}

WORDLOOM_FUNCTION std::vector<RowQueries::Nearest> RowQueries::analogies(
    std::span<const AnalogyIds> questions, std::size_t k, AnalogyMethod method,
    QueryOptions options) const {
  const auto skip = [&](std::size_t q, std::size_t row) {
    return row == questions[q].a || row == questions[q].b || row == questions[q].c;
  };
  const bool add = method == AnalogyMethod::cos_add;
  const std::size_t each = add ? 1 : 3;
  RowMatrix of_questions(questions.size() * each, vectors.columns());
  for (std::size_t q = 0; q < questions.size(); ++q) {
    const auto [a, b, c] = questions[q];
    add_unit(a, add ? -1.0f : 1.0f, of_questions.row(q * each));
    add_unit(b, 1, of_questions.row(q * each + (add ? 0 : 1)));
    add_unit(c, 1, of_questions.row(q * each + (add ? 0 : 2)));
    if (add) scale_to_unit(of_questions.row(q));
  }
  return add ? search(of_questions, each, k, CosineScore(), skip, options)
             : search(of_questions, each, k, cos_mul_score, skip, options);
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
