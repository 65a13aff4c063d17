#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <wordloom/core/detail/hash.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The first bytes of a file of compressed vectors; all numbers are little-endian.
struct CompressedHeader {
  static constexpr std::string_view kind = "WORDLOOM SMALL\n";
  static constexpr std::uint32_t current_version = 1;

  char magic[16];
  std::uint32_t version, format;  // Embeddings::Compression::Format
  std::uint64_t words, dimension;
  std::uint64_t parts;                     // bytes a word of product quantisation, otherwise 0
  std::uint64_t has_counts;                // 0 or 1
  std::uint64_t text_bytes;                // of all words, one behind the other
  std::uint64_t words_hash, vectors_hash;  // of the sections
  std::uint64_t unused[5];                 // 0
  std::uint64_t hash;                      // of all bytes before it

  std::uint64_t own_hash() const {
    return Hash::of({reinterpret_cast<const char*>(this), offsetof(CompressedHeader, hash)});
  }
  /// Returns the bytes of the numbers of a row.
  std::size_t row_bytes() const {
    constexpr std::size_t bytes_of[] = {4, 2, 1};
    return format < 3 ? dimension * bytes_of[format] : parts;
  }
};
static_assert(sizeof(CompressedHeader) == 128);

/// The byte at which each section of a file begins, a multiple of 64, and the size of the file. At
/// its end are 64 zeros, which vector code may read.
struct CompressedLayout {
  explicit CompressedLayout(const CompressedHeader& header) {
    const std::size_t words = header.words;
    const bool has_scales = header.format >= 2, has_centres = header.format == 3;
    text = after(sizeof header, 0);
    ends = after(text, header.text_bytes);
    table = after(ends, words * sizeof(std::uint32_t));
    slot_count = words + words / 2 + 1;
    counts = after(table, slot_count * sizeof(std::uint32_t));
    scales = after(counts, header.has_counts * words * sizeof(std::uint64_t));
    inverse_lengths = after(scales, has_scales ? words * sizeof(float) : 0);
    centres = after(inverse_lengths, words * sizeof(float));
    rows = after(centres, has_centres ? header.dimension * 256 * sizeof(float) : 0);
    size = after(rows, words * header.row_bytes()) + 64;
  }

  std::size_t text, ends, table, slot_count, counts;
  std::size_t scales, inverse_lengths, centres, rows;
  std::size_t size;

 private:
  static std::size_t after(std::size_t begin, std::size_t bytes) {
    return (begin + bytes + 63) / 64 * 64;
  }
};

/// The content of a file of compressed vectors, which may be in memory only. Thread-safe. All that
/// a damaged file could lead outside of it is checked when it is used.
class CompressedFile {
 public:
  /// `path`: for errors. Throws FormatError with the byte unless the header is whole and right and
  /// `content`, which outlives this object, has the size that it gives.
  CompressedFile(std::string_view content, const std::filesystem::path& path);

  /// Returns whether a file begins like one of compressed vectors, of any version.
  static bool recognizes(std::string_view content) {
    return content.starts_with(CompressedHeader::kind);
  }

  const CompressedHeader& header() const noexcept { return header_; }
  const CompressedLayout& layout() const noexcept { return layout_; }
  std::string_view content() const noexcept { return content_; }

  /// Returns the numbers of a section that begins at a byte of the layout.
  template <class Number>
  std::span<const Number> section(std::size_t begin, std::size_t count) const noexcept {
    return {reinterpret_cast<const Number*>(content_.data() + begin), count};
  }

  /// Returns word `id`. Throws FormatError where the file is damaged.
  std::string_view word(std::size_t id) const {
    const std::size_t begin = id == 0 ? 0 : ends_[id - 1], end = ends_[id];
    if (begin > end || end > header_.text_bytes)
      refuse(layout_.ends + id * sizeof ends_[0], "the end of a word", joined({end}));
    return content_.substr(layout_.text + begin, end - begin);
  }
  /// Returns the number of a word, the lowest if it is there several times. Throws as word().
  std::optional<WordId> find(std::string_view word) const;

  /// Returns the hashes of the sections of words and of vectors.
  std::uint64_t words_hash() const { return hash_of(sizeof(CompressedHeader), layout_.scales); }
  std::uint64_t vectors_hash() const { return hash_of(layout_.scales, layout_.size); }
  /// Reads all sections. Throws FormatError for one that is damaged.
  void validate() const;

