#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/io/load_options.hpp>
#include <wordloom/io/vector_format.hpp>
#include <wordloom/io/word_lines.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

static_assert(std::endian::native == std::endian::little,
              "wordloom: binary vector files are little-endian, and so must the machine be");

Embeddings read_npy(const std::shared_ptr<const InputFile>& file,
                    const std::filesystem::path& words, const LoadOptions& options);

/// Reads a .npy file of version 1 to 3, a little-endian float32 array [V x D] in C order, and its
/// words from the file `words`. If `words` is empty, they are read from "v.npy.words.txt" for
/// "v.npy"; for "v.npy.gz", from that or "v.npy.gz.words.txt". Either file may be compressed.
/// Throws IoError, and FormatError with the byte of the array or the line of the words.
inline Embeddings load_npy(const std::filesystem::path& path,
                           const std::filesystem::path& words = {},
                           const LoadOptions& options = {}) {
  return detail::read_npy(std::make_shared<const detail::InputFile>(path), words, options);
}

}  // namespace detail

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION Embeddings detail::read_npy(const std::shared_ptr<const InputFile>& opened,
                                              const std::filesystem::path& words,
                                              const LoadOptions& options) {
  const InputFile& file = *opened;
  const Cursor cursor(file);
  const std::string_view text = file.text();
  if (text.substr(0, 6) != "\x93NUMPY")
    cursor.fail(0, "the six bytes \\x93NUMPY", shown(text.substr(0, 6)));
  if (text.size() < 12) cursor.fail(text.size(), "a header", "the end of the file");
  const int version = static_cast<unsigned char>(text[6]);
  if (version < 1 || version > 3) cursor.fail(6, "version 1 to 3", std::to_string(version));
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  std::size_t length = 0;  // little-endian, as the machine is
  std::memcpy(&length, text.data() + 8, length_bytes);
  const std::size_t begin = 8 + length_bytes;
  if (length > text.size() - begin)
    cursor.fail(8, "a header within the file", joined({"one of ", length, " bytes"}));
  const std::string_view header = text.substr(begin, length);

  // The header is a Python dictionary. NumPy always writes it in the form that is parsed here.
  const auto value = [&](std::string_view key) {
    const std::size_t at = header.find("'" + std::string(key) + "':");
    if (at == header.npos)
      cursor.fail(begin, "'" + std::string(key) + "' in the header", shown(header));
    auto rest = header.substr(at + key.size() + 3);
    rest.remove_prefix((std::min)(rest.find_first_not_of(' '), rest.size()));
    return rest;
  };
  const auto until_comma = [&](std::string_view key) {
    return std::string(value(key).substr(0, (std::min)(value(key).find(','), std::size_t{24})));
  };
  constexpr std::string_view help = ": save it by numpy.save(file, array.astype('<f4', order='C'))";
  if (!value("descr").starts_with("'<f4'"))
    cursor.fail(begin, "little-endian float32, '<f4'", until_comma("descr").append(help));
  if (!value("fortran_order").starts_with("False"))
    cursor.fail(begin, "C order", "fortran_order " + until_comma("fortran_order").append(help));
  const std::string_view shape = value("shape");
  std::size_t rows = 0, columns = 0;
  char close = 0;
  if (std::sscanf(std::string(shape.substr(0, 64)).c_str(), "(%zu ,%zu%c", &rows, &columns,
                  &close) != 3 ||
      close != ')' || rows == 0 || columns == 0)
    cursor.fail(begin, "a shape of two numbers above 0", shown(shape.substr(0, 24)));

  const std::string_view data = text.substr(begin + length);
  if (columns > data.size() / sizeof(float) || rows != data.size() / sizeof(float) / columns ||
      data.size() != rows * columns * sizeof(float))
    cursor.fail(begin, joined({"a shape that fits the ", data.size(), " bytes of data"}),
                joined({rows, " x ", columns}));
  if (options.limit != 0) rows = (std::min)(rows, options.limit);
  WordList list =
      load_word_lines(words.empty() ? present_words_path(file.path(), VectorFormat::npy) : words,
                      rows, VectorFormat::npy, options);
  if (options.map) {
    if (columns % 16 != 0 || reinterpret_cast<std::uintptr_t>(data.data()) % 64 != 0)
      refuse_map(file.path(),
                 columns % 16 != 0
                     ? joined({"its dimension, ", columns, ", is not a multiple of 16"})
                     : "its numbers do not begin on a 64-byte boundary (.gz?)");
    const auto* const numbers = reinterpret_cast<const float*>(data.data());
    return {std::move(list), RowMatrix::view(numbers, rows, columns), {}, opened};
  }
  RowMatrix vectors(rows, columns);
  for (std::size_t i = 0; i < rows; ++i)
    std::memcpy(vectors.row_data(i), data.data() + i * columns * sizeof(float),
                columns * sizeof(float));
  return {std::move(list), std::move(vectors)};
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
