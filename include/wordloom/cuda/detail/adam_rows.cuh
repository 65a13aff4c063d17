#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <wordloom/core/types.hpp>
#include <wordloom/cuda/detail/machine.cuh>
#include <wordloom/cuda/detail/row_steps.hpp>
#include <wordloom/encoder/detail/adam_parameter.hpp>
#include <wordloom/optimizer/detail/optimizer_steps.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// Work for a row of the parameters: a step of Adam (see wordloom::Adam), number `number` since
/// `steps` [rows] were counted.
struct AdamStep {
  float *values, *means, *squares;
  const float *gradients, *steps;
  const std::uint64_t* begins;  // [rows + 1] of the rows in the first four
  float number, rate;
  float log_of1, log_of2;  // of both betas
  simd::AdamConstants adam;

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t row) const {
    const float count = steps[row] + number;
    const float scale = rate * bias_correction(log_of1, count);
    const float root_scale = std::sqrt(bias_correction(log_of2, count));
    team.each([&](int lane) {
      for (std::uint64_t i = begins[row] + static_cast<unsigned>(lane); i < begins[row + 1];
           i += 32) {
        const float g = gradients[i];
        means[i] = adam.beta1 * means[i] + adam.rest1 * g;
        squares[i] = adam.beta2 * squares[i] + adam.rest2 * g * g;
        values[i] -= scale * means[i] / (root_scale * std::sqrt(squares[i]) + adam.epsilon);
      }
      return 0;
    });
  }
};

/// The parameters of an encoder and their state under Adam, in the memory of a device: values,
/// means and squares [P] each, and the steps of each row, in one array.
class AdamRows {
 public:
  /// Adds a row of `columns` numbers of the host.
  void add(const detail::AdamParameter::Row& row, std::size_t columns) {
    rows_.push_back(row);
    begins_.push_back(begins_.back() + columns);
  }
  /// Reserves memory for all rows. Throws DeviceError.
  void allocate(const CudaMachine& machine) {
    const std::size_t all = 3 * size() + rows_.size();
    staged_ = PinnedArray<float>(all, "the encoder");
    on_device_ = DeviceArray<float>(all, "the encoder");
    gradients_ = DeviceArray<float>(size(), "the encoder");
    begins_on_device_ = DeviceArray<std::uint64_t>(begins_.size(), "a table");
    machine.begin_copy(begins_on_device_.data(), begins_.data(), begins_.size());
  }

  /// Copies all rows from the host, asynchronously in the order of the machine's stream.
  void upload(const CudaMachine& machine) {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      for_each_part(r, [](float* here, float* of_host, std::size_t columns) {
        std::copy_n(of_host, columns, here);
      });
      staged_.data()[3 * size() + r] = *rows_[r].state.steps;
    }
    machine.begin_copy(on_device_.data(), staged_.data(), staged_.size());
  }
  /// Takes the `number`-th step since upload, with gradients of the same shape as the values.
  void step(std::size_t number, float rate, const simd::AdamConstants& adam,
            const CudaMachine& machine) const {
    machine.run(rows_.size(), AdamStep{.values = values(),
                                       .means = values() + size(),
                                       .squares = values() + 2 * size(),
                                       .gradients = gradients(),
                                       .steps = values() + 3 * size(),
                                       .begins = begins_on_device_.data(),
                                       .number = static_cast<float>(number),
                                       .rate = rate,
                                       .log_of1 = static_cast<float>(adam.log_of1),
                                       .log_of2 = static_cast<float>(adam.log_of2),
                                       .adam = adam});
  }
  void begin_download(const CudaMachine& machine) {
    machine.begin_copy(staged_.data(), values(), 3 * size());
  }
  /// Gives the host the rows that begin_download has copied, after `steps` steps.
  void end_download(std::size_t steps) {
    constexpr float last = 1 << 24;  // the host's count stops here
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      for_each_part(r, [](const float* here, float* of_host, std::size_t columns) {
        std::copy_n(here, columns, of_host);
      });
      float& count = *rows_[r].state.steps;
      count = (std::min)(last, count + static_cast<float>(steps));
    }
  }

  std::size_t size() const noexcept { return begins_.back(); }
  float* values() const noexcept { return on_device_.data(); }
  float* gradients() const noexcept { return gradients_.data(); }

 private:
  template <class Use>
  void for_each_part(std::size_t r, Use use) {
    float* const staged = staged_.data() + begins_[r];
    const std::size_t columns = begins_[r + 1] - begins_[r];
    use(staged, rows_[r].value, columns);
    use(staged + size(), rows_[r].state.mean, columns);
    use(staged + 2 * size(), rows_[r].state.square, columns);
  }

  std::vector<detail::AdamParameter::Row> rows_;
  std::vector<std::uint64_t> begins_{0};  // [rows + 1]
  PinnedArray<float> staged_;
  DeviceArray<float> on_device_, gradients_;
  DeviceArray<std::uint64_t> begins_on_device_;
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
