#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/core/detail/section_file.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/train/detail/checkpoint.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

bool same(const Model& a, const Model& b) {
  return a.vocabulary.words() == b.vocabulary.words() &&
         a.vocabulary.fingerprint() == b.vocabulary.fingerprint() && same_matrices(a, b);
}

/// All that a model may have, with a row length that is padded.
Model small_model() {
  using namespace std::string_literals;
  const std::vector<std::pair<std::string, std::uint64_t>> counts{
      {"the", 9}, {"\xff\xfe", 7}, {"n\0l"s, 7}, {"\xc3\xa4", 2}, {"\x01", 1}};
  Model model(Vocabulary::from_counts(counts),
              Model::Shape{.dimension = 3, .input_rows = 7, .output_rows = 4}, 5);
  model.output.row(3)[2] = std::numeric_limits<float>::denorm_min();
  model.state_matrix("input.squares", 7, 1).row(6)[0] = -0.5f;
  model.state_matrix("no rows", 0);
  model.state_matrix("", 1).row(0)[0] = std::numeric_limits<float>::infinity();
  return model;
}

detail::Checkpoint small_checkpoint() {
  detail::Checkpoint checkpoint{
      {1, "window 5\n"}, 2, 3, 4, 5, 6, {}, small_model().copy_of_matrices()};
  for (std::uint64_t rank = 0; rank < 2; ++rank)
    checkpoint.ranks.push_back({100 + rank,
                                {{0.5, 6}, {-1.25, rank}},
                                {{1, 2, 3, 4, 5, 6, 7, 7.5}, {8, 9, 10, 11, 12, 13, 14, 1e300}}});
  return checkpoint;
}

using Numbers = std::vector<std::uint64_t>;

/// The bytes of numbers in a file.
std::string bytes_of(const Numbers& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(std::uint64_t)};
}

constexpr std::uint64_t huge = std::uint64_t{1} << 62;

/// Every byte that is missing and every bit that is changed must be seen.
template <class Kind>
void check_damages(const std::filesystem::path& path) {
  const std::string good = read_file(path);
  const auto other = path.parent_path() / "damaged";
  const auto is_refused = [&](const std::string& bytes) {
    std::filesystem::remove(other);  // some file systems flush a file that replaces another
    write_file(other, bytes);
    try {
      static_cast<void>(Kind::load(other));
    } catch (const FormatError&) {
      return true;
    }
    return false;
  };
  REQUIRE(!is_refused(good));
  for (std::size_t size = 0; size < good.size(); ++size)
    if (!is_refused(good.substr(0, size))) FAIL("cut after " << size << " bytes");
  for (std::size_t at = 0; at < good.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = good;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      if (!is_refused(changed)) FAIL("bit " << bit << " of byte " << at << " changed");
    }
  CHECK(is_refused(good + '\0'));
  CHECK(is_refused(good + good));
}

}  // namespace

TEST_CASE("a model is equal after saving and loading", "[model_file]") {
  const TemporaryFolder folder;
  const Model model = small_model();
  model.save(folder / "model");
  CHECK(same(Model::load(folder / "model"), model));
  CHECK(folder.entry_count() == 1);

  const Model large = random_model(zipf_vocabulary(3000), 100);
  large.save(folder / "model");
  CHECK(same(Model::load(folder / "model"), large));

  const Model without_words(4, 3);
  without_words.save(folder / "rows");
  CHECK(same(Model::load(folder / "rows"), without_words));
}

TEST_CASE("unusual words of a model are read back, and one with a newline is refused",
          "[model_file]") {
  const TemporaryFolder folder;
  const auto model_of = [](const std::vector<std::pair<std::string, std::uint64_t>>& counts) {
    return Model(Vocabulary::from_counts(counts), 2);
  };
  // Words that began a line with a byte order mark were words once.
  const Model model = model_of({{"\xef\xbb\xbfthe", 9}, {"New York", 8}, {" ", 7}, {"\r", 6}});
  model.save(folder / "model");
  CHECK(same(Model::load(folder / "model"), model));
  CHECK(contains(message_of<InvalidArgument>([&] {
                   model_of({{"a\nb", 1}}).save(folder / "b");
                 }),
                 "a newline in the word 'a?b'"));
  CHECK(folder.entry_count() == 1);
}

