#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/files.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/io/detail/text_rows.hpp>
#include <wordloom/io/load_options.hpp>
#include <wordloom/io/vector_format.hpp>
#include <wordloom/model/embeddings.hpp>

/// The files of words beside the vectors of formats that keep them in a separate file.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Returns the file with the words of "vectors.tsv": "vectors.metadata.tsv", one word a line.
inline std::filesystem::path projector_metadata_path(std::filesystem::path path) {
  return path.replace_extension(".metadata.tsv");
}

/// Returns the file with the words of a .npy file: "vectors.npy.words.txt", one word a line.
inline std::filesystem::path npy_words_path(std::filesystem::path path) {
  return path += ".words.txt";
}

/// Returns the file of the words beside the vectors in `path`; empty for a format that is one file.
inline std::filesystem::path words_path(const std::filesystem::path& path, VectorFormat format) {
  if (format == VectorFormat::npy) return npy_words_path(path);
  if (format == VectorFormat::projector_tsv) return projector_metadata_path(path);
  return {};
}

/// Returns a path without .gz at its end.
inline std::filesystem::path without_gz(const std::filesystem::path& path) {
  return path.extension() == ".gz" ? path.parent_path() / path.stem() : path;
}

/// Returns the existing file of words beside vectors that exist; either may be compressed. Throws
/// IoError for vectors that come from a stream.
inline std::filesystem::path present_words_path(const std::filesystem::path& path,
                                                VectorFormat format) {
  auto words = words_path(without_gz(path), format);
  std::error_code failed;
  if (path != standard_stream) {
    for (const auto& place : {words, words_path(path, format)})
      for (const char* ending : {"", ".gz"})
        if (auto file = place; std::filesystem::exists(file += ending, failed)) return file;
    if (std::filesystem::is_regular_file(path, failed)) return words;
  }
  throw IoError{"cannot read the words of '", path,
                "': they are in a separate file, which a stream does not have; unpack or copy ",
                "the vectors to a file"};
}

/// Opens the file of words beside `vectors`. Throws IoError, InvalidArgument if those are direct.
inline AtomicFile open_words(const AtomicFile& vectors, const std::filesystem::path& path) {
  if (vectors.is_direct())
    throw InvalidArgument{"cannot write words beside '", vectors.path(),
                          "', which is not a regular file: choose a format that is one file"};
  return AtomicFile(path);
}

/// Writes the words of a format with a separate file of words, one a line, after all numbers: if
/// there is no room for the numbers, no words appear either.
inline void save_word_lines(const Embeddings& embeddings, AtomicFile& vectors,
                            const std::filesystem::path& path) {
  AtomicFile file = open_words(vectors, path);
  for (std::size_t i = 0; i < embeddings.size(); ++i) {
    file.write(embeddings.word(i));
    file.write("\n");
  }
  vectors.flush();
  file.commit();
}

/// Reads the words of `count` vectors, which must be all unless the options limit them. A word is a
/// whole line.
inline WordList load_word_lines(const std::filesystem::path& path, std::size_t count,
                                VectorFormat format, const LoadOptions& options) {
  const InputFile file(path);
  LineReader reader(file);
  Leniency leniency(path, options);
  WordList words;
  const std::string expected = joined({count, " words, as there are vectors"});
  const bool is_part = leniency.is_full(count);
  while ((words.size() < count || !is_part) && reader.next()) {
    if (words.size() == count) {
      if (!reader.ends_blank()) reader.fail(0, expected, "more");
      leniency.accept("blank lines at the end");
      break;
    }
    const std::size_t tab = reader.line().find('\t');
    if (format == VectorFormat::projector_tsv && tab != std::string_view::npos)
      reader.fail(tab, "one word in a line, without a tab", shown(reader.line()));
    leniency.add(words, reader.line());
    if (!reader.has_end()) leniency.accept("the last line does not end: its word may be cut");
  }
  if (words.size() != count)
    throw FormatError{path, ": expected ", expected, ", got ", words.size()};
  leniency.warn();
  return words;
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
