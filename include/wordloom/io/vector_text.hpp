#pragma once
#include <algorithm>
#include <cstddef>
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
#include <wordloom/io/word_lines.hpp>
#include <wordloom/model/embeddings.hpp>

/// The text formats of vectors, see VectorFormat.
namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

Embeddings read_word2vec_text(const InputFile& file, const LoadOptions& options);
Embeddings read_glove_text(const InputFile& file, const LoadOptions& options);
Embeddings read_projector_tsv(const InputFile& file, const LoadOptions& options);

}  // namespace detail

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

/// Returns whether the first words all end in numbers and all numbers of their vectors are whole:
/// the dimension in the header is then likely smaller than that of the rows.
inline bool are_whole_rows(const WordList& words, const RowMatrix& vectors) {
  const std::size_t count = (std::min)(words.size(), telling_rows);
  for (std::size_t i = 0; i < count; ++i)
    if (numbers_at_end(words[i]) == 0 || !std::ranges::all_of(vectors.row(i), is_whole))
      return false;
  return count > 1;
}

/// Returns whether, in the first rows, the first number is whole and not always the same, and no
/// other one is: it is likely the end of a word, such as "Station 1".
inline bool begin_in_whole_numbers(const RowMatrix& vectors) {
  const std::size_t count = (std::min)(vectors.rows(), telling_rows);
  bool differ = false;
  for (std::size_t i = 0; i < count; ++i) {
    const auto row = vectors.row(i);
    if (!is_whole(row[0]) || std::any_of(row.begin() + 1, row.end(), is_whole)) return false;
    differ = differ || row[0] != vectors.row(0)[0];
  }
  return count > 3 && vectors.columns() > 2 && differ;
}

WORDLOOM_FUNCTION Embeddings read_word2vec_text(const InputFile& file, const LoadOptions& options) {
  LineReader reader(file);
  const bool has_line = reader.next();
  const auto header = header_in(reader.line());
  const std::string got = has_line ? shown(reader.line()) : "an empty file";
  if (!header || !reader.has_end()) reader.fail(0, "a header 'words dimension'", got);
  const auto [rows, columns] = *header;
  if (rows == 0 || columns == 0) reader.fail(0, "at least one word and one dimension", got);
  // Each number needs a digit and a blank: no memory is allocated that the file cannot fill.
  const std::size_t left = reader.rest().size() + 1;
  if (columns > left / 2)
    reader.fail(0, "a header that fits the file",
                joined({rows, " words of dimension ", columns, " in ", left - 1, " bytes"}));
  Leniency leniency(file.path(), options);
  WordList words;
  const LineReader begin = reader;
  RowMatrix vectors = read_text_rows(reader, (std::min)(rows, left / (columns * 2 + 1) + 1),
                                     columns, &words, leniency);
  const bool has_other_dimension =
      !leniency.is_full(words.size()) && !end_fault(words, VectorFormat::word2vec_text).empty();
  if (has_other_dimension || are_whole_rows(words, vectors))
    begin.fail(0, "a header with the dimension of the rows",
               joined({got, ", and a row of more numbers after ", shown(words[0])}));
  leniency.accept_header(rows, words.size());
  leniency.warn();
  return {std::move(words), std::move(vectors)};
}

WORDLOOM_FUNCTION Embeddings read_glove_text(const InputFile& file, const LoadOptions& options) {
  LineReader reader(file);
  const std::size_t columns = columns_of_rows(reader, true, "a word and its numbers");
  Leniency leniency(file.path(), options);
  WordList words;
  const LineReader begin = reader;
  RowMatrix vectors = read_text_rows(reader, reader.lines_left(), columns, &words, leniency);
  if (begin_in_whole_numbers(vectors))
    begin.fail(0, "words and vectors that can be told apart",
               joined({"a whole number, then fractions after ", shown(words[0]),
                       " and all others: write 'words dimension' in a line before them"}));
  leniency.warn();
  return {std::move(words), std::move(vectors)};
}

WORDLOOM_FUNCTION Embeddings read_projector_tsv(const InputFile& file, const LoadOptions& options) {
  LineReader reader(file);
  const std::size_t columns = columns_of_rows(reader, false, "rows of numbers");
  Leniency leniency(file.path(), options);
  RowMatrix vectors = read_text_rows(reader, reader.lines_left(), columns, nullptr, leniency);
  leniency.warn();
  WordList words = load_word_lines(present_words_path(file.path(), VectorFormat::projector_tsv),
                                   vectors.rows(), VectorFormat::projector_tsv, options);
  return {std::move(words), std::move(vectors)};
}

}  // namespace detail

#endif

}}  // namespace wordloom::WORDLOOM_ABI
