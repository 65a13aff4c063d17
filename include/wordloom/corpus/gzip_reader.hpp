#pragma once
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include <wordloom/core/error.hpp>
#include <wordloom/core/mapped_file.hpp>

namespace wordloom {

/// Decompresses a .gz file, which may have several members, from its start. Not thread-safe.
class GzipReader {
 public:
  /// Throws IoError if the file cannot be read.
  explicit GzipReader(const std::filesystem::path& path) : file_(path) {
    // 15 + 16: the largest window, gzip format only.
    if (::inflateInit2(&stream_, 15 + 16) != Z_OK) throw std::bad_alloc();
  }
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;
  ~GzipReader() { ::inflateEnd(&stream_); }

  /// Appends up to `bytes` bytes to `text`; returns false at the end of the file. Throws
  /// FormatError with the byte of the .gz file where it is damaged or cut short.
  bool read(std::string& text, std::size_t bytes) {
    const std::size_t before = text.size();
    text.resize(before + bytes);
    std::size_t filled = 0;
    while (filled < bytes && !ended_) {
      feed();
      stream_.next_out = reinterpret_cast<Bytef*>(text.data() + before + filled);
      const std::size_t room = std::min<std::size_t>(bytes - filled, 1u << 30);
      stream_.avail_out = static_cast<uInt>(room);
      const int result = ::inflate(&stream_, Z_NO_FLUSH);
      filled += room - stream_.avail_out;
      if (result == Z_STREAM_END)
        next_member();
      else if (result != Z_OK)
        throw_damaged(result);
    }
    text.resize(before + filled);
    return !ended_;
  }

 private:
  void feed() {
    if (stream_.avail_in > 0) return;
    const std::size_t room = std::min<std::size_t>(file_.size() - fed_, 1u << 24);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file_.data() + fed_));
    stream_.avail_in = static_cast<uInt>(room);
    fed_ += room;
  }

  std::size_t position() const { return fed_ - stream_.avail_in; }

  void next_member() {
    feed();
    // As gzip does: zeros after the last member are padding.
    while (stream_.avail_in > 0 && *stream_.next_in == 0) {
      ++stream_.next_in;
      --stream_.avail_in;
      feed();
    }
    if (stream_.avail_in == 0)
      ended_ = true;
    else
      ::inflateReset(&stream_);
  }

  [[noreturn]] void throw_damaged(int result) const {
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    const bool cut = result == Z_BUF_ERROR;
    throw FormatError::at_byte(file_.path(), position(), "gzip data",
                               cut                      ? "the end of the file"
                               : stream_.msg != nullptr ? stream_.msg
                                                        : "something else");
  }

  MappedFile file_;
  z_stream stream_{};
  std::size_t fed_ = 0;
  bool ended_ = false;
};

}  // namespace wordloom
