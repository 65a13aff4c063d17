#pragma once

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is POSIX, not C++.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "catch.hpp"

namespace wordloom_test {

/// Returns whether a program is told the place that the message of a wordloom::Error begins with:
/// "FILE: line 3, column 1: ..." or "FILE: byte 7: ...", and otherwise no line or byte.
template <class Error>
bool tells_its_place(const Error& error) {
  const std::string text = error.what(), path = error.path().string();
  const auto number_after = [&](const std::string& unit) -> std::optional<std::uint64_t> {
    const std::string begin = path + unit;
    if (path.empty() || !text.starts_with(begin)) return std::nullopt;
    return std::stoull(text.substr(begin.size()));
  };
  const auto byte = number_after(": byte "), of_section = number_after(": section at byte ");
  return error.line() == number_after(": line ") && error.byte() == (byte ? byte : of_section);
}

/// The message of the `Error` that `action()` throws; fails the test when it throws none or
/// another, or when one of wordloom does not tell a program its place.
template <class Error, class Action>
std::string message_of(Action&& action) {
  try {
    std::forward<Action>(action)();
  } catch (const Error& error) {
    if constexpr (requires { error.kind(); }) CHECK(tells_its_place(error));
    return error.what();
  } catch (const std::exception& other) {
    FAIL("expected another type of exception; got: " << other.what());
  }
  FAIL("expected an exception, none was thrown");
  return {};
}

/// Says that the case cannot run here, for CTest to report it as skipped; the case then returns.
inline void skip(const char* reason) {
  std::printf("skipped: this case cannot run here: %s\n", reason);
  std::fflush(stdout);
}

/// True when `text` contains `part`.
inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// A new empty folder under the system's temporary folder, removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "wordloom-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("cannot make a temporary folder: " + name);
    }
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

  /// How many files and folders lie directly inside.
  std::size_t entry_count() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

/// Makes or replaces the file `path` with exactly these bytes.
inline void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    throw std::runtime_error("test support: cannot write " + path.string());
  }
}

/// All bytes of the file `path`.
inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw std::runtime_error("test support: cannot read " + path.string());
  }
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace wordloom_test

// Tests say `message_of`, `TemporaryFolder` and so on without a prefix, in any namespace.
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using namespace wordloom_test;         // NOLINT(google-build-using-namespace)
