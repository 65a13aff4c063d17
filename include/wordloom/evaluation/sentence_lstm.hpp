#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/encoder/detail/lstm_network.hpp>
#include <wordloom/evaluation/detail/sentence_folds.hpp>
#include <wordloom/evaluation/letter_case.hpp>
#include <wordloom/evaluation/sentences.hpp>
#include <wordloom/model/embeddings.hpp>

/// Classification of texts by a recurrent network; needs the component `blas`.
namespace wordloom { inline namespace WORDLOOM_ABI {

/// A layer of long short-term memory (Hochreiter and Schmidhuber 1997, with the forget gates of
/// Gers et al. 2000) over the vectors of the words, which are not trained. Its last state, after
/// dropout, is classified by a softmax. Adam with the rate 0.001 trains it. PAR-Word2Vec (Moon et
/// al. 2019) classifies reviews of IMDB with 100 units; the other settings are ours.
struct SentenceSet::Lstm {
  /// The size of the state, 1 to 4096.
  std::size_t units = 100;
  /// The number of words that are read, 1 to 100000: of longer texts the last ones.
  std::size_t max_words = 400;
  /// The share of the last state that is left out at random in training, 0 to 0.99.
  double dropout = 0.5;
  /// The gradient of a batch, of all parameters, is shortened to this norm; above 0.
  double max_gradient = 1;
  /// Texts between two steps, 1 to 1000000. They are of similar length.
  std::size_t batch = 50;
  /// Passes over the texts, 1 to 10000.
  std::size_t epochs = 8;
  std::uint64_t seed = 1;
  LetterCase letter_case = LetterCase::fallback;
  /// 0: all processors of the machine, one fold each.
  std::size_t threads = 0;

  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("units", units, 1, 4096);
    visit("max_words", max_words, 1, 100'000);
    visit("dropout", dropout, 0.0, 0.99);
    visit("max_gradient", max_gradient, 1e-6, 1e6);
    visit("batch", batch, 1, 1'000'000);
    visit("epochs", epochs, 1, 10'000);
  }

  /// Classifies the texts of a set by the vectors of their words, as they are. Words without a
  /// vector have one that is drawn. Every tenth text to train on is held out; the tests are
  /// classified as after the epoch that is best on these. Memory: a copy of the vectors of the
  /// set's words, and for each thread 28 bytes for each unit and word of the longest batch.
  /// Deterministic for any number of threads. Throws InvalidArgument for parameters out of bounds
  /// and vectors that are not finite.
  [[nodiscard]] Report evaluate(const SentenceSet& set, const Embeddings& embeddings) const;
};

inline SentenceSet::Report SentenceSet::Lstm::evaluate(const SentenceSet& set,
                                                       const Embeddings& embeddings) const {
  validate_parameters(*this);
  return detail::classify_folds(
      set, embeddings, *this, max_words,
      [&](RowMatrix& vectors, std::size_t classes, std::uint64_t seed_of_fold) {
        return detail::LstmNetwork(vectors, {.classes = classes,
                                             .units = units,
                                             .dropout = dropout,
                                             .max_gradient = max_gradient,
                                             .seed = seed_of_fold});
      });
}

}}  // namespace wordloom::WORDLOOM_ABI
