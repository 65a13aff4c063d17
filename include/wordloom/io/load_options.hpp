#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <wordloom/core/error.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Options of reading vectors.
struct LoadOptions {
  /// If true, refuses faults that are otherwise accepted with a warning, because the rows that are
  /// there are complete: a header with another number of words, blank lines at the end, a last line
  /// without a line end, a word that occurs again (its name means its first row). A file that is
  /// cut within a row is always refused.
  bool strict = false;
  /// Reads only this many words from the beginning of the file; 0: all. The rest of the file is
  /// ignored.
  std::size_t limit = 0;
  /// If true, the vectors of a .npy file stay in the file, which is mapped: less memory, shared by
  /// processes. The file must not be changed in place as long as they are used. Refused for
  /// compressed files, for a dimension that is not a multiple of 16 (rows begin on 64-byte
  /// boundaries) and for other formats: between the rows of word2vec's binary format are words, and
  /// texts must be parsed. CompressedEmbeddings map any vectors.
  bool map = false;
  /// Called at most once for a file, with all faults that were accepted in it.
  std::function<void(const std::string& message)> warn = {};
};

namespace detail {

/// Collects the faults that are accepted in a file, for one warning.
class Leniency {
 public:
  Leniency(const std::filesystem::path& path, const LoadOptions& options)
      : path_(path), options_(options) {}

  /// Throws FormatError if the options are strict.
  void accept(const std::string& fault) {
    if (options_.strict) throw FormatError{path_, ": ", fault};
    faults_.append(faults_.empty() ? "" : "; ").append(fault);
  }
  /// Warns, or throws if strict, about a header of `expected` words before `rows` rows, if those
  /// are all.
  void accept_header(std::size_t expected, std::size_t rows) {
    if (expected != rows && !is_full(rows))
      accept(joined({"the header says ", expected, " words, the file has ", rows}));
  }

  /// Returns whether no more than these rows are to be read.
  bool is_full(std::size_t rows) const noexcept { return rows == max_rows(); }
  std::size_t max_rows() const noexcept {
    return options_.limit == 0 ? (std::numeric_limits<std::size_t>::max)() : options_.limit;
  }

  /// Adds the word of a row to `words`.
  void add(WordList& words, std::string_view word) {
    if (!words.append(word) && repeated_++ == 0) first_repeated_ = word;
  }

  void warn() {
    if (repeated_ > 0)
      accept(joined({repeated_, repeated_ == 1 ? " word occurs" : " words occur",
                     " again, the first is ", shown(first_repeated_),
                     ": its name means its first row"}));
    if (!faults_.empty() && options_.warn) options_.warn(path_.string() + ": " + faults_);
  }

 private:
  const std::filesystem::path& path_;
  const LoadOptions& options_;
  std::string faults_;
  std::size_t repeated_ = 0;
  std::string first_repeated_ = {};
};

/// Throws InvalidArgument for LoadOptions::map.
[[noreturn]] inline void refuse_map(const std::filesystem::path& path, const std::string& reason) {
  throw InvalidArgument{"'",
                        path,
                        "' cannot be mapped: ",
                        reason,
                        "; save compress({.format = Embeddings::Compression::float32}) and read ",
                        "that file by CompressedEmbeddings::load"};
}

/// Rows of vectors whose number is unknown until all are read.
class GrowingRows {
 public:
  /// Makes room for as many rows as a file promises and can hold.
  GrowingRows(std::size_t rows, std::size_t columns) : rows_(rows, columns) {}

  std::size_t size() const noexcept { return size_; }

  /// Adds a row of zeros; if there is no room for it, makes room for `more()` rows, at least 1.
  template <class More>
  std::span<float> add(More&& more) {
    if (size_ == rows_.rows()) {
      RowMatrix larger(size_ + more(), rows_.columns());
      if (size_ != 0) std::memcpy(larger.data(), rows_.data(), rows_.bytes());
      rows_ = std::move(larger);
    }
    return rows_.row(size_++);
  }

  RowMatrix take() && { return size_ == rows_.rows() ? std::move(rows_) : rows_.copy(size_); }

 private:
  RowMatrix rows_;
  std::size_t size_ = 0;
};

/// Returns the first words, for formats that are read completely; 0: all.
inline Embeddings first_words(const Embeddings& all, std::size_t limit) {
  return limit == 0 ? all : all.first(limit);
}

}  // namespace detail

}}  // namespace wordloom::WORDLOOM_ABI
