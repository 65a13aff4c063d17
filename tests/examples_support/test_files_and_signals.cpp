#include <csignal>
#include <filesystem>
#include <string>

#include "catch.hpp"
#include "distinct_files.hpp"
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

TEST_CASE("a first signal is noted, a second one has its own way, an ignored one is ignored",
          "[programs]") {
  const auto handler = [](int signal) {
    const auto now = std::signal(signal, SIG_DFL);
    std::signal(signal, now);
    return now;
  };
  std::signal(SIGHUP, SIG_IGN);
  catch_signals();
  CHECK(handler(SIGHUP) == SIG_IGN);
  CHECK_NOTHROW(check_signals());
  std::raise(SIGTERM);
  CHECK_THROWS_AS(check_signals(), Interrupted);
  CHECK(exit_code_of_signal() == 128 + SIGTERM);
  CHECK(handler(SIGTERM) == SIG_DFL);
  CHECK(handler(SIGINT) != SIG_DFL);
  caught_signal = 0;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
}
