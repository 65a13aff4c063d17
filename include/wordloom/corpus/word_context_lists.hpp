#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <wordloom/core/detail/hash.hpp>
#include <wordloom/core/detail/random_reads.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/detail/kept_words.hpp>
#include <wordloom/corpus/detail/word_context_view.hpp>
#include <wordloom/corpus/vocabulary.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The options of a WordContextMatrix.
struct WordContextOptions {
  /// Contexts of each word in an epoch (l), 1 to 2^24.
  std::size_t columns = 1024;
  /// Context words on each side of a word, 1 to 1000.
  std::size_t window = 2;
  /// Threshold of subsampling as in Hyperparameters. Words are dropped once, before windows are
  /// formed; 0 keeps all.
  double subsample = 0;
  std::uint64_t seed = 1;
  /// Threads that make the matrix, up to 65536; 0 = all processors of the machine.
  std::size_t threads = 0;
  /// The file that keeps the contexts of one epoch for all epochs; empty: contexts are kept in
  /// memory, and each epoch has different ones.
  std::filesystem::path file = {};

  /// Lists the options that determine the contexts.
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("columns", columns, 1, 1 << 24);
    visit("window", window, 1, 1000);
    visit("subsample", subsample, 0.0, 1.0);
    visit("seed", seed, std::uint64_t{0}, ~std::uint64_t{0});
  }

  /// Throws InvalidArgument that names the first field out of bounds, its value and the bounds.
  void validate() const {
    validate_parameters(*this);
    check_parameter("threads", threads, 0, 65536);
  }
};

/// The contexts of each word, shuffled over the corpus. Column c holds context c mod n of a word
/// with n contexts, so n successive columns use each context once, and read a word's contexts from
/// the same cache line up to 32 times.
///
/// The n contexts of a word are counted from 0 in the order of the corpus; place p of its list
/// holds number (a + g * p) mod n. g is close to n / golden ratio and has no common divisor with n,
/// so that these numbers are a permutation and each run of them is spread evenly (Weyl 1916). The
/// number a is random for each (seed, word).
///
/// Only the first `max_contexts` places of each list are kept. Memory: up to 2 * window contexts
/// for each kept word of the corpus, of 2 bytes each with a vocabulary of up to 65,536 words and of
/// 4 bytes with a larger one; 5 more bytes for each kept word while the lists are made. Immutable;
/// all members are thread-safe.
class WordContextLists {
 public:
  /// Reads the corpus once, with all threads, whose number does not change the result. Sentences of
  /// one kept word are dropped, as it has no context. Throws InvalidArgument and CorpusError; see
  /// WordContextMatrix. `max_contexts`: of a word, 1 to 2^32 - 1.
  template <Corpus C>
  WordContextLists(const C& corpus, const Vocabulary& vocabulary, const WordContextOptions& options,
                   std::size_t max_contexts) {
    const std::size_t threads = resolve_threads(options.threads);
    make(KeptWords::of(corpus, vocabulary, options.subsample, options.seed, threads),
         vocabulary.size(), options, max_contexts, threads);
  }

  /// The words with at least one context, in ascending order.
  std::span<const WordId> words() const noexcept { return words_; }

  /// Writes the contexts of `count` words, words()[first] and those that follow, in `column` and
  /// the next columns: to is [columns x count], row-major. Several columns at once take little
  /// longer than one.
  void contexts(std::uint64_t column, std::size_t first, std::size_t count,
                std::span<WordId> to) const noexcept {
    if (short_ids_.empty())
      find(long_ids_.data(), column, first, count, to);
    else
      find(short_ids_.data(), column, first, count, to);
  }

  /// Returns the lookup arrays, of which a device keeps copies. Exactly one of `short_ids` and
  /// `long_ids` is empty.
  WordContextView view() const noexcept {
    return {lists_.data(), short_ids_.empty() ? nullptr : short_ids_.data(), long_ids_.data()};
  }
  std::span<const ContextList> lists() const noexcept { return lists_; }
  std::span<const std::uint16_t> short_ids() const noexcept { return short_ids_; }
  std::span<const WordId> long_ids() const noexcept { return long_ids_; }

  /// Adds everything that determines the contexts to a hash.
  void add_to(Hash& hash) const noexcept {
    hash.add(words_.data(), words_.size() * sizeof(WordId));
    for (const ContextList& list : lists_) hash.add(std::uint64_t{list.size});
    hash.add(short_ids_.data(), short_ids_.size() * sizeof(std::uint16_t));
    hash.add(long_ids_.data(), long_ids_.size() * sizeof(WordId));
  }

 private:
  template <class Id>
  void find(const Id* ids, std::uint64_t column, std::size_t first, std::size_t count,
            std::span<WordId> to) const noexcept;

  // Makes these streams of random numbers differ from those of corpora and samplers.
  static constexpr std::uint64_t own_streams = 0x776f7264636f6e74;

  /// The place of the next context of a word: `step` after the last one, mod `contexts`.
  struct Order {
    std::uint64_t contexts = 0, step = 0;  // of a word
    std::uint64_t first = 0, size = 0;     // of its list
  };

  /// Returns the inverse of `number` mod `modulus`, with which it has no common divisor.
  static std::uint64_t inverse(std::uint64_t number, std::uint64_t modulus);

  /// Lists the contexts: a parallel counting sort.
  void make(const KeptWords& kept, std::size_t vocabulary_size, const WordContextOptions& options,
            std::size_t max_contexts, std::size_t threads);

  std::vector<WordId> words_;       // [words that have a context]
  std::vector<ContextList> lists_;  // of `words_`
  std::vector<std::uint16_t> short_ids_;
  std::vector<WordId> long_ids_;  // one of the two is empty
};

