// Compiled twice, with other flags and as another function: UNIT. One query, so that the compiler
// inlines some of its parts and leaves others to the linker, which takes them from one of the
// units.
#include <filesystem>
#include <string>
#include <wordloom/io/embeddings_file.hpp>

std::string UNIT(const std::filesystem::path& path) {
  const auto words = wordloom::Embeddings::load(path);
  std::string found;
  for (const auto& [word, score] : words.analogy("w0", "w1", "w2", 3)) (found += word) += ' ';
  return found;
}
