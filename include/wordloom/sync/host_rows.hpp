#pragma once
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sync/combine.hpp>
#include <wordloom/sync/expected_pairs.hpp>
#include <wordloom/sync/row_changes.hpp>

namespace wordloom {

/// What ranks do with the rows of a model in the memory of the host: see Allreduce, which says
/// when. Holds a second model, and buffers for some thousand rows.
class HostRows {
 public:
  using Replica = Model;
  using Values = std::span<float>;

  void begin(const Model& model, const Hyperparameters& parameters) {
    pairs_ = detail::ExpectedPairs(model.vocabulary, parameters);
    agreed_.assign(model.rows(), 0.0f);
  }
  /// All that ranks have to have alike.
  std::array<Values, 2> all(Model& model) const {
    return {whole(model.input), whole(model.output)};
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

  /// How rows `first` to `last` have changed, to be summed over ranks, and with it `flag`: [rows]
  /// [2][D] of both matrices, then [rows][2][2] whether each was changed and the squared norm of
  /// its change, then the flag.
  Values take(Model& model, std::size_t first, std::size_t last, float flag) {
    first_ = first;
    last_ = last;
    const std::size_t rows = last - first, d = model.dimension();
    changes_.resize(rows * 2 * (d + 2) + 1);
    own_.resize(rows * 2 * d);
    float* change = changes_.data();
    float* own = own_.data();
    float* number = change + rows * 2 * d;
    for_each_row(model, [&](const float* row, const float* base) {
      const float square = functions_.take_change(row, base, change, own, d);
      *number++ = square > 0 ? 1.0f : 0.0f;
      *number++ = square;
      change += d;
      own += d;
    });
    *number = flag;
    return changes_;
  }

  /// After their sum: makes of it what all ranks add, and adds it. `rates`: the sum of learning
  /// rates of one rank's words in the whole run, as they are at that progress. Returns the sum of
  /// flags.
  template <class Combine>
  float put(Model& model, std::size_t ranks, double progress, double rates) {
    if (ranks == 1) return changes_.back();  // rows stay as they are, to the bit
    const std::size_t d = model.dimension();
    combine<Combine>(static_cast<float>(ranks), progress, rates, d);
    const float* change = changes_.data();
    const float* own = own_.data();
    for_each_row(model, [&](float* row, float* base) {
      functions_.put_change(row, base, change, own, d);
      change += d;
      own += d;
    });
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
  static Values whole(RowMatrix& matrix) {
    return {matrix.data(), matrix.rows() * matrix.stride()};
  }

  template <class Combine>
  void combine(float ranks, double progress, double rates, std::size_t d) {
    const std::array partners{detail::common_direction(base_output_, pairs_.output),
                              detail::common_direction(base_input_, pairs_.input)};
    float* sum = changes_.data();
    const float* numbers = sum + (last_ - first_) * 2 * d;
    for (std::size_t i = first_; i < last_; ++i) {
      const double since = rates * (progress - static_cast<double>(agreed_[i]));
      agreed_[i] = static_cast<float>(progress);
      for (const std::size_t matrix : {std::size_t{0}, std::size_t{1}}) {
        const float pairs = matrix == 0 ? pairs_.input[i] : pairs_.output[i];
        combine_row<Combine>(sum, numbers, ranks, static_cast<float>(since) * pairs,
                             partners[matrix], functions_);
        sum += d;
        numbers += 2;
      }
    }
  }

  template <class Use>
  void for_each_row(Model& model, Use use) {
    for (std::size_t i = first_; i < last_; ++i) {
      use(model.input.row_data(i), base_input_.row_data(i));
      use(model.output.row_data(i), base_output_.row_data(i));
    }
  }

  simd::RowChangeFunctions functions_;
  RowMatrix base_input_, base_output_;  // what all ranks agree on
  std::vector<float> changes_, own_;    // in flight, and as they were taken
  std::size_t first_ = 0, last_ = 0;
  detail::ExpectedPairs pairs_;
  std::vector<float> agreed_;  // progress at which each row was agreed on last
};

}  // namespace wordloom
