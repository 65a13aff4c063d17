// A second translation unit with all headers: they must not define anything twice.
#include "neighbours.hpp"

std::string nearest(const wordloom::Embeddings& words, const std::string& word) {
  const auto found = words.most_similar(word, 1);
  return std::string(found.at(0).word);
}
