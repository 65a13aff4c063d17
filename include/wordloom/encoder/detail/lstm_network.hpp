#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/random.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/encoder/detail/matrix_product.hpp>
#include <wordloom/encoder/detail/network_parameter.hpp>
#include <wordloom/encoder/detail/plain_sigmoid.hpp>
#include <wordloom/encoder/detail/symbol_batch.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// A network that classifies sequences of symbols: a layer of long short-term memory (Hochreiter
/// and Schmidhuber 1997, with the forget gates of Gers et al. 2000, whose biases begin with 1), its
/// last state, dropout and a softmax. Trained by Adam; the norm of all gradients is limited.
///
/// The sequences of a batch are sorted by falling length, so that those which reach step t are the
/// first; their rows at all steps are consecutive, without padding. What the symbols of a batch add
/// to the gates is computed once for each. One thread.
class LstmNetwork {
 public:
  struct Options {
    std::size_t classes = 2;
    std::size_t units = 100;
    double dropout = 0.5;
    double max_gradient = 1;  // the norm that longer gradients of a batch are cut to
    std::uint64_t seed = 1;
  };

  /// `rows`: the vectors of the symbols [symbols x D], which are borrowed.
  LstmNetwork(RowMatrix& rows, const Options& options);

  /// Trains on all sequences once, in batches of similar length and random order.
  void train(std::span<const Symbols> sequences, std::span<const std::uint32_t> labels,
             std::size_t batch);
  /// Returns the most probable class of each sequence, of equal ones the first.
  std::vector<std::uint32_t> classify(std::span<const Symbols> sequences);
  /// Computes the gradients of the mean cross entropy of a batch and returns that. `drops`: false
  /// leaves out dropout.
  double differentiate(std::span<const Symbols> sequences, std::span<const std::uint32_t> labels,
                       bool drops);
  /// Limits the gradients and steps down them.
  void step();

  /// Returns the parameters: weights of the input [D x 4 units], of the state before [units x 4
  /// units] and biases [1 x 4 units] of input gate, forget gate, candidate and output gate; weights
  /// of classes [units x classes] and their bias [1 x classes].
  std::vector<NetworkParameter>& parameters() noexcept { return parameters_; }

 private:
  enum : std::size_t { input, recurrent, bias, weights, class_bias };

  void open(std::span<const Symbols> sequences);
  void forward(bool drops);
  void backward();
  /// Activates the gates at a row of step `t`, sequence `b`, and writes the state after it.
  void activate(std::size_t t, std::size_t b);
  /// Returns a row of a matrix of all steps.
  std::size_t row_of(std::size_t t, std::size_t b) const noexcept { return offsets_[t] + b; }
  std::size_t steps() const noexcept { return offsets_.size() - 1; }
  /// Returns the number of sequences that reach step t.
  std::size_t active(std::size_t t) const noexcept {
    return t < steps() ? offsets_[t + 1] - offsets_[t] : 0;
  }
  Options options_;
  Random random_;
  RowMatrix table_;
  std::vector<NetworkParameter> parameters_;
  // The scratch of a batch. Rows of steps: sequences at step 0, then those at step 1, ...
  SymbolBatch batch_{0, 0};
  std::vector<std::uint32_t> order_;    // of the sequences, by falling length
  std::vector<std::size_t> offsets_;    // the first row of each step, and their number
  RowMatrix rows_, products_;           // [distinct symbols x D], [.. x 4 units]
  RowMatrix gates_;                     // [rows of steps x 4 units]; in the end their gradients
  RowMatrix states_, cells_;            // before the step [rows of steps x units]
  RowMatrix cell_tanh_;                 // after the step
  RowMatrix last_, last_cells_, mask_;  // [sequences x units]; in the end last_ is its gradient
  RowMatrix scores_;                    // [sequences x classes], then their gradients
};

