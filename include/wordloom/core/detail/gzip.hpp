#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include <wordloom/core/error.hpp>
#include <wordloom/core/mapped_file.hpp>

#if WORDLOOM_HAS_ZLIB
#include <zlib.h>
#endif

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Returns whether a file begins like a .gz file.
inline bool has_gzip_magic(std::string_view bytes) noexcept {
  return bytes.starts_with("\x1f\x8b");
}

/// Decompresses a .gz file, which may have several members, from its start. Not thread-safe.
class GzipReader {
 public:
  virtual ~GzipReader() = default;
  /// Appends up to `bytes` bytes to `text`; returns false at the end of the file. Throws
  /// FormatError with the byte of the .gz file where it is damaged or cut short.
  virtual bool read(std::string& text, std::size_t bytes) = 0;
};

/// The function that opens .gz files. Null where no source file of the program was compiled with
/// zlib: one that was sets it before `main`, so that all others need not know whether there is
/// zlib.
using GzipOpener = std::unique_ptr<GzipReader> (*)(const MappedFile& file);
GzipOpener& gzip_opener() noexcept;

/// Returns a reader for a .gz file, null for another file. Throws IoError for a .gz file if the
/// program has no zlib, and FormatError for a file that has the name of a .gz file but not its
/// content.
std::unique_ptr<GzipReader> open_gzip(const MappedFile& file);

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION GzipOpener& gzip_opener() noexcept {
  static GzipOpener opener = nullptr;
  return opener;
}

WORDLOOM_FUNCTION std::unique_ptr<GzipReader> open_gzip(const MappedFile& file) {
  if (has_gzip_magic(file.text())) {
    if (const GzipOpener open = gzip_opener()) return open(file);
    throw IoError{"cannot read '", file.path(),
                  "': this program has no zlib (CMake: wordloom::zlib); unpack it first: gzip -dc"};
  }
  if (file.path().extension() == ".gz" && file.size() > 0)
    throw FormatError::at_byte(file.path(), 0, "gzip data, as its name says", "something else");
  return nullptr;
}

#endif

#if WORDLOOM_HAS_ZLIB

/// GzipReader by zlib.
class ZlibReader final : public GzipReader {
 public:
  explicit ZlibReader(const MappedFile& file) : file_(file) {
    // 15 + 16: the largest window, gzip format only.
    if (::inflateInit2(&stream_, 15 + 16) != Z_OK) throw std::bad_alloc();
  }
  ZlibReader(const ZlibReader&) = delete;
  ZlibReader& operator=(const ZlibReader&) = delete;
  ~ZlibReader() override { ::inflateEnd(&stream_); }

  static std::unique_ptr<GzipReader> open(const MappedFile& file) {
    return std::make_unique<ZlibReader>(file);
  }

  bool read(std::string& text, std::size_t bytes) override;

 private:
  void feed();

  void next_member();

  const MappedFile& file_;
  z_stream stream_{};
  std::size_t fed_ = 0;
  bool ended_ = false;
};

inline const GzipOpener zlib_opener = gzip_opener() = &ZlibReader::open;

inline bool ZlibReader::read(std::string& text, std::size_t bytes) {
  bytes = (std::min<std::size_t>)(bytes, 1u << 30);
  text.resize(text.size() + bytes);
  stream_.next_out = reinterpret_cast<Bytef*>(text.data() + text.size() - bytes);
  stream_.avail_out = static_cast<uInt>(bytes);
  while (stream_.avail_out > 0 && !ended_) {
    feed();
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_STREAM_END)
      next_member();
    else if (result == Z_MEM_ERROR)
      throw std::bad_alloc();
    else if (result != Z_OK)
      throw FormatError::at_byte(file_.path(), fed_ - stream_.avail_in, "gzip data",
                                 result == Z_BUF_ERROR    ? "the end of the file"
                                 : stream_.msg != nullptr ? stream_.msg
                                                          : "something else");
  }
  text.erase(text.size() - stream_.avail_out);
  return !ended_;
}

inline void ZlibReader::feed() {
  if (stream_.avail_in > 0) return;
  const std::size_t room = (std::min<std::size_t>)(file_.size() - fed_, 1u << 24);
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file_.data() + fed_));
  stream_.avail_in = static_cast<uInt>(room);
  fed_ += room;
}

inline void ZlibReader::next_member() {
  // Like gzip, takes zeros after the last member as padding.
  for (feed(); stream_.avail_in > 0 && *stream_.next_in == 0; feed()) {
    ++stream_.next_in;
    --stream_.avail_in;
  }
  ended_ = stream_.avail_in == 0;
  if (!ended_) ::inflateReset(&stream_);
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
