#pragma once
#include <array>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/atomic_file.hpp>
#include <wordloom/core/mapped_file.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/word_list.hpp>
#include <wordloom/io/vector_rows.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom {

namespace detail {

/// Appends the shortest decimal that reads back as the same float.
inline void append_float(std::string& text, float x) {
  std::array<char, 32> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), x);
  static_cast<void>(error);  // 32 characters hold any float
  text.append(digits.data(), end);
}

/// `end`: what stands after the last number of a row.
inline void write_text_rows(const Embeddings& embeddings, AtomicFile& file, std::string_view end) {
  std::string line;
  for (std::size_t i = 0; i < embeddings.size(); ++i) {
    line.assign(checked_word(embeddings.word(i)));
    for (const float x : embeddings.vector(i)) append_float(line.append(1, ' '), x);
    file.write(line.append(end));
  }
}

/// One row: a word and `row.size()` numbers.
inline std::string_view read_text_row(Cursor& cursor, std::span<float> row) {
  cursor.skip_blanks();
  const std::size_t begin = cursor.position();
  const std::string_view word = cursor.token();
  if (word.empty())
    cursor.fail(begin, "a word", cursor.at_end() ? "the end of the file" : "an empty line");
  for (std::size_t c = 0; c < row.size(); ++c) {
    // The words are made only when they are needed: this is the hot loop of a loader.
    cursor.skip_blanks();
    const std::size_t at = cursor.position();
    const std::string_view digits = cursor.token();
    const auto [stop, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), row[c]);
    if (digits.empty() || stop != digits.data() + digits.size() ||
        (error != std::errc() && error != std::errc::result_out_of_range))
      cursor.fail(at,
                  "number " + std::to_string(c + 1) + " of " + std::to_string(row.size()) +
                      " after " + shown(word),
                  !digits.empty()   ? shown(digits)
                  : cursor.at_end() ? std::string("the end of the file")
                                    : std::string("the end of the line"));
    if (error == std::errc::result_out_of_range)
      cursor.fail(at, "a number that a float can hold", shown(digits));
  }
  cursor.end_line("the end of the row after " + std::to_string(row.size()) + " numbers");
  return word;
}

}  // namespace detail

/// word2vec's text format, which is fastText's .vec as well: "V D\n", then for each row the word
/// and D numbers, each followed by a space, and "\n". Numbers read back bit for bit. Does not
/// commit. Throws IoError, and InvalidArgument for a word that is empty or holds white space.
inline void write_word2vec_text(const Embeddings& embeddings, AtomicFile& file) {
  file.write(std::to_string(embeddings.size()) + " " + std::to_string(embeddings.dimension()) +
             "\n");
  detail::write_text_rows(embeddings, file, " \n");
}

/// The same into a file that appears whole or not at all.
inline void save_word2vec_text(const Embeddings& embeddings, const std::filesystem::path& path) {
  AtomicFile file(path);
  write_word2vec_text(embeddings, file);
  file.commit();
}

/// Reads word2vec's text format and .vec; the space at the end of a row may be missing, lines may
/// end in CRLF, "nan" and "inf" are numbers. Throws IoError, and FormatError with the byte that is
/// wrong.
inline Embeddings load_word2vec_text(const std::filesystem::path& path) {
  const MappedFile file(path);
  detail::Cursor cursor(path, file.text());
  const auto [rows, columns] = detail::read_header(cursor, 2);
  WordList::Builder words;
  RowMatrix vectors(rows, columns);
  for (std::size_t i = 0; i < rows; ++i) words.add(detail::read_text_row(cursor, vectors.row(i)));
  if (!cursor.at_end())
    cursor.fail(cursor.position(), "the end of the file after the last row",
                std::to_string(cursor.rest().size()) + " more bytes");
  return {std::move(words).build(), std::move(vectors)};
}

/// GloVe's text format: no header, for each row the word and D numbers separated by spaces. Numbers
/// read back bit for bit. Does not commit. Throws as write_word2vec_text.
inline void write_glove_text(const Embeddings& embeddings, AtomicFile& file) {
  detail::write_text_rows(embeddings, file, "\n");
}

/// The same into a file that appears whole or not at all.
inline void save_glove_text(const Embeddings& embeddings, const std::filesystem::path& path) {
  AtomicFile file(path);
  write_glove_text(embeddings, file);
  file.commit();
}

/// Reads GloVe's text format; the first row says how many numbers each has. A file that was cut
/// between two rows looks whole. Throws IoError, and FormatError with the byte that is wrong.
inline Embeddings load_glove_text(const std::filesystem::path& path) {
  const MappedFile file(path);
  detail::Cursor first(path, file.text());
  first.skip_blanks();
  first.token();
  std::size_t columns = 0;
  for (first.skip_blanks(); !first.token().empty(); first.skip_blanks()) ++columns;
  if (columns == 0) first.fail(0, "a word and its numbers", detail::shown(file.text()));

  detail::Cursor cursor(path, file.text());
  WordList::Builder words;
  std::vector<float> values;
  while (!cursor.at_end()) {
    values.resize((words.size() + 1) * columns);
    words.add(detail::read_text_row(cursor, std::span(values).last(columns)));
  }
  RowMatrix vectors(words.size(), columns);
  for (std::size_t i = 0; i < words.size(); ++i)
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(i * columns), columns,
                vectors.row_data(i));
  return {std::move(words).build(), std::move(vectors)};
}

}  // namespace wordloom
