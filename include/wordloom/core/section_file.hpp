#pragma once
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <wordloom/core/atomic_file.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/hash.hpp>
#include <wordloom/core/mapped_file.hpp>
#include <wordloom/core/row_matrix.hpp>

namespace wordloom::detail {

/// The kind of a section file and the version of its format.
struct SectionFormat {
  std::string_view kind;  // "wordloom model"
  unsigned version;

  /// Returns the first line of such a file: "wordloom model 1\n".
  std::string first_line() const {
    return std::string(kind) + ' ' + std::to_string(version) + '\n';
  }
};

/// Writes a section file: a first line that names its format, then sections in an order that the
/// format fixes. Nothing appears at the path before `commit`, and then all of it (AtomicFile).
///
/// A section is one of
///  - numbers: their count, then the numbers;
///  - a text: its length in bytes, then the bytes;
///  - a matrix: its name as a text, rows, columns, then its elements by row without padding,
///
/// followed by a hash of all that. Counts, lengths, numbers and hashes have 64 bits, elements 32
/// (IEEE 754), in the byte order of the machine, which is little-endian wherever Wordloom runs.
class SectionWriter {
 public:
  /// Throws IoError.
  SectionWriter(const std::filesystem::path& path, const SectionFormat& format) : file_(path) {
    file_.write(format.first_line());
  }

  /// Throws IoError, as the other two do.
  void numbers(std::span<const std::uint64_t> values) {
    add(values.size());
    add(values.data(), values.size_bytes());
    end_section();
  }
  void text(std::string_view bytes) {
    add(bytes.size());
    add(bytes.data(), bytes.size());
    end_section();
  }
  void matrix(std::string_view name, const RowMatrix& matrix) {
    add(name.size());
    add(name.data(), name.size());
    add(matrix.rows());
    add(matrix.columns());
    for (std::size_t i = 0; i < matrix.rows(); ++i)
      add(matrix.row_data(i), matrix.columns() * sizeof(float));
    end_section();
  }

  /// Makes the file durable and visible. Throws IoError.
  void commit() { file_.commit(); }

 private:
  void add(const void* bytes, std::size_t size) {
    hash_.add(bytes, size);
    write(bytes, size);
  }
  void add(std::uint64_t number) { add(&number, sizeof number); }
  void end_section() {
    const std::uint64_t hash = std::exchange(hash_, {}).value();
    write(&hash, sizeof hash);
  }
  void write(const void* bytes, std::size_t size) {
    file_.write({static_cast<const char*>(bytes), size});
  }

  AtomicFile file_;
  Hash hash_;
};

/// Reads what a SectionWriter has written, section by section in the same order. A file that is cut
/// short, damaged or of another format is refused with a FormatError that gives the byte. Memory is
/// allocated only for content that the file is long enough to hold.
class SectionReader {
 public:
  /// Throws IoError, and FormatError unless the file begins with the format's first line.
  SectionReader(const std::filesystem::path& path, const SectionFormat& format) : file_(path) {
    const std::string expected = format.first_line();
    if (rest().starts_with(expected)) {
      section_ = at_ = expected.size();
      return;
    }
    const std::string_view line = rest().substr(0, rest().find('\n'));
    std::string got = rest().empty() ? "an empty file" : shown(line);
    if (const auto version = version_in(line, format.kind))
      got += *version < format.version
                 ? ", written by an older version of Wordloom: use that version to read it"
                 : ", written by a newer version of Wordloom: update Wordloom to read it";
    throw FormatError::at_byte(path, 0, shown(expected.substr(0, expected.size() - 1)), got);
  }

