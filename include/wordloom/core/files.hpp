#pragma once
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <wordloom/core/error.hpp>

namespace wordloom::inline WORDLOOM_ABI {

namespace detail {

/// The name that stands for standard input or output.
inline constexpr const char* standard_stream = "-";

/// Returns what symbolic links at `path` lead to, which need not exist; links that name a
/// descriptor are not followed. Throws IoError for a loop.
std::filesystem::path link_target(std::filesystem::path path);

}  // namespace detail

/// A whole regular file mapped read-only; "-" is standard input. Reads are thread-safe. A file that
/// another program cuts short while it is mapped raises SIGBUS on access, as with any mapping.
class MappedFile {
 public:
  /// Throws IoError when `path` cannot be opened, is a directory or is no regular file; does not
  /// wait for the writer of a pipe, except of "-", which it reads to its end.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (!text_.empty()) ::munmap(const_cast<char*>(text_.data()), text_.size());
  }

  const std::filesystem::path& path() const noexcept { return path_; }
  std::string_view text() const noexcept { return text_; }
  const char* data() const noexcept { return text_.data(); }
  std::size_t size() const noexcept { return text_.size(); }
  /// Time of the last modification, nanoseconds since 1970.
  std::int64_t modified_ns() const noexcept { return modified_ns_; }
  /// Time of the last change of the content or of the entry in the file system, nanoseconds since
  /// 1970; no program can set it back.
  std::int64_t changed_ns() const noexcept { return changed_ns_; }

 private:
  std::filesystem::path path_;
  std::string_view text_;
  std::int64_t modified_ns_ = 0, changed_ns_ = 0;
};

/// A file written whole or not at all: bytes go to a temporary file in the same folder, and
/// `commit()` syncs it and renames it over `path`. Without `commit()` the destructor removes it
/// and an older file at `path` stays as it was. The new one has its mode and, where that is
/// allowed, its owner. A symbolic link is followed, a dangling one too. A pipe, a device and a
/// descriptor (/dev/stdout or "-", also when it leads to a file) are written to directly.
///
/// A temporary file is locked as long as its process lives. The next AtomicFile of the same path on
/// the same machine removes those of processes that were killed. Not thread-safe.
class AtomicFile {
 public:
  /// Throws IoError when the folder or the file cannot be written.
  explicit AtomicFile(const std::filesystem::path& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    if (file_ != nullptr) std::fclose(file_);
  }

  /// The path given.
  const std::filesystem::path& path() const noexcept { return path_; }
  /// Whether bytes appear at once: what is written to is no regular file, or a descriptor.
  bool is_direct() const noexcept { return is_direct_; }

  /// Appends. Throws IoError (of a full disk, for example); the file can then only be destroyed.
  void write(std::string_view bytes) {
    if (bytes.empty()) return;  // may have no address
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size())
      throw IoError::from_errno("write", path_, errno);
  }

  /// Hands all bytes to the system; throws IoError.
  void flush() {
    if (std::fflush(file_) != 0) throw IoError::from_errno("write", path_, errno);
  }
  /// Makes the content durable and visible at `path()` at once; throws IoError.
  void commit();

 private:
  static constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

  /// Moves a new descriptor above those of the standard streams: where a program was started
  /// without one of them, what it prints would go into the file.
  static int above_standard(int file);
  std::filesystem::path folder() const {
    return target_.has_parent_path() ? target_.parent_path() : ".";
  }
  int create_temporary();
  /// Removes the temporary files with this prefix that nobody has locked.
  void remove_abandoned(std::string_view prefix) const;

  std::filesystem::path path_, target_, temporary_;
  bool is_direct_ = false;
  std::FILE* file_ = nullptr;
  std::unique_ptr<char[]> buffer_ = std::make_unique<char[]>(buffer_bytes);
};

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

/// Returns a descriptor of a regular file that holds what standard input had left when this was
/// first called: input that is no regular file is copied to one without a name, in the folder of
/// temporary files, and removed with the process. Throws IoError.
inline int standard_input() {
  static const int input = [] {
    struct stat status {};
    if (::fstat(STDIN_FILENO, &status) != 0)
      throw IoError::from_errno("examine", standard_stream, errno);
    if (!S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode) && !S_ISCHR(status.st_mode))
      return STDIN_FILENO;
    std::string name = std::filesystem::temp_directory_path() / "wordloom-XXXXXX";
    const int copy = ::mkostemp(name.data(), O_CLOEXEC);
    if (copy < 0) throw IoError::from_errno("create", name, errno);
    ::unlink(name.c_str());
    std::array<char, 65536> some;
    while (true) {
      const ssize_t got = ::read(STDIN_FILENO, some.data(), some.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw IoError::from_errno("read", standard_stream, errno);
      if (got == 0) return copy;
      for (ssize_t done = 0; done < got;) {
        const ssize_t put = ::write(copy, some.data() + done, static_cast<std::size_t>(got - done));
        if (put < 0) throw IoError::from_errno("copy standard input to", name, errno);
        done += put;
      }
    }
  }();
  return input;
}

/// Returns the descriptor that a path such as /dev/stdout or /dev/fd/3 names, or -1 for any other.
inline int descriptor_of(const std::filesystem::path& path) {
  std::error_code failed;
  const auto folder = std::filesystem::canonical("/proc/self/fd", failed);
  const bool is_one = !failed && std::filesystem::is_symlink(path, failed) &&
                      std::filesystem::canonical(path.parent_path(), failed) == folder;
  return is_one ? std::stoi(path.filename()) : -1;
}

