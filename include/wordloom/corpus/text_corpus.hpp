#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/detail/hash.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/detail/unicode_spaces.hpp>
#include <wordloom/corpus/text_pieces.hpp>
#include <wordloom/corpus/vocabulary.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// The options of a corpus that is made from a text.
struct CorpusOptions {
  /// A line with more in-vocabulary words is split, so that no word is lost. word2vec: 1000.
  std::size_t max_sentence_length = 1000;
  /// True if the end of a line does not end a sentence: all sentences of a part of the text except
  /// the last one have max_sentence_length words. This gives a GPU long sentences to train
  /// (FULL-W2V, Randall et al. 2021, section 4).
  bool join_lines = false;
  /// Threads that encode, up to 65536; 0 = all processors of the machine.
  std::size_t threads = 0;
  /// EncodedCorpus: the file that keeps the encoded text; empty: it is kept in memory.
  std::filesystem::path cache = {};
  /// Bytes of text that a thread takes at a time.
  std::size_t piece_bytes = detail::TextPieces::default_piece_bytes;
  /// The part of the text that is read; it may have no words. See RankCorpus.
  detail::TextPart part = {};
  /// Called before each piece of the text is encoded or counted, never by two threads at once. An
  /// exception that it throws ends the reading and reaches the caller.
  std::function<void()> before_piece = {};
  /// True if Unicode's spaces, such as U+00A0 and U+3000, separate words too. Use the same for the
  /// vocabulary.
  bool unicode_spaces = false;

  /// Throws InvalidArgument.
  void validate() const;
};

namespace detail {

/// The id of a newline; no vocabulary is this large.
inline constexpr WordId end_of_line = (std::numeric_limits<WordId>::max)();

/// Appends the ids of the known words of `text`, and `end_of_line` for each \n unless lines are
/// joined. Returns the number of all words of `text`.
std::uint64_t encode(std::string_view text, const Vocabulary& vocabulary,
                     const CorpusOptions& options, std::vector<WordId>& ids);

/// Cuts the ids of a text into sentences: a line, or `max_length` known words of a longer one.
/// Needs the ids in order, in pieces of any size.
class SentenceSplitter {
 public:
  explicit SentenceSplitter(std::size_t max_length) : max_length_(max_length) {}

  /// Moves words from the front of `ids` to the end of `words` until a sentence is complete.
  /// Returns false if `ids` is used up before that: the sentence is still open.
  bool next(std::span<const WordId>& ids, std::vector<WordId>& words) {
    while (!ids.empty()) {
      const auto rest = ids.first((std::min)(ids.size(), max_length_ - length_));
      const auto end = std::find(rest.begin(), rest.end(), end_of_line);
      words.insert(words.end(), rest.begin(), end);
      length_ += static_cast<std::size_t>(end - rest.begin());
      ids = ids.subspan(static_cast<std::size_t>(end - rest.begin()) + (end != rest.end()));
      if ((end != rest.end() || length_ == max_length_) && end_sentence()) return true;
    }
    return false;
  }

  /// Completes the sentence that is open; returns false if none is.
  bool end_sentence() noexcept { return std::exchange(length_, 0) > 0; }

 private:
  std::size_t max_length_;
  std::size_t length_ = 0;  // of the open sentence
};

}  // namespace detail

/// A text that is read anew in each epoch and never held: memory is a piece of text for each
/// thread. As one shard it has the sentences of EncodedCorpus. As n shards, a plain file is cut at
/// line ends (in a line longer than 64 KiB at white space, which then ends a sentence). Each shard
/// decompresses the whole of a .gz file and takes every n-th piece, so that more threads gain less.
/// Immutable; copies are cheap; all members are thread-safe.
class TextCorpus {
  /// Reads the sentences of a shard, one after the other, in the memory of one piece.
  struct Reader {
    Reader(const TextCorpus& corpus, const Shard& shard);

    detail::NextSentence operator()() {
      sentence_.clear();
      while (!splitter_.next(rest_, sentence_)) {
        // A piece that does not follow this one does not continue its sentence.
        if (!pieces_.is_contiguous() && splitter_.end_sentence()) break;
        const auto piece = pieces_.next();
        if (!piece && !splitter_.end_sentence()) return std::nullopt;
        if (!piece) break;
        ids_.clear();
        detail::encode(piece->text, vocabulary_, options_, ids_);
        rest_ = ids_;
      }
      return sentence_;
    }

    static constexpr std::size_t largest_piece = std::size_t{1} << 18;

    Vocabulary vocabulary_;
    CorpusOptions options_;
    detail::SentenceSplitter splitter_;
    detail::TextPieces pieces_;
    std::vector<WordId> ids_;       // of the current piece
    std::span<const WordId> rest_;  // of `ids_`
    std::vector<WordId> sentence_;
  };

