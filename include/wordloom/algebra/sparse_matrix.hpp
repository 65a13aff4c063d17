#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/algebra/detail/blocks.hpp>
#include <wordloom/algebra/detail/row_products.hpp>
#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/detail/random_reads.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/graph/graph.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// A sparse matrix [rows x columns] as compressed sparse rows: 8 bytes for each row, 4 for each
/// entry and 4 for its value, unless all values are 1. Immutable; copies share the arrays and are
/// cheap; all members are thread-safe. Spans are valid as long as any copy.
class SparseMatrix {
 public:
  /// Makes a matrix of copies of these arrays. ends [rows]: the end of each row in `row_columns`
  /// [entries], the columns of the entries, in any order within a row. values [entries]: empty for
  /// all 1. Throws InvalidArgument for ends that fall or do not fit, a column that is not below
  /// `columns`, and a value that is not finite.
  SparseMatrix(std::vector<std::uint64_t> ends, std::vector<std::uint32_t> row_columns,
               std::vector<float> values, std::size_t columns);

  /// Returns the adjacency matrix of a graph, with its weights. It shares the graph's arrays.
  [[nodiscard]] static SparseMatrix of(const Graph& graph) {
    const detail::GraphRows& rows = graph.rows();
    return {rows.ends, rows.neighbours, rows.weights, rows.nodes(), rows.memory};
  }

  std::size_t rows() const noexcept { return ends_.size(); }
  std::size_t columns() const noexcept { return columns_; }
  std::uint64_t entry_count() const noexcept { return row_columns_.size(); }
  /// Returns the columns of the entries of row i.
  std::span<const std::uint32_t> row(std::size_t i) const& noexcept {
    return row_columns_.subspan(begin(i), ends_[i] - begin(i));
  }
  void row(std::size_t) const&& = delete;
  /// Returns the values of the entries of row i; empty if all are 1.
  std::span<const float> values(std::size_t i) const& noexcept {
    if (values_.empty()) return {};
    return values_.subspan(begin(i), ends_[i] - begin(i));
  }
  void values(std::size_t) const&& = delete;

  /// Returns this matrix times x [columns x D], a matrix [rows x D]. Any number of threads gives
  /// the same bits (on the same instruction set). threads: up to 65536; 0: as many as are worth
  /// starting. Throws InvalidArgument unless x has a row for each column.
  [[nodiscard]] RowMatrix multiply(const RowMatrix& x, std::size_t threads = 0) const {
    RowMatrix y(rows(), x.columns());
    multiply_into(y, x, threads);
    return y;
  }
  /// Writes the product to y [rows x D], which must not share memory with x.
  void multiply_into(RowMatrix& y, const RowMatrix& x, std::size_t threads = 0) const;

  /// Returns the transposed matrix [columns x rows], with arrays of its own.
  [[nodiscard]] SparseMatrix transposed() const;

  /// Returns a matrix with the same entries and values [entries] of its own, which value(row,
  /// column, old value) computes; called by all threads.
  template <class Value>
  [[nodiscard]] SparseMatrix with_values(Value&& value, std::size_t threads = 0) const;

  /// Returns the sum of the values of each row [rows].
  [[nodiscard]] std::vector<double> row_sums() const;

  /// Returns the arguments of a product with x and y of this stride, for code that adds to it.
  simd::SparseProduct product(const RowMatrix& x, RowMatrix& y) const& noexcept {
    return {.ends = ends_.data(),
            .columns = row_columns_.data(),
            .values = values_.empty() ? nullptr : values_.data(),
            .rows = rows(),
            .x = x.data(),
            .y = y.data(),
            .stride = x.stride()};
  }
  void product(const RowMatrix&, RowMatrix&) const&& = delete;
  /// Computes a product by all threads.
  static void run(const simd::SparseProduct& product, std::size_t threads);

 private:
  struct Memory {
    std::vector<std::uint64_t> ends;
    std::vector<std::uint32_t> columns;
    std::vector<float> values;
  };

  SparseMatrix(std::span<const std::uint64_t> ends, std::span<const std::uint32_t> row_columns,
               std::span<const float> values, std::size_t columns,
               std::shared_ptr<const void> memory)
      : ends_(ends),
        row_columns_(row_columns),
        values_(values),
        columns_(columns),
        memory_(std::move(memory)) {}

  SparseMatrix(Memory arrays, std::size_t columns) : columns_(columns) {
    const auto kept = std::make_shared<const Memory>(std::move(arrays));
    ends_ = kept->ends;
    row_columns_ = kept->columns;
    values_ = kept->values;
    memory_ = kept;
  }

  std::uint64_t begin(std::size_t i) const noexcept { return i == 0 ? 0 : ends_[i - 1]; }

  std::span<const std::uint64_t> ends_;
  std::span<const std::uint32_t> row_columns_;
  std::span<const float> values_;
  std::size_t columns_;
  std::shared_ptr<const void> memory_;  // holds the arrays
};

