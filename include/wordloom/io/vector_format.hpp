#pragma once
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/detail/foreign_format.hpp>
#include <wordloom/core/detail/gzip.hpp>
#include <wordloom/core/detail/text_fields.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/words.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// The formats of vectors. Numbers read back bit for bit, also those that are not finite. In the
/// text formats, fields are separated by blanks and tabs: the last ones of a row are its numbers
/// and what precedes them is the word, which may hold blanks; those around it are no part of it
/// unless there is nothing else. Lines may end in CRLF; "+1", "nan" and "inf" are numbers, and
/// those too small for a float are 0.
enum class VectorFormat {
  /// "V D\n", then for each row the word, a space, D little-endian floats and "\n", which gensim
  /// leaves out. Only a space ends a word; a newline before it is no part of it. A word that holds
  /// a space, which gensim writes, is refused where it can be told.
  word2vec_binary,
  /// "V D\n", then for each row the word and D numbers, each followed by a space, and "\n"; also
  /// fastText's .vec. A dimension in the header that is smaller than that of the rows is told by
  /// words that would all end in a fraction, or in a number where all numbers are whole.
  word2vec_text,
  /// No header, for each row the word and D numbers separated by spaces. D is the number of numbers
  /// at the end of most of the first 100 rows; where the first of them are whole and all others
  /// fractions, words may end in a number, and the file is refused. A file that was cut between two
  /// rows looks whole.
  glove_text,
  /// NumPy's .npy: a little-endian float32 array [V x D] in C order, version 1 to 3 (1.0 is
  /// written), and the words beside it (npy_words_path).
  npy,
  /// The two files that TensorBoard's embedding projector loads: D numbers separated by tabs for
  /// each row, and the words beside it (projector_metadata_path).
  projector_tsv,
  /// Whole models of fastText, which save_fasttext writes.
  fasttext,
  /// Whole models of Wordloom, which Model::save writes.
  model,
  /// The smaller forms of CompressedEmbeddings, which its save() writes. All words fit.
  compressed
};

namespace detail {

/// A format and its name on a command line.
struct VectorFormatEntry {
  std::string_view name;
  VectorFormat format;
};
inline constexpr VectorFormatEntry vector_formats[] = {
    {"word2vec-binary", VectorFormat::word2vec_binary},
    {"word2vec-text", VectorFormat::word2vec_text},
    {"glove", VectorFormat::glove_text},
    {"npy", VectorFormat::npy},
    {"tsv", VectorFormat::projector_tsv},
    {"vec", VectorFormat::word2vec_text},
    {"fasttext", VectorFormat::fasttext},
    {"model", VectorFormat::model},
    {"compressed", VectorFormat::compressed},
};

/// The number of rows of a text by which the number of columns is determined.
inline constexpr std::size_t telling_rows = 100;

}  // namespace detail

namespace detail {

/// Returns "word2vec-binary, word2vec-text, glove, npy, tsv, vec, fasttext, model,
/// compressed".
inline std::string format_names() {
  std::string names;
  for (const auto& entry : detail::vector_formats)
    names.append(names.empty() ? "" : ", ").append(entry.name);
  return names;
}

/// Returns the format of a name. Throws InvalidArgument, which lists the names.
inline VectorFormat format_named(std::string_view name) {
  for (const auto& entry : detail::vector_formats)
    if (entry.name == name) return entry.format;
  throw InvalidArgument{"unknown vector format '", name, "', must be one of ", format_names()};
}

/// Checks words (VectorFile::check_words).
void check_words(const WordList& words, VectorFormat format);
/// Returns the reason why a format cannot hold the words together: a text format determines by the
/// ends of rows how many numbers they have, or whether its header can be right.
std::string_view end_fault(const WordList& words, VectorFormat format);

}  // namespace detail

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

