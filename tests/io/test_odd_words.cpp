#include <cstring>
#include <string>
#include <vector>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/io/embeddings_file.hpp>
#include <wordloom/io/fasttext_file.hpp>
#include <wordloom/model/model.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "support.hpp"

using namespace wordloom;
using namespace std::string_literals;

namespace {

/// Vectors of two numbers, which are different for each word.
Embeddings make(const std::vector<std::string>& words) {
  RowMatrix vectors(words.size(), 2);
  for (std::size_t i = 0; i < words.size(); ++i) {
    vectors.row(i)[0] = 0.5f + static_cast<float>(i);
    vectors.row(i)[1] = -0.125f;
  }
  return {WordList::from(words), std::move(vectors)};
}

bool same(const Embeddings& a, const Embeddings& b) {
  if (!(a.words() == b.words()) || a.dimension() != b.dimension()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(a.vector(i).data(), b.vector(i).data(), a.dimension() * sizeof(float)) != 0)
      return false;
  return true;
}

const std::vector<VectorFormat> formats{VectorFormat::word2vec_binary, VectorFormat::word2vec_text,
                                        VectorFormat::glove_text, VectorFormat::npy,
                                        VectorFormat::projector_tsv};

std::string_view name_of(VectorFormat format) {
  for (const auto& entry : detail::vector_formats)
    if (entry.format == format) return entry.name;
  return "";
}

const std::vector<std::string> odd_words{"New York",
                                         "a  b",
                                         " lead",
                                         "trail ",
                                         " ",
                                         "   ",
                                         "a\tb",
                                         "\t",
                                         "\ta",
                                         "a\fb",
                                         "\f",
                                         "\vb",
                                         "a\rb",
                                         "c\r",
                                         "\r",
                                         "a\nb",
                                         "\nb",
                                         "b\n",
                                         "\n",
                                         "NBSP\xc2\xa0x",
                                         "\xe2\x80\xa8",
                                         "n\0l"s,
                                         "\0"s,
                                         "",
                                         "3.14",
                                         "10",
                                         "1e5 2",
                                         "9 11",
                                         "version 3.14",
                                         "a 1.5 -2e3 b",
                                         "pi 3.1415",
                                         "nan",
                                         "\xff\xfe",
                                         "\xd0",
                                         "\xef\xbb\xbfx",
                                         "\xef\xbb\xbf",
                                         "</s>",
                                         "\x1f\x8b",
                                         "%PDF-",
                                         "wordloom model 1",
                                         "# x"};

}  // namespace

TEST_CASE("an odd word comes back from each format, or is refused before it is written", "[io]") {
  const TemporaryFolder folder;
  const auto path = folder / "v.tsv";
  for (const VectorFormat format : formats)
    for (const std::string& word : odd_words)
      for (const auto& words : {std::vector<std::string>{word},
                                {word, "the", "of"},
                                {"the", word, "of"},
                                {"the", "of", word}}) {
        INFO(name_of(format) << ", " << detail::shown(word) << ", first " << words[0]);
        const auto vectors = make(words);
        bool can_hold = true;
        try {
          VectorFile::check_words(vectors.words(), format);
        } catch (const InvalidArgument& error) {
          can_hold = false;
          CHECK(contains(error.what(), name_of(format)));
        }
        if (can_hold) {
          vectors.save(path, format);
          int warnings = 0;
          const LoadOptions options{.warn = [&](const auto&) { ++warnings; }};
          CHECK(same(VectorFile(path).embeddings(format, options), vectors));
          CHECK(warnings == 0);
          if (format == VectorFormat::word2vec_binary || format == VectorFormat::word2vec_text)
            CHECK(detail::detect_vector_format(path.parent_path() / "v.tsv") ==
                  VectorFormat::projector_tsv);
          std::filesystem::rename(path, folder / "v");
          if (format != VectorFormat::projector_tsv && format != VectorFormat::npy)
            CHECK(same(Embeddings::load(folder / "v"), vectors));
        } else {
          CHECK_THROWS_AS(vectors.save(path, format), InvalidArgument);
        }
        for (const auto* file : {"v", "v.tsv", "v.metadata.tsv", "v.tsv.words.txt"})
          std::filesystem::remove(folder / file);
        REQUIRE(folder.entry_count() == 0);
      }
}

