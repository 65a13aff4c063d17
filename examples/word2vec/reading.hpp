#pragma once
#include <wordloom/wordloom.hpp>

#include "interrupts.hpp"
#include "options.hpp"

/// Returns how the options read a text into a corpus.
inline wordloom::CorpusOptions reading_of(const Options& options) {
  return {.max_sentence_length = options.max_sentence,
          .join_lines = options.join_lines,
          .threads = options.parameters.threads,
          .cache = options.cache,
          .before_piece = check_signals,
          .unicode_spaces = options.unicode_spaces};
}

/// Returns how the options count the words of a text.
inline wordloom::VocabularyOptions counting_of(const Options& options) {
  return {.min_count = options.min_count,
          .max_size = options.max_vocabulary,
          .threads = options.parameters.threads,
          .before_piece = check_signals,
          .unicode_spaces = options.unicode_spaces};
}
