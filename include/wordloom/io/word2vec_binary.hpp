#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/io/detail/text_rows.hpp>
#include <wordloom/io/load_options.hpp>
#include <wordloom/io/vector_format.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

Embeddings read_word2vec_binary(const InputFile& file, const LoadOptions& options);

}  // namespace detail

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

/// Returns whether bytes are text in UTF-8 without control characters.
inline bool is_clean_text(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i++]);
    if (byte < 32 || byte == 127 || (byte >= 128 && byte < 0xc2) || byte > 0xf4) return false;
    for (int more = (byte >= 0xc2) + (byte >= 0xe0) + (byte >= 0xf0); more > 0; --more)
      if (i == text.size() || (static_cast<unsigned char>(text[i++]) & 0xc0) != 0x80) return false;
  }
  return true;
}

/// Returns whether the first floats of a vector have sizes usual in vectors, unlike floats that
/// begin at the wrong byte.
inline bool are_likely_floats(std::string_view bytes) noexcept {
  std::array<float, 8> first{};
  std::memcpy(first.data(), bytes.data(), (std::min)(bytes.size(), sizeof first));
  return std::all_of(first.begin(), first.end(), [](float x) {
    return x == 0 || (std::abs(x) > 1e-12f && std::abs(x) < 1e12f);
  });
}

/// Throws FormatError if the row of word2vec's binary format at `begin`, which is odd or followed
/// by an odd word, is likely that of a word that contains a space: the floats then begin too early,
/// and the next word begins with the last of them. `ends_rows`: whether a newline has followed each
/// row so far.
inline void refuse_space_in_word(const Cursor& cursor, std::string_view text, std::size_t begin,
                                 std::size_t float_bytes, bool ends_rows) {
  constexpr std::size_t max_length = 256;  // of the part after the space
  const auto is_newline = [text](std::size_t at) { return at < text.size() && text[at] == '\n'; };
  const std::size_t first = text.find(' ', begin);
  for (std::size_t space = text.find(' ', first + 1);
       space != text.npos && space - first <= max_length; space = text.find(' ', space + 1)) {
    if (!is_clean_text(text.substr(first + 1, space - first - 1))) return;
    const auto floats = text.substr(space + 1, float_bytes);
    if (floats.size() < float_bytes) return;
    const std::size_t end = space + 1 + float_bytes, next = end + (is_newline(end) ? 1 : 0);
    const std::size_t next_space = (std::min)(text.find(' ', next), text.size());
    if (next != text.size() && next_space == text.size()) continue;
    if (!is_clean_text(text.substr(next, (std::min)(next_space - next, max_length)))) continue;
    const std::size_t wrong_end = first + 1 + float_bytes;
    if (is_newline(wrong_end) && !is_newline(end) &&
        (ends_rows || are_likely_floats(text.substr(first + 1, float_bytes))))
      continue;
    if ((ends_rows && is_newline(end)) || are_likely_floats(floats))
      cursor.fail(begin, "a word without a space, which ends a word in word2vec's binary format",
                  shown(text.substr(begin, space - begin)) +
                      ": save these vectors in word2vec's text format");
  }
}

WORDLOOM_FUNCTION Embeddings read_word2vec_binary(const InputFile& file,
                                                  const LoadOptions& options) {
  const std::string_view text = file.text();
  Cursor cursor(file);
  const std::string_view line = text.substr(0, (std::min<std::size_t>)(text.find('\n'), 256));
  const auto header = header_in(line);
  const std::string got = text.empty() ? "an empty file" : shown(line);
  if (!header || line.size() == text.size()) cursor.fail(0, "a header 'words dimension'", got);
  const std::size_t rows = header->first, columns = header->second;
  if (rows == 0 || columns == 0) cursor.fail(0, "at least one word and one dimension", got);
  cursor.take(line.size() + 1);
  // A row has at least a space beside its floats: no memory is allocated that the file cannot fill.
  const std::size_t left = cursor.rest().size();
  if (columns > left / sizeof(float))
    cursor.fail(0, "a header that fits the file",
                joined({rows, " words of dimension ", columns, " in ", left, " bytes"}));
  const std::size_t bytes = columns * sizeof(float);
  const auto possible_rows = [&] { return cursor.rest().size() / (bytes + 1) + 1; };
  Leniency leniency(file.path(), options);
  WordList words;
  GrowingRows vectors((std::min)({rows, possible_rows(), leniency.max_rows()}), columns);
  std::size_t last_row = cursor.position();
  bool ends_rows = false;
  while (true) {
    const std::size_t row_count = words.size();
    const bool has_newline = cursor.skip('\n');
    if (row_count > 0) {
      const auto floats = text.substr(text.find(' ', last_row) + 1, bytes);
      const std::string_view word = cursor.rest().substr(0, cursor.rest().find(' '));
      const bool lacks_newline = ends_rows && row_count > 1 && !has_newline;
      if (lacks_newline || !are_likely_floats(floats) || !is_clean_text(word.substr(0, 256)))
        refuse_space_in_word(cursor, text, last_row, bytes, ends_rows && row_count > 1);
      ends_rows = has_newline && (ends_rows || row_count == 1);
    }
    if (leniency.is_full(row_count)) break;
    if (cursor.rest().find_first_not_of("\r\n") == std::string_view::npos) {
      if (!cursor.at_end()) leniency.accept("blank lines at the end");
      break;
    }
    const std::size_t begin = cursor.position();
    const auto row_name = [&] { return joined({"row ", row_count + 1, " of ", rows}); };
    const std::size_t space = cursor.rest().find(' ');
    if (space == std::string_view::npos)
      cursor.fail(begin, row_name() + ": a word and a space", shown(cursor.rest()));
    const std::string_view word = cursor.take(space);
    cursor.take(1);
    const std::string_view floats = cursor.take(bytes);
    if (floats.size() != bytes)
      cursor.fail(cursor.position(), joined({row_name(), ": ", bytes, " bytes of floats"}),
                  joined({"the end of the file after ", floats.size()}));
    std::memcpy(vectors.add([&] { return possible_rows(); }).data(), floats.data(), bytes);
    leniency.add(words, word);
    last_row = begin;
  }
  if (words.size() == 0) cursor.fail(cursor.position(), "a row", "the end of the file");
  leniency.accept_header(rows, words.size());
  leniency.warn();
  return {std::move(words), std::move(vectors).take()};
}

}  // namespace detail

#endif

}}  // namespace wordloom::WORDLOOM_ABI
