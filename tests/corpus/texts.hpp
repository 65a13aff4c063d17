#pragma once
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>
#include <wordloom/core/random.hpp>
#include <wordloom/corpus/vocabulary.hpp>

/// About `tokens` words w0 ... w29 and binary ones, with white space of every kind between.
inline std::string random_text(std::size_t tokens, std::uint64_t seed) {
  wordloom::Random random(seed);
  static const std::vector<std::string> spaces{" ",  " ",   " ",  "  ",   "\t",
                                               "\v", "\f ", "\n", "\r\n", "\n\n"};
  std::string text;
  for (std::size_t i = 0; i < tokens; ++i) {
    const auto word = random.below(33);
    if (word < 30)
      text += "w" + std::to_string(random.below(word + 1));
    else
      text += word == 30 ? "\xc3\xa9t\xc3\xa9" : word == 31 ? "\xff\x80" : std::string("n\0l", 3);
    text += spaces[random.below(spaces.size())];
  }
  return text;
}

/// The sentences of a text in the plainest code.
inline std::vector<std::vector<wordloom::WordId>> plain_sentences(
    const std::string& text, const wordloom::Vocabulary& vocabulary, std::size_t max_length) {
  std::vector<std::vector<wordloom::WordId>> sentences;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::vector<wordloom::WordId> sentence;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const auto id = vocabulary.find(word);
      if (!id) continue;
      sentence.push_back(*id);
      if (sentence.size() == max_length) sentences.push_back(std::exchange(sentence, {}));
    }
    if (!sentence.empty()) sentences.push_back(sentence);
  }
  return sentences;
}
