#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/core/detail/section_file.hpp>
#include <wordloom/corpus/subwords.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/model/subword_embeddings.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

constexpr std::size_t dimension = 11;
constexpr SubwordOptions options{.minn = 2, .maxn = 4, .buckets = 40};

/// Words that share n-grams, one with none and one that has non-ASCII characters.
Vocabulary some_words() {
  return Vocabulary::from_counts(std::vector<std::pair<std::string, std::uint64_t>>{
      {"walk", 9}, {"walked", 8}, {"</s>", 7}, {"gr\u00fcn", 6}, {"a", 5}, {"walks", 4}});
}

void fill(RowMatrix& matrix, std::uint64_t seed) {
  Random random(seed);
  for (std::size_t i = 0; i < matrix.rows(); ++i)
    for (float& x : matrix.row(i)) x = static_cast<float>(random.uniform() - 0.5);
}

Model subword_model(const Vocabulary& vocabulary = some_words(), SubwordOptions with = options) {
  Model model(
      vocabulary,
      {.dimension = dimension, .input_rows = vocabulary.size() + with.rows(), .subwords = with});
  fill(model.input, 3);
  fill(model.output, 4);
  return model;
}

Model copy_of(const Model& model) {
  Model copy = subword_model(model.vocabulary, *model.subwords);
  copy.set_matrices(model.copy_of_matrices());
  return copy;
}

std::size_t bucket(std::string_view ngram, std::size_t buckets) {
  std::uint32_t hash = 2166136261u;
  for (const char byte : ngram)
    hash = (hash ^ static_cast<std::uint32_t>(static_cast<signed char>(byte))) * 16777619u;
  return hash % buckets;
}

/// The mean of a word's bag, in the plainest code and in double precision.
std::vector<double> mean_of(const Model& model, std::string_view word) {
  std::vector<std::size_t> rows;
  if (const auto id = model.vocabulary.find(word)) rows.push_back(*id);
  for (const std::string& ngram : detail::ngrams_of(word, *model.subwords))
    rows.push_back(model.vocabulary.size() + bucket(ngram, model.subwords->buckets));
  std::vector<double> mean(model.dimension());
  for (const std::size_t row : rows)
    for (std::size_t c = 0; c < mean.size(); ++c)
      mean[c] += double{model.input.row(row)[c]} / static_cast<double>(rows.size());
  return mean;
}

bool is_near(std::span<const float> got, const std::vector<double>& expected) {
  if (got.size() != expected.size()) return false;
  for (std::size_t c = 0; c < got.size(); ++c)
    if (!(std::abs(double{got[c]} - expected[c]) < 1e-6)) return false;
  return true;
}

template <class A, class B>
bool equal(const A& a, const B& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

const std::vector<float> zeros(dimension);

}  // namespace

TEST_CASE("the vector of any word is the mean of its bag", "[subwords]") {
  const Model model = subword_model();
  const SubwordEmbeddings words(copy_of(model));
  REQUIRE(words.size() == 6);
  CHECK(words.subwords() == options);
  CHECK(same_matrix(words.input(), model.input));
  for (const auto word : {"walk", "walked", "</s>", "gr\u00fcn", "a", "walks"}) {
    INFO(word);
    CHECK(is_near(words.vector(word), mean_of(model, word)));
    CHECK(equal(words.vector(*words.words().find(word)), words.vector(word)));
  }
  CHECK(equal(words.vector("</s>"), model.input.row(2)));
  for (const auto word : {"walking", "gr\u00fcner", "b", "\xff\x80", "wa lk"}) {
    INFO(word);
    CHECK_FALSE(words.contains(word));
    CHECK(is_near(words.vector(word), mean_of(model, word)));
    CHECK(words.vector(word) != zeros);
  }
  CHECK_FALSE(equal(words.vector("walk"), model.input.row(0)));
}

TEST_CASE("an unknown word without n-grams has a vector of zeros", "[subwords]") {
  const SubwordEmbeddings words(subword_model(some_words(), {.minn = 4, .maxn = 5, .buckets = 9}));
  CHECK(words.vector("b") == zeros);
  CHECK(words.vector("") == zeros);
  CHECK(words.vector("a") != zeros);  // has a row
  CHECK(words.vector("bb") != zeros);
  CHECK(words.similarity("b", "walk") == 0);
  CHECK(words.similarity("b", "b") == 0);
  const auto nearest = words.most_similar("b", 2);
  REQUIRE(nearest.size() == 2);
  CHECK(nearest[0].score == 0);
  const SubwordEmbeddings no_end(subword_model(zipf_vocabulary(3)));
  CHECK(no_end.vector("</s>") == zeros);
}

