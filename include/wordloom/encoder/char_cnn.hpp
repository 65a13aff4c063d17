#pragma once
#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/encoder/char_cnn_embeddings.hpp>
#include <wordloom/encoder/detail/adam_parameter.hpp>
#include <wordloom/encoder/detail/char_cnn_parameters.hpp>
#include <wordloom/encoder/detail/convolution_layer.hpp>
#include <wordloom/encoder/detail/dense_layer.hpp>
#include <wordloom/encoder/detail/matrix_product.hpp>
#include <wordloom/encoder/detail/word_symbols.hpp>
#include <wordloom/kernel/detail/one_blas_thread.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/optimizer/adam.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// A character CNN (Li et al. 2019, section 5.8; Kim et al. 2016, "Character-Aware Neural Language
/// Models"): the vector of a word is a function of its bytes alone. Bytes have embeddings [C];
/// F filters of each width read windows of that many bytes; the largest value of each filter over
/// the word, through ReLU, is one of H = F x widths features; or, as Li et al. have it, its values
/// at the first `positions` windows are features, H = F x widths x positions. A dense layer makes
/// the vector [D] of them. The encoder of Encoded.
///
/// Its parameters are matrices of Model::state: "char_cnn.characters" [258 x C] (bytes, begin and
/// end of a word), "char_cnn.filters.W" [W C x F] for each width W, "char_cnn.biases" [widths x F],
/// "char_cnn.dense" [H x D] and "char_cnn.dense_bias" [1 x D], and the state of Adam for each.
struct CharCnn {
  /// Floats of the embedding of a byte (C), 1 to 1024.
  std::size_t character_dimension = 16;
  /// Bytes that the narrowest and the widest filters read, 1 to 32.
  std::size_t min_width = 2, max_width = 5;
  /// Filters of each width (F), a multiple of 16 up to 65536.
  std::size_t filters = 128;
  /// Windows of a word, from its begin, whose values are features of their own (flattened), 2 to
  /// 1000; a word that has fewer has zeros, what comes later is not read. 0: the largest value
  /// alone (max over time).
  std::size_t positions = 0;
  /// Words between two steps of Adam, 1 to 1000000.
  std::size_t batch = 256;
  /// The learning rate of Adam, above 0 and at most 1; it falls as that of the trainer does.
  double learning_rate = 0.001;
  Adam adam = {};

  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("character_dimension", character_dimension, 1, 1024);
    visit("min_width", min_width, std::size_t{1}, detail::max_filter_width);
    visit("max_width", max_width, std::size_t{1}, detail::max_filter_width);
    visit("filters", filters, 16, 65536);
    if (positions != 0) visit("positions", positions, 2, 1000);
    visit("encoder_batch", batch, 1, 1'000'000);
    visit("encoder_learning_rate", learning_rate, 1e-9, 1.0);
    visit_parameters_of(visit, adam);
  }

  /// The result of Trainer::fit for a new model.
  using Embeddings = CharCnnEmbeddings;

  class Run;
  /// Adds the parameters of the encoder to a model, drawn from `seed`, or continues with those that
  /// it has. Throws InvalidArgument for a model that has others, for min_width above max_width and
  /// for filters that are no multiple of 16; and std::bad_alloc.
  Run start(Model& model, std::size_t threads, std::uint64_t seed) const;

  /// The parameters in a model's state, which are added where there are none. Throws as start.
  detail::CharCnnParameters parameters_in(Model& model, std::uint64_t seed) const {
    validate_parameters(*this);
    if (min_width > max_width)
      throw InvalidArgument{"min_width is ", min_width, ", must be at most max_width, which is ",
                            max_width};
    if (filters % 16 != 0)
      throw InvalidArgument{"filters is ", filters, ", must be a multiple of 16"};
    using detail::CharCnnParameters;
    const detail::CharCnnShape shape{character_dimension, min_width, max_width, filters, positions};
    if (!CharCnnParameters::are_in(model.state)) CharCnnParameters::add_to(model, shape, seed);
    CharCnnParameters parameters(model.state, model.dimension());
    if (parameters.shape() != shape)
      throw InvalidArgument{"the model has a character CNN of ", parameters.shape().text(),
                            ", this trainer one of ", shape.text()};
    return parameters;
  }
};

