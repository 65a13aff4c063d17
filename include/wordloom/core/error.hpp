#pragma once
#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <wordloom/core/detail/abi.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// The number of a line of a file in a message, from 1.
struct LineNumber {
  std::uint64_t value;
};
/// The number of a byte of a file in a message, from 0.
struct ByteNumber {
  std::uint64_t value;
};

/// A file, and a line or byte of it.
struct FilePlace {
  std::filesystem::path path;
  std::optional<std::uint64_t> line, byte;
};

/// A part of a message: text, which it does not own, or a number. Messages are put together from
/// parts by one function, because string additions at each place take long to compile. Paths, lines
/// and bytes among them also tell a program where the error is.
class MessagePart {
 public:
  MessagePart(std::string_view text) : text_(text) {}
  MessagePart(const char* text) : text_(text) {}
  MessagePart(const std::string& text) : text_(text) {}
  MessagePart(const std::filesystem::path& path) : kind_(Kind::path), path_(&path) {}
  MessagePart(LineNumber line) : kind_(Kind::line), natural_(line.value) {}
  MessagePart(ByteNumber byte) : kind_(Kind::byte), natural_(byte.value) {}
  MessagePart(char) = delete;  // a byte or a number?
  MessagePart(double number) : kind_(Kind::real), real_(number) {}
  template <std::integral Number>
  MessagePart(Number number)
      : kind_(std::signed_integral<Number> ? Kind::integer : Kind::natural),
        natural_(static_cast<std::uint64_t>(number)) {}

  void append_to(std::string& message) const;
  /// Notes the first path, line and byte of a message.
  void add_to(FilePlace& place) const;

 private:
  enum class Kind : unsigned char { text, path, natural, line, byte, integer, real };
  Kind kind_ = Kind::text;
  union {
    std::string_view text_;
    const std::filesystem::path* path_;
    std::uint64_t natural_;
    double real_;
  };
};

/// Returns the parts joined, in order.
std::string joined(std::initializer_list<MessagePart> parts);

}  // namespace detail

/// The base of all exceptions of Wordloom, except std::bad_alloc.
struct Error : std::runtime_error {
  /// The classes of errors, for programs that act on them.
  enum class Kind : unsigned char {
    other,  // of none of the types below
    invalid_argument,
    io,
    format,
    corpus,
    training,
    device,
    processor,
    sync,
    unknown_word
  };

  using std::runtime_error::runtime_error;
  /// The message is all parts joined, for example {"threads is ", threads, ", at most 8"}.
  /// A std::filesystem::path among them becomes path().
  Error(std::initializer_list<detail::MessagePart> message);

  /// Returns the class of the error, which is that of its type.
  [[nodiscard]] virtual Kind kind() const noexcept { return Kind::other; }
  /// Returns the file or folder that the error is about; empty if it is about none.
  [[nodiscard]] std::filesystem::path path() const {
    return place_ ? place_->path : std::filesystem::path();
  }
  /// Returns the line of the file, counted from 1, where a text is wrong.
  [[nodiscard]] std::optional<std::uint64_t> line() const noexcept {
    return place_ ? place_->line : std::nullopt;
  }
  /// Returns the byte of the file, counted from 0, where a binary file is wrong.
  [[nodiscard]] std::optional<std::uint64_t> byte() const noexcept {
    return place_ ? place_->byte : std::nullopt;
  }

 private:
  std::shared_ptr<const detail::FilePlace> place_;  // shared: copies of exceptions never throw
};

/// A value outside its bounds; the message names the value, what it was and the bound.
struct InvalidArgument : Error {
  using Error::Error;
  [[nodiscard]] Kind kind() const noexcept override { return Kind::invalid_argument; }
};

/// The system refused an operation on a file.
struct IoError : Error {
  using Error::Error;
  [[nodiscard]] Kind kind() const noexcept override { return Kind::io; }

