#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <wordloom/evaluation/word_tests.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "demo_text.hpp"

using namespace wordloom;

namespace {

const DemoText& large_text() {
  static const DemoText text(WORDLOOM_TEST_LONG ? 1'000'000 : 400'000);
  return text;
}

}  // namespace

#if WORDLOOM_HAS_BLAS
using PWord2VecTested = PWord2Vec;
#else
using PWord2VecTested = Trainer<SharedNegative, DotKernel>;
#endif

TEMPLATE_TEST_CASE("every composition learns the known answers of the demo corpus", "[quality]",
                   Word2Vec, PWord2VecTested, DefaultTrainer, (Trainer<SharedNegative, DotKernel>),
                   (detail::FixedWindowTrainer<Hogwild, FusedKernel>),
                   (detail::FixedWindowTrainer<SharedNegative, FusedKernel>),
                   (Trainer<GroupedWindow, FusedKernel>)) {
  const auto& text = large_text();
  const auto words =
      TestType(Hyperparameters{.dimension = 64, .threads = 2}).fit(text.corpus, text.vocabulary);
  // Measured over seeds 1 to 3 and these compositions: every section 1.0, similarity 0.787 to
  // 0.893, nearest words of the right class 0.901 to 0.991.
  for (const auto& section : evaluate_analogies(words, demo::analogies()).sections) {
    INFO(section.name);
    CHECK(section.count.skipped == 0);
    CHECK(section.count.accuracy() >= 0.97);
  }
  CHECK(evaluate_similarity(words, demo::similarity_pairs()).spearman >= 0.70);

  // The nearest word of a word is of its class.
  std::map<std::string, std::string, std::less<>> class_of;
  for (const auto& one : demo::classes())
    for (const auto& word : one.words) class_of[word] = one.name;
  std::size_t right = 0;
  for (const auto& [word, name] : class_of) {
    for (const auto& [near, score] : words.most_similar(word, 20)) {
      const auto found = class_of.find(near);
      if (found == class_of.end()) continue;  // a companion
      right += found->second == name;
      break;
    }
  }
  CHECK(static_cast<double>(right) / static_cast<double>(class_of.size()) >= 0.85);
}

TEST_CASE("bags and trees learn the known answers of the demo corpus", "[quality]") {
  const DemoText text(1'000'000);
  const auto check = [&](auto sampler, double learning_rate, double analogies, double similarity) {
    Trainer trainer({.dimension = 64, .learning_rate = learning_rate, .threads = 2}, sampler,
                    FusedKernel{});
    const auto words = trainer.fit(text.corpus, text.vocabulary);
    CHECK(evaluate_analogies(words, demo::analogies()).total.accuracy() >= analogies);
    CHECK(evaluate_similarity(words, demo::similarity_pairs()).spearman >= similarity);
  };
  // Measured with seed 1: analogies 1.0, 0.993, 0.999, 0.999 and 0.887, similarity 0.77, 0.75,
  // 0.82, 0.84 and 0.70. From a text as short as this, CBOW learns less than skip-gram.
  check(Cbow{}, 0.1, 0.97, 0.60);
  check(GroupedHierarchicalSoftmax{}, 0.025, 0.95, 0.70);
#if WORDLOOM_TEST_LONG  // these have their bags or their tree from one of those
  check(GroupedCbow{}, 0.1, 0.96, 0.60);
  check(HierarchicalSoftmax{}, 0.025, 0.95, 0.70);
  check(BasicCbow<HuffmanPath>{}, 0.075, 0.84, 0.62);
#endif
}

TEST_CASE("WS-353 on real text reaches the original program's score", "[quality]") {
  const char* const data = std::getenv("WORDLOOM_DATA_DIR");
  const char* const corpus_file = std::getenv("WORDLOOM_CORPUS");
  if (data == nullptr || corpus_file == nullptr) {
    return skip(
        "WORDLOOM_DATA_DIR names no folder with similarity/ws353.tsv, or WORDLOOM_CORPUS no text "
        "of "
        "100 MB of Wikipedia");
  }
  const auto vocabulary = Vocabulary::from_text(corpus_file);
  const auto corpus = EncodedCorpus::from_text(corpus_file, vocabulary);
  const auto words = DefaultTrainer({.dimension = 128, .subsample = 1e-4}).fit(corpus, vocabulary);
  const auto pairs = SimilarityPair::load(std::filesystem::path(data) / "similarity" / "ws353.tsv");
  // word2vec reaches 0.659 there, one run from another differs by 0.01.
  CHECK(evaluate_similarity(words, pairs).spearman >= 0.63);
}
