#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <wordloom/core/error.hpp>

namespace wordloom {

/// A file written whole or not at all: bytes go to a temporary file in the same folder, and
/// `commit()` syncs it and renames it over `path`. Without `commit()` the destructor removes it
/// and what stood at `path` stays as it was. A symbolic link is followed; something that exists
/// and is no regular file (/dev/stdout, a pipe) is written to directly. Not thread-safe.
class AtomicFile {
 public:
  /// Throws IoError when the folder or the file cannot be written.
  explicit AtomicFile(const std::filesystem::path& path) : path_(path) {
    std::error_code ignored;
    if (std::filesystem::is_symlink(path, ignored)) {
      const auto target = std::filesystem::weakly_canonical(path, ignored);
      if (!ignored) path_ = target;
    }
    struct stat status {};
    const bool exists = ::stat(path_.c_str(), &status) == 0;
    if (path.empty()) throw IoError("cannot write '': the file name is empty");
    if (exists && S_ISDIR(status.st_mode))
      throw IoError("cannot write '" + path.string() + "': it is a directory");
    if (exists && !S_ISREG(status.st_mode)) {
      file_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
      if (file_ < 0) throw IoError::from_errno("open for writing", path, errno);
    } else {
      create_temporary();
      if (exists) ::fchmod(file_, status.st_mode & 07777);
    }
    buffer_.reserve(buffer_bytes);
  }
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile() { discard(); }

  const std::filesystem::path& path() const noexcept { return path_; }

  /// Appends; throws IoError (a full disk, say), after which only destruction is of use.
  void write(std::string_view bytes) {
    if (buffer_.size() + bytes.size() > buffer_bytes) flush();
    if (bytes.size() >= buffer_bytes)
      write_through(bytes);
    else
      buffer_.append(bytes);
  }

  /// Makes the content durable and visible at `path()` at once; throws IoError.
  void commit() {
    flush();
    // A pipe or terminal cannot be synced and says EINVAL; that is no loss.
    if (::fsync(file_) != 0 && !temporary_.empty()) throw IoError::from_errno("sync", path_, errno);
    if (::close(std::exchange(file_, -1)) != 0) throw IoError::from_errno("close", path_, errno);
    if (temporary_.empty()) return;
    if (::rename(temporary_.c_str(), path_.c_str()) != 0)
      throw IoError::from_errno("replace", path_, errno);
    temporary_.clear();
    sync_folder();
  }

 private:
  static constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

  void create_temporary() {
    static std::atomic<unsigned> count{0};
    do {
      temporary_ = path_.string() + "." + std::to_string(::getpid()) + "-" +
                   std::to_string(count.fetch_add(1)) + ".tmp";
      file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (file_ < 0 && errno == EEXIST);
    if (file_ >= 0) return;
    const int error_number = errno;
    temporary_.clear();
    throw IoError::from_errno("create a file beside", path_, error_number);
  }

  void flush() {
    write_through(buffer_);
    buffer_.clear();
  }

  void write_through(std::string_view bytes) {
    while (!bytes.empty()) {
      const ::ssize_t written = ::write(file_, bytes.data(), bytes.size());
      if (written < 0) {
        if (errno == EINTR) continue;
        throw IoError::from_errno("write", path_, errno);
      }
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  /// The rename itself must survive a crash; a file system that cannot sync folders is forgiven.
  void sync_folder() const noexcept {
    const auto folder = path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
    const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle < 0) return;
    ::fsync(handle);
    ::close(handle);
  }

  void discard() noexcept {
    if (file_ >= 0) ::close(std::exchange(file_, -1));
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  std::filesystem::path path_;
  std::string temporary_;  // empty: written to directly
  int file_ = -1;
  std::string buffer_;
};

}  // namespace wordloom