TEST_CASE("a loaded model is extended and trained on as the saved one", "[model_file]") {
  const TemporaryFolder folder;
  Model model(zipf_vocabulary(6), 5);
  model.state_matrix("output.mean", 6);
  model.save(folder / "model");
  Model loaded = Model::load(folder / "model");
  const auto more = zipf_vocabulary(9, 50);
  model.extend(more);
  loaded.extend(more);
  CHECK(same(loaded, model));
  for (const auto& [name, matrix] : loaded.matrices())
    for (std::size_t i = 0; i < matrix->rows(); ++i)
      for (std::size_t c = matrix->columns(); c < matrix->stride(); ++c)
        CHECK(matrix->row_data(i)[c] == 0);
}

TEST_CASE("a model is written whole or not at all", "[model_file]") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(small_model().save(folder / "missing" / "model"), IoError);
  CHECK_THROWS_AS(small_model().save(folder.path()), IoError);
  Model twice = small_model();
  twice.state.push_back({"output", RowMatrix(1, 1)});
  CHECK(contains(message_of<InvalidArgument>([&] { twice.save(folder / "model"); }),
                 "two matrices 'output'"));
  CHECK(folder.entry_count() == 0);
  CHECK_THROWS_AS(Model::load(folder / "missing"), IoError);
}

TEST_CASE("a damaged model is refused", "[model_file]") {
  const TemporaryFolder folder;
  small_model().save(folder / "model");
  check_damages<Model>(folder / "model");
  std::string bytes = read_file(folder / "model");
  bytes[bytes.find("the\n")] = 'T';
  write_file(folder / "model", bytes);
  CHECK(contains(message_of<FormatError>([&] { return Model::load(folder / "model"); }),
                 "section at byte 17: checksum mismatch: the file is damaged"));
}

TEST_CASE("a file of another kind or version is refused", "[model_file]") {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& bytes) {
    write_file(folder / "file", bytes);
    return message_of<FormatError>([&] { return Model::load(folder / "file"); });
  };
  CHECK(contains(refusal(""), "byte 0: expected 'wordloom model 1', got an empty file"));
  CHECK(contains(refusal("3 2\nthe 1 2\n"), "expected 'wordloom model 1', got '3 2'"));
  CHECK(contains(refusal("wordloom model 0\nx"), "written by an older version of Wordloom"));
  CHECK(contains(refusal("wordloom model 12\nx"), "written by a newer version of Wordloom"));
  CHECK(!contains(refusal("wordloom model x1\n"), "version of Wordloom"));
  small_checkpoint().save(folder / "state");
  CHECK(contains(refusal(read_file(folder / "state")),
                 "expected 'wordloom model 1', got 'wordloom checkpoint 6'"));
}

TEST_CASE("sizes that a file cannot hold are refused before memory is taken", "[model_file]") {
  const TemporaryFolder folder;
  const auto is_refused = [&](const Numbers& numbers) {
    detail::SectionWriter file(folder / "start", "wordloom model 1");
    if (numbers.size() > 1) {  // rows and columns of a matrix, else the length of the words
      file.text("");
      file.numbers({});
      file.numbers(Numbers{2});
    }
    file.commit();
    std::string bytes = read_file(folder / "start");
    if (numbers.size() > 1) bytes += bytes_of({5}) + "input";
    write_file(folder / "file", bytes + bytes_of(numbers) + std::string(40, 'x'));
    return contains(message_of<FormatError>([&] { return Model::load(folder / "file"); }),
                    "file: byte ");
  };
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t size : {std::uint64_t{41}, std::uint64_t{1} << 40, huge, most}) {
    CHECK(is_refused({size}));
    CHECK(is_refused({size, 1}));
    CHECK(is_refused({1, size}));
    CHECK(is_refused({size, size}));
    CHECK(is_refused({size, 0}));
  }
  CHECK(is_refused({0, huge}));
  CHECK(is_refused({0, most}));
  CHECK(is_refused({most / 4 + 2, 4}));
}

