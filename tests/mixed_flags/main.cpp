// Two units of one program that are compiled for different instruction sets give the same answers.
// Memory that one of them allocates is freed by the other, as the linker takes inline functions.
#include <cstddef>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <wordloom/core/random.hpp>
#include <wordloom/io/embeddings_file.hpp>

std::string baseline(const std::filesystem::path& path);
std::string native(const std::filesystem::path& path);

int main(int, char** argv) try {
  using namespace wordloom;
  const std::filesystem::path path = std::string(argv[0]) + ".vectors";
  for (const std::size_t dimension : {3u, 100u}) {
    WordList words;
    RowMatrix vectors(3000, dimension);
    Random random(1);
    for (std::size_t i = 0; i < vectors.rows(); ++i) {
      words.append("w" + std::to_string(i));
      for (float& x : vectors.row(i)) x = static_cast<float>(random.uniform() - 0.5);
    }
    Embeddings(std::move(words), std::move(vectors)).save(path);
    const std::string first = baseline(path), second = native(path);
    if (first != second) {
      std::cerr << first << "\nis not\n" << second << '\n';
      return 1;
    }
  }
  std::filesystem::remove(path);
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
