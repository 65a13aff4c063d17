#pragma once
#include <optional>
#include <string_view>

#include <wordloom/core/error.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/detail/nothing_to_train.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

template <class C>
std::optional<CorpusError> Shard::missing_contexts(const C& corpus, std::string_view cause) const {
  if (const auto counts = detail::counts_without_contexts(corpus, *this))
    return detail::no_contexts(*counts, 0, cause);
  return std::nullopt;
}

}}  // namespace wordloom::WORDLOOM_ABI
