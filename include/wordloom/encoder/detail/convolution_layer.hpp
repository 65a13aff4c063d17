#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/encoder/detail/adam_parameter.hpp>
#include <wordloom/encoder/detail/matrix_product.hpp>
#include <wordloom/encoder/detail/max_over_time.hpp>
#include <wordloom/encoder/detail/word_symbols.hpp>
#include <wordloom/optimizer/detail/optimizer_steps.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Sequences of symbols become features: embeddings [C] of the symbols, F filters of each of
/// several successive widths, and for each filter its maximum over the sequence, through ReLU, or
/// its first windows, each of them. The features of a sequence are [widths x F], or [widths x
/// positions x F], those of the narrowest filters first.
///
/// A gradient visits one window for each filter, which is why it is added by rows rather than by a
/// matrix product; products then lead from the tables of all symbols (ConvolutionTable) to filters
/// and embeddings. Threads may call a function at once for different sequences, parts or windows;
/// not different functions.
class ConvolutionLayer {
 public:
  /// `embeddings` [any x C], whose rows `alphabet` are the symbols; `filters` [width x C x F] by
  /// width, from `min_width` on; `biases` [widths x F]; `positions`: of windows that are features,
  /// 0: the maximum.
  ConvolutionLayer(AdamParameter embeddings, std::vector<AdamParameter> filters,
                   AdamParameter biases, std::size_t min_width, std::size_t positions,
                   std::vector<std::uint32_t> alphabet)
      : embeddings_(std::move(embeddings)),
        filters_(std::move(filters)),
        biases_(std::move(biases)),
        min_width_(min_width),
        positions_(positions),
        alphabet_(std::move(alphabet)),
        symbols_(alphabet_.size(), embeddings_.value().columns()),
        bias_gradient_(biases_.value().rows(), biases_.value().columns()) {
    for (std::size_t i = 0; i < filters_.size(); ++i) {
      const std::size_t width = min_width_ + i;
      tables_.emplace_back(width * alphabet_.size(), filter_count());
      table_gradients_.emplace_back(width * alphabet_.size(), filter_count());
      filter_gradients_.emplace_back(filters_[i].value().rows(), filter_count());
      for (std::size_t k = 0; k < width; ++k) {
        windows_.push_back({i, k});
        symbol_gradients_.emplace_back(symbols_.rows(), symbols_.columns());
      }
    }
    read_parameters();
  }

  /// Makes the tables anew, where others may have changed the parameters.
  void read_parameters() noexcept {
    copy_symbols();
    for (std::size_t window = 0; window < windows(); ++window) make_table(window);
  }

  std::size_t features() const noexcept { return filters_.size() * features_of_width(); }

  /// Writes the features of a sequence, and the places of the largest windows, if these are the
  /// features; both [features()].
  void forward(Symbols symbols, float* features, std::int32_t* places) const noexcept {
    for (std::size_t i = 0; i < filters_.size(); ++i) {
      const float* const bias = biases_.value().row_data(i);
      float* const to = features + i * features_of_width();
      if (positions_ > 0)
        functions_.all_windows(table(i), symbols.data(), symbols.size(), bias, positions_, to);
      else
        functions_.max_over_time(table(i), symbols.data(), symbols.size(), bias, to,
                                 places + i * filter_count());
    }
  }

  /// Sets the gradients [size] of features that ReLU has cut off to zero.
  void backward(const float* features, float* gradients, std::size_t size) const noexcept {
    functions_.pass_positive(features, gradients, size);
  }

  // A step calls the following functions in this order, each for all of its parts.

