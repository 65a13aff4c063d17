#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <wordloom/corpus/phrases.hpp>
#include <wordloom/wordloom.hpp>

#include "command_line.hpp"
#include "options.hpp"
#include "reading.hpp"

/// A text with its phrases joined, for --phrases.
struct JoinedText {
  wordloom::Vocabulary vocabulary;
  wordloom::AnyCorpus corpus;
  std::uint64_t words_read;  // phrases count as one word
  std::size_t phrases;       // different ones
};

/// Learns the phrases of --train, writes them to `saved`, and returns the text with them.
inline JoinedText join_phrases(const Options& options, std::optional<wordloom::AtomicFile>& saved) {
  using namespace wordloom;
  auto counting = counting_of(options);
  counting.min_count = 1;
  counting.max_size = 0;
  const auto words = Vocabulary::from_text(options.train, counting);
  const CorpusOptions reading = reading_of(options);
  const auto join = [&](const auto& text) {
    const auto phrases = Phrases::learn(text, words,
                                        {.min_count = std::max<std::uint64_t>(options.min_count, 1),
                                         .threshold = options.phrase_threshold,
                                         .passes = options.phrases,
                                         .threads = options.parameters.threads});
    if (phrases.dropped() > 0)
      warn("word2vec", {"more than " + std::to_string(Phrases::Options().max_pairs) +
                        " different pairs of words: those counted at most " +
                        std::to_string(phrases.dropped()) +
                        " times were dropped, so counts may be too low; join the text by "
                        "word2phrase --max-pairs instead"});
    if (saved) {
      phrases.write(*saved);
      saved->commit();
    }
    auto [vocabulary, corpus] = phrases.apply(
        text, words, {.min_count = options.min_count, .max_size = options.max_vocabulary});
    const auto read = corpus.words_read();
    return JoinedText{vocabulary, AnyCorpus(std::move(corpus)), read, phrases.size()};
  };
  if (options.stream) return join(TextCorpus(options.train, words, reading));
  return join(EncodedCorpus::from_text(options.train, words, reading));
}