TEST_CASE("each format holds the words that it can", "[io]") {
  const auto holds = [](const std::string& word, VectorFormat format) {
    try {
      VectorFile::check_words(WordList::from(std::vector<std::string>{"the", word, "of"}), format);
      return true;
    } catch (const InvalidArgument&) {
      return false;
    }
  };
  using F = VectorFormat;
  for (const char* word : {"New York", "9 11", "a  b", " "})
    for (const F format :
         {F::word2vec_text, F::glove_text, F::npy, F::projector_tsv, F::fasttext, F::model})
      CHECK(holds(word, format));
  CHECK_FALSE(holds("New York", F::word2vec_binary));
  CHECK(holds("a\nb", F::word2vec_binary));
  CHECK_FALSE(holds("\nb", F::word2vec_binary));
  for (const char* word : {"a\tb", "\f", "\v", "a\rb", "\xff", "3.14"})
    for (const F format :
         {F::word2vec_binary, F::word2vec_text, F::glove_text, F::npy, F::fasttext, F::model})
      CHECK(holds(word, format));
  CHECK_FALSE(holds("a\tb", F::projector_tsv));
  CHECK_FALSE(holds("n\0l"s, F::fasttext));
  CHECK(holds("n\0l"s, F::model));
  CHECK(holds("a\nb", F::fasttext));
  CHECK_FALSE(holds("a\nb", F::model));
  const auto message = message_of<InvalidArgument>([] {
    VectorFile::check_words(WordList::from(std::vector<std::string>{"a", "New York"}),
                            F::word2vec_binary);
  });
  CHECK(message ==
        "the word 'New York' holds a blank, which ends a word there: the format "
        "word2vec-binary cannot hold it; word2vec-text can");
}

TEST_CASE("names with blanks go from sentences through a model into all formats but one", "[io]") {
  const TemporaryFolder folder;
  const std::vector<std::vector<std::string>> baskets{
      {"New York", "Coffee  Pot, 1 l", "S\xc3\xa3o Paulo"}, {"tea", "New York", "Size 9 11"}};
  const auto [vocabulary, corpus] = EncodedCorpus::encode(baskets, {.min_count = 1});
  CHECK(corpus.token_count() == 6);
  CHECK(vocabulary.word(corpus.sentence(1)[1]) == "New York");
  vocabulary.save(folder / "vocabulary");
  CHECK(Vocabulary::load(folder / "vocabulary").fingerprint() == vocabulary.fingerprint());
  const Model model = random_model(vocabulary, 5);
  const Embeddings vectors = model.embeddings();
  for (const VectorFormat format : {VectorFormat::word2vec_text, VectorFormat::glove_text,
                                    VectorFormat::npy, VectorFormat::projector_tsv}) {
    vectors.save(folder / "v.tsv", format);
    CHECK(same(VectorFile(folder / "v.tsv").embeddings(format), vectors));
  }
  model.save(folder / "model");
  CHECK(same(Embeddings::load(folder / "model"), vectors));
  CHECK(same_matrices(Model::load(folder / "model"), model));
  model.save_fasttext(folder / "fasttext");
  CHECK(same(Embeddings::load(folder / "fasttext"), vectors));
  CHECK(contains(message_of<InvalidArgument>([&] { vectors.save(folder / "v.bin"); }),
                 "word2vec-binary cannot hold it; word2vec-text can"));
  CHECK_FALSE(std::filesystem::exists(folder / "v.bin"));
}

TEST_CASE("the last numbers of a row are the vector, in any file of words with blanks", "[io]") {
  const TemporaryFolder folder;
  const auto words_of = [&](const std::string& text) {
    write_file(folder / "v", text);
    const auto vectors = Embeddings::load(folder / "v");
    std::vector<std::string> words;
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      words.emplace_back(vectors.word(i));
      CHECK(vectors.dimension() == 3);
      CHECK(vectors.vector(i)[0] == 0.5f);
      CHECK(vectors.vector(i)[2] == 1.5f);
    }
    return words;
  };
  using Words = std::vector<std::string>;
  const std::string v = " 0.5 1 1.5\n";
  CHECK(words_of("3 3\nthe" + v + "New York" + v + "of" + v) == Words{"the", "New York", "of"});
  CHECK(words_of("3 3\nNew York" + v + "9 11" + v + "10" + v) == Words{"New York", "9 11", "10"});
  CHECK(words_of("3 3\nthe" + v + "" + v + " " + v) == Words{"the", "", " "});
  CHECK(words_of("2 3\nthe" + v + "\t" + v) == Words{"the", "\t"});
  CHECK(words_of("2 3\nNew York\t0.5\t1\t1.5\r\nthe   0.5  1   1.5 \r\n") ==
        Words{"New York", "the"});
  CHECK(words_of("1 3\nS\xc3\xa3o Paulo" + v) == Words{"S\xc3\xa3o Paulo"});
  // GloVe has no header: most rows say how many numbers there are.
  CHECK(words_of(". . ." + v + "the" + v + "at a@b.c" + v) == Words{". . .", "the", "at a@b.c"});
  CHECK(words_of("9 11" + v + "the" + v + "of" + v + "7 8 9" + v) ==
        Words{"9 11", "the", "of", "7 8 9"});
  CHECK(words_of("10" + v + "11" + v) == Words{"10", "11"});
}

