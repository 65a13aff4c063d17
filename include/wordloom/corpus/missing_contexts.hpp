#pragma once
#include <optional>
#include <string_view>

#include <wordloom/core/error.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/detail/nothing_to_train.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Returns the error for a shard of a corpus in which no word has a context: each sentence has one
/// word, or repeats one. Returns nothing for any other shard, and then reads only the sentences up
/// to the first with two different words. Trainers throw such an error after training; programs
/// call this before it. `cause`: the reason why sentences have one word; if it is empty, the
/// message names a probable one.
template <Corpus C>
std::optional<CorpusError> missing_contexts(const C& corpus, const Shard& shard,
                                            std::string_view cause = {}) {
  if (const auto counts = detail::counts_without_contexts(corpus, shard))
    return detail::no_contexts(*counts, 0, cause);
  return std::nullopt;
}

}}  // namespace wordloom::WORDLOOM_ABI
