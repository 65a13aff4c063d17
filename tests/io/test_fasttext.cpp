#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/io/embeddings_file.hpp>
#include <wordloom/io/fasttext_file.hpp>

#include "catch.hpp"
#include "io/fasttext_bytes.hpp"
#include "small_models.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

using fasttext::Bytes;
using Counts = std::vector<std::pair<std::string, std::uint64_t>>;
const SubwordOptions some_subwords{.minn = 2, .maxn = 4, .buckets = 17};

Model model_of(const Counts& counts, const Model::Shape& shape) {
  Model model(Vocabulary::from_counts(counts), shape);
  Random random(7);
  for (RowMatrix* matrix : {&model.input, &model.output})
    for (std::size_t i = 0; i < matrix->rows(); ++i)
      for (float& x : matrix->row(i)) x = static_cast<float>(random.uniform() - 0.5);
  return model;
}

Model subword_model(std::size_t dimension = 3) {
  const Counts counts{{"</s>", 90}, {"the", 70}, {"caf\xc3\xa9", 20}, {"\xff\xfe", 20}, {"a", 1}};
  return model_of(counts, {.dimension = dimension,
                           .input_rows = counts.size() + some_subwords.buckets,
                           .subwords = some_subwords});
}

Model plain_model() { return model_of({{"b", 3}, {"a", 2}}, {.dimension = 2}); }

bool same(const Model& a, const Model& b) {
  return a.vocabulary.fingerprint() == b.vocabulary.fingerprint() && a.subwords == b.subwords &&
         same_matrices(a, b);
}

bool same_vectors(const Embeddings& a, const Embeddings& b) {
  if (!(a.words() == b.words()) || a.dimension() != b.dimension()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(a.vector(i).data(), b.vector(i).data(), a.dimension() * sizeof(float)) != 0)
      return false;
  return true;
}

std::vector<float> row(const RowMatrix& matrix, std::size_t i) {
  return {matrix.row(i).begin(), matrix.row(i).end()};
}

std::vector<float> first_vector(const std::filesystem::path& path) {
  const SubwordEmbeddings words = detail::load_fasttext(path);
  return row(words.vectors(), 0);
}

}  // namespace

TEST_CASE("a model in fastText's format comes back bit for bit", "[io]") {
  const TemporaryFolder folder;
  for (const std::size_t dimension : {1u, 3u, 16u, 40u}) {
    Model model = subword_model(dimension);
    model.input.row(0)[0] = -0.0f;
    model.input.row(20)[0] = std::numeric_limits<float>::denorm_min();
    model.save_fasttext(folder / "model.bin");
    CHECK(same(detail::load_fasttext_model(folder / "model.bin"), model));
    CHECK(folder.entry_count() == 1);
  }
}

TEST_CASE("the vectors of a fastText file equal the model's", "[io]") {
  const TemporaryFolder folder;
  const auto path = folder / "model.bin";
  const Model model = subword_model();
  model.save_fasttext(path);
  const SubwordEmbeddings loaded = detail::load_fasttext(path);
  CHECK(same_vectors(loaded.in_vocabulary(), model.embeddings()));
  CHECK(loaded.subwords() == some_subwords);
  CHECK(same_matrix(loaded.input(), model.input));
  const SubwordEmbeddings own(detail::load_fasttext_model(path));
  for (const std::string word : {"the", "them", "caf\xc3\xa8", "", "</s>"})
    CHECK(loaded.vector(word) == own.vector(word));
  CHECK(detail::detect_vector_format(path) == VectorFormat::fasttext);
  const Embeddings known = Embeddings::load(path);
  CHECK(same_vectors(known, model.embeddings()));
  CHECK(std::ranges::equal(known.counts(), model.vocabulary.counts()));
  CHECK(VectorFile::format_named("fasttext") == VectorFormat::fasttext);
}

TEST_CASE("a model without n-grams has neither buckets nor n-grams in fastText's format", "[io]") {
  const TemporaryFolder folder;
  const auto path = folder / "model.bin";
  const Model model = plain_model();
  model.save_fasttext(path);
  const std::string bytes = read_file(path);
  CHECK(bytes.substr(40, 12) == std::string(12, '\0'));  // bucket, minn, maxn
  CHECK(bytes.size() == 92 + 2 * 11 + 2 * (17 + 2 * 2 * sizeof(float)));
  const Model loaded = detail::load_fasttext_model(path);
  CHECK(same(loaded, model));
  CHECK_FALSE(loaded.subwords.has_value());
  const SubwordEmbeddings vectors = detail::load_fasttext(path);
  CHECK(same_vectors(vectors.in_vocabulary(), model.embeddings()));
  CHECK(vectors.vector("unknown") == std::vector<float>{0, 0});

  // Rows of the model behind those of the words are no n-grams; maxn = 0 is no subwords.
  Model more = model_of({{"b", 3}, {"a", 2}}, {.dimension = 2, .input_rows = 5});
  more.save_fasttext(path);
  CHECK(detail::load_fasttext_model(path).input.rows() == 2);
  more = model_of({{"b", 3}, {"a", 2}}, {.dimension = 2, .subwords = SubwordOptions{.maxn = 0}});
  more.save_fasttext(path);
  CHECK(read_file(path).substr(0, 92) == bytes.substr(0, 92));
}

