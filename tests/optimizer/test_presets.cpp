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
       {fast_parameters(given), best_parameters(given), word2vec_parameters(given)}) {
    CHECK(preset.dimension == 7);
    CHECK(preset.window == 3);
    CHECK(preset.negatives == 2);
    CHECK(preset.seed == 9);
    CHECK_NOTHROW(preset.validate());
  }
  CHECK(fast_parameters().epochs < best_parameters().epochs);
  CHECK(fast_parameters().learning_rate > best_parameters().learning_rate);
  CHECK(word2vec_parameters().negative_pool == 0);
  CHECK(word2vec_parameters().private_rows == 0);
  CHECK(word2vec_parameters().learning_rate == 0.025);
}

TEST_CASE("the recommended trainer learns", "[presets]") {
  // Words of one sentence are of one half of the vocabulary.
  std::vector<std::vector<WordId>> sentences = random_sentences(800, 12, 20);
  for (std::size_t i = 0; i < sentences.size(); i += 2)
    for (WordId& word : sentences[i]) word += 20;
  const auto vocabulary = zipf_vocabulary(40);
  const auto corpus = EncodedCorpus::from_sentences(sentences, vocabulary);
  Hyperparameters parameters = best_parameters({.dimension = 16, .threads = 1});
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
