#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/core/random.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/model/model.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

using Row = std::vector<float>;

Row row_of(const RowMatrix& matrix, std::size_t i) {
  return {matrix.row(i).begin(), matrix.row(i).end()};
}
bool same(const RowMatrix& a, const RowMatrix& b) {
  if (a.rows() != b.rows() || a.columns() != b.columns()) return false;
  for (std::size_t i = 0; i < a.rows(); ++i)
    if (row_of(a, i) != row_of(b, i)) return false;
  return true;
}
bool is_zero(std::span<const float> row) {
  return std::all_of(row.begin(), row.end(), [](float x) { return x == 0; });
}
bool is_zero(const RowMatrix& matrix) {
  for (std::size_t i = 0; i < matrix.rows(); ++i)
    if (!is_zero(matrix.row(i))) return false;
  return true;
}
void fill(RowMatrix& matrix, std::uint64_t seed) {
  Random random(seed);
  for (std::size_t i = 0; i < matrix.rows(); ++i)
    for (float& x : matrix.row(i)) x = static_cast<float>(random.uniform()) + 1;
}

Vocabulary vocabulary_of(const std::vector<std::pair<std::string, std::uint64_t>>& counts) {
  return Vocabulary::from_counts(counts);
}

// a, b, c in rows 0, 1, 2 become rows 1, 0, 3 of b, a, d, c, e.
const auto old_words = vocabulary_of({{"a", 10}, {"b", 8}, {"c", 5}});
const auto more_words = vocabulary_of({{"b", 100}, {"d", 9}, {"e", 1}});
const std::vector<std::pair<std::size_t, std::size_t>> known{{1, 0}, {0, 1}, {3, 2}};  // new, old
const std::vector<std::size_t> fresh{2, 4};

}  // namespace

