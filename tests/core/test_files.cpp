#include <sys/stat.h>

#include <string>
#include <wordloom/core/atomic_file.hpp>
#include <wordloom/core/mapped_file.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

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

TEST_CASE("a replaced file keeps its mode, a symbolic link stays one", "[atomic_file]") {
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

TEST_CASE("a place that cannot be written is refused at once, by name", "[atomic_file]") {
  const TemporaryFolder folder;
  CHECK(contains(message_of<IoError>([&] { AtomicFile(folder / "no" / "a"); }), "no/a"));
  CHECK(contains(message_of<IoError>([&] { AtomicFile file(folder.path()); }), "directory"));
  CHECK_THROWS_AS(AtomicFile(""), IoError);
}

TEST_CASE("a full device is an error, not a short file", "[atomic_file]") {
  if (!std::filesystem::exists("/dev/full")) return;
  AtomicFile file("/dev/full");
  file.write("x");
  CHECK(contains(message_of<IoError>([&] { file.commit(); }), "No space left"));
}

TEST_CASE("a mapped file shows its bytes, an empty one none", "[mapped_file]") {
  const TemporaryFolder folder;
  write_file(folder / "a", std::string("a\0b", 3));
  write_file(folder / "empty", "");
  CHECK(MappedFile(folder / "a").text() == std::string_view("a\0b", 3));
  CHECK(MappedFile(folder / "empty").size() == 0);
}

TEST_CASE("what cannot be mapped is refused by name", "[mapped_file]") {
  const TemporaryFolder folder;
  CHECK(contains(message_of<IoError>([&] { MappedFile(folder / "none"); }),
                 "none': No such file or directory"));
  CHECK(contains(message_of<IoError>([&] { MappedFile file(folder.path()); }), "is a directory"));
  CHECK(contains(message_of<IoError>([] { MappedFile("/dev/null"); }), "not a regular file"));
}
