#pragma once
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/detail/hash.hpp>
#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/files.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/detail/corpus_ids.hpp>
#include <wordloom/corpus/detail/join_text.hpp>
#include <wordloom/corpus/detail/phrase_counter.hpp>
#include <wordloom/corpus/detail/phrase_joiner.hpp>
#include <wordloom/corpus/detail/phrase_scorer.hpp>
#include <wordloom/corpus/text_corpus.hpp>
#include <wordloom/corpus/vocabulary.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// The beginning of a file of phrases: its kind and version.
inline constexpr std::string_view phrase_file_magic = "wordloom-phrases 2";
inline constexpr std::size_t max_phrase_passes = 64;

}  // namespace detail

/// Phrases: words that follow each other more often than by chance, such as "new york", which are
/// joined to one word, "new_york" (Mikolov et al. 2013b, section 4). They are those of
/// word2phrase.c by the default options, and those of gensim's Phrases by `Options::gensim()`.
/// Immutable; copies share the phrases; all members are thread-safe.
class Phrases {
 public:
  /// The score of a pair of words with counts a and b that follow each other ab times, in a corpus
  /// of n words: a pair is a phrase if its score is above the threshold.
  ///
  /// `word2vec`: (ab - min_count) / a / b * n, as word2phrase.c; a, b and ab are at least
  /// min_count. `gensim`: (ab - min_count) / (a * b) * (number of different words and pairs).
  /// `npmi`: ln(ab * n / (a * b)) / -ln(ab / n), from -1 to 1, as gensim; ab is at least min_count.
  using Scoring = detail::PhraseScorer::Kind;

  /// The rules by which phrases are learned.
  struct Options {
    std::uint64_t min_count = 5;
    double threshold = 100;  // gensim's scoring: 10; npmi: such as 0.5
    Scoring scoring = Scoring::word2vec;
    /// Words that may stand inside of a phrase and neither begin nor end it, such as "of": gensim's
    /// connector_words.
    std::vector<std::string> connectors = {};
    /// Joins the words of a phrase; without white space.
    std::string delimiter = "_";
    /// True if the last word of a sentence and the first of the next count as a pair, as in
    /// word2phrase.c. They are never joined.
    bool across_sentences = true;
    /// Phrases of up to 2^passes words: each pass learns on the text that those before have joined,
    /// until one finds no phrases. From 1 to 64.
    std::size_t passes = 1;
    /// If a pass finds more different pairs, rare ones are dropped: those counted once, the next
    /// time those counted at most twice, and so on; counts are exact as long as dropped() is 0. A
    /// million takes 21 to 43 MB.
    std::size_t max_pairs = 40'000'000;
    /// Threads that count, up to 16, each of which reads the corpus; 0: all processors. Their
    /// number does not change the result.
    std::size_t threads = 0;

    /// Returns the defaults of gensim's Phrases.
    static Options gensim() {
      Options options;
      options.threshold = 10;
      options.scoring = Scoring::gensim;
      options.across_sentences = false;
      return options;
    }

    /// Throws InvalidArgument.
    void validate() const;
  };

  /// The words that form a phrase, which are phrases themselves if an earlier pass joined them, and
  /// its score.
  struct Phrase {
    std::vector<std::string> words;
    double score = 0;

    friend bool operator==(const Phrase&, const Phrase&) = default;
  };

  template <Corpus C>
  class JoinedCorpus;

  /// Makes an empty set: one pass without phrases.
  Phrases() : Phrases(std::vector<std::vector<Phrase>>(1), {}, "_") {}

  /// Learns phrases from a corpus and its vocabulary. Each pass reads the corpus once in each
  /// thread, once more to count words if the vocabulary has other counts, and from the second pass
  /// on once more to join. Give a vocabulary of all words (min_count = 1): words that it lacks
  /// would vanish from between their neighbours. Throws InvalidArgument for options out of bounds,
  /// CorpusError for a corpus without words or encoded with another vocabulary, and what reading
  /// the corpus throws.
  template <Corpus C>
  [[nodiscard]] static Phrases learn(const C& corpus, const Vocabulary& vocabulary,
                                     const Options& options);
  template <Corpus C>
  [[nodiscard]] static Phrases learn(const C& corpus, const Vocabulary& vocabulary) {
    return learn(corpus, vocabulary, Options());
  }