TEST_CASE("a new model follows its formula, bit for bit", "[model]") {
  struct Case {
    std::size_t words, dimension;
    std::uint64_t seed;
  };
  // The last is so large that several threads fill it.
  for (const auto& [words, dimension, seed] :
       {Case{1, 1, 1}, Case{7, 16, 1}, Case{50, 25, 3}, Case{70'000, 64, 9}}) {
    const Model model(zipf_vocabulary(words), dimension, seed), rows(words, dimension, seed);
    REQUIRE(model.vocabulary.size() == words);
    REQUIRE(model.rows() == words);
    REQUIRE(model.dimension() == dimension);
    for (std::size_t i = 0; i < words; ++i) {
      Random random(seed, i, std::numeric_limits<std::uint64_t>::max());
      Row expected(dimension);
      for (float& x : expected)
        x = static_cast<float>((random.uniform() - 0.5) / static_cast<double>(dimension));
      if (row_of(model.input, i) != expected) FAIL("row " << i);
    }
    CHECK(is_zero(model.output));
    CHECK(same(rows.input, model.input));
    CHECK(is_zero(rows.output));
    CHECK(rows.vocabulary.empty());
  }
}

TEST_CASE("input and output have row counts of their own", "[model]") {
  const auto words = zipf_vocabulary(10);
  const Model plain(words, 6, 4);
  const Model both(words, Model::Shape{.dimension = 6}, 4);
  CHECK(same(both.input, plain.input));
  CHECK(both.output.rows() == 10);
  const Model wide(words, Model::Shape{.dimension = 6, .input_rows = 25, .output_rows = 9}, 4);
  CHECK(wide.rows() == 25);
  CHECK(wide.output.rows() == 9);
  for (std::size_t i = 0; i < 10; ++i) CHECK(row_of(wide.input, i) == row_of(plain.input, i));
  for (std::size_t i = 10; i < 25; ++i) CHECK(!is_zero(wide.input.row(i)));
  CHECK(contains(message_of<InvalidArgument>(
                     [&] { Model(words, Model::Shape{.dimension = 6, .input_rows = 9}); }),
                 "input_rows is 9, expected at least one row for each of 10 words"));
}

TEST_CASE("a model lists its matrices by name in a fixed order", "[model]") {
  Model model(zipf_vocabulary(4), 3);
  model.state_matrix("output.mean", 4);
  model.state_matrix("input.mean", 4);
  std::vector<std::string> names;
  for (const auto& [name, matrix] : model.matrices()) {
    names.emplace_back(name);
    matrix->row(1)[1] = static_cast<float>(names.size());
  }
  CHECK(names == std::vector<std::string>{"input", "output", "output.mean", "input.mean"});
  CHECK(model.input.row(1)[1] == 1);
  CHECK(model.output.row(1)[1] == 2);
  CHECK(model.state[1].matrix.row(1)[1] == 4);
  const Model& constant = model;
  CHECK(constant.matrices()[2].matrix == &model.state[0].matrix);

  Model moved = std::move(model);
  CHECK(moved.state.size() == 2);
  CHECK(moved.output.row(1)[1] == 2);
}

TEST_CASE("a state matrix is created once, with zeros", "[model]") {
  Model model(zipf_vocabulary(4), 3);
  RowMatrix& mean = model.state_matrix("input.mean", 4);
  CHECK(mean.columns() == 3);
  CHECK(is_zero(mean));
  mean.row(2)[1] = 5;
  CHECK(model.state_matrix("input.mean", 4).row(2)[1] == 5);
  CHECK(model.state_matrix("input.squares", 4, 1).columns() == 1);
  CHECK(model.state.size() == 2);
  CHECK(contains(message_of<InvalidArgument>([&] { model.state_matrix("input.mean", 5); }),
                 "state matrix 'input.mean' is of 4 x 3, expected 5 x 3"));
  CHECK_THROWS_AS(model.state_matrix("input.mean", 4, 1), InvalidArgument);
}

TEST_CASE("matrices can be restored from copies", "[model]") {
  Model model = random_model(zipf_vocabulary(5), 3);
  fill(model.state_matrix("input.mean", 5), 1);
  auto copies = model.copy_of_matrices();
  Model other(zipf_vocabulary(5), 3);
  other.state_matrix("output.other", 5);
  other.set_matrices(std::move(copies));
  CHECK(same(other.input, model.input));
  CHECK(same(other.output, model.output));
  REQUIRE(other.state.size() == 1);
  CHECK(other.state[0].name == "input.mean");
  CHECK(same(other.state[0].matrix, model.state[0].matrix));

  Model wider(zipf_vocabulary(5), 4);
  CHECK(contains(message_of<InvalidArgument>([&] { wider.set_matrices(model.copy_of_matrices()); }),
                 "expected matrix 'input' of 5 x 4, got 'input' of 5 x 3"));
  CHECK(contains(message_of<InvalidArgument>([&] { other.set_matrices({}); }), "got none"));
  copies = model.copy_of_matrices();
  std::swap(copies[0], copies[1]);
  CHECK_THROWS_AS(other.set_matrices(std::move(copies)), InvalidArgument);
  CHECK(same(other.input, model.input));
}

TEST_CASE("embeddings are the input rows of the words", "[model]") {
  const auto words = zipf_vocabulary(5);
  const Model wide(words, Model::Shape{.dimension = 3, .input_rows = 8});
  const auto embeddings = wide.embeddings();
  REQUIRE(embeddings.size() == 5);
  for (std::size_t i = 0; i < 5; ++i)
    CHECK(row_of(embeddings.vectors(), i) == row_of(wide.input, i));

  Model plain(words, 3), again(words, Model::Shape{.dimension = 3, .input_rows = 8});
  const float* const rows = plain.input.data();
  const auto moved = std::move(plain).embeddings(), copied = std::move(again).embeddings();
  CHECK(moved.vectors().data() == rows);
  CHECK(same(copied.vectors(), embeddings.vectors()));
  for (const Embeddings* vectors : {&embeddings, &moved, &copied})
    CHECK(std::ranges::equal(vectors->counts(), words.counts()));
  CHECK(contains(message_of<InvalidArgument>([] { return Model(4, 3).embeddings(); }),
                 "without words"));
}

TEST_CASE("extending moves rows with their words and draws new ones", "[model]") {
  Model model(old_words, 4);
  fill(model.input, 1);
  fill(model.output, 2);
  const auto input = model.input.copy(), output = model.output.copy();
  model.extend(more_words);
  const auto expected = vocabulary_of({{"b", 108}, {"a", 10}, {"d", 9}, {"c", 5}, {"e", 1}});
  CHECK(model.vocabulary.words() == expected.words());
  CHECK(model.vocabulary.fingerprint() == expected.fingerprint());
  REQUIRE(model.input.rows() == 5);
  REQUIRE(model.output.rows() == 5);
  for (const auto& [now, before] : known) {
    CHECK(row_of(model.input, now) == row_of(input, before));
    CHECK(row_of(model.output, now) == row_of(output, before));
  }
  const Model initial(expected, 4);
  for (const std::size_t i : fresh) {
    CHECK(is_zero(model.output.row(i)));
    for (const float x : model.input.row(i)) CHECK((x >= -0.125f && x < 0.125f && x != 0));
    CHECK(row_of(model.input, i) != row_of(initial.input, i));
  }

  Model other_seed(old_words, 4);
  other_seed.extend(more_words, 2);
  CHECK(row_of(other_seed.input, 2) != row_of(model.input, 2));
}

TEST_CASE("extending a model several times never draws a vector twice", "[model]") {
  // Each time the new words are the most frequent and take rows that had others before.
  Model model(vocabulary_of({{"w0", 1}, {"w1", 2}}), 2);
  for (std::uint64_t i = 2; i < 40; i += 2)
    model.extend(
        vocabulary_of({{"w" + std::to_string(i), i + 1}, {"w" + std::to_string(i + 1), i + 2}}));
  std::set<Row> rows;
  for (std::size_t i = 0; i < model.rows(); ++i) rows.insert(row_of(model.input, i));
  CHECK(model.rows() == 40);
  CHECK(rows.size() == 40);
}

TEST_CASE("other input rows still follow the words after extending", "[model]") {
  Model model(old_words, Model::Shape{.dimension = 4, .input_rows = 7});
  const auto input = model.input.copy();
  model.extend(more_words);
  REQUIRE(model.rows() == 9);
  for (const auto& [now, before] : known) CHECK(row_of(model.input, now) == row_of(input, before));
  for (std::size_t bucket = 0; bucket < 4; ++bucket)
    CHECK(row_of(model.input, 5 + bucket) == row_of(input, 3 + bucket));
  CHECK(model.output.rows() == 5);
}

TEST_CASE("extending sets inner nodes of a Huffman tree to zero and keeps rows of words",
          "[model]") {
  Model nodes(old_words, Model::Shape{.dimension = 4, .output_rows = 2});
  fill(nodes.output, 3);
  nodes.extend(more_words);
  CHECK(nodes.output.rows() == 4);
  CHECK(is_zero(nodes.output));

  Model both(old_words, Model::Shape{.dimension = 4, .output_rows = 5});
  fill(both.output, 3);
  const auto output = both.output.copy();
  both.extend(more_words);
  REQUIRE(both.output.rows() == 9);
  for (const auto& [now, before] : known)
    CHECK(row_of(both.output, 2 * now) == row_of(output, 2 * before));
  for (const std::size_t i : fresh) CHECK(is_zero(both.output.row(2 * i)));
  for (std::size_t node = 0; node < 4; ++node) CHECK(is_zero(both.output.row(2 * node + 1)));
}

TEST_CASE("extending moves state like the matrix it belongs to", "[model]") {
  Model model(old_words, Model::Shape{.dimension = 4, .input_rows = 4, .output_rows = 5});
  fill(model.state_matrix("input.mean", 4), 1);
  fill(model.state_matrix("output.squares", 5, 1), 2);
  fill(model.state_matrix("input.steps", 1, 1), 3);
  fill(model.state_matrix("other", 4), 4);
  std::vector<RowMatrix> before;
  for (const Model::NamedMatrix& named : model.state) before.push_back(named.matrix.copy());
  model.extend(more_words);
  std::vector<std::string> names;
  for (const Model::NamedMatrix& named : model.state) names.push_back(named.name);
  CHECK(names == std::vector<std::string>{"input.mean", "output.squares", "input.steps", "other"});
  const RowMatrix& mean = model.state[0].matrix;
  REQUIRE(mean.rows() == 6);
  for (const auto& [now, old] : known) CHECK(row_of(mean, now) == row_of(before[0], old));
  for (const std::size_t i : fresh) CHECK(is_zero(mean.row(i)));
  CHECK(row_of(mean, 5) == row_of(before[0], 3));
  const RowMatrix& squares = model.state[1].matrix;
  REQUIRE(squares.rows() == 9);
  REQUIRE(squares.columns() == 1);
  for (const auto& [now, old] : known)
    CHECK(row_of(squares, 2 * now) == row_of(before[1], 2 * old));
  CHECK(is_zero(squares.row(1)));
  CHECK(same(model.state[2].matrix, before[2]));
  CHECK(same(model.state[3].matrix, before[3]));
}

TEST_CASE("a model that cannot be extended does not change", "[model]") {
  Model model(old_words, Model::Shape{.dimension = 4, .output_rows = 4});
  fill(model.output, 1);
  const auto input = model.input.copy(), output = model.output.copy();
  const auto unchanged = [&] {
    return same(model.input, input) && same(model.output, output) &&
           model.vocabulary.fingerprint() == old_words.fingerprint();
  };
  CHECK(contains(message_of<InvalidArgument>([&] { model.extend(more_words); }),
                 "matrix 'output' has 4 rows; expected 3, 2 or 5"));
  CHECK(unchanged());
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  CHECK_THROWS_AS(model.extend(vocabulary_of({{"a", most}})), Error);
  CHECK(unchanged());
  model.extend(Vocabulary());
  CHECK(unchanged());
  CHECK(contains(message_of<InvalidArgument>([] { Model(3, 4).extend(more_words); }),
                 "a model without words cannot be extended"));
}
