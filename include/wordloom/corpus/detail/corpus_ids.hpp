#pragma once
#include <algorithm>
#include <cstddef>
#include <span>

#include <wordloom/core/error.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/vocabulary.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Throws CorpusError if a corpus says that it was encoded with another vocabulary.
template <Corpus C>
void require_same_vocabulary(const C& corpus, const Vocabulary& vocabulary) {
  if constexpr (requires { corpus.vocabulary_fingerprint(); })
    if (corpus.vocabulary_fingerprint() != vocabulary.fingerprint())
      throw CorpusError("the corpus was encoded with another vocabulary");
}

/// Throws CorpusError if a sentence has an id of none of so many words.
inline void check_ids(std::span<const WordId> sentence, std::size_t words) {
  WordId highest = 0;
  for (const WordId id : sentence) highest = (std::max)(highest, id);
  if (!sentence.empty() && highest >= words)
    throw CorpusError{"the corpus has the word id ", highest, ", the vocabulary has only ", words,
                      " words"};
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