WORDLOOM_FUNCTION std::filesystem::path link_target(std::filesystem::path path) {
  std::error_code failed;
  for (int links = 0; std::filesystem::is_symlink(path, failed) && descriptor_of(path) < 0;) {
    if (++links > 40) throw IoError::from_errno("write", path, ELOOP);
    path = path.parent_path() / std::filesystem::read_symlink(path, failed);
  }
  return path;
}

}  // namespace detail

WORDLOOM_FUNCTION MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  const int file = path == detail::standard_stream
                       ? ::fcntl(detail::standard_input(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                       : ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) throw IoError::from_errno("open", path, errno);
  struct Close {
    int file;
    ~Close() { ::close(file); }
  } close{file};
  struct stat status {};
  if (::fstat(file, &status) != 0) throw IoError::from_errno("examine", path, errno);
  if (S_ISDIR(status.st_mode)) throw IoError{"cannot read '", path, "': it is a directory"};
  if (!S_ISREG(status.st_mode)) throw IoError{"cannot map '", path, "': it is not a regular file"};
  const auto nanoseconds = [](const timespec& time) {
    return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
  };
  modified_ns_ = nanoseconds(status.st_mtim);
  changed_ns_ = nanoseconds(status.st_ctim);
  if (status.st_size == 0) return;  // mmap refuses a length of 0
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (mapping == MAP_FAILED) throw IoError::from_errno("map", path, errno);
  text_ = {static_cast<const char*>(mapping), size};
}

WORDLOOM_FUNCTION AtomicFile::AtomicFile(const std::filesystem::path& path)
    : path_(path),
      target_(path == detail::standard_stream ? "/dev/stdout" : detail::link_target(path)) {
  if (path.empty()) throw IoError("cannot write '': the file name is empty");
  struct stat status {};
  const bool exists = ::stat(target_.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) throw IoError::from_errno("write", path, errno);
  if (exists && S_ISDIR(status.st_mode))
    throw IoError{"cannot write '", path, "': it is a directory"};
  int file = detail::descriptor_of(target_);
  if (file >= 0)
    file = ::fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  else if (exists && !S_ISREG(status.st_mode))
    file = above_standard(::open(target_.c_str(), O_WRONLY | O_CLOEXEC));
  else
    file = create_temporary();
  is_direct_ = temporary_.empty();
  if (exists && !is_direct_) {
    const bool same_owner = ::fchown(file, status.st_uid, status.st_gid) == 0;
    ::fchmod(file, status.st_mode & (same_owner ? 07777 : 0777));
  }
  file_ = file < 0 ? nullptr : ::fdopen(file, "w");
  if (file_ == nullptr) {
    const int error = errno;
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    if (file >= 0) ::close(file);
    throw IoError::from_errno("open for writing", path, error);
  }
  std::setvbuf(file_, buffer_.get(), _IOFBF, buffer_bytes);
}

WORDLOOM_FUNCTION void AtomicFile::commit() {
  flush();
  // A pipe or terminal cannot be synced and says EINVAL; that is no loss.
  if (::fsync(::fileno(file_)) != 0 && !is_direct_) throw IoError::from_errno("sync", path_, errno);
  // Renamed before it is closed, and so unlocked: another process would take it for abandoned.
  if (!is_direct_ && ::rename(temporary_.c_str(), target_.c_str()) != 0)
    throw IoError::from_errno("replace", path_, errno);
  temporary_.clear();
  if (std::fclose(std::exchange(file_, nullptr)) != 0)
    throw IoError::from_errno("close", path_, errno);
  if (is_direct_) return;
  // The rename itself must survive a crash, where the file system can sync folders.
  const int handle = ::open(folder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) return;
  ::fsync(handle);
  ::close(handle);
}

WORDLOOM_FUNCTION int AtomicFile::above_standard(int file) {
  if (file < 0 || file > STDERR_FILENO) return file;
  const int above = ::fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  ::close(file);
  if (::ftruncate(above, 0) == 0) ::lseek(above, 0, SEEK_SET);  // other threads may have printed
  return above;
}

WORDLOOM_FUNCTION int AtomicFile::create_temporary() {
  // The name of the machine: locks may not be shared, so each machine removes its own files only.
  std::array<char, 64> machine{};
  ::gethostname(machine.data(), machine.size() - 1);
  const std::string prefix =
      target_.filename().string().substr(0, 150) + "." + machine.data() + "-";
  remove_abandoned(prefix);
  static std::atomic<unsigned> count{0};
  while (true) {
    temporary_ = folder() / detail::joined({prefix, ::getpid(), "-", count.fetch_add(1), ".tmp"});
    const int file =
        above_standard(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file < 0 && errno == EEXIST) continue;
    if (file < 0) throw IoError::from_errno("create a file beside", path_, errno);
    ::flock(file, LOCK_EX);
    struct stat status {};
    if (::fstat(file, &status) == 0 && status.st_nlink > 0) return file;
    ::close(file);  // another process has removed it before it was locked
  }
}

WORDLOOM_FUNCTION void AtomicFile::remove_abandoned(std::string_view prefix) const {
  std::error_code failed;
  std::filesystem::directory_iterator entry(folder(), failed), end;
  for (; !failed && entry != end; entry.increment(failed)) {
    const std::string name = entry->path().filename();
    if (!name.starts_with(prefix) || !name.ends_with(".tmp") ||
        name.find_first_not_of("0123456789-", prefix.size()) + 4 != name.size())
      continue;
    const int file = ::open(entry->path().c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) continue;
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) ::unlink(entry->path().c_str());
    ::close(file);
  }
}

#endif

}  // namespace wordloom::inline WORDLOOM_ABI
