#pragma once
#include <cstddef>
#include <filesystem>
#include <string>

#include <wordloom/core/error.hpp>
#include <wordloom/corpus/text_pieces.hpp>

namespace wordloom {

/// How a text becomes a corpus.
struct CorpusOptions {
  /// A line with more in-vocabulary words is split: no word is lost. word2vec: 1000.
  std::size_t max_sentence_length = 1000;
  /// Threads that encode; 0 = all that the machine offers.
  std::size_t threads = 0;
  /// EncodedCorpus: where the encoded text is kept and found again; empty: in memory.
  std::filesystem::path cache = {};
  /// Bytes of text that a thread takes at a time.
  std::size_t piece_bytes = TextPieces::default_piece_bytes;
  /// What is read of the text, which may have no word: see RankCorpus.
  TextPart part = {};

  /// Throws InvalidArgument.
  void validate() const {
    if (max_sentence_length == 0)
      throw InvalidArgument("max_sentence_length is 0, must be above 0");
    if (piece_bytes == 0) throw InvalidArgument("piece_bytes is 0, must be above 0");
    if (part.index >= part.count)
      throw InvalidArgument("part " + std::to_string(part.index) + " of a text in " +
                            std::to_string(part.count) + " parts, counted from 0");
  }
};

}  // namespace wordloom
