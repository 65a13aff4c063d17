#pragma once
#include <sys/stat.h>

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

  /// Where a standard stream is a regular file, that is the file.
  std::filesystem::path place() const {
    if (path != wordloom::detail::standard_stream) return path;
    return is_written ? "/dev/stdout" : "/dev/stdin";
  }
};

/// Device, inode and name, the last only for a file that does not exist yet: then the others are
/// those of its folder.
using FileIdentity = std::tuple<dev_t, ino_t, std::string>;

/// Returns the same for two paths exactly if they lead to one file. Returns nothing for what is
/// no regular file, such as a terminal or /dev/null, or has no folder.
inline std::optional<FileIdentity> identity(const std::filesystem::path& path) {
  const auto target = wordloom::detail::link_target(path).path;
  struct stat status {};
  if (::stat(target.c_str(), &status) == 0)
    return S_ISREG(status.st_mode) ? std::optional(FileIdentity{status.st_dev, status.st_ino, {}})
                                   : std::nullopt;
  const auto folder = target.has_parent_path() ? target.parent_path() : ".";
  if (::stat(folder.c_str(), &status) != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino, target.filename()};
}

/// Throws InvalidArgument if a file that is written is another one of `files` as well.
inline void require_distinct(const std::vector<NamedFile>& files) {
  std::map<FileIdentity, const NamedFile*> seen;
  for (const NamedFile& file : files) {
    const auto key = file.path.empty() ? std::nullopt : identity(file.place());
    if (!key) continue;
    const auto [entry, is_new] = seen.emplace(*key, &file);
    const NamedFile& other = *entry->second;
    if (is_new || (!file.is_written && !other.is_written) || file.may_replace == other.option)
      continue;
    throw wordloom::InvalidArgument(file.option + " '" + file.path.string() +
                                    "' is the same file as " + other.option + " '" +
                                    other.path.string() + "': one of them would be lost");
  }
}