  /// Returns the corpus with its phrases joined, and its vocabulary: `auto [vocabulary, joined] =
  /// phrases.apply(corpus, all_words, {.min_count = 5})`. Phrases are joined from left to right, as
  /// sentences are read. Reads the corpus once, with one thread. Throws CorpusError if no word is
  /// left or the corpus was encoded with another vocabulary, and what reading the corpus throws.
  template <Corpus C>
  [[nodiscard]] std::pair<Vocabulary, JoinedCorpus<C>> apply(
      const C& corpus, const Vocabulary& vocabulary, const VocabularyOptions& counting = {}) const;

  /// Returns a line with its phrases joined and one blank between its words. Makes a table of all
  /// phrases at each call: join_text is for many lines.
  [[nodiscard]] std::string join(std::string_view line) const;

  /// Writes a text with its phrases joined, line by line, into an open file; does not commit. Reads
  /// the text in pieces, with `reading.threads`; of the other options, part, piece_bytes,
  /// before_piece and unicode_spaces have an effect. Throws InvalidArgument (options), IoError and
  /// FormatError.
  void join_text(const std::filesystem::path& text, AtomicFile& output,
                 const CorpusOptions& reading = {}) const;

  /// Reads a file of `save`, plain or .gz. Throws IoError and FormatError, with the line.
  [[nodiscard]] static Phrases load(const std::filesystem::path& path);

  /// Writes a text: "wordloom-phrases 2", the delimiter and the connectors in the first line, then
  /// a line for each phrase with its words and its score, by falling score; an empty line between
  /// two passes; at last the line "end", without which a file is refused as incomplete. Throws
  /// IoError, and InvalidArgument for words that hold white space.
  void save(const std::filesystem::path& path) const {
    AtomicFile file(path);
    write(file);
    file.commit();
  }
  /// Writes the lines of `save` into a file that is already open; does not commit.
  void write(AtomicFile& file) const;

  /// Returns the number of phrases of all passes.
  std::size_t size() const noexcept;
  bool empty() const noexcept { return size() == 0; }
  std::size_t passes() const noexcept { return store_->passes.size(); }
  /// Returns the phrases of a pass, by falling score; i < passes().
  std::span<const Phrase> pass(std::size_t i) const& noexcept { return store_->passes[i]; }
  void pass(std::size_t i) const&& = delete;
  const std::string& delimiter() const& noexcept { return store_->delimiter; }
  void delimiter() const&& = delete;
  /// Returns the highest count of pairs that learning dropped because there were more than
  /// max_pairs; 0 if all were counted. Not saved.
  std::uint64_t dropped() const noexcept { return store_->dropped; }

  friend bool operator==(const Phrases& a, const Phrases& b) {
    return a.store_->passes == b.store_->passes && a.store_->connectors == b.store_->connectors &&
           a.store_->delimiter == b.store_->delimiter;
  }

 private:
  struct Store {
    std::vector<std::vector<Phrase>> passes;
    std::vector<std::string> connectors;
    std::string delimiter;
    std::uint64_t dropped = 0;
  };

  Phrases(std::vector<std::vector<Phrase>> passes, std::vector<std::string> connectors,
          std::string delimiter, std::uint64_t dropped = 0)
      : store_(std::make_shared<Store>(
            Store{std::move(passes), std::move(connectors), std::move(delimiter), dropped})) {}

  template <Corpus C>
  static std::vector<std::uint64_t> counts(const C& corpus, const Vocabulary& vocabulary);
  template <Corpus C>
  static std::vector<Phrase> learn_pass(const C& corpus, const Vocabulary& vocabulary,
                                        const Options& options, std::uint64_t& dropped);

