#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <wordloom/core/files.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

/// A child process that has begun to write `path` and waits.
class Writer {
 public:
  explicit Writer(const std::filesystem::path& path) {
    std::array<int, 2> ready{}, go_on{};
    if (::pipe(ready.data()) != 0 || ::pipe(go_on.data()) != 0) throw std::runtime_error("pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(go_on[1]);
      AtomicFile file(path);
      file.write("of the child");
      char any = 0;
      const bool told = ::write(ready[1], "", 1) == 1 && ::read(go_on[0], &any, 1) == 1;
      if (told) file.commit();
      ::_exit(told ? 0 : 1);
    }
    ::close(ready[1]);
    ::close(go_on[0]);
    char any = 0;
    if (::read(ready[0], &any, 1) != 1) throw std::runtime_error("the child has failed");
    ::close(ready[0]);
    go_on_ = go_on[1];
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() {
    if (pid_ > 0) kill();
    ::close(go_on_);
  }

  void kill() {
    ::kill(pid_, SIGKILL);
    wait();
  }
  /// Lets it commit; returns its exit status.
  int finish() {
    if (::write(go_on_, "", 1) != 1) return -1;
    return wait();
  }

 private:
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return status;
  }

  pid_t pid_ = 0;
  int go_on_ = -1;
};

/// A descriptor of this process that is closed or leads elsewhere for a while.
class OtherDescriptor {
 public:
  explicit OtherDescriptor(int number) : number_(number), before_(::dup(number)) {
    ::close(number);
  }
  OtherDescriptor(const OtherDescriptor&) = delete;
  OtherDescriptor& operator=(const OtherDescriptor&) = delete;
  ~OtherDescriptor() {
    ::dup2(before_, number_);
    ::close(before_);
  }

 private:
  int number_, before_;
};

