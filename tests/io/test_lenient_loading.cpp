#include <sys/stat.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>
#include <wordloom/io/embeddings_file.hpp>

#if WORDLOOM_HAS_ZLIB
#include <zlib.h>
#endif

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

/// The words that were read and the warnings.
struct Loaded {
  std::vector<std::string> words, warnings;
};

Loaded load(const std::filesystem::path& path, std::size_t limit = 0) {
  Loaded result;
  const auto vectors = Embeddings::load(
      path,
      {.limit = limit, .warn = [&](const std::string& text) { result.warnings.push_back(text); }});
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    result.words.emplace_back(vectors.word(i));
    CHECK(vectors.vector(i)[0] == 0.5f);
  }
  return result;
}

const std::string floats("\0\0\0\x3f\0\0\x80\x3f", 8);

}  // namespace

TEST_CASE("a wrong header and bad line ends cause one warning if all rows are complete", "[io]") {
  const TemporaryFolder folder;
  const auto path = folder / "v";
  const std::string rows = "a 0.5 1\nb 0.5 2\n", binary = "a " + floats + "\nb " + floats + "\n";
  struct Case {
    std::string text, warning;
  };
  for (const Case& one : {
           Case{"3 2\n" + rows, "the header says 3 words, the file has 2"},
           {"1 2\n" + rows, "the header says 1 words, the file has 2"},
           {"1000 2\n" + rows, "the header says 1000 words, the file has 2"},
           {"2 2\n" + rows + "\n", "blank lines at the end"},
           {"2 2\n" + rows + " \r\n\n", "blank lines at the end"},
           {rows + "\n", "blank lines at the end"},
           {"2 2\na 0.5 1\nb 0.5 2", "the last line does not end: its last number may be cut"},
           {"a 0.5 1\nb 0.5 2", "the last line does not end: its last number may be cut"},
           {"3 2\na 0.5 1\nb 0.5 2",
            "the last line does not end: its last number may be cut; the "
            "header says 3 words, the file has 2"},
           {"3 2\n" + binary, "the header says 3 words, the file has 2"},
           {"1 2\n" + binary, "the header says 1 words, the file has 2"},
           {"2 2\n" + binary + "\n", "blank lines at the end"},
       }) {
    write_file(path, one.text);
    INFO(one.text);
    const auto loaded = load(path);
    CHECK(loaded.words == std::vector<std::string>{"a", "b"});
    CHECK(loaded.warnings == std::vector<std::string>{path.string() + ": " + one.warning});
    CHECK(Embeddings::load(path).size() == 2);
    CHECK(contains(message_of<FormatError>(
                       [&] { static_cast<void>(Embeddings::load(path, {.strict = true})); }),
                   one.warning.substr(0, one.warning.find(';'))));
  }
  for (const std::string& text : {"2 2\n" + rows, rows, "2 2\n" + binary}) {
    write_file(path, text);
    CHECK(load(path).warnings.empty());
    CHECK(Embeddings::load(path, {.strict = true}).size() == 2);
  }
}

TEST_CASE("a word that occurs again causes a warning, and its name means its first row", "[io]") {
  const TemporaryFolder folder;
  RowMatrix rows(4, 2);
  for (std::size_t i = 0; i < 4; ++i) rows.row(i)[0] = static_cast<float>(i) + 0.5f;
  const Embeddings twice(WordList::from(std::vector<std::string>{"a", "b", "a", "b"}),
                         std::move(rows));
  for (const VectorFormat format :
       {VectorFormat::word2vec_binary, VectorFormat::word2vec_text, VectorFormat::glove_text,
        VectorFormat::npy, VectorFormat::projector_tsv}) {
    const auto path = folder / "v.tsv";
    twice.save(path, format);
    std::string warning;
    const auto found =
        VectorFile(path).embeddings(format, {.warn = [&](const auto& text) { warning += text; }});
    CHECK(contains(warning, "2 words occur again, the first is 'a': its name means its first row"));
    REQUIRE(found.size() == 4);
    CHECK(found.vector("b")[0] == 1.5f);
    CHECK_THROWS_AS(VectorFile(path).embeddings(format, {.strict = true}), FormatError);
  }
}

TEST_CASE("a file that is cut within a row is refused", "[io]") {
  const TemporaryFolder folder;
  const auto path = folder / "v";
  for (const std::string& text :
       {std::string("2 2\na 0.5 1\nb 0.5\n"), std::string("2 2\na 0.5 1\nb"),
        std::string("1 2\na 0.5 1\nb 0.5"), std::string("a 0.5 1\nb 0.5"), std::string("a 0.5 1"),
        "2 2\na " + floats + "\nb " + floats.substr(0, 7), "1 2\na " + floats + "\nb"}) {
    INFO(text);
    write_file(path, text);
    CHECK_THROWS_AS(Embeddings::load(path), FormatError);
  }
}

