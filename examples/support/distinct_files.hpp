#pragma once
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>
#include <wordloom/core/error.hpp>
#include <wordloom/core/files.hpp>

/// A file that an option of a command line names.
struct NamedFile {
  std::string option;
  std::filesystem::path path;  // empty: the option was not given
  bool is_written = false;
  std::string may_replace = {};  // an option whose file it may be
};

/// Device, inode and name; the name only for a file that does not exist yet: device and inode are
/// then those of its folder.
using FileIdentity = std::tuple<dev_t, ino_t, std::string>;

/// The identity of a file, and whether it is a stream: a pipe, a socket or a terminal.
struct NamedIdentity {
  FileIdentity identity;
  bool is_stream = false;
  bool is_open_here = false;  // under a descriptor of this process, such as standard input
};

/// Returns equal identities for two files exactly if they lead to one file. Returns nothing for a
/// device, except one that this process has open, for a path without a folder, and for a closed
/// descriptor.
inline std::optional<NamedIdentity> identity(const NamedFile& file) {
  using wordloom::detail::link_target, wordloom::detail::standard_stream;
  const auto target =
      file.path == standard_stream
          ? wordloom::detail::LinkTarget{file.path, true,
                                         file.is_written ? STDOUT_FILENO : STDIN_FILENO}
          : link_target(file.path);
  struct stat status {};
  const bool exists = target.descriptor < 0 ? ::stat(target.path.c_str(), &status) == 0
                                            : ::fstat(target.descriptor, &status) == 0;
  if (exists) {
    const bool is_null = S_ISCHR(status.st_mode) && status.st_rdev == ::makedev(1, 3);
    const bool is_device = S_ISBLK(status.st_mode) || S_ISCHR(status.st_mode);
    if (is_null || (is_device && target.descriptor < 0)) return std::nullopt;
    return NamedIdentity{
        {status.st_dev, status.st_ino, {}}, !S_ISREG(status.st_mode), target.descriptor >= 0};
  }
  if (target.is_open_file) return std::nullopt;
  const auto folder = target.path.has_parent_path() ? target.path.parent_path() : ".";
  if (::stat(folder.c_str(), &status) != 0) return std::nullopt;
  return NamedIdentity{{status.st_dev, status.st_ino, target.path.filename()}};
}

/// Throws InvalidArgument if a file that is written is also another one of `files`, or if two of
/// them are read from one stream. A stream may be read and written, such as a terminal or a socket.
inline void require_distinct(const std::vector<NamedFile>& files) {
  std::map<FileIdentity, const NamedFile*> seen, streams_read;
  for (const NamedFile& file : files) {
    const auto key = file.path.empty() ? std::nullopt : identity(file);
    if (!key) continue;
    if (key->is_stream && !file.is_written) {
      // A named pipe may be written again for each of its readers.
      const auto [entry, is_new] = streams_read.emplace(key->identity, &file);
      const NamedFile& other = *entry->second;
      if (!is_new && key->is_open_here)
        throw wordloom::InvalidArgument(file.option + " '" + file.path.string() + "' and " +
                                        other.option + " '" + other.path.string() +
                                        "' are one stream, which can be read once: give a file");
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
