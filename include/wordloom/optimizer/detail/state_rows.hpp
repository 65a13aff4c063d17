#pragma once
#include <array>
#include <cstddef>
#include <string>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/optimizer/concept.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// A matrix of an optimizer's state, for each side: "input.NAME" and "output.NAME".
struct StateMatrix {
  const char* name;
  std::size_t columns;  // 0: as many as in the model
};

/// The rows of an optimizer's state: of the matrix "input.NAME" [R_in x columns] and of
/// "output.NAME" [R_out x columns] of a model, which are added if the model lacks them. In a model
/// of one matrix, both sides use "input.NAME". Valid as long as the model keeps its state matrices.
class StateRows {
 public:
  /// Throws InvalidArgument if the model has state of this name with another shape, and
  /// std::bad_alloc.
  StateRows(Model& model, const StateMatrix& of_side) {
    const std::string name = of_side.name;
    sides_[0] = rows_of(model.state_matrix("input." + name, model.input.rows(), of_side.columns));
    sides_[1] =
        model.has_one_matrix()
            ? sides_[0]
            : rows_of(model.state_matrix("output." + name, model.output.rows(), of_side.columns));
  }

  float* row(Model::Side side, RowId id) const noexcept {
    const Rows& rows = sides_[static_cast<std::size_t>(side)];
    return rows.first + id * rows.stride;
  }

  /// Prefetches a row (prefetch_line).
  [[gnu::always_inline]] void prefetch(Model::Side side, RowId id) const noexcept {
    constexpr std::size_t line = 16;  // floats in 64 bytes
    const float* const at = row(side, id);
    const std::size_t stride = sides_[static_cast<std::size_t>(side)].stride;
    for (std::size_t c = 0; c < stride; c += line) prefetch_line(at + c);
  }

 private:
  struct Rows {
    float* first;
    std::size_t stride;
  };
  // The rows do not move when the list of matrices grows.
  static Rows rows_of(RowMatrix& matrix) noexcept { return {matrix.data(), matrix.stride()}; }

  std::array<Rows, 2> sides_{};
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
