#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/vocabulary.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// The subwords of a word as in fastText (Bojanowski et al. 2017, "Enriching Word Vectors with
/// Subword Information"): the n-grams of minn to maxn characters of "<word>". Each n-gram is hashed
/// to one of `buckets` rows. Characters are those of UTF-8; invalid UTF-8 is accepted.
struct SubwordOptions {
  std::size_t minn = 3, maxn = 6;   // maxn = 0: no subwords
  std::size_t buckets = 2'000'000;  // up to 2^31 - 1

  bool operator==(const SubwordOptions&) const = default;

  /// Returns the number of rows that the n-grams need: 0 without subwords.
  std::size_t rows() const noexcept { return maxn == 0 ? 0 : buckets; }

  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("minn", minn, std::size_t{0}, maxn == 0 ? minn : maxn);
    visit("maxn", maxn, std::size_t{0}, std::size_t{1000});
    visit("buckets", buckets, std::size_t{1}, std::size_t{0x7fff'ffff});
  }
};

namespace detail {

/// The end of a sentence in fastText's vocabularies: this word has no n-grams.
inline constexpr std::string_view fasttext_end_of_sentence = "</s>";

/// FNV-1a with 32 bits of sign-extended bytes, which is fastText's hash of words and n-grams.
struct SubwordHash {
  std::uint32_t value = 2166136261u;
  void add(char byte) noexcept {
    value ^= static_cast<std::uint32_t>(static_cast<std::int8_t>(byte));
    value *= 16777619u;
  }
};

/// Calls `use(ngram, hash)` for each n-gram of a word in fastText's order: by the first character,
/// then by length. A "<" or ">" alone is left out. The views are valid during the call.
template <class Use>
void for_each_ngram(std::string_view word, const SubwordOptions& options, Use&& use) {
  if (options.maxn == 0 || word == fasttext_end_of_sentence) return;
  std::string text;
  text.reserve(word.size() + 2);
  text.append("<").append(word).append(">");
  const auto continues = [&](std::size_t i) {
    return i < text.size() && (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
  };
  for (std::size_t first = 0; first < text.size(); ++first) {
    if (continues(first)) continue;
    SubwordHash hash;
    for (std::size_t n = 1, end = first; n <= options.maxn && end < text.size(); ++n) {
      do hash.add(text[end++]);
      while (continues(end));
      const bool is_mark = n == 1 && (first == 0 || end == text.size());
      if (n >= options.minn && !is_mark)
        use(std::string_view(text).substr(first, end - first), hash.value);
    }
  }
}

/// Calls `use(row)` for each row of the bag of a word: its own row `id`, if it is in the vocabulary
/// of `words` words, then the rows of its n-grams, which follow the rows of the words. A row may be
/// passed more than once.
template <class Use>
void for_each_row_of_word(std::string_view word, std::optional<WordId> id, std::size_t words,
                          const SubwordOptions& options, Use&& use) {
  if (id) use(RowId{*id});
  const auto buckets = static_cast<std::uint32_t>(options.buckets);
  for_each_ngram(word, options, [&](std::string_view, std::uint32_t hash) {
    use(static_cast<RowId>(words + hash % buckets));
  });
}

/// Returns the n-grams of a word, which may be unknown, in the order of `fasttext print-ngrams`; an
/// n-gram may occur twice. Throws InvalidArgument for options out of bounds.
[[nodiscard]] std::vector<std::string> ngrams_of(std::string_view word,
                                                 const SubwordOptions& options = {});

/// The bag of each word of a vocabulary: its own row of Model::input and the rows of its n-grams,
/// 4 bytes each. Immutable; copies share the table; thread-safe.
class SubwordTable {
 public:
  /// Makes the table with `threads` threads (0: all processors of the machine), whose number does
  /// not change it. Throws InvalidArgument for options out of bounds, for more than 2^32 - 1 rows
  /// and for more than 2^32 - 1 n-grams of all words together, and std::bad_alloc.
  SubwordTable(const Vocabulary& vocabulary, const SubwordOptions& options,
               std::size_t threads = 0);

  /// Returns the rows of a word, its own first. A row may occur twice. The span is valid as long as
  /// any copy of the table.
  std::span<const RowId> operator[](WordId word) const& noexcept {
    const std::size_t first = word == 0 ? 0 : store_->ends[word - 1];
    return std::span(store_->rows).subspan(first, store_->ends[word] - first);
  }
  void operator[](WordId) const&& = delete;
  const SubwordOptions& options() const noexcept { return store_->options; }
  /// Returns V.
  std::size_t words() const noexcept { return store_->ends.size(); }
  /// Returns the number of rows of Model::input: V and those of the n-grams.
  std::size_t input_rows() const noexcept { return words() + options().rows(); }
  /// Returns the number of rows in the largest bag.
  std::size_t longest() const noexcept { return store_->longest; }

 private:
  struct Store {
    SubwordOptions options;
    std::vector<std::uint32_t> ends;  // [V] ends of the bags in `rows`
    std::vector<RowId> rows;
    std::size_t longest = 0;
  };

  std::shared_ptr<const Store> store_;
};

}  // namespace detail

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

WORDLOOM_FUNCTION std::vector<std::string> ngrams_of(std::string_view word,
                                                     const SubwordOptions& options) {
  validate_parameters(options);
  std::vector<std::string> ngrams;
  detail::for_each_ngram(
      word, options, [&](std::string_view ngram, std::uint32_t) { ngrams.emplace_back(ngram); });
  return ngrams;
}

WORDLOOM_FUNCTION SubwordTable::SubwordTable(const Vocabulary& vocabulary,
                                             const SubwordOptions& options, std::size_t threads) {
  validate_parameters(options);
  const std::size_t words = vocabulary.size();
  if (words + options.rows() > (std::numeric_limits<RowId>::max)())
    throw InvalidArgument{words, " words and ", options.rows(),
                          " buckets are more than 2^32 - 1 rows: use fewer buckets"};
  auto store = std::make_shared<Store>();
  store->options = options;
  store->ends.resize(words);
  threads = std::clamp<std::size_t>(words / 1000, 1, resolve_threads(threads));
  const auto for_words = [&](auto use) {
    detail::run_threads(threads, [&](std::size_t t) {
      const auto [first, last] = detail::part_of(words, t, threads);
      for (std::size_t w = first; w < last; ++w) use(static_cast<WordId>(w));
    });
  };
  const auto for_rows = [&](WordId w, auto use) {
    detail::for_each_row_of_word(vocabulary.word(w), w, words, options, use);
  };
  for_words([&](WordId w) { for_rows(w, [&](RowId) { ++store->ends[w]; }); });
  std::uint64_t end = 0;
  for (std::uint32_t& size : store->ends) {
    store->longest = (std::max<std::size_t>)(store->longest, size);
    end += size;
    size = static_cast<std::uint32_t>(end);
  }
  if (end > (std::numeric_limits<std::uint32_t>::max)())
    throw InvalidArgument{"the words have ", end,
                          " n-grams together, more than 2^32 - 1: raise minn, lower maxn or leave ",
                          "out rare words"};
  store->rows.resize(end);
  for_words([&](WordId w) {
    RowId* to = store->rows.data() + (w == 0 ? 0 : store->ends[w - 1]);
    for_rows(w, [&](RowId row) { *to++ = row; });
  });
  store_ = std::move(store);
}

}  // namespace detail

#endif

}}  // namespace wordloom::WORDLOOM_ABI
