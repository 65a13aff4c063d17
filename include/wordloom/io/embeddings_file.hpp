#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <wordloom/core/error.hpp>
#include <wordloom/core/files.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/io/fasttext_file.hpp>
#include <wordloom/io/npy_file.hpp>
#include <wordloom/io/vector_format.hpp>
#include <wordloom/io/vector_text.hpp>
#include <wordloom/model/embeddings.hpp>
#include <wordloom/model/model.hpp>

namespace wordloom::inline WORDLOOM_ABI {

/// word2vec's binary format, byte for byte: "V D\n", then for each row the word, a space, D
/// little-endian floats and "\n".
void write_word2vec_binary(const Embeddings& embeddings, AtomicFile& file);

/// Reads what word2vec, gensim (which writes no newline after a row) and the above write. Values
/// that are not finite are kept.
Embeddings load_word2vec_binary(const std::filesystem::path& path);

/// Which format a file is in. In this order: it begins as NumPy's or fastText's files or those of
/// Model::save do: npy, fasttext, model; its name ends in .tsv: the projector's; its first line is
/// not two whole numbers: GloVe; its second line is a word and then, in ASCII, one number or more:
/// word2vec's text; else word2vec's binary. Throws IoError.
VectorFormat detect_vector_format(const std::filesystem::path& path);

/// Returns the file of the words beside the vectors in `path`; empty for a format that is one file.
inline std::filesystem::path words_path(const std::filesystem::path& path, VectorFormat format) {
  if (format == VectorFormat::npy) return npy_words_path(path);
  if (format == VectorFormat::projector_tsv) return projector_metadata_path(path);
  return {};
}

/// Throws what `write_embeddings` would throw because of the place of `file`, whatever the vectors
/// are: before they are trained, say.
inline void check_place(const AtomicFile& file, VectorFormat format) {
  if (const auto words = words_path(file.path(), format); !words.empty())
    detail::open_words(file, words);
}

/// Writes in the format given, into a file that is already open; does not commit. Throws IoError,
/// and InvalidArgument for a word that is empty or holds white space and for formats of whole
/// models.
void write_embeddings(const Embeddings& embeddings, AtomicFile& file, VectorFormat format);

/// The same into a file that appears whole or not at all.
inline void save_embeddings(const Embeddings& embeddings, const std::filesystem::path& path,
                            VectorFormat format = VectorFormat::word2vec_binary) {
  AtomicFile file(path);
  write_embeddings(embeddings, file, format);
  file.commit();
}

/// Reads a file in the format given. Throws IoError, and FormatError with the byte that is wrong.
Embeddings load_embeddings(const std::filesystem::path& path, VectorFormat format);

/// Reads a file in whatever format it is in (detect_vector_format).
inline Embeddings load_embeddings(const std::filesystem::path& path) {
  return load_embeddings(path, detect_vector_format(path));
}

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void write_word2vec_binary(const Embeddings& embeddings, AtomicFile& file) {
  detail::write_header(embeddings, file);
  for (std::size_t i = 0; i < embeddings.size(); ++i) {
    file.write(detail::checked_word(embeddings, i));
    file.write(" ");
    detail::write_floats(embeddings, i, file);
    file.write("\n");
  }
}

WORDLOOM_FUNCTION Embeddings load_word2vec_binary(const std::filesystem::path& path) {
  const MappedFile file(path);
  detail::Cursor cursor(file);
  const auto [rows, columns] = detail::read_header(cursor, sizeof(float));
  WordList words;
  RowMatrix vectors(rows, columns);
  for (std::size_t i = 0; i < rows; ++i) {
    cursor.skip('\n');
    const std::size_t begin = cursor.position();
    const std::string row = detail::joined({"row ", i + 1, " of ", rows});
    const std::string_view word = cursor.token();
    if (word.empty() || !cursor.skip(' '))
      cursor.fail(begin, row + ": a word and a space",
                  cursor.at_end() ? "the end of the file" : detail::shown(cursor.rest()));
    const std::string_view bytes = cursor.take(columns * sizeof(float));
    if (bytes.size() != columns * sizeof(float))
      cursor.fail(cursor.position(),
                  detail::joined({row, ": ", columns * sizeof(float), " bytes of floats"}),
                  detail::joined({"the end of the file after ", bytes.size()}));
    std::memcpy(vectors.row_data(i), bytes.data(), bytes.size());
    words.append(word);
  }
  cursor.skip('\n');
  cursor.end_file();
  return {std::move(words), std::move(vectors)};
}

WORDLOOM_FUNCTION VectorFormat detect_vector_format(const std::filesystem::path& path) {
  const MappedFile file(path);
  if (file.text().starts_with("\x93NUMPY")) return VectorFormat::npy;
  if (detail::has_fasttext_magic(file.text())) return VectorFormat::fasttext;
  if (Model::is_in(file.text())) return VectorFormat::model;
  if (path.extension() == ".tsv") return VectorFormat::projector_tsv;
  detail::Cursor cursor(file);
  std::size_t columns = 0;
  try {
    cursor.number<std::size_t>("");
    columns = cursor.number<std::size_t>("");
    cursor.end_line("");
  } catch (const FormatError&) {
    return VectorFormat::glove_text;
  }
  // Numbers that the loader would refuse are text too, but a few bytes of floats may look like one.
  cursor.token();
  const std::string_view row = cursor.rest().substr(0, cursor.rest().find('\n'));
  std::size_t numbers = 0;
  for_each_token(
      row, [&](std::string_view) { ++numbers; }, [] {});
  const bool is_text = row.find_first_not_of("+-.0123456789eEinftyaINFTYA \t\r") == row.npos;
  return is_text && numbers >= std::min<std::size_t>(columns, 2) ? VectorFormat::word2vec_text
                                                                 : VectorFormat::word2vec_binary;
}

WORDLOOM_FUNCTION void write_embeddings(const Embeddings& embeddings, AtomicFile& file,
                                        VectorFormat format) {
  switch (format) {
    case VectorFormat::word2vec_binary:
      return write_word2vec_binary(embeddings, file);
    case VectorFormat::word2vec_text:
      return write_word2vec_text(embeddings, file);
    case VectorFormat::glove_text:
      return write_glove_text(embeddings, file);
    case VectorFormat::npy:
      return write_npy(embeddings, file);
    case VectorFormat::projector_tsv:
      return write_projector_tsv(embeddings, file);
    case VectorFormat::fasttext:
      throw InvalidArgument(
          "fastText's format holds a whole model, not its vectors alone: use save_fasttext");
    case VectorFormat::model:
      throw InvalidArgument(
          "this format holds a whole model, not its vectors alone: use Model::save");
  }
}

WORDLOOM_FUNCTION Embeddings load_embeddings(const std::filesystem::path& path,
                                             VectorFormat format) {
  switch (format) {
    case VectorFormat::word2vec_text:
      return load_word2vec_text(path);
    case VectorFormat::glove_text:
      return load_glove_text(path);
    case VectorFormat::npy:
      return load_npy(path);
    case VectorFormat::projector_tsv:
      return load_projector_tsv(path);
    case VectorFormat::fasttext:
      return load_fasttext(path);  // the composed vectors of its words
    case VectorFormat::model:
      return Model::load(path).embeddings();
    default:
      return load_word2vec_binary(path);
  }
}

#endif

}  // namespace wordloom::inline WORDLOOM_ABI
