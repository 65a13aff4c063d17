#pragma once
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace wordloom {

/// Base of everything that Wordloom throws, but for std::bad_alloc.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A value outside its bounds; the message names the value, what it was and the bound.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// The system refused an operation on a file.
class IoError : public Error {
 public:
  using Error::Error;

  /// "cannot open 'x': No such file or directory"; `error_number` as errno.
  static IoError from_errno(std::string_view action, const std::filesystem::path& path,
                            int error_number) {
    return IoError("cannot " + std::string(action) + " '" + path.string() +
                   "': " + std::strerror(error_number));
  }
};

/// A file whose content is not what its format says.
class FormatError : public Error {
 public:
  using Error::Error;

  /// "vectors.bin: byte 17: expected ..., got ..."
  static FormatError at_byte(const std::filesystem::path& path, std::uint64_t byte,
                             std::string_view expected, std::string_view got) {
    return at(path, "byte", byte, expected, got);
  }
  /// "pairs.tsv: line 3: expected ..., got ..."; lines count from 1.
  static FormatError at_line(const std::filesystem::path& path, std::uint64_t line,
                             std::string_view expected, std::string_view got) {
    return at(path, "line", line, expected, got);
  }

 private:
  static FormatError at(const std::filesystem::path& path, std::string_view unit,
                        std::uint64_t where, std::string_view expected, std::string_view got) {
    return FormatError(path.string() + ": " + std::string(unit) + " " + std::to_string(where) +
                       ": expected " + std::string(expected) + ", got " + std::string(got));
  }
};

/// A corpus or vocabulary that cannot be trained on: empty, or not made for each other.
class CorpusError : public Error {
 public:
  using Error::Error;

  static CorpusError no_known_word(const std::filesystem::path& path) {
    return CorpusError(path.string() + ": none of its words is in the vocabulary");
  }
};

/// Training went wrong numerically; the model is not usable.
class TrainingError : public Error {
 public:
  using Error::Error;
};

/// A GPU that is not there, not usable by this program, or out of memory; or a failed call.
class DeviceError : public Error {
 public:
  using Error::Error;
};

/// Replicas that do not fit each other, or one of which has failed.
class SyncError : public Error {
 public:
  using Error::Error;
};

/// A word that the vocabulary does not hold.
class UnknownWord : public Error {
 public:
  explicit UnknownWord(std::string_view word)
      : Error("unknown word '" + std::string(word) + "'"), word_(word) {}
  const std::string& word() const noexcept { return word_; }

 private:
  std::string word_;
};

namespace detail {

/// At most 40 bytes of a file for an error message, each printable.
inline std::string shown(std::string_view bytes) {
  std::string text(bytes.substr(0, 40));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = '?';
  return "'" + text + (bytes.size() > 40 ? "...'" : "'");
}

}  // namespace detail
}  // namespace wordloom
