#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include <wordloom/core/random.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/encoder/detail/matrix_product.hpp>
#include <wordloom/encoder/detail/max_over_time.hpp>
#include <wordloom/encoder/detail/network_parameter.hpp>
#include <wordloom/encoder/detail/symbol_batch.hpp>
#include <wordloom/encoder/detail/word_symbols.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// A network that classifies sequences of tokens: filters of several widths, the maximum of each
/// over time, dropout and a softmax (Kim 2014, "Convolutional Neural Networks for Sentence
/// Classification"; with places as further symbols of a token: Zeng et al. 2014, "Relation
/// Classification via Convolutional Deep Neural Network").
///
/// A token has one symbol of each of T tables; its input is their rows, one after the other. Symbol
/// 0 of each table is padding, whose row is zero. As in ConvolutionLayer, products of symbols and
/// filters are computed once for a batch, of the symbols that occur in it. One thread.
class SequenceNetwork {
 public:
  struct Options {
    std::size_t classes = 2;
    std::size_t min_width = 3, max_width = 5;
    std::size_t filters = 100;  // of each width
    std::size_t padding = 4;    // tokens before and after a sequence
    double dropout = 0.5;
    bool has_tanh = false;  // in place of ReLU
    NetworkParameter::Rule rule = NetworkParameter::Rule::adadelta;
    double max_norm = 3;   // the length of the weights of a class is cut to this; 0: not
    double spread = 0.01;  // filters are drawn from +- this
    std::uint64_t seed = 1;
  };

  /// The embeddings of one kind of symbol [symbols x C]; they are borrowed unless they are trained.
  struct Table {
    RowMatrix& rows;
    bool is_trained = false;
  };

  SequenceNetwork(const std::vector<Table>& tables, const Options& options);

  /// Trains on all sequences once, in batches of random order. Each is tokens x T symbols.
  void train(std::span<const Symbols> sequences, std::span<const std::uint32_t> labels,
             std::size_t batch);
  /// Returns the most probable class of each sequence, of equal ones the first.
  std::vector<std::uint32_t> classify(std::span<const Symbols> sequences);

  /// Computes the gradients of the mean cross entropy of a batch and returns that. `drops`: false
  /// leaves out dropout.
  double differentiate(std::span<const Symbols> sequences, std::span<const std::uint32_t> labels,
                       bool drops);
  /// Steps down the gradients.
  void step();

  /// Returns the scores of sequences [sequences x classes], until the next call.
  const RowMatrix& score(std::span<const Symbols> sequences);
  /// Returns the features of the last sequences [sequences x widths x stride of a filter].
  const RowMatrix& features() const noexcept { return features_; }

  /// Returns the parameters: filters [places x C x F] for each table, with the places of the
  /// narrowest filters first; biases [widths x F]; weights [widths x stride x classes] and their
  /// bias [1 x classes]; and the tables, of which only the trained ones change.
  std::vector<NetworkParameter>& filters() noexcept { return filters_; }
  NetworkParameter& biases() noexcept { return biases_; }
  NetworkParameter& weights() noexcept { return weights_; }
  NetworkParameter& bias() noexcept { return bias_; }
  std::vector<NetworkParameter>& tables() noexcept { return tables_; }

 private:
  std::size_t widths() const noexcept { return biases_.value.rows(); }
  std::size_t width(std::size_t w) const noexcept { return options_.min_width + w; }
  std::size_t stride() const noexcept { return biases_.value.stride(); }

  /// Takes the sequences of a batch, and makes the tables of products of its symbols.
  void open(std::span<const Symbols> sequences);
  /// Computes features and scores; `drops` multiplies features by masks first.
  void forward(bool drops);
  void step_filters(const RowMatrix& feature_gradient);

  simd::ConvolutionTable table(std::size_t w) const noexcept {
    return {products_[w].data(),
            batch_.symbols(),
            width(w) * tables_.size(),
            stride(),
            tables_.size(),
            options_.has_tanh ? -std::numeric_limits<float>::infinity() : 0.0f};
  }
  /// Calls `call(w, t, first row of the products, first row of the filters)` for all places.
  template <class Call>
  void for_each_product(const Call& call) const {
    for (std::size_t w = 0, first = 0; w < widths(); first += width(w++))
      for (std::size_t k = 0; k < width(w); ++k)
        for (std::size_t t = 0; t < tables_.size(); ++t)
          call(w, t, (k * tables_.size() + t) * batch_.symbols() + batch_.offset(t),
               (first + k) * tables_[t].value.columns());
  }

