// Functions of mapped files (core/mapped_file.hpp) on Windows.
namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

WORDLOOM_FUNCTION LinkTarget link_target(std::filesystem::path path) {
  std::error_code failed;
  if (!std::filesystem::is_symlink(path, failed)) return {std::move(path)};
  auto target = std::filesystem::weakly_canonical(path, failed);
  if (failed) throw IoError{"cannot follow '", path, "': ", failed.message()};
  return {std::move(target)};
}

/// Returns the error of the last call of Windows.
inline IoError last_windows_error(std::string_view action, const std::filesystem::path& path) {
  return IoError{
      "cannot ", action,
      " '",      path,
      "': ",     std::system_category().message(static_cast<int>(windows::wordloom_last_error()))};
}

/// Returns a file that is removed when it is closed, with what is left in `input`. Throws IoError;
/// `path` is for its message.
inline int copy_to_file(int input, const std::filesystem::path& path) {
  ::_setmode(input, _O_BINARY);
  std::error_code failed;
  const auto folder = std::filesystem::temp_directory_path(failed);
  if (failed) throw IoError{"there is no folder for temporary files: ", failed.message(), "; set TMP"};
  std::filesystem::path name;
  int copy = -1;
  for (unsigned i = 0; copy < 0; ++i) {
    name = folder / joined({"wordloom-", ::_getpid(), "-", i});
    copy = ::_wopen(name.c_str(),
                    _O_RDWR | _O_CREAT | _O_EXCL | _O_BINARY | _O_NOINHERIT | _O_TEMPORARY,
                    _S_IREAD | _S_IWRITE);
    if (copy < 0 && errno != EEXIST) throw IoError::from_errno("create", name, errno);
  }
  std::array<char, 65536> some;
  while (true) {
    const int got = ::_read(input, some.data(), static_cast<unsigned>(some.size()));
    if (got == 0) return copy;
    const bool is_read = got > 0;
    if (is_read && ::_write(copy, some.data(), static_cast<unsigned>(got)) == got) continue;
    const int error = errno;
    ::_close(copy);
    throw is_read ? IoError::from_errno("write", name, error)
                  : IoError::from_errno("read", path, error);
  }
}

/// Returns standard input, or a copy of its content where it is a pipe or a terminal, which can be
/// read only once: a text is read to count and to train. The caller does not close it.
inline int whole_standard_input(const std::filesystem::path& path) {
  struct _stat64 status {};
  if (::_fstat64(0, &status) != 0) throw IoError::from_errno("open", path, errno);
  if ((status.st_mode & _S_IFMT) == _S_IFREG) return 0;
  static const int copy = copy_to_file(0, path);
  return copy;
}

}  // namespace detail

WORDLOOM_FUNCTION MappedFile::MappedFile(const std::filesystem::path& path, detail::NamedPipe)
    : path_(path) {
  struct Opened {
    int file;
    bool is_own;
    ~Opened() {
      if (is_own && file >= 0) ::_close(file);
    }
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw IoError{"cannot read '", path, "': it is a directory"};
  const bool is_standard = path == detail::standard_stream;
  const Opened opened{is_standard ? detail::whole_standard_input(path)
                                  : ::_wopen(path.c_str(), _O_RDONLY | _O_BINARY | _O_NOINHERIT),
                      !is_standard};
  if (opened.file < 0) throw IoError::from_errno("open", path, errno);
  struct _stat64 status {};
  if (::_fstat64(opened.file, &status) != 0) throw IoError::from_errno("examine", path, errno);
  if ((status.st_mode & _S_IFMT) != _S_IFREG)
    throw IoError{"cannot read '", path, "': it is a device or a pipe"};
  void* const handle = reinterpret_cast<void*>(::_get_osfhandle(opened.file));
  detail::windows::FileTimes times{};
  if (detail::windows::wordloom_file_information(handle, 0, &times, sizeof times) == 0)
    throw detail::last_windows_error("examine", path);
  const auto since_1970 = [](std::int64_t time) { return (time - 116'444'736'000'000'000) * 100; };
  modified_ns_ = since_1970(times.written);
  changed_ns_ = since_1970(times.changed);
  if (status.st_size == 0) return;  // an empty file cannot be mapped
  constexpr unsigned long read_only_pages = 2, read = 4;
  void* const mapping = detail::windows::wordloom_create_file_mapping(
      handle, nullptr, read_only_pages, 0, 0, nullptr);
  if (mapping == nullptr) throw detail::last_windows_error("map", path);
  const void* const view = detail::windows::wordloom_map_view_of_file(mapping, read, 0, 0, 0);
  const IoError error = view == nullptr ? detail::last_windows_error("map", path) : IoError("");
  detail::windows::wordloom_close_handle(mapping);  // the view keeps it
  if (view == nullptr) throw error;
  text_ = {static_cast<const char*>(view), static_cast<std::size_t>(status.st_size)};
}

WORDLOOM_FUNCTION MappedFile::~MappedFile() {
  if (!text_.empty()) detail::windows::wordloom_unmap_view_of_file(text_.data());
}

}}  // namespace wordloom::WORDLOOM_ABI
