#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/types.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// The part of a corpus for one reader: the `index`-th of `count` disjoint parts
/// (index < count) in one epoch. A corpus that draws its sentences at random draws them from
/// (seed, epoch, index, count); a corpus that repeats ignores `epoch` and `seed`.
struct Shard {
  std::size_t index = 0, count = 1;
  std::size_t epoch = 0;
  std::uint64_t seed = 1;

  /// Returns this shard of `size` consecutive items, as [first, last): nearly equal parts.
  std::pair<std::size_t, std::size_t> part_of(std::size_t size) const {
    return detail::part_of(size, index, count);
  }

  /// Returns the error for this shard of a corpus if no word in it has a context: each sentence has
  /// one word, or repeats one. Returns nothing for any other shard, and then reads only the
  /// sentences up to the first with two different words. Trainers throw such an error after
  /// training; programs call this before it. `cause`: the reason why sentences have one word; if it
  /// is empty, the message names a probable one. Defined in missing_contexts.hpp.
  template <class C>
  std::optional<CorpusError> missing_contexts(const C& corpus, std::string_view cause = {}) const;
};

namespace detail {

template <class C>
concept CountsTokens = requires(const C& corpus) {
  { corpus.token_count() } -> std::convertible_to<std::uint64_t>;
};
template <class C>
concept HasSentences = requires(const C& corpus, const Shard& shard) {
  { corpus.sentences(shard) } -> InputRange;
  requires std::convertible_to<ElementOf<decltype(corpus.sentences(shard))>,
                               std::span<const WordId>>;
};
template <class C>
concept SaysIfItRepeats = requires {
  typename std::bool_constant<C::repeats>;
}
|| requires(const C& corpus) {
  { corpus.repeats() } -> std::same_as<bool>;
};

template <class C>
constexpr bool require_corpus() {
  static_assert(CountsTokens<C>, "wordloom: this Corpus lacks token_count()");
  static_assert(HasSentences<C>,
                "wordloom: this Corpus lacks sentences(const Shard&), a range of "
                "std::span<const WordId>");
  static_assert(SaysIfItRepeats<C>,
                "wordloom: this Corpus lacks 'static constexpr bool repeats' (whether every epoch "
                "has the same sentences)");
  return CountsTokens<C> && HasSentences<C> && SaysIfItRepeats<C>;
}

/// Returns whether every epoch of a corpus has the same sentences.
template <class C>
bool repeats(const C& corpus) {
  if constexpr (requires { corpus.repeats(); })
    return corpus.repeats();
  else
    return C::repeats;
}

/// Returns whether training may drop words of a corpus at random (subsampling).
template <class C>
bool drops_words(const C& corpus) {
  if constexpr (requires { corpus.drops_words(); })
    return corpus.drops_words();
  else if constexpr (requires { C::drops_words; })
    return C::drops_words;
  else
    return true;
}

/// Returns whether several threads may share the work of reading a shard of a corpus.
template <class C>
bool splits(const C& corpus) {
  if constexpr (requires { corpus.splits(); })
    return corpus.splits();
  else if constexpr (requires { C::splits; })
    return C::splits;
  else
    return false;
}

/// Returns whether the sentences of a corpus stay in memory as long as the corpus.
template <class C>
bool holds_sentences(const C& corpus) {
  if constexpr (requires { corpus.holds_sentences(); })
    return corpus.holds_sentences();
  else if constexpr (requires { C::holds_sentences; })
    return C::holds_sentences;
  else
    return false;
}

/// Returns the number of ranks that hold a corpus together, each a part of it; 1 if this one holds
/// all of it.
template <class C>
std::size_t ranks_of(const C& corpus) {
  if constexpr (requires { corpus.ranks(); })
    return corpus.ranks();
  else
    return 1;
}

}  // namespace detail

/// A source of sentences:
/// - `corpus.token_count()`: the in-vocabulary words of one epoch.
/// - `corpus.sentences(shard)`: an input range of `std::span<const WordId>`. The sentences are a
///   function of the shard alone: each begin() starts from the first of them, and a resumed run
///   sees the sentences that the interrupted run saw. Safe to call from several threads at once.
/// - `static constexpr bool repeats`: whether every epoch has the same sentences. Only then may a
///   device keep them. `bool repeats() const` if it is known at run time only.
/// - `static constexpr bool drops_words` or `bool drops_words() const`, optional: false where
///   sentences must stay whole, such as walks on a graph. Such a corpus is never subsampled,
///   whatever Hyperparameters::subsample is.
/// - `static constexpr bool splits` or `bool splits() const`, optional: true where reading all of n
///   shards takes hardly more work than reading the whole. For a device, several threads then read
///   a shard of more than half a million words as smaller shards, ahead of training.
/// - `static constexpr bool holds_sentences` or `bool holds_sentences() const`, optional: true
///   where each span stays valid as long as the corpus. They are then copied to a device from where
///   they are.
/// - `std::size_t ranks() const`, optional: the ranks that hold it together, as those of
///   rank_corpus do. Rank r of n then reads the r-th of n successive groups of shards.
/// - `corpus.vocabulary_fingerprint()`, optional: the fingerprint of the vocabulary that the ids
///   belong to, so that a trainer can refuse another one.
/// - `corpus.fingerprint()`, optional, std::uint64_t: distinguishes the sentences of one corpus
///   from those of another, so that a run is not resumed with another text. Every call returns the
///   same.
template <class C>
concept Corpus = detail::CountsTokens<C> && detail::HasSentences<C> && detail::SaysIfItRepeats<C>;