void write_whole(const std::filesystem::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace

TEST_CASE("a committed file holds what was written and leaves nothing beside it", "[atomic_file]") {
  const TemporaryFolder folder;
  const std::string large(3'000'000, 'x');
  {
    AtomicFile file(folder / "a");
    file.write("begin ");
    file.write(large);
    CHECK_FALSE(std::filesystem::exists(folder / "a"));
    file.commit();
  }
  CHECK(read_file(folder / "a") == "begin " + large);
  CHECK(folder.entry_count() == 1);
}

TEST_CASE("a file that is not committed leaves the old one and nothing else", "[atomic_file]") {
  const TemporaryFolder folder;
  write_file(folder / "a", "old");
  {
    AtomicFile file(folder / "a");
    file.write(std::string(3'000'000, 'x'));
  }
  CHECK(read_file(folder / "a") == "old");
  CHECK(folder.entry_count() == 1);
}

TEST_CASE("a replaced file keeps its mode, a symbolic link stays a link", "[atomic_file]") {
  const TemporaryFolder folder;
  write_file(folder / "target", "old");
  ::chmod((folder / "target").c_str(), 0640);
  std::filesystem::create_symlink(folder / "target", folder / "link");
  AtomicFile file(folder / "link");
  file.write("new");
  file.commit();
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(read_file(folder / "target") == "new");
  struct stat status {};
  REQUIRE(::stat((folder / "target").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
}

TEST_CASE("a dangling link is followed, a loop of links is refused", "[atomic_file]") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "other");
  std::filesystem::create_symlink("other/target", folder / "link");
  write_whole(folder / "link", "new");
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(read_file(folder / "other" / "target") == "new");
  std::filesystem::create_symlink("loop", folder / "loop");
  CHECK_THROWS_AS(AtomicFile(folder / "loop"), IoError);
}

TEST_CASE("a replaced file keeps its owner where that is allowed", "[atomic_file]") {
  if (::geteuid() != 0) return skip("only root gives files away");
  const TemporaryFolder folder;
  write_file(folder / "a", "old");
  REQUIRE(::chown((folder / "a").c_str(), 12, 34) == 0);
  write_whole(folder / "a", "new");
  struct stat status {};
  REQUIRE(::stat((folder / "a").c_str(), &status) == 0);
  CHECK(status.st_uid == 12);
  CHECK(status.st_gid == 34);
}

TEST_CASE("a file name may be as long as the system allows, a longer one is refused",
          "[atomic_file]") {
  const TemporaryFolder folder;
  const std::string name(255, 'x');
  write_whole(folder / name, "new");
  CHECK(read_file(folder / name) == "new");
  CHECK(folder.entry_count() == 1);
  CHECK(contains(message_of<IoError>([&] { AtomicFile(folder / (name + "x")); }), "too long"));
}

TEST_CASE("output to a closed standard stream does not go into a file", "[atomic_file]") {
  const TemporaryFolder folder;
  for (const int descriptor : {0, 1, 2}) {
    bool printed = false;
    {
      const OtherDescriptor closed(descriptor);
      AtomicFile file(folder / "a");
      printed = ::write(descriptor, "progress", 8) == 8;
      file.write("whole");
      file.commit();
    }
    CHECK_FALSE(printed);
    CHECK(read_file(folder / "a") == "whole");
  }
}

TEST_CASE("writing to a descriptor begins at its position and does not replace its file",
          "[atomic_file]") {
  if (!std::filesystem::exists("/proc/self/fd/1")) return skip("there is no /proc/self/fd");
  const TemporaryFolder folder;
  write_file(folder / "a", "keep ");
  for (const int flags : {O_APPEND, 0}) {
    const int file = ::open((folder / "a").c_str(), O_WRONLY | flags);
    REQUIRE(file >= 0);
    if (flags == 0) ::lseek(file, 5, SEEK_SET);
    const auto path = "/dev/fd/" + std::to_string(file);
    {
      AtomicFile direct(path);
      CHECK(direct.is_direct());
      direct.write("vectors");
      direct.commit();
    }
    CHECK(::write(file, " and JSON", 9) == 9);
    ::close(file);
    CHECK(read_file(folder / "a") == "keep vectors and JSON");
    write_file(folder / "a", "keep ");
  }
  CHECK(folder.entry_count() == 1);
}

TEST_CASE("the name - means standard output, never a file", "[atomic_file]") {
  const TemporaryFolder folder;
  write_file(folder / "a", "keep ");
  const int file = ::open((folder / "a").c_str(), O_WRONLY | O_APPEND);
  REQUIRE(file >= 0);
  {
    const OtherDescriptor closed(STDOUT_FILENO);
    CHECK_THROWS_AS(AtomicFile("-"), IoError);
    REQUIRE(::dup2(file, STDOUT_FILENO) == STDOUT_FILENO);
    AtomicFile direct("-");
    CHECK(direct.is_direct());
    direct.write("vectors");
    direct.commit();
  }
  ::close(file);
  CHECK(read_file(folder / "a") == "keep vectors");
  CHECK(folder.entry_count() == 1);
}

TEST_CASE("a file that another process has open is written to, not replaced", "[atomic_file]") {
  const TemporaryFolder folder;
  write_file(folder / "a", "");
  const int file = ::open((folder / "a").c_str(), O_WRONLY);
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  {
    AtomicFile direct("/proc/" + std::to_string(child) + "/fd/" + std::to_string(file));
    CHECK(direct.is_direct());
    direct.write("vectors");
    direct.commit();
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(file);
  CHECK(read_file(folder / "a") == "vectors");
  CHECK(folder.entry_count() == 1);
}

TEST_CASE("temporary files of killed processes are removed, those of live ones stay",
          "[atomic_file]") {
  const TemporaryFolder folder;
  write_file(folder / "a.of-mine.tmp", "");
  Writer killed(folder / "a"), live(folder / "a"), other(folder / "b");
  CHECK(folder.entry_count() == 4);
  killed.kill();
  other.kill();
  CHECK(folder.entry_count() == 4);
  write_whole(folder / "a", "of the parent");
  CHECK(folder.entry_count() == 4);  // a, a.of-mine.tmp, and temporary files of `live` and `other`
  CHECK(live.finish() == 0);
  CHECK(read_file(folder / "a") == "of the child");
  write_whole(folder / "b", "");
  CHECK(folder.entry_count() == 3);
}

TEST_CASE("a path that cannot be written is refused at once, by name", "[atomic_file]") {
  const TemporaryFolder folder;
  CHECK(contains(message_of<IoError>([&] { AtomicFile(folder / "no" / "a"); }), "no/a"));
  CHECK(contains(message_of<IoError>([&] { AtomicFile file(folder.path()); }), "directory"));
  CHECK_THROWS_AS(AtomicFile(""), IoError);
}

TEST_CASE("a full device is an error, not a short file", "[atomic_file]") {
  if (!std::filesystem::exists("/dev/full")) return skip("there is no /dev/full");
  AtomicFile file("/dev/full");
  file.write("x");
  CHECK(contains(message_of<IoError>([&] { file.commit(); }), "No space left"));
}

TEST_CASE("a mapped file has the bytes of the file, an empty file none", "[mapped_file]") {
  const TemporaryFolder folder;
  write_file(folder / "a", std::string("a\0b", 3));
  write_file(folder / "empty", "");
  CHECK(MappedFile(folder / "a").text() == std::string_view("a\0b", 3));
  CHECK(MappedFile(folder / "empty").size() == 0);
}

TEST_CASE("a path that cannot be mapped is refused by name", "[mapped_file]") {
  const TemporaryFolder folder;
  CHECK(contains(message_of<IoError>([&] { MappedFile(folder / "none"); }),
                 "none': No such file or directory"));
  CHECK(contains(message_of<IoError>([&] { MappedFile file(folder.path()); }), "is a directory"));
  CHECK(contains(message_of<IoError>([] { MappedFile("/dev/null"); }), "it is a device"));
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(contains(message_of<IoError>([&] { MappedFile(folder / "pipe"); }), "it is a named pipe"));
}

TEST_CASE("the pipe of a descriptor may be read twice", "[mapped_file]") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  REQUIRE(::write(ends[1], "a b", 3) == 3);
  ::close(ends[1]);
  const auto path = "/dev/fd/" + std::to_string(ends[0]);
  for (int i = 0; i < 2; ++i) CHECK(MappedFile(path).text() == "a b");
  ::close(ends[0]);
}
