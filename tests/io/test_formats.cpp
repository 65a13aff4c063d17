#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>
#include <wordloom/io/embeddings_file.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

Embeddings make(const std::vector<std::string>& words, std::size_t dimension,
                const std::vector<float>& values) {
  RowMatrix vectors(words.size(), dimension);
  for (std::size_t i = 0; i < words.size(); ++i)
    for (std::size_t c = 0; c < dimension; ++c)
      vectors.row(i)[c] = values[(i * dimension + c) % values.size()];
  return {WordList::from(words), std::move(vectors)};
}

/// Words and numbers that are hard to keep.
Embeddings awkward(std::size_t dimension = 3) {
  return make({"the", "caf\xc3\xa9", "\xff\xfe", "10", "-0.5", std::string(300, 'x'), "a,b"},
              dimension,
              {0.1f, -0.0f, 1.0f / 3.0f, std::numeric_limits<float>::denorm_min(),
               std::numeric_limits<float>::max(), -1e-20f, 16777217.0f, 5.0f});
}

bool same(const Embeddings& a, const Embeddings& b) {
  if (!(a.words() == b.words()) || a.dimension() != b.dimension()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t c = 0; c < a.dimension(); ++c)
      if (std::bit_cast<std::uint32_t>(a.vector(i)[c]) !=
          std::bit_cast<std::uint32_t>(b.vector(i)[c]))
        return false;
  return true;
}

const std::vector<VectorFormat> formats{VectorFormat::word2vec_binary, VectorFormat::word2vec_text,
                                        VectorFormat::glove_text, VectorFormat::npy,
                                        VectorFormat::projector_tsv};

}  // namespace