  /// Throws FormatError, as the other two do.
  std::vector<std::uint64_t> numbers() {
    std::vector<std::uint64_t> values(size_of("", " numbers", sizeof(std::uint64_t)));
    read(values.data(), values.size() * sizeof(std::uint64_t));
    end_section();
    return values;
  }
  /// The text is valid for the lifetime of the reader.
  std::string_view text() {
    const std::string_view bytes = take(size_of("a text of ", " bytes", 1));
    end_section();
    return bytes;
  }
  NamedMatrix matrix() {
    std::string name(take(size_of("a matrix name of ", " bytes", 1)));
    const std::uint64_t rows = number(), columns = number();
    const std::uint64_t elements = rest().size() / sizeof(float);
    constexpr std::uint64_t max_columns = std::uint64_t{1} << 32;
    if (columns > max_columns || (columns == 0 ? rows != 0 : rows > elements / columns))
      refuse("the elements of a matrix of " + std::to_string(rows) + " x " +
             std::to_string(columns));
    NamedMatrix result{std::move(name), RowMatrix(rows, columns)};
    for (std::size_t i = 0; i < rows; ++i) read(result.matrix.row_data(i), columns * sizeof(float));
    end_section();
    return result;
  }

  /// Throws FormatError unless all of the file has been read.
  void end() {
    if (!rest().empty())
      throw FormatError::at_byte(file_.path(), at_, "the end of the file",
                                 std::to_string(rest().size()) + " more bytes");
  }

  /// Throws a FormatError for the content of the section that was read last.
  [[noreturn]] void refuse_section(const std::string& expected, const std::string& got) const {
    throw FormatError::at_byte(file_.path(), last_section_, expected, got);
  }

  const std::filesystem::path& path() const noexcept { return file_.path(); }

 private:
  /// Returns the version in the line "kind version"; nothing for any other line.
  static std::optional<unsigned> version_in(std::string_view line, std::string_view kind) {
    if (!line.starts_with(kind)) return std::nullopt;
    line.remove_prefix(kind.size());
    if (!line.starts_with(' ')) return std::nullopt;
    unsigned version = 0;
    const char* const end = line.data() + line.size();
    const auto [stop, error] = std::from_chars(line.data() + 1, end, version);
    if (error != std::errc() || stop != end) return std::nullopt;
    return version;
  }

  std::string_view rest() const noexcept { return file_.text().substr(at_); }

  [[noreturn]] void refuse(const std::string& expected) const {
    throw FormatError::at_byte(file_.path(), at_, expected,
                               "only " + std::to_string(rest().size()) +
                                   " bytes to the end of the file: it is incomplete or damaged");
  }

  /// Returns the next bytes without adding them to the hash.
  std::string_view skip(std::size_t size, const char* what) {
    if (rest().size() < size) refuse(what);
    at_ += size;
    return file_.text().substr(at_ - size, size);
  }
  std::string_view take(std::size_t size) {
    const std::string_view bytes = skip(size, "the rest of a section");
    hash_.add(bytes.data(), bytes.size());
    return bytes;
  }
  void read(void* to, std::size_t size) {
    if (size != 0) std::memcpy(to, take(size).data(), size);
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    read(&value, sizeof value);
    return value;
  }
  /// Reads the count of what follows, items of `size` bytes, and makes sure that the file is long
  /// enough for them. `before` and `after` say what they are.
  std::size_t size_of(const char* before, const char* after, std::size_t size) {
    const std::uint64_t count = number();
    if (count > rest().size() / size) refuse(before + std::to_string(count) + after);
    return static_cast<std::size_t>(count);
  }
  void end_section() {
    const std::uint64_t expected = std::exchange(hash_, {}).value();
    std::uint64_t hash = 0;
    std::memcpy(&hash, skip(sizeof hash, "the checksum of a section").data(), sizeof hash);
    if (hash != expected)
      throw FormatError(file_.path().string() + ": section at byte " + std::to_string(section_) +
                        ": checksum mismatch: the file is damaged");
    last_section_ = std::exchange(section_, at_);
  }

  MappedFile file_;
  std::size_t at_ = 0;                          // the next byte
  std::size_t section_ = 0, last_section_ = 0;  // first bytes of the present section and the last
  Hash hash_;                                   // of the present section
};

}  // namespace wordloom::detail
