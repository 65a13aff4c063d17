#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/encoder/detail/sequence_network.hpp>
#include <wordloom/evaluation/detail/word_table.hpp>
#include <wordloom/evaluation/letter_case.hpp>
#include <wordloom/evaluation/sentences.hpp>
#include <wordloom/kernel/detail/one_blas_thread.hpp>
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
  const std::size_t size = set.sentences.size();
  SentenceSet::Report report;
  detail::WordTable table(embeddings, letter_case, seed, [&](const auto& call) {
    for (const auto& sentence : set.sentences)
      for (const std::string& word : sentence.words) call(word);
  });
  std::vector<std::vector<std::uint32_t>> symbols(size);
  std::map<std::uint32_t, std::uint32_t> classes;
  std::vector<std::uint32_t> labels;
  for (const auto& sentence : set.sentences) classes.try_emplace(sentence.label, 0);
  std::uint32_t next_class = 0;
  for (auto& [label, number] : classes) number = next_class++;
  for (std::size_t i = 0; i < size; ++i) {
    const auto& words = set.sentences[i].words;
    labels.push_back(classes[set.sentences[i].label]);
    for (const std::string& word : words) symbols[i].push_back(table.symbol(word));
    report.without_words += std::none_of(words.begin(), words.end(), [&](const std::string& word) {
      return find_spelling(embeddings.words(), word, letter_case).has_value();
    });
  }
  const std::vector<detail::Symbols> sequences(symbols.begin(), symbols.end());
  report.folds.resize(set.trained == 0 ? (std::min<std::size_t>)(10, size) : 1);
  report.right.resize(size - set.trained);
  const auto run_fold = [&](std::size_t fold) {
    std::vector<std::uint32_t> trained, tested;
    for (std::uint32_t i = 0; i < size; ++i)
      ((set.trained == 0 ? i % 10 == fold : i >= set.trained) ? tested : trained).push_back(i);
    const detail::HeldOut held_out(trained);
    detail::SequenceNetwork network({{table.rows(), trains_vectors}}, {.classes = classes.size(),
                                                                       .filters = filters,
                                                                       .dropout = dropout,
                                                                       .seed = 1000 * seed + fold});
    const auto share = [&](std::span<const std::uint32_t> guesses,
                           std::span<const std::uint32_t> items) {
      std::size_t right = 0;
      for (std::size_t i = 0; i < items.size(); ++i) right += guesses[i] == labels[items[i]];
      return static_cast<double>(right) /
             static_cast<double>((std::max<std::size_t>)(1, items.size()));
    };
    const auto guesses = detail::classes_at_best_epoch(
        network, std::span(sequences), std::span<const std::uint32_t>(labels), held_out, tested,
        epochs, batch, [&](const auto& found) { return share(found, held_out.decides); });
    report.folds[fold] = share(guesses, tested);
    for (std::size_t i = 0; i < tested.size(); ++i)
      report.right[tested[i] - set.trained] = guesses[i] == labels[tested[i]];
  };
  const detail::OneBlasThread one_thread;
  std::atomic<std::size_t> next{0};
  detail::run_threads((std::min)(resolve_threads(threads), report.folds.size()), [&](std::size_t) {
    for (std::size_t fold; (fold = next.fetch_add(1)) < report.folds.size();) run_fold(fold);
  });
  report.used = report.right.size();
  for (const double fold : report.folds)
    report.accuracy += fold / static_cast<double>(report.folds.size());
  return report;
}

}}  // namespace wordloom::WORDLOOM_ABI
