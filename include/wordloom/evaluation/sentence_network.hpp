#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/encoder/detail/sequence_network.hpp>
#include <wordloom/evaluation/detail/sentence_folds.hpp>
#include <wordloom/evaluation/letter_case.hpp>
#include <wordloom/evaluation/sentences.hpp>
#include <wordloom/model/embeddings.hpp>

/// Classification of sentences by a convolutional network; needs the component `blas`.
namespace wordloom { inline namespace WORDLOOM_ABI {

/// The network of Kim (2014, "Convolutional Neural Networks for Sentence Classification") in the
/// settings of his code: filters over 3, 4 and 5 words, ReLU, the maximum over time, dropout, a
/// softmax whose weights of a class are no longer than 3, and Adadelta.
struct SentenceSet::Network {
  /// True if the vectors of words are trained, too ("non-static").
  bool trains_vectors = false;
  /// Filters of each width, 1 to 65536.
  std::size_t filters = 100;
  /// The share of features that are left out at random in training, 0 to 0.99.
  double dropout = 0.5;
  /// Sentences between two steps, 1 to 1000000.
  std::size_t batch = 50;
  /// Passes over the sentences, 1 to 10000.
  std::size_t epochs = 25;
  std::uint64_t seed = 1;
  LetterCase letter_case = LetterCase::fallback;
  /// 0: all processors of the machine, one fold each.
  std::size_t threads = 0;

  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("filters", filters, 1, 65536);
    visit("dropout", dropout, 0.0, 0.99);
    visit("batch", batch, 1, 1'000'000);
    visit("epochs", epochs, 1, 10'000);
  }

  /// Classifies the sentences of a set by the vectors of their words, as they are. Words without a
  /// vector have one that is drawn. Every tenth sentence to train on is held out; the tests are
  /// classified as after the epoch that is best on these. Memory: a copy of the vectors of the
  /// set's words, with trained vectors four for each thread. Deterministic for any number of
  /// threads. Throws InvalidArgument for parameters out of bounds and vectors that are not finite.
  [[nodiscard]] Report evaluate(const SentenceSet& set, const Embeddings& embeddings) const;
};

inline SentenceSet::Report SentenceSet::Network::evaluate(const SentenceSet& set,
                                                          const Embeddings& embeddings) const {
  validate_parameters(*this);
  return detail::classify_folds(
      set, embeddings, *this, (std::numeric_limits<std::size_t>::max)(),
      [&](RowMatrix& vectors, std::size_t classes, std::uint64_t seed_of_fold) {
        return detail::SequenceNetwork(
            {{vectors, trains_vectors}},
            {.classes = classes, .filters = filters, .dropout = dropout, .seed = seed_of_fold});
      });
}

}}  // namespace wordloom::WORDLOOM_ABI