inline LstmNetwork::LstmNetwork(RowMatrix& rows, const Options& options)
    : options_(options), random_(options.seed), table_(rows.borrow()) {
  batch_.add_table(rows.rows());
  const std::size_t units = options.units, gates = 4 * units;
  const double spread = 1 / std::sqrt(static_cast<double>(units));
  const auto add = [&](std::size_t height, std::size_t width, double scale) {
    RowMatrix values(height, width);
    for (std::size_t row = 0; row < height; ++row)
      for (float& x : values.row(row)) x = static_cast<float>((2 * random_.uniform() - 1) * scale);
    parameters_.emplace_back(std::move(values), NetworkParameter::Rule::adam);
  };
  add(rows.columns(), gates, spread);
  add(units, gates, spread);
  add(1, gates, 0);
  add(units, options.classes, spread);
  add(1, options.classes, 0);
  std::fill_n(parameters_[bias].value.data() + units, units, 1.0f);
}

inline void LstmNetwork::open(std::span<const Symbols> sequences) {
  order_.resize(sequences.size());
  std::iota(order_.begin(), order_.end(), 0u);
  std::ranges::stable_sort(order_, std::greater{},
                           [&](std::uint32_t i) { return sequences[i].size(); });
  batch_.open(chosen_of<Symbols>(sequences, order_));
  offsets_.assign(1, 0);
  std::size_t reach = sequences.size();
  for (std::size_t t = 0; t < batch_[0].size(); ++t) {
    while (batch_[reach - 1].size() <= t) --reach;
    offsets_.push_back(offsets_.back() + reach);
  }
  const std::vector<std::uint32_t>& chosen = batch_.chosen(0);
  const RowMatrix& biases = parameters_[bias].value;
  grow(rows_, chosen.size(), table_.columns());
  grow(products_, chosen.size(), biases.columns());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    std::copy_n(table_.row_data(chosen[i]), table_.stride(), rows_.row_data(i));
    std::copy_n(biases.data(), biases.stride(), products_.row_data(i));
  }
  multiply(1, ConstFloats(rows_).some_rows(0, chosen.size()), ConstFloats(parameters_[input].value),
           1, Floats(products_).some_rows(0, chosen.size()));
}

inline void LstmNetwork::activate(std::size_t t, std::size_t b) {
  const std::size_t units = options_.units, row = row_of(t, b);
  float* __restrict gate = gates_.row_data(row);
  for (std::size_t h = 0; h < 2 * units; ++h) gate[h] = plain_sigmoid(gate[h]);
  for (std::size_t h = 2 * units; h < 3 * units; ++h) gate[h] = plain_tanh(gate[h]);
  for (std::size_t h = 3 * units; h < 4 * units; ++h) gate[h] = plain_sigmoid(gate[h]);
  const float* __restrict before = cells_.row_data(row);
  const bool goes_on = b < active(t + 1);
  float* __restrict after = goes_on ? cells_.row_data(row_of(t + 1, b)) : last_cells_.row_data(b);
  float* __restrict state = goes_on ? states_.row_data(row_of(t + 1, b)) : last_.row_data(b);
  float* __restrict squashed = cell_tanh_.row_data(row);
  for (std::size_t h = 0; h < units; ++h) {
    after[h] = gate[units + h] * before[h] + gate[h] * gate[2 * units + h];
    squashed[h] = plain_tanh(after[h]);
    state[h] = gate[3 * units + h] * squashed[h];
  }
}