TEST_CASE("undamaged sections that do not form a model are refused", "[model_file]") {
  const TemporaryFolder folder;
  struct Content {
    std::string words = "a\nb\n";
    Numbers counts{2, 1};
    Numbers matrix_count{2};
    std::vector<std::pair<std::string, std::pair<std::size_t, std::size_t>>> matrices{
        {"input", {2, 3}}, {"output", {2, 3}}};
  };
  const auto write = [&](const Content& content) {
    detail::SectionWriter file(folder / "file", "wordloom model 1");
    file.text(content.words);
    file.numbers(content.counts);
    file.numbers(content.matrix_count);
    for (const auto& [name, shape] : content.matrices)
      file.matrix(name, RowMatrix(shape.first, shape.second));
    file.commit();
  };
  const auto refusal = [&](const Content& content) {
    write(content);
    return message_of<FormatError>([&] { return Model::load(folder / "file"); });
  };
  write({});
  const Model loaded = Model::load(folder / "file");
  CHECK(loaded.vocabulary.word(1) == "b");
  CHECK(contains(refusal({.words = "a\nb"}), "expected a count for each word, got 2 counts"));
  CHECK(contains(refusal({.words = "a\nb\nc\n"}), "expected a count for each word"));
  CHECK(contains(refusal({.words = "a\n"}), "expected a count for each word"));
  CHECK(contains(refusal({.words = "b\na\n", .counts = {1, 2}}), "words by descending count"));
  CHECK(contains(refusal({.words = "b\na\n", .counts = {1, 1}}), "words by descending count"));
  for (const std::string words : {"a\na\n", "a\n\n"})
    CHECK(contains(refusal({.words = words}), "expected a vocabulary"));
  CHECK(contains(refusal({.counts = {1, 0}}), "expected a vocabulary"));
  for (const Numbers& count : {Numbers{}, Numbers{0}, Numbers{1}, Numbers{2, 2}})
    CHECK(contains(refusal({.matrix_count = count}), "the number of matrices"));
  CHECK(contains(refusal({.matrix_count = {3}}), "the end of the file"));
  CHECK(contains(refusal({.matrix_count = {huge}}), "the end of the file"));
  CHECK(contains(refusal({.matrices = {{"output", {2, 3}}, {"input", {2, 3}}}}),
                 "expected the matrix 'input', got 'output'"));
  CHECK(contains(refusal({.matrices = {{"input", {1, 3}}, {"output", {2, 3}}}}),
                 "expected an input row for each word, got 1 x 3"));
  CHECK(contains(refusal({.matrices = {{"input", {2, 3}}, {"output", {2, 4}}}}),
                 "expected an output of 3 columns, got 2 x 4"));
  CHECK(contains(refusal({.matrix_count = {3},
                          .matrices = {{"input", {2, 3}}, {"output", {2, 3}}, {"input", {2, 3}}}}),
                 "expected each matrix once, got 'input' twice"));
  CHECK(contains(refusal({.matrices = {{"input", {2, 3}}, {"output", {2, 3}}, {"x", {1, 1}}}}),
                 "expected the end of the file"));
}