  /// Returns the slot in which the search for a word begins.
  static std::size_t first_slot(std::string_view word, std::size_t table) {
    return (Hash::of(word) >> 34) * table >> 30;
  }

 private:
  [[noreturn]] void refuse(std::size_t byte, std::string_view expected,
                           std::string_view got) const {
    throw FormatError::at_byte(path_, byte, expected, got);
  }
  std::uint64_t hash_of(std::size_t begin, std::size_t end) const {
    return Hash::of(content_.substr(begin, end - begin));
  }
  CompressedHeader checked_header() const;

  std::string_view content_;
  std::filesystem::path path_;
  CompressedHeader header_;
  CompressedLayout layout_;
  std::span<const std::uint32_t> ends_, slots_;  // a slot: the number of a word + 1, 0: free
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION CompressedFile::CompressedFile(std::string_view content,
                                                 const std::filesystem::path& path)
    : content_(content), path_(path), header_(checked_header()), layout_(header_) {
  if (content.size() < layout_.size)
    refuse(content.size(), joined({"a file of ", layout_.size, " bytes"}),
           "the end of the file: it is incomplete");
  if (content.size() > layout_.size)
    refuse(layout_.size, "the end of the file",
           joined({content.size() - layout_.size, " more bytes"}));
  ends_ = section<std::uint32_t>(layout_.ends, header_.words);
  slots_ = section<std::uint32_t>(layout_.table, layout_.slot_count);
}

WORDLOOM_FUNCTION CompressedHeader CompressedFile::checked_header() const {
  CompressedHeader header{};
  if (!recognizes(content_))
    refuse(0, "a file of compressed vectors", shown(content_.substr(0, 16)));
  if (content_.size() < sizeof header)
    refuse(content_.size(), "a header of 128 bytes", "the end of the file: it is incomplete");
  std::memcpy(&header, content_.data(), sizeof header);
  constexpr std::uint32_t own = CompressedHeader::current_version;
  if (header.version != own)
    refuse(offsetof(CompressedHeader, version), joined({"version ", own, " of compressed vectors"}),
           joined({"version ", header.version,
                   header.version > own
                       ? ", written by a newer version of Wordloom: update Wordloom to read it"
                       : ": the file is damaged"}));
  if (header.hash != header.own_hash())
    refuse(offsetof(CompressedHeader, hash), "the checksum of the header",
           "another one: the file is damaged");
  // A file with the right checksum may be wrong; bounds keep sizes within 64 bits.
  const bool is_product = header.format == 3;
  constexpr std::uint64_t most = std::uint64_t{1} << 24;
  if (header.format > 3 || header.words == 0 ||
      header.words >= (std::numeric_limits<WordId>::max)() || header.dimension == 0 ||
      header.dimension > most || (header.parts != 0) != is_product ||
      header.parts > header.dimension || header.has_counts > 1 ||
      header.text_bytes > (std::numeric_limits<std::uint32_t>::max)())
    refuse(offsetof(CompressedHeader, format), "a format and shape of compressed vectors",
           joined({"format ", header.format, ", ", header.words, " words, dimension ",
                   header.dimension, ", ", header.parts, " parts"}));
  return header;
}

WORDLOOM_FUNCTION std::optional<WordId> CompressedFile::find(std::string_view wanted) const {
  std::size_t at = first_slot(wanted, slots_.size());
  for (std::size_t tries = 0; tries < slots_.size() && slots_[at] != 0; ++tries) {
    if (slots_[at] > header_.words)
      refuse(layout_.table + at * sizeof slots_[0], "the number of a word", joined({slots_[at]}));
    if (word(slots_[at] - 1) == wanted) return slots_[at] - 1;
    at = at + 1 == slots_.size() ? 0 : at + 1;
  }
  return std::nullopt;
}

WORDLOOM_FUNCTION void CompressedFile::validate() const {
  const auto check = [&](std::size_t begin, std::uint64_t expected, std::uint64_t hash) {
    if (hash != expected)
      refuse(begin, "bytes with the checksum of the header", "others: the file is damaged");
  };
  check(sizeof header_, header_.words_hash, words_hash());
  check(layout_.scales, header_.vectors_hash, vectors_hash());
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
