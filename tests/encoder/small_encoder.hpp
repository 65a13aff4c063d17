#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <wordloom/columns.hpp>
#include <wordloom/encoder/char_cnn.hpp>
#include <wordloom/encoder/encoded.hpp>
#include <wordloom/wordloom.hpp>

#include "small_models.hpp"
#include "support.hpp"

/// A small character CNN, and trainers of words whose vectors it computes.
namespace small_encoder {

using namespace wordloom;

inline constexpr std::size_t dimension = 12;
inline constexpr CharCnn encoder{.character_dimension = 5,
                                 .min_width = 2,
                                 .max_width = 4,
                                 .filters = 16,
                                 .batch = 16,
                                 .learning_rate = 0.01};

inline Hyperparameters parameters(std::size_t threads = 1, std::size_t epochs = 2) {
  return {.dimension = dimension,
          .minibatch = 8,
          .subsample = 0,
          .learning_rate = 0.05,
          .epochs = epochs,
          .threads = threads};
}

/// Those of samplers that group no words.
inline Hyperparameters sentence_parameters(std::size_t threads = 1, std::size_t epochs = 2) {
  Hyperparameters result = parameters(threads, epochs);
  result.minibatch = 0;
  return result;
}

/// A trainer whose rounds are of so many columns, or words as a multiple of the vocabulary; 0: one
/// that trains end to end.
template <class Sampler, class Kernel = FusedKernel, class... Sync>
auto encoded_trainer(Hyperparameters with, std::size_t round = 3, Sync... sync) {
  if constexpr (!requires { Sampler().minibatch; }) with.minibatch = 0;
  return Trainer<Encoded<Sampler, CharCnn>, Kernel, Sync...>(
      with, {Sampler::from(with), encoder, std::max(round, std::size_t{1}), round == 0}, Kernel(),
      std::move(sync)...);
}
inline auto column_trainer(std::size_t threads = 1, std::size_t round = 3) {
  return encoded_trainer<UniformMatrix>(parameters(threads), round);
}

inline Model copy_of(const Model& model) {
  Model copy(model.vocabulary, model.dimension());
  copy.set_matrices(model.copy_of_matrices());
  return copy;
}

/// Whether the input rows are, bit for bit, what the encoder makes of the words.
inline bool rows_are_encoded(const Model& model) {
  Model again = copy_of(model);
  encoder.start(again, 2, 1).encode();
  return same_matrices(again, model);
}

inline bool is_finite(const Model& model) {
  for (const auto& [name, matrix] : model.matrices())
    for (std::size_t i = 0; i < matrix->rows(); ++i)
      for (const float x : matrix->row(i))
        if (!std::isfinite(x)) return false;
  return true;
}

template <class AnyTrainer, class Corpus>
Model trained(AnyTrainer trainer, const Corpus& corpus, const Vocabulary& vocabulary) {
  Model model = trainer.new_model(vocabulary);
  trainer.train(corpus, model);
  return model;
}

}  // namespace small_encoder
