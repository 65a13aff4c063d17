#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <span>
#include <utility>

#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/corpus_options.hpp>
#include <wordloom/corpus/sentence_reader.hpp>
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

 public:
  /// The sentences of one shard, an input range of std::span<const WordId> that live until the
  /// iterator moves on. Each `begin` reads the shard anew.
  class Shard {
   public:
    class iterator {
     public:
      using iterator_concept = std::input_iterator_tag;
      using value_type = std::span<const WordId>;
      using difference_type = std::ptrdiff_t;

      iterator() = default;
      explicit iterator(std::shared_ptr<detail::SentenceReader> reader)
          : reader_(std::move(reader)) {
        ++*this;
      }
      value_type operator*() const { return reader_->sentence(); }
      iterator& operator++() {
        if (!reader_->next()) reader_.reset();
        return *this;
      }
      void operator++(int) { ++*this; }
      friend bool operator==(const iterator& it, std::default_sentinel_t) { return !it.reader_; }

     private:
      std::shared_ptr<detail::SentenceReader> reader_;
    };

    Shard(std::shared_ptr<const Source> source, std::size_t i, std::size_t n)
        : source_(std::move(source)), i_(i), n_(n) {}
    iterator begin() const {
      return iterator(std::make_shared<detail::SentenceReader>(source_->path, source_->vocabulary,
                                                               source_->options, i_, n_));
    }
    std::default_sentinel_t end() const { return {}; }

   private:
    std::shared_ptr<const Source> source_;
    std::size_t i_, n_;
  };

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

  /// In-vocabulary words.
  std::uint64_t token_count() const noexcept { return source_->tokens; }
  /// Of the vocabulary that it is read with.
  std::uint64_t vocabulary_fingerprint() const noexcept {
    return source_->vocabulary.fingerprint();
  }
  /// The i-th of n parts of nearly the same size in bytes; i < n.
  Shard shard(std::size_t i, std::size_t n) const { return {source_, i, n}; }

 private:
  std::shared_ptr<const Source> source_;
};

static_assert(Corpus<TextCorpus>);

}  // namespace wordloom
