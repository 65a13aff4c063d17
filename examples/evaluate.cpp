// Scores vectors of any format: of words, evaluate FILE --similarity FILE --analogy FILE;
// of nodes, evaluate FILE --links GRAPH --labels FILE; of several runs of two methods on a folder
// of test sets, evaluate A1 A2 A3 --against B1 B2 B3 --suite FOLDER
#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <type_traits>
#include <vector>
#include <wordloom/graph.hpp>
#include <wordloom/wordloom.hpp>

#include "any_vectors.hpp"
#include "command_line.hpp"
#include "common_words.hpp"
#include "distinct_files.hpp"
#include "evaluation_sets.hpp"
#include "node_tests.hpp"
#include "sentence_tests.hpp"
#include "suite_report.hpp"

namespace {

/// Scores runs of one method, or of two, on the sets of a folder, and prints the scores.
void run_suite(const SuiteOptions& options, const std::vector<std::string>& vectors,
               const std::vector<std::string>& against, bool with_floor, bool json,
               const wordloom::LoadOptions& loading) {
#if !WORDLOOM_HAS_LIBLINEAR
  warn("evaluate", {"relations and sentences (lrcos, mean) are left out: they need a build with "
                    "LIBLINEAR (WORDLOOM_ENABLE_LIBLINEAR)"});
#endif
#if !WORDLOOM_HAS_BLAS
  if (options.has_networks())
    warn("evaluate", {"networks (cnn, lstm, relations) are left out: they need a build with CBLAS "
                      "(WORDLOOM_ENABLE_BLAS)"});
#endif
  for (const auto* const method : {&vectors, &against})
    for (auto path = method->begin(); path != method->end(); ++path)
      if (std::find(method->begin(), path, *path) != path)
        throw wordloom::InvalidArgument("'" + *path +
                                        "' is given twice: seeds of a method are different files");
  const Suite suite(options);
  SuiteScores scores, other, floor;
  nlohmann::ordered_json output{{"protocol", options.protocol}};
  CommonWords common;
  bool only_common = false;
  const auto run = [&](const std::vector<std::string>& paths, const char* name,
                       SuiteScores& result) {
    output[name] = nlohmann::ordered_json::array();
    for (const std::string& path : paths)
      with_vectors_in(path, "", loading, [&](const auto& words) {
        wordloom::Embeddings known = words.in_vocabulary();
        if (only_common)
          known = common.of(known);
        else if (!against.empty())
          common.add(known);
        if constexpr (std::is_same_v<std::decay_t<decltype(words)>, wordloom::Embeddings>)
          suite.run(known, known, result);
        else  // has vectors of other words, too
          suite.run(words, known, result);
        output[name].push_back(
            {{"path", path}, {"words", known.size()}, {"dimension", known.dimension()}});
        if (with_floor && &result == &scores && floor.order.empty()) {
          const wordloom::Embeddings random = Suite::random_vectors(known);
          suite.run(random, random, floor);
        }
      });
  };
  run(vectors, "vectors", scores);
  if (!against.empty()) {
    run(against, "against", other);
    if (common.are_fewer()) {  // a test is easier where there are fewer words to choose from
      if (common.size() == 0)
        throw wordloom::InvalidArgument("no word is in all files: nothing can be compared");
      for (const auto* const method : {&vectors, &against})
        for (const std::string& path : *method)
          if (!std::filesystem::is_regular_file(path))
            throw wordloom::InvalidArgument("'" + path +
                                            "' must be read twice, because the vectors have "
                                            "different words: give a file");
      warn("evaluate", {"the vectors have different words: all are scored with the " +
                        std::to_string(common.size()) + " words that all have"});
      only_common = true;
      scores = other = floor = {};
      run(vectors, "vectors", scores);
      run(against, "against", other);
    }
  }
  // Once vectors could be read: an error is one line.
  for (const std::string& path : suite.unread())
    warn("evaluate",
         {path + " is not read: it is no test set in a folder and form that --suite knows"});
  if (scores.order.empty())
    throw wordloom::InvalidArgument("--protocol " + options.protocol +
                                    " has none of the tests of --only");
  output["scores"] = json_of(scores);
  if (with_floor) output["floor"] = json_of(floor);
  std::vector<SuiteComparison> comparison;
  if (!against.empty()) {
    comparison = compare(other, scores);
    output["scores_against"] = json_of(other);
    output["comparison"] = json_of(comparison);
  }
  if (json) {
    std::cout << line_of(output);
  } else {
    print(std::cout, scores, floor);
    if (!against.empty()) print(std::cout, comparison);
  }
  end_output();
  if (std::none_of(scores.order.begin(), scores.order.end(),
                   [&](const auto& name) { return scores.entries.at(name).is_known(); }))
    throw wordloom::InvalidArgument(options.folder.string() +
                                    ": no item of its sets can be scored: their words have no "
                                    "vectors, or --restrict-vocabulary leaves them out");
}

}  // namespace