template <class Id>
void WordContextLists::find(const Id* ids, std::uint64_t column, std::size_t first,
                            std::size_t count, std::span<WordId> to) const noexcept {
  const auto number = static_cast<std::uint32_t>(column);
  const std::span<const ContextList> lists = std::span(lists_).subspan(first, count);
  // The place of the context in the last of the columns, relative to that in the first.
  const std::size_t last = count == 0 ? 0 : to.size() / count - 1;
  for (std::size_t i = 0; i < count; ++i) {
    constexpr std::size_t ahead = 12;  // words whose contexts are prefetched
    if (i + ahead < count) {
      const Id* const later = ids + lists[i + ahead].place(number);
      __builtin_prefetch(later);
      __builtin_prefetch(later + last);
    }
    std::size_t place = lists[i].place(number);
    const std::size_t end = lists[i].first + lists[i].size;
    for (std::size_t at = i; at < to.size(); at += count) {
      to[at] = ids[place];
      if (++place == end) place = lists[i].first;
    }
  }
}

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION std::uint64_t WordContextLists::inverse(std::uint64_t number,
                                                          std::uint64_t modulus) {
  // Euclid's algorithm; invariant: `rest` = `factor` * number mod modulus.
  std::int64_t factor = 0, next_factor = 1;
  std::uint64_t rest = modulus, next_rest = number % modulus;
  while (next_rest != 0) {
    const auto times = static_cast<std::int64_t>(rest / next_rest);
    factor = std::exchange(next_factor, factor - times * next_factor);
    rest = std::exchange(next_rest, rest % next_rest);
  }
  return factor < 0 ? modulus - static_cast<std::uint64_t>(-factor)
                    : static_cast<std::uint64_t>(factor) % modulus;
}

WORDLOOM_FUNCTION void WordContextLists::make(const KeptWords& kept, std::size_t vocabulary_size,
                                              const WordContextOptions& options,
                                              std::size_t max_contexts, std::size_t threads) {
  __extension__ typedef unsigned __int128 wide;
  constexpr WordId end_mark = KeptWords::end_mark;
  // Each piece has places of its own; they take up to a quarter of the memory of the kept words.
  const std::size_t pieces = std::clamp<std::size_t>(kept.size() / (8 * vocabulary_size), 1,
                                                     (std::min)(threads, KeptWords::part_count));
  std::vector<std::uint64_t> places(pieces * vocabulary_size);  // [pieces x words]
  // Calls `use(word, place, address, before, after)` for each word of all pieces: the place of its
  // next context, its address in the part, and the numbers of contexts before and after it.
  const auto for_each_word = [&](auto&& use) {
    run_threads(pieces, [&](std::size_t piece) {
      std::uint64_t* const of_words = &places[piece * vocabulary_size];
      const auto [first, last] = detail::part_of(KeptWords::part_count, piece, pieces);
      for (std::size_t p = first; p < last; ++p) {
        const std::span<const WordId> part = kept.parts[p];
        for (std::size_t begin = 0, end = 0; begin < part.size(); begin = end) {
          while ((part[end++] & end_mark) == 0) continue;
          for (std::size_t i = begin; i < end; ++i) {
            const WordId word = part[i] & ~end_mark;
            use(word, of_words[word], &part[i], (std::min)(options.window, i - begin),
                (std::min)(options.window, end - 1 - i));
          }
        }
      }
    });
  };
  for_each_word([](WordId, std::uint64_t& count, const WordId*, std::size_t before,
                   std::size_t after) { count += before + after; });

  std::vector<Order> orders(vocabulary_size);
  std::uint64_t first = 0;
  for (std::size_t w = 0; w < vocabulary_size; ++w) {
    std::uint64_t contexts = 0;
    for (std::size_t p = 0; p < pieces; ++p) contexts += places[p * vocabulary_size + w];
    if (contexts == 0) continue;
    constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;  // 2^64 / the golden ratio
    auto step_back = static_cast<std::uint64_t>((wide{contexts} * golden) >> 64);
    while (std::gcd(step_back, contexts) != 1) ++step_back;
    const std::uint64_t step = inverse(step_back, contexts);
    std::uint64_t place = Random(options.seed ^ own_streams, w, 1).below(contexts);
    for (std::size_t p = 0; p < pieces; ++p) {
      const std::uint64_t count = std::exchange(places[p * vocabulary_size + w], place);
      place = static_cast<std::uint64_t>((place + wide{count} * step) % contexts);
    }
    const auto size = static_cast<std::uint32_t>((std::min<std::uint64_t>)(contexts, max_contexts));
    words_.push_back(static_cast<WordId>(w));
    lists_.emplace_back(first, size);
    orders[w] = {contexts, step, first, size};
    first += size;
  }
  const auto fill = [&](auto& ids) {
    resize_for_random_reads(ids, first);
    for_each_word([&orders, to = ids.data()](WordId word, std::uint64_t& next, const WordId* at,
                                             std::size_t before, std::size_t after) {
      const Order order = orders[word];
      std::uint64_t place = next;
      const auto put = [&](WordId context) {
        using Id = std::remove_cvref_t<decltype(*to)>;
        if (place < order.size) to[order.first + place] = static_cast<Id>(context & ~end_mark);
        place += order.step;
        if (place >= order.contexts) place -= order.contexts;
      };
      for (const WordId* context = at - before; context < at; ++context) put(*context);
      for (const WordId* context = at + 1; context <= at + after; ++context) put(*context);
      next = place;
    });
  };
  if (vocabulary_size <= std::size_t{1} << 16)
    fill(short_ids_);
  else
    fill(long_ids_);
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
