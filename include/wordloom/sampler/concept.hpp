#pragma once
#include <concepts>
#include <span>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/sampler/block.hpp>

namespace wordloom {

namespace detail {

/// Stands for the sink that a trainer passes to a sampler.
struct AnySink {
  void operator()(const Block&) const noexcept {}
};

template <class S>
concept MadeFromVocabulary = std::constructible_from<S, const Hyperparameters&, const Vocabulary&>;
template <class S>
concept NamesProduct = requires {
  typename S::Produces;
};
template <class S>
concept BoundsBlocks = requires(const S& sampler) {
  { sampler.max_block() } -> std::convertible_to<BlockShape>;
};
template <class S>
concept Samples = requires(S& sampler, std::span<const WordId> sentence, Random& random) {
  sampler.sample(sentence, random, AnySink{});
};

}  // namespace detail

/// `Sampler sampler(hyperparameters, vocabulary); sampler.max_block();`
/// `sampler.sample(sentence, random, sink);` calls `sink(block)` for each block of the sentence, in
/// order; `Sampler::Produces` names the block type (Block). Copyable, one copy for each thread: it
/// may keep scratch memory, but draws only from `random`.
template <class S>
concept Sampler = std::copy_constructible<S> && detail::MadeFromVocabulary<S> &&
    detail::NamesProduct<S> && detail::BoundsBlocks<S> && detail::Samples<S>;

namespace detail {

// The compiler's note names the policy ("required from ... require_sampler<Name>"), the message
// what it lacks.
template <class S>
constexpr bool require_sampler() {
  static_assert(std::copy_constructible<S>,
                "wordloom: this Sampler cannot be copied; each thread trains with a copy");
  static_assert(
      MadeFromVocabulary<S>,
      "wordloom: this Sampler lacks a constructor (const Hyperparameters&, const Vocabulary&)");
  static_assert(NamesProduct<S>,
                "wordloom: this Sampler lacks 'using Produces = Block' (the block type it makes)");
  static_assert(BoundsBlocks<S>, "wordloom: this Sampler lacks 'BlockShape max_block() const'");
  static_assert(Samples<S>,
                "wordloom: this Sampler lacks 'void sample(std::span<const WordId> sentence, "
                "Random&, Sink&& sink)'");
  return Sampler<S>;
}

}  // namespace detail
}  // namespace wordloom
