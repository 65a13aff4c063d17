#pragma once
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/detail/hash.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/detail/corpus_file.hpp>
#include <wordloom/corpus/text_corpus.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/sync/collective.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// Compares the size and a sample of the bytes of the file that each rank reads. Throws SyncError,
/// on all ranks, if they differ.
template <class Ranks>
void agree_on_text(Ranks& ranks, const std::filesystem::path& path) {
  const auto source = CorpusSource::of(path, 0, 0, {});
  for (const std::uint64_t number : {source.text_bytes, source.text_sample})
    agree(ranks, "text in '" + path.string() + "'", number);
}

/// The file that a rank reads, and its part of that file.
struct RankText {
  std::filesystem::path path;
  TextPart part = {};

  /// `path`: the text of all ranks; if it contains %r, which is replaced by the rank's number
  /// wherever it occurs, each rank has its own.
  /// Throws SyncError, on all ranks, if they have different texts.
  template <class Ranks>
  static RankText of(Ranks& ranks, const std::filesystem::path& path) {
    std::string name = path.string();
    const bool has_own = name.find("%r") != name.npos;
    agree(ranks, "answer to whether each rank has a text of its own (%r)", has_own ? 1 : 0);
    const std::string rank = std::to_string(ranks.rank());
    for (std::size_t at = 0; (at = name.find("%r", at)) != name.npos;) name.replace(at, 2, rank);
    if (has_own) return {name};
    agree_on_text(ranks, path);
    return {path, {ranks.rank(), ranks.size()}};
  }
};

/// Appends a line `word count`, as Vocabulary::save writes it.
inline void add_count(std::string& lines, std::string_view word, std::uint64_t count) {
  lines.append(word).append(1, ' ').append(std::to_string(count)).append(1, '\n');
}
/// Sends each rank its share of such lines; calls `use(word, count)` for each that arrives.
template <class Ranks, class Use>
void exchange_counts(Ranks& ranks, std::vector<std::string> shares, Use use) {
  for (const std::string& share : ranks.exchange(std::move(shares)))
    for (std::string_view lines = share; !lines.empty();) {
      const std::size_t space = lines.find(' '), end = lines.find('\n', space);
      std::uint64_t count = 0;
      std::from_chars(lines.data() + space + 1, lines.data() + end, count);
      use(lines.substr(0, space), count);
      lines.remove_prefix(end + 1);
    }
}

}  // namespace detail

/// Counts a vocabulary with all ranks together; the result is that of Vocabulary::from_text on each
/// of them. Rank r counts the r-th part of the text, adds up the counts of its share of the words,
/// and sends the words that are frequent enough to the others. With %r in its name, which stands
/// for r, each rank counts a file of its own instead. All ranks call it, with the same
/// options except `threads`. Throws on all ranks CorpusError as from_text, and SyncError if they
/// have different texts; IoError and FormatError on the rank where they occur.
template <TextCollective Ranks>
Vocabulary rank_vocabulary(Ranks& ranks, const std::filesystem::path& path,
                           const VocabularyOptions& options = {}) {
  const auto text = detail::RankText::of(ranks, path);
  const std::size_t size = ranks.size();
  std::vector<std::string> shares(size);
  detail::count_words(text.path, options, text.part)
      .for_each([&](std::string_view word, std::uint64_t count) {
        detail::add_count(shares[detail::Hash::of(word) % size], word, count);
      });
  detail::WordCounter own;
  detail::exchange_counts(
      ranks, std::move(shares),
      [&](std::string_view word, std::uint64_t count) { own.add(word, count); });
  std::string frequent;
  own.for_each([&](std::string_view word, std::uint64_t count) {
    if (count >= options.min_count) detail::add_count(frequent, word, count);
  });
  std::uint64_t types = 0;
  for (const std::uint64_t of_rank : ranks.gather(own.size())) types += of_rank;
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  detail::exchange_counts(
      ranks, std::vector<std::string>(size, frequent),
      [&](std::string_view word, std::uint64_t count) { counts.emplace_back(word, count); });
  if (counts.empty()) throw Vocabulary::none_left(types, options, path);
  return Vocabulary::from_counts(counts, options);
}

