// Models whose two sides are one matrix.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/core/detail/section_file.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/model/model.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

Vocabulary vocabulary_of(const std::vector<std::pair<std::string, std::uint64_t>>& counts) {
  return Vocabulary::from_counts(counts);
}

Model one_matrix(std::size_t words, std::size_t dimension, std::uint64_t seed = 1) {
  return Model(zipf_vocabulary(words), {.dimension = dimension, .one_matrix = true}, seed);
}

/// Whether both sides are the same rows in the same memory.
bool is_tied(const Model& model) {
  return model.has_one_matrix() && model.output.data() == model.input.data() &&
         model.output.rows() == model.input.rows() &&
         model.output.columns() == model.input.columns() &&
         model.output.stride() == model.input.stride();
}

std::vector<std::string> names_of(const Model& model) {
  std::vector<std::string> names;
  for (const auto& [name, matrix] : model.matrices()) names.emplace_back(name);
  return names;
}

}  // namespace

TEST_CASE("borrowed rows belong to another matrix", "[row_matrix]") {
  for (const std::size_t rows : {3u, 40'000u}) {  // on the heap, and from 2 MiB on
    RowMatrix matrix(rows, 20);
    {
      RowMatrix borrowed = matrix.borrow();
      CHECK(borrowed.is_borrowed());
      CHECK_FALSE(matrix.is_borrowed());
      CHECK(borrowed.data() == matrix.data());
      borrowed.row(1)[19] = 3;
      CHECK(matrix.row(1)[19] == 3);
      const RowMatrix copy = borrowed.copy();
      CHECK_FALSE(copy.is_borrowed());
      CHECK(copy.data() != matrix.data());
      CHECK(same_matrix(copy, matrix));
      CHECK(contains(message_of<InvalidArgument>([&] { borrowed.reserve(rows + 1); }),
                     "rows of another matrix"));
      borrowed.shrink_to_fit();
      RowMatrix moved = std::move(borrowed);
      CHECK(moved.is_borrowed());
      borrowed = RowMatrix(2, 2);
      CHECK_FALSE(borrowed.is_borrowed());
      borrowed.reserve(100);
      moved = RowMatrix(5, 5);
      CHECK_FALSE(moved.is_borrowed());
    }
    matrix.row(2)[0] = 4;  // it is still there
    CHECK(matrix.row(1)[19] == 3);
  }
  RowMatrix none;
  CHECK(none.borrow().rows() == 0);
}

TEST_CASE("both sides of a model can be one matrix", "[model]") {
  Model model = one_matrix(10, 6, 4);
  CHECK(is_tied(model));
  CHECK(same_matrix(model.input, Model(zipf_vocabulary(10), 6, 4).input));
  CHECK(names_of(model) == std::vector<std::string>{"input"});
  CHECK(model.copy_of_matrices().size() == 1);
  CHECK_FALSE(Model(zipf_vocabulary(10), 6).has_one_matrix());

  const auto input = model.input.copy();
  Model moved = std::move(model);
  CHECK(is_tied(moved));
  CHECK(same_matrix(moved.input, input));
  Model other(zipf_vocabulary(3), 6);
  other = std::move(moved);
  CHECK(is_tied(other));
  CHECK(same_matrix(other.input, input));
  other.input.reserve(100'000);
  other.tie_output();
  CHECK(is_tied(other));
  CHECK(same_matrix(other.input, input));
  other = Model(zipf_vocabulary(3), 6);
  CHECK_FALSE(other.has_one_matrix());
  CHECK(other.output.rows() == 3);
}

TEST_CASE("one matrix has one number of rows", "[model]") {
  const auto words = zipf_vocabulary(5);
  const Model::Shape wide{.dimension = 4, .input_rows = 8, .one_matrix = true};
  CHECK(is_tied(Model(words, wide)));
  Model::Shape said = wide;
  said.output_rows = 8;
  CHECK(is_tied(Model(words, said)));
  said.output_rows = 5;
  CHECK(contains(message_of<InvalidArgument>([&] { Model(words, said); }),
                 "output_rows is 5, the one matrix has 8"));
}

TEST_CASE("embeddings of one matrix outlive the model", "[model]") {
  std::optional<Model> model(one_matrix(10, 6));
  const auto input = model->input.copy();
  const float* const rows = model->input.data();
  const Embeddings copied = model->embeddings();
  const Embeddings moved = std::move(*model).embeddings();
  model.reset();
  CHECK(moved.vectors().data() == rows);
  CHECK(same_matrix(moved.vectors(), input));
  CHECK(same_matrix(copied.vectors(), input));
}

TEST_CASE("a model of one matrix can be restored from copies", "[model]") {
  Model model = one_matrix(5, 3, 2);
  model.state_matrix("input.mean", 5).row(1)[1] = 2;
  Model other = one_matrix(5, 3, 7);
  other.set_matrices(model.copy_of_matrices());
  CHECK(is_tied(other));
  CHECK(same_matrix(other.input, model.input));
  CHECK(other.input.data() != model.input.data());
  REQUIRE(other.state.size() == 1);
  CHECK(other.state[0].matrix.row(1)[1] == 2);

  Model two(zipf_vocabulary(5), 3);
  CHECK(contains(message_of<InvalidArgument>([&] { other.set_matrices(two.copy_of_matrices()); }),
                 "expected one matrix for both sides"));
  CHECK_THROWS_AS(two.set_matrices(model.copy_of_matrices()), InvalidArgument);
  CHECK_THROWS_AS(other.set_matrices({}), InvalidArgument);
  CHECK(is_tied(other));
  CHECK(same_matrix(other.input, model.input));
}

TEST_CASE("extending a model of one matrix moves its rows and keeps one matrix", "[model]") {
  Model model(vocabulary_of({{"a", 10}, {"b", 8}, {"c", 5}}), {.dimension = 4, .one_matrix = true});
  Model two(model.vocabulary, 4);
  model.state_matrix("output.mean", 3).row(0)[0] = 6;
  const auto more = vocabulary_of({{"b", 100}, {"d", 9}});
  model.extend(more);
  two.extend(more);
  CHECK(is_tied(model));
  CHECK(same_matrix(model.input, two.input));
  CHECK(names_of(model) == std::vector<std::string>{"input", "output.mean"});
  REQUIRE(model.state[0].matrix.rows() == 4);
  CHECK(model.state[0].matrix.row(1)[0] == 6);  // "a"
}

TEST_CASE("a model of one matrix has one matrix after saving and loading", "[model_file]") {
  const TemporaryFolder folder;
  Model model = one_matrix(6, 5);
  for (const bool with_state : {false, true}) {
    if (with_state) model.state_matrix("output.mean", 6).row(5)[4] = -1;
    model.save(folder / "model");
    Model loaded = Model::load(folder / "model");
    CHECK(is_tied(loaded));
    CHECK(same_matrix(loaded.input, model.input));
    CHECK(loaded.vocabulary.fingerprint() == model.vocabulary.fingerprint());
    CHECK(names_of(loaded) == names_of(model));
    loaded.extend(zipf_vocabulary(9, 50));
    CHECK(is_tied(loaded));
  }
  CHECK(Model::load(folder / "model").state[0].matrix.row(5)[4] == -1);
  Model two(zipf_vocabulary(6), 5);
  two.save(folder / "two");
  CHECK_FALSE(Model::load(folder / "two").has_one_matrix());
  one_matrix(6, 5).save(folder / "one");
  CHECK(std::filesystem::file_size(folder / "one") < std::filesystem::file_size(folder / "two"));
}

TEST_CASE("undamaged sections that do not form a model of one matrix are refused", "[model_file]") {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::vector<std::uint64_t>& count,
                           const std::vector<std::string>& names) {
    detail::SectionWriter file(folder / "file", "wordloom model 1");
    file.text("a\nb\n");
    file.numbers(std::vector<std::uint64_t>{2, 1});
    file.numbers(count);
    for (const std::string& name : names) file.matrix(name, RowMatrix(2, 3));
    file.commit();
    return message_of<FormatError>([&] { return Model::load(folder / "file"); });
  };
  CHECK(contains(refusal({0, 1}, {"input"}), "the number of matrices"));
  CHECK(contains(refusal({1, 0}, {"input"}), "the number of matrices"));
  CHECK(contains(refusal({1, 1, 1}, {"input"}), "the number of matrices"));
  CHECK(contains(refusal({1, 1}, {"output"}), "expected the matrix 'input'"));
  CHECK(contains(refusal({1, 1}, {"input", "x"}), "expected the end of the file"));
  CHECK(contains(refusal({2, 1}, {"input", "input"}), "expected each matrix once"));
}

TEST_CASE("concatenated vectors consist of two parts of length 1", "[embeddings]") {
  const auto words = zipf_vocabulary(4);
  RowMatrix first(4, 2), second(4, 3);
  first.row(0)[0] = 3;
  first.row(0)[1] = -4;
  first.row(2)[1] = 1e-3f;
  for (std::size_t i = 0; i < 4; ++i) second.row(i)[i % 3] = 2.0f + static_cast<float>(i);
  const Embeddings both = Embeddings::concatenate(Embeddings(words.words(), std::move(first)),
                                                  Embeddings(words.words(), std::move(second)));
  CHECK(both.words() == words.words());
  REQUIRE(both.dimension() == 5);
  const std::vector<std::vector<float>> expected{
      {0.6f, -0.8f, 1, 0, 0}, {0, 0, 0, 1, 0}, {0, 1, 0, 0, 1}, {0, 0, 1, 0, 0}};
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t c = 0; c < 5; ++c)
      CHECK(both.vector(i)[c] == Approx(expected[i][c]).margin(1e-6));
}

TEST_CASE("vectors of different words are not concatenated", "[embeddings]") {
  const auto of = [](const Vocabulary& words) { return Model(words, 2).embeddings(); };
  const auto ab = of(vocabulary_of({{"a", 2}, {"b", 1}}));
  CHECK(contains(
      message_of<InvalidArgument>([&] {
        static_cast<void>(Embeddings::concatenate(ab, of(vocabulary_of({{"b", 2}, {"a", 1}}))));
      }),
      "word 0 is 'a' and 'b'"));
  CHECK(contains(message_of<InvalidArgument>([&] {
                   static_cast<void>(Embeddings::concatenate(ab, of(vocabulary_of({{"a", 2}}))));
                 }),
                 "of 2 words and of 1"));
}
