#pragma once
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <wordloom/core/error.hpp>
#include <wordloom/core/files.hpp>
#include <wordloom/io/vector_format.hpp>
#include <wordloom/io/word_lines.hpp>
#include <wordloom/model/embeddings.hpp>

/// Files of vectors are written here; the readers of each format have a header of their own, which
/// programs that only train do not link.
namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// Writes vectors as VectorFile::write does.
void write_vectors(const Embeddings& embeddings, AtomicFile& file, VectorFormat format);

}  // namespace detail

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

/// Writes the header of word2vec's files.
inline void write_header(const Embeddings& embeddings, AtomicFile& file) {
  file.write(joined({embeddings.size(), " ", embeddings.dimension(), "\n"}));
}

/// Writes row i as little-endian floats.
inline void write_floats(const Embeddings& embeddings, std::size_t i, AtomicFile& file) {
  const auto row = embeddings.vector(i);
  file.write({reinterpret_cast<const char*>(row.data()), row.size_bytes()});
}

/// Writes the word of each row, if the format has it there, its numbers, and `end`.
inline void write_text_rows(const Embeddings& embeddings, AtomicFile& file, bool with_words,
                            char separator, std::string_view end) {
  std::string line;
  std::array<char, 32> digits;  // enough for any float
  for (std::size_t i = 0; i < embeddings.size(); ++i) {
    line.assign(with_words ? embeddings.word(i) : "");
    bool is_first = !with_words;
    for (const float x : embeddings.vector(i)) {
      if (!std::exchange(is_first, false)) line += separator;
      // The shortest decimal that reads back as the same float.
      line.append(digits.data(),
                  std::to_chars(digits.data(), digits.data() + digits.size(), x).ptr);
    }
    file.write(line.append(end));
  }
}

inline void write_word2vec_binary(const Embeddings& embeddings, AtomicFile& file) {
  check_words(embeddings.words(), VectorFormat::word2vec_binary);
  write_header(embeddings, file);
  for (std::size_t i = 0; i < embeddings.size(); ++i) {
    file.write(embeddings.word(i));
    file.write(" ");
    write_floats(embeddings, i, file);
    file.write("\n");
  }
}

inline void write_word2vec_text(const Embeddings& embeddings, AtomicFile& file) {
  check_words(embeddings.words(), VectorFormat::word2vec_text);
  write_header(embeddings, file);
  write_text_rows(embeddings, file, true, ' ', " \n");
}
inline void write_glove_text(const Embeddings& embeddings, AtomicFile& file) {
  check_words(embeddings.words(), VectorFormat::glove_text);
  write_text_rows(embeddings, file, true, ' ', "\n");
}
/// Writes the words first; they appear before `file` is committed.
inline void write_projector_tsv(const Embeddings& embeddings, AtomicFile& file) {
  check_words(embeddings.words(), VectorFormat::projector_tsv);
  write_text_rows(embeddings, file, false, '\t', "\n");
  save_word_lines(embeddings, file, projector_metadata_path(file.path()));
}

/// Commits the file of the words, but not `file`.
inline void write_npy(const Embeddings& embeddings, AtomicFile& file) {
  check_words(embeddings.words(), VectorFormat::npy);
  std::string header = joined({"{'descr': '<f4', 'fortran_order': False, 'shape': (",
                               embeddings.size(), ", ", embeddings.dimension(), "), }"});
  constexpr std::size_t before = 10;  // magic, version and length
  header.append((64 - (before + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  file.write(std::string_view("\x93NUMPY\x01\x00", 8));
  const auto length = static_cast<std::uint16_t>(header.size());
  file.write({reinterpret_cast<const char*>(&length), sizeof length});
  file.write(header);
  for (std::size_t i = 0; i < embeddings.size(); ++i) write_floats(embeddings, i, file);
  save_word_lines(embeddings, file, npy_words_path(file.path()));
}

WORDLOOM_FUNCTION void write_vectors(const Embeddings& embeddings, AtomicFile& file,
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
    case VectorFormat::compressed:  // which few programs write: the others would compile it
      throw InvalidArgument(
          "compressed vectors are written by embeddings.compress({...}).save(path)");
  }
}

}  // namespace detail

WORDLOOM_FUNCTION void Embeddings::save(const std::filesystem::path& path,
                                        VectorFormat format) const {
  AtomicFile file(path);
  detail::write_vectors(*this, file, format);
  file.commit();
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
