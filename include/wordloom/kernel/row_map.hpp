#pragma once
#include <wordloom/core/types.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Maps a row to the place where a thread has it: copies of the first `count` rows are `offset`
/// rows after these, all other rows are the model's. Default-constructed: there are no copies.
struct RowMap {
  RowId count = 0, offset = 0;

  RowId operator()(RowId row) const noexcept {  // a branch could not be predicted
    return row + (offset & (RowId{0} - RowId{row < count}));
  }
};

struct RowMaps {
  RowMap input, output;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