TEST_CASE("word2vec files equal those of word2vec, byte for byte", "[io]") {
  const TemporaryFolder folder;
  const auto words = make({"a", "bc"}, 2, {1.0f, -2.5f, 0.0f, 0.1f});
  words.save(folder / "bin");
  const Embeddings loaded = Embeddings::load(folder / "bin");
  CHECK(same(loaded, words));
  CHECK(loaded.counts().empty());
  CHECK(Embeddings::load(folder / "bin", {.limit = 1}).size() == 1);
  CHECK(read_file(folder / "bin") == std::string("2 2\na \x00\x00\x80\x3f\x00\x00\x20\xc0\n"
                                                 "bc \x00\x00\x00\x00\xcd\xcc\xcc\x3d\n",
                                                 4 + 2 + 8 + 1 + 3 + 8 + 1));
  words.save(folder / "txt", VectorFormat::word2vec_text);
  CHECK(read_file(folder / "txt") == "2 2\na 1 -2.5 \nbc 0 0.1 \n");
  words.save(folder / "glove", VectorFormat::glove_text);
  CHECK(read_file(folder / "glove") == "a 1 -2.5\nbc 0 0.1\n");
  words.save(folder / "v.tsv", VectorFormat::projector_tsv);
  CHECK(read_file(folder / "v.tsv") == "1\t-2.5\n0\t0.1\n");
  CHECK(read_file(folder / "v.metadata.tsv") == "a\nbc\n");
  words.save(folder / "v.npy", VectorFormat::npy);
  const std::string npy = read_file(folder / "v.npy");
  REQUIRE(npy.size() == 128 + 16);
  CHECK(npy.substr(0, 10) == std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  CHECK(npy.substr(10, 60).starts_with(
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"));
  CHECK(npy[127] == '\n');
  CHECK(read_file(folder / "v.npy.words.txt") == "a\nbc\n");
}

TEST_CASE("every format keeps every bit and is recognised", "[io]") {
  const TemporaryFolder folder;
  for (const std::size_t dimension : {1u, 3u, 16u, 50u})
    for (const VectorFormat format : formats) {
      // Without its ending, the words beside it tell that a line begins with no word.
      const auto path =
          folder /
          (format == VectorFormat::projector_tsv && dimension == 1 ? "vectors.tsv" : "vectors");
      awkward(dimension).save(path, format);
      CHECK(same(VectorFile(path).embeddings(format), awkward(dimension)));
      // "10 0.1": with one dimension GloVe's first line can look like a header, and here does not.
      CHECK(detail::detect_vector_format(path) == format);
      CHECK(same(Embeddings::load(path), awkward(dimension)));
    }
}

TEST_CASE("numbers that are not finite survive", "[io]") {
  const TemporaryFolder folder;
  const float infinity = std::numeric_limits<float>::infinity();
  const auto words = make({"a"}, 2, {infinity, -infinity});
  for (const VectorFormat format : formats) {
    words.save(folder / "v.tsv", format);
    CHECK(same(VectorFile(folder / "v.tsv").embeddings(format), words));
  }
}

TEST_CASE("files of gensim and Windows are read", "[io]") {
  const TemporaryFolder folder;
  const auto words = make({"a", "bc"}, 2, {1.0f, -2.5f, 0.0f, 0.1f});
  write_file(folder / "bin", std::string("2 2\na \x00\x00\x80\x3f\x00\x00\x20\xc0"
                                         "bc \x00\x00\x00\x00\xcd\xcc\xcc\x3d",
                                         4 + 2 + 8 + 3 + 8));
  CHECK(same(Embeddings::load(folder / "bin"), words));
  write_file(folder / "txt", "2 2\r\na 1 -2.5\r\nbc 0 0.1\r\n");
  CHECK(same(Embeddings::load(folder / "txt"), words));
  write_file(folder / "glove", "a 1\t-2.50 \r\nbc 0.0 1e-1\n");
  CHECK(same(Embeddings::load(folder / "glove"), words));
}

TEST_CASE("numbers with a plus sign or too small for a float are read as gensim does", "[io]") {
  const TemporaryFolder folder;
  write_file(folder / "v", "1 4\na +1.0 2. 1e-50 -1e-300\n");
  CHECK(detail::detect_vector_format(folder / "v") == VectorFormat::word2vec_text);
  CHECK(same(Embeddings::load(folder / "v"), make({"a"}, 4, {1.0f, 2.0f, 0.0f, -0.0f})));
}

TEST_CASE("LoadOptions::map leaves the vectors of a .npy file in the file", "[io]") {
  const TemporaryFolder folder;
  std::vector<float> numbers;
  for (int i = 0; i < 96; ++i) numbers.push_back(static_cast<float>(i % 7) - 2.5f);
  const auto words = make({"a", "bc", "d"}, 32, numbers);
  words.save(folder / "v.npy", VectorFormat::npy);
  const auto mapped =
      std::make_unique<Embeddings>(Embeddings::load(folder / "v.npy", {.map = true}));
  const Embeddings copy = *mapped;
  CHECK(same(copy, words));
  CHECK(copy.vectors().is_borrowed());
  CHECK(copy.most_similar("a", 1)[0].score == words.most_similar("a", 1)[0].score);
  CHECK(same(copy.normalized(), words.normalized()));
  CHECK(Embeddings::load(folder / "v.npy", {.limit = 2, .map = true}).size() == 2);
  const auto refusal = [&](const char* name) {
    return message_of<InvalidArgument>(
        [&] { static_cast<void>(Embeddings::load(folder / name, {.map = true})); });
  };
  words.save(folder / "bin");
  CHECK(
      contains(refusal("bin"), "bin' cannot be mapped: its numbers are not one array of float32"));
  make({"a", "b"}, 2, {1, 2, 3, 4}).save(folder / "2.npy", VectorFormat::npy);
  CHECK(contains(refusal("2.npy"), "its dimension, 2, is not a multiple of 16"));
}

TEST_CASE("the error for another kind of .npy file says how to save it", "[io]") {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& descr, const std::string& order) {
    write_file(folder / "v.npy", std::string("\x93NUMPY\x01\x00\x48\x00", 10) + "{'descr': '" +
                                     descr + "', 'fortran_order': " + order +
                                     ", 'shape': (1, 1), }" + std::string(80, ' '));
    return message_of<FormatError>([&] { detail::load_npy(folder / "v.npy"); });
  };
  const std::string help = ": save it by numpy.save(file, array.astype('<f4', order='C'))";
  CHECK(contains(refusal("<f8", "False"),
                 "byte 10: expected little-endian float32, '<f4', got '<f8'" + help));
  CHECK(contains(refusal("<f4", "True"), "expected C order, got fortran_order True" + help));
}

TEST_CASE("text with a malformed number is not read as binary", "[io]") {
  const TemporaryFolder folder;
  for (const auto row : {"a 1 1e99", "a 1 2 3", "a 1", "a 1 2.5.5", "a +-1 2"}) {
    write_file(folder / "v", std::string("1 2\n") + row + "\n");
    const bool is_text = detail::detect_vector_format(folder / "v") == VectorFormat::word2vec_text;
    CHECK(is_text == (row != std::string_view("a 1")));  // that may be two floats cut short
    if (row == std::string_view("a 1 2 3"))
      CHECK(same(Embeddings::load(folder / "v"), make({"a 1"}, 2, {2.0f, 3.0f})));
    else
      CHECK_THROWS_AS(Embeddings::load(folder / "v"), FormatError);
  }
}

TEST_CASE("a file cut short at any byte is refused or causes a warning, and no row is half read",
          "[io]") {
  const TemporaryFolder folder;
  const auto words = make({"alpha", "b", "gamma"}, 3, {1.5f, -2.25f, 3.125f, 4.75f});
  for (const VectorFormat format : formats) {
    const auto path = folder / "v.tsv";
    words.save(path, format);
    const std::string whole = read_file(path);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      write_file(path, whole.substr(0, size));
      INFO("format " << static_cast<int>(format) << ", " << size << " of " << whole.size());
      int warnings = 0;
      try {
        const auto part =
            VectorFile(path).embeddings(format, {.warn = [&](const auto&) { ++warnings; }});
        // GloVe's text that is cut between two rows and a binary file without its last newline, as
        // gensim writes it, are as good as whole.
        const bool looks_whole =
            (format == VectorFormat::glove_text && whole[size - 1] == '\n') ||
            (format == VectorFormat::word2vec_binary && size + 1 == whole.size());
        CHECK(warnings == (looks_whole ? 0 : 1));
        if (!looks_whole)
          CHECK_THROWS_AS(VectorFile(path).embeddings(format, {.strict = true}), FormatError);
        REQUIRE(part.dimension() == 3);
        for (std::size_t i = 0; i < part.size(); ++i) {
          CHECK(part.word(i) == words.word(i));
          // The very last number of a text may be cut.
          const bool is_last = i + 1 == part.size() && whole[size - 1] != '\n';
          for (std::size_t c = 0; c < (is_last ? 2 : 3); ++c)
            CHECK(part.vector(i)[c] == words.vector(i)[c]);
        }
      } catch (const FormatError& error) {
        CHECK((contains(error.what(), "byte") || contains(error.what(), "line") ||
               contains(error.what(), "words, as there are vectors")));
      }
    }
  }
}

TEST_CASE("a changed byte never crashes a loader", "[io]") {
  const TemporaryFolder folder;
  for (const VectorFormat format : formats) {
    const auto path = folder / "v.tsv";
    make({"alpha", "b"}, 3, {1.5f, -2.25f}).save(path, format);
    const std::string whole = read_file(path);
    for (std::size_t byte = 0; byte < whole.size(); ++byte)
      for (const int change : {0x01, 0x80, 0xff}) {
        std::string changed = whole;
        changed[byte] = static_cast<char>(changed[byte] ^ change);
        write_file(path, changed);
        for (const VectorFormat as : formats) {
          try {
            VectorFile(path).embeddings(as);
          } catch (const Error&) {
          }
        }
      }
  }
  SUCCEED("no crash");
}

TEST_CASE("a header that promises more than the file holds is refused before allocating", "[io]") {
  const TemporaryFolder folder;
  const auto refusal = [&](std::string_view text, VectorFormat format) {
    write_file(folder / "v", text);
    return message_of<FormatError>([&] { VectorFile(folder / "v").embeddings(format); });
  };
  for (const VectorFormat format : {VectorFormat::word2vec_binary, VectorFormat::word2vec_text}) {
    const std::string begin = format == VectorFormat::word2vec_text ? "line 1, column 1" : "byte 0";
    CHECK(contains(refusal("1000000000000 300\na 1", format),
                   begin + ": expected a header that fits the file, got 1000000000000 words"));
    CHECK(contains(refusal("1 18446744073709551615\na 1", format), "fits the file"));
    CHECK(contains(refusal("4611686018427387904 4\na 1", format), "fits the file"));
    CHECK(contains(refusal("4611686018427387904 1\na", format), "expected"));
    CHECK(contains(refusal("0 5\n", format), "at least one word"));
    CHECK(contains(refusal("5 0\n", format), "at least one word"));
    CHECK(contains(refusal("", format), begin + ": expected a header 'words dimension'"));
    CHECK(contains(refusal("-1 5\n", format), "got '-1 5'"));
    CHECK(contains(refusal("99999999999999999999 5\n", format), "header"));
  }
  // So many rows are not there: room is made for those that may be.
  write_file(folder / "v", "1000000000000 1\na 1\n");
  CHECK(VectorFile(folder / "v").embeddings(VectorFormat::word2vec_text).size() == 1);
  std::string npy(
      "\x93NUMPY\x01\x00\x40\x00{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, "
      "99), }",
      75);
  npy.resize(10 + 0x40, ' ');
  CHECK(contains(refusal(npy, VectorFormat::npy), "expected"));
}

TEST_CASE("errors give line and column, or the byte", "[io]") {
  const TemporaryFolder folder;
  const auto refusal = [&](std::string_view text) {
    write_file(folder / "v", text);
    return message_of<FormatError>(
        [&] { VectorFile(folder / "v").embeddings(VectorFormat::word2vec_text); });
  };
  CHECK(contains(refusal("2 2\na 1 x\nb 1 2\n"),
                 "v: line 2, column 5: expected number 2 of 2 after 'a', got 'x'"));
  CHECK(contains(refusal("2 2\na 1.25 2\nb 1.25\n"),
                 "line 3, column 7: expected number 2 of 2 after 'b', got the end of the line"));
  CHECK(contains(refusal("2 3\nNew York 1 2\n"),
                 "line 2, column 5: expected number 1 of 3 after 'New', got 'York'"));
  CHECK(contains(refusal("2 2\na 1.5 2.5 3.5\nb 1.5 2.5 3.5\n"),
                 "line 1, column 1: expected a header with the dimension of the rows"));
  CHECK(contains(refusal("2 2\na 1 2\n\nb 1 2\n"),
                 "line 3, column 1: expected a word and its numbers, got an empty line"));
  CHECK(contains(refusal("2 2\na 1 2\n1 2\n"), "line 3, column 4: expected number 2 of 2"));
  CHECK(contains(refusal("1 1\na 1e99\n"),
                 "line 2, column 3: expected a number that a float can hold"));
  write_file(folder / "v", "a 1 2\nb 1\nc 1 2\n");
  CHECK(contains(message_of<FormatError>(
                     [&] { VectorFile(folder / "v").embeddings(VectorFormat::glove_text); }),
                 "v: line 2, column 4: expected number 2 of 2 after 'b', got the end of the line"));
  write_file(folder / "v", std::string("1 2\na \x00\x00\x80\x3f\x00\x00", 12));
  CHECK(contains(message_of<FormatError>(
                     [&] { VectorFile(folder / "v").embeddings(VectorFormat::word2vec_binary); }),
                 "v: byte"));
  CHECK_THROWS_AS(Embeddings::load(folder / "missing"), IoError);
  CHECK_THROWS_AS(Embeddings::load(folder.path()), IoError);
}

TEST_CASE("a word that a format cannot hold is refused and nothing is written", "[io]") {
  const TemporaryFolder folder;
  for (const VectorFormat format : formats)
    CHECK_THROWS_AS(make({"fine", "two\nlines words"}, 2, {1.0f}).save(folder / "v.tsv", format),
                    InvalidArgument);
  CHECK(folder.entry_count() == 0);
}

TEST_CASE("a save that fails leaves the old file", "[io]") {
  const TemporaryFolder folder;
  make({"old"}, 1, {1.0f}).save(folder / "v");
  const std::string before = read_file(folder / "v");
  CHECK_THROWS_AS(make({"new", "two words"}, 1, {1.0f}).save(folder / "v"), InvalidArgument);
  CHECK(read_file(folder / "v") == before);
  CHECK(folder.entry_count() == 1);
}

TEST_CASE("a file of words that is cut within the last word causes a warning", "[io]") {
  const TemporaryFolder folder;
  for (const VectorFormat format : {VectorFormat::npy, VectorFormat::projector_tsv}) {
    const auto path = folder / "v.tsv";
    make({"alpha", "gamma"}, 2, {1.5f}).save(path, format);
    write_file(VectorFile::words_path(path, format), "alpha\ngam");
    std::string warning;
    VectorFile(path).embeddings(format,
                                {.warn = [&](const std::string& text) { warning += text; }});
    CHECK(contains(warning, "the last line does not end: its word may be cut"));
    CHECK_THROWS_AS(VectorFile(path).embeddings(format, {.strict = true}), FormatError);
  }
}

TEST_CASE("words are written beside the given name, or nothing is written", "[io]") {
  const TemporaryFolder folder;
  const auto words = make({"a", "b"}, 2, {1.0f});
  std::filesystem::create_directory(folder / "other");
  std::filesystem::create_symlink("other/v", folder / "link");
  for (const VectorFormat format : {VectorFormat::npy, VectorFormat::projector_tsv}) {
    words.save(folder / "link", format);
    CHECK(same(VectorFile(folder / "link").embeddings(format), words));
    CHECK(contains(message_of<InvalidArgument>([&] { words.save("/dev/null", format); }),
                   "one file"));
    std::filesystem::remove(VectorFile::words_path(folder / "link", format));
    std::filesystem::create_directory(VectorFile::words_path(folder / "link", format));
    CHECK_THROWS_AS(VectorFile::check_place(AtomicFile(folder / "link"), format), IoError);
    CHECK_THROWS_AS(words.save(folder / "link", format), IoError);
  }
  for (const VectorFormat format : formats)
    CHECK(VectorFile::words_path("v", format).empty() ==
          (format != VectorFormat::npy && format != VectorFormat::projector_tsv));
  CHECK_FALSE(std::filesystem::exists("/dev/null.words.txt"));
}

TEST_CASE("formats are found by their names", "[io]") {
  CHECK(VectorFile::format_named("npy") == VectorFormat::npy);
  CHECK(VectorFile::format_named("vec") == VectorFormat::word2vec_text);
  CHECK(contains(message_of<InvalidArgument>([] { VectorFile::format_named("csv"); }),
                 VectorFile::format_names()));
}
