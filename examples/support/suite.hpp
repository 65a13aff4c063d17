#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <wordloom/evaluation.hpp>
#include <wordloom/wordloom.hpp>

#include "evaluation_sets.hpp"
#include "network_tests.hpp"
#include "suite_scores.hpp"

/// Test sets of a folder: similarity/*.tsv, analogy/*.txt, analogy/BATS*/, categorization/*.tsv,
/// classification/*.txt and classification/semeval*.tsv, each also as .gz. They are read once and
/// scored with any vectors.
class Suite {
 public:
  /// Throws IoError and FormatError for a set, and InvalidArgument if there is none.
  explicit Suite(SuiteOptions options) : options_(std::move(options)) {
    namespace w = wordloom;
    if (!std::filesystem::is_directory(options_.folder))
      throw w::IoError("'" + options_.folder.string() + "' is not a folder of test sets");
    for (const auto& [name, path] : files("similarity", ".tsv"))
      if (options_.wants("similarity"))
        similarity_.emplace_back(name, w::SimilarityPair::load(path));
    const bool asks = options_.wants("cos-add") || options_.wants("cos-mul");
    if (asks || options_.wants("lrcos")) {
      for (const auto& [name, path] : files("analogy", ".txt"))
        analogy_.emplace_back(name == "questions-words" ? "google" : name,
                              w::AnalogySection::load(path));
      for (const auto& at : entries_of("analogy"))
        if (is_bats(at)) analogy_.emplace_back("BATS", w::AnalogySection::load(at.path()));
      std::sort(analogy_.begin(), analogy_.end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    for (const auto& [name, path] : files("categorization", ".tsv"))
      if (options_.wants("categorization"))
        categories_.emplace_back(name, w::WordCategories::load(path));
    const bool reads_sentences = options_.wants("mean") || options_.reads_sentences_by_networks();
    if (reads_sentences && options_.protocol == "default") load_sentences();
    if (options_.wants("relations") && options_.protocol == "default") load_relations();
    refuse_repeated("similarity", similarity_);
    refuse_repeated("analogy", analogy_);
    refuse_repeated("categorization", categories_);
    for (const auto& [name, sections] : analogy_)
      for (const auto& section : sections)
        if (section.group == "all")
          throw w::InvalidArgument((options_.folder / "analogy").string() +
                                   ": a folder of relations is named 'all', as the scores of all "
                                   "relations are: rename it");
    if (similarity_.empty() && analogy_.empty() && categories_.empty() && sentences_.empty() &&
        relations_.empty())
      throw w::InvalidArgument(options_.folder.string() +
                               ": no test set of these parts and this protocol: expected "
                               "similarity/*.tsv, analogy/*.txt, analogy/BATS*/, "
                               "categorization/*.tsv or classification/*.txt");
  }

  /// Returns the files and folders beside the test sets that no option reads, and the files like
  /// test sets that are in none of their folders.
  std::vector<std::string> unread() const {
    const std::pair<std::string, std::string> endings[] = {{"similarity", ".tsv"},
                                                           {"analogy", ".txt"},
                                                           {"categorization", ".tsv"},
                                                           {"classification", ".txt"}};
    std::vector<std::string> paths;
    for (const char* const ending : {".tsv", ".txt"})
      for (const auto& [name, path] : files("", ending)) paths.push_back(path.string());
    for (const auto& [folder, ending] : endings) {
      for (const auto& at : entries_of(folder)) {
        std::string name = at.path().filename().string();
        if (name.ends_with(".gz")) name.resize(name.size() - 3);
        const bool has_relations = folder == "classification" && name.ends_with(".tsv") &&
                                   is_of_relations(name.substr(0, name.size() - 4));
        const bool is_set = is_file(at) && (name.ends_with(ending) || has_relations);
        const bool is_read = is_set || (folder == "analogy" && is_bats(at));
        if (!name.starts_with('.') && !is_read) paths.push_back(at.path().string());
      }
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  /// Adds the scores of one run to those of a method. `known`: vectors of the vocabulary of
  /// `words`, or of the part of it that is to be searched.
  template <class Words>
  void run(const Words& words, const wordloom::Embeddings& known, SuiteScores& scores) const {
    namespace w = wordloom;
    const auto letter_case = options_.lookup.chosen_case();
    const bool is_default = options_.protocol == "default", of_vecto = options_.protocol == "vecto";
    for (const auto& [name, pairs] : similarity_) {
      start();
      const auto report = w::evaluate_similarity(
          words, pairs, {.letter_case = letter_case, .unknown_is_zero = !is_default});
      const std::size_t found = pairs.size() - report.out_of_vocabulary;
      const std::size_t used = is_default || found == 0 ? found : pairs.size();
      auto& entry = add(scores, (is_default ? "similarity/" : "similarity, unknown 0/") + name,
                        "Spearman", found == 0 ? nan() : report.spearman, used, pairs.size() - used,
                        {{"found", found}, {"pairs", pairs.size()}});
      entry.items.push_back(report.cosines);
      entry.people.clear();
      for (const auto& pair : pairs) entry.people.push_back(pair.score);
    }
    for (const auto& [name, sections] : analogy_) {
      const bool is_bats = name == "BATS";
      for (const auto& [part, title, method] :
           {std::tuple{"cos-add", "3CosAdd", w::AnalogyMethod::cos_add},
            std::tuple{"cos-mul", "3CosMul", w::AnalogyMethod::cos_mul}}) {
        if (!options_.wants(part) || (is_bats && options_.protocol == "hyperwords")) continue;
        start();
        const auto report = w::evaluate_analogies(
            known, sections,
            {.method = method,
             .epsilon = options_.protocol == "hyperwords" ? 0.01f : 0.001f,
             .restrict_vocabulary =
                 is_bats || !is_default ? 0 : std::size_t{options_.lookup.restrict_vocabulary},
             .letter_case = letter_case});
        add_analogies(scores, title, name, report, sections);
      }
#if WORDLOOM_HAS_LIBLINEAR
      if (options_.wants("lrcos") && options_.protocol != "hyperwords") {
        start();
        add_analogies(scores, "LRCos", name,
                      w::PairRelations::evaluate(known, sections, {.letter_case = letter_case}),
                      sections);
      }
#endif
    }
    for (const auto& [name, set] : categories_) {
      if (options_.protocol == "hyperwords") break;
      start();
      const auto report = set.evaluate(known, {.letter_case = letter_case});
      auto& entry = add(scores, (of_vecto ? "inverse purity/" : "purity/") + name,
                        of_vecto ? "inverse purity" : "purity",
                        of_vecto ? report.inverse_purity.mean : report.purity.mean, report.used,
                        report.left_out,
                        {{"deviation", json_number(report.purity.deviation)},
                         {"inverse_purity", json_number(report.inverse_purity.mean)},
                         {"words", report.used},
                         {"left_out", report.left_out},
                         {"categories", report.categories}});
      entry.items.push_back(of_vecto ? std::vector<double>{} : report.words);
    }
    [[maybe_unused]] const auto add_sentences = [&](const std::string& title,
                                                    const auto& classify) {
      for (const auto& [name, set] : sentences_) {
        start();
        const w::SentenceSet::Report report = classify(set);
        const bool is_known = report.without_words < set.sentences.size();
        auto& entry = add(scores, title + name, "accuracy", is_known ? report.accuracy : nan(),
                          is_known ? report.used : 0, is_known ? 0 : report.used,
                          {{"folds", report.folds}, {"without_words", report.without_words}});
        entry.items.emplace_back();
        for (const std::uint8_t right : report.right)
          entry.items.back().push_back(is_known ? right : nan());
      }
    };
#if WORDLOOM_HAS_LIBLINEAR
    if (options_.wants("mean"))
      add_sentences("mean vector/", [&](const w::SentenceSet& set) {
        return set.evaluate(known, {.letter_case = letter_case});
      });
#endif
#if WORDLOOM_HAS_BLAS
    for (const bool is_trained : {false, true})
      if (options_.wants(is_trained ? "cnn-trained" : "cnn"))
        add_sentences(is_trained ? "CNN trained/" : "CNN/", [&](const w::SentenceSet& set) {
          return network_tests::classify(set, known, letter_case, is_trained);
        });
    if (options_.wants("lstm"))
      add_sentences("LSTM/", [&](const w::SentenceSet& set) {
        return network_tests::classify_by_lstm(set, known, letter_case);
      });
    for (const auto& [name, set] : relations_) {
      start();
      const auto report = network_tests::relate(set, known, letter_case);
      const bool is_known = report.known > 0;
      const std::size_t tested = set.tested.size();
      add(scores, "relations/" + name, "macro F1", is_known ? report.f1 : nan(),
          is_known ? tested : 0, is_known ? 0 : tested,
          {{"words", report.words}, {"known", report.known}})
          .items.emplace_back();
    }
#endif
  }

  /// Returns vectors of the same words with normal numbers, as long as those on average.
  static wordloom::Embeddings random_vectors(const wordloom::Embeddings& words) {
    wordloom::Random random(1);
    double squares = 0;
    for (const auto& [word, vector] : words)
      for (const float x : vector) squares += double{x} * double{x};
    const double scale = std::sqrt(squares / static_cast<double>(words.size() * words.dimension()));
    wordloom::RowMatrix rows(words.size(), words.dimension());
    for (std::size_t i = 0; i < rows.rows(); ++i)
      for (float& x : rows.row(i))  // Box and Muller 1958
        x = static_cast<float>(scale * std::sqrt(-2 * std::log(1 - random.uniform())) *
                               std::cos(2 * std::numbers::pi * random.uniform()));
    std::vector<std::string> names;
    for (const auto& [word, vector] : words) names.emplace_back(word);
    return {wordloom::WordList::from(names), std::move(rows)};
  }

 private:
  using Files = std::vector<std::pair<std::string, std::filesystem::path>>;
  template <class Data>
  using Sets = std::vector<std::pair<std::string, Data>>;

  static double nan() { return std::numeric_limits<double>::quiet_NaN(); }

  /// Returns what is in a folder; nothing if there is no such folder. Throws IoError if it cannot
  /// be read.
  std::vector<std::filesystem::directory_entry> entries_of(const std::string& folder) const {
    const std::filesystem::path path = options_.folder / folder;
    std::error_code error;
    std::vector<std::filesystem::directory_entry> entries;
    for (std::filesystem::directory_iterator at(path, error), end; !error && at != end;
         at.increment(error))
      entries.push_back(*at);
    if (error && error != std::errc::no_such_file_or_directory)
      throw wordloom::IoError("'" + path.string() + "': cannot be read: " + error.message());
    return entries;
  }
  static std::filesystem::file_type type_of(const std::filesystem::directory_entry& at) {
    std::error_code error;
    const auto type = at.status(error).type();
    if (type == std::filesystem::file_type::none || type == std::filesystem::file_type::unknown)
      throw wordloom::IoError("'" + at.path().string() + "': cannot be read: " + error.message());
    return type;
  }
  static bool is_file(const auto& at) { return type_of(at) == std::filesystem::file_type::regular; }
  static bool is_bats(const std::filesystem::directory_entry& at) {
    return at.path().filename().string().starts_with("BATS") &&
           type_of(at) == std::filesystem::file_type::directory;
  }

  /// Returns the files of a folder that end so, or so and .gz, by name.
  Files files(const std::string& folder, const std::string& ending) const {
    Files found;
    for (const auto& at : entries_of(folder)) {
      std::string name = at.path().filename().string();
      if (name.ends_with(".gz")) name.resize(name.size() - 3);
      if (name.starts_with('.') || !name.ends_with(ending) || !is_file(at)) continue;
      name.resize(name.size() - ending.size());
      found.emplace_back(name, at.path());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  /// Throws InvalidArgument for two sets of one name, whose scores would be taken for those of two
  /// runs.
  template <class Of>
  void refuse_repeated(const std::string& folder, const Of& sets) const {
    for (std::size_t i = 1; i < sets.size(); ++i)
      if (sets[i].first == sets[i - 1].first)
        throw wordloom::InvalidArgument((options_.folder / folder).string() +
                                        ": two sets are named '" + sets[i].first +
                                        "' (.gz and BATS... have the name of the others): leave "
                                        "one out");
  }

  void load_sentences() {
    std::map<std::string, std::map<std::string, std::filesystem::path>> sets;
    for (const auto& [name, path] : files("classification", ".txt")) {
      // NAME.train, .dev or .test, or the name of a whole set.
      const std::size_t dot = std::min(name.rfind('.'), name.size());
      const std::string part = name.substr(std::min(dot + 1, name.size()));
      const bool is_part = part == "train" || part == "dev" || part == "test";
      auto& place = is_part ? sets[name.substr(0, dot)][part] : sets[name][""];
      if (!place.empty())
        throw wordloom::InvalidArgument("'" + place.string() + "' and '" + path.string() +
                                        "' are one set: leave one out");
      place = path;
    }
    for (const auto& [name, parts] : sets) {
      if (!parts.contains("")) require_both(name, parts, "train", "test");
      std::vector<std::filesystem::path> paths;
      for (const char* const part : {"", "train", "dev", "test"})
        if (const auto at = parts.find(part); at != parts.end()) paths.push_back(at->second);
      if (!paths.empty())
        sentences_.emplace_back(name, wordloom::SentenceSet::load(paths, name.starts_with("sst")));
    }
  }

  /// Reads NAME.train.tsv and NAME.test.tsv of SemEval.
  void load_relations() {
    std::map<std::string, std::map<std::string, std::filesystem::path>> sets;
    for (const auto& [name, path] : files("classification", ".tsv"))
      if (is_of_relations(name))
        sets[name.substr(0, name.rfind('.'))][name.substr(name.rfind('.'))] = path;
    for (const auto& [name, parts] : sets) {
      require_both(name, parts, ".train", ".test");
      relations_.emplace_back(name,
                              wordloom::WordRelations::load(parts.at(".train"), parts.at(".test")));
    }
  }

  /// Throws InvalidArgument for a part of a set without the other, which would be scored as a
  /// whole set, or be left out.
  static void require_both(const std::string& name,
                           const std::map<std::string, std::filesystem::path>& parts,
                           const std::string& train, const std::string& test) {
    if (parts.contains(train) && parts.contains(test)) return;
    throw wordloom::InvalidArgument("'" + parts.begin()->second.string() + "' is a part of '" +
                                    name + "': its " + (parts.contains(train) ? "test" : "train") +
                                    " file is not beside it");
  }

  static bool is_of_relations(const std::string& name) {
    return name.starts_with("semeval") && (name.ends_with(".train") || name.ends_with(".test"));
  }

  void start() const { started_ = std::chrono::steady_clock::now(); }

  SuiteEntry& add(SuiteScores& scores, const std::string& name, const std::string& measure,
                  double value, std::size_t used, std::size_t left_out,
                  nlohmann::ordered_json details) const {
    SuiteEntry& entry = scores.at(name);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - started_;
    start();
    entry.measure = measure;
    entry.values.push_back(value);
    entry.seconds.push_back(time.count());
    entry.details.push_back(std::move(details));
    entry.used.push_back(used);
    entry.left_out.push_back(left_out);
    return entry;
  }

  /// Adds the accuracy of all sections; of BATS and of relations, of each group of them, too.
  void add_analogies(SuiteScores& scores, const std::string& title, const std::string& set,
                     const wordloom::AnalogyReport& report,
                     const std::vector<wordloom::AnalogySection>& sections) const {
    using Count = wordloom::AnalogyReport::Count;
    using Outcome = wordloom::AnalogyReport::Outcome;
    const bool counts_all = options_.protocol != "default", is_lr_cos = title == "LRCos";
    const auto value = [&](const Count& count) {
      return count.asked == 0 ? nan() : counts_all ? count.accuracy_of_all() : count.accuracy();
    };
    const auto add_count = [&](const std::string& name, const Count& count, const auto& is_in) {
      const std::size_t all = count.asked + count.skipped,
                        used = counts_all && count.asked > 0 ? all : count.asked;
      auto& entry = add(scores, name, "accuracy", value(count), used, all - used,
                        {{"correct", count.correct},
                         {"asked", used},
                         {"known", count.asked},
                         {"skipped", count.skipped},
                         {"of_all", json_number(count.accuracy_of_all())}});
      entry.items.emplace_back();
      for (std::size_t s = 0; s < sections.size(); ++s)
        if (is_in(sections[s]))
          for (const Outcome outcome : report.sections[s].outcomes)
            entry.items.back().push_back(outcome == Outcome::right                 ? 1
                                         : outcome == Outcome::wrong || counts_all ? 0
                                                                                   : nan());
    };
    const auto all = [](const auto&) { return true; };
    if (set == "BATS" || is_lr_cos) {
      const std::string prefix = title + " " + set + (counts_all ? ", unknown wrong/" : "/");
      if (set == "BATS") {
        for (const auto& group : report.groups)
          add_count(prefix + group.name, group.count,
                    [&](const auto& section) { return section.group == group.name; });
      } else {
        add_count(prefix + "semantic", report.semantic,
                  [](const auto& section) { return !section.syntactic(); });
        add_count(prefix + "syntactic", report.syntactic,
                  [](const auto& section) { return section.syntactic(); });
      }
      add_count(prefix + "all", report.total, all);
    } else {
      const std::string prefix = options_.protocol == "hyperwords" ? "hyperwords " : "",
                        ending = options_.protocol == "vecto" ? ", unknown wrong/" : "/",
                        name = prefix + title + ending + set;
      add_count(name, report.total, all);
      auto& details = scores.at(name).details.back();
      details["semantic"] = json_number(value(report.semantic));
      details["syntactic"] = json_number(value(report.syntactic));
    }
  }

  SuiteOptions options_;
  Sets<std::vector<wordloom::SimilarityPair>> similarity_;
  Sets<std::vector<wordloom::AnalogySection>> analogy_;
  Sets<wordloom::WordCategories> categories_;
  Sets<wordloom::SentenceSet> sentences_;
  Sets<wordloom::WordRelations> relations_;
  mutable std::chrono::steady_clock::time_point started_;
};
