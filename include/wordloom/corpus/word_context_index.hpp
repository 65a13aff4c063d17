#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/hash.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/random_reads.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/kept_words.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/corpus/word_context_view.hpp>

namespace wordloom::inline WORDLOOM_ABI {

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
  /// Threads that make the matrix, up to 65536; 0 = all that the machine offers.
  std::size_t threads = 0;
  /// The file in which the contexts of one epoch are kept; empty: contexts are found on demand.
  std::filesystem::path file = {};

  /// Lists what determines the contexts.
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("columns", columns, 1, 1 << 24);
    visit("window", window, 1, 1000);
    visit("subsample", subsample, 0.0, 1.0);
    visit("seed", seed, std::uint64_t{0}, ~std::uint64_t{0});
  }

  /// Throws InvalidArgument that names the first field out of bounds, its value and the bounds.
  void validate() const {
    detail::validate(*this);
    detail::check_parameter("threads", threads, 0, 65536);
  }
};

namespace detail {

/// The words of a corpus and an inverted index of their places, from which any context of any word
/// is found. Memory: 8 bytes a kept word of the corpus; while it is made, up to 1 byte more.
/// Immutable; all members are thread-safe.
///
/// A word that occurs c times has n = 2 * window * c slots: slot = occurrence * 2 * window + which
/// of the window's places. Its context in a column is in the slot (x * n) >> 64 with
/// x = start + column * 2^64 / golden ratio, mod 2^64, where `start` is a hash of (seed, word).
///
/// These x are a low-discrepancy sequence (Weyl 1916), not random draws: any consecutive columns
/// visit all slots of a word almost equally often. Random draws would leave e^-r of the slots out
/// and repeat others, where there are r columns for each slot: noise that the training would see.
///
/// A slot beyond the end of a sentence has no word. Then x is replaced by hashes of itself, up to
/// `retries` of them, and at last by a random place that has a word in the window of the occurrence
/// found last.
class WordContextIndex {
 public:
  /// Reads the corpus once, with all threads; the same for any number of them. Sentences of one
  /// kept word are dropped, as it has no context. Throws InvalidArgument and CorpusError; see
  /// WordContextMatrix. `max_tokens`: how many words can be kept.
  template <Corpus C>
  WordContextIndex(const C& corpus, const Vocabulary& vocabulary, const WordContextOptions& options,
                   std::uint64_t max_tokens = UINT32_MAX)
      : window_(options.window),
        seed_(options.seed ^ own_streams),
        kept_(corpus, vocabulary, options.subsample,
              {.padding = options.window,
               .seed = options.seed,
               .threads = options.threads,
               .max_tokens = max_tokens}) {
    sort_places(vocabulary.size(), resolve_threads(options.threads));
  }

  /// The words that have a context, rising.
  std::span<const WordId> words() const noexcept { return words_; }

  /// Writes the context in `column` of words()[first + i] to to[i].
  void contexts(std::uint64_t column, std::size_t first, std::span<WordId> to) const noexcept {
    for (std::size_t i = 0; i < to.size(); i += at_once)
      some_contexts(column, &slots_[first + i], to.subspan(i, std::min(at_once, to.size() - i)));
  }

  /// What contexts are found from; a device has copies of these arrays. The first has the words of
  /// the corpus and end marks around them, view().window on each side; the last is of words().
  WordContextView view() const noexcept { return {ids(), places_.data(), window_}; }
  std::span<const WordId> padded_ids() const noexcept { return kept_.padded(); }
  std::span<const std::uint32_t> places() const noexcept { return places_; }
  std::span<const WordPlaces> places_of_words() const noexcept { return slots_; }

  /// Adds all that determines the contexts to a hash.
  void add_to(Hash& hash) const noexcept {
    hash.add(std::uint64_t{window_});
    hash.add(seed_);
    hash.add(ids(), kept_.size() * sizeof(WordId));
  }

 private:
  // Words whose contexts are found together, so that their cache misses overlap: a step of the
  // search prefetches for the next step, which comes `ahead` words later.
  static constexpr std::size_t at_once = 256, ahead = 24;
  // Makes the streams of random numbers others than those of corpora and samplers.
  static constexpr std::uint64_t own_streams = 0x776f7264636f6e74;