/// Returns the reason why a format cannot hold a word in any row, empty if it can.
inline std::string_view word_fault(std::string_view word, VectorFormat format) {
  const auto holds = [word](char c) { return word.find(c) != word.npos; };
  switch (format) {
    case VectorFormat::word2vec_binary:
      if (holds(' ')) return "holds a blank, which ends a word there";
      return word.starts_with('\n') ? "begins with a newline" : "";
    case VectorFormat::fasttext:
      if (holds('\0')) return "holds a zero byte";
      return word.empty() ? "is empty" : "";
    case VectorFormat::model:
      if (holds('\n')) return "holds a newline";
      return word.empty() ? "is empty" : "";
    case VectorFormat::word2vec_text:
    case VectorFormat::glove_text: {
      if (holds('\n')) return "holds a newline";
      const auto inner = trimmed(word);
      if (!inner.empty() && inner.size() != word.size()) return "begins or ends with a blank";
      return holds_fractions(word) ? "holds numbers as vectors have them" : "";
    }
    case VectorFormat::npy:
    case VectorFormat::projector_tsv:
      if (holds('\n')) return "holds a newline";
      if (word.ends_with('\r')) return "ends with a carriage return";
      return format == VectorFormat::projector_tsv && holds('\t') ? "holds a tab" : "";
    case VectorFormat::compressed:
      break;
  }
  return "";
}

WORDLOOM_FUNCTION std::string_view end_fault(const WordList& words, VectorFormat format) {
  const std::size_t count = (std::min)(words.size(), telling_rows);
  if (format == VectorFormat::word2vec_text) {
    for (std::size_t i = 0; i < count; ++i)
      if (!ends_in_fraction(words[i])) return "";
    return "and all others at the beginning end in a fraction";
  }
  if (format != VectorFormat::glove_text) return "";
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(numbers_at_end(words[i]));
  return most_frequent(numbers) != 0 ? "and others at the beginning end in a number" : "";
}

/// Returns the reason why a file that begins with a word would be read as another format.
inline std::string_view begin_fault(std::string_view word, VectorFormat format) {
  const bool is_glove = format == VectorFormat::glove_text;
  if (!is_glove && format != VectorFormat::npy && format != VectorFormat::projector_tsv) return "";
  if (word.starts_with(byte_order_mark))
    return "is the first one and begins with a byte order mark";
  constexpr std::string_view other = "is the first one and begins as a file of another format";
  if (has_gzip_magic(word)) return other;
  try {
    refuse_foreign("words", word, is_glove ? Content::text : Content::vectors);
  } catch (const ForeignFormat&) {
    return other;
  }
  return "";
}

/// Returns the number of the first word that a format cannot hold and the reason.
inline std::optional<std::pair<std::size_t, std::string_view>> first_fault(const WordList& words,
                                                                           VectorFormat format) {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (const auto fault = word_fault(words[i], format); !fault.empty()) return {{i, fault}};
  if (words.size() == 0) return std::nullopt;
  if (const auto fault = begin_fault(words[0], format); !fault.empty()) return {{0, fault}};
  if (const auto fault = end_fault(words, format); !fault.empty()) return {{0, fault}};
  return std::nullopt;
}

}  // namespace detail

WORDLOOM_FUNCTION void detail::check_words(const WordList& words, VectorFormat format) {
  const auto fault = detail::first_fault(words, format);
  if (!fault) return;
  const auto name = [](VectorFormat wanted) {
    return std::ranges::find(detail::vector_formats, wanted, &detail::VectorFormatEntry::format)
        ->name;
  };
  std::string help = "; no other format can hold all words";
  for (const VectorFormat other :
       {VectorFormat::word2vec_text, VectorFormat::word2vec_binary, VectorFormat::npy,
        VectorFormat::glove_text, VectorFormat::projector_tsv, VectorFormat::fasttext}) {
    if (detail::first_fault(words, other)) continue;
    help = detail::joined({"; ", name(other), " can"});
    break;
  }
  throw InvalidArgument{"the word ",
                        detail::shown(words[fault->first]),
                        " ",
                        fault->second,
                        ": the format ",
                        name(format),
                        " cannot hold it",
                        help};
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