TEST_CASE("embeddings of a model without subwords have zeros for other words", "[subwords]") {
  const Vocabulary vocabulary = some_words();
  const Model model = random_model(vocabulary, dimension);
  const SubwordEmbeddings words(random_model(vocabulary, dimension));
  CHECK(words.subwords().rows() == 0);
  CHECK(equal(words.vector("walk"), model.input.row(0)));
  CHECK(words.vector("walking") == zeros);
  CHECK_THROWS_AS(SubwordEmbeddings(Model(4, 3)), InvalidArgument);
}

TEST_CASE("any two words have a similarity", "[subwords]") {
  const Model model = subword_model();
  const SubwordEmbeddings words(copy_of(model));
  for (const auto a : {"walk", "</s>", "walking", "gr\u00fcner"})
    for (const auto b : {"a", "walk", "walker", "gr\u00fcner"}) {
      INFO(a << " and " << b);
      CHECK(words.similarity(a, b) ==
            Approx(cosine(mean_of(model, a), mean_of(model, b))).margin(1e-6));
    }
  CHECK(words.similarity(WordId{0}, WordId{5}) == Approx(words.similarity("walk", "walks")));
}

TEST_CASE("words of the vocabulary nearest to any word are found", "[subwords]") {
  const Model model = subword_model();
  const SubwordEmbeddings words(copy_of(model));
  for (const std::string word : {"walking", "walk", "gr\u00fcner"}) {
    std::vector<std::pair<double, std::string>> expected;
    for (WordId id = 0; id < model.vocabulary.size(); ++id) {
      const std::string other(model.vocabulary.word(id));
      if (other != word)
        expected.emplace_back(-cosine(mean_of(model, word), mean_of(model, other)), other);
    }
    std::sort(expected.begin(), expected.end());
    const auto found = words.most_similar(word, 10);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i].word == expected[i].second);
      CHECK(found[i].score == Approx(-expected[i].first).margin(1e-6));
    }
    CHECK(words.most_similar(word, 2).size() == 2);
  }
  CHECK(words.most_similar("walking", 9, {.restrict_vocabulary = 2}).size() == 2);
}

TEST_CASE("embeddings of a model with subwords are the means of bags", "[subwords]") {
  for (const Vocabulary& vocabulary : {some_words(), zipf_vocabulary(3000)})
    for (const SubwordOptions& with : {options, SubwordOptions{.maxn = 0}}) {
      Model model = subword_model(vocabulary, with);
      const SubwordEmbeddings expected(copy_of(model));
      const Embeddings copies = model.embeddings();
      CHECK(same_matrix(model.input, copy_of(model).input));
      const Embeddings moved = std::move(model).embeddings();
      CHECK(same_matrix(copies.vectors(), expected.vectors()));
      CHECK(same_matrix(moved.vectors(), expected.vectors()));
    }
}

TEST_CASE("rows that do not fit words and buckets are refused", "[subwords]") {
  const WordList words = WordList::from(std::vector<std::string>{"a", "b"});
  const SubwordOptions five{.buckets = 5};
  CHECK(SubwordEmbeddings(words, RowMatrix(7, 2), five).dimension() == 2);
  for (const std::size_t rows : {0u, 2u, 6u, 8u})
    CHECK(contains(
        message_of<InvalidArgument>([&] { SubwordEmbeddings(words, RowMatrix(rows, 2), five); }),
        "vectors of 2 words and 5 buckets need as many rows, got " + std::to_string(rows)));
  CHECK_THROWS_AS(SubwordEmbeddings(words, RowMatrix(2, 2), {.buckets = 0}), InvalidArgument);
  CHECK_THROWS_AS(SubwordEmbeddings(words, RowMatrix(7, 2), {.minn = 4, .maxn = 3, .buckets = 5}),
                  InvalidArgument);

  const Vocabulary vocabulary = some_words();
  const auto refusal = [&](const Model::Shape& shape) {
    return message_of<InvalidArgument>([&] { Model(vocabulary, shape); });
  };
  const std::string needs =
      "a model with subwords needs two matrices and an input of 6 words and 40 buckets, got ";
  for (const std::size_t rows : {6u, 45u, 47u})
    CHECK(refusal({.dimension = 3, .input_rows = rows, .subwords = options}) ==
          needs + std::to_string(rows) + " rows");
  CHECK(Model(vocabulary, {.dimension = 3, .subwords = options}).input.rows() == 46);
  CHECK(refusal({.dimension = 3, .input_rows = 46, .one_matrix = true, .subwords = options}) ==
        needs + "46 rows");
  CHECK(contains(refusal({.dimension = 3, .subwords = SubwordOptions{.minn = 4, .maxn = 3}}),
                 "minn is 4"));
}

