#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/core/detail/section_file.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/corpus/vocabulary.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;
using namespace std::literals;

namespace {

/// Returns the message for a file of these bytes, and checks that it names a command or advice.
std::string refusal(const std::string& bytes, const std::string& name = "file") {
  const TemporaryFolder folder;
  write_file(folder / name, bytes);
  const auto message =
      message_of<ForeignFormat>([&] { detail::InputFile(folder / name, detail::Content::text); });
  CHECK(message_of<ForeignFormat>(
            [&] { static_cast<void>(Vocabulary::from_text(folder / name)); }) == message);
  return message;
}

}  // namespace

TEST_CASE("a file of another format is refused with the command that converts it", "[input_file]") {
  CHECK(contains(refusal("\xfd"
                         "7zXZ\0rest"s),
                 "an xz file; to read it: xz -dc /"));
  CHECK(contains(refusal("BZh91AY&SY\x01"), "to read it: bzip2 -dc /"));
  CHECK(contains(refusal("BZh9\x17rE8P\x90"), "bzip2 -dc /"));
  CHECK(contains(refusal("\x28\xb5\x2f\xfd\x04"), "zstd -dc /"));
  CHECK(contains(refusal("PK\x03\x04rest"), "a zip archive; to read it: unzip -p /"));
  CHECK(contains(refusal("PK\x03\x04[Content_Types].xml word/document.xml"), "pandoc -f docx"));
  CHECK(contains(refusal("%PDF-1.7\n"), "pdftotext "));
  CHECK(contains(refusal("\xff\xfet\0h\0"s), "iconv -f UTF-16 -t UTF-8 "));
  CHECK(contains(refusal("t\0h\0e\0 \0c\0a\0t\0"s), "iconv -f UTF-16LE"));
  CHECK(contains(refusal("\0t\0h\0e\0 \0c\0a\0t"s), "iconv -f UTF-16BE"));
  CHECK(contains(refusal("\x7f"
                         "ELF\x02"),
                 "ELF"));
  CHECK(contains(refusal("PAR1\x15\x04 PAR1"), "Parquet"));
  CHECK(contains(refusal("\x89HDF\r\n\x1a\n"), "HDF5"));
  CHECK(contains(refusal("\x93NUMPY\x01"), "NumPy"));
  CHECK(contains(refusal(std::string(300, '\x01')), "a binary file"));
  CHECK(contains(refusal("2 1\na \x01\x02\x80\x3f\nb \0\0\x80\x3f\n"s), "binary format"));
  CHECK(contains(refusal("%PDF-", "it's"), "/it'\\''s' -"));
}

TEST_CASE("a text that only resembles another format is read", "[input_file]") {
  const TemporaryFolder folder;
  for (const std::string& text : std::vector<std::string>{
           "BZh is a word", "PK", "PAR1 is a word", "MZ", "ca\0t on the mat"s, "2 1\n1 2\n",
           std::string("the ca\0t \0\n", 11) + std::string(40, '\0'), "\xe9t\xe9 en latin-1",
           "GIF8", ""}) {
    write_file(folder / "a", text);
    CHECK(detail::InputFile(folder / "a", detail::Content::text).text() == text);
  }
}

TEST_CASE("a program is told the class and place of an error, also of a copy from a thread",
          "[error]") {
  const auto thrown = [](auto&& action) -> std::pair<Error::Kind, detail::FilePlace> {
    try {
      detail::run_threads(2, [&](std::size_t thread) {
        if (thread == 1) static_cast<void>(action());
      });
    } catch (const Error& error) {
      return {error.kind(), {error.path(), error.line(), error.byte()}};
    }
    return {};
  };
  const auto check = [&](auto&& action, Error::Kind kind, const std::filesystem::path& path = {},
                         std::optional<std::uint64_t> line = {},
                         std::optional<std::uint64_t> byte = {}) {
    const auto [got, place] = thrown(action);
    CHECK(got == kind);
    CHECK(place.path == path);
    CHECK(place.line == line);
    CHECK(place.byte == byte);
  };
  const auto check_kind = [&](const auto& error, Error::Kind kind) {
    check([&] { throw error; }, kind);  // a copy
  };
  check_kind(Error("x"), Error::Kind::other);
  check_kind(InvalidArgument("x"), Error::Kind::invalid_argument);
  check_kind(TrainingError("x"), Error::Kind::training);
  check_kind(DeviceError("x"), Error::Kind::device);
  check_kind(UnsupportedProcessor("x"), Error::Kind::processor);
  check_kind(SyncError("x"), Error::Kind::sync);
  check_kind(UnknownWord("x"), Error::Kind::unknown_word);

  const TemporaryFolder folder;
  const auto file = folder / "file";
  check([&] { return Vocabulary::load(file); }, Error::Kind::io, file);
  write_file(file, "the 5\nthe 4\n");
  check([&] { return Vocabulary::load(file); }, Error::Kind::format, file, 2);
  check([&] { return Vocabulary::load(file, {.min_count = 9}); }, Error::Kind::format, file, 2);
  write_file(file, "the 5\n");
  check([&] { return Vocabulary::load(file, {.min_count = 9}); }, Error::Kind::corpus, file);
  const std::vector<std::vector<std::string>> sentences{{"the"}};
  check([&] { return Vocabulary::from_sentences(sentences, {.min_count = 9}); },
        Error::Kind::corpus);
  check([&] { detail::SectionReader(file, "format 1"); }, Error::Kind::format, file, {}, 0);
  write_file(folder / "x.gz", "plain");
  check([&] { detail::InputFile(folder / "x.gz"); }, Error::Kind::format, folder / "x.gz", {}, 0);
  const auto foreign = [&] {
    throw ForeignFormat(file, "an xz file", "xz -dc", true).at_line(1, 1);
  };
  check(foreign, Error::Kind::format, file, 1);
  CHECK(message_of<ForeignFormat>(foreign) ==
        file.string() + ": line 1, column 1: this is an xz file; to read it: xz -dc");
}

TEST_CASE("a byte order mark is not part of a word, even where files are joined", "[input_file]") {
  const TemporaryFolder folder;
  write_file(folder / "a", "\xef\xbb\xbfthe cat\n\xef\xbb\xbfthe dog\n");
  CHECK(detail::InputFile(folder / "a").text().starts_with("the cat\n"));
  const auto words = Vocabulary::from_text(folder / "a", {.min_count = 1});
  CHECK(words.size() == 3);
  CHECK(words.count(*words.find("the")) == 2);
  // The pieces of a text may begin within a line.
  write_file(folder / "a", "the \xef\xbb\xbfthe \xef\xbb\xbf the\xef\xbb\xbf\n");
  const auto inner = Vocabulary::from_text(folder / "a", {.min_count = 1});
  CHECK(inner.size() == 2);
  CHECK(inner.count(*inner.find("the")) == 2);
}

TEST_CASE("a named pipe is waited for and read to its end", "[input_file]") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  std::thread writer([&] {
    std::ofstream pipe(folder / "pipe");
    pipe << "the " << std::flush << "cat";
  });
  CHECK(detail::InputFile(folder / "pipe").text() == "the cat");
  writer.join();
}
