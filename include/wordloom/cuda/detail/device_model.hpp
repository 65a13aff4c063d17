#pragma once
#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/cuda/detail/device_matrix.hpp>
#include <wordloom/cuda/detail/row_steps.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/optimizer/concept.hpp>
#include <wordloom/optimizer/detail/state_rows.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// A matrix of a model in the memory of a machine.
struct DeviceModelMatrix {
  std::string name;
  float* data;
  std::size_t rows, row_size;
};

/// All matrices of a model on a machine, with the state of its optimizer (RowStep::state), which
/// WithOptimizer keeps under the same names on the host. Rows of the dimension are padded to the
/// stride. Not thread-safe.
template <class Machine, class Optimizer>
class DeviceModel {
 public:
  /// Adds the state to the model if it has none, and starts to copy all matrices, which must stay
  /// until the machine has been waited for. Throws DeviceError if they do not fit, and
  /// InvalidArgument if the model has state of another shape.
  DeviceModel(const Optimizer& optimizer, std::size_t stride, Model& model,
              const Machine& machine) {
    std::vector<std::string> padded{"input", "output"};
    const auto states = RowStep<Optimizer>::state(optimizer);
    for (const detail::StateMatrix& of_sides : states)
      for (const auto& [prefix, rows] :
           {std::pair("input.", model.input.rows()), std::pair("output.", model.output.rows())}) {
        const std::string name = std::string(prefix) + of_sides.name;
        model.state_matrix(name, rows, of_sides.columns);
        if (of_sides.columns == 0) padded.push_back(name);
      }
    for (const auto& [name, matrix] : model.matrices()) {
      const bool is_padded = std::ranges::find(padded, name) != padded.end();
      const std::size_t row = is_padded ? stride : matrix->columns();
      matrices_.emplace_back(*matrix, row, "the model", machine);
      all_.push_back({std::string(name), matrices_.back().data(), matrix->rows(), row});
    }
    for (const Model::Side side : {Model::Side::input, Model::Side::output}) {
      const std::string prefix = side == Model::Side::input ? "input." : "output.";
      std::size_t place = 0;
      for (const detail::StateMatrix& of_side : states)
        state_[static_cast<std::size_t>(side)].matrix[place++] = find(prefix + of_side.name);
    }
  }

  /// Returns the matrix [rows x stride] of a side, with the state of its rows.
  const DeviceModelMatrix& matrix(Model::Side side) const {
    return all_[static_cast<std::size_t>(side)];
  }
  const StateView& state(Model::Side side) const { return state_[static_cast<std::size_t>(side)]; }
  /// Returns all matrices, in the order of Model::matrices(): input and output first.
  const std::vector<DeviceModelMatrix>& all() const noexcept { return all_; }

  /// Copies all matrices back: see DeviceMatrix.
  void download(Model& model, const Machine& machine, typename Machine::Slot (&slots)[2]) {
    std::size_t place = 0;
    for (const auto& [name, matrix] : model.matrices())
      matrices_[place++].download(*matrix, machine, slots);
  }

 private:
  float* find(const std::string& name) const {
    for (const auto& matrix : all_)
      if (matrix.name == name) return matrix.data;
    return nullptr;
  }

  std::deque<DeviceMatrix<Machine>> matrices_;
  std::vector<DeviceModelMatrix> all_;
  StateView state_[2] = {};  // of both sides
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
