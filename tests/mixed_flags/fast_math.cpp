// Compiled with -ffast-math: numbers that are not finite are refused all the same, and words are
// trained.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/evaluation.hpp>
#include <wordloom/graph.hpp>
#include <wordloom/wordloom.hpp>

using namespace wordloom;

namespace {

bool failed = false;

void check(bool holds, const std::string& what) {
  std::cout << (holds ? "right: " : "WRONG: ") << what << '\n';
  failed |= !holds;
}

void check_refused(const std::string& what, const std::function<void()>& work) {
  try {
    work();
    check(false, what + " is not refused");
  } catch (const Error& error) {
    check(std::string(error.what()).find(what) != std::string::npos, error.what());
  }
}

/// Returns this loss and changes nothing.
struct Loses {
  double loss = 0;

  template <class Visit>
  void visit_parameters(Visit&&) const {}
  struct Worker {
    double loss;
    template <bool>
    double update(Model&, const Block&, float) const {
      return loss;
    }
  };
  Worker worker(const Model&, Block::Shape) const { return {loss}; }
};

}  // namespace

int main(int, char** argv) {
  const double nan = std::strtod("nan", nullptr), infinity = std::strtod("inf", nullptr);
  const auto as_float = [](double x) { return static_cast<float>(x); };

  // Sentences in which word 2k is beside 2k + 1.
  std::vector<std::vector<std::string>> text;
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto pair = 2 * random.below(10);
    auto& sentence = text.emplace_back();
    for (int k = 0; k < 8; ++k) sentence.push_back("w" + std::to_string(pair + random.below(2)));
  }
  const auto vocabulary = Vocabulary::from_sentences(text);
  const auto corpus = EncodedCorpus::from_sentences(text, vocabulary);
  const Hyperparameters parameters{.dimension = 20, .subsample = 0, .epochs = 5, .threads = 1};

  DefaultTrainer trainer(parameters);
  const auto words = trainer.fit(corpus, vocabulary);
  check(words.similarity("w6", "w7") > 0.9f && words.similarity("w6", "w8") < 0.7f,
        "similar words have similar vectors");
  check(std::abs(trainer.report().loss - 0.6796) < 0.001, "the loss is that of other builds");

  check_refused("learning_rate is nan", [&] { DefaultTrainer({.learning_rate = nan}); });
  check_refused("negative_exponent is inf", [&] {
    Trainer(parameters, SharedNegative{.targets = {.exponent = infinity}}, FusedKernel{});
  });
  for (const double loss : {nan, infinity})
    check_refused("the loss is", [&] {
      Trainer(parameters, SharedNegative{}, Loses{loss}).fit(corpus, vocabulary);
    });
  for (const double number : {nan, infinity})
    check_refused("row 3 of 'input' holds", [&] {
      Model model = trainer.new_model(vocabulary);
      model.input.row(3)[5] = as_float(number);
      Trainer(parameters, SharedNegative{}, Loses{1}).train(corpus, model);
    });
  for (const double weight : {nan, infinity}) {
    check_refused("must be finite", [&] { detail::AliasTable(std::vector<double>{1, weight}); });
    check_refused("edges[0] has a weight of", [&] {
      const std::vector<Graph::Edge> edges{{0, 1, as_float(weight)}};
      static_cast<void>(Graph::from_edges(edges, 2, {.weighted = true}));
    });
  }
  const std::string edges = std::string(argv[0]) + ".edges";
  for (const char* weight : {"nan", "inf", "1e39"}) {
    std::ofstream(edges) << "a b " << weight << '\n';
    check_refused("line 1, column 5",
                  [&] { static_cast<void>(Graph::from_edge_list(edges, {.weighted = true})); });
  }
  std::remove(edges.c_str());

  RowMatrix vectors(4, 2);
  const double numbers[4][2] = {{1, 0}, {nan, 0}, {1, 1}, {-1, 0}};
  for (std::size_t i = 0; i < 4; ++i)
    std::transform(numbers[i], numbers[i] + 2, vectors.row_data(i), as_float);
  const Embeddings few(WordList::from(std::vector<std::string>{"a", "b", "c", "d"}),
                       std::move(vectors));
  std::string order;
  for (const auto& [word, score] : few.most_similar("a", 9)) order += word;
  check(order == "cdb", "a vector of NaN is last of the similar ones: " + order);
  const std::vector<SimilarityPair> pairs{{"a", "b", 1}, {"a", "c", 3}, {"a", "d", 2}};
  std::ostringstream report;
  report << evaluate_similarity(few, pairs);
  check(report.str().find("Spearman -") != report.str().npos, report.str());
  return failed ? 1 : 0;
}
