#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/random_reads.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/subsampling.hpp>
#include <wordloom/corpus/vocabulary.hpp>

namespace wordloom::inline WORDLOOM_ABI::detail {

/// The options of KeptWords.
struct KeptWordsOptions {
  std::size_t padding = 0;  // end marks before the first word and after the last
  std::uint64_t seed = 1;
  std::size_t threads = 0;                // 0 = all that the machine offers
  std::uint64_t max_tokens = UINT32_MAX;  // that can be kept
};

/// The words of one epoch of a corpus that subsampling keeps, as ids whose highest bit marks the
/// end of a sentence: 4 bytes a word. Sentences of one word are left out. Immutable; all members
/// are thread-safe.
class KeptWords {
 public:
  /// Marks the last word of a sentence. No id is this large.
  static constexpr WordId end_mark = WordId{1} << 31;

  /// Reads the corpus once, with all threads; the same for any number of them. Throws
  /// InvalidArgument for a vocabulary of more than 2^31 words, CorpusError when no or too many
  /// words are kept or an id is not in the vocabulary, and what reading the corpus throws.
  template <Corpus C>
  KeptWords(const C& corpus, const Vocabulary& vocabulary, double subsample,
            const KeptWordsOptions& options)
      : padding_(options.padding) {
    if (vocabulary.size() > end_mark)
      throw InvalidArgument{"the vocabulary has ", vocabulary.size(), " words, must have at most ",
                            end_mark};
    const std::size_t threads = std::min(resolve_threads(options.threads), shards);
    merge(read(corpus, vocabulary, Subsampling(vocabulary, subsample), options, threads), threads);
  }

  std::size_t size() const noexcept { return size_; }
  /// Returns the words; `padding` more lie before the first and after the last.
  const WordId* ids() const noexcept { return padded_.data() + padding_; }
  /// Returns the words with their padding.
  std::span<const WordId> padded() const noexcept { return padded_; }

 private:
  // Fixed, so that the number of threads has no effect on the sentences of a shard.
  static constexpr std::size_t shards = 64;
  // Makes the streams of random numbers others than those of corpora and samplers.
  static constexpr std::uint64_t own_streams = 0x6b656570776f7264;
  using Parts = std::array<std::vector<WordId>, shards>;

  template <Corpus C>
  static Parts read(const C& corpus, const Vocabulary& vocabulary, const Subsampling& subsampling,
                    const KeptWordsOptions& options, std::size_t threads) {
    Parts parts;
    std::atomic<std::size_t> next{0};
    std::atomic<std::uint64_t> tokens{0};
    run_threads(threads, [&](std::size_t) {
      std::vector<WordId> buffer, part;
      for (std::size_t i = next++; i < shards; i = next++) {
        part.clear();
        Random random(options.seed ^ own_streams, i);
        for (const std::span<const WordId> sentence :
             corpus.sentences(Shard{i, shards, 0, options.seed})) {
          check(sentence, vocabulary);
          const auto words = subsampling(sentence, random, buffer);
          if (words.size() < 2) continue;
          if ((tokens += words.size()) > options.max_tokens)
            throw CorpusError{"the corpus has more than ", options.max_tokens,
                              " words in sentences of at least 2: use a part of it, or drop more ",
                              "words by subsampling"};
          part.insert(part.end(), words.begin(), words.end());
          part.back() |= end_mark;
        }
        parts[i].assign(part.begin(), part.end());  // without the capacity to grow
      }
    });
    if (tokens == 0)
      throw CorpusError{"no word of the corpus has a context: each sentence has at most one word",
                        (subsampling.enabled() ? " after subsampling" : "")};
    return parts;
  }

  static void check(std::span<const WordId> sentence, const Vocabulary& vocabulary) {
    WordId highest = 0;
    for (const WordId id : sentence) highest = std::max(highest, id);
    if (!sentence.empty() && highest >= vocabulary.size())
      throw CorpusError{"the corpus has the word id ", highest, ", the vocabulary has only ",
                        vocabulary.size(), " words"};
  }

  /// Joins the parts and frees them.
  void merge(Parts parts, std::size_t threads) {
    std::array<std::size_t, shards> begins;
    for (std::size_t i = 0; i < shards; ++i)
      begins[i] = std::exchange(size_, size_ + parts[i].size());
    resize_for_random_reads(padded_, size_ + 2 * padding_);
    std::fill_n(padded_.begin(), padding_, end_mark);
    std::fill_n(padded_.rbegin(), padding_, end_mark);
    std::atomic<std::size_t> next{0};
    run_threads(threads, [&](std::size_t) {
      for (std::size_t i = next++; i < shards; i = next++) {
        std::copy(parts[i].begin(), parts[i].end(), padded_.data() + padding_ + begins[i]);
        parts[i] = {};
      }
    });
  }

  std::size_t padding_, size_ = 0;
  std::vector<WordId> padded_;  // [padding_ + size_ + padding_]
};

}  // namespace wordloom::inline WORDLOOM_ABI::detail