inline void LstmNetwork::forward(bool drops) {
  const std::size_t size = batch_.size(), units = options_.units, rows = offsets_.back();
  grow(gates_, rows, 4 * units);
  for (RowMatrix* const matrix : {&states_, &cells_, &cell_tanh_}) grow(*matrix, rows, units);
  for (RowMatrix* const matrix : {&last_, &last_cells_, &mask_}) grow(*matrix, size, units);
  grow(scores_, size, options_.classes);
  std::fill_n(last_.data(), size * last_.stride(), 0.0f);  // of empty sequences
  for (RowMatrix* const matrix : {&states_, &cells_})
    std::fill_n(matrix->data(), active(0) * matrix->stride(), 0.0f);
  for (std::size_t t = 0; t < steps(); ++t) {
    for (std::size_t b = 0; b < active(t); ++b)
      std::copy_n(products_.row_data(batch_[b][t]), gates_.stride(), gates_.row_data(row_of(t, b)));
    multiply(1, ConstFloats(states_).some_rows(offsets_[t], active(t)),
             ConstFloats(parameters_[recurrent].value), 1,
             Floats(gates_).some_rows(offsets_[t], active(t)));
    for (std::size_t b = 0; b < active(t); ++b) activate(t, b);
  }
  const double keep = 1 - options_.dropout;
  for (std::size_t b = 0; b < size; ++b) {
    for (std::size_t h = 0; h < units; ++h) {
      mask_.row(b)[h] = !drops                     ? 1.0f
                        : random_.uniform() < keep ? static_cast<float>(1 / keep)
                                                   : 0.0f;
      last_.row(b)[h] *= mask_.row(b)[h];
    }
    std::copy_n(parameters_[class_bias].value.data(), scores_.stride(), scores_.row_data(b));
  }
  multiply(1, ConstFloats(last_).some_rows(0, size), ConstFloats(parameters_[weights].value), 1,
           Floats(scores_).some_rows(0, size));
}

inline double LstmNetwork::differentiate(std::span<const Symbols> sequences,
                                         std::span<const std::uint32_t> labels, bool drops) {
  open(sequences);
  forward(drops);
  const std::size_t size = sequences.size();
  double loss = 0;
  RowMatrix& of_bias = parameters_[class_bias].gradient;
  std::fill_n(of_bias.data(), of_bias.stride(), 0.0f);
  for (std::size_t b = 0; b < size; ++b) {
    loss += softmax_gradient(scores_.row(b), labels[order_[b]], size);
    for (std::size_t c = 0; c < options_.classes; ++c) of_bias.row(0)[c] += scores_.row(b)[c];
  }
  const auto gradient = ConstFloats(scores_).some_rows(0, size);
  multiply(1, transposed(ConstFloats(last_).some_rows(0, size)), gradient, 0,
           Floats(parameters_[weights].gradient));
  multiply(1, gradient, transposed(parameters_[weights].value), 0,
           Floats(last_).some_rows(0, size));
  for (std::size_t i = 0; i < size * last_.stride(); ++i) last_.data()[i] *= mask_.data()[i];
  backward();
  return loss / static_cast<double>(size);
}

