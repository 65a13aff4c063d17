#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <wordloom/core/error.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/concept.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Counts of a corpus that explain why nothing can be trained on it.
struct SentenceCounts {
  std::uint64_t sentences = 0, words = 0;
  std::size_t longest = 0;  // sentence, in words

  template <Corpus C>
  static SentenceCounts of(const C& corpus, const Shard& shard) {
    SentenceCounts counts;
    for (const std::span<const WordId> sentence : corpus.sentences(shard)) counts.add(sentence);
    return counts;
  }
  void add(std::span<const WordId> sentence) {
    ++sentences;
    words += sentence.size();
    longest = (std::max)(longest, sentence.size());
  }
};

/// Returns whether a word of a sentence has a context, which is a word other than itself.
inline bool has_contexts(std::span<const WordId> sentence) noexcept {
  return std::adjacent_find(sentence.begin(), sentence.end(), std::not_equal_to<>()) !=
         sentence.end();
}

/// Returns the counts of a shard in which no word has a context. For any other shard returns
/// nothing and reads only the sentences up to the first with two different words.
template <Corpus C>
std::optional<SentenceCounts> counts_without_contexts(const C& corpus, const Shard& shard) {
  SentenceCounts counts;
  for (const std::span<const WordId> sentence : corpus.sentences(shard)) {
    if (has_contexts(sentence)) return std::nullopt;
    counts.add(sentence);
  }
  return counts;
}

/// Returns the error for a corpus with these counts, of which no word has a context. `subsample`:
/// the threshold if words have a context before subsampling, else 0. `cause`: why sentences have
/// one word; if it is empty, the message names a probable cause.
CorpusError no_contexts(const SentenceCounts& counts, double subsample,
                        std::string_view cause = {});

/// Returns the error for a corpus on which nothing was trained. `subsample`: the threshold.
template <Corpus C>
CorpusError nothing_trained(const C& corpus, double subsample, std::uint64_t seed) {
  const Shard all{.seed = seed};
  if (const auto counts = counts_without_contexts(corpus, all)) return no_contexts(*counts, 0);
  if (subsample > 0) return no_contexts(SentenceCounts::of(corpus, all), subsample);
  return CorpusError("nothing to train on: the sampler made no block of the corpus");
}

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION CorpusError no_contexts(const SentenceCounts& counts, double subsample,
                                          std::string_view cause) {
  const std::string all =
      joined({"nothing to train on: no word of the corpus has a context: ",
              (counts.sentences == 1 ? "its 1 sentence"
                                     : joined({"each of its ", counts.sentences, " sentences"})),
              " (", counts.words, (counts.words == 1 ? " word)" : " words)")});
  if (subsample > 0) {
    char threshold[32];
    std::snprintf(threshold, sizeof threshold, "%g", subsample);
    return CorpusError{all, " has at most one word after subsampling with the threshold ",
                       threshold, "; use a higher one, or 0 to keep all words"};
  }
  if (counts.longest > 1)
    return CorpusError{
        all, " repeats one word",
        cause.empty() ? "; a sentence needs two different ones" : joined({": ", cause})};
  if (!cause.empty()) return CorpusError{all, " has one word: ", cause};
  return CorpusError{all, " has one word; is there one word a line? A line is a sentence"};
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
