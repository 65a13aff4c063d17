#pragma once
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <wordloom/core/error.hpp>
#include <wordloom/core/mapped_file.hpp>

#if !defined(_WIN32)
#include <sys/file.h>
#endif

namespace wordloom { inline namespace WORDLOOM_ABI {

/// A file written whole or not at all: bytes go to a temporary file in the same folder, and
/// `commit()` syncs it and renames it over `path`. Without `commit()` the destructor removes it
/// and an older file at `path` stays as it was. The new one has its mode and, where that is
/// allowed, its owner. A symbolic link is followed, even if it dangles. A pipe, a device and a file
/// that a process has open ("-", which is standard output, /dev/stdout, /dev/fd/3), even a regular
/// one, are written to directly and never replaced. A file that is mounted on its own, as into a
/// container, cannot be replaced either: `commit()` copies the bytes into it.
///
/// A temporary file is locked as long as its process lives. The next AtomicFile of the same path on
/// the same machine removes those of processes that were killed. Not thread-safe.
class AtomicFile {
 public:
  /// Throws IoError when the folder or the file cannot be written, and InvalidArgument for a name
  /// that ends in .gz, unless it is a pipe or device: nothing is compressed, and a reader would
  /// refuse the file.
  explicit AtomicFile(const std::filesystem::path& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  /// The path given.
  const std::filesystem::path& path() const noexcept { return path_; }
  /// Returns true if bytes appear at once, because the path is not a regular file or is a
  /// descriptor.
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

  std::filesystem::path folder() const {
    return target_.has_parent_path() ? target_.parent_path() : ".";
  }
  int create_temporary();
#ifndef _WIN32
  /// Moves a new descriptor above those of the standard streams: if a program was started
  /// without one of them, its output would otherwise go into the file.
  static int above_standard(int file);
  /// Copies the temporary file over the content of the target; throws IoError.
  void copy_to_target();
#endif
  /// Removes the temporary files with this prefix that nobody has locked.
  void remove_abandoned(std::basic_string_view<std::filesystem::path::value_type> prefix) const;

  std::filesystem::path path_, target_, temporary_;
  bool is_direct_ = false;
  std::FILE* file_ = nullptr;
  std::unique_ptr<char[]> buffer_ = std::make_unique<char[]>(buffer_bytes);
};

#if WORDLOOM_DEFINES_FUNCTIONS && !defined(_WIN32)

WORDLOOM_FUNCTION AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path) {
  if (path.empty()) throw IoError("cannot write '': the file name is empty");
  const auto target = path == detail::standard_stream
                          ? detail::LinkTarget{path, true, STDOUT_FILENO}
                          : detail::link_target(path);
  target_ = target.path;
  struct stat status {};
  const bool exists = target.descriptor < 0 ? ::stat(target_.c_str(), &status) == 0
                                            : ::fstat(target.descriptor, &status) == 0;
  if (!exists && errno != ENOENT) throw IoError::from_errno("write", path, errno);
  if (exists && S_ISDIR(status.st_mode))
    throw IoError{"cannot write '", path, "': it is a directory"};
  int file = -1;
  if (target.descriptor >= 0)
    file = ::fcntl(target.descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  else if (target.is_open_file || (exists && !S_ISREG(status.st_mode)))
    file = above_standard(::open(target_.c_str(), O_WRONLY | O_CLOEXEC));
  else if (path.extension() == ".gz")
    throw InvalidArgument{"cannot write '", path,
                          "': nothing is written compressed; leave out .gz and compress the file ",
                          "with gzip"};
  else if (exists && ::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0)
    throw IoError::from_errno("write", path, errno);  // it could be replaced, but is protected
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

WORDLOOM_FUNCTION AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  if (file_ != nullptr) std::fclose(file_);
}

WORDLOOM_FUNCTION void AtomicFile::commit() {
  flush();
  // A pipe or terminal cannot be synced and says EINVAL; that is no loss.
  if (::fsync(::fileno(file_)) != 0 && !is_direct_) throw IoError::from_errno("sync", path_, errno);
  // Renamed before it is closed, and so unlocked: another process would take it for abandoned.
  if (!is_direct_ && ::rename(temporary_.c_str(), target_.c_str()) != 0) {
    if (errno != EBUSY) throw IoError::from_errno("replace", path_, errno);
    copy_to_target();
    ::unlink(temporary_.c_str());
  }
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

WORDLOOM_FUNCTION void AtomicFile::copy_to_target() {
  const MappedFile from(temporary_);
  const int to = ::open(target_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (to < 0) throw IoError::from_errno("write", path_, errno);
  bool copied = true;
  for (std::string_view left = from.text(); copied && !left.empty();) {
    const ssize_t written = ::write(to, left.data(), left.size());
    copied = written >= 0;
    if (copied) left.remove_prefix(static_cast<std::size_t>(written));
  }
  copied = copied && ::fsync(to) == 0;
  const int error = errno;
  ::close(to);
  if (!copied) throw IoError::from_errno("write", path_, error);
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

}}  // namespace wordloom::WORDLOOM_ABI

#if WORDLOOM_DEFINES_FUNCTIONS && defined(_WIN32)
#include <wordloom/core/detail/windows_files.inl>
#endif
