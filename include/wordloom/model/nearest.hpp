#pragma once
#include <Eigen/Core>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/parallel.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>

/// Exact nearest rows by cosine, for raw matrices: what Embeddings and the evaluation ask with.
namespace wordloom {

/// A row and its score; the better one is before the other, the lower row where scores are equal.
struct NearestRow {
  WordId row;
  float score;
  friend bool operator<(const NearestRow& a, const NearestRow& b) {
    return a.score != b.score ? a.score > b.score : a.row < b.row;
  }
};

namespace detail {

using Questions = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// The k best of what is offered.
class Best {
 public:
  explicit Best(std::size_t k) : k_(k) {}
  bool wants(float score) const { return rows_.size() < k_ || score >= rows_.front().score; }
  void offer(NearestRow row) {
    if (rows_.size() == k_) {
      if (!(row < rows_.front())) return;
      std::pop_heap(rows_.begin(), rows_.end());
      rows_.pop_back();
    }
    rows_.push_back(row);
    std::push_heap(rows_.begin(), rows_.end());
  }
  void merge(const Best& other) {
    for (const NearestRow& row : other.rows_) offer(row);
  }
  std::vector<NearestRow> sorted() && {
    std::sort_heap(rows_.begin(), rows_.end());
    return std::move(rows_);
  }

 private:
  std::size_t k_;
  std::vector<NearestRow> rows_;  // a heap, the worst first
};

}  // namespace detail

/// 1 / length of each row [rows], 0 for a row of zeros.
inline std::vector<float> inverse_lengths(const RowMatrix& rows) {
  std::vector<float> result(rows.rows());
  for (std::size_t i = 0; i < result.size(); ++i) {
    double sum = 0;
    for (const float x : rows.row(i)) sum += static_cast<double>(x) * static_cast<double>(x);
    result[i] = sum > 0 ? static_cast<float>(1.0 / std::sqrt(sum)) : 0.0f;
  }
  return result;
}

/// For each question the k best of the first `count` rows, best first. A question has `vectors`
/// consecutive rows of `questions` [questions x vectors, D]; a row's score is
/// `score(cosines)`, where cosines[v] is the row's product with vector v, divided by the row's
/// length; a NaN counts as the lowest. `skip(question, row)` leaves rows out.
/// Blocks of questions and of rows go through one GEMM each, the latter shared out among `threads`
/// (0 = all); the result does not depend on their number. Memory: some MiB a thread.
template <class Score, class Skip>
std::vector<std::vector<NearestRow>> nearest_rows(
    const RowMatrix& rows, std::span<const float> inverse_lengths, std::size_t count,
    const detail::Questions& questions, std::size_t vectors, std::size_t k, const Score& score,
    const Skip& skip, std::size_t threads = 0) {
  constexpr std::size_t rows_at_once = 2048, vectors_at_once = 384;
  const auto index = [](std::size_t i) { return static_cast<Eigen::Index>(i); };
  const std::size_t total = static_cast<std::size_t>(questions.rows()) / vectors;
  const std::size_t at_once = std::max<std::size_t>(1, vectors_at_once / vectors);
  const std::size_t row_blocks = (count + rows_at_once - 1) / rows_at_once;
  threads = std::min(resolve_threads(threads), row_blocks);

  std::vector<std::vector<NearestRow>> result(total);
  if (k == 0) return result;
  for (std::size_t first = 0; first < total; first += at_once) {
    const std::size_t some = std::min(at_once, total - first);
    std::vector<std::vector<detail::Best>> best(threads);
    std::atomic<std::size_t> next_block{0};
    run_threads(threads, [&](std::size_t thread) {
      best[thread].assign(some, detail::Best(k));
      detail::Questions products;
      std::vector<float> cosines(vectors);
      for (std::size_t block; (block = next_block.fetch_add(1)) < row_blocks;) {
        const std::size_t begin = block * rows_at_once;
        const std::size_t size = std::min(rows_at_once, count - begin);
        products.noalias() = questions.middleRows(index(first * vectors), index(some * vectors)) *
                             rows.view().middleRows(index(begin), index(size)).transpose();
        for (std::size_t q = 0; q < some; ++q)
          for (std::size_t r = 0; r < size; ++r) {
            const std::size_t row = begin + r;
            for (std::size_t v = 0; v < vectors; ++v)
              cosines[v] = products(index(q * vectors + v), index(r)) * inverse_lengths[row];
            float s = score(cosines.data());
            if (std::isnan(s)) s = -std::numeric_limits<float>::infinity();
            if (!best[thread][q].wants(s) || skip(first + q, row)) continue;
            best[thread][q].offer({static_cast<WordId>(row), s});
          }
      }
    });
    for (std::size_t q = 0; q < some; ++q) {
      for (std::size_t thread = 1; thread < threads; ++thread) best[0][q].merge(best[thread][q]);
      if (threads > 0) result[first + q] = std::move(best[0][q]).sorted();
    }
  }
  return result;
}

/// Score of one vector: its cosine.
inline float cosine_score(const float* cosines) { return cosines[0]; }

/// 3CosMul (Levy and Goldberg 2014, eq. 4) of the vectors of a, b and c: cosines moved to [0, 1].
inline float cos_mul_score(const float* cosines) {
  const auto positive = [&](std::size_t v) { return (cosines[v] + 1.0f) / 2.0f; };
  return positive(1) * positive(2) / (positive(0) + 0.001f);
}

}  // namespace wordloom
