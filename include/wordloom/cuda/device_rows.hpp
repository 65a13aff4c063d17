#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <wordloom/cuda/device_kernel.hpp>
#include <wordloom/cuda/row_work.hpp>
#include <wordloom/sync/common_direction.hpp>
#include <wordloom/sync/concept.hpp>

namespace wordloom::cuda {

/// The `Rows` of Allreduce for a model on a device: does there what HostRows does on the host. All
/// work is in the order of the machine: what is submitted later sees it done. Holds a second model,
/// and buffers for some thousand rows.
template <class Machine>
class DeviceRows {
  template <class T>
  using Array = typename Machine::template Array<T>;

 public:
  using Replica = DeviceReplica<Machine>;
  using Values = typename Machine::Values;

  void begin(const SyncRun& run) {
    expected_on_host_ = run.expected.input;
    expected_on_host_.resize(run.input_rows);
    expected_on_host_.insert(expected_on_host_.end(), run.expected.output.begin(),
                             run.expected.output.end());
    expected_on_host_.resize(run.input_rows + run.output_rows);
  }
  std::vector<Values> all(Replica& model) const {
    const std::size_t floats = model.rows * model.view.stride;
    return {model.machine.values(model.view.input, floats),
            model.machine.values(model.view.output, floats)};
  }
  void remember(Replica& model) {
    const std::size_t floats = model.rows * model.view.stride;
    machine_ = model.machine;
    allocate(base_, 2 * floats);
    machine_->copy(base(model).input, model.view.input, floats);
    machine_->copy(base(model).output, model.view.output, floats);
    allocate(expected_, expected_on_host_.size());
    machine_->upload(expected_, expected_on_host_);
    const std::size_t count = common_rows(model.rows);
    allocate(common_, 2 * model.view.stride + 2 * count + 4);
    allocate(agreed_, model.rows);
    all_agreed(0);
  }
  void all_agreed(double progress) {
    machine_->upload(agreed_, std::vector<float>(agreed_.size(), static_cast<float>(progress)));
  }

  Values take(Replica& model, std::size_t first, std::size_t last, float flag) {
    const std::size_t rows = last - first, stride = model.view.stride;
    const std::size_t floats = ChangesView::floats(rows, stride);
    if (changes_.size() < floats) {
      allocate(changes_, floats);
      allocate(own_, floats);
    }
    view_ = {changes_.data(), static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(rows),
             stride};
    model.machine.run(rows, TakeChange{model.view, base(model), view_, own_.data(), flag});
    return model.machine.values(changes_.data(), floats);
  }

  template <class Combine>
  float put(Replica& model, std::size_t ranks, double progress, double rates) {
    if (ranks == 1) return model.machine.read(view_.flag());  // rows stay as they are, to the bit
    const std::size_t stride = model.view.stride, count = common_rows(model.rows);
    float* const direction = common_.data();
    const CommonView common{base(model),
                            expected_.data(),
                            model.rows,
                            static_cast<std::uint32_t>(count),
                            direction,
                            direction + 2 * stride,
                            direction + 2 * stride + 2 * count};
    model.machine.run(2 * stride / 32, CommonSum{common});
    model.machine.run(2 * count, CommonPart{common});
    model.machine.run(2, CommonScale{common});
    model.machine.run(view_.count,
                      PutChange<Combine>{model.view, view_, own_.data(), common, agreed_.data(),
                                         static_cast<float>(ranks), static_cast<float>(progress),
                                         static_cast<float>(rates)});
    return model.machine.read(view_.flag());
  }

 private:
  static std::size_t common_rows(std::size_t rows) { return std::min(detail::common_rows, rows); }
  ModelView base(const Replica& model) {
    return {base_.data(), base_.data() + model.rows * model.view.stride, model.view.stride};
  }
  template <class T>
  static void allocate(Array<T>& array, std::size_t size) {
    array = {};
    array = Array<T>(size);
  }

  std::optional<Machine> machine_;
  std::vector<float> expected_on_host_;
  Array<float> base_;               // what all ranks agree on
  Array<float> changes_, own_;      // in flight, and as they were taken
  Array<float> expected_, agreed_;  // see HostRows
  Array<float> common_;             // see CommonView
  ChangesView view_{};              // of what is in flight
};

}  // namespace wordloom::cuda