  Options options_;
  Random random_;
  std::vector<NetworkParameter> tables_, filters_;
  NetworkParameter biases_, weights_, bias_;
  simd::ConvolutionFunctions functions_ = simd::convolution_functions();
  // The scratch of a batch.
  SymbolBatch batch_;
  std::vector<RowMatrix> rows_;                          // of the tables, of chosen symbols
  std::vector<RowMatrix> products_, product_gradients_;  // by width: see ConvolutionTable
  std::vector<std::int32_t> windows_;                    // of maxima [sequences x features]
  RowMatrix features_, dropped_, mask_, scores_;
};

inline SequenceNetwork::SequenceNetwork(const std::vector<Table>& tables, const Options& options)
    : options_(options), random_(options.seed), batch_(options.padding, options.max_width) {
  const std::size_t widths = options.max_width - options.min_width + 1;
  const std::size_t places = widths * (options.min_width + options.max_width) / 2;
  for (const Table& table : tables) {
    batch_.add_table(table.rows.rows());
    tables_.emplace_back(table.is_trained ? table.rows.copy() : table.rows.borrow(), options.rule,
                         table.is_trained);
    filters_.emplace_back(RowMatrix(places * table.rows.columns(), options.filters), options.rule);
    RowMatrix& values = filters_.back().value;
    for (std::size_t row = 0; row < values.rows(); ++row)
      for (float& x : values.row(row))
        x = static_cast<float>((2 * random_.uniform() - 1) * options_.spread);
  }
  biases_ = NetworkParameter(RowMatrix(widths, options.filters), options.rule);
  weights_ = NetworkParameter(RowMatrix(widths * stride(), options.classes), options.rule);
  bias_ = NetworkParameter(RowMatrix(1, options.classes), options.rule);
  for (std::size_t w = 0; w < widths; ++w)
    for (std::size_t f = 0; f < options.filters; ++f)
      for (float& x : weights_.value.row(w * stride() + f))
        x = static_cast<float>(0.01 * normal(random_));
  rows_.resize(tables.size());
  products_.resize(widths);
  product_gradients_.resize(widths);
}

inline void SequenceNetwork::open(std::span<const Symbols> sequences) {
  batch_.open(sequences);
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    const RowMatrix& from = tables_[t].value;
    grow(rows_[t], batch_.chosen(t).size(), from.columns());
    for (std::size_t i = 0; i < batch_.chosen(t).size(); ++i)
      std::copy_n(from.row_data(batch_.chosen(t)[i]), from.stride(), rows_[t].row_data(i));
  }
  for (std::size_t w = 0; w < widths(); ++w)
    grow(products_[w], width(w) * tables_.size() * batch_.symbols(), options_.filters);
  for_each_product([&](std::size_t w, std::size_t t, std::size_t product, std::size_t filter) {
    multiply(1, ConstFloats(rows_[t]).some_rows(0, batch_.chosen(t).size()),
             ConstFloats(filters_[t].value).some_rows(filter, rows_[t].columns()), 0,
             Floats(products_[w]).some_rows(product, batch_.chosen(t).size()));
  });
}

inline void SequenceNetwork::forward(bool drops) {
  const std::size_t size = batch_.size(), count = widths() * stride();
  grow(features_, size, count);
  grow(dropped_, size, count);
  grow(mask_, size, count);
  grow(scores_, size, options_.classes);
  windows_.resize(size * count);
  for (std::size_t b = 0; b < size; ++b) {
    float* const features = features_.row_data(b);
    for (std::size_t w = 0; w < widths(); ++w)
      functions_.max_over_time(table(w), batch_[b].data(), batch_[b].size(),
                               biases_.value.row_data(w), features + w * stride(),
                               windows_.data() + b * count + w * stride());
    if (options_.has_tanh)
      for (std::size_t h = 0; h < count; ++h) features[h] = std::tanh(features[h]);
    const double keep = 1 - options_.dropout;
    for (std::size_t h = 0; h < count; ++h) {
      mask_.row(b)[h] = !drops                     ? 1.0f
                        : random_.uniform() < keep ? static_cast<float>(1 / keep)
                                                   : 0.0f;
      dropped_.row(b)[h] = features[h] * mask_.row(b)[h];
    }
    std::copy_n(bias_.value.row_data(0), bias_.value.stride(), scores_.row_data(b));
  }
  multiply(1, ConstFloats(dropped_).some_rows(0, size), ConstFloats(weights_.value), 1,
           Floats(scores_).some_rows(0, size));
}

inline const RowMatrix& SequenceNetwork::score(std::span<const Symbols> sequences) {
  open(sequences);
  forward(false);
  return scores_;
}