TEST_CASE("files of fastText are read, with words of one count in any order", "[io]") {
  const TemporaryFolder folder;
  const auto path = folder / "model.bin";
  Bytes bytes;
  for (const std::int32_t version : {11, 12}) {
    bytes.version = version;
    write_file(path, bytes.text());
    const Model model = detail::load_fasttext_model(path);
    REQUIRE(model.vocabulary.words() == WordList::from(std::vector{"x", "y", "zz"}));
    CHECK(model.subwords == SubwordOptions{.minn = 3, .maxn = 6, .buckets = 3});
    CHECK(row(model.input, 0) == std::vector<float>{5, 6});
    CHECK(row(model.input, 1) == std::vector<float>{1, 2});
    CHECK(row(model.input, 2) == std::vector<float>{3, 4});
    for (std::size_t i = 3; i < 6; ++i)
      CHECK(row(model.input, i)[0] == static_cast<float>(2 * i + 1));
    CHECK(row(model.output, 0) == std::vector<float>{25, 26});
    CHECK(row(model.output, 1) == std::vector<float>{21, 22});
    CHECK(row(model.output, 2) == std::vector<float>{23, 24});
    CHECK(same_vectors(detail::load_fasttext(path).in_vocabulary(), model.embeddings()));
  }
  bytes.maxn = 0;  // buckets without n-grams
  write_file(path, bytes.text());
  CHECK_FALSE(detail::load_fasttext_model(path).subwords.has_value());
  CHECK(detail::load_fasttext_model(path).input.rows() == 3);
  CHECK(first_vector(path) == std::vector<float>{5, 6});
  bytes.bucket = 0;
  bytes.input_rows = 3;
  bytes.input.resize(6);
  write_file(path, bytes.text());
  CHECK(first_vector(path) == std::vector<float>{5, 6});
}

TEST_CASE("a file that we write has the bytes that fastText would write", "[io]") {
  const TemporaryFolder folder;
  Bytes bytes;
  bytes.entries = {{"x", 5}, {"y", 5}, {"zz", 5}};
  bytes.model = 1;
  write_file(folder / "theirs", bytes.text());
  detail::load_fasttext_model(folder / "theirs")
      .save_fasttext(folder / "ours", {.epochs = 1, .cbow = true});
  CHECK(read_file(folder / "ours") == bytes.text());
}

TEST_CASE("numbers of a fastText file that are not finite survive", "[io]") {
  const TemporaryFolder folder;
  Model model = plain_model();
  model.input.row(0)[1] = std::numeric_limits<float>::infinity();
  model.output.row(1)[0] = std::numeric_limits<float>::quiet_NaN();
  model.save_fasttext(folder / "model");
  CHECK(same(detail::load_fasttext_model(folder / "model"), model));
}

