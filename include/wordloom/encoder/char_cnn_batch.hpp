#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <vector>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/encoder/char_cnn.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Words that one thread trains together, whose gradients are one step of the encoder. Threads may
/// use batches of one run at once; they wait for each other.
class CharCnn::Run::Batch {
 public:
  /// `words`: at most. Throws std::bad_alloc.
  Batch(Run& run, std::size_t words)
      : run_(run),
        sequences_(words),
        features_(words, run.features_.columns()),
        gradients_(words, run.features_.columns()),
        places_(words * run.features_.columns()),
        vectors_(words, run.error_.columns()) {}

  /// Adds words at the places of the batch from `first` on and writes their vectors to `rows`, with
  /// the stride of input rows.
  void encode(std::size_t first, std::span<const WordId> words, float* rows) {
    const std::shared_lock lock(run_.guard_);
    for (std::size_t b = 0; b < words.size(); ++b) {
      sequences_[first + b] = run_.words_[words[b]];
      run_.convolution_->forward(sequences_[first + b], features_.row_data(first + b),
                                 places_.data() + (first + b) * features_.columns());
    }
    run_.dense_->forward(ConstFloats(features_).some_rows(first, words.size()),
                         Floats(vectors_).some_rows(first, words.size()));
    std::copy_n(vectors_.row_data(first), words.size() * vectors_.stride(), rows);
  }

  /// Takes one step of Adam with the gradient of the loss by the parameters. The gradients by the
  /// first `count` vectors are their changes since encode divided by -row_rate. `rate`: that of
  /// Adam; `rows`: the vectors after training.
  void learn(std::size_t count, const float* rows, float rate, float row_rate) {
    for (std::size_t i = 0; i < count * vectors_.stride(); ++i)
      vectors_.data()[i] = (vectors_.data()[i] - rows[i]) / row_rate;
    const auto features = ConstFloats(features_).some_rows(0, count);
    const auto error = ConstFloats(vectors_).some_rows(0, count);
    const std::unique_lock lock(run_.guard_);
    auto& convolution = *run_.convolution_;
    auto& dense = *run_.dense_;
    dense.backward(error, Floats(gradients_).some_rows(0, count));
    convolution.backward(features_.data(), gradients_.data(), count * features_.columns());
    for (std::size_t part = 0; part < dense.parts(); ++part)
      dense.step(part, features, error, rate);
    for (std::size_t part = 0; part < convolution.parts(); ++part)
      convolution.gather(part, std::span(sequences_).first(count), places_.data(), gradients_);
    for (std::size_t i = 0; i < convolution.windows(); ++i) convolution.step_filters(i, rate);
    convolution.step_embeddings(rate);
    for (std::size_t i = 0; i < convolution.windows(); ++i) convolution.make_table(i);
  }

 private:
  Run& run_;
  std::vector<detail::Symbols> sequences_;  // [B]
  RowMatrix features_, gradients_;          // [B x H]
  std::vector<std::int32_t> places_;        // [B x H] of the largest windows
  RowMatrix vectors_;                       // [B x D]
};

}}  // namespace wordloom::WORDLOOM_ABI
