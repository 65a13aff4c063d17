#pragma once
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

#include <wordloom/core/abi.hpp>

namespace wordloom::inline WORDLOOM_ABI {

/// The base of all exceptions of Wordloom, except std::bad_alloc.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A value outside its bounds; the message names the value, what it was and the bound.
struct InvalidArgument : Error {
  using Error::Error;
};

/// The system refused an operation on a file.
struct IoError : Error {
  using Error::Error;

  /// "cannot open 'x': No such file or directory"; `error_number` as errno.
  static IoError from_errno(std::string_view action, const std::filesystem::path& path,
                            int error_number);
};

/// A file whose content is not what its format says.
struct FormatError : Error {
  using Error::Error;

  /// "vectors.bin: byte 17: expected ..., got ..."; `unit` may be "line" too, counted from 1.
  static FormatError at(const std::filesystem::path& path, std::string_view unit,
                        std::uint64_t where, std::string_view expected, std::string_view got);
};

/// A corpus or vocabulary that cannot be trained on: empty, or not made for each other.
struct CorpusError : Error {
  using Error::Error;

  static CorpusError no_known_word(const std::filesystem::path& path);
};

/// Training went wrong numerically; the model is not usable.
struct TrainingError : Error {
  using Error::Error;
};

/// A GPU that is not there, not usable by this program, or out of memory; or a failed call.
struct DeviceError : Error {
  using Error::Error;
};

/// Replicas that do not fit each other, or one of which has failed.
struct SyncError : Error {
  using Error::Error;
};

/// A word that the vocabulary does not hold.
struct UnknownWord : Error {
  explicit UnknownWord(std::string_view w);
  std::string word;
};

namespace detail {

/// Returns at most 40 bytes of a file for an error message, each printable.
std::string shown(std::string_view bytes);

}  // namespace detail

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION IoError IoError::from_errno(std::string_view action,
                                              const std::filesystem::path& path, int error_number) {
  return IoError("cannot " + std::string(action) + " '" + path.string() +
                 "': " + std::generic_category().message(error_number));
}

WORDLOOM_FUNCTION FormatError FormatError::at(const std::filesystem::path& path,
                                              std::string_view unit, std::uint64_t where,
                                              std::string_view expected, std::string_view got) {
  return FormatError(path.string() + ": " + std::string(unit) + " " + std::to_string(where) +
                     ": expected " + std::string(expected) + ", got " + std::string(got));
}

WORDLOOM_FUNCTION CorpusError CorpusError::no_known_word(const std::filesystem::path& path) {
  return CorpusError(path.string() + ": none of its words is in the vocabulary");
}

WORDLOOM_FUNCTION UnknownWord::UnknownWord(std::string_view w)
    : Error("unknown word '" + std::string(w) + "'"), word(w) {}

namespace detail {

WORDLOOM_FUNCTION std::string shown(std::string_view bytes) {
  std::string text(bytes.substr(0, 40));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = '?';
  return "'" + text + (bytes.size() > 40 ? "...'" : "'");
}

}  // namespace detail

#endif

}  // namespace wordloom::inline WORDLOOM_ABI