TEST_CASE("a fastText file that is not a model of words is refused by both loaders", "[io]") {
  const TemporaryFolder folder;
  struct Case {
    std::string message;
    void (*change)(Bytes&);
  };
  const Case cases[] = {
      {"byte 0: expected fastText's magic number 793712314", [](Bytes& b) { b.magic = 1; }},
      {"byte 4: expected version 11 to 12, got 13", [](Bytes& b) { b.version = 13; }},
      {"byte 4: expected version 11 to 12, got 10", [](Bytes& b) { b.version = 10; }},
      {"byte 8: expected dim 1 to 2147483647, got 0", [](Bytes& b) { b.dim = 0; }},
      {"byte 32: expected loss 1 to 4, got 5", [](Bytes& b) { b.loss = 5; }},
      {"byte 36: expected an unsupervised model (3 is a classifier), 1 to 2, got 3",
       [](Bytes& b) { b.model = 3; }},
      {"byte 40: expected bucket 1 to 2147483647, got 0", [](Bytes& b) { b.bucket = 0; }},
      {"byte 40: expected bucket 0 to 2147483647, got -1",
       [](Bytes& b) {
         b.bucket = -1;
         b.maxn = 0;
       }},
      {"byte 44: expected minn 0 to 6, got 7", [](Bytes& b) { b.minn = 7; }},
      {"byte 44: expected minn 0 to 6, got -1", [](Bytes& b) { b.minn = -1; }},
      {"byte 48: expected maxn 0 to 1000, got -2", [](Bytes& b) { b.maxn = -2; }},
      {"byte 48: expected maxn 0 to 1000, got 1001", [](Bytes& b) { b.maxn = 1001; }},
      {"byte 64: expected size 3, got 4", [](Bytes& b) { b.size = 4; }},
      {"byte 68: expected nwords 1 to 2147483647, got 0", [](Bytes& b) { b.nwords = 0; }},
      {"byte 72: expected nlabels 0 to 2147483647, got -1", [](Bytes& b) { b.nlabels = -1; }},
      {"byte 64: expected size 4, got 3", [](Bytes& b) { b.nlabels = 1; }},
      {"byte 84: expected a model that is not pruned, -1, got 0", [](Bytes& b) { b.pruned = 0; }},
      {"byte 92: expected a word, got an empty one", [](Bytes& b) { b.entries[0].word.clear(); }},
      {"byte 115: expected each word once, got 'y' again",
       [](Bytes& b) { b.entries[2].word = "y"; }},
      {"byte 94: expected count 1 to 9223372036854775807, got 0",
       [](Bytes& b) { b.entries[0].count = 0; }},
      {"byte 94: expected count 1 to 9223372036854775807, got -5",
       [](Bytes& b) { b.entries[0].count = -5; }},
      {"byte 106: expected count 1 to 9223372036854775802, got 9223372036854775807",
       [](Bytes& b) { b.entries[1].count = std::numeric_limits<std::int64_t>::max(); }},
      {"byte 102: expected a type of words, 0, got 1", [](Bytes& b) { b.entries[0].type = 1; }},
      {"byte 126: expected an input matrix that is not quantised, 0, got 1",
       [](Bytes& b) { b.quantised_input = 1; }},
      {"byte 127: expected an input matrix of 6 x 2, got 5 x 2",
       [](Bytes& b) { b.input_rows = 5; }},
      {"byte 127: expected an input matrix of 6 x 2, got -1 x 2",
       [](Bytes& b) { b.input_rows = -1; }},
      {"byte 127: expected an input matrix of 6 x 2, got 6 x 3",
       [](Bytes& b) { b.input_columns = 3; }},
      {"byte 191: expected an output matrix that is not quantised, 0, got 1",
       [](Bytes& b) { b.quantised_output = 1; }},
      {"byte 192: expected an output matrix of 3 x 2, got 2 x 2",
       [](Bytes& b) { b.output_rows = 2; }},
      {"byte 192: expected an output matrix of 3 x 2, got 3 x -2",
       [](Bytes& b) { b.output_columns = -2; }},
      {"byte 232: expected the end of the file after the last row, got 1 more bytes",
       [](Bytes& b) { b.after = "x"; }},
  };
  const auto path = folder / "model.bin";
  for (const Case& one : cases) {
    Bytes bytes;
    one.change(bytes);
    write_file(path, bytes.text());
    INFO(one.message);
    CHECK(
        contains(message_of<FormatError>([&] { detail::load_fasttext_model(path); }), one.message));
    CHECK(contains(message_of<FormatError>([&] { detail::load_fasttext(path); }), one.message));
  }
}

TEST_CASE("labels in the text of a fastText model are left out", "[io]") {
  const TemporaryFolder folder;
  Bytes bytes;
  write_file(folder / "plain", bytes.text());
  bytes.nlabels = 2;
  bytes.size = 5;
  bytes.entries.push_back({"__label__", 7, 1});
  bytes.entries.push_back({"__label__x", 1, 1});
  write_file(folder / "labels", bytes.text());
  CHECK(same(detail::load_fasttext_model(folder / "labels"),
             detail::load_fasttext_model(folder / "plain")));
  CHECK(same_vectors(Embeddings::load(folder / "labels"), Embeddings::load(folder / "plain")));
  bytes.entries.back().type = 0;
  write_file(folder / "labels", bytes.text());
  CHECK(contains(message_of<FormatError>([&] { detail::load_fasttext(folder / "labels"); }),
                 "expected a type of labels, 1, got 0"));
}

TEST_CASE("words of a fastText file may hold white space", "[io]") {
  const TemporaryFolder folder;
  const Model model = model_of({{"New York", 3}, {"a\n", 2}, {" ", 1}}, {.dimension = 2});
  model.save_fasttext(folder / "model");
  CHECK(same(detail::load_fasttext_model(folder / "model"), model));
}

TEST_CASE("a fastText file of another loss has vectors and is not trained on", "[io]") {
  const TemporaryFolder folder;
  const auto path = folder / "model.bin";
  Bytes bytes;
  for (const std::int32_t loss : {1, 3, 4}) {
    bytes.loss = loss;
    write_file(path, bytes.text());
    CHECK(detail::load_fasttext(path).size() == 3);
    CHECK(contains(message_of<FormatError>([&] { detail::load_fasttext_model(path); }),
                   "byte 32: expected loss 2 (ns) to train on, got " + std::to_string(loss) +
                       ": load_fasttext reads its vectors"));
  }
}

