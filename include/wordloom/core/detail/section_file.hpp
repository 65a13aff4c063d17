#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <wordloom/core/detail/hash.hpp>
#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/files.hpp>
#include <wordloom/core/mapped_file.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/words.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Writes bytes and hashes of them, little-endian. The file appears at its path with `commit`,
/// whole (AtomicFile). All members throw IoError.
class HashedWriter {
 public:
  /// `begin`: the first bytes, which are not hashed.
  explicit HashedWriter(const std::filesystem::path& path, std::string_view begin = {})
      : file_(path) {
    file_.write(begin);
  }

  void write(const void* bytes, std::size_t size) {
    hash_.add(bytes, size);
    file_.write({static_cast<const char*>(bytes), size});
    size_ += size;
  }
  void number(std::uint64_t number) { write(&number, sizeof number); }
  /// Writes the elements of a contiguous range.
  template <class Range>
  void array(const Range& range) {
    write(std::data(range), std::size(range) * sizeof(*std::data(range)));
  }
  /// Writes zeros up to a multiple of 8 hashed bytes.
  void pad() { write("\0\0\0\0\0\0\0", (8 - size_ % 8) % 8); }
  /// Writes the hash of all bytes since the last one.
  void end_section() {
    const std::uint64_t hash = std::exchange(hash_, {}).value();
    file_.write({reinterpret_cast<const char*>(&hash), sizeof hash});
  }
  void commit() { file_.commit(); }

 private:
  AtomicFile file_;
  Hash hash_;
  std::uint64_t size_ = 0;
};

/// A mapped cache file: 8 magic bytes, of which the first 6 are those of all versions, the content,
/// whose arrays begin at multiples of 8 bytes, and a hash of all bytes before it (HashedWriter).
struct CacheFile {
  std::shared_ptr<const MappedFile> file;
  std::string_view content;
  std::uint64_t hash = 0;
};

/// Maps a file that the caller is about to replace. Returns null if it does not exist or is empty.
/// Throws IoError if it cannot be read, and FormatError, which calls it `name`, unless it begins
/// with `kind`, because it must not be replaced.
std::shared_ptr<const MappedFile> open_replaceable(const std::filesystem::path& path,
                                                   std::string_view kind, std::string_view name);

/// Maps a cache file. Returns nothing if it does not exist, is empty, damaged or of another
/// version: it must then be made again. Throws as open_replaceable.
std::optional<CacheFile> open_cache_file(const std::filesystem::path& path, std::string_view magic,
                                         std::string_view name);

/// Writes a section file: a first line that names its format, a kind and a version as in "wordloom
/// model 1", then sections in an order that the format fixes. A section is one of
///  - numbers: their count, then the numbers;
///  - a text: its length in bytes, then the bytes;
///  - a matrix: its name as a text, rows, columns, then its elements by row without padding,
///
/// followed by a hash of all these bytes. Counts, lengths, numbers and hashes have 64 bits,
/// elements 32 (IEEE 754). All members throw IoError.
class SectionWriter {
 public:
  SectionWriter(const std::filesystem::path& path, std::string_view format)
      : file_(path, joined({format, "\n"})) {}

  void numbers(std::span<const std::uint64_t> values) { list(values); }
  void text(std::string_view bytes) { list(bytes); }
  void matrix(std::string_view name, const RowMatrix& matrix);

  void commit() { file_.commit(); }

 private:
  template <class Range>
  void list(const Range& range) {
    file_.number(range.size());
    file_.array(range);
    file_.end_section();
  }

  HashedWriter file_;
};

/// Reads a file of SectionWriter, section by section in the same order. A file that is cut short,
/// damaged or of another format is refused with a FormatError that gives the byte. Memory is
/// allocated only for content that the file is long enough to hold.
class SectionReader {
 public:
  /// Throws IoError, and FormatError unless the file begins with the format's first line.
  SectionReader(const std::filesystem::path& path, std::string_view format)
      : own_(std::make_unique<InputFile>(path)), file_(*own_) {
    read_format(format);
  }
  /// Reads a file that is already open and outlives the reader.
  SectionReader(const InputFile& file, std::string_view format) : file_(file) {
    read_format(format);
  }

  std::vector<std::uint64_t> numbers() {
    std::vector<std::uint64_t> values(size_of("", " numbers", sizeof(std::uint64_t)));
    read(values.data(), values.size() * sizeof(std::uint64_t));
    end_section();
    return values;
  }
  /// Returns a text, which is valid for the lifetime of the reader.
  std::string_view text() {
    const std::string_view bytes = take(size_of("a text of ", " bytes", 1));
    end_section();
    return bytes;
  }
  NamedMatrix matrix();

  /// Throws FormatError unless all of the file has been read.
  void end() {
    if (!rest().empty())
      throw FormatError::at_byte(file_.path(), at_, "the end of the file",
                                 joined({rest().size(), " more bytes"}));
  }

