#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/atomic_file.hpp>
#include <wordloom/core/mapped_file.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/io/vector_rows.hpp>
#include <wordloom/io/vector_text.hpp>
#include <wordloom/io/word_lines.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom {

/// Where the words of "vectors.tsv" stand: "vectors.metadata.tsv", one a line.
inline std::filesystem::path projector_metadata_path(std::filesystem::path path) {
  return path.replace_extension(".metadata.tsv");
}

/// The two files that TensorBoard's embedding projector loads: D numbers separated by tabs for each
/// row, and the words beside it (projector_metadata_path), which are saved first. Does not commit.
/// Throws IoError, and InvalidArgument for a word that is empty or holds white space.
inline void write_projector_tsv(const Embeddings& embeddings, AtomicFile& file) {
  detail::save_word_lines(embeddings, projector_metadata_path(file.path()));
  std::string line;
  for (std::size_t i = 0; i < embeddings.size(); ++i) {
    line.clear();
    for (const float x : embeddings.vector(i)) {
      if (!line.empty()) line += '\t';
      detail::append_float(line, x);
    }
    file.write(line.append(1, '\n'));
  }
}

/// The same into a file that appears whole or not at all.
inline void save_projector_tsv(const Embeddings& embeddings, const std::filesystem::path& path) {
  AtomicFile file(path);
  write_projector_tsv(embeddings, file);
  file.commit();
}

/// Reads the pair of files. Throws IoError, and FormatError with the byte that is wrong.
inline Embeddings load_projector_tsv(const std::filesystem::path& path) {
  const MappedFile file(path);
  detail::Cursor cursor(path, file.text());
  std::vector<float> values;
  std::size_t columns = 0, rows = 0;
  while (!cursor.at_end()) {
    std::size_t count = 0;
    for (; !cursor.at_end() && cursor.rest().front() != '\n' && cursor.rest().front() != '\r';
         cursor.skip_blanks(), ++count)
      values.push_back(cursor.number<float>("a number"));
    if (rows == 0) columns = count;
    if (count == 0 || count != columns)
      cursor.fail(cursor.position(), "a row of " + std::to_string(columns) + " numbers",
                  std::to_string(count));
    cursor.end_line("the end of the row");
    ++rows;
  }
  if (rows == 0) cursor.fail(0, "rows of numbers", "an empty file");
  WordList words = detail::load_word_lines(projector_metadata_path(path), rows);
  RowMatrix vectors(rows, columns);
  for (std::size_t i = 0; i < rows; ++i)
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(i * columns), columns,
                vectors.row_data(i));
  return {std::move(words), std::move(vectors)};
}

}  // namespace wordloom
