// The vectors of any string by a character CNN, and networks that are refused.
#if WORDLOOM_HAS_BLAS
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "encoder/char_cnn_oracle.hpp"
#include "encoder/small_encoder.hpp"
#include "small_models.hpp"
#include "support.hpp"
#include "train/column_task.hpp"

using namespace wordloom;
using namespace small_encoder;
using column_task::Task;

namespace {

/// Words that share letters, and one of bytes that are no UTF-8.
Vocabulary some_words() {
  return Vocabulary::from_counts(
      std::vector<std::pair<std::string, std::uint64_t>>{{"walk", 9},
                                                         {"walked", 8},
                                                         {"a", 7},
                                                         {"gr\u00fcn", 6},
                                                         {"walks", 5},
                                                         {"\xff\x80", 4},
                                                         {"aaaaaaa", 3}});
}

/// A model whose network has parameters of a trained one's size and has written the input rows.
Model encoded_model(const Vocabulary& vocabulary = some_words()) {
  Model model(vocabulary, dimension);
  static_cast<void>(encoder.start(model, 1, 1));
  enlarge_char_cnn(model.state, 7);
  encoder.start(model, 1, 1).encode();
  return model;
}

std::string random_bytes(std::size_t size) {
  Random random(8);
  std::string bytes(size, ' ');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

const std::vector<std::string> unseen_words{
    "",     "walking", "b",     "\xff",        std::string("w\0lk", 4), "wa lk",
    "\xc3", "aaaa",    "walk ", "gr\u00fcner", random_bytes(1000)};

}  // namespace

TEST_CASE("the vector of a word is its row, that of any other string the network's",
          "[encoder][embeddings]") {
  const Model model = encoded_model();
  const CharCnnOracle network(model.state);
  CharCnnEmbeddings words(copy_of(model));
  REQUIRE(words.size() == 7);
  REQUIRE(words.dimension() == dimension);
  CHECK(same_matrix(words.vectors(), model.input));
  for (WordId id = 0; id < words.size(); ++id) {
    const std::string word(words.word(id));
    INFO(word);
    CHECK(std::ranges::equal(words.vector(word), model.input.row(id)));
    CHECK(words.has_vector(word));
    CHECK(largest_difference(words.vector(word), network.vector(word)) < 1e-5);
  }
  const CharCnnEmbeddings copy = words;
  words = CharCnnEmbeddings(encoded_model(zipf_vocabulary(3)));  // copies keep the network
  for (const std::string& word : unseen_words) {
    INFO(word);
    CHECK_FALSE(copy.contains(word));
    CHECK(copy.has_vector(word));
    CHECK(largest_difference(copy.vector(word), network.vector(word)) < 1e-5);
  }
  const std::string long_word = random_bytes(1'000'000);
  CHECK(largest_difference(copy.vector(long_word), network.vector(long_word)) < 1e-5);
  // A row of the vocabulary stands even where the network has another vector.
  Model changed = copy_of(model);
  changed.input.row(0)[0] = 5;
  CHECK(CharCnnEmbeddings(std::move(changed)).vector("walk")[0] == 5);
}

TEST_CASE("any two strings have a similarity, and any string nearest words",
          "[encoder][embeddings]") {
  const Model model = encoded_model();
  const CharCnnOracle network(model.state);
  const CharCnnEmbeddings words(copy_of(model));
  for (const std::string a : {"walk", "walking", "", "\xff"})
    for (const std::string b : {"walked", "walker", "gr\u00fcner"})
      CHECK(double{words.similarity(a, b)} ==
            Approx(cosine(network.vector(a), network.vector(b))).margin(1e-5));
  for (const std::string word : {"walking", "walk", ""}) {
    INFO(word);
    std::vector<std::pair<double, std::string>> expected;
    for (WordId id = 0; id < words.size(); ++id)
      if (const std::string other(words.word(id)); other != word)
        expected.emplace_back(-cosine(network.vector(word), network.vector(other)), other);
    std::ranges::sort(expected);
    const auto found = words.most_similar(word, 10);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i].word == expected[i].second);
      CHECK(double{found[i].score} == Approx(-expected[i].first).margin(1e-5));
    }
    CHECK(words.most_similar(word, 2).size() == 2);
  }
  CHECK(words.most_similar("walking", 9, {.restrict_vocabulary = 2}).size() == 2);
}

