#pragma once
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <wordloom/core/error.hpp>

#if defined(_WIN32)
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <sys/stat.h>

#include <wordloom/core/detail/windows.hpp>
#else
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// The file name of standard input or output.
inline constexpr const char* standard_stream = "-";

/// A path without its symbolic links; the file need not exist.
struct LinkTarget {
  std::filesystem::path path;
  /// True if `path` is one of /proc/PID/fd: such a link names a file that a process has open, which
  /// may have no other name, and is not followed.
  bool is_open_file = false;
  /// The descriptor of this process that the path names, which may be closed, or -1.
  int descriptor = -1;
};

/// Follows symbolic links. Throws IoError for a loop.
LinkTarget link_target(std::filesystem::path path);

/// The treatment of a named pipe: refuse it, or wait for its writer and read it to its end.
enum class NamedPipe { refuse, read };

}  // namespace detail

/// A whole file mapped read-only. "-" is standard input. Where standard input or another descriptor
/// (/dev/fd/3, as the shell's <(...) gives it) is a pipe, a socket or a terminal, it is read to its
/// end into a temporary file without a name, which is kept for the lifetime of the process, so that
/// it may be read again. Reads are thread-safe. A file that another program cuts short while it is
/// mapped raises SIGBUS on access, as with any mapping.
class MappedFile {
 public:
  /// Throws IoError if `path` cannot be opened, is a directory or a device, or is a named pipe that
  /// is refused because its content can be read only once.
  explicit MappedFile(const std::filesystem::path& path,
                      detail::NamedPipe pipe = detail::NamedPipe::refuse);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

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

#if WORDLOOM_DEFINES_FUNCTIONS && !defined(_WIN32)

namespace detail {

WORDLOOM_FUNCTION LinkTarget link_target(std::filesystem::path path) {
  std::error_code failed;
  const auto own = std::filesystem::canonical("/proc/self", failed);
  for (int links = 0; links <= 40; ++links) {
    const auto parent = path.has_parent_path() ? path.parent_path() : ".";
    const auto folder = std::filesystem::canonical(parent, failed);
    const std::string name = path.filename();
    const bool is_number =
        !name.empty() && name.size() < 9 && name.find_first_not_of("0123456789") == name.npos;
    if (!failed && is_number && folder.filename() == "fd" &&
        folder.native().starts_with("/proc/")) {
      const bool is_own =
          folder == own / "fd" || folder.native().starts_with((own / "task/").native());
      return {std::move(path), true, is_own ? std::stoi(name) : -1};
    }
    if (!std::filesystem::is_symlink(path, failed)) return {std::move(path)};
    path = parent / std::filesystem::read_symlink(path, failed);
  }
  throw IoError::from_errno("follow", path, ELOOP);
}

/// Reads `input` to its end into a temporary file without a name, which is removed with its last
/// descriptor. Returns a descriptor of that file. Throws IoError; `path` is for its message.
inline int copy_to_file(int input, const std::filesystem::path& path) {
  std::string name = std::filesystem::temp_directory_path() / "wordloom-XXXXXX";
  const int copy = ::mkostemp(name.data(), O_CLOEXEC);
  if (copy < 0) throw IoError::from_errno("create", name, errno);
  ::unlink(name.c_str());
  const auto fail = [&](std::string_view action, const std::filesystem::path& file) {
    const int error = errno;
    ::close(copy);
    throw IoError::from_errno(action, file, error);
  };
  std::array<char, 65536> some;
  while (true) {
    const ssize_t got = ::read(input, some.data(), some.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read", path);
    if (got == 0) return copy;
    for (ssize_t done = 0; done < got;) {
      const ssize_t put = ::write(copy, some.data() + done, static_cast<std::size_t>(got - done));
      if (put < 0) fail("copy '" + path.string() + "' to", name);
      done += put;
    }
  }
}

/// Returns a descriptor of a regular file with the content that was left in `input` at the first
/// call for it: a stream can be read only once, but a text is read to count and to train. The
/// caller does not close it. Throws IoError.
inline int whole_descriptor(int input, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(input, &status) != 0) throw IoError::from_errno("open", path, errno);
  if (!S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode) && !S_ISCHR(status.st_mode))
    return input;
  static std::mutex guard;
  static std::map<std::pair<dev_t, ino_t>, int> copies;
  const std::lock_guard lock(guard);
  const auto [copy, is_new] = copies.try_emplace({status.st_dev, status.st_ino}, -1);
  if (copy->second < 0) copy->second = copy_to_file(input, path);
  return copy->second;
}

/// Returns a new descriptor of the file `path`, or of a copy if it is a descriptor or a named pipe
/// that can be read only once. Throws IoError.
inline int open_whole(const std::filesystem::path& path, NamedPipe pipe) {
  const int number = path == standard_stream ? STDIN_FILENO : link_target(path).descriptor;
  if (number >= 0) {
    const int whole = whole_descriptor(number, path);
    const int file = ::fcntl(whole, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (file < 0) throw IoError::from_errno("open", path, errno);
    return file;
  }
  int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) throw IoError::from_errno("open", path, errno);
  struct stat status {};
  if (pipe == NamedPipe::read && ::fstat(file, &status) == 0 && S_ISFIFO(status.st_mode)) {
    // Waits for the writer; without this, reading would end at once.
    pollfd event{file, POLLIN, 0};
    while (::poll(&event, 1, -1) < 0 && errno == EINTR) {
    }
    ::fcntl(file, F_SETFL, 0);
    try {
      const int copy = copy_to_file(file, path);
      ::close(std::exchange(file, copy));
    } catch (...) {
      ::close(file);
      throw;
    }
  }
  return file;
}

}  // namespace detail

WORDLOOM_FUNCTION MappedFile::MappedFile(const std::filesystem::path& path, detail::NamedPipe pipe)
    : path_(path) {
  struct Close {
    int file;
    ~Close() { ::close(file); }
  } const opened{detail::open_whole(path, pipe)};
  struct stat status {};
  if (::fstat(opened.file, &status) != 0) throw IoError::from_errno("examine", path, errno);
  if (S_ISDIR(status.st_mode)) throw IoError{"cannot read '", path, "': it is a directory"};
  if (S_ISFIFO(status.st_mode))
    throw IoError{"cannot read '", path, "': it is a named pipe, which can be read only once; ",
                  "redirect standard input to it and give - as the file"};
  if (!S_ISREG(status.st_mode)) throw IoError{"cannot read '", path, "': it is a device"};
  const auto nanoseconds = [](const timespec& time) {
    return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
  };
#ifdef __APPLE__
  modified_ns_ = nanoseconds(status.st_mtimespec);
  changed_ns_ = nanoseconds(status.st_ctimespec);
#else
  modified_ns_ = nanoseconds(status.st_mtim);
  changed_ns_ = nanoseconds(status.st_ctim);
#endif
  if (status.st_size == 0) return;  // mmap refuses a length of 0
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, opened.file, 0);
  if (mapping == MAP_FAILED) throw IoError::from_errno("map", path, errno);
  text_ = {static_cast<const char*>(mapping), size};
}

WORDLOOM_FUNCTION MappedFile::~MappedFile() {
  if (!text_.empty()) ::munmap(const_cast<char*>(text_.data()), text_.size());
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI

#if WORDLOOM_DEFINES_FUNCTIONS && defined(_WIN32)
#include <wordloom/core/detail/windows_mapped_file.inl>
#endif
