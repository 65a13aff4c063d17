#pragma once
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#include <wordloom/core/detail/abi.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// A part of a message: text, which it does not own, or a number. Messages are put together from
/// parts by one function, because string additions at each place take long to compile.
class MessagePart {
 public:
  MessagePart(std::string_view text) : text_(text) {}
  MessagePart(const char* text) : text_(text) {}
  MessagePart(const std::string& text) : text_(text) {}
  MessagePart(const std::filesystem::path& path) : text_(path.native()) {}
  MessagePart(char) = delete;  // a byte or a number?
  MessagePart(double number) : kind_(Kind::real), real_(number) {}
  template <std::integral Number>
  MessagePart(Number number)
      : kind_(std::signed_integral<Number> ? Kind::integer : Kind::natural),
        natural_(static_cast<std::uint64_t>(number)) {}

  void append_to(std::string& message) const;

 private:
  enum class Kind : unsigned char { text, natural, integer, real };
  Kind kind_ = Kind::text;
  union {
    std::string_view text_;
    std::uint64_t natural_;
    double real_;
  };
};

/// Returns the parts joined, in order.
std::string joined(std::initializer_list<MessagePart> parts);

}  // namespace detail

/// The base of all exceptions of Wordloom, except std::bad_alloc.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
  /// The message is all parts joined, for example {"threads is ", threads, ", at most 8"}.
  Error(std::initializer_list<detail::MessagePart> message);
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

/// A file whose content does not follow its format.
struct FormatError : Error {
  using Error::Error;

  /// "vectors.bin: byte 17: expected ..., got ..."; `unit` may be "line" too, counted from 1.
  static FormatError at(const std::filesystem::path& path, std::string_view unit,
                        std::uint64_t where, std::string_view expected, std::string_view got);
};

/// A file in a format that cannot be read in its place, such as a text in .xz or UTF-16, or PDF.
struct ForeignFormat : FormatError {
  /// "x.xz: this is an xz file; to read it: xz -dc x.xz"; `help` is a command or other advice.
  ForeignFormat(const std::filesystem::path& file, std::string_view name, std::string_view help,
                bool is_command)
      : FormatError{file, ": this is ", name, is_command ? "; to read it: " : "; ", help},
        path(file),
        command(is_command ? help : "") {}

  /// Returns the same exception with a place in its message: "x.xz: line 1, column 1: this is ...".
  ForeignFormat at(std::string_view place) const {
    std::string message = what();
    message.insert(path.native().size(), ": " + std::string(place));
    return ForeignFormat(*this, message);
  }

  std::filesystem::path path;
  /// A shell command that prints the content in a readable form; empty if there is none.
  std::string command;

 private:
  ForeignFormat(const ForeignFormat& other, const std::string& message)
      : FormatError(message), path(other.path), command(other.command) {}
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

/// A GPU that is missing, not usable by this program or out of memory, or a failed call.
struct DeviceError : Error {
  using Error::Error;
};

/// A processor that lacks instructions which a policy needs.
struct UnsupportedProcessor : Error {
  using Error::Error;
};

/// Replicas that do not fit each other, or of which one has failed.
struct SyncError : Error {
  using Error::Error;
};

/// A word that is not in the vocabulary.
struct UnknownWord : Error {
  explicit UnknownWord(std::string_view w);
  std::string word;
};

namespace detail {

/// Returns at most 40 bytes of a file for an error message, each printable.
std::string shown(std::string_view bytes);

/// Returns text with control characters, which would end a message or a line of it, as \x00.
std::string without_controls(std::string_view text);

}  // namespace detail

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

WORDLOOM_FUNCTION void MessagePart::append_to(std::string& message) const {
  if (kind_ == Kind::text)
    message += text_;
  else if (kind_ == Kind::real)
    message += std::to_string(real_);
  else
    message += kind_ == Kind::natural ? std::to_string(natural_)
                                      : std::to_string(static_cast<std::int64_t>(natural_));
}

WORDLOOM_FUNCTION std::string joined(std::initializer_list<MessagePart> parts) {
  std::string message;
  for (const MessagePart& part : parts) part.append_to(message);
  return message;
}

}  // namespace detail

WORDLOOM_FUNCTION Error::Error(std::initializer_list<detail::MessagePart> message)
    : std::runtime_error(detail::joined(message)) {}

WORDLOOM_FUNCTION IoError IoError::from_errno(std::string_view action,
                                              const std::filesystem::path& path, int error_number) {
  return IoError{"cannot ", action, " '",
                 path,      "': ",  std::generic_category().message(error_number)};
}

WORDLOOM_FUNCTION FormatError FormatError::at(const std::filesystem::path& path,
                                              std::string_view unit, std::uint64_t where,
                                              std::string_view expected, std::string_view got) {
  return FormatError{path, ": ", unit, " ", where, ": expected ", expected, ", got ", got};
}

WORDLOOM_FUNCTION CorpusError CorpusError::no_known_word(const std::filesystem::path& path) {
  return CorpusError{path, ": none of its words is in the vocabulary"};
}

WORDLOOM_FUNCTION UnknownWord::UnknownWord(std::string_view w)
    : Error("unknown word '" + detail::without_controls(w) + "'"), word(w) {}

namespace detail {

WORDLOOM_FUNCTION std::string without_controls(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 32 || byte == 127)
      result.append("\\x").append(1, digits[byte / 16]).append(1, digits[byte % 16]);
    else
      result += c;
  }
  return result;
}

WORDLOOM_FUNCTION std::string shown(std::string_view bytes) {
  std::string text(bytes.substr(0, 40));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = '?';
  return "'" + text + (bytes.size() > 40 ? "...'" : "'");
}

}  // namespace detail

#endif

}}  // namespace wordloom::WORDLOOM_ABI