TEST_CASE("a limit reads the first words of each format and no more", "[io]") {
  const TemporaryFolder folder;
  RowMatrix rows(3, 2);
  for (std::size_t i = 0; i < 3; ++i) rows.row(i)[0] = 0.5f;
  const Embeddings three(WordList::from(std::vector<std::string>{"a", "b", "c"}), std::move(rows));
  for (const VectorFormat format :
       {VectorFormat::word2vec_binary, VectorFormat::word2vec_text, VectorFormat::glove_text,
        VectorFormat::npy, VectorFormat::projector_tsv}) {
    const auto path = folder / "v.tsv";
    three.save(path, format);
    for (const std::size_t limit : {1u, 2u, 3u, 4u}) {
      const auto part = VectorFile(path).embeddings(format, {.strict = true, .limit = limit});
      CHECK(part.size() == std::min<std::size_t>(limit, 3));
      CHECK(part.word(part.size() - 1) == three.word(part.size() - 1));
    }
  }
  // What follows is not looked at.
  write_file(folder / "v", "9 2\na 0.5 1\nb 0.5 2\nc x\n");
  CHECK(load(folder / "v", 2).words == std::vector<std::string>{"a", "b"});
  CHECK(load(folder / "v", 2).warnings.empty());
  CHECK_THROWS_AS(Embeddings::load(folder / "v", {.limit = 3}), FormatError);
  Model model(Vocabulary::from_counts(
                  std::vector<std::pair<std::string, std::uint64_t>>{{"a", 3}, {"b", 2}, {"c", 1}}),
              2);
  model.save(folder / "model");
  model.save_fasttext(folder / "fasttext");
  for (const char* file : {"model", "fasttext"}) {
    const auto part = Embeddings::load(folder / file, {.limit = 2});
    CHECK(part.size() == 2);
    CHECK(part.word(1) == "b");
    CHECK(part.vector(1)[0] == model.input.row(1)[0]);
    CHECK(part.counts().size() == 2);
    CHECK(part.count("b") == std::uint64_t{2});
  }
}

TEST_CASE("a byte order mark before vectors is left out", "[io]") {
  const TemporaryFolder folder;
  for (const char* text : {"\xef\xbb\xbf"
                           "2 2\na 0.5 1\nb 0.5 2\n",
                           "\xef\xbb\xbf"
                           "a 0.5 1\nb 0.5 2\n"}) {
    write_file(folder / "v", text);
    CHECK(load(folder / "v").words == std::vector<std::string>{"a", "b"});
  }
}

TEST_CASE("vectors come from a named pipe, which is opened once", "[io]") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  std::thread writer([&] { std::ofstream(folder / "pipe") << "2 2\na 0.5 1\nb 0.5 2\n"; });
  CHECK(load(folder / "pipe").words == std::vector<std::string>{"a", "b"});
  writer.join();
  CHECK(contains(message_of<IoError>([&] { detail::present_words_path("-", VectorFormat::npy); }),
                 "cannot read the words of '-'"));
}

TEST_CASE("nothing is written to a name that ends in .gz", "[io]") {
  const TemporaryFolder folder;
  CHECK(contains(message_of<InvalidArgument>([&] { AtomicFile(folder / "v.vec.gz"); }),
                 "nothing is written compressed"));
  CHECK(folder.entry_count() == 0);
}

#if WORDLOOM_HAS_ZLIB
TEST_CASE("vectors and models are read from .gz files, and the words beside them", "[io]") {
  const TemporaryFolder folder;
  const auto compress = [&](const std::string& name, const std::string& to) {
    const std::string bytes = read_file(folder / name);
    const gzFile file = ::gzopen((folder / to).c_str(), "wb");
    REQUIRE(::gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())) > 0);
    ::gzclose(file);
    std::filesystem::remove(folder / name);
  };
  Model model(Vocabulary::from_counts(
                  std::vector<std::pair<std::string, std::uint64_t>>{{"a", 3}, {"b c", 2}}),
              Model::Shape{.dimension = 3}, 4);
  const Embeddings vectors = model.embeddings();
  const auto check = [&](const std::string& name, VectorFormat format) {
    CHECK(detail::detect_vector_format(folder / name) == format);
    const auto loaded = Embeddings::load(folder / name);
    REQUIRE(loaded.words() == vectors.words());
    CHECK(loaded.vector(1)[2] == vectors.vector(1)[2]);
  };
  for (const VectorFormat format : {VectorFormat::word2vec_text, VectorFormat::glove_text}) {
    vectors.save(folder / "v.vec", format);
    compress("v.vec", "v.vec.gz");
    check("v.vec.gz", format);
  }
  vectors.save(folder / "v.tsv", VectorFormat::projector_tsv);
  compress("v.tsv", "v.tsv.gz");
  check("v.tsv.gz", VectorFormat::projector_tsv);
  compress("v.metadata.tsv", "v.metadata.tsv.gz");
  check("v.tsv.gz", VectorFormat::projector_tsv);
  vectors.save(folder / "v.npy", VectorFormat::npy);
  compress("v.npy", "v.npy.gz");
  check("v.npy.gz", VectorFormat::npy);
  compress("v.npy.words.txt", "v.npy.gz.words.txt.gz");
  check("v.npy.gz", VectorFormat::npy);
  model.save(folder / "model");
  compress("model", "model.gz");
  check("model.gz", VectorFormat::model);
  CHECK(Model::load(folder / "model.gz").vocabulary.fingerprint() ==
        model.vocabulary.fingerprint());
  model.save_fasttext(folder / "v.bin");
  compress("v.bin", "v.bin.gz");
  check("v.bin.gz", VectorFormat::fasttext);
  CHECK(detail::load_fasttext_model(folder / "v.bin.gz").vocabulary.fingerprint() ==
        model.vocabulary.fingerprint());
  CHECK(VectorFile(folder / "v.bin.gz").model().rows() == 2);
}
#endif
