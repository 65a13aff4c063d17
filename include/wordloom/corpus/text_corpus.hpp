#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/text.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/encoding.hpp>
#include <wordloom/corpus/sentence_range.hpp>
#include <wordloom/corpus/text_pieces.hpp>
#include <wordloom/corpus/vocabulary.hpp>

namespace wordloom {

/// A text that is read anew in each epoch and never held: memory is a piece of text for each
/// thread. As one shard it has the sentences of EncodedCorpus. As n shards, a plain file is cut at
/// line ends (in a line longer than 64 KiB at white space, which then ends a sentence); a .gz file
/// is decompressed by each shard, which takes every n-th piece, so that more threads gain less.
/// Immutable; copies are cheap; all members are thread-safe.
class TextCorpus {
  struct Source {
    std::filesystem::path path;
    Vocabulary vocabulary;
    CorpusOptions options;
    std::uint64_t tokens = 0;
  };

  /// Reads the sentences of a shard, one after the other, in the memory of one piece.
  class Reader {
   public:
    Reader(std::shared_ptr<const Source> source, const Shard& shard)
        : source_(std::move(source)),
          splitter_(source_->options.max_sentence_length),
          pieces_(source_->path, std::min(source_->options.piece_bytes, largest_piece),
                  source_->options.part.part(shard.index, shard.count)) {}

    bool next() {
      sentence_.clear();
      while (!splitter_.next(rest_, sentence_)) {
        // A piece that does not follow this one does not continue its sentence.
        if (!pieces_.is_contiguous() && splitter_.finish()) return true;
        const auto piece = pieces_.next();
        if (!piece) return splitter_.finish();
        ids_.clear();
        detail::encode(piece->text, source_->vocabulary, ids_);
        rest_ = ids_;
        pieces_.release(*piece);
      }
      return true;
    }
    std::span<const WordId> sentence() const noexcept { return sentence_; }

   private:
    static constexpr std::size_t largest_piece = std::size_t{1} << 18;

    std::shared_ptr<const Source> source_;
    detail::SentenceSplitter splitter_;
    TextPieces pieces_;
    std::vector<WordId> ids_;       // of the current piece
    std::span<const WordId> rest_;  // of `ids_`
    std::vector<WordId> sentence_;
  };

 public:
  /// Reads the text once, with all threads, to count its in-vocabulary words. Throws IoError,
  /// FormatError (damaged .gz), InvalidArgument, and CorpusError when the whole text has none.
  TextCorpus(const std::filesystem::path& path, const Vocabulary& vocabulary,
             const CorpusOptions& options = {}) {
    options.validate();
    std::atomic<std::uint64_t> tokens{0};
    TextPieces pieces(path, options.piece_bytes, options.part);
    run_threads(resolve_threads(options.threads), [&](std::size_t) {
      std::uint64_t own = 0;
      while (const auto piece = pieces.next()) {
        for_each_token(
            piece->text, [&](std::string_view word) { own += vocabulary.find(word).has_value(); },
            [] {});
        pieces.release(*piece);
      }
      tokens += own;
    });
    if (tokens == 0 && options.part.count == 1) throw CorpusError::no_known_word(path);
    source_ = std::make_shared<const Source>(Source{path, vocabulary, options, tokens});
  }

  static constexpr bool repeats = true;
  /// Returns the number of in-vocabulary words.
  std::uint64_t token_count() const noexcept { return source_->tokens; }
  /// Returns the fingerprint of the vocabulary that the text is read with.
  std::uint64_t vocabulary_fingerprint() const noexcept {
    return source_->vocabulary.fingerprint();
  }
  /// Returns a range that reads the shard anew each time. All shards have nearly the same size in
  /// bytes. Going through it throws what the constructor throws.
  auto sentences(const Shard& shard) const {
    return SentenceRange(
        [source = source_, shard] { return std::make_shared<Reader>(source, shard); });
  }

 private:
  std::shared_ptr<const Source> source_;
};

static_assert(Corpus<TextCorpus>);

}  // namespace wordloom
