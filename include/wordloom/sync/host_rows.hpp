#pragma once
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sync/combine.hpp>
#include <wordloom/sync/common_direction.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/sync/row_changes.hpp>

namespace wordloom {

/// What ranks do with the rows of a model in the memory of the host: see Allreduce, which says
/// when. Holds a second model, and buffers for some thousand rows.
class HostRows {
 public:
  using Replica = Model;
  using Values = std::span<float>;

  void begin(const SyncRun& run) {
    expected_ = run.expected;
    expected_.input.resize(run.input_rows);
    expected_.output.resize(run.output_rows);
    agreed_.assign(std::max(run.input_rows, run.output_rows), 0.0f);
  }
  /// All matrices of the model.
  std::vector<Values> all(Model& model) const {
    std::vector<Values> result;
    for (const auto& [name, matrix] : model.matrices())
      result.emplace_back(matrix->data(), matrix->rows() * matrix->stride());
    return result;
  }
  /// That the model is what ranks agree on.
  void remember(const Model& model) {
    base_input_ = model.input.copy();
    base_output_ = model.output.copy();
  }
  /// That all rows have been agreed on at that progress.
  void all_agreed(double progress) {
    std::fill(agreed_.begin(), agreed_.end(), static_cast<float>(progress));
  }

  /// The changes of rows `first` to `last` of both matrices, to be summed over ranks, and with them
  /// `flag`: [items][D], then [items][2] whether each was changed and the squared norm of its
  /// change, then the flag. Items are row i of the input, then row i of the output, of those that
  /// are there, for each i.
  Values take(Model& model, std::size_t first, std::size_t last, float flag) {
    first_ = first;
    last_ = last;
    const std::size_t d = model.dimension();
    items_ = 0;
    for_each_row(model, [&](auto&&...) { ++items_; });
    changes_.resize(items_ * (d + 2) + 1);
    own_.resize(items_ * d);
    float* change = changes_.data();
    float* own = own_.data();
    float* number = change + items_ * d;
    for_each_row(model, [&](const float* row, const float* base, std::size_t, std::size_t) {
      const float square = functions_.take_change(row, base, change, own, d);
      *number++ = square > 0 ? 1.0f : 0.0f;
      *number++ = square;
      change += d;
      own += d;
    });
    *number = flag;
    return changes_;
  }

  /// After their sum: turns it into the change that all ranks add, and adds it. `rates`: the sum of
  /// learning rates of one rank's words in the whole run, as they are at that progress. Returns the
  /// sum of flags.
  template <class Combine>
  float put(Model& model, std::size_t ranks, double progress, double rates) {
    if (ranks == 1) return changes_.back();  // rows stay as they are, to the bit
    const std::size_t d = model.dimension();
    const std::array partners{detail::common_direction(base_output_, expected_.output),
                              detail::common_direction(base_input_, expected_.input)};
    float* change = changes_.data();
    const float* own = own_.data();
    const float* numbers = change + items_ * d;
    for_each_row(model, [&](float* row, float* base, std::size_t i, std::size_t matrix) {
      const double since = rates * (progress - static_cast<double>(agreed_[i]));
      const float pairs = matrix == 0 ? expected_.input[i] : expected_.output[i];
      combine_row<Combine>(change, numbers, static_cast<float>(ranks),
                           static_cast<float>(since) * pairs, partners[matrix], functions_);
      functions_.put_change(row, base, change, own, d);
      change += d;
      own += d;
      numbers += 2;
    });
    std::fill(agreed_.begin() + static_cast<std::ptrdiff_t>(first_),
              agreed_.begin() + static_cast<std::ptrdiff_t>(last_), static_cast<float>(progress));
    return changes_.back();
  }

  /// `sum` [D] of the changes of all ranks becomes what all add. `numbers`: the sums of the two
  /// that `take` adds for each row.
  template <class Combine>
  static void combine_row(float* sum, const float* numbers, float ranks, float steps,
                          const CommonDirection& partners,
                          const simd::RowChangeFunctions& functions) {
    if (numbers[0] == 0) return;
    const auto size = static_cast<std::size_t>(partners.direction.size());
    const float* const direction = partners.direction.data();
    const auto [along, square] = functions.product_and_square(sum, direction, size);
    const Gains gains = Combine::gains({ranks, numbers[0], numbers[1], square, along,
                                        steps * static_cast<float>(partners.square)});
    functions.mix(sum, gains.rest, direction, along * (gains.along - gains.rest), size);
  }

 private:
  /// Calls `use(row, base, i, matrix)` for row i of each matrix that has it.
  template <class Use>
  void for_each_row(Model& model, Use use) {
    for (std::size_t i = first_; i < last_; ++i) {
      if (i < model.input.rows())
        use(model.input.row_data(i), base_input_.row_data(i), i, std::size_t{0});
      if (i < model.output.rows())
        use(model.output.row_data(i), base_output_.row_data(i), i, std::size_t{1});
    }
  }

  simd::RowChangeFunctions functions_;
  RowMatrix base_input_, base_output_;  // what all ranks agree on
  std::vector<float> changes_, own_;    // in flight, and as they were taken
  std::size_t first_ = 0, last_ = 0, items_ = 0;
  ExpectedUpdates expected_;
  std::vector<float> agreed_;  // progress at which each row was agreed on last
};

}  // namespace wordloom