namespace detail {

/// A corpus of which each rank holds only its own part; for a trainer of as many ranks it is the
/// whole corpus.
template <Corpus Part>
class RankCorpus {
 public:
  /// `part`: the part of this rank. `Ranks` may be any type with rank(), size() and gather(). All
  /// ranks call it. Throws CorpusError if no rank has a word.
  template <class Ranks>
  RankCorpus(Ranks& ranks, Part part)
      : part_(std::move(part)), rank_(ranks.rank()), size_(ranks.size()) {
    for (const std::uint64_t tokens : ranks.gather(part_.token_count())) {
      tokens_ += tokens;
      most_tokens_ = (std::max)(most_tokens_, tokens);
    }
    if (tokens_ == 0) throw CorpusError("no rank has a word of the vocabulary in its part");
    if constexpr (requires { part_.words_read(); })
      for (const std::uint64_t words : ranks.gather(part_.words_read())) words_read_ += words;
    if constexpr (requires { part_.fingerprint(); }) {
      detail::Hash hash;
      for (const std::uint64_t of_part : ranks.gather(part_.fingerprint())) hash.add(of_part);
      fingerprint_ = hash.value();
    }
  }

  /// Returns the number of in-vocabulary words of all ranks.
  std::uint64_t token_count() const noexcept { return tokens_; }
  /// Returns the number of in-vocabulary words of the rank that has most.
  std::uint64_t most_tokens() const noexcept { return most_tokens_; }
  /// Returns the number of words of all parts, unknown ones included; 0 if the parts do not count
  /// them.
  std::uint64_t words_read() const noexcept { return words_read_; }
  std::uint64_t vocabulary_fingerprint() const noexcept { return part_.vocabulary_fingerprint(); }
  /// Returns a hash of the fingerprints of all parts, equal on all ranks; 0 if they have none.
  std::uint64_t fingerprint() const noexcept { return fingerprint_; }
  static constexpr bool repeats = Part::repeats;
  bool splits() const noexcept { return detail::splits(part_); }
  bool holds_sentences() const noexcept { return detail::holds_sentences(part_); }
  std::size_t ranks() const noexcept { return size_; }
  /// Returns the sentences of a shard of the whole. Throws InvalidArgument for a shard that belongs
  /// to another rank.
  auto sentences(Shard shard) const {
    const std::size_t of_rank = shard.count / size_;
    if (shard.count % size_ != 0 || shard.index / of_rank != rank_)
      throw InvalidArgument{"shard ", shard.index, " of ", shard.count, " does not belong to rank ",
                            rank_,    " of ",      size_};
    shard.index %= of_rank;
    shard.count = of_rank;
    return part_.sentences(shard);
  }

 private:
  Part part_;
  std::size_t rank_, size_;
  std::uint64_t tokens_ = 0, most_tokens_ = 0, words_read_ = 0, fingerprint_ = 0;
};

}  // namespace detail

/// Makes an EncodedCorpus or TextCorpus of all ranks together, each of which reads its part of the
/// text, or, if the name of the text contains %r, which is replaced by the rank's number, a file of
/// its own. Those files should have about equally many words, because all ranks train equally long.
/// Each rank has a cache of its own, with `.<rank>-of-<ranks>` added to its name. All ranks call
/// it. Throws as those corpora do, and SyncError, on all ranks, if they have different texts.
template <Corpus Part, class Ranks>
detail::RankCorpus<Part> rank_corpus(Ranks& ranks, const std::filesystem::path& path,
                                     const Vocabulary& vocabulary, CorpusOptions options = {}) {
  const auto text = detail::RankText::of(ranks, path);
  options.part = text.part;
  if (ranks.size() > 1 && !options.cache.empty())
    options.cache += detail::joined({".", ranks.rank(), "-of-", ranks.size()});
  if constexpr (requires { Part::from_text(text.path, vocabulary, options); })
    return detail::RankCorpus<Part>(ranks, Part::from_text(text.path, vocabulary, options));
  else
    return detail::RankCorpus<Part>(ranks, Part(text.path, vocabulary, options));
}

}}  // namespace wordloom::WORDLOOM_ABI