TEST_CASE("words that may be parts of vectors are not guessed", "[io]") {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& text) {
    write_file(folder / "v", text);
    return message_of<FormatError>([&] { static_cast<void>(Embeddings::load(folder / "v")); });
  };
  CHECK(
      contains(refusal("3 2\nthe 1.5 2.5 of 3.5 4.5\nand 1 2\n"),
               "line 2, column 1: expected a word and 2 numbers, got more numbers, or two rows in "
               "a line: 'the 1.5 2.5 of'"));
  CHECK(contains(refusal("a .1 .2 .3 .4\nb .1 .2 .3 c .1 .2 .3 .4\nd .1 .2 .3 .4\n"), "line 2"));
  CHECK(contains(refusal("2 2\na 0.5 1.5\nb 0.1234 2.5 3.5\n"),
                 "line 3, column 1: expected a word and 2 numbers, got more numbers"));
  CHECK(contains(refusal("2 2\na 1 2 3\nb 4 5 6\n"),
                 "line 1, column 1: expected a header with the dimension of the rows"));
  CHECK(contains(refusal("North 1 .5 .25\nNorth 2 .5 .5\nEast 3 -.5 .5\nEast 4 1.5 .5\n"),
                 "line 1, column 1: expected words and vectors that can be told apart"));
  write_file(folder / "v", "4 2\nNorth 1 .5 .25\nNorth 2 .5 .5\nEast 3 -.5 .5\nEast 4 1.5 .5\n");
  const auto vectors = Embeddings::load(folder / "v");
  CHECK(vectors.word(3) == "East 4");
}

TEST_CASE("only a space ends a word of word2vec's binary format", "[io]") {
  const TemporaryFolder folder;
  const std::string floats("\0\0\0\x3f\0\0\x80\x3f", 8);
  const auto words_of = [&](const std::string& rows) {
    write_file(folder / "v", "3 2\n" + rows);
    const auto vectors = Embeddings::load(folder / "v");
    REQUIRE(vectors.size() == 3);
    std::vector<std::string> words;
    for (std::size_t i = 0; i < 3; ++i) {
      words.emplace_back(vectors.word(i));
      CHECK(vectors.vector(i)[0] == 0.5f);
      CHECK(vectors.vector(i)[1] == 1.0f);
    }
    return words;
  };
  using Words = std::vector<std::string>;
  for (const std::string end : {"\n", ""})
    for (const std::string& word :
         {"\fof"s, "a\vb"s, "a\tb"s, "of\r"s, "a\nb"s, ""s, "n\0l"s, "\xff"s, "\xc2\xa0"s})
      CHECK(words_of("the " + floats + end + word + ' ' + floats + end + "x " + floats + end) ==
            Words{"the", word, "x"});
  // As gensim does: a newline before a word is no part of it.
  CHECK(words_of("the " + floats + "\n " + floats + "x " + floats) == Words{"the", "", "x"});
}

TEST_CASE("a word with a space in word2vec's binary format is detected", "[io]") {
  const TemporaryFolder folder;
  std::string floats;
  for (const float x : {0.1f, -0.2f, 0.3f, 0.04f, -0.5f, 0.6f}) {
    floats.append(4, '\0');
    std::memcpy(floats.data() + floats.size() - 4, &x, 4);
  }
  for (const std::string end : {"\n", ""})
    for (const std::string word :
         {"New York", "vitamin C", "of the", "a b c", "S\xc3\xa3o Paulo"}) {
      write_file(folder / "v", "4 6\nthe " + floats + end + "of " + floats + end + word + ' ' +
                                   floats + end + "and " + floats + end);
      INFO(word << (end.empty() ? "" : ", with newlines"));
      for (const std::size_t limit : {0u, 3u})  // also where the word is the last one
        CHECK(
            contains(message_of<FormatError>([&] {
                       static_cast<void>(Embeddings::load(folder / "v", {.limit = limit}));
                     }),
                     "a word without a space, which ends a word in word2vec's binary format, got " +
                         detail::shown(word)));
    }
}