TEST_CASE("a trainer returns vectors of any string, as does its model, from a file too",
          "[encoder][embeddings][model_file]") {
  const Task task(40);
  const auto matrix = task.matrix(4);
  const TemporaryFolder folder;
  const auto returned = column_trainer().fit(matrix, task.vocabulary);
  static_assert(std::is_same_v<decltype(returned), const CharCnnEmbeddings>);
  Model model = trained(column_trainer(), matrix, task.vocabulary);
  model.save(folder / "model");
  Model loaded = Model::load(folder / "model");
  CHECK(same_matrices(loaded, model));
  const CharCnnOracle network(model.state);
  const CharCnnEmbeddings of_model(std::move(model)), of_file(std::move(loaded));
  CHECK(same_matrix(returned.vectors(), of_file.vectors()));
  for (const std::string& word : unseen_words) {
    INFO(word);
    CHECK(of_file.vector(word) == returned.vector(word));
    CHECK(of_file.vector(word) == of_model.vector(word));
    CHECK(of_file.has_vector(word));
    CHECK(largest_difference(of_file.vector(word), network.vector(word)) < 1e-6);
    CHECK(of_file.similarity(word, "w1001") == returned.similarity(word, "w1001"));
    CHECK(of_file.most_similar(word, 3)[2].word == returned.most_similar(word, 3)[2].word);
  }
}

TEST_CASE("a model with an encoder can be extended by new words and trained further", "[encoder]") {
  const Task task(40);
  auto trainer = column_trainer(2);
  Model model = trained(trainer, task.matrix(4), task.vocabulary);
  const Model before = copy_of(model);
  const std::vector<float> composed = CharCnnEmbeddings(copy_of(model)).vector("new\xfeword");
  std::vector<std::vector<std::string>> sentences(20, {"new\xfeword", "w1001", "x", "w1002"});
  model.extend(Vocabulary::from_sentences(sentences, {.min_count = 1}));
  REQUIRE(model.vocabulary.size() == 42);
  REQUIRE(model.state.size() == before.state.size());
  for (std::size_t i = 0; i < model.state.size(); ++i) {
    CHECK(model.state[i].name == before.state[i].name);
    CHECK(same_matrix(model.state[i].matrix, before.state[i].matrix));
  }
  // Training begins with the vectors that the network has of all words.
  Model encoded = copy_of(model);
  encoder.start(encoded, 1, 1).encode();
  const WordId id = model.vocabulary.find("new\xfeword").value();
  CHECK(largest_difference(encoded.input.row(id), {composed.begin(), composed.end()}) < 1e-6);

  const auto corpus = EncodedCorpus::from_sentences(sentences, model.vocabulary);
  const auto matrix = WordContextMatrix::from(corpus, model.vocabulary, {.columns = 4});
  CHECK_FALSE(trainer.train(matrix, model).stopped);
  CHECK(is_finite(model));
  CHECK(rows_are_encoded(model));
  REQUIRE(model.state.size() == before.state.size());
  for (std::size_t i = 0; i < model.state.size(); ++i) {
    CHECK(model.state[i].matrix.rows() == before.state[i].matrix.rows());
    CHECK(model.state[i].matrix.columns() == before.state[i].matrix.columns());
    CHECK_FALSE(same_matrix(model.state[i].matrix, before.state[i].matrix));
  }
  const CharCnnEmbeddings words(std::move(model));
  CHECK(words.contains("new\xfeword"));
  CHECK(words.vector("new\xfeword") != composed);
}

namespace {

/// The message of an encoder that is to continue with the parameters of a model.
std::string refusal(Model model, const CharCnn& policy = encoder) {
  return message_of<InvalidArgument>([&] { policy.start(model, 1, 1); });
}

/// Returns a model after `change(matrix)` of its matrix of this name.
template <class Change>
Model damaged(const std::string& name, Change change) {
  Model model = encoded_model();
  for (auto& [known, matrix] : model.state)
    if (known == name) change(matrix);
  return model;
}

}  // namespace

