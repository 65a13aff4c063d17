#pragma once
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/files.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/model/embeddings.hpp>

/// The text formats of vectors; numbers read back bit for bit. All `write_` functions throw
/// IoError, and InvalidArgument for a word that is empty or holds white space, and do not commit;
/// all `load_` functions throw IoError, and FormatError with the byte that is wrong. Lines may end
/// in CRLF; the last one must end too, else a file cut within its last number or word would look
/// whole. "+1", "nan" and "inf" are numbers; those too small for a float are 0.
namespace wordloom::inline WORDLOOM_ABI {

namespace detail {

/// Returns the i-th word; throws InvalidArgument if a format with separators cannot hold it.
inline std::string_view checked_word(const Embeddings& embeddings, std::size_t i) {
  const std::string_view word = embeddings.word(i);
  if (is_word(word)) return word;
  throw InvalidArgument{"the word ", shown(word),
                        " is empty or holds white space, which vector files cannot hold"};
}

/// Reads a file front to back and knows where it is.
class Cursor {
 public:
  explicit Cursor(const MappedFile& file) : path_(file.path()), text_(file.text()) {}

  std::size_t position() const noexcept { return at_; }
  std::string_view rest() const noexcept { return text_.substr(at_); }
  bool at_end() const noexcept { return at_ == text_.size(); }
  bool skip(char c) noexcept {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_blanks() noexcept {
    while (!at_end() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  /// Returns the bytes up to the next white space.
  std::string_view token() noexcept {
    const std::size_t first = at_;
    while (!at_end() && !is_white_space(text_[at_])) ++at_;
    return text_.substr(first, at_ - first);
  }
  std::string_view take(std::size_t bytes) noexcept {
    const auto taken = text_.substr(at_, bytes);
    at_ += taken.size();
    return taken;
  }
  /// Skips blanks and then the end of a line; throws FormatError.
  void end_line(std::string_view expected) {
    skip_blanks();
    skip('\r');
    if (skip('\n')) return;
    if (at_end()) fail(at_, "a newline after the last line", "the end of the file: it may be cut");
    fail(at_, expected, shown(rest()));
  }
  /// Throws FormatError if there is more to read.
  void end_file() const {
    if (!at_end())
      fail(at_, "the end of the file after the last row",
           detail::joined({rest().size(), " more bytes"}));
  }
  template <class Number>
  Number number(std::string_view expected) {
    skip_blanks();
    const std::size_t first = at_;
    const std::string_view digits = token();
    const auto value = number_in<Number>(digits);
    if (!value) fail(first, expected, shown_token(digits));
    return *value;
  }
  /// Returns a token for an error message.
  std::string shown_token(std::string_view token) const {
    return !token.empty() ? shown(token) : at_end() ? "the end of the file" : "the end of the line";
  }
  [[noreturn]] void fail(std::size_t position, std::string_view expected,
                         std::string_view got) const {
    throw FormatError::at(path_, "byte", position, expected, got);
  }

 private:
  std::filesystem::path path_;
  std::string_view text_;
  std::size_t at_ = 0;
};

/// Writes the header of word2vec's files.
inline void write_header(const Embeddings& embeddings, AtomicFile& file) {
  file.write(detail::joined({embeddings.size(), " ", embeddings.dimension(), "\n"}));
}

/// Reads it: rows and columns. Each row needs `min_number` bytes for each column and two more, so
/// that a header that promises more than the file holds is refused before anything is allocated
/// for it.
inline std::pair<std::size_t, std::size_t> read_header(Cursor& cursor, std::size_t min_number) {
  constexpr std::string_view expected = "a header 'words dimension'";
  const auto rows = cursor.number<std::size_t>(expected);
  const auto columns = cursor.number<std::size_t>(expected);
  cursor.end_line(expected);
  const std::size_t left = cursor.rest().size() + 1;  // the last newline may be missing
  if (rows == 0 || columns == 0)
    cursor.fail(0, "at least one word and one dimension", detail::joined({rows, " x ", columns}));
  if (columns > left / min_number || rows > left / (columns * min_number + 2))
    cursor.fail(0, "a header that fits the file",
                detail::joined({rows, " words of dimension ", columns, " in ", cursor.rest().size(),
                                " bytes"}));
  return {rows, columns};
}

/// Opens the file of words beside `vectors`. Throws IoError, InvalidArgument if those are direct.
inline AtomicFile open_words(const AtomicFile& vectors, const std::filesystem::path& path) {
  if (vectors.is_direct())
    throw InvalidArgument{"cannot write words beside '", vectors.path(),
                          "', which is no regular file: choose a format that is one file"};
  return AtomicFile(path);
}

/// Writes the words of a format that keeps them apart from the numbers, one a line, after all
/// numbers: where there is no room for those, no words appear either.
inline void save_word_lines(const Embeddings& embeddings, AtomicFile& vectors,
                            const std::filesystem::path& path) {
  AtomicFile file = open_words(vectors, path);
  for (std::size_t i = 0; i < embeddings.size(); ++i) {
    file.write(checked_word(embeddings, i));
    file.write("\n");
  }
  vectors.flush();
  file.commit();
}

/// Reads them. Throws FormatError unless there are `count` words.
inline WordList load_word_lines(const std::filesystem::path& path, std::size_t count) {
  const MappedFile file(path);
  Cursor cursor(file);
  WordList words;
  const std::string expected = detail::joined({count, " words, as there are vectors"});
  while (!cursor.at_end()) {
    const std::size_t begin = cursor.position();
    const std::string_view word = cursor.token();
    if (word.empty()) cursor.fail(begin, "a word", shown(cursor.rest()));
    if (words.size() == count) cursor.fail(begin, expected, "more");
    cursor.end_line("one word in a line");
    words.append(word);
  }
  if (words.size() != count) cursor.fail(cursor.position(), expected, std::to_string(words.size()));
  return words;
}

/// Writes for each row its word, if the format has it there, its numbers, and `end`.
inline void write_text_rows(const Embeddings& embeddings, AtomicFile& file, bool with_words,
                            char separator, std::string_view end) {
  std::string line;
  std::array<char, 32> digits;  // hold any float
  for (std::size_t i = 0; i < embeddings.size(); ++i) {
    line.assign(with_words ? checked_word(embeddings, i) : "");
    for (const float x : embeddings.vector(i)) {
      if (!line.empty()) line += separator;
      // The shortest decimal that reads back as the same float.
      line.append(digits.data(),
                  std::to_chars(digits.data(), digits.data() + digits.size(), x).ptr);
    }
    file.write(line.append(end));
  }
}

/// Reads a float as from_chars does, and also one with a plus sign or too small for a float.
inline std::errc read_float(std::string_view digits, float& number) {
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  const char* const end = digits.data() + digits.size();
  auto [stop, error] = std::from_chars(digits.data(), end, number);
  double wide = 0;
  if (error == std::errc::result_out_of_range &&
      std::from_chars(digits.data(), end, wide).ec == std::errc() && wide > -1 && wide < 1) {
    number = static_cast<float>(wide);
    error = std::errc();
  }
  return stop == end ? error : std::errc::invalid_argument;
}

/// Reads a row of `row.size()` numbers, and before them its word, if the format has `words` there.
inline void read_text_row(Cursor& cursor, std::span<float> row, WordList* words) {
  std::string_view word;
  cursor.skip_blanks();
  if (words != nullptr) {
    const std::size_t begin = cursor.position();
    word = cursor.token();
    if (word.empty())
      cursor.fail(begin, "a word", cursor.at_end() ? "the end of the file" : "an empty line");
    words->append(word);
  }
  for (std::size_t c = 0; c < row.size(); ++c) {
    // Messages are made only when they are needed: this is the hot loop of a loader.
    cursor.skip_blanks();
    const std::size_t at = cursor.position();
    const std::string_view digits = cursor.token();
    const std::errc error = read_float(digits, row[c]);
    if (error == std::errc::result_out_of_range)
      cursor.fail(at, "a number that a float can hold", shown(digits));
    if (error != std::errc())
      cursor.fail(at,
                  detail::joined({"number ", c + 1, " of ", row.size(),
                                  (words != nullptr ? " after " + shown(word) : " in the row")}),
                  cursor.shown_token(digits));
  }
  cursor.end_line(detail::joined({"the end of the row after ", row.size(), " numbers"}));
}

/// Reads rows up to the end of the file; the first one says how many numbers each has.
inline RowMatrix read_text_rows(Cursor& cursor, WordList* words) {
  Cursor first = cursor;
  std::size_t columns = 0;
  for (first.skip_blanks(); !first.token().empty(); first.skip_blanks()) ++columns;
  if (words != nullptr && columns > 0) --columns;
  if (columns == 0)
    cursor.fail(0, words != nullptr ? "a word and its numbers" : "rows of numbers",
                cursor.at_end() ? "an empty file" : shown(cursor.rest()));
  std::vector<float> values;
  while (!cursor.at_end()) {
    values.resize(values.size() + columns);
    read_text_row(cursor, std::span(values).last(columns), words);
  }
  RowMatrix vectors(values.size() / columns, columns);
  for (std::size_t i = 0; i < vectors.rows(); ++i)
    std::copy_n(values.data() + i * columns, columns, vectors.row_data(i));
  return vectors;
}

}  // namespace detail

/// word2vec's text format, which is fastText's .vec as well: "V D\n", then for each row the word
/// and D numbers, each followed by a space, and "\n".
inline void write_word2vec_text(const Embeddings& embeddings, AtomicFile& file) {
  detail::write_header(embeddings, file);
  detail::write_text_rows(embeddings, file, true, ' ', " \n");
}

/// The space at the end of a row may be missing.
inline Embeddings load_word2vec_text(const std::filesystem::path& path) {
  const MappedFile file(path);
  detail::Cursor cursor(file);
  const auto [rows, columns] = detail::read_header(cursor, 2);
  WordList words;
  RowMatrix vectors(rows, columns);
  for (std::size_t i = 0; i < rows; ++i) detail::read_text_row(cursor, vectors.row(i), &words);
  cursor.end_file();
  return {std::move(words), std::move(vectors)};
}

/// GloVe's text format: no header, for each row the word and D numbers separated by spaces.
inline void write_glove_text(const Embeddings& embeddings, AtomicFile& file) {
  detail::write_text_rows(embeddings, file, true, ' ', "\n");
}

/// A file that was cut between two rows looks whole.
inline Embeddings load_glove_text(const std::filesystem::path& path) {
  const MappedFile file(path);
  detail::Cursor cursor(file);
  WordList words;
  RowMatrix vectors = detail::read_text_rows(cursor, &words);
  return {std::move(words), std::move(vectors)};
}

/// Where the words of "vectors.tsv" stand: "vectors.metadata.tsv", one a line.
inline std::filesystem::path projector_metadata_path(std::filesystem::path path) {
  return path.replace_extension(".metadata.tsv");
}

/// The two files that TensorBoard's embedding projector loads: D numbers separated by tabs for each
/// row, and the words beside it (projector_metadata_path), which appear before `file` is committed.
inline void write_projector_tsv(const Embeddings& embeddings, AtomicFile& file) {
  detail::write_text_rows(embeddings, file, false, '\t', "\n");
  detail::save_word_lines(embeddings, file, projector_metadata_path(file.path()));
}

inline Embeddings load_projector_tsv(const std::filesystem::path& path) {
  const MappedFile file(path);
  detail::Cursor cursor(file);
  RowMatrix vectors = detail::read_text_rows(cursor, nullptr);
  WordList words = detail::load_word_lines(projector_metadata_path(path), vectors.rows());
  return {std::move(words), std::move(vectors)};
}

}  // namespace wordloom::inline WORDLOOM_ABI
