#pragma once
#include <cstddef>
#include <vector>

#include <wordloom/core/parallel.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/model/model.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// A run of a kernel that stores rows in a form of its own while it trains, see kernel/concept.hpp.
template <class Run>
concept PacksRows = requires(const Run& run, RowMatrix& matrix, std::size_t i) {
  run.pack(matrix, i, i);
  run.unpack(matrix, i, i);
};

/// Keeps the rows of a model packed from its construction on, for kernels that need that; does
/// nothing for other kernels. Its functions are called while no worker trains.
template <class Run>
class PackedRows {
 public:
  /// `threads`: the number that pack and unpack rows. Throws as run_threads() does, and
  /// std::bad_alloc.
  PackedRows(const Run& run, Model& model, std::size_t threads)
      : run_(run), model_(model), threads_(threads) {
    pack();
  }
  ~PackedRows() {
    threads_ = 1;  // others might not start
    unpack();
  }
  PackedRows(const PackedRows&) = delete;

  /// Packs the rows again for the kernel.
  void pack() {
    if constexpr (PacksRows<Run>)
      if (!packed_ && !finished_) {
        for_parts([this](auto&... part) { run_.pack(part...); });
        packed_ = true;
      }
  }
  /// Converts the rows to floats, before any other code than the workers of the kernel reads them.
  void unpack() {
    if constexpr (PacksRows<Run>)
      if (packed_) {
        for_parts([this](auto&... part) { run_.unpack(part...); });
        packed_ = false;
      }
  }
  /// Converts the rows to floats for good: pack() then does nothing.
  void unpack_for_good() {
    unpack();
    finished_ = true;
  }
  /// Converts the rows of copies of the model's matrices to floats; the rows must not have been
  /// packed or unpacked since the copies were made.
  void unpack(std::vector<NamedMatrix>& copies) const {
    if constexpr (PacksRows<Run>)
      if (packed_)
        for (NamedMatrix& copy : copies) run_.unpack(copy.matrix, 0, copy.matrix.rows());
  }

 private:
  /// Calls `use(matrix, first, last)` for all rows of both sides.
  template <class Use>
  void for_parts(Use use) {
    run_threads(threads_, [&](std::size_t thread) {
      for (RowMatrix* matrix : {&model_.input, &model_.output}) {
        const auto [first, last] = detail::part_of(matrix->rows(), thread, threads_);
        use(*matrix, first, last);
      }
    });
  }

  const Run& run_;
  Model& model_;
  std::size_t threads_;
  bool packed_ = false, finished_ = false;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
