#pragma once
#include <wordloom/core/types.hpp>

namespace wordloom::inline WORDLOOM_ABI {

/// Where a thread has the rows of a matrix: its copies of the first `count` rows lie `offset` rows
/// behind these, all other rows are the model's. Default-constructed: there are no copies.
struct RowMap {
  RowId count = 0, offset = 0;

  RowId operator()(RowId row) const noexcept {  // a branch could not be predicted
    return row + (offset & (RowId{0} - RowId{row < count}));
  }
};
struct RowMaps {
  RowMap input, output;
};

}  // namespace wordloom::inline WORDLOOM_ABI