namespace detail {

/// A sentence, or nothing after the last one.
using NextSentence = std::optional<std::span<const WordId>>;

}  // namespace detail

/// An input range over the sentences that a function returns: std::span<const WordId> for a corpus,
/// a span or vector of strings or ids for EncodedCorpus::encode or from_ids. `open()` returns a
/// reader at the first sentence: each call of the reader returns a std::optional of a sentence,
/// empty after the last one; a span is valid until the next call. Each begin() opens a reader.
template <class Open>
class SentenceRange {
  using Reader = std::invoke_result_t<const Open&>;
  using Next = std::remove_cvref_t<std::invoke_result_t<Reader&>>;

 public:
  class iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = typename Next::value_type;
    using difference_type = std::ptrdiff_t;

    iterator() = default;
    [[gnu::noinline]] explicit iterator(const Open& open) : reader_(new Reader(open())) { ++*this; }
    value_type operator*() const { return *sentence_; }
    iterator& operator++() {
      sentence_ = (*reader_)();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& it, std::default_sentinel_t) { return !it.sentence_; }

   private:
    std::shared_ptr<Reader> reader_;
    Next sentence_;
  };

  explicit SentenceRange(Open open) : open_(std::move(open)) {}
  iterator begin() const { return iterator(open_); }
  std::default_sentinel_t end() const { return {}; }

 private:
  Open open_;
};

/// Any corpus with a vocabulary_fingerprint(), chosen at run time: an indirect call for each
/// sentence. Immutable; copies share the corpus; as thread-safe as that corpus.
class AnyCorpus {
 public:
  template <Corpus C>
  requires(!std::same_as<C, AnyCorpus> &&
           requires(const C& c) { c.vocabulary_fingerprint(); }) explicit AnyCorpus(C corpus)
      : AnyCorpus(std::make_shared<const C>(std::move(corpus))) {}

  std::uint64_t token_count() const noexcept { return token_count_; }
  std::uint64_t vocabulary_fingerprint() const noexcept { return vocabulary_fingerprint_; }
  bool repeats() const noexcept { return repeats_; }
  bool drops_words() const noexcept { return drops_words_; }
  bool splits() const noexcept { return splits_; }
  bool holds_sentences() const noexcept { return holds_sentences_; }
  std::size_t ranks() const noexcept { return ranks_; }
  /// Returns 0 for a corpus without a fingerprint.
  std::uint64_t fingerprint() const { return hash_(); }
  auto sentences(const Shard& shard) const {
    return SentenceRange([open = open_, shard] { return open(shard); });
  }

 private:
  using Reader = std::function<detail::NextSentence()>;

  template <class C>
  explicit AnyCorpus(std::shared_ptr<const C> corpus)
      : token_count_(corpus->token_count()),
        vocabulary_fingerprint_(corpus->vocabulary_fingerprint()),
        repeats_(detail::repeats(*corpus)),
        drops_words_(detail::drops_words(*corpus)),
        splits_(detail::splits(*corpus)),
        holds_sentences_(detail::holds_sentences(*corpus)),
        ranks_(detail::ranks_of(*corpus)),
        hash_([corpus]() -> std::uint64_t {
          if constexpr (requires { corpus->fingerprint(); }) return corpus->fingerprint();
          return 0;
        }),
        open_([corpus](const Shard& shard) { return reader_of(corpus->sentences(shard)); }) {}

  template <class Sentences>
  static Reader reader_of(Sentences sentences) {
    struct State {
      Sentences sentences;
      std::optional<decltype(std::begin(sentences))> at = {};
    };
    return
        [state = std::make_shared<State>(State{std::move(sentences)})]() -> detail::NextSentence {
          auto& [range, at] = *state;
          if (at)
            ++*at;
          else
            at.emplace(range.begin());
          if (*at == range.end()) return std::nullopt;
          return **at;
        };
  }

  std::uint64_t token_count_, vocabulary_fingerprint_;
  bool repeats_, drops_words_, splits_, holds_sentences_;
  std::size_t ranks_;
  std::function<std::uint64_t()> hash_;
  std::function<Reader(const Shard&)> open_;
};

static_assert(Corpus<AnyCorpus>);

}}  // namespace wordloom::WORDLOOM_ABI
