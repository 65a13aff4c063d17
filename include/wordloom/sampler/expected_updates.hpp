#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include <wordloom/core/types.hpp>
#include <wordloom/corpus/subsampling.hpp>
#include <wordloom/corpus/vocabulary.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// The expected number of times that each row of a matrix is scored against rows of the other, for
/// each word of the corpus that is trained. Sync policies need it.
struct ExpectedUpdates {
  std::vector<float> input, output;
};

}  // namespace detail

/// The share of the corpus that each word is, as a centre, after subsampling.
struct WordRates {
  std::vector<double> kept;  // [V]
  double sum = 0;            // over all words

  WordRates(const Vocabulary& vocabulary, double subsample);
};

namespace detail {

/// Returns the expected updates of a sampler that scores each of `context` words of a centre
/// against the centre's targets.
template <class TargetTables>
ExpectedUpdates expected_of_skip_gram(const WordRates& rates, double context,
                                      const TargetTables& targets) {
  const double pairs = targets.expected_size(rates);
  ExpectedUpdates result;
  for (const double kept : rates.kept)
    result.input.push_back(static_cast<float>(kept * context * pairs));
  for (const double scored : targets.expected_outputs(rates))
    result.output.push_back(static_cast<float>(context * scored));
  return result;
}

}  // namespace detail

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION WordRates::WordRates(const Vocabulary& vocabulary, double subsample)
    : kept(vocabulary.size()) {
  const detail::Subsampling subsampling(vocabulary, subsample);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    kept[i] = subsampling.keep_probability(static_cast<WordId>(i)) *
              static_cast<double>(vocabulary.counts()[i]) /
              static_cast<double>(vocabulary.total_count());
    sum += kept[i];
  }
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