TEST_CASE("parameters of an encoder out of bounds are refused by name", "[encoder]") {
  const Task task(40);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto check = [&](auto change, const std::string& message) {
    CharCnn policy = encoder;
    change(policy);
    Model model(task.vocabulary, dimension);
    CHECK(message_of<InvalidArgument>([&] { policy.start(model, 1, 1); }) == message);
    CHECK(model.state.empty());
    CHECK(message_of<InvalidArgument>([&] {
            Trainer<Encoded<SharedNegative, CharCnn>, FusedKernel>(
                sentence_parameters(), {SharedNegative::from(sentence_parameters()), policy})
                .fit(task.corpus, task.vocabulary);
          }) == message);
  };
  check([](CharCnn& c) { c.min_width = 5; },
        "min_width is 5, must be at most max_width, which is 4");
  check([](CharCnn& c) { c.filters = 20; }, "filters is 20, must be a multiple of 16");
  check([](CharCnn& c) { c.filters = 0; }, "filters is 0, must be from 16 to 65536");
  check([](CharCnn& c) { c.max_width = 33; }, "max_width is 33, must be from 1 to 32");
  check([](CharCnn& c) { c.min_width = 0; }, "min_width is 0, must be from 1 to 32");
  check([](CharCnn& c) { c.character_dimension = 0; },
        "character_dimension is 0, must be from 1 to 1024");
  check([](CharCnn& c) { c.positions = 1; }, "positions is 1, must be from 2 to 1000");
  check([](CharCnn& c) { c.batch = 0; }, "encoder_batch is 0, must be from 1 to 1000000");
  check([](CharCnn& c) { c.learning_rate = 0; },
        "encoder_learning_rate is 0, must be from 1e-09 to 1");
  check([=](CharCnn& c) { c.learning_rate = nan; },
        "encoder_learning_rate is nan, must be from 1e-09 to 1");
  check([](CharCnn& c) { c.adam.beta1 = 1; }, "beta1 is 1, must be from 0 to 0.999999");
  CHECK(message_of<InvalidArgument>([] {
          Trainer<Encoded<SharedNegative, CharCnn>, FusedKernel>(
              sentence_parameters(), {SharedNegative::from(sentence_parameters()), encoder, 0});
        }) == "round is 0, must be from 1 to 1000000");
}

TEST_CASE("a model with a network of another shape is refused", "[encoder]") {
  const Model model = encoded_model();
  const auto check = [&](auto change, const std::string& expected) {
    CharCnn policy = encoder;
    change(policy);
    CHECK(refusal(copy_of(model), policy) ==
          "the model has a character CNN of 16 filters of each width from 2 to 4 over bytes of "
          "dimension 5, this trainer one of " +
              expected);
  };
  check([](CharCnn& c) { c.min_width = 3, c.max_width = 5; },  // as many widths
        "16 filters of each width from 3 to 5 over bytes of dimension 5");
  check([](CharCnn& c) { c.max_width = 5; },
        "16 filters of each width from 2 to 5 over bytes of dimension 5");
  check([](CharCnn& c) { c.filters = 32; },
        "32 filters of each width from 2 to 4 over bytes of dimension 5");
  check([](CharCnn& c) { c.character_dimension = 6; },
        "16 filters of each width from 2 to 4 over bytes of dimension 6");
  check([](CharCnn& c) { c.positions = 8; },
        "16 filters of each width from 2 to 4 over bytes of dimension 5, flattened over 8 "
        "positions");
}

