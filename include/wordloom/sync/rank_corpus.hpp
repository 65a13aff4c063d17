#pragma once
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hash.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/corpus_file.hpp>
#include <wordloom/corpus/corpus_options.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/corpus/word_counter.hpp>
#include <wordloom/sync/collective.hpp>

/// A text that each of several ranks reads a part of.
namespace wordloom {

namespace detail {

/// Throws SyncError when not all ranks see the same file: by its size and a sample of its bytes.
template <class Ranks>
void agree_on_text(Ranks& ranks, const std::filesystem::path& path) {
  const auto source = CorpusSource::of(path, 0, 0, {});
  for (const std::uint64_t number : {source.text_bytes, source.text_sample}) {
    const auto all = ranks.gather(number);
    for (std::size_t r = 1; r < all.size(); ++r)
      if (all[r] != all[0])
        throw SyncError("rank " + std::to_string(r) + " has another text in '" + path.string() +
                        "' than rank 0");
  }
}

/// Lines `word count`, as those of Vocabulary::save.
inline void add_count(std::string& lines, std::string_view word, std::uint64_t count) {
  lines.append(word).append(1, ' ').append(std::to_string(count)).append(1, '\n');
}
template <class Use>
void for_each_count(std::string_view lines, Use use) {
  while (!lines.empty()) {
    const std::size_t space = lines.find(' '), end = lines.find('\n', space);
    std::uint64_t count = 0;
    std::from_chars(lines.data() + space + 1, lines.data() + end, count);
    use(lines.substr(0, space), count);
    lines.remove_prefix(end + 1);
  }
}

}  // namespace detail

/// Vocabulary::from_text of all ranks together, the same on each: rank r counts the r-th part of
/// the text, adds up what all have counted of its share of the words, and tells the others of those
/// that are frequent enough. All ranks call it, with the same options but for threads. Throws as
/// from_text: what is wrong with the words on all ranks, what is wrong with the file where it is;
/// and SyncError, on all ranks, when they have different texts.
template <TextCollective Ranks>
Vocabulary rank_vocabulary(Ranks& ranks, const std::filesystem::path& path,
                           const VocabularyOptions& options = {}) {
  detail::agree_on_text(ranks, path);
  const std::size_t size = ranks.size();
  std::vector<std::string> shares(size);
  detail::count_words(path, options.threads, {ranks.rank(), size})
      .for_each([&](std::string_view word, std::uint64_t count) {
        detail::add_count(shares[(detail::fnv(word) >> 32) % size], word, count);
      });
  detail::WordCounter own;
  for (const std::string& share : ranks.exchange(std::move(shares)))
    detail::for_each_count(
        share, [&](std::string_view word, std::uint64_t count) { own.add(word, count); });
  std::string frequent;
  own.for_each([&](std::string_view word, std::uint64_t count) {
    if (count >= options.min_count) detail::add_count(frequent, word, count);
  });
  std::uint64_t types = 0;
  for (const std::uint64_t of_rank : ranks.gather(own.size())) types += of_rank;
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  for (const std::string& share : ranks.exchange(std::vector<std::string>(size, frequent)))
    detail::for_each_count(share, [&](std::string_view word, std::uint64_t count) {
      counts.emplace_back(word, count);
    });
  if (counts.empty()) throw Vocabulary::none_left(types, options, path);
  return Vocabulary::from_counts(counts, options);
}

/// A corpus of which each rank holds its part alone; a trainer of as many ranks takes it for the
/// whole.
template <Corpus Part>
class RankCorpus {
 public:
  /// Of the r-th part of the r-th rank; `Ranks` may be anything with rank(), size() and gather().
  /// All ranks call it. Throws CorpusError when no rank has a word.
  template <class Ranks>
  RankCorpus(Ranks& ranks, Part part)
      : part_(std::move(part)), rank_(ranks.rank()), size_(ranks.size()) {
    for (const std::uint64_t tokens : ranks.gather(part_.token_count())) tokens_ += tokens;
    if (tokens_ == 0) throw CorpusError("no rank has a word of the vocabulary in its part");
  }

  /// In-vocabulary words of all ranks.
  std::uint64_t token_count() const noexcept { return tokens_; }
  std::uint64_t vocabulary_fingerprint() const noexcept { return part_.vocabulary_fingerprint(); }
  /// The i-th of n parts of the whole. Throws InvalidArgument when it is another rank's.
  auto shard(std::size_t i, std::size_t n) const {
    const std::size_t of_rank = n / size_;
    if (n % size_ != 0 || i / of_rank != rank_)
      throw InvalidArgument("shard " + std::to_string(i) + " of " + std::to_string(n) +
                            " is not of rank " + std::to_string(rank_) + " of " +
                            std::to_string(size_));
    return part_.shard(i % of_rank, of_rank);
  }

 private:
  Part part_;
  std::size_t rank_, size_;
  std::uint64_t tokens_ = 0;
};

/// EncodedCorpus or TextCorpus of all ranks together, each of which reads its part of the text. A
/// cache is a file for each rank then: `.<rank>-of-<ranks>` is added to its name. All ranks call
/// it. Throws as those do, and SyncError, on all ranks, when they have different texts.
template <Corpus Part, class Ranks>
RankCorpus<Part> rank_corpus(Ranks& ranks, const std::filesystem::path& path,
                             const Vocabulary& vocabulary, CorpusOptions options = {}) {
  detail::agree_on_text(ranks, path);
  options.part = {ranks.rank(), ranks.size()};
  if (ranks.size() > 1 && !options.cache.empty())
    options.cache += "." + std::to_string(ranks.rank()) + "-of-" + std::to_string(ranks.size());
  if constexpr (requires { Part::from_text(path, vocabulary, options); })
    return RankCorpus<Part>(ranks, Part::from_text(path, vocabulary, options));
  else
    return RankCorpus<Part>(ranks, Part(path, vocabulary, options));
}

}  // namespace wordloom
