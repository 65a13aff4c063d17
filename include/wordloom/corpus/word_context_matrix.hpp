#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/detail/hash.hpp>
#include <wordloom/core/detail/section_file.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/detail/corpus_ids.hpp>
#include <wordloom/corpus/detail/word_context_file.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/corpus/word_context_lists.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// The uniform word-context matrix [words x columns] of a corpus: each word has the same number of
/// context words, drawn uniformly from all of its windows. A column is a batch in which each word
/// occurs once, with one context. See WordContextLists for how contexts are drawn.
///
/// The matrix is either virtual or in a mapped file of one epoch, which later epochs repeat. A
/// virtual matrix stores, for each word, a list of up to max(65,536, columns()) contexts; column j
/// of epoch e is column e * columns() + j, which has the next contexts of the lists. That takes up
/// to 4 * window bytes for each word of the corpus, twice that with a vocabulary of more than
/// 65,536 words. Immutable; copies share the contexts; all members are thread-safe.
class WordContextMatrix {
 public:
  using Options = detail::WordContextOptions;

  static constexpr bool repeats = false;
  static constexpr std::size_t max_pairs = 500;  // of a sentence

  /// Reads any corpus once, with all threads, whose number does not change the result. The corpus
  /// is read as 64 shards of epoch 0; each of them decompresses all of a TextCorpus that is a .gz
  /// file, so use an EncodedCorpus for such a text. With `options.file`, an existing file is used
  /// as it is if it was made from the same corpus, vocabulary and options, and the corpus is not
  /// read; another word-context matrix is replaced, any other file is refused.
  ///
  /// Throws InvalidArgument (options), CorpusError (a corpus that was encoded with another
  /// vocabulary or has no sentence of two kept words), IoError, FormatError (a file that is not a
  /// word-context matrix), and what reading the corpus throws.
  template <Corpus C>
  [[nodiscard]] static WordContextMatrix from(const C& corpus, const Vocabulary& vocabulary,
                                              const Options& options = {}) {
    options.validate();
    detail::require_same_vocabulary(corpus, vocabulary);
    if (options.file.empty())
      return {std::make_shared<const detail::WordContextLists>(
                  corpus, vocabulary, options, (std::max<std::size_t>)(options.columns, 65'536)),
              vocabulary, options};

    const auto source = source_of(corpus, vocabulary, options);
    if (auto file = detail::open_word_context_file(options.file, source))
      return {std::move(*file), vocabulary};
    {
      // First, so that an error of the folder is found before the corpus is read.
      detail::HashedWriter file(options.file);
      const detail::WordContextLists lists(corpus, vocabulary, options, options.columns);
      detail::write_word_contexts(file, source, lists, options.columns, options.threads);
    }
    if (auto file = detail::open_word_context_file(options.file, source))
      return {std::move(*file), vocabulary};
    throw IoError{"another process has replaced '", options.file,
                  "', a word-context matrix that was just made: name another file"};
  }

  /// The words with at least one context, in ascending order: the rows of the matrix. A word that
  /// occurs only in one-word sentences has none. Valid as long as any copy.
  std::span<const WordId> words() const& noexcept { return words_; }
  void words() const&& = delete;
  /// The number of contexts of each word in an epoch.
  std::size_t columns() const noexcept { return columns_; }
  /// The lists of a virtual matrix; null if the matrix is in a file. Valid as long as any copy.
  const detail::WordContextLists* lists() const& noexcept { return lists_.get(); }
  void lists() const&& = delete;
  /// Returns whether the matrix is in a file.
  bool is_mapped() const noexcept { return lists_ == nullptr; }

  /// Writes the context in `column` of words()[first + i] to to[i]. Columns count on over epochs;
  /// any number is allowed. Requires first + to.size() <= words().size().
  void contexts(std::uint64_t column, std::size_t first, std::span<WordId> to) const noexcept {
    contexts(column, first, to.size(), to);
  }
  /// Writes the contexts of `count` words, words()[first] and those that follow, in `column` and
  /// the next columns: to is [columns x count], row-major. Requires
  /// first + count <= words().size().
  void contexts(std::uint64_t column, std::size_t first, std::size_t count,
                std::span<WordId> to) const noexcept {
    if (lists_) return lists_->contexts(column, first, count, to);
    for (std::size_t at = 0; at < to.size(); at += count)
      file_.read(column++, first, to.subspan(at, count));
  }

  /// Returns the number of pairs of an epoch: each word in each column.
  std::uint64_t token_count() const noexcept { return std::uint64_t{words_.size()} * columns_; }
  std::uint64_t vocabulary_fingerprint() const noexcept { return vocabulary_; }
  /// Returns a hash of everything that determines the contexts. Reads all words of the corpus (some
  /// GB/s) if the matrix is virtual.
  std::uint64_t fingerprint() const noexcept;

  /// Returns sentences of up to `max_pairs` pairs: word, context, word, context, ... The shards
  /// divide the pairs of the epoch into nearly equal parts. The seed of the shard has no effect.
  auto sentences(const Shard& shard) const;

 private:
  class Reader;

  WordContextMatrix(std::shared_ptr<const detail::WordContextLists> lists,
                    const Vocabulary& vocabulary, const Options& options)
      : lists_(std::move(lists)),
        words_(lists_->words()),
        columns_(options.columns),
        vocabulary_(vocabulary.fingerprint()) {}
  WordContextMatrix(detail::WordContextFile file, const Vocabulary& vocabulary)
      : file_(std::move(file)),
        words_(file_.words),
        columns_(file_.columns),
        vocabulary_(vocabulary.fingerprint()) {}

  template <Corpus C>
  static detail::WordContextSource source_of(const C& corpus, const Vocabulary& vocabulary,
                                             const Options& options) {
    detail::WordContextSource source{.vocabulary = vocabulary.fingerprint(),
                                     .corpus_tokens = corpus.token_count()};
    if constexpr (requires { corpus.fingerprint(); }) source.corpus = corpus.fingerprint();
    detail::MethodRecord record;
    detail::add_parameters(record, options);
    source.options = record.hash().value();
    return source;
  }

  std::shared_ptr<const detail::WordContextLists> lists_;  // null if the matrix is mapped
  detail::WordContextFile file_;
  std::span<const WordId> words_;  // of the lists or the file
  std::size_t columns_;
  std::uint64_t vocabulary_;
};

/// The sentences of one shard, one after the other.
class WordContextMatrix::Reader {
 public:
  Reader(const WordContextMatrix& matrix, const Shard& shard);

  detail::NextSentence operator()() {
    if (left_.first == left_.second) return std::nullopt;
    const auto [begin, end] = detail::part_of(matrix_.token_count(), left_.first++, count_);
    contexts_.resize(end - begin);
    pairs_.resize(2 * contexts_.size());
    detail::for_each_run(
        matrix_.words_.size(), begin, contexts_.size(),
        [&](std::uint64_t column, std::size_t first, std::size_t size, std::size_t at) {
          matrix_.contexts(first_column_ + column, first, std::span(contexts_).subspan(at, size));
          for (std::size_t i = 0; i < size; ++i) {
            pairs_[2 * (at + i)] = matrix_.words_[first + i];
            pairs_[2 * (at + i) + 1] = contexts_[at + i];
          }
        });
    return pairs_;
  }

 private:
  WordContextMatrix matrix_;
  std::uint64_t first_column_;
  std::size_t count_;                         // sentences of an epoch
  std::pair<std::size_t, std::size_t> left_;  // by number
  std::vector<WordId> contexts_, pairs_;      // of the sentence
};

inline auto WordContextMatrix::sentences(const Shard& shard) const {
  return SentenceRange([matrix = *this, shard] { return Reader(matrix, shard); });
}

static_assert(Corpus<WordContextMatrix>);

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION std::uint64_t WordContextMatrix::fingerprint() const noexcept {
  detail::Hash hash;
  hash.add(std::uint64_t{is_mapped()});
  hash.add(vocabulary_);
  hash.add(std::uint64_t{columns_});
  if (lists_)
    lists_->add_to(hash);
  else
    hash.add(file_.hash);
  return hash.value();
}

WORDLOOM_FUNCTION WordContextMatrix::Reader::Reader(const WordContextMatrix& matrix,
                                                    const Shard& shard)
    : matrix_(matrix), first_column_(std::uint64_t{shard.epoch} * matrix.columns()) {
  // A small epoch has shorter sentences, so that it can be shared among many threads.
  const std::uint64_t total = matrix.token_count();
  const std::uint64_t pairs = std::clamp<std::uint64_t>(total / 64, 1, max_pairs);
  count_ = (total + pairs - 1) / pairs;
  left_ = shard.part_of(count_);
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