template <class Value>
SparseMatrix SparseMatrix::with_values(Value&& value, std::size_t threads) const {
  // The values keep the arrays of this matrix alive.
  struct Kept {
    std::shared_ptr<const void> memory;
    std::vector<float> values;
  };
  const auto kept = std::make_shared<Kept>(Kept{memory_, {}});
  detail::resize_for_random_reads(kept->values, row_columns_.size());
  detail::for_blocks(rows(), detail::row_block, detail::threads_for(entry_count() * 8, threads),
                     [&](std::size_t, std::size_t first, std::size_t last) {
                       for (std::size_t i = first; i < last; ++i)
                         for (std::uint64_t e = begin(i); e < ends_[i]; ++e)
                           kept->values[e] =
                               value(i, row_columns_[e], values_.empty() ? 1.0f : values_[e]);
                     });
  const std::span<const float> values = kept->values;
  return {ends_, row_columns_, values, columns_, kept};
}

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION SparseMatrix::SparseMatrix(std::vector<std::uint64_t> ends,
                                             std::vector<std::uint32_t> row_columns,
                                             std::vector<float> values, std::size_t columns)
    : SparseMatrix(Memory{std::move(ends), std::move(row_columns), std::move(values)}, columns) {
  for (std::size_t i = 0; i < ends_.size(); ++i)
    if (ends_[i] < begin(i) || ends_[i] > row_columns_.size())
      throw InvalidArgument{"row ",
                            i,
                            " of a sparse matrix ends at entry ",
                            ends_[i],
                            " of ",
                            row_columns_.size(),
                            ": ends must not fall"};
  if ((ends_.empty() ? 0 : ends_.back()) != row_columns_.size())
    throw InvalidArgument{"the rows of a sparse matrix end before its ", row_columns_.size(),
                          " entries"};
  if (!values_.empty() && values_.size() != row_columns_.size())
    throw InvalidArgument{"a sparse matrix has ", row_columns_.size(), " entries and ",
                          values_.size(), " values"};
  for (const std::uint32_t column : row_columns_)
    if (column >= columns_)
      throw InvalidArgument{"an entry of a sparse matrix is in column ", column, " of ", columns_};
  for (const float value : values_)
    if (!detail::is_finite(value))
      throw InvalidArgument("a value of a sparse matrix is not finite");
}

WORDLOOM_FUNCTION void SparseMatrix::multiply_into(RowMatrix& y, const RowMatrix& x,
                                                   std::size_t threads) const {
  if (x.rows() != columns_)
    throw InvalidArgument{"a sparse matrix of ", columns_, " columns cannot be multiplied by ",
                          x.rows(), " rows"};
  if (y.rows() != rows() || y.columns() != x.columns())
    throw InvalidArgument{"a product is [", rows(), " x ",       x.columns(), "], its matrix [",
                          y.rows(),         " x ",  y.columns(), "]"};
  if (x.data() == y.data() && rows() != 0)
    throw InvalidArgument("a sparse product cannot replace the matrix that is multiplied");
  run(product(x, y), threads);
}

WORDLOOM_FUNCTION void SparseMatrix::run(const simd::SparseProduct& product, std::size_t threads) {
  const auto sparse = simd::row_product_functions().sparse;
  const std::size_t entries = product.rows == 0 ? 0 : product.ends[product.rows - 1];
  threads = detail::threads_for((entries + product.rows) * product.stride, threads);
  // Rows are computed alone: blocks for many threads are small, because hubs come first.
  const std::size_t block =
      std::clamp<std::size_t>(product.rows / (threads * 64), 1, detail::row_block);
  detail::for_blocks(
      product.rows, block, threads,
      [&](std::size_t, std::size_t first, std::size_t last) { sparse(product, first, last); });
}

WORDLOOM_FUNCTION SparseMatrix SparseMatrix::transposed() const {
  Memory turned;
  detail::resize_for_random_reads(turned.ends, columns_);
  for (const std::uint32_t column : row_columns_) ++turned.ends[column];
  std::partial_sum(turned.ends.begin(), turned.ends.end(), turned.ends.begin());
  detail::resize_for_random_reads(turned.columns, row_columns_.size());
  if (!values_.empty()) detail::resize_for_random_reads(turned.values, values_.size());
  // Backwards, so that the ends become beginnings and columns ascend within a row.
  for (std::size_t i = rows(); i-- > 0;)
    for (std::uint64_t e = ends_[i]; e-- > begin(i);) {
      const std::uint64_t at = --turned.ends[row_columns_[e]];
      turned.columns[at] = static_cast<std::uint32_t>(i);
      if (!values_.empty()) turned.values[at] = values_[e];
    }
  for (std::size_t i = 0; i + 1 < columns_; ++i) turned.ends[i] = turned.ends[i + 1];
  if (columns_ != 0) turned.ends.back() = row_columns_.size();
  return SparseMatrix(std::move(turned), rows());
}

WORDLOOM_FUNCTION std::vector<double> SparseMatrix::row_sums() const {
  std::vector<double> sums(rows());
  for (std::size_t i = 0; i < rows(); ++i)
    sums[i] = values_.empty() ? static_cast<double>(row(i).size())
                              : std::accumulate(values(i).begin(), values(i).end(), 0.0);
  return sums;
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