  /// "cannot open 'x': No such file or directory"; `error_number` as errno.
  static IoError from_errno(std::string_view action, const std::filesystem::path& path,
                            int error_number);
};

/// A file whose content does not follow its format.
struct FormatError : Error {
  using Error::Error;
  [[nodiscard]] Kind kind() const noexcept override { return Kind::format; }

  /// "vectors.bin: byte 17: expected ..., got ..."
  static FormatError at_byte(const std::filesystem::path& path, std::uint64_t byte,
                             std::string_view expected, std::string_view got);
  /// "vocabulary: line 3: expected ..., got ..."; `line` counts from 1.
  static FormatError at_line(const std::filesystem::path& path, std::uint64_t line,
                             std::string_view expected, std::string_view got);
  /// "vectors.txt: line 3, column 7: expected ..., got ..."; both count from 1.
  static FormatError at_line(const std::filesystem::path& path, std::uint64_t line,
                             std::uint64_t column, std::string_view expected, std::string_view got);
};

/// A file in a format that cannot be read in its place, such as a text in .xz or UTF-16, or PDF.
struct ForeignFormat : FormatError {
  /// "x.xz: this is an xz file; to read it: xz -dc x.xz"; `help` is a command or other advice.
  ForeignFormat(const std::filesystem::path& file, std::string_view name, std::string_view help,
                bool is_command)
      : FormatError{file, ": this is ", name, is_command ? "; to read it: " : "; ", help},
        command(is_command ? help : "") {}

  /// Returns the same exception with a place in it: "x.xz: line 1, column 1: this is ...".
  ForeignFormat at_line(std::uint64_t line, std::uint64_t column) const {
    return ForeignFormat(*this, path(), line, column);
  }

  /// A shell command that prints the content in a readable form; empty if there is none.
  std::string command;

 private:
  ForeignFormat(const ForeignFormat& other, const std::filesystem::path& file, std::uint64_t line,
                std::uint64_t column)
      : FormatError{file,        ": line ", detail::LineNumber{line},
                    ", column ", column,    other.what() + file.string().size()},
        command(other.command) {}
};

/// A corpus or vocabulary that cannot be trained on: empty, or not made for each other.
struct CorpusError : Error {
  using Error::Error;
  [[nodiscard]] Kind kind() const noexcept override { return Kind::corpus; }

  /// `source`: a path, or what the words are in; `words`: how many there are.
  static CorpusError no_known_word(const detail::MessagePart& source, std::uint64_t words);
};

/// Training went wrong numerically; the model is not usable.
struct TrainingError : Error {
  using Error::Error;
  [[nodiscard]] Kind kind() const noexcept override { return Kind::training; }
};

/// A GPU that is missing, not usable by this program or out of memory, or a failed call.
struct DeviceError : Error {
  using Error::Error;
  [[nodiscard]] Kind kind() const noexcept override { return Kind::device; }
};

/// A processor that lacks instructions which a policy needs.
struct UnsupportedProcessor : Error {
  using Error::Error;
  [[nodiscard]] Kind kind() const noexcept override { return Kind::processor; }
};

/// Replicas that do not fit each other, or of which one has failed.
struct SyncError : Error {
  using Error::Error;
  [[nodiscard]] Kind kind() const noexcept override { return Kind::sync; }
};

/// A word that is not in the vocabulary.
struct UnknownWord : Error {
  explicit UnknownWord(std::string_view w);
  [[nodiscard]] Kind kind() const noexcept override { return Kind::unknown_word; }
  std::string word;
};

namespace detail {

/// Returns at most 40 bytes of a file for an error message, each printable.
std::string shown(std::string_view bytes);

/// Returns text with control characters, which would end a message or a line of it, as \x00.
std::string without_controls(std::string_view text);

}  // namespace detail

}}  // namespace wordloom::WORDLOOM_ABI

#if WORDLOOM_DEFINES_FUNCTIONS
#include <wordloom/core/detail/error.inl>
#endif