TEST_CASE("a model with subwords is equal after saving and loading", "[subwords][model_file]") {
  const TemporaryFolder folder;
  for (const SubwordOptions& with : {options, SubwordOptions{.minn = 1, .maxn = 1000, .buckets = 3},
                                     SubwordOptions{.maxn = 0}}) {
    Model model = subword_model(some_words(), with);
    fill(model.state_matrix("input.squares", model.rows(), 1), 6);
    model.save(folder / "model");
    const Model loaded = Model::load(folder / "model");
    CHECK(loaded.subwords == with);
    CHECK(loaded.vocabulary.fingerprint() == model.vocabulary.fingerprint());
    CHECK(same_matrices(loaded, model));
    const Embeddings vectors = loaded.embeddings(), expected = model.embeddings();
    CHECK(same_matrix(vectors.vectors(), expected.vectors()));
  }
  Model without = random_model(some_words(), 3);
  without.save(folder / "model");
  CHECK_FALSE(Model::load(folder / "model").subwords.has_value());
}

TEST_CASE("a file whose subwords do not fit is refused", "[subwords][model_file]") {
  const TemporaryFolder folder;
  const auto load = [&](const std::vector<std::uint64_t>& numbers, std::size_t input_rows) {
    detail::SectionWriter file(folder / "model", "wordloom model 1");
    file.text("a\nb\n");
    file.numbers(std::vector<std::uint64_t>{2, 1});
    file.numbers(numbers);
    file.matrix("input", RowMatrix(input_rows, 3));
    file.matrix("output", RowMatrix(2, 3));
    file.commit();
    return Model::load(folder / "model");
  };
  const auto refusal = [&](const std::vector<std::uint64_t>& numbers, std::size_t input_rows) {
    return message_of<FormatError>([&] { load(numbers, input_rows); });
  };
  CHECK(load({2, 0, 3, 6, 5}, 7).subwords == SubwordOptions{3, 6, 5});
  for (const std::size_t rows : {2u, 6u, 8u})
    CHECK(contains(refusal({2, 0, 3, 6, 5}, rows),
                   "expected an input row for each word and bucket, got " + std::to_string(rows)));
  CHECK(contains(refusal({2, 0, 3, 0, 5}, 7), "an input row for each word and bucket"));
  CHECK(contains(refusal({2, 0, 6, 3, 5}, 7), "options of subwords"));
  CHECK(contains(refusal({2, 0, 3, 6, 0}, 2), "buckets is 0"));
  CHECK(contains(refusal({2, 0, 3, 6, std::uint64_t{1} << 40}, 7), "options of subwords"));
  for (const std::vector<std::uint64_t>& numbers : std::vector<std::vector<std::uint64_t>>{
           {2, 0}, {2, 0, 3}, {2, 0, 3, 6}, {2, 0, 3, 6, 5, 0}, {2, 1, 3, 6, 5}, {1, 0, 3, 6, 5}})
    CHECK(contains(refusal(numbers, 7), "the number of matrices"));
}

TEST_CASE("extending a model keeps the vectors of its bags", "[subwords]") {
  Model model = subword_model();
  fill(model.state_matrix("input.squares", model.rows(), 1), 6);
  const Model before = copy_of(model);
  model.extend(Vocabulary::from_counts(std::vector<std::pair<std::string, std::uint64_t>>{
      {"walking", 100}, {"gr\u00fcn", 20}, {"new", 1}}));
  REQUIRE(model.vocabulary.size() == 8);
  CHECK(model.subwords == options);
  REQUIRE(model.rows() == 8 + options.buckets);
  for (std::size_t b = 0; b < options.buckets; ++b)
    for (const auto& [now, then] : {std::pair(&model.input, &before.input),
                                    std::pair(&model.state[0].matrix, &before.state[0].matrix)})
      CHECK(equal(now->row(8 + b), then->row(6 + b)));
  const SubwordEmbeddings old(copy_of(before)), now(copy_of(model));
  for (const auto word : {"walk", "walked", "</s>", "gr\u00fcn", "a", "walks", "gr\u00fcner"})
    CHECK(equal(now.vector(word), old.vector(word)));
  for (const auto word : {"walking", "new"}) {
    CHECK(is_near(now.vector(word), mean_of(model, word)));
    CHECK(now.vector(word) != old.vector(word));
  }
}