int main(int argc, char** argv) try {
  report_too_large_files();
  CLI::App app(
      "Scores vectors of words on similarity and analogies, those of nodes on links and "
      "labels");
  app.set_version_flag("--version", "evaluate of Wordloom " + std::string(wordloom::version));
  std::string links, training_graph, labels;
  std::vector<std::string> vectors, against, similarity, analogy, sentences;
  SuiteOptions suite;
  bool with_floor = false;
  std::vector<double> shares;
  std::uint64_t split_seed = 1;
  bool json = false;
  auto* const file =
      app.add_option("vectors", vectors,
                     "Vectors, in any format that Wordloom writes, or a model; with --suite, those "
                     "of several seeds of one method");
  app.add_option("--similarity", similarity,
                 "Word pairs with scores, as published: WS-353, SimLex-999, MEN, RW, ...");
  app.add_option("--analogy", analogy,
                 "Questions: questions-words.txt, a file of BATS or its folder");
  auto* const sentence_pairs = app.add_option(
      "--sentence-similarity", sentences,
      "Pairs of sentences, lines 'score<TAB>sentence<TAB>sentence' (STS): by the "
      "mean of their words and, if words have counts, by smooth inverse frequency (sif)");
  bool zipf = false;
  app.add_flag("--zipf", zipf, "Without counts, take Zipf's law, for words in order of frequency")
      ->needs(sentence_pairs);
  LookupOptions lookup;
  declare_lookup(app, lookup, "Options");
  auto* const folder = app.add_option(
      "--suite", suite.folder,
      "A folder of test sets: similarity/*.tsv, analogy/*.txt, analogy/BATS*/, "
      "categorization/*.tsv, classification/*.txt, classification/semeval*.tsv (also .gz)");
  app.add_option(
         "--only", suite.only,
         "Only these tests: similarity, cos-add and cos-mul (analogies), lrcos (relations), "
         "categorization (purity of k-means), mean (sentences by their mean vector), cnn "
         "(sentences by Kim's network; cnn-trained: it trains the vectors, too), lstm (sentences "
         "by long short-term memory), relations (of SemEval, by Zeng's network)")
      ->needs(folder)
      ->check(CLI::IsMember(suite_parts));
  app.add_option("--protocol", suite.protocol,
                 "default: unknown words are left out; hyperwords: similarity 0, analogies wrong, "
                 "among all words; vecto: the same on BATS, and inverse purity")
      ->needs(folder)
      ->check(CLI::IsMember({"default", "hyperwords", "vecto"}))
      ->capture_default_str();
  app.add_option("--against", against,
                 "Vectors of seeds of another method: is the first worse by more than 0.01?")
      ->needs(folder);
  app.add_flag("--floor", with_floor, "Also the scores of random vectors of the same words")
      ->needs(folder);
  app.add_flag("--slow", suite.slow, "Also cnn, lstm and relations, which train for minutes")
      ->needs(folder);
  auto* const graph = app.add_option("--links", links,
                                     "An undirected graph without weights, of which half of the "
                                     "edges are held out to be predicted, as node2vec "
                                     "--evaluate-links does");
  app.add_option("--split-seed", split_seed, "Which half")
      ->check(whole_number)
      ->capture_default_str()
      ->needs(graph);
  app.add_option("--write-training-graph", training_graph,
                 "Write the other half to this file, to train vectors on it, and end")
      ->needs(graph)
      ->excludes(file);
  auto* const labelled =
      app.add_option("--labels", labels, "Lines 'node label label ...', also with commas or tabs");
  app.add_option("--label-share", shares,
                 "Share of the labelled nodes to train on; may be given again. Without: 0.1 to 0.9")
      ->needs(labelled);
  std::uint64_t folds = 0;
  app.add_option("--label-folds", folds,
                 "One cross-validation with so many parts in place of shares; PAR-Word2Vec has 10")
      ->check(CLI::Range(2, 1000))
      ->needs(labelled)
      ->excludes("--label-share");
  bool concatenates = false;
  app.add_flag(
         "--link-svm", concatenates,
         "Also PAR-Word2Vec's test of links: a linear SVM of both vectors, one after the other")
      ->needs(graph);
  app.add_flag("--json", json, "One JSON object on stdout");
  wordloom::LoadOptions loading;
  declare_load_options(app, loading, "evaluate");
  for (const char* const unused : {"--similarity", "--analogy", "--sentence-similarity", "--suite",
                                   "--labels", "--link-svm", "--json", "--limit", "--strict"})
    app.get_option("--write-training-graph")->excludes(unused);
  set_rules_of_values(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help or --version
    return end_parsing(app, done);
  }
#if !WORDLOOM_HAS_LIBLINEAR
  if (!labels.empty() || concatenates)
    throw wordloom::InvalidArgument(
        "--labels and --link-svm need a build with LIBLINEAR (WORDLOOM_ENABLE_LIBLINEAR)");
#endif
  require_distinct({{"--links", links}, {"--write-training-graph", training_graph, true}});
  const bool has_suite = app.count("--suite") > 0;
  if (!has_suite)
    check_lookup(app, sentences.empty() ? "--similarity" : "--sentence-similarity", "--analogy");
  warn("evaluate", warnings_of_repeated(app));
  NodeTests nodes(labels);
  if (concatenates) nodes.add_concatenation();
  nodes.cross_validate(folds);
  if (!links.empty()) {
    const auto rest = nodes.hold_links_out(wordloom::Graph::from_edge_list(links), split_seed);
    if (!training_graph.empty()) {
      rest.save_edge_list(training_graph);
      return 0;
    }
  }
  if (vectors.empty()) throw wordloom::InvalidArgument("vectors is required");
  SentenceTests sentence_tests(sentences, zipf, lookup.chosen_case());
  if (!has_suite && similarity.empty() && analogy.empty() && nodes.empty() && sentences.empty())
    throw wordloom::InvalidArgument(
        "nothing to score: give --similarity, --analogy, --sentence-similarity, --suite, --links "
        "or --labels");
  if (has_suite) {
    for (const char* const option :
         {"--similarity", "--analogy", "--sentence-similarity", "--links", "--labels"})
      if (app.count(option) > 0)
        throw wordloom::InvalidArgument(std::string(option) + " does not go with --suite");
    if (suite.protocol != "default" && app.count("--restrict-vocabulary") > 0)
      throw wordloom::InvalidArgument("--restrict-vocabulary has no effect with --protocol " +
                                      suite.protocol + ", which searches all words");
    suite.lookup = lookup;
    run_suite(suite, vectors, against, with_floor, json, loading);
    return 0;
  }
  if (vectors.size() > 1)
    throw wordloom::InvalidArgument("one file of vectors at a time, except with --suite");
  EvaluationSets sets(similarity, analogy, lookup);
  const auto run = [&](const auto& embeddings) {
    sets.run(embeddings);
    sentence_tests.run(embeddings);
    nodes.run(embeddings.in_vocabulary(), 0, shares);
  };
  with_vectors_in(vectors.front(), "", loading, run);
  if (json) {
    auto scores = sets.json();
    scores.update(sentence_tests.json());
    scores.update(nodes.json());
    std::cout << line_of(scores);
  } else {
    sets.print(std::cout);
    sentence_tests.print(std::cout);
    nodes.print(std::cout);
  }
  end_output();
  sets.require_scores();
  return 0;
} catch (const std::exception& error) {
  std::cerr << "evaluate: error: " << message_of(error, "evaluate", argc, argv) << '\n';
  return 1;
}