inline void LstmNetwork::backward() {
  const std::size_t units = options_.units;
  std::fill_n(last_cells_.data(), batch_.size() * last_cells_.stride(), 0.0f);
  for (std::size_t t = steps(); t-- > 0;) {
    for (std::size_t b = 0; b < active(t); ++b) {
      float* __restrict gate = gates_.row_data(row_of(t, b));
      float* __restrict of_cell = last_cells_.row_data(b);
      const float* __restrict of_state = last_.row_data(b);
      const float* __restrict before = cells_.row_data(row_of(t, b));
      const float* __restrict squashed = cell_tanh_.row_data(row_of(t, b));
      for (std::size_t h = 0; h < units; ++h) {
        const float in = gate[h], forget = gate[units + h], candidate = gate[2 * units + h];
        const float out = gate[3 * units + h];
        const float change = of_cell[h] + of_state[h] * out * (1 - squashed[h] * squashed[h]);
        gate[h] = change * candidate * in * (1 - in);
        gate[units + h] = change * before[h] * forget * (1 - forget);
        gate[2 * units + h] = change * in * (1 - candidate * candidate);
        gate[3 * units + h] = of_state[h] * squashed[h] * out * (1 - out);
        of_cell[h] = change * forget;
      }
    }
    multiply(1, ConstFloats(gates_).some_rows(offsets_[t], active(t)),
             transposed(parameters_[recurrent].value), 0, Floats(last_).some_rows(0, active(t)));
  }
  const std::size_t rows = offsets_.back(), symbols = batch_.chosen(0).size();
  multiply(1, transposed(ConstFloats(states_).some_rows(0, rows)),
           ConstFloats(gates_).some_rows(0, rows), 0, Floats(parameters_[recurrent].gradient));
  // The products are not needed again: their matrix takes their gradients.
  std::fill_n(products_.data(), symbols * products_.stride(), 0.0f);
  RowMatrix& of_bias = parameters_[bias].gradient;
  std::fill_n(of_bias.data(), of_bias.stride(), 0.0f);
  const auto add = [](float* __restrict sum, const float* __restrict row, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) sum[i] += row[i];
  };
  for (std::size_t t = 0; t < steps(); ++t)
    for (std::size_t b = 0; b < active(t); ++b)
      add(products_.row_data(batch_[b][t]), gates_.row_data(row_of(t, b)), 4 * units);
  for (std::size_t i = 0; i < symbols; ++i) add(of_bias.data(), products_.row_data(i), 4 * units);
  multiply(1, transposed(ConstFloats(rows_).some_rows(0, symbols)),
           ConstFloats(products_).some_rows(0, symbols), 0, Floats(parameters_[input].gradient));
}

inline void LstmNetwork::step() {
  double squares = 0;
  for (const NetworkParameter& parameter : parameters_)
    for (std::size_t row = 0; row < parameter.gradient.rows(); ++row)
      for (const float x : parameter.gradient.row(row)) squares += double{x} * double{x};
  const double norm = std::sqrt(squares);
  const auto scale = static_cast<float>((std::min)(1.0, options_.max_gradient / norm));
  for (NetworkParameter& parameter : parameters_) {
    if (norm > options_.max_gradient)
      for (std::size_t row = 0; row < parameter.gradient.rows(); ++row)
        for (float& x : parameter.gradient.row(row)) x *= scale;
    parameter.step();
  }
}

inline void LstmNetwork::train(std::span<const Symbols> sequences,
                               std::span<const std::uint32_t> labels, std::size_t batch) {
  std::vector<std::uint32_t> order(sequences.size());
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), random_);
  const std::size_t sorted = 20 * batch;  // at once, so that batches are of similar length
  std::vector<std::span<const std::uint32_t>> batches;
  for (std::size_t first = 0; first < order.size(); first += sorted) {
    const auto some = std::span(order).subspan(first, (std::min)(sorted, order.size() - first));
    std::ranges::stable_sort(some, {}, [&](std::uint32_t i) { return sequences[i].size(); });
    for (std::size_t at = 0; at < some.size(); at += batch)
      batches.push_back(some.subspan(at, (std::min)(batch, some.size() - at)));
  }
  std::shuffle(batches.begin(), batches.end(), random_);
  for (const auto items : batches) {
    differentiate(chosen_of<Symbols>(sequences, items), chosen_of<std::uint32_t>(labels, items),
                  options_.dropout > 0);
    step();
  }
}

inline std::vector<std::uint32_t> LstmNetwork::classify(std::span<const Symbols> sequences) {
  constexpr std::size_t at_once = 50;
  std::vector<std::uint32_t> order(sequences.size()), classes(sequences.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return sequences[i].size(); });
  for (std::size_t first = 0; first < order.size(); first += at_once) {
    const auto items = std::span(order).subspan(first, (std::min)(at_once, order.size() - first));
    open(chosen_of<Symbols>(sequences, items));
    forward(false);
    for (std::size_t b = 0; b < items.size(); ++b) {
      const auto row = scores_.row(b);
      classes[items[order_[b]]] =
          static_cast<std::uint32_t>(std::max_element(row.begin(), row.end()) - row.begin());
    }
  }
  return classes;
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