 public:
  /// Reads the text once, with all threads, to count its in-vocabulary words. Throws IoError,
  /// FormatError (damaged .gz), InvalidArgument, and CorpusError if the whole text has none.
  TextCorpus(const std::filesystem::path& path, const Vocabulary& vocabulary,
             const CorpusOptions& options = {})
      : path_(path), vocabulary_(vocabulary), options_(options) {
    options.validate();
    std::atomic<std::uint64_t> tokens{0}, words{0};
    detail::TextPieces pieces(path, options.piece_bytes, options.part, options.before_piece);
    splits_ = !pieces.is_gzip();
    bytes_ = pieces.file().size();
    modified_ns_ = pieces.file().modified_ns();
    std::mutex guard;
    std::vector<std::uint64_t> hashes;  // [pieces]
    detail::run_threads(pieces.threads(options.threads), [&](std::size_t) {
      std::uint64_t own = 0, own_words = 0;
      while (const auto piece = pieces.next()) {
        detail::for_each_word(
            piece->text, options.unicode_spaces,
            [&](std::string_view word) {
              ++own_words;
              own += vocabulary.find(word).has_value();
            },
            [] {});
        const std::uint64_t hash = detail::Hash::of(piece->text);
        const std::lock_guard lock(guard);
        if (hashes.size() <= piece->index) hashes.resize(piece->index + 1);
        hashes[piece->index] = hash;
      }
      tokens += own;
      words += own_words;
    });
    if (tokens == 0 && options.part.count == 1) throw CorpusError::no_known_word(path, words);
    tokens_ = tokens;
    words_read_ = words;
    detail::Hash hash;
    hash.add(std::uint64_t{options.max_sentence_length});
    if (options.unicode_spaces) hash.add("unicode spaces");
    if (options.join_lines) hash.add("joined lines");
    hash.add(hashes.data(), hashes.size() * sizeof(hashes[0]));
    fingerprint_ = hash.value();
  }

  static constexpr bool repeats = true;
  bool splits() const noexcept { return splits_; }
  std::uint64_t token_count() const noexcept { return tokens_; }
  /// Returns the number of words of the text, unknown ones included.
  std::uint64_t words_read() const noexcept { return words_read_; }
  std::uint64_t vocabulary_fingerprint() const noexcept { return vocabulary_.fingerprint(); }
  /// Returns a hash of the text and of the options that determine its sentences.
  std::uint64_t fingerprint() const noexcept { return fingerprint_; }
  /// Returns a range that reads the shard anew each time. All shards have nearly the same size in
  /// bytes. Iterating throws what the constructor throws, and CorpusError if the size or the time
  /// of modification of the file has changed since then.
  auto sentences(const Shard& shard) const {
    return SentenceRange([corpus = *this, shard] { return Reader(corpus, shard); });
  }

 private:
  std::filesystem::path path_;
  Vocabulary vocabulary_;
  CorpusOptions options_;
  bool splits_ = true;
  std::uint64_t bytes_ = 0;
  std::int64_t modified_ns_ = 0;
  std::uint64_t tokens_ = 0, words_read_ = 0, fingerprint_ = 0;
};

static_assert(Corpus<TextCorpus>);

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION std::uint64_t detail::encode(std::string_view text, const Vocabulary& vocabulary,
                                               const CorpusOptions& options,
                                               std::vector<WordId>& ids) {
  std::uint64_t words = 0;
  for_each_word(
      text, options.unicode_spaces,
      [&](std::string_view word) {
        ++words;
        if (const auto id = vocabulary.find(word)) ids.push_back(*id);
      },
      [&] {
        if (!options.join_lines) ids.push_back(end_of_line);
      });
  return words;
}

WORDLOOM_FUNCTION void CorpusOptions::validate() const {
  if (max_sentence_length == 0) throw InvalidArgument("max_sentence_length is 0, must be above 0");
  if (piece_bytes == 0) throw InvalidArgument("piece_bytes is 0, must be above 0");
  if (part.index >= part.count)
    throw InvalidArgument{"part.index is ", part.index, ", must be below part.count, which is ",
                          part.count};
}

WORDLOOM_FUNCTION TextCorpus::Reader::Reader(const TextCorpus& corpus, const Shard& shard)
    : vocabulary_(corpus.vocabulary_),
      options_(corpus.options_),
      splitter_(corpus.options_.max_sentence_length),
      pieces_(corpus.path_, (std::min)(corpus.options_.piece_bytes, largest_piece),
              {corpus.options_.part.index * shard.count + shard.index,
               corpus.options_.part.count * shard.count}) {
  if (corpus.bytes_ != pieces_.file().size() || corpus.modified_ns_ != pieces_.file().modified_ns())
    throw CorpusError{"the text '", corpus.path_,
                      "' was changed after its words were counted: start again"};
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
