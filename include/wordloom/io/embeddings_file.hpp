#pragma once
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/core/detail/text_fields.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/files.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/io/detail/vector_writers.hpp>
#include <wordloom/io/fasttext_file.hpp>
#include <wordloom/io/load_options.hpp>
#include <wordloom/io/npy_file.hpp>
#include <wordloom/io/vector_format.hpp>
#include <wordloom/io/vector_text.hpp>
#include <wordloom/io/word2vec_binary.hpp>
#include <wordloom/io/word_lines.hpp>
#include <wordloom/model/compressed_embeddings.hpp>
#include <wordloom/model/embeddings.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/model/subword_embeddings.hpp>

/// Files of vectors in any format. They may be compressed (.gz, recognized by the first bytes), a
/// named pipe, a descriptor such as /dev/fd/3 or "-" (standard input), and may begin with a byte
/// order mark.
namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {
VectorFormat format_of(const InputFile& file);
}  // namespace detail

/// An open file of vectors or of a model. A pipe can be opened only once, so its format cannot be
/// detected first and its content read later by name. Thread-safe.
class VectorFile {
 public:
  /// Throws IoError, FormatError for a damaged .gz file, and ForeignFormat.
  explicit VectorFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const noexcept { return file_->path(); }

  /// Returns the format of the file, by the first of these rules that applies:
  /// - it begins like NumPy's files, fastText's files, those of Model::save or of
  ///   CompressedEmbeddings::save: npy, fasttext, model, compressed;
  /// - its name, without .gz, ends in .tsv: the projector's format;
  /// - its first line is not two whole numbers: GloVe's format;
  /// - a line after the first ends in numbers in ASCII: word2vec's text format;
  /// - any other file: word2vec's binary format.
  VectorFormat format() const noexcept { return format_; }

  /// Reads the vectors. Throws FormatError with the place of the error: the line and column of a
  /// text, the byte of other formats.
  Embeddings embeddings(const LoadOptions& options = {}) const {
    return embeddings(format_, options);
  }
  Embeddings embeddings(VectorFormat format, const LoadOptions& options = {}) const;

  /// Reads the vectors of a model of fastText, with those of n-grams (load_fasttext).
  SubwordEmbeddings fasttext() const { return detail::read_fasttext(*file_); }

  /// Reads a model of fastText (load_fasttext_model) or Wordloom (Model::load).
  Model model() const {
    return format_ == VectorFormat::fasttext ? detail::read_fasttext_model(*file_)
                                             : Model::load(*file_);
  }

  /// Maps compressed vectors (CompressedEmbeddings::load).
  CompressedEmbeddings compressed() const { return CompressedEmbeddings::load(file_); }

  /// Returns "word2vec-binary, word2vec-text, glove, npy, tsv, vec, fasttext, model, compressed".
  static std::string format_names() { return detail::format_names(); }

  /// Returns the format of a name. Throws InvalidArgument, which lists the names.
  static VectorFormat format_named(std::string_view name) { return detail::format_named(name); }

  /// Returns the file of the words beside the vectors in `path`; empty for a format that is one
  /// file.
  static std::filesystem::path words_path(const std::filesystem::path& path, VectorFormat format) {
    return detail::words_path(path, format);
  }

  /// Throws InvalidArgument for the first word that a format cannot hold, because other words would
  /// be read from the file; the message names a format that can hold all words, if there is one.
  /// All functions that write words check them in this way before the first byte; programs call
  /// this before they train.
  ///
  /// word2vec's binary format holds words without a blank (a space) that do not begin with a
  /// newline. The text formats hold words without a newline that do not begin or end with a blank
  /// or tab, and words of nothing else, except words whose numbers may be part of a vector: after
  /// its first field, two fractions in a row, one of four decimals or 1e-5. In .npy and .tsv words
  /// are lines, in .tsv without a tab. Models hold words without a newline, those of fastText
  /// without a zero byte, and neither an empty word.
  static void check_words(const WordList& words, VectorFormat format) {
    detail::check_words(words, format);
  }

  /// Checks that `file` can be written, for example before training. Throws as write(), except for
  /// words: see check_words(), and for formats of whole models.
  static void check_place(const AtomicFile& file, VectorFormat format) {
    if (const auto words = words_path(file.path(), format); !words.empty())
      detail::open_words(file, words);
  }

  /// Writes vectors in a format, into a file that is already open; does not commit. Throws IoError,
  /// and InvalidArgument for a word that the format cannot hold (check_words), for formats of
  /// whole models and for compressed (Embeddings::compress). Embeddings::save writes a whole file.
  static void write(const Embeddings& embeddings, AtomicFile& file, VectorFormat format) {
    detail::write_vectors(embeddings, file, format);
  }

  /// Writes a fastText model as save_fasttext does, into a file that is already open; does not
  /// commit.
  static void write(const Model& model, AtomicFile& file, const Model::FastTextOptions& options) {
    detail::write_fasttext(model, file, options);
  }

 private:
  std::shared_ptr<const detail::InputFile> file_;
  VectorFormat format_;
};

