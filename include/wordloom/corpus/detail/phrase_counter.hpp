#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/detail/corpus_ids.hpp>
#include <wordloom/corpus/detail/pair_table.hpp>
#include <wordloom/corpus/detail/phrase_scorer.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The bytes of some word ids, as the key of a sequence.
inline std::string_view bytes_of(std::span<const WordId> ids) noexcept {
  return {reinterpret_cast<const char*>(ids.data()), ids.size_bytes()};
}

/// A phrase as word ids.
struct FoundPhrase {
  std::vector<WordId> words;
  double score;
};

/// Counts the pairs of words that follow each other in a corpus, and finds the phrases among them.
/// Pairs are divided into parts by their hash. Each thread reads the whole corpus and counts the
/// pairs of its own parts, so that a part sees them in one order whatever the number of threads.
///
/// In word2phrase.c and gensim a pair and a word that are one string share a count: "new" and
/// "york", and the word "new_york". `find` adds such counts up; pairs that may need it are always
/// counted.
class PhraseCounter {
 public:
  struct Options {
    std::string_view delimiter;
    std::span<const std::string> connectors;
    bool across_sentences = true;
    std::size_t max_pairs = 0, threads = 0;
  };

  /// `counts` [words]: of the corpus. `words` must outlive the counter.
  PhraseCounter(const WordList& words, std::vector<std::uint64_t> counts, PhraseScorer scorer,
                const Options& options);

  /// Counts the pairs of a corpus, once. Throws CorpusError for an id that is not in the list of
  /// words, and what reading the corpus throws.
  template <class C>
  void count(const C& corpus) {
    const std::size_t threads = (std::min)(resolve_threads(options_.threads), part_count);
    run_threads(threads, [&](std::size_t thread) {
      const auto [first, last] = part_of(part_count, thread, threads);
      Reader reader(*this, first, last);
      for (const std::span<const WordId> sentence : corpus.sentences(Shard{})) {
        check_ids(sentence, words_.size());
        for (const WordId id : sentence) reader.take(id);
        if (!options_.across_sentences) reader.end_sentence();
      }
      reader.finish();
      if (thread == 0) betweens_ = std::move(reader.betweens);
    });
  }

  /// Returns the phrases, by falling score and then in order of their words.
  std::vector<FoundPhrase> find();

  /// Returns the highest count of pairs that were dropped because there were too many pairs, 0 if
  /// none was.
  std::uint64_t dropped() const noexcept {
    std::uint64_t most = 0;
    for (const Part& part : parts_) most = (std::max<std::uint64_t>)(most, part.dropped);
    return most;
  }

 private:
  static constexpr std::size_t part_count = 16;
  static constexpr unsigned part_shift = 60;  // of a hash
  // Features of a word.
  static constexpr unsigned char holds_delimiter = 1, begins_word = 2, ends_word = 4, connects = 8;

  struct alignas(64) Part {  // two threads share no cache line
    PairTable pairs;
    std::uint32_t dropped = 0;
  };

  /// Counts the pairs of some parts.
  struct Reader {
    Reader(PhraseCounter& counter, std::size_t first_part, std::size_t last_part)
        : all(counter), from(first_part), to(last_part) {}

    void take(WordId id) {
      if (all.features_[id] & connects) {
        if (is_open) between.push_back(id);
        return;
      }
      if (is_open && all.may_accept(open, id, !between.empty())) {
        if (between.empty())
          add({open, id, 0});
        else
          add({open, id, betweens.insert(bytes_of(between)) + 1});
      }
      between.clear();
      open = id;
      is_open = true;
    }

    void end_sentence() {
      is_open = false;
      between.clear();
    }

    void finish() {
      for (std::size_t i = 0; i < waiting.size(); ++i, ++at) add_next();
    }

    /// Counts a pair after some others, when its slot is in the cache.
    void add(const WordPair& pair) {
      const std::uint64_t hash = pair.hash();
      const std::size_t part = hash >> part_shift;
      if (part < from || part >= to) return;
      all.parts_[part].pairs.prefetch(hash);
      add_next();
      waiting[at++ % waiting.size()] = {pair, hash, true};
    }

    /// Counts the pair that has waited longest.
    void add_next() {
      Waiting& next = waiting[at % waiting.size()];
      if (!next.is_used) return;
      next.is_used = false;
      Part& part = all.parts_[next.hash >> part_shift];
      part.pairs.count(next.pair, next.hash);
      const std::size_t most = (std::max<std::size_t>)(all.options_.max_pairs / part_count, 1);
      if (part.pairs.size() <= most) return;
      while (part.pairs.size() > most / 4 * 3) part.pairs.remove_up_to(++part.dropped);
    }

    struct Waiting {
      WordPair pair;
      std::uint64_t hash = 0;
      bool is_used = false;
    };

    PhraseCounter& all;
    std::size_t from, to, at = 0;
    std::array<Waiting, 16> waiting;
    bool is_open = false;
    WordId open = 0;              // the word before, if is_open
    std::vector<WordId> between;  // the connectors after it
    WordList betweens;            // all sequences of connectors, as bytes_of
  };

  bool may_accept(WordId first, WordId second, bool has_between) const noexcept {
    return scorer_.may_accept(weights_[first], weights_[second]) ||
           may_share(first, second, has_between);
  }
  /// Returns whether a pair may be one string with a word or with another pair.
  bool may_share(WordId first, WordId second, bool has_between) const noexcept {
    const unsigned a = features_[first], b = features_[second];
    const bool begins = (a & begins_word) != 0, ends = (b & ends_word) != 0;
    return ((a | b) & holds_delimiter) != 0 || (has_between ? begins || ends : begins && ends);
  }

  std::uint32_t count_of(const WordPair& pair) const noexcept {
    const std::uint64_t hash = pair.hash();
    return parts_[hash >> part_shift].pairs.find(pair, hash);
  }
  std::vector<WordId> words_of(const WordPair& pair) const;
  std::string joined(const WordPair& pair) const;
  /// Calls `use(pair, count)` for each pair that is this string.
  template <class Use>
  void for_each_spelling(std::string_view text, const Use& use) const;
  /// Adds up the counts of strings with several spellings.
  void share_counts();
  /// Adds up the counts of all spellings of a string.
  void share(const std::string& text);

  const WordList& words_;
  std::vector<std::uint64_t> counts_;  // [words]
  PhraseScorer scorer_;
  Options options_;
  std::vector<float> weights_;           // [words]
  std::vector<unsigned char> features_;  // [words]
  std::array<Part, part_count> parts_;
  WordList betweens_;
  std::vector<std::string> between_texts_;  // "of_the", by number - 1
  std::unordered_map<std::string, std::uint32_t> between_numbers_;
  std::unordered_map<std::string, std::uint64_t> shared_;  // counts of strings
  bool has_delimiters_ = false;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail

#if WORDLOOM_DEFINES_FUNCTIONS
#include <wordloom/corpus/detail/phrase_counter.inl>
#endif