TEST_CASE("matrices that are not those of one network are refused", "[encoder]") {
  const std::string unfit =
      "the matrices of the model's character CNN do not fit together: the model is damaged";
  const auto check = [&](const std::string& name, std::size_t rows, std::size_t columns) {
    INFO(name << " of " << rows << " x " << columns);
    const auto model = [&] {
      return damaged("char_cnn." + name,
                     [&](RowMatrix& matrix) { matrix = RowMatrix(rows, columns); });
    };
    CHECK(refusal(model()) == unfit);
    CHECK(message_of<InvalidArgument>([&] { CharCnnEmbeddings{model()}; }) == unfit);
  };
  check("characters", 257, 5);
  check("characters", 258, 6);
  check("dense", 47, 12);
  check("dense", 48, 11);
  check("dense", 0, 12);
  check("dense_bias", 2, 12);
  check("dense_bias", 1, 13);
  check("biases", 2, 16);
  check("biases", 4, 16);
  check("biases", 1'000'000'000, 0);
  check("biases", 3, 32);
  check("biases", 3, 0);
  check("filters.2", 10, 32);
  check("filters.3", 14, 16);
  check("filters.4", 21, 16);

  const auto without = [](const std::string& name) {
    Model model = encoded_model();
    std::erase_if(model.state, [&](const Model::NamedMatrix& named) {
      return named.name == "char_cnn." + name;
    });
    return model;
  };
  for (const char* name : {"filters.2", "filters.3", "filters.4"}) {
    INFO(name);
    CHECK(refusal(without(name)) == unfit);
    CHECK(message_of<InvalidArgument>([&] { CharCnnEmbeddings{without(name)}; }) == unfit);
  }
  const auto without_filters = [] {
    Model model = encoded_model();
    std::erase_if(model.state, [](const auto& named) { return contains(named.name, "filters"); });
    for (auto& [name, matrix] : model.state) {
      if (name == "char_cnn.biases") matrix = RowMatrix(0, 16);
      if (name == "char_cnn.dense") matrix = RowMatrix(0, dimension);
    }
    return model;
  };
  CHECK(refusal(without_filters()) == unfit);
  CHECK_THROWS_WITH(CharCnnEmbeddings{without_filters()}, unfit);
  for (const char* name : {"dense", "dense_bias", "biases"}) {
    INFO(name);
    CHECK(refusal(without(name)) ==
          "the model has no character CNN: train it with Encoded<Sampler, CharCnn>");
    CHECK(message_of<InvalidArgument>([&] { CharCnnEmbeddings{without(name)}; }) ==
          "the model has no character CNN: train it with Encoded<Sampler, CharCnn>");
  }
}

TEST_CASE("a checkpoint of another encoder is refused", "[encoded][checkpoint]") {
  const Task task(50);
  const TemporaryFolder folder;
  auto first = encoded_trainer<SharedNegative>(parameters());
  first.checkpoint_to(folder / "state");
  first.on_progress([](const Progress&) { return false; }, 0s);
  first.fit(task.corpus, task.vocabulary);
  const auto refusal = [&](auto change) {
    Encoded<SharedNegative, CharCnn> policy{SharedNegative::from(sentence_parameters()), encoder,
                                            3};
    change(policy);
    return message_of<InvalidArgument>([&] {
      Trainer<Encoded<SharedNegative, CharCnn>, FusedKernel>(sentence_parameters(), policy)
          .resume(task.corpus, task.vocabulary, folder / "state");
    });
  };
  CHECK(contains(refusal([](auto& policy) { policy.round = 4; }), "another method"));
  CHECK(contains(refusal([](auto& policy) { policy.end_to_end = true; }), "another method"));
  CHECK(contains(refusal([](auto& policy) { policy.encoder.positions = 4; }), "another method"));
  CHECK(contains(refusal([](auto& policy) { policy.encoder.filters = 32; }), "another method"));
  CHECK(contains(refusal([](auto& policy) { policy.encoder.batch = 17; }), "another method"));
  CHECK(contains(refusal([](auto& policy) { policy.encoder.adam.beta1 = 0.8; }), "another method"));
  CHECK_NOTHROW(encoded_trainer<SharedNegative>(parameters())
                    .resume(task.corpus, task.vocabulary, folder / "state"));
}

TEST_CASE("a kernel that keeps data by row cannot train an encoder end to end", "[encoded]") {
  const Task task(50);
  CHECK(message_of<InvalidArgument>([&] {
          encoded_trainer<SharedNegative, WithOptimizer<FusedKernel, RowAdaGrad>>(parameters(), 0)
              .fit(task.corpus, task.vocabulary);
        }) == "this UpdateKernel keeps data by row and cannot train an encoder end to end");
}

TEST_CASE("a model without a network has no vectors of any string", "[encoder][embeddings]") {
  CHECK(message_of<InvalidArgument>([] { CharCnnEmbeddings(Model(some_words(), dimension)); }) ==
        "the model has no character CNN: train it with Encoded<Sampler, CharCnn>");
  CHECK_THROWS_AS(CharCnnEmbeddings(Model(4, 3)), InvalidArgument);
}
#endif
