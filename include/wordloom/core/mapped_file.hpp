#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

#include <wordloom/core/error.hpp>

namespace wordloom {

/// A whole regular file mapped read-only. Move-only; reads are thread-safe. A file that another
/// program cuts short while it is mapped raises SIGBUS on access, as with any mapping.
class MappedFile {
 public:
  MappedFile() = default;

  /// Throws IoError when `path` cannot be opened, is a directory or is no regular file.
  explicit MappedFile(const std::filesystem::path& path) : path_(path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) throw IoError::from_errno("open", path, errno);
    struct Close {
      int file;
      ~Close() { ::close(file); }
    } close{file};
    struct stat status {};
    if (::fstat(file, &status) != 0) throw IoError::from_errno("examine", path, errno);
    if (S_ISDIR(status.st_mode))
      throw IoError("cannot read '" + path.string() + "': it is a directory");
    if (!S_ISREG(status.st_mode))
      throw IoError("cannot map '" + path.string() + "': it is not a regular file");
    modified_ns_ = status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec;
    if (status.st_size == 0) return;  // mmap refuses a length of 0
    void* mapping =
        ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    if (mapping == MAP_FAILED) throw IoError::from_errno("map", path, errno);
    data_ = static_cast<const char*>(mapping);
    size_ = static_cast<std::size_t>(status.st_size);
  }

  MappedFile(MappedFile&& other) noexcept { swap(other); }
  MappedFile& operator=(MappedFile&& other) noexcept {
    MappedFile(std::move(other)).swap(*this);
    return *this;
  }
  ~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
  }

  const std::filesystem::path& path() const noexcept { return path_; }
  const char* data() const noexcept { return data_; }
  /// Bytes.
  std::size_t size() const noexcept { return size_; }
  std::string_view text() const noexcept { return {data_, size_}; }
  /// Time of the last modification, nanoseconds since 1970.
  std::int64_t modified_ns() const noexcept { return modified_ns_; }

 private:
  void swap(MappedFile& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(modified_ns_, other.modified_ns_);
  }

  std::filesystem::path path_;
  const char* data_ = nullptr;
  std::size_t size_ = 0;
  std::int64_t modified_ns_ = 0;
};

}  // namespace wordloom
