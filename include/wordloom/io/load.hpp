#pragma once
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <string_view>

#include <wordloom/core/mapped_file.hpp>
#include <wordloom/io/npy.hpp>
#include <wordloom/io/projector_tsv.hpp>
#include <wordloom/io/vector_format.hpp>
#include <wordloom/io/vector_text.hpp>
#include <wordloom/io/word2vec_binary.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom {

/// Which format a file is in. In this order: it begins with \x93NUMPY: npy; its name ends in .tsv:
/// the projector's; its first line is not two whole numbers: GloVe; its second line is a word and
/// as many numbers as the first says: word2vec's text; else word2vec's binary. Throws IoError.
inline VectorFormat detect_vector_format(const std::filesystem::path& path) {
  const MappedFile file(path);
  if (file.text().starts_with("\x93NUMPY")) return VectorFormat::npy;
  if (path.extension() == ".tsv") return VectorFormat::projector_tsv;
  detail::Cursor cursor(path, file.text());
  std::size_t columns = 0;
  try {
    cursor.number<std::size_t>("");
    columns = cursor.number<std::size_t>("");
    cursor.end_line("");
  } catch (const FormatError&) {
    return VectorFormat::glove_text;
  }
  cursor.token();
  try {
    for (std::size_t c = 0; c < columns; ++c) cursor.number<float>("");
    cursor.end_line("");
  } catch (const FormatError&) {
    return VectorFormat::word2vec_binary;
  }
  return VectorFormat::word2vec_text;
}

/// Reads a file in the format given. Throws IoError, and FormatError with the byte that is wrong.
inline Embeddings load_embeddings(const std::filesystem::path& path, VectorFormat format) {
  switch (format) {
    case VectorFormat::word2vec_binary:
      return load_word2vec_binary(path);
    case VectorFormat::word2vec_text:
      return load_word2vec_text(path);
    case VectorFormat::glove_text:
      return load_glove_text(path);
    case VectorFormat::npy:
      return load_npy(path);
    case VectorFormat::projector_tsv:
      break;
  }
  return load_projector_tsv(path);
}

/// Reads a file in whatever format it is in (detect_vector_format).
inline Embeddings load_embeddings(const std::filesystem::path& path) {
  return load_embeddings(path, detect_vector_format(path));
}

}  // namespace wordloom
