#include <cstddef>
#include <vector>
#include <wordloom/presets.hpp>
#include <wordloom/systems.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "support.hpp"

using namespace wordloom;

TEST_CASE("presets set only the hyperparameters of their trainers", "[presets]") {
  const Hyperparameters given{.dimension = 7, .window = 3, .negatives = 2, .seed = 9};
  for (const Hyperparameters& preset :
       {Presets::fast(given), Presets::best(given), Presets::word2vec(given)}) {
    CHECK(preset.dimension == 7);
    CHECK(preset.window == 3);
    CHECK(preset.negatives == 2);
    CHECK(preset.seed == 9);
    CHECK_NOTHROW(preset.validate());
  }
  // Chosen on other graphs than those that they were checked on: node2vec-defaults.md.
  const Hyperparameters nodes = Presets::nodes({.dimension = 7, .window = 3});
  CHECK(nodes.dimension == 7);
  CHECK(nodes.window == 10);
  CHECK(nodes.subsample == 0);
  CHECK(nodes.learning_rate == 0.025);
  CHECK(Presets::fast().epochs < Presets::best().epochs);
  CHECK(Presets::fast().learning_rate > Presets::best().learning_rate);
  CHECK(Presets::word2vec().negative_pool == 0);
  CHECK(Presets::word2vec().private_rows == 0);
  CHECK(Presets::word2vec().learning_rate == 0.025);
}

TEST_CASE("the recommended trainer learns", "[presets]") {
  // Words of one sentence are of one half of the vocabulary.
  std::vector<std::vector<WordId>> sentences = random_sentences(800, 12, 20);
  for (std::size_t i = 0; i < sentences.size(); i += 2)
    for (WordId& word : sentences[i]) word += 20;
  const auto vocabulary = zipf_vocabulary(40);
  const auto corpus = EncodedCorpus::from_sentences(sentences, vocabulary);
  Hyperparameters parameters = Presets::best({.dimension = 16, .threads = 1});
  parameters.subsample = 0;
  const Embeddings vectors = RecommendedTrainer(parameters).fit(corpus, vocabulary);
  double inside = 0, across = 0;
  for (WordId a = 0; a < 20; ++a)
    for (WordId b = 0; b < 20; ++b) {
      if (a != b) inside += static_cast<double>(vectors.similarity(a, b));
      across += static_cast<double>(vectors.similarity(a, b + 20));
    }
  CHECK(inside / 380 > across / 400 + 0.5);
}