  /// Sorts the places by word, then by place: a parallel counting sort.
  void sort_places(std::size_t vocabulary_size, std::size_t threads);

  const WordId* ids() const noexcept { return kept_.ids(); }

  /// contexts() for up to `at_once` words.
  void some_contexts(std::uint64_t column, const WordPlaces* words,
                     std::span<WordId> to) const noexcept {
    const WordContextView here = view();
    std::array<WordContextView::Slot, at_once> slots;
    std::array<std::uint32_t, at_once> open;  // words without a context so far
    const auto x = [&](std::size_t i) { return WordContextView::number(words[i], column); };
    std::size_t count = 0;
    const std::size_t size = to.size();
    for (std::size_t i = 0; i < size + 2 * ahead; ++i) {
      if (i < size) slots[i] = here.slot_at(words[i], x(i));
      if (i >= ahead && i - ahead < size) slots[i - ahead] = here.find_place(slots[i - ahead]);
      if (i < 2 * ahead) continue;
      const std::size_t found = i - 2 * ahead;
      to[found] = here.word_at(slots[found].target);
      open[count] = static_cast<std::uint32_t>(found);
      count += here.ends_between(slots[found]);
    }
    // Few words are left: a pass for each step.
    for (std::uint64_t attempt = 1; count > 0 && attempt <= WordContextView::retries; ++attempt) {
      for (std::size_t k = 0; k < count; ++k)
        slots[open[k]] = here.slot_at(words[open[k]], WordContextView::next(x(open[k]), attempt));
      for (std::size_t k = 0; k < count; ++k) slots[open[k]] = here.find_place(slots[open[k]]);
      std::size_t left = 0;
      for (std::size_t k = 0; k < count; ++k) {
        const std::uint32_t i = open[k];
        to[i] = here.word_at(slots[i].target);
        open[left] = i;
        left += here.ends_between(slots[i]);
      }
      count = left;
    }
    for (std::size_t k = 0; k < count; ++k)
      to[open[k]] = here.any_context(slots[open[k]].place, x(open[k]));
  }

  std::size_t window_;
  std::uint64_t seed_;
  KeptWords kept_;
  std::vector<std::uint32_t> places_;  // [kept_.size()] places in ids(), by word
  std::vector<WordId> words_;          // [words that have a context]
  std::vector<WordPlaces> slots_;      // of `words_`
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void WordContextIndex::sort_places(std::size_t vocabulary_size,
                                                     std::size_t threads) {
  // Each piece has counts of its own; they take up to a quarter of the memory of the places.
  const std::size_t pieces =
      std::clamp(kept_.size() / (4 * vocabulary_size), std::size_t{1}, threads);
  std::vector<std::uint32_t> ends(pieces * vocabulary_size);  // [pieces x words]
  const auto for_each_place = [&](std::size_t piece, auto&& use) {
    const auto [begin, end] = part_of(kept_.size(), piece, pieces);
    std::uint32_t* const of_words = &ends[piece * vocabulary_size];
    const WordId* const words = ids();
    for (std::size_t i = begin; i < end; ++i) use(of_words[words[i] & ~KeptWords::end_mark], i);
  };
  run_threads(pieces, [&](std::size_t piece) {
    for_each_place(piece, [](std::uint32_t& count, std::size_t) { ++count; });
  });
  std::uint32_t begin = 0;
  for (std::size_t w = 0; w < vocabulary_size; ++w) {
    const std::uint32_t first = begin;
    for (std::size_t p = 0; p < pieces; ++p) {
      std::uint32_t& count = ends[p * vocabulary_size + w];
      begin += std::exchange(count, begin);
    }
    if (begin == first) continue;
    words_.push_back(static_cast<WordId>(w));
    slots_.push_back({first, begin - first, Random(seed_, w, 1)()});
  }
  resize_for_random_reads(places_, kept_.size());
  std::uint32_t* const places = places_.data();
  run_threads(pieces, [&](std::size_t piece) {
    for_each_place(piece, [places](std::uint32_t& end, std::size_t place) {
      places[end++] = static_cast<std::uint32_t>(place);
    });
  });
}

#endif

}  // namespace detail
}  // namespace wordloom::inline WORDLOOM_ABI
