// Functions of written files (core/files.hpp) on Windows. An open file cannot be removed there: it
// needs no lock. The new file has the permissions of a new file in its folder.
namespace wordloom { inline namespace WORDLOOM_ABI {

WORDLOOM_FUNCTION AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path) {
  if (path.empty()) throw IoError("cannot write '': the file name is empty");
  std::error_code ignored;
  int file = -1;
  if (path == detail::standard_stream) {
    file = ::_dup(1);
    if (file >= 0) ::_setmode(file, _O_BINARY);
  } else {
    target_ = detail::link_target(path).path;
    const auto status = std::filesystem::status(target_, ignored);
    if (std::filesystem::is_directory(status))
      throw IoError{"cannot write '", path, "': it is a directory"};
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
      file = ::_wopen(target_.c_str(), _O_WRONLY | _O_BINARY | _O_NOINHERIT);
    else if (path.extension() == ".gz")
      throw InvalidArgument{"cannot write '", path,
                            "': nothing is written compressed; leave out .gz and compress the ",
                            "file with gzip"};
    else
      file = create_temporary();
    struct _stat64 created {};  // NUL is a device in any folder, with any extension
    if (file >= 0 && ::_fstat64(file, &created) == 0 && (created.st_mode & _S_IFMT) == _S_IFCHR)
      temporary_.clear();
  }
  is_direct_ = temporary_.empty();
  file_ = file < 0 ? nullptr : ::_fdopen(file, "wb");
  if (file_ == nullptr) {
    const int error = errno;
    if (file >= 0) ::_close(file);
    if (!temporary_.empty()) ::_wunlink(temporary_.c_str());
    throw IoError::from_errno("open for writing", path, error);
  }
  std::setvbuf(file_, buffer_.get(), _IOFBF, buffer_bytes);
}

WORDLOOM_FUNCTION AtomicFile::~AtomicFile() {
  if (file_ != nullptr) std::fclose(file_);
  if (!temporary_.empty()) ::_wunlink(temporary_.c_str());
}

WORDLOOM_FUNCTION void AtomicFile::commit() {
  flush();
  // A pipe or terminal cannot be synced.
  if (::_commit(::_fileno(file_)) != 0 && !is_direct_)
    throw IoError::from_errno("sync", path_, errno);
  if (std::fclose(std::exchange(file_, nullptr)) != 0)
    throw IoError::from_errno("close", path_, errno);
  if (is_direct_) return;
  std::error_code failed;
  std::filesystem::rename(temporary_, target_, failed);
  if (failed) throw IoError{"cannot replace '", path_, "': ", failed.message()};
  temporary_.clear();
}

WORDLOOM_FUNCTION int AtomicFile::create_temporary() {
  const wchar_t* const machine = ::_wgetenv(L"COMPUTERNAME");
  const auto prefix = target_.filename().native().substr(0, 150) + L"." +
                      (machine == nullptr ? L"" : machine) + L"-";
  remove_abandoned(prefix);
  static std::atomic<unsigned> count{0};
  while (true) {
    temporary_ = folder() / (prefix + std::to_wstring(::_getpid()) + L"-" +
                             std::to_wstring(count.fetch_add(1)) + L".tmp");
    const int file =
        ::_wopen(temporary_.c_str(), _O_WRONLY | _O_CREAT | _O_EXCL | _O_BINARY | _O_NOINHERIT,
                 _S_IREAD | _S_IWRITE);
    if (file >= 0) return file;
    const int error = errno;
    if (error == EEXIST) continue;
    temporary_.clear();
    throw IoError::from_errno("create a file beside", path_, error);
  }
}

WORDLOOM_FUNCTION void AtomicFile::remove_abandoned(
    std::basic_string_view<std::filesystem::path::value_type> prefix) const {
  std::error_code failed;
  std::filesystem::directory_iterator entry(folder(), failed), end;
  for (; !failed && entry != end; entry.increment(failed)) {
    const auto name = entry->path().filename().native();
    if (name.starts_with(prefix) && name.ends_with(L".tmp") &&
        name.find_first_not_of(L"0123456789-", prefix.size()) + 4 == name.size())
      ::_wunlink(entry->path().c_str());  // fails for a file that a process has open
  }
}

}}  // namespace wordloom::WORDLOOM_ABI
