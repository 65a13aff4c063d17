#pragma once
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <wordloom/core/atomic_file.hpp>
#include <wordloom/core/mapped_file.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/word_list.hpp>
#include <wordloom/io/vector_rows.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom {

/// word2vec's binary format, byte for byte: "V D\n", then for each row the word, a space, D
/// little-endian floats and "\n". Does not commit. Throws IoError, and InvalidArgument for a word
/// that is empty or holds white space.
inline void write_word2vec_binary(const Embeddings& embeddings, AtomicFile& file) {
  file.write(std::to_string(embeddings.size()) + " " + std::to_string(embeddings.dimension()) +
             "\n");
  for (std::size_t i = 0; i < embeddings.size(); ++i) {
    const auto row = embeddings.vector(i);
    file.write(detail::checked_word(embeddings.word(i)));
    file.write(" ");
    file.write({reinterpret_cast<const char*>(row.data()), row.size_bytes()});
    file.write("\n");
  }
}

/// The same into a file that appears whole or not at all.
inline void save_word2vec_binary(const Embeddings& embeddings, const std::filesystem::path& path) {
  AtomicFile file(path);
  write_word2vec_binary(embeddings, file);
  file.commit();
}

/// Reads what word2vec, gensim (which writes no newline after a row) and the above write. Values
/// that are not finite are kept. Throws IoError, and FormatError with the byte that is wrong.
inline Embeddings load_word2vec_binary(const std::filesystem::path& path) {
  const MappedFile file(path);
  detail::Cursor cursor(path, file.text());
  const auto [rows, columns] = detail::read_header(cursor, sizeof(float));
  WordList::Builder words;
  RowMatrix vectors(rows, columns);
  for (std::size_t i = 0; i < rows; ++i) {
    cursor.skip('\n');
    const std::size_t begin = cursor.position();
    const std::string row = "row " + std::to_string(i + 1) + " of " + std::to_string(rows);
    const std::string_view word = cursor.token();
    if (word.empty() || !cursor.skip(' '))
      cursor.fail(begin, row + ": a word and a space",
                  cursor.at_end() ? "the end of the file" : detail::shown(cursor.rest()));
    const std::string_view bytes = cursor.take(columns * sizeof(float));
    if (bytes.size() != columns * sizeof(float))
      cursor.fail(cursor.position(),
                  row + ": " + std::to_string(columns * sizeof(float)) + " bytes of floats",
                  "the end of the file after " + std::to_string(bytes.size()));
    std::memcpy(vectors.row_data(i), bytes.data(), bytes.size());
    words.add(word);
  }
  cursor.skip('\n');
  if (!cursor.at_end())
    cursor.fail(cursor.position(), "the end of the file after the last row",
                std::to_string(cursor.rest().size()) + " more bytes");
  return {std::move(words).build(), std::move(vectors)};
}

}  // namespace wordloom