inline std::vector<std::uint32_t> SequenceNetwork::classify(std::span<const Symbols> sequences) {
  constexpr std::size_t at_once = 200;
  std::vector<std::uint32_t> classes;
  for (std::size_t first = 0; first < sequences.size(); first += at_once) {
    const std::size_t size = (std::min)(at_once, sequences.size() - first);
    const RowMatrix& scores = score(sequences.subspan(first, size));
    for (std::size_t b = 0; b < size; ++b) {
      const auto row = scores.row(b);
      classes.push_back(
          static_cast<std::uint32_t>(std::max_element(row.begin(), row.end()) - row.begin()));
    }
  }
  return classes;
}

inline double SequenceNetwork::differentiate(std::span<const Symbols> sequences,
                                             std::span<const std::uint32_t> labels, bool drops) {
  open(sequences);
  forward(drops);
  const std::size_t size = sequences.size();
  double loss = 0;
  std::fill_n(bias_.gradient.data(), bias_.gradient.stride(), 0.0f);
  for (std::size_t b = 0; b < size; ++b) {  // scores become their gradients
    const auto scores = scores_.row(b);
    loss += softmax_gradient(scores, labels[b], size);
    for (std::size_t c = 0; c < scores.size(); ++c) bias_.gradient.row(0)[c] += scores[c];
  }
  const auto gradient = ConstFloats(scores_).some_rows(0, size);
  multiply(1, transposed(ConstFloats(dropped_).some_rows(0, size)), gradient, 0,
           Floats(weights_.gradient));
  // The features after dropout are not needed again: their matrix takes the gradients of features.
  multiply(1, gradient, transposed(weights_.value), 0, Floats(dropped_).some_rows(0, size));
  for (std::size_t b = 0; b < size; ++b)
    for (std::size_t h = 0; h < dropped_.columns(); ++h) {
      const float x = features_.row(b)[h];
      dropped_.row(b)[h] *= mask_.row(b)[h] * (options_.has_tanh ? 1 - x * x : x > 0 ? 1.0f : 0.0f);
    }
  step_filters(dropped_);
  return loss / static_cast<double>(size);
}

inline void SequenceNetwork::step_filters(const RowMatrix& feature_gradient) {
  for (std::size_t w = 0; w < widths(); ++w) {
    grow(product_gradients_[w], width(w) * tables_.size() * batch_.symbols(), options_.filters);
    std::fill_n(product_gradients_[w].data(),
                width(w) * tables_.size() * batch_.symbols() * stride(), 0.0f);
    std::fill_n(biases_.gradient.row_data(w), stride(), 0.0f);
    for (std::size_t b = 0; b < batch_.size(); ++b) {
      const float* const of_width = feature_gradient.row_data(b) + w * stride();
      simd::scatter_max(product_gradients_[w].data(), table(w), batch_[b],
                        windows_.data() + b * features_.columns() + w * stride(), of_width, 0,
                        options_.filters);
      for (std::size_t f = 0; f < options_.filters; ++f)
        biases_.gradient.row_data(w)[f] += of_width[f];
    }
  }
  for (std::size_t t = 0; t < tables_.size(); ++t)
    if (tables_[t].is_trained) tables_[t].open(batch_.chosen(t));
  for_each_product([&](std::size_t w, std::size_t t, std::size_t product, std::size_t filter) {
    const auto gradient =
        ConstFloats(product_gradients_[w]).some_rows(product, batch_.chosen(t).size());
    const std::size_t columns = rows_[t].columns();
    multiply(1, transposed(ConstFloats(rows_[t]).some_rows(0, batch_.chosen(t).size())), gradient,
             0, Floats(filters_[t].gradient).some_rows(filter, columns));
    if (tables_[t].is_trained)
      multiply(1, gradient, transposed(ConstFloats(filters_[t].value).some_rows(filter, columns)),
               1, Floats(tables_[t].gradient).some_rows(0, batch_.chosen(t).size()));
  });
}

inline void SequenceNetwork::step() {
  for (auto* const parameters : {&filters_, &tables_})
    for (NetworkParameter& parameter : *parameters) parameter.step();
  for (NetworkParameter* const parameter : {&biases_, &weights_, &bias_}) parameter->step();
  if (options_.max_norm > 0) weights_.limit_columns(options_.max_norm);
}

inline void SequenceNetwork::train(std::span<const Symbols> sequences,
                                   std::span<const std::uint32_t> labels, std::size_t batch) {
  std::vector<std::uint32_t> order(sequences.size());
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), random_);
  for (std::size_t first = 0; first < order.size(); first += batch) {
    std::vector<Symbols> of_batch;
    std::vector<std::uint32_t> their_labels;
    for (std::size_t i = first; i < (std::min)(first + batch, order.size()); ++i) {
      of_batch.push_back(sequences[order[i]]);
      their_labels.push_back(labels[order[i]]);
    }
    differentiate(of_batch, their_labels, options_.dropout > 0);
    step();
  }
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
