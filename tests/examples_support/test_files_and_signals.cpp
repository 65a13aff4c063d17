#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "catch.hpp"
#include "distinct_files.hpp"
#include "error_message.hpp"
#include "interrupts.hpp"
#include "support.hpp"

using namespace wordloom;

TEST_CASE("a file that is written is refused under each of its names", "[programs]") {
  const TemporaryFolder folder;
  write_file(folder / "text", "a b");
  std::filesystem::create_directory(folder / "sub");
  std::filesystem::create_symlink("text", folder / "link");
  std::filesystem::create_symlink("new", folder / "dangling");
  std::filesystem::create_hard_link(folder / "text", folder / "hard");
  const auto refused = [](const std::filesystem::path& read, const std::filesystem::path& written) {
    try {
      require_distinct({{"--train", read}, {"--output", written, true}});
      return false;
    } catch (const InvalidArgument& error) {
      CHECK(contains(error.what(), "--output '" + written.string() + "' is the same file as"));
      CHECK(contains(error.what(), "--train '" + read.string() + "'"));
      return true;
    }
  };
  for (const auto& name : {"text", "link", "hard", "sub/../text", "./text"})
    CHECK(refused(folder / "text", folder / name));
  for (const auto& name : {"new", "dangling", "sub/../new"})
    CHECK(refused(folder / "new", folder / name));  // not there yet
  CHECK_FALSE(refused(folder / "text", folder / "new"));
  CHECK_FALSE(refused(folder / "new", folder / "sub" / "new"));
  CHECK_FALSE(refused("", ""));
  CHECK_FALSE(refused("/dev/null", "/dev/null"));
  CHECK_FALSE(refused(folder / "no" / "a", folder / "no" / "a"));
}

TEST_CASE("files that are only read may be the same, and a model may replace itself",
          "[programs]") {
  const TemporaryFolder folder;
  write_file(folder / "a", "");
  const auto a = folder / "a";
  CHECK_NOTHROW(require_distinct({{"--train", a}, {"--read-vocab", a}}));
  CHECK_NOTHROW(require_distinct({{"--load-model", a}, {"--save-model", a, true, "--load-model"}}));
  CHECK_THROWS_AS(require_distinct({{"--save-model", a, true}, {"--cache", a, true}}),
                  InvalidArgument);
}

TEST_CASE("two files are not written into one stream", "[programs]") {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const auto written = [](int number) { return "/dev/fd/" + std::to_string(number); };
  const auto is_refused = [](const NamedFile& a, const NamedFile& b) {
    try {
      require_distinct({a, b});
      return false;
    } catch (const InvalidArgument&) {
      return true;
    }
  };
  const auto output = [](const std::string& path) { return NamedFile{"--output", path, true}; };
  const auto vocabulary = [](const std::string& path) {
    return NamedFile{"--save-vocab", path, true};
  };
  CHECK(is_refused(output(pipe), vocabulary(pipe)));
  CHECK(is_refused(output(written(ends[1])), vocabulary(written(ends[1]))));
  CHECK_FALSE(is_refused(output(written(ends[1])), vocabulary(pipe)));
  CHECK_FALSE(is_refused({"--train", written(ends[0])}, output(written(ends[1]))));
  CHECK_FALSE(is_refused({"--train", pipe}, {"--read-vocab", pipe}));
  CHECK(is_refused({"--train", written(ends[0])}, {"--read-vocab", written(ends[0])}));
  CHECK_FALSE(is_refused(output("/dev/null"), vocabulary("/dev/null")));
  // A regular file that is open under a descriptor.
  write_file(folder / "text", "a b");
  const int file = ::open((folder / "text").c_str(), O_RDONLY);
  REQUIRE(file >= 0);
  CHECK(is_refused({"--train", written(file)}, output(folder / "text")));
  ::close(file);
  CHECK_FALSE(is_refused({"--train", written(file)}, output(written(file))));  // closed
  for (const int end : ends) ::close(end);
}

TEST_CASE("the error for a compressed file says how to read it", "[programs]") {
  const ForeignFormat error("t.xz", "an xz file", "xz -dc t.xz", true);
  const auto hint = [&](std::vector<const char*> arguments) {
    const std::string message =
        ::message_of(error, "program", static_cast<int>(arguments.size()), arguments.data());
    const std::string begin = "t.xz: this is an xz file; to read it: xz -dc t.xz | ";
    REQUIRE(message.starts_with(begin));
    return message.substr(begin.size());
  };
  CHECK(hint({"x", "--train", "t.xz"}) == "program --train -");
  CHECK(hint({"x", "-train", "t.xz", "--output", "v"}) == "program -train -");
  CHECK(hint({"x", "--output", "v", "--train=t.xz"}) == "program --train=-");
  CHECK(hint({"x", "-i:t.xz"}) == "program -i:-");
  CHECK(hint({"x", "t.xz"}) == "program -");
  CHECK(hint({"x", "--similarity", "pairs", "t.xz"}) == "program -");
  CHECK(hint({"x", "--train", "at.xz"}) == "program");
  const ForeignFormat other("t.h5", "an HDF5 file", "export it", false);
  const char* const arguments[]{"x", "t.h5"};
  CHECK(::message_of(other, "program", 2, arguments) == "t.h5: this is an HDF5 file; export it");
}

TEST_CASE("signals are caught however often they come, except a second SIGINT", "[programs]") {
  const auto handler = [](int signal) {
    const auto now = std::signal(signal, SIG_DFL);
    std::signal(signal, now);
    return now;
  };
  std::signal(SIGHUP, SIG_IGN);
  catch_signals();
  CHECK(handler(SIGHUP) == SIG_IGN);
  CHECK(handler(SIGXFSZ) == SIG_IGN);
  CHECK_NOTHROW(check_signals());
  const auto caught = {SIGUSR1, SIGUSR2, SIGXCPU, SIGTERM};
  for (const int signal : caught) {
    caught_signal = 0;
    for (int times = 0; times < 2; ++times) std::raise(signal);
    CHECK_THROWS_AS(check_signals(), Interrupted);
    CHECK(exit_code_of_signal() == 128 + signal);
    CHECK(handler(signal) != SIG_DFL);
  }
  CHECK(handler(SIGINT) != SIG_DFL);
  std::raise(SIGINT);
  CHECK(exit_code_of_signal() == 128 + SIGTERM);  // the first
  CHECK(handler(SIGINT) == SIG_DFL);
  caught_signal = 0;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ})
    std::signal(signal, SIG_DFL);
}
