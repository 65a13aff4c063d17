#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <wordloom/core/parallel.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/encoder/detail/symbol_batch.hpp>
#include <wordloom/evaluation/detail/word_table.hpp>
#include <wordloom/evaluation/letter_case.hpp>
#include <wordloom/evaluation/sentences.hpp>
#include <wordloom/kernel/detail/one_blas_thread.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Classifies the sentences of a set by networks, one for each fold, which read the last
/// `max_words` words. `options` has `letter_case`, `batch`, `epochs`, `seed` and `threads`;
/// `make_network(vectors, classes, seed)` returns the network of a fold.
template <class Options, class MakeNetwork>
SentenceSet::Report classify_folds(const SentenceSet& set, const Embeddings& embeddings,
                                   const Options& options, std::size_t max_words,
                                   const MakeNetwork& make_network) {
  const std::size_t size = set.sentences.size();
  SentenceSet::Report report;
  WordTable table(embeddings, options.letter_case, options.seed, [&](const auto& call) {
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
    for (const std::string& word : std::span(words).last((std::min)(max_words, words.size())))
      symbols[i].push_back(table.symbol(word));
    report.without_words += std::none_of(words.begin(), words.end(), [&](const std::string& word) {
      return find_spelling(embeddings.words(), word, options.letter_case).has_value();
    });
  }
  const std::vector<Symbols> sequences(symbols.begin(), symbols.end());
  report.folds.resize(set.trained == 0 ? (std::min<std::size_t>)(10, size) : 1);
  report.right.resize(size - set.trained);
  const auto run_fold = [&](std::size_t fold) {
    std::vector<std::uint32_t> trained, tested;
    for (std::uint32_t i = 0; i < size; ++i)
      ((set.trained == 0 ? i % 10 == fold : i >= set.trained) ? tested : trained).push_back(i);
    const HeldOut held_out(trained);
    auto network = make_network(table.rows(), classes.size(), 1000 * options.seed + fold);
    const auto share = [&](std::span<const std::uint32_t> guesses,
                           std::span<const std::uint32_t> items) {
      std::size_t right = 0;
      for (std::size_t i = 0; i < items.size(); ++i) right += guesses[i] == labels[items[i]];
      return static_cast<double>(right) /
             static_cast<double>((std::max<std::size_t>)(1, items.size()));
    };
    const auto guesses =
        classes_at_best_epoch(network, std::span(sequences), std::span<const std::uint32_t>(labels),
                              held_out, tested, options.epochs, options.batch,
                              [&](const auto& found) { return share(found, held_out.decides); });
    report.folds[fold] = share(guesses, tested);
    for (std::size_t i = 0; i < tested.size(); ++i)
      report.right[tested[i] - set.trained] = guesses[i] == labels[tested[i]];
  };
  const OneBlasThread one_thread;
  std::atomic<std::size_t> next{0};
  run_threads((std::min)(resolve_threads(options.threads), report.folds.size()), [&](std::size_t) {
    for (std::size_t fold; (fold = next.fetch_add(1)) < report.folds.size();) run_fold(fold);
  });
  report.used = report.right.size();
  for (const double fold : report.folds)
    report.accuracy += fold / static_cast<double>(report.folds.size());
  return report;
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
