#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <wordloom/core/parallel.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/query/nearest_rows.hpp>

/// Products of a few vectors with many rows, a block of rows at a time.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The products of some vectors with successive rows.
struct RowBlock {
  static constexpr std::size_t max_rows = 64;

  std::size_t begin, size;  // of the rows
  const float* products;    // [vectors x max_rows] NaN behind the last row

  const float* of(std::size_t vector) const { return products + vector * max_rows; }
};

/// Writes the dot products of `vectors` [n x D], n a multiple of 4, with the rows [begin, end), at
/// most RowBlock::max_rows, times their `scales` to `products` [n x RowBlock::max_rows].
void multiply_rows(const RowMatrix& vectors, const RowMatrix& rows, std::span<const float> scales,
                   std::size_t begin, std::size_t end, float* products);

/// Returns a matrix of zeros for `count` vectors, with rows that multiply_rows needs at the end.
inline RowMatrix vectors_to_multiply(std::size_t count, std::size_t dimension) {
  return RowMatrix((count + 3) / 4 * 4, dimension);
}

/// Calls `use(thread, block)` for blocks of the first `count` rows: each thread gets its blocks in
/// ascending order. Memory: [vectors x RowBlock::max_rows] for each thread.
template <class Use>
void for_each_block(const RowMatrix& vectors, const RowMatrix& rows, std::span<const float> scales,
                    std::size_t count, std::size_t threads, const Use& use) {
  std::atomic<std::size_t> next{0};
  run_threads(threads, [&](std::size_t thread) {
    std::vector<float> products(vectors.rows() * RowBlock::max_rows,
                                std::numeric_limits<float>::quiet_NaN());
    for (std::size_t begin; (begin = next.fetch_add(RowBlock::max_rows)) < count;) {
      const std::size_t end = (std::min)(begin + RowBlock::max_rows, count);
      if (end - begin < RowBlock::max_rows)
        std::fill(products.begin(), products.end(), std::numeric_limits<float>::quiet_NaN());
      multiply_rows(vectors, rows, scales, begin, end, products.data());
      use(thread, RowBlock{begin, end - begin, products.data()});
    }
  });
}

/// The row with the highest score; of equal scores the first row, in whichever order they come.
struct BestRow {
  float score = -std::numeric_limits<float>::infinity();
  WordId row = (std::numeric_limits<WordId>::max)();  // none

  void add(float other_score, WordId other) {
    if (other_score > score || (other_score == score && other < row)) *this = {other_score, other};
  }
};

/// The best rows of some questions, as each thread finds them.
class BestRows {
 public:
  BestRows(std::size_t threads, std::size_t questions) : rows_(threads) {
    for (auto& of_thread : rows_) of_thread.resize(questions);
  }
  BestRow& at(std::size_t thread, std::size_t question) { return rows_[thread][question]; }
  BestRow best(std::size_t question) const {
    BestRow best;
    for (const auto& of_thread : rows_)
      best.add(of_thread[question].score, of_thread[question].row);
    return best;
  }

 private:
  std::vector<std::vector<BestRow>> rows_;  // [threads][questions]
};

/// Returns whether a score of a block is above `bound`; `score(i)` returns those of rows i to i
/// + 3.
template <class Score>
bool any_above(float bound, const Score& score) {
  const FourFloats bounds{bound, bound, bound, bound};
  auto is_above = score(0) > bounds;
  for (std::size_t i = 4; i < RowBlock::max_rows; i += 4) is_above |= score(i) > bounds;
  return (is_above[0] | is_above[1] | is_above[2] | is_above[3]) != 0;
}

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void multiply_rows(const RowMatrix& vectors, const RowMatrix& rows,
                                     std::span<const float> scales, std::size_t begin,
                                     std::size_t end, float* products) {
  const auto at = [](const float* p) { return *reinterpret_cast<const FourFloats*>(p); };
  const auto sum = [](FourFloats x) { return (x[0] + x[1]) + (x[2] + x[3]); };
  const std::size_t stride = rows.stride();
  for (std::size_t row = begin; row < end; row += 2) {
    const std::size_t other = (std::min)(row + 1, end - 1);
    const float *const x = rows.row_data(row), *const y = rows.row_data(other);
    for (std::size_t v = 0; v < vectors.rows(); v += 4) {
      const float* const a = vectors.row_data(v);
      const float *const b = a + stride, *const c = b + stride, *const d = c + stride;
      FourFloats ax{}, bx{}, cx{}, dx{}, ay{}, by{}, cy{}, dy{};  // eight sums fill the registers
      for (std::size_t i = 0; i < stride; i += 4) {
        const FourFloats xs = at(x + i), ys = at(y + i);
        ax += at(a + i) * xs;
        bx += at(b + i) * xs;
        cx += at(c + i) * xs;
        dx += at(d + i) * xs;
        ay += at(a + i) * ys;
        by += at(b + i) * ys;
        cy += at(c + i) * ys;
        dy += at(d + i) * ys;
      }
      float* const of_x = products + v * RowBlock::max_rows + (row - begin);
      const FourFloats* const sums[2][4] = {{&ax, &bx, &cx, &dx}, {&ay, &by, &cy, &dy}};
      for (std::size_t k = 0; k < 4; ++k) {
        of_x[k * RowBlock::max_rows] = sum(*sums[0][k]) * scales[row];
        of_x[k * RowBlock::max_rows + (other - row)] = sum(*sums[1][k]) * scales[other];
      }
    }
  }
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