  /// Returns the phrases by the ids of a list of words.
  detail::PhraseIds ids(WordList words) const;
  /// Returns all words that phrases consist of, and the connectors.
  WordList own_words() const;
  /// Returns the vocabulary of `words` with their counts, and sets `ids` [words] to the ids in it,
  /// or end_of_line.
  static Vocabulary vocabulary_of(const WordList& words, std::span<const std::uint64_t> counts,
                                  const VocabularyOptions& counting, std::vector<WordId>& ids);

  std::shared_ptr<const Store> store_;
};

/// A corpus whose sentences are those of another one with phrases joined; words that the new
/// vocabulary lacks are left out. Memory: a list of the words of the other vocabulary (28 to
/// 44 bytes and the text of each), 1 byte a word for each pass, and a table of phrases. Immutable;
/// copies share it; as thread-safe as the other corpus.
template <Corpus C>
class Phrases::JoinedCorpus {
 public:
  std::uint64_t token_count() const noexcept { return tokens_; }
  /// Returns the number of words and phrases, those that the vocabulary lacks included.
  std::uint64_t words_read() const noexcept { return words_read_; }
  std::uint64_t vocabulary_fingerprint() const noexcept { return vocabulary_fingerprint_; }
  bool repeats() const noexcept { return detail::repeats(corpus_); }
  bool drops_words() const noexcept { return detail::drops_words(corpus_); }
  bool splits() const noexcept { return detail::splits(corpus_); }
  /// Returns a hash of the other corpus and the new vocabulary; 0 if that one has none.
  std::uint64_t fingerprint() const {
    if constexpr (requires { corpus_.fingerprint(); }) {
      detail::Hash hash;
      hash.add(std::uint64_t{corpus_.fingerprint()});
      hash.add(vocabulary_fingerprint_);
      return hash.value();
    }
    return 0;
  }
  /// Returns a range that reads the shard of the other corpus, as it throws.
  auto sentences(const Shard& shard) const {
    return SentenceRange([corpus = *this, shard] { return Reader(corpus, shard); });
  }

 private:
  friend class Phrases;

  struct Shared {
    detail::PhraseIds phrases;
    std::vector<WordId> ids;  // [phrases.size()] in the new vocabulary, or detail::end_of_line
  };

  /// Reads the sentences of a shard, one after the other.
  struct Reader {
    Reader(const JoinedCorpus& corpus, const Shard& shard)
        : shared(corpus.shared_),
          joiner(shared->phrases),
          other(corpus.corpus_),
          range(other.sentences(shard)) {}

    detail::NextSentence operator()() {
      do {
        if (at)
          ++*at;
        else
          at.emplace(range.begin());
        if (*at == range.end()) return std::nullopt;
        words.clear();
        const auto use = [&](WordId id) {
          if (shared->ids[id] != detail::end_of_line) words.push_back(shared->ids[id]);
        };
        for (const WordId id : std::span<const WordId>(**at)) joiner.push(id, use);
        joiner.flush(use);
      } while (words.empty());
      return words;
    }

    using Range = decltype(std::declval<const C&>().sentences(Shard{}));
    std::shared_ptr<const Shared> shared;
    detail::PhraseJoiner joiner;
    C other;
    Range range;
    std::optional<decltype(std::begin(std::declval<Range&>()))> at = {};
    std::vector<WordId> words = {};
  };

  JoinedCorpus(C corpus, std::shared_ptr<const Shared> shared, const Vocabulary& vocabulary)
      : corpus_(std::move(corpus)),
        shared_(std::move(shared)),
        tokens_(vocabulary.total_count()),
        words_read_(vocabulary.words_read()),
        vocabulary_fingerprint_(vocabulary.fingerprint()) {}

  C corpus_;
  std::shared_ptr<const Shared> shared_;
  std::uint64_t tokens_, words_read_, vocabulary_fingerprint_;
};

}}  // namespace wordloom::WORDLOOM_ABI

#include <wordloom/corpus/detail/phrases.inl>