TEST_CASE("sizes that a fastText file is too short for are refused before allocating", "[io]") {
  const TemporaryFolder folder;
  const auto path = folder / "model.bin";
  const auto refused = [&](const Bytes& bytes) {
    write_file(path, bytes.text());
    const auto message = message_of<FormatError>([&] { detail::load_fasttext_model(path); });
    CHECK(message_of<FormatError>([&] { detail::load_fasttext(path); }) == message);
    return message;
  };
  const std::int32_t max = std::numeric_limits<std::int32_t>::max();
  Bytes bytes;
  bytes.bucket = max;
  bytes.input_rows = std::int64_t{max} + 3;
  bytes.dim = max;
  bytes.input_columns = bytes.output_columns = max;
  CHECK(contains(refused(bytes),
                 "byte 143: expected an input matrix of 2147483650 x 2147483647, "
                 "got the end of the file after 89 bytes"));
  bytes = {};
  bytes.nwords = bytes.size = max;
  CHECK(contains(refused(bytes), "byte"));
}

TEST_CASE("a fastText file cut short at any byte is refused", "[io]") {
  const TemporaryFolder folder;
  const auto path = folder / "model.bin";
  subword_model().save_fasttext(path);
  const std::string whole = read_file(path);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_file(path, whole.substr(0, size));
    INFO(size << " of " << whole.size());
    CHECK(contains(message_of<FormatError>([&] { detail::load_fasttext_model(path); }), "byte"));
    CHECK(contains(message_of<FormatError>([&] { detail::load_fasttext(path); }), "byte"));
  }
}

TEST_CASE("a model that fastText's format cannot hold is refused and leaves no file", "[io]") {
  const TemporaryFolder folder;
  const auto path = folder / "model.bin";
  const auto refused = [&](const Model& model, const Model::FastTextOptions& options = {}) {
    const auto message = message_of<InvalidArgument>([&] { model.save_fasttext(path, options); });
    CHECK(folder.entry_count() == 0);
    return message;
  };
  const Counts counts{{"b", 3}, {"a", 2}};
  CHECK(contains(refused(Model(5, 2)), "cannot hold a model without words"));
  CHECK(contains(refused(model_of(counts, {.dimension = 2, .output_rows = 1})),
                 "2 input and 1 output rows (hierarchical softmax?), it needs 2 and 2"));
  CHECK(contains(refused(Model(Vocabulary::from_counts(counts),
                               Model::Shape{.dimension = 2, .one_matrix = true})),
                 "one matrix for both sides"));
  Model large = plain_model();
  large.subwords = SubwordOptions{.buckets = 0x7fff'ffff};
  CHECK(contains(refused(large), "2 words, 2147483647 buckets and dimension 2: above 2^31 - 1"));
  large.subwords->buckets = 9;
  CHECK(contains(refused(large), "2 input and 2 output rows"));
  CHECK(contains(refused(model_of({{"b", ~std::uint64_t{0} / 2}, {"a", 1}}, {.dimension = 1})),
                 "counts add up to more than 2^63 - 1"));
  CHECK(contains(refused(model_of({{std::string("a\0b", 3), 3}, {"a", 2}}, {.dimension = 1})),
                 "the word 'a?b' holds a zero byte: the format fasttext cannot hold it"));
  for (const Model::FastTextOptions& options :
       {Model::FastTextOptions{.window = std::size_t{1} << 31},
        Model::FastTextOptions{.epochs = std::size_t{1} << 31},
        Model::FastTextOptions{.negatives = ~0ull}, Model::FastTextOptions{.min_count = 1ull << 32},
        Model::FastTextOptions{.subsample = std::nan("")}})
    CHECK(contains(refused(plain_model(), options), "must be from 0 to"));
  CHECK_THROWS_AS(plain_model().save_fasttext(folder / "missing" / "model.bin"), IoError);
  CHECK_THROWS_AS(plain_model().save_fasttext("/dev/full"), IoError);

  plain_model().save_fasttext(path);
  const std::string before = read_file(path);
  CHECK_THROWS_AS(Model(5, 2).save_fasttext(path), InvalidArgument);
  CHECK(read_file(path) == before);
  CHECK(folder.entry_count() == 1);
}

TEST_CASE("vectors alone are not written in fastText's format", "[io]") {
  const TemporaryFolder folder;
  CHECK(contains(message_of<InvalidArgument>([&] {
                   plain_model().embeddings().save(folder / "v", VectorFormat::fasttext);
                 }),
                 "save_fasttext"));
  CHECK(folder.entry_count() == 0);
}