  std::size_t parts() const noexcept { return filters_.size() * filter_count() / filters_at_once; }
  /// Computes the gradients of the tables and biases of some filters. `places` and `gradients`
  /// [sequences x features()] are those of forward and backward.
  void gather(std::size_t part, std::span<const Symbols> sequences, const std::int32_t* places,
              const RowMatrix& gradients) noexcept {
    const std::size_t begin = part * filters_at_once;
    const std::size_t i = begin / filter_count(), first = begin % filter_count();
    const std::size_t last = first + filters_at_once;
    RowMatrix& table_gradient = table_gradients_[i];
    for (std::size_t row = 0; row < table_gradient.rows(); ++row)
      std::fill_n(table_gradient.row_data(row) + first, filters_at_once, 0.0f);
    float* const bias = bias_gradient_.row_data(i);
    std::fill_n(bias + first, filters_at_once, 0.0f);
    for (std::size_t b = 0; b < sequences.size(); ++b) {
      const float* const gradient = gradients.row_data(b) + i * features_of_width();
      if (positions_ > 0)
        simd::scatter_all(table_gradient.data(), table(i), sequences[b], positions_, gradient,
                          first, last);
      else
        simd::scatter_max(table_gradient.data(), table(i), sequences[b],
                          places + b * features() + i * filter_count(), gradient, first, last);
      for (std::size_t h = 0; h < features_of_width(); h += filter_count())
        for (std::size_t f = first; f < last; ++f) bias[f] += gradient[h + f];
    }
  }

  /// Returns the number of pairs of a width and a place in a window of it.
  std::size_t windows() const noexcept { return windows_.size(); }
  void step_filters(std::size_t window, float rate) noexcept {
    const auto [i, k] = windows_[window];
    const ConstFloats gradient = rows_of(table_gradients_[i], k, symbols_.rows());
    multiply(1, transposed(symbols_), gradient, 0,
             Floats(filter_gradients_[i]).some_rows(k * symbols_.columns(), symbols_.columns()));
    multiply(1, gradient, transposed(filters_of(window)), 0, Floats(symbol_gradients_[window]));
    filters_[i].step(k * symbols_.columns(), symbols_.columns(), filter_gradients_[i], rate);
    if (k == 0) biases_.step(i, 1, bias_gradient_, rate);
  }
  void step_embeddings(float rate) noexcept {
    RowMatrix& sum = symbol_gradients_[0];
    for (std::size_t row = 0; row < sum.rows(); ++row) {
      for (std::size_t window = 1; window < windows(); ++window)
        optimizer_.sgd(sum.row_data(row), symbol_gradients_[window].row_data(row), sum.stride(),
                       1.0f);
      embeddings_.step(alphabet_[row], sum.row_data(row), rate);
    }
    copy_symbols();
  }
  void make_table(std::size_t window) noexcept {
    const auto [i, k] = windows_[window];
    multiply(1, ConstFloats(symbols_), filters_of(window), 0,
             Floats(tables_[i]).some_rows(k * symbols_.rows(), symbols_.rows()));
  }

 private:
  static constexpr std::size_t filters_at_once = 16;  // a cache line of floats

  struct Window {
    std::size_t width;  // less min_width_
    std::size_t place;
  };

  std::size_t filter_count() const noexcept { return biases_.value().columns(); }
  std::size_t features_of_width() const noexcept {
    return (std::max)(positions_, std::size_t{1}) * filter_count();
  }
  simd::ConvolutionTable table(std::size_t i) const noexcept {
    return {tables_[i].data(), alphabet_.size(), min_width_ + i, filter_count()};
  }
  static ConstFloats rows_of(const RowMatrix& matrix, std::size_t part,
                             std::size_t count) noexcept {
    return ConstFloats(matrix).some_rows(part * count, count);
  }
  ConstFloats filters_of(std::size_t window) const noexcept {
    const auto [i, k] = windows_[window];
    return rows_of(filters_[i].value(), k, symbols_.columns());
  }
  void copy_symbols() noexcept {
    for (std::size_t row = 0; row < alphabet_.size(); ++row)
      std::copy_n(embeddings_.value().row_data(alphabet_[row]), symbols_.stride(),
                  symbols_.row_data(row));
  }

  AdamParameter embeddings_;
  std::vector<AdamParameter> filters_;
  AdamParameter biases_;
  std::size_t min_width_, positions_;
  std::vector<std::uint32_t> alphabet_;
  RowMatrix symbols_;              // [alphabet x C] the embeddings that are in use
  RowMatrix bias_gradient_;        // [widths x F]
  std::vector<RowMatrix> tables_;  // by width, see ConvolutionTable
  std::vector<RowMatrix> table_gradients_, filter_gradients_;  // by width
  std::vector<Window> windows_;
  std::vector<RowMatrix> symbol_gradients_;  // by window
  simd::ConvolutionFunctions functions_ = simd::convolution_functions();
  simd::OptimizerFunctions optimizer_ = simd::optimizer_functions();
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