  /// Throws a FormatError for the content of the section that was read last.
  [[noreturn]] void refuse_section(const std::string& expected, const std::string& got) const {
    throw FormatError::at_byte(file_.path(), last_section_, expected, got);
  }

 private:
  void read_format(std::string_view format);

  std::string_view rest() const noexcept { return file_.text().substr(at_); }

  [[noreturn]] void refuse(const std::string& expected) const {
    throw FormatError::at_byte(
        file_.path(), at_, expected,
        joined({"only ", rest().size(),
                " bytes to the end of the file: it is incomplete or damaged"}));
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
  /// Reads the count of the items of `size` bytes that follow, and checks that the file is long
  /// enough for them. `before` and `after` describe them in the error.
  std::size_t size_of(const char* before, const char* after, std::size_t size) {
    const std::uint64_t count = number();
    if (count > rest().size() / size) refuse(joined({before, count, after}));
    return static_cast<std::size_t>(count);
  }
  void end_section();

  std::unique_ptr<const InputFile> own_;
  const InputFile& file_;
  std::size_t at_ = 0;                          // the next byte
  std::size_t section_ = 0, last_section_ = 0;  // first bytes of the current section and the last
  Hash hash_;                                   // of the current section
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION std::shared_ptr<const MappedFile> open_replaceable(
    const std::filesystem::path& path, std::string_view kind, std::string_view name) {
  if (std::error_code ignored; !std::filesystem::exists(path, ignored)) return nullptr;
  auto file = std::make_shared<const MappedFile>(path);
  if (file->size() == 0) return nullptr;
  if (!file->text().starts_with(kind))
    throw FormatError{"'", path, "' is not ", name,
                      " and was not overwritten: name another file, or remove it"};
  return file;
}

WORDLOOM_FUNCTION std::optional<CacheFile> open_cache_file(const std::filesystem::path& path,
                                                           std::string_view magic,
                                                           std::string_view name) {
  CacheFile cache{open_replaceable(path, magic.substr(0, 6), name), {}};
  if (!cache.file) return std::nullopt;
  std::string_view text = cache.file->text();
  if (!text.starts_with(magic) || text.size() < magic.size() + sizeof cache.hash)
    return std::nullopt;
  text.remove_suffix(sizeof cache.hash);
  std::memcpy(&cache.hash, text.data() + text.size(), sizeof cache.hash);
  if (Hash::of(text) != cache.hash) return std::nullopt;
  cache.content = text.substr(magic.size());
  return cache;
}

WORDLOOM_FUNCTION void SectionWriter::matrix(std::string_view name, const RowMatrix& matrix) {
  file_.number(name.size());
  file_.array(name);
  file_.number(matrix.rows());
  file_.number(matrix.columns());
  for (std::size_t i = 0; i < matrix.rows(); ++i) file_.array(matrix.row(i));
  file_.end_section();
}

WORDLOOM_FUNCTION void SectionReader::read_format(std::string_view format) {
  const std::string expected = std::string(format) + '\n';
  if (rest().starts_with(expected)) {
    section_ = at_ = expected.size();
    return;
  }
  const std::string_view line = rest().substr(0, rest().find('\n'));
  std::string got = rest().empty() ? "an empty file" : shown(line);
  const std::size_t kind = format.rfind(' ') + 1;
  if (line.starts_with(format.substr(0, kind)))
    if (const auto version = number_in<unsigned>(line.substr(kind)))
      got += *version < number_in<unsigned>(format.substr(kind))
                 ? ", written by an older version of Wordloom: use that version to read it"
                 : ", written by a newer version of Wordloom: update Wordloom to read it";
  throw FormatError::at_byte(file_.path(), 0, shown(format), got);
}

WORDLOOM_FUNCTION NamedMatrix SectionReader::matrix() {
  std::string name(take(size_of("a matrix name of ", " bytes", 1)));
  const std::uint64_t rows = number(), columns = number();
  const std::uint64_t elements = rest().size() / sizeof(float);
  constexpr std::uint64_t max_columns = std::uint64_t{1} << 32;
  if (columns > max_columns || (columns == 0 ? rows != 0 : rows > elements / columns))
    refuse(joined({"the elements of a matrix of ", rows, " x ", columns}));
  NamedMatrix result{std::move(name), RowMatrix(rows, columns)};
  for (std::size_t i = 0; i < rows; ++i) read(result.matrix.row_data(i), columns * sizeof(float));
  end_section();
  return result;
}

WORDLOOM_FUNCTION void SectionReader::end_section() {
  const std::uint64_t expected = std::exchange(hash_, {}).value();
  std::uint64_t hash = 0;
  std::memcpy(&hash, skip(sizeof hash, "the checksum of a section").data(), sizeof hash);
  if (hash != expected)
    throw FormatError{file_.path(), ": section at byte ", ByteNumber{section_},
                      ": checksum mismatch: the file is damaged"};
  last_section_ = std::exchange(section_, at_);
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