namespace detail {

/// Returns the format of a file (VectorFile::format). Throws IoError.
inline VectorFormat detect_vector_format(const std::filesystem::path& path) {
  return VectorFile(path).format();
}

}  // namespace detail

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

/// Returns whether a line of a file of word2vec is a row of text and not part of floats.
inline bool is_text_row(std::string_view line, std::size_t columns, bool is_first) {
  // Numbers that the loader would refuse are text too.
  constexpr std::string_view in_numbers = "+-.0123456789eEinftyaINFTYA";
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::size_t numbers = 0;  // at the end of the line
  std::string_view before = line, field;
  while (!(field = take_last_field(before)).empty()) {
    if (field.find_first_not_of(in_numbers) != field.npos) break;
    ++numbers;
  }
  const bool has_one_word = before.empty();
  if (field.empty() && numbers > 0 && !is_blank(line.front())) --numbers;  // a number as the word
  // A few bytes of floats may look like a number or two.
  if (numbers >= columns) return is_first || columns >= 4;
  if (!is_first) return false;
  if (has_one_word && numbers >= (std::min<std::size_t>)(columns, 2)) return true;
  // A row with other content is still in ASCII.
  const std::string_view rest = line.substr((std::min)(line.find(' '), line.size()));
  return columns >= 4 && rest.size() >= 2 * columns &&
         std::all_of(rest.begin(), rest.end(),
                     [](char c) { return (c >= ' ' && c <= '~') || c == '\t'; });
}

/// Returns whether the rows after the header of a file of word2vec are text.
inline bool are_text_rows(std::string_view rows, std::size_t columns) {
  for (int i = 0; i < 3 && !rows.empty(); ++i) {
    const std::string_view line = rows.substr(0, rows.find('\n'));
    if (is_text_row(line, columns, i == 0)) return true;
    rows.remove_prefix((std::min)(line.size() + 1, rows.size()));
  }
  return false;
}

/// Returns whether a first line has numbers between tabs and no word, and the words of
/// projector_tsv are in a file beside it.
inline bool has_words_beside(const std::filesystem::path& path, std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::size_t begin = 0, end = line.find('\t');
  if (end == line.npos) return false;
  for (; begin <= line.size(); begin = end + 1) {
    end = (std::min)(line.find('\t', begin), line.size());
    if (!is_number(line.substr(begin, end - begin))) return false;
  }
  std::error_code failed;
  return std::filesystem::exists(projector_metadata_path(without_gz(path)), failed);
}

WORDLOOM_FUNCTION VectorFormat format_of(const InputFile& file) {
  const std::string_view text = file.text();
  if (text.starts_with("\x93NUMPY")) return VectorFormat::npy;
  if (has_fasttext_magic(text)) return VectorFormat::fasttext;
  if (Model::recognizes(text)) return VectorFormat::model;
  if (CompressedFile::recognizes(text)) return VectorFormat::compressed;
  if (without_gz(file.path()).extension() == ".tsv") return VectorFormat::projector_tsv;
  const std::size_t end = text.find('\n');
  const auto header = header_in(text.substr(0, end));
  if (has_words_beside(file.path(), text.substr(0, end))) return VectorFormat::projector_tsv;
  if (!header || end == text.npos) return VectorFormat::glove_text;
  return are_text_rows(text.substr(end + 1), header->second) ? VectorFormat::word2vec_text
                                                             : VectorFormat::word2vec_binary;
}

}  // namespace detail

WORDLOOM_FUNCTION VectorFile::VectorFile(const std::filesystem::path& path)
    : file_(std::make_shared<const detail::InputFile>(path)), format_(detail::format_of(*file_)) {}

WORDLOOM_FUNCTION Embeddings Embeddings::load(const std::filesystem::path& path) {
  return VectorFile(path).embeddings();
}

WORDLOOM_FUNCTION Embeddings Embeddings::load(const std::filesystem::path& path,
                                              const LoadOptions& options) {
  return VectorFile(path).embeddings(options);
}

WORDLOOM_FUNCTION Embeddings VectorFile::embeddings(VectorFormat format,
                                                    const LoadOptions& options) const {
  if (options.map && format != VectorFormat::npy)
    detail::refuse_map(path(), format == VectorFormat::compressed
                                   ? "Embeddings hold floats, it holds compressed vectors"
                                   : "its numbers are not one array of float32");
  switch (format) {
    case VectorFormat::word2vec_text:
      return detail::read_word2vec_text(*file_, options);
    case VectorFormat::glove_text:
      return detail::read_glove_text(*file_, options);
    case VectorFormat::npy:
      return detail::read_npy(file_, {}, options);
    case VectorFormat::projector_tsv:
      return detail::read_projector_tsv(*file_, options);
    case VectorFormat::fasttext:  // the composed vectors of its words
      return detail::first_words(fasttext().in_vocabulary(), options.limit);
    case VectorFormat::model:
      return detail::first_words(Model::load(*file_).embeddings(), options.limit);
    case VectorFormat::compressed:
      return detail::first_words(compressed().decoded(), options.limit);
    default:
      return detail::read_word2vec_binary(*file_, options);
  }
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
