#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/kernel/row_map.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/block.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd {

/// Rows that later blocks need, which a kernel prefetches during its next update. The scratch
/// memory of one thread.
class RowsAhead {
 public:
  /// Makes room for the rows of two blocks; more are ignored.
  explicit RowsAhead(Block::Shape most)
      : rows_(2 * ((std::max)(most.inputs, most.members) + most.outputs)) {}

  void add(const Model& model, std::span<const RowId> inputs, std::span<const RowId> outputs,
           const detail::RowMaps& maps = {}) noexcept {
    for (const RowId id : inputs) add(model.input, maps.input(id));
    for (const RowId id : outputs) add(model.output, maps.output(id));
  }
  /// Returns all rows, valid until the next `add`, and forgets them.
  std::span<const float* const> take() noexcept { return {rows_.data(), std::exchange(count_, 0)}; }

 private:
  void add(const RowMatrix& matrix, RowId id) noexcept {
    if (count_ < rows_.size()) rows_[count_++] = matrix.row_data(id);
  }

  std::vector<const float*> rows_;
  std::size_t count_ = 0;
};

}}}  // namespace wordloom::WORDLOOM_ABI::simd