/// The encoder of a model in training. For one thread at a time; it starts `threads` itself, and
/// any number of them gives the same bits. The model must outlive it and keep its state.
class CharCnn::Run {
 public:
  class Batch;

  Run(const CharCnn& policy, Model& model, std::size_t threads, std::uint64_t seed)
      : model_(model), threads_(threads), words_(model.vocabulary) {
    Parameters parameters = policy.parameters_in(model, seed);
    const auto parameter = [&](std::size_t place) {
      return AdamParameter(model, parameters.matrices()[place].name, parameters.matrix(place),
                           policy.adam);
    };
    std::vector<AdamParameter> matrices;
    for (std::size_t i = 0; i < parameters.widths(); ++i)
      matrices.push_back(parameter(Parameters::first_filters + i));
    convolution_.emplace(parameter(Parameters::characters), std::move(matrices),
                         parameter(Parameters::biases), policy.min_width, policy.positions,
                         words_.alphabet());
    dense_.emplace(parameter(Parameters::dense), parameter(Parameters::dense_bias));
    const std::size_t rows = (std::min)(policy.batch, words_.size());
    features_ = RowMatrix(rows, convolution_->features());
    feature_gradient_ = RowMatrix(rows, convolution_->features());
    places_.resize(rows * convolution_->features());
    error_ = RowMatrix(rows, model.dimension());
    sequences_.resize(rows);
  }

  /// Returns CharCnn::batch, or the size of the vocabulary if that is less.
  std::size_t words_at_once() const noexcept { return features_.rows(); }

  /// Writes the vectors of all words to the input rows [V x D] of the model. Throws std::bad_alloc.
  void encode() {
    convolution_->read_parameters();
    detail::run_threads(threads_, [&](std::size_t thread) { encode(thread); });
  }

  /// Fits the encoder to the input rows by one pass of least squares over all words, in batches,
  /// and then writes the vectors of all words to them. `rate`: the learning rate of Adam.
  void learn(double rate) {
    step_through_words(rate, [this](ConstFloats features, std::size_t b, std::size_t word) {
      dense_->forward(features, Floats(error_).some_rows(b, features.rows));
      for (std::size_t i = 0; i < features.rows; ++i)
        optimizer_.sgd(error_.row_data(b + i), model_.input.row_data(word + i * batches()),
                       error_.stride(), -1.0f);
    });
  }

  /// Writes the vectors as encode() does, and keeps them for learn_gradient. Throws std::bad_alloc.
  void encode_and_keep() {
    encode();
    before_ = model_.input.copy();
  }
  /// Takes the changes of the input rows since encode_and_keep or the last call, which are minus
  /// `row_rate` times the gradient of the loss by the vectors, for that gradient, steps down the
  /// gradient of the loss by the parameters, in batches, and writes the vectors of all words.
  void learn_gradient(double rate, double row_rate) {
    const auto scale = static_cast<float>(1 / row_rate);
    step_through_words(rate, [this, scale](ConstFloats features, std::size_t b, std::size_t word) {
      for (std::size_t i = 0; i < features.rows; ++i, word += batches())
        for (std::size_t c = 0; c < error_.stride(); ++c)
          error_.row_data(b + i)[c] =
              (before_.row_data(word)[c] - model_.input.row_data(word)[c]) * scale;
    });
    std::copy_n(model_.input.data(), before_.rows() * before_.stride(), before_.data());
  }

