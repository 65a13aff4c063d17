#pragma once
#ifdef _WIN32
#include <wordloom/evaluation/letter_case.hpp>
#else
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#endif

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <vector>
#include <wordloom/core/error.hpp>

/// A file that an option of a command line names.
struct NamedFile {
  std::string option;
  std::filesystem::path path;  // empty: the option was not given
  bool is_written = false;
  std::string may_replace = {};  // an option whose file it may be
};

/// Device, inode and name; the name only for a file that does not exist yet: device and inode are
/// then those of its folder. On Windows the name alone.
using FileIdentity = std::tuple<std::uint64_t, std::uint64_t, std::string>;

/// The identity of a file, and whether it is a stream: a pipe, a socket or a terminal.
struct NamedIdentity {
  FileIdentity identity;
  bool is_stream = false;
  bool is_open_here = false;  // under a descriptor of this process, such as standard input
};

#ifdef _WIN32

/// Returns equal identities for two names of one file; hard links are not recognised.
inline std::optional<NamedIdentity> identity(const NamedFile& file) {
  if (file.path == "-")
    return file.is_written ? std::nullopt : std::optional(NamedIdentity{{0, 0, "-"}, true, true});
  std::error_code failed;
  const auto path = std::filesystem::weakly_canonical(file.path, failed);
  if (failed) return std::nullopt;
  return NamedIdentity{{0, 0, wordloom::lower_case(path.string())}};
}

#else

/// Returns whether a file is open under a descriptor of this process, such as standard input.
inline bool is_open_here(const struct stat& file) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    struct stat status {};
    if (::stat(entry.path().c_str(), &status) == 0 && status.st_dev == file.st_dev &&
        status.st_ino == file.st_ino)
      return true;
  }
  return false;
}

/// Returns equal identities for two files exactly if they lead to one file. Returns nothing for a
/// device, except one that this process has open, for a path without a folder, and for a
/// closed descriptor.
inline std::optional<NamedIdentity> identity(const NamedFile& file) {
  struct stat status {};
  const bool is_standard = file.path == "-";
  if ((is_standard ? ::fstat(file.is_written ? STDOUT_FILENO : STDIN_FILENO, &status)
                   : ::stat(file.path.c_str(), &status)) == 0) {
    const bool is_null = S_ISCHR(status.st_mode) && status.st_rdev == ::makedev(1, 3);
    const bool is_device = S_ISBLK(status.st_mode) || S_ISCHR(status.st_mode);
    const bool is_open = is_open_here(status);
    if (is_null || (is_device && !is_open)) return std::nullopt;
    return NamedIdentity{{status.st_dev, status.st_ino, {}}, !S_ISREG(status.st_mode), is_open};
  }
  if (is_standard) return std::nullopt;
  std::filesystem::path path = file.path;  // of no file yet, but perhaps a link to its name
  std::error_code failed;
  for (int links = 0; links < 40 && std::filesystem::is_symlink(path, failed); ++links)
    path = path.parent_path() / std::filesystem::read_symlink(path, failed);
  const auto folder = path.has_parent_path() ? path.parent_path() : ".";
  const bool is_closed = std::filesystem::canonical(folder, failed).native().starts_with("/proc/");
  if (is_closed || ::stat(folder.c_str(), &status) != 0) return std::nullopt;
  return NamedIdentity{{status.st_dev, status.st_ino, path.filename()}};
}

#endif

[[noreturn]] inline void refuse_two_readers(const NamedFile& file, const NamedFile& other) {
  throw wordloom::InvalidArgument(file.option + " '" + file.path.string() + "' and " +
                                  other.option + " '" + other.path.string() +
                                  "' are one stream, which can be read once: give a file");
}

/// Throws InvalidArgument if a file that is written is also another one of `files`, or if two of
/// them are read from one stream. A stream may be read and written, such as a terminal or a socket.
inline void require_distinct(const std::vector<NamedFile>& files) {
  std::map<FileIdentity, const NamedFile*> seen, streams_read;
  const NamedFile* standard_input = nullptr;
  for (const NamedFile& file : files) {
    if (file.path == "-" && !file.is_written) {
      if (standard_input != nullptr) refuse_two_readers(file, *standard_input);
      standard_input = &file;
    }
    const auto key = file.path.empty() ? std::nullopt : identity(file);
    if (!key) continue;
    if (key->is_stream && !file.is_written) {
      // A named pipe may be written again for each of its readers.
      const auto [entry, is_new] = streams_read.emplace(key->identity, &file);
      const NamedFile& other = *entry->second;
      if (!is_new && key->is_open_here) refuse_two_readers(file, other);
      continue;
    }
    const auto [entry, is_new] = seen.emplace(key->identity, &file);
    const NamedFile& other = *entry->second;
    if (is_new || (!file.is_written && !other.is_written) || file.may_replace == other.option)
      continue;
    throw wordloom::InvalidArgument(file.option + " '" + file.path.string() +
                                    "' is the same file as " + other.option + " '" +
                                    other.path.string() + "': one of them would be lost");
  }
}
