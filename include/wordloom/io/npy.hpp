#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <wordloom/core/atomic_file.hpp>
#include <wordloom/core/mapped_file.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/io/vector_rows.hpp>
#include <wordloom/io/word_lines.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom {

/// Where the words of a .npy file stand: "vectors.npy.words.txt", one a line.
inline std::filesystem::path npy_words_path(std::filesystem::path path) {
  return path += ".words.txt";
}

/// NumPy's .npy, version 1.0: a float32 array [V x D] in C order. Does not commit, but saves the
/// words beside it (npy_words_path) first. Throws IoError, and InvalidArgument for a word that is
/// empty or holds white space.
inline void write_npy(const Embeddings& embeddings, AtomicFile& file) {
  detail::save_word_lines(embeddings, npy_words_path(file.path()));
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                       std::to_string(embeddings.size()) + ", " +
                       std::to_string(embeddings.dimension()) + "), }";
  constexpr std::size_t before = 10;  // magic, version and length
  header.append((64 - (before + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  file.write(std::string_view("\x93NUMPY\x01\x00", 8));
  const char length[2] = {static_cast<char>(header.size() & 0xff),
                          static_cast<char>(header.size() >> 8)};
  file.write({length, 2});
  file.write(header);
  for (std::size_t i = 0; i < embeddings.size(); ++i) {
    const auto row = embeddings.vector(i);
    file.write({reinterpret_cast<const char*>(row.data()), row.size_bytes()});
  }
}

/// The same into a file that appears whole or not at all.
inline void save_npy(const Embeddings& embeddings, const std::filesystem::path& path) {
  AtomicFile file(path);
  write_npy(embeddings, file);
  file.commit();
}

/// Reads a .npy file of version 1 to 3 that holds a little-endian float32 array [V x D] in C order,
/// with its words from `words` (npy_words_path(path) when empty). Throws IoError, and FormatError
/// with the byte that is wrong.
inline Embeddings load_npy(const std::filesystem::path& path,
                           const std::filesystem::path& words = {}) {
  const MappedFile file(path);
  const std::string_view text = file.text();
  const auto fail = [&](std::size_t byte, std::string_view expected, std::string_view got) {
    return FormatError::at_byte(path, byte, expected, got);
  };
  if (text.substr(0, 6) != "\x93NUMPY")
    throw fail(0, "the six bytes \\x93NUMPY", detail::shown(text.substr(0, 6)));
  if (text.size() < 12) throw fail(text.size(), "a header", "the end of the file");
  const int version = static_cast<unsigned char>(text[6]);
  if (version < 1 || version > 3) throw fail(6, "version 1 to 3", std::to_string(version));
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  std::size_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;)
    length = length << 8 | static_cast<unsigned char>(text[8 + i]);
  const std::size_t begin = 8 + length_bytes;
  if (length > text.size() - begin)
    throw fail(8, "a header within the file", "one of " + std::to_string(length) + " bytes");
  const std::string_view header = text.substr(begin, length);

  // A Python dictionary; NumPy always writes it in this form.
  const auto value = [&](std::string_view key) {
    const std::size_t at = header.find("'" + std::string(key) + "':");
    if (at == header.npos)
      throw fail(begin, "'" + std::string(key) + "' in the header", detail::shown(header));
    auto rest = header.substr(at + key.size() + 3);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    return rest;
  };
  if (!value("descr").starts_with("'<f4'"))
    throw fail(begin, "little-endian float32, '<f4'", detail::shown(value("descr").substr(0, 12)));
  if (!value("fortran_order").starts_with("False"))
    throw fail(begin, "C order",
               "fortran_order " + detail::shown(value("fortran_order").substr(0, 5)));
  const std::string_view shape = value("shape");
  std::size_t rows = 0, columns = 0;
  const char* const end = shape.data() + shape.size();
  const auto first = std::from_chars(shape.data() + (shape.starts_with('(') ? 1 : 0), end, rows);
  const char* next = first.ptr;
  while (next != end && (*next == ',' || *next == ' ')) ++next;
  const auto second = std::from_chars(next, end, columns);
  if (first.ec != std::errc() || second.ec != std::errc() || second.ptr == end ||
      *second.ptr != ')' || rows == 0 || columns == 0)
    throw fail(begin, "a shape of two numbers above 0", detail::shown(shape.substr(0, 24)));

  const std::string_view data = text.substr(begin + length);
  if (columns > data.size() / sizeof(float) || rows != data.size() / sizeof(float) / columns ||
      data.size() != rows * columns * sizeof(float))
    throw fail(begin, "a shape that fits the " + std::to_string(data.size()) + " bytes of data",
               std::to_string(rows) + " x " + std::to_string(columns));
  WordList list = detail::load_word_lines(words.empty() ? npy_words_path(path) : words, rows);
  RowMatrix vectors(rows, columns);
  for (std::size_t i = 0; i < rows; ++i)
    std::memcpy(vectors.row_data(i), data.data() + i * columns * sizeof(float),
                columns * sizeof(float));
  return {std::move(list), std::move(vectors)};
}

}  // namespace wordloom