TEST_CASE("a checkpoint is equal after saving and loading", "[checkpoint_file]") {
  const TemporaryFolder folder;
  const detail::Checkpoint saved = small_checkpoint();
  saved.save(folder / "state");
  const detail::Checkpoint loaded = detail::Checkpoint::load(folder / "state");
  CHECK(loaded.method.fingerprint == 1);
  CHECK(loaded.method.lines == "window 5\n");
  CHECK(loaded.vocabulary == 2);
  CHECK(loaded.corpus == 3);
  CHECK(loaded.corpus_tokens == 4);
  CHECK(loaded.synchronisations == 5);
  CHECK(loaded.sync_options == 6);
  REQUIRE(loaded.ranks.size() == 2);
  for (std::size_t rank = 0; rank < 2; ++rank)
    CHECK(loaded.ranks[rank].numbers() == saved.ranks[rank].numbers());
  CHECK(loaded.ranks[1].tokens == 101);
  CHECK(loaded.ranks[1].losses[1].loss == -1.25);
  CHECK(loaded.ranks[1].losses[1].examples == 1);
  const detail::Checkpoint::Thread& thread = loaded.ranks[0].threads[1];
  CHECK(thread.epoch == 8);
  CHECK(thread.sentences == 9);
  CHECK(thread.random_state == 10);
  CHECK(thread.random_gamma == 11);
  CHECK(thread.picks == 12);
  CHECK(thread.tokens == 13);
  CHECK(thread.examples == 14);
  CHECK(thread.loss == 1e300);
  REQUIRE(loaded.matrices.size() == saved.matrices.size());
  for (std::size_t i = 0; i < saved.matrices.size(); ++i) {
    CHECK(loaded.matrices[i].name == saved.matrices[i].name);
    CHECK(same_matrix(loaded.matrices[i].matrix, saved.matrices[i].matrix));
  }
  CHECK(loaded.ranks[0].numbers().size() == detail::Checkpoint::Rank::size(2, 2));
  Model model = small_model();
  model.set_matrices(detail::Checkpoint::load(folder / "state").matrices);
  CHECK(same(model, small_model()));
}

TEST_CASE("a damaged checkpoint file is refused", "[checkpoint_file]") {
  const TemporaryFolder folder;
  small_checkpoint().save(folder / "state");
  check_damages<detail::Checkpoint>(folder / "state");
}

TEST_CASE("a checkpoint of another version is refused and says so", "[checkpoint_file]") {
  const TemporaryFolder folder;
  for (const std::string version : {"1", "2", "3", "4"}) {
    write_file(folder / "state", "wordloom checkpoint " + version + "\nand more");
    CHECK(contains(message_of<FormatError>([&] { detail::Checkpoint::load(folder / "state"); }),
                   "byte 0: expected 'wordloom checkpoint 6', got 'wordloom checkpoint " + version +
                       "', written by an older version of Wordloom"));
  }
  write_file(folder / "state", "wordloom checkpoint 7\n");
  CHECK(contains(message_of<FormatError>([&] { detail::Checkpoint::load(folder / "state"); }),
                 "written by a newer version of Wordloom"));
}

TEST_CASE("numbers that are not a state of a run are refused", "[checkpoint_file]") {
  const TemporaryFolder folder;
  const auto refusal = [&](const Numbers& run, std::size_t ranks) {
    detail::SectionWriter file(folder / "state", "wordloom checkpoint 6");
    file.numbers(run);
    file.text("");
    file.numbers(Numbers(ranks));
    file.commit();
    return message_of<FormatError>([&] { detail::Checkpoint::load(folder / "state"); });
  };
  CHECK(contains(refusal({1, 2, 3}, 1), "expected 10 numbers of a run, got 3"));
  struct Sizes {
    std::uint64_t ranks, epochs, threads;
  };
  // 11 numbers are those of one rank, one epoch and one thread.
  for (const auto& [ranks, epochs, threads] :
       {Sizes{0, 1, 1}, Sizes{2, 1, 1}, Sizes{1, 2, 1}, Sizes{1, 1, 2}, Sizes{huge, 1, 1},
        Sizes{1, huge, 1}, Sizes{1, 1, huge}, Sizes{huge, huge, huge}})
    CHECK(contains(refusal({0, 0, 0, 0, 0, 0, ranks, epochs, threads, 0}, 11),
                   "expected the numbers of " + std::to_string(ranks) + " ranks"));
  CHECK(contains(refusal({0, 0, 0, 0, 0, 0, 1, 1, 1, huge}, 11), "to the end of the file"));
}
