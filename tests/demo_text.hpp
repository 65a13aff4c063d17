#pragma once
#include <cstddef>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/corpus/vocabulary.hpp>

#include "demo_corpus.hpp"
#include "support.hpp"

/// The demo corpus of so many words, in a file and encoded.
struct DemoText {
  wordloom_test::TemporaryFolder folder;
  wordloom::Vocabulary vocabulary;
  wordloom::EncodedCorpus corpus;

  explicit DemoText(std::size_t tokens = 500'000)
      : vocabulary((demo::write_corpus(folder / "text", {.tokens = tokens}),
                    wordloom::Vocabulary::from_text(folder / "text"))),
        corpus(wordloom::EncodedCorpus::from_text(folder / "text", vocabulary)) {}
};

/// One for all cases of a program.
inline const DemoText& demo_text() {
  static const DemoText text;
  return text;
}
