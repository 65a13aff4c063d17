#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <type_traits>

#include <wordloom/core/types.hpp>

namespace wordloom {

/// The part of a corpus that one reader asks for: the `index`-th of `count` disjoint parts
/// (index < count) in one epoch. A corpus that draws its sentences at random draws them from
/// (seed, epoch, index, count); a corpus that repeats ignores `epoch` and `seed`.
struct Shard {
  std::size_t index = 0, count = 1;
  std::size_t epoch = 0;
  std::uint64_t seed = 1;
};

namespace detail {

template <class C>
concept CountsTokens = requires(const C& corpus) {
  { corpus.token_count() } -> std::convertible_to<std::uint64_t>;
};
template <class C>
concept HasSentences = requires(const C& corpus, const Shard& shard) {
  { corpus.sentences(shard) } -> std::ranges::input_range;
  requires std::convertible_to<std::ranges::range_reference_t<decltype(corpus.sentences(shard))>,
                               std::span<const WordId>>;
};
template <class C>
concept SaysIfItRepeats = requires {
  typename std::bool_constant<C::repeats>;
};

}  // namespace detail

/// Where sentences come from:
/// - `corpus.token_count()`: the in-vocabulary words of one epoch.
/// - `corpus.sentences(shard)`: an input range of `std::span<const WordId>`. The sentences are a
///   function of the shard alone: each begin() starts from the first of them, and a resumed run
///   sees what the interrupted one saw. Safe to call from several threads at once.
/// - `static constexpr bool repeats`: whether every epoch has the same sentences. Only then may a
///   device keep them.
/// - `corpus.vocabulary_fingerprint()`, optional: the fingerprint of the vocabulary that the ids
///   belong to, so that a trainer can refuse another one.
template <class C>
concept Corpus = detail::CountsTokens<C> && detail::HasSentences<C> && detail::SaysIfItRepeats<C>;

namespace detail {

template <class C>
constexpr bool require_corpus() {
  static_assert(CountsTokens<C>, "wordloom: this Corpus lacks token_count()");
  static_assert(HasSentences<C>,
                "wordloom: this Corpus lacks sentences(const Shard&), a range of "
                "std::span<const WordId>");
  static_assert(SaysIfItRepeats<C>,
                "wordloom: this Corpus lacks 'static constexpr bool repeats' (whether every epoch "
                "has the same sentences)");
  return Corpus<C>;
}

}  // namespace detail
}  // namespace wordloom