 private:
  /// `find_errors(features, b, word)` makes rows b, ... of `error_` the gradients by the vectors of
  /// every batches()-th word from `word` on, which have these features.
  template <class FindErrors>
  void step_through_words(double rate, FindErrors find_errors) {
    std::barrier meeting(static_cast<std::ptrdiff_t>(threads_));
    const auto step_rate = static_cast<float>(rate);
    convolution_->read_parameters();
    detail::run_threads(threads_, [&](std::size_t thread) {
      const auto for_all = [&](std::size_t count, auto&& work) {
        for (std::size_t i = thread; i < count; i += threads_) work(i);
        meeting.arrive_and_wait();
      };
      for (std::size_t number = 0; number < batches(); ++number) {
        const std::size_t size = (words_.size() - number + batches() - 1) / batches();
        for_all(parts_of(size), [&](std::size_t part) { score(number, size, part, find_errors); });
        const auto features = ConstFloats(features_).some_rows(0, size);
        const auto error = ConstFloats(error_).some_rows(0, size);
        for_all(dense_->parts() + convolution_->parts(), [&](std::size_t i) {
          if (i < dense_->parts()) return dense_->step(i, features, error, step_rate);
          convolution_->gather(i - dense_->parts(), std::span(sequences_).first(size),
                               places_.data(), feature_gradient_);
        });
        for_all(convolution_->windows(),
                [&](std::size_t window) { convolution_->step_filters(window, step_rate); });
        for_all(1, [&](std::size_t) { convolution_->step_embeddings(step_rate); });
        for_all(convolution_->windows(),
                [&](std::size_t window) { convolution_->make_table(window); });
      }
      encode(thread);
    });
  }

  using Parameters = detail::CharCnnParameters;
  using AdamParameter = detail::AdamParameter;
  using Floats = detail::Floats;
  using ConstFloats = detail::ConstFloats;

  static constexpr std::size_t part_words = 64;  // that a thread takes at once

  static std::size_t parts_of(std::size_t words) { return (words + part_words - 1) / part_words; }
  std::size_t batches() const {
    return features_.rows() == 0 ? 0 : (words_.size() + features_.rows() - 1) / features_.rows();
  }

  /// Writes the vectors of this thread's share of the words.
  void encode(std::size_t thread) {
    RowMatrix features(part_words, features_.columns());
    std::vector<std::int32_t> places(features_.columns());
    for (std::size_t part = thread; part < parts_of(words_.size()); part += threads_) {
      const std::size_t first = part * part_words;
      const std::size_t size = (std::min)(part_words, words_.size() - first);
      for (std::size_t b = 0; b < size; ++b)
        convolution_->forward(words_[first + b], features.row_data(b), places.data());
      dense_->forward(ConstFloats(features).some_rows(0, size),
                      Floats(model_.input).some_rows(first, size));
    }
  }

  /// Computes features, errors and the gradients of features for one part of a batch: of words of
  /// all frequencies, every batches()-th one.
  template <class FindErrors>
  void score(std::size_t number, std::size_t batch_size, std::size_t part,
             const FindErrors& find_errors) noexcept {
    const std::size_t first = part * part_words;
    const std::size_t size = (std::min)(part_words, batch_size - first);
    for (std::size_t b = first; b < first + size; ++b) {
      sequences_[b] = words_[number + b * batches()];
      convolution_->forward(sequences_[b], features_.row_data(b),
                            places_.data() + b * features_.columns());
    }
    const auto features = Floats(features_).some_rows(first, size);
    const auto gradients = Floats(feature_gradient_).some_rows(first, size);
    const auto error = Floats(error_).some_rows(first, size);
    find_errors(features, first, number + first * batches());
    dense_->backward(error, gradients);
    convolution_->backward(features.data, gradients.data, size * features_.columns());
  }

  detail::OneBlasThread one_thread_;
  Model& model_;
  std::size_t threads_;
  detail::WordSymbols words_;
  std::optional<detail::ConvolutionLayer> convolution_;
  std::optional<detail::DenseLayer> dense_;
  simd::OptimizerFunctions optimizer_ = simd::optimizer_functions();
  // The scratch of a batch of B words.
  std::vector<detail::Symbols> sequences_;  // [B]
  RowMatrix features_, feature_gradient_;   // [B x H]
  std::vector<std::int32_t> places_;        // [B x H] of the largest windows
  RowMatrix error_;                         // [B x D] vectors less input rows
  RowMatrix before_;                        // [V x D] that encode_and_keep has written
  std::shared_mutex guard_;                 // of the parameters, for Batch
};

inline CharCnn::Run CharCnn::start(Model& model, std::size_t threads, std::uint64_t seed) const {
  return {*this, model, threads, seed};
}

}}  // namespace wordloom::WORDLOOM_ABI

#include <wordloom/encoder/char_cnn_batch.hpp>  // CharCnn::Run::Batch
