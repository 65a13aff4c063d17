#pragma once
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>
#include <queue>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/query/detail/dot_products.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// A word that a query found, and its score.
struct Neighbour {
  std::string word;
  float score;
};

/// The score of an answer d to the analogy a : b = c : d, with unit vectors: cos(d, b - a + c)
/// (3CosAdd, Mikolov et al. 2013c) or cos(d, b) cos(d, c) / cos(d, a) (3CosMul, Levy and Goldberg
/// 2014).
enum class AnalogyMethod { cos_add, cos_mul };

/// Options of all queries that search.
struct QueryOptions {
  /// Answers are among this many words from the first on, which are the most frequent; 0: all
  /// words.
  std::size_t restrict_vocabulary = 0;
  /// 0: automatic; small queries (a few milliseconds) use the calling thread alone. The answers do
  /// not depend on it.
  std::size_t threads = 0;
};

namespace detail {

/// A row and its score. The better one compares less; with equal scores, the lower row.
struct NearestRow {
  WordId row;
  float score;
  friend bool operator<(const NearestRow& a, const NearestRow& b) {
    return a.score != b.score ? a.score > b.score : a.row < b.row;
  }
};

/// Returns the dot product of two vectors of one length, as four sums that do not wait for each
/// other.
inline double dot_in_double(std::span<const float> a, std::span<const float> b) noexcept {
  double sums[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= a.size(); i += 4)  // lanes, so that the sums remain in registers
    for (std::size_t lane = 0; lane < 4; ++lane)
      sums[lane] += double{a[i + lane]} * double{b[i + lane]};
  for (; i < a.size(); ++i) sums[i % 4] += double{a[i]} * double{b[i]};
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// Returns 1 / length, 0 for a vector of zeros.
inline double inverse_length(std::span<const float> vector) {
  const double sum = dot_in_double(vector, vector);
  return sum > 0 ? 1.0 / std::sqrt(sum) : 0.0;
}

/// Throws InvalidArgument for a vector to search for that has a number that is not finite.
inline void check_question(std::span<const float> vector) {
  if (!all_finite(vector))
    throw InvalidArgument("the vector of a query has a number that is not finite");
}

/// Divides a vector by its length; zeros stay.
inline void scale_to_unit(std::span<float> vector) noexcept {
  const double scale = inverse_length(vector);
  for (float& x : vector) x = static_cast<float>(static_cast<double>(x) * scale);
}

/// Returns the cosine of two vectors, by 1 / length of each, in double: the product of long ones is
/// no float.
inline float cosine_of(std::span<const float> a, std::span<const float> b, float inverse_a,
                       float inverse_b) noexcept {
  return static_cast<float>(dot_in_double(a, b) * static_cast<double>(inverse_a) *
                            static_cast<double>(inverse_b));
}

/// Returns inverse_length of each row [rows].
inline std::vector<float> inverse_lengths(const RowMatrix& rows) {
  std::vector<float> result(rows.rows());
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = static_cast<float>(inverse_length(rows.row(i)));
  return result;
}

/// Four floats: the vector code that all processors have.
typedef float FourFloats __attribute__((vector_size(16), may_alias));

/// Returns whether one of `count` scores is above a bound; a NaN is not. At `scores`, which is
/// aligned to 16 bytes, there are floats up to a multiple of four, which may count.
inline bool any_above(float bound, const float* scores, std::size_t count) noexcept {
  const FourFloats bounds{bound, bound, bound, bound};
  decltype(FourFloats{} > bounds) is_above{};
  for (std::size_t i = 0; i < count; i += 4)
    is_above |= *reinterpret_cast<const FourFloats*>(scores + i) > bounds;
  return (is_above[0] | is_above[1] | is_above[2] | is_above[3]) != 0;
}

/// The score of a question of one vector: its cosine, which nearest_rows takes without a call.
struct CosineScore {
  float operator()(const float* cosines) const noexcept { return cosines[0]; }
};

/// The cosines of questions with the rows of a matrix, for nearest_rows.
class MatrixCosines {
 public:
  static constexpr std::size_t questions_at_once = 1024;

  MatrixCosines(const RowMatrix& rows, std::span<const float> inverse_lengths)
      : rows_(rows), inverse_lengths_(inverse_lengths) {}

  /// About 24 KiB, which stay in the fastest cache while all questions are answered.
  std::size_t rows_at_once() const noexcept {
    return std::clamp<std::size_t>(6144 / rows_.stride() / 4 * 4, 4, 64);
  }
  /// Takes `count` rows of `questions` from the first on as those that cosines() knows.
  void prepare(const RowMatrix& questions, std::size_t first, std::size_t) noexcept {
    questions_ = questions.row_data(first);
  }
  /// Writes the dot products of `count` of these questions, `to_next` floats from one to the next,
  /// with `size` rows, divided by the lengths of the rows.
  void cosines(std::size_t question, std::size_t count, std::size_t row, std::size_t size,
               float* products, std::size_t to_next) const noexcept {
    multiply_({.questions = questions_ + question * rows_.stride(),
               .question_count = count,
               .rows = rows_.row_data(row),
               .row_count = size,
               .stride = rows_.stride(),
               .scales = inverse_lengths_.data() + row,
               .products = products,
               .to_next = to_next});
  }

 private:
  const RowMatrix& rows_;
  std::span<const float> inverse_lengths_;
  const float* questions_ = nullptr;
  simd::DotProductFunction multiply_ = simd::dot_product_function();
};

/// Returns for each question the k best of the first `count` rows, best first. A question has
/// `vectors` consecutive rows of `questions` [questions x vectors, D]; the score of a row is
/// `score(cosines)`, where cosines[v] is its dot product with vector v divided by its length; a NaN
/// counts as the lowest. `rows`: MatrixCosines or a class with its members, which computes these.
/// `skip(question, row)` leaves rows out. Blocks of rows are divided among `threads`; 0: the
/// calling thread alone for small work, more for more. The result depends neither on their number
/// nor on the other questions. Memory: k rows for each of `rows.questions_at_once` questions, for
/// each thread.
template <class Rows, class Score, class Skip>
std::vector<std::vector<NearestRow>> nearest_rows(Rows rows, std::size_t count,
                                                  const RowMatrix& questions, std::size_t vectors,
                                                  std::size_t k, const Score& score,
                                                  const Skip& skip, std::size_t threads = 0) {
  constexpr std::size_t max_rows = 64;
  const std::size_t rows_at_once = rows.rows_at_once();
  // Vectors that one pass over these rows in registers can take; their products stay in the cache.
  const std::size_t together = (std::max<std::size_t>)(1, 6 / vectors);
  const std::size_t total = questions.rows() / vectors;
  const std::size_t row_blocks = (count + rows_at_once - 1) / rows_at_once;
  threads =
      (std::min)(threads_for(count * questions.rows() * questions.stride(), threads), row_blocks);

  std::vector<std::vector<NearestRow>> result(total);
  if (k == 0) return result;
  for (std::size_t first = 0; first < total; first += rows.questions_at_once) {
    const std::size_t some = (std::min)(rows.questions_at_once, total - first);
    rows.prepare(questions, first * vectors, some * vectors);
    // [threads][questions] up to k rows each, the worst on top
    std::vector<std::vector<std::priority_queue<NearestRow>>> best(threads);
    std::atomic<std::size_t> next_block{0};
    run_threads(threads, [&](std::size_t thread) {
      best[thread].resize(some);
      std::vector<float> cosines(vectors), products(together * vectors * max_rows);
      alignas(16) float scored[max_rows] = {};
      for (std::size_t block; (block = next_block.fetch_add(1)) < row_blocks;) {
        const std::size_t begin = block * rows_at_once;
        const std::size_t size = (std::min)(rows_at_once, count - begin);
        for (std::size_t q = 0; q < some; ++q) {
          const std::size_t in_pass = q % together;
          if (in_pass == 0)
            rows.cosines(q * vectors, (std::min)(together, some - q) * vectors, begin, size,
                         products.data(), max_rows);
          const float* const of_question = products.data() + in_pass * vectors * max_rows;
          auto& found = best[thread][q];
          const float* scores = of_question;
          if constexpr (!std::is_same_v<Score, CosineScore>) {
            for (std::size_t i = 0; i < size; ++i) {
              for (std::size_t v = 0; v < vectors; ++v) cosines[v] = of_question[v * max_rows + i];
              scored[i] = score(cosines.data());
            }
            scores = scored;
          }
          // A row with the score of the worst one is no better: rows come in ascending order.
          if (found.size() == k && !any_above(found.top().score, scores, size)) continue;
          for (std::size_t i = 0; i < size; ++i) {
            float s = scores[i];
            if (is_nan(s)) s = -std::numeric_limits<float>::infinity();
            const NearestRow candidate{static_cast<WordId>(begin + i), s};
            if (found.size() == k && !(candidate < found.top())) continue;
            if (skip(first + q, begin + i)) continue;
            if (found.size() == k) found.pop();
            found.push(candidate);
          }
        }
      }
    });
    for (std::size_t q = 0; q < some; ++q) {
      auto& all = result[first + q];
      for (auto& of_thread : best)
        for (auto& found = of_thread[q]; !found.empty(); found.pop()) all.push_back(found.top());
      std::sort(all.begin(), all.end());
      all.resize((std::min)(all.size(), k));
    }
  }
  return result;
}

/// Returns 3CosMul (Levy and Goldberg 2014, eq. 4) for the vectors of a, b and c, with cosines
/// moved to [0, 1].
inline float cos_mul_score(const float* cosines) {
  const auto positive = [&](std::size_t v) { return (cosines[v] + 1.0f) / 2.0f; };
  return positive(1) * positive(2) / (positive(0) + 0.001f);
}

}  // namespace detail
}}  // namespace wordloom::WORDLOOM_ABI
