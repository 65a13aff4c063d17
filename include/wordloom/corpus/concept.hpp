#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>

#include <wordloom/core/types.hpp>

namespace wordloom {

namespace detail {

template <class C>
concept CountsTokens = requires(const C& corpus) {
  { corpus.token_count() } -> std::convertible_to<std::uint64_t>;
};
template <class C>
concept Shards = requires(const C& corpus, std::size_t i) {
  { corpus.shard(i, i) } -> std::ranges::input_range;
  requires std::convertible_to<std::ranges::range_reference_t<decltype(corpus.shard(i, i))>,
                               std::span<const WordId>>;
};

}  // namespace detail

/// `corpus.token_count()` and `corpus.shard(i, n)`, the i-th of n disjoint parts as a range of
/// `std::span<const WordId>` sentences. Shards are read by different threads at a time.
template <class C>
concept Corpus = detail::CountsTokens<C> && detail::Shards<C>;

namespace detail {

template <class C>
constexpr bool require_corpus() {
  static_assert(CountsTokens<C>, "wordloom: this Corpus lacks token_count()");
  static_assert(
      Shards<C>,
      "wordloom: this Corpus lacks shard(i, n), a range of std::span<const WordId> sentences");
  return Corpus<C>;
}

}  // namespace detail
}  // namespace wordloom
