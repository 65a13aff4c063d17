#pragma once
#include <algorithm>
#include <cstddef>
#include <utility>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/row_matrix.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// Calls `use.operator()<R>()` for the shortest rows, of 32 R floats, that hold `dimension` floats.
/// `RowSizes`: an integer_sequence of R, ascending. Throws InvalidArgument if none is long enough.
template <class RowSizes, class Use>
void with_row_size(std::size_t dimension, Use use) {
  const auto find = [&]<int... R>(std::integer_sequence<int, R...>) {
    const bool found =
        ((dimension <= std::size_t{32} * R && (use.template operator()<R>(), true)) || ...);
    if (!found)
      check_parameter("dimension of a kernel on a device", dimension, 1, (std::max)({32 * R...}));
  };
  find(RowSizes());
}

/// Returns the length of those rows in floats.
template <class RowSizes>
std::size_t stride_of(std::size_t dimension) {
  std::size_t stride = 0;
  with_row_size<RowSizes>(dimension, [&]<int R>() { stride = std::size_t{32} * R; });
  return stride;
}

/// Copies `count` rows of `stride` floats of a machine to the first rows of a matrix of the host,
/// after all work of the machine. The memory of the slots takes them in turn: while the host reads
/// those of one slot, the machine fills the other.
template <class Machine>
void fetch_rows(RowMatrix& host, const float* rows, std::size_t count, std::size_t stride,
                const Machine& machine, typename Machine::Slot (&slots)[2]) {
  const std::size_t at_once = Machine::Slot::staged_words / stride;
  if (at_once == 0) {  // a row is longer than that memory
    machine.begin_copy_of_rows(host.data(), host.stride(), rows, stride, host.columns(), count);
    machine.wait();
    return;
  }
  const auto begin = [&](std::size_t first) {
    if (first < count)
      slots[first / at_once % 2].begin_fetch(rows + first * stride,
                                             (std::min)(at_once, count - first) * stride, machine);
  };
  begin(0);
  for (std::size_t first = 0; first < count; first += at_once) {
    begin(first + at_once);
    const float* from = slots[first / at_once % 2].fetched();
    const std::size_t end = (std::min)(first + at_once, count);
    for (std::size_t row = first; row < end; ++row, from += stride)
      std::copy_n(from, host.columns(), host.row_data(row));
  }
}

/// A matrix [rows x stride] in the memory of a machine, for a host matrix with as many rows. The
/// padding of rows is zero.
template <class Machine>
class DeviceMatrix {
 public:
  DeviceMatrix() = default;
  /// Starts to copy the matrix of the host. `what` names it in the DeviceError for a matrix that is
  /// too large.
  DeviceMatrix(const RowMatrix& host, std::size_t stride, const char* what, const Machine& machine)
      : rows_(host.rows()), stride_(stride), floats_(host.rows() * stride, what) {
    machine.clear(data(), rows_ * stride);
    machine.begin_copy_of_rows(data(), stride, host.data(), host.stride(), host.columns(), rows_);
  }
  /// Copies the matrix back to the host's: see fetch_rows.
  void download(RowMatrix& host, const Machine& machine, typename Machine::Slot (&slots)[2]) {
    if (floats_.size() != 0) fetch_rows(host, data(), rows_, stride_, machine, slots);
  }

  float* data() noexcept { return floats_.data(); }
  std::size_t rows() const noexcept { return rows_; }

 private:
  std::size_t rows_ = 0, stride_ = 0;
  typename Machine::template Array<float> floats_;
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
