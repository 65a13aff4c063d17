#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>
#include <wordloom/evaluation/word_tests.hpp>
#include <wordloom/wordloom.hpp>

#include "lookup_options.hpp"

/// Returns one line of JSON. File names may be any bytes: invalid UTF-8 is replaced.
inline std::string line_of(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

/// Returns a number, null for NaN, which JSON does not have.
inline nlohmann::ordered_json json_number(double x) {
  return std::isfinite(x) ? nlohmann::ordered_json(x) : nlohmann::ordered_json(nullptr);
}

/// Evaluation sets that a command line names: they are read first and scored later.
class EvaluationSets {
 public:
  EvaluationSets(const std::vector<std::string>& similarity,
                 const std::vector<std::string>& analogy, const LookupOptions& lookup)
      : case_name_(lookup.letter_case),
        letter_case_(lookup.chosen_case()),
        restrict_vocabulary_(lookup.restrict_vocabulary) {
    for (const auto& path : similarity)
      similarity_.push_back({path, wordloom::SimilarityPair::load(path), {}, {}});
    for (const auto& path : analogy)
      analogy_.push_back({path, wordloom::AnalogySection::load(path), {}, {}});
  }

  bool empty() const { return similarity_.empty() && analogy_.empty(); }

  /// Throws InvalidArgument if all pairs or questions of a set would be skipped with vectors of
  /// `words`, by descending count: called before these are trained.
  void require_scored(const wordloom::WordList& words) const {
    const auto require = [&](const auto& sets, const char* what) {
      for (const auto& set : sets)
        if (!is_scored(words, set.data))
          throw wordloom::InvalidArgument(
              failure(words, set.path, count(set.data), what, words_of(set.data)));
    };
    require(similarity_, "pairs");
    require(analogy_, "questions");
  }

  /// `words`: Embeddings or SubwordEmbeddings.
  template <class Words>
  void run(const Words& words) {
    for (auto& set : similarity_) {
      set.report = wordloom::evaluate_similarity(words, set.data, letter_case_);
      if (set.report.used == 0)
        set.failure =
            failure(words.words(), set.path, count(set.data), "pairs", words_of(set.data));
    }
    for (auto& set : analogy_) {
      set.report = wordloom::evaluate_analogies(
          words.in_vocabulary(), set.data,
          {.restrict_vocabulary = restrict_vocabulary_, .letter_case = letter_case_});
      if (set.report.total.asked == 0)
        set.failure =
            failure(words.words(), set.path, count(set.data), "questions", words_of(set.data));
    }
  }

  /// Prints the reports of sets of which any part was scored.
  void print(std::ostream& out) const {
    const auto print_all = [&](const auto& sets) {
      for (const auto& set : sets)
        if (set.failure.empty()) out << set.path << '\n' << set.report << '\n';
    };
    print_all(similarity_);
    print_all(analogy_);
  }

  nlohmann::ordered_json json() const {
    auto scores = nlohmann::ordered_json::object();
    for (const auto& set : similarity_)
      scores["similarity"][set.path] = {{"spearman", json_number(set.report.spearman)},
                                        {"pairs", set.report.used},
                                        {"out_of_vocabulary", set.report.out_of_vocabulary},
                                        {"made_of_subwords", set.report.made_of_subwords}};
    for (const auto& set : analogy_) {
      auto& of_file = scores["analogy"][set.path];
      of_file = {{"accuracy", json_number(set.report.total.accuracy())},
                 {"semantic", json_number(set.report.semantic.accuracy())},
                 {"syntactic", json_number(set.report.syntactic.accuracy())},
                 {"asked", set.report.total.asked},
                 {"skipped", set.report.total.skipped}};
      for (const auto& group : set.report.groups)
        of_file["groups"][group.name] = json_number(group.count.accuracy());
    }
    return scores;
  }

  /// Throws InvalidArgument, with the reason, if all pairs or questions of a set were skipped.
  void require_scores() const {
    std::string message;
    const auto add = [&](const auto& sets) {
      for (const auto& set : sets)
        if (!set.failure.empty()) message += (message.empty() ? "" : "; ") + set.failure;
    };
    add(similarity_);
    add(analogy_);
    if (!message.empty()) throw wordloom::InvalidArgument(message);
  }

 private:
  template <class Data, class Report>
  struct Set {
    std::string path;
    Data data;
    Report report;
    std::string failure;  // reason why nothing of the set was scored
  };
  using Words = std::vector<std::string>;

  bool is_known(const wordloom::WordList& words, const std::string& word, std::size_t among) const {
    return wordloom::find_spelling(words, word, letter_case_, among).has_value();
  }
  bool is_scored(const wordloom::WordList& words,
                 const std::vector<wordloom::SimilarityPair>& pairs) const {
    return std::any_of(pairs.begin(), pairs.end(), [&](const auto& pair) {
      return is_known(words, pair.first, words.size()) &&
             is_known(words, pair.second, words.size());
    });
  }
  bool is_scored(const wordloom::WordList& words,
                 const std::vector<wordloom::AnalogySection>& sections) const {
    const std::size_t among =
        restrict_vocabulary_ == 0 ? words.size() : std::min(restrict_vocabulary_, words.size());
    const auto all_known = [&](const Words& asked) {
      return std::all_of(asked.begin(), asked.end(),
                         [&](const std::string& word) { return is_known(words, word, among); });
    };
    return std::any_of(sections.begin(), sections.end(), [&](const auto& section) {
      const auto known_pairs =
          std::count_if(section.pairs.begin(), section.pairs.end(), [&](const auto& pair) {
            return all_known({pair.word, pair.answers.front()});
          });
      return known_pairs > 1 ||
             std::any_of(section.questions.begin(), section.questions.end(), [&](const auto& q) {
               return all_known({q.a, q.b, q.c, q.d});
             });
    });
  }

  static std::size_t count(const std::vector<wordloom::SimilarityPair>& pairs) {
    return pairs.size();
  }
  static std::size_t count(const std::vector<wordloom::AnalogySection>& sections) {
    std::size_t questions = 0;
    for (const auto& [name, asked, pairs, group] : sections)
      questions += asked.size() + pairs.size() * (pairs.empty() ? 0 : pairs.size() - 1);
    return questions;
  }

  static Words words_of(const std::vector<wordloom::SimilarityPair>& pairs) {
    Words words;
    for (const auto& pair : pairs) words.insert(words.end(), {pair.first, pair.second});
    return words;
  }
  static Words words_of(const std::vector<wordloom::AnalogySection>& sections) {
    Words words;
    for (const auto& section : sections) {
      for (const auto& [a, b, c, d] : section.questions) words.insert(words.end(), {a, b, c, d});
      for (const auto& pair : section.pairs)
        words.insert(words.end(), {pair.word, pair.answers.front()});
    }
    return words;
  }

  /// Returns the reason why all `what` of a set with these words were skipped; `list`: words with
  /// vectors.
  std::string failure(const wordloom::WordList& list, const std::string& path, std::size_t asked,
                      const std::string& what, const Words& words) const {
    const auto known = [&](wordloom::LetterCase letter_case, std::size_t among) {
      std::size_t count = 0;
      for (const auto& word : words)
        count += wordloom::find_spelling(list, word, letter_case, among).has_value();
      return count;
    };
    const std::size_t all = list.size(), found = known(letter_case_, all);
    const std::size_t by_fallback = known(wordloom::LetterCase::fallback, all);
    if (words.empty()) return path + ": it has no " + what;
    const std::string start =
        path + ": all " + std::to_string(asked) + ' ' + what + " are skipped: ";
    const auto some = [&](std::size_t count) {
      return count == 0 ? "none of their words is"
                        : std::to_string(count) + " of their " + std::to_string(words.size()) +
                              " words are";
    };
    if (by_fallback > found)
      return start + some(found) + " among the vectors with --case " + case_name_ +
             ", with --case fallback " + std::to_string(by_fallback) + " would be";
    if (found == 0) {
      const std::string message =
          start + "none of their words is among the vectors, for example " + in_quotes(words[0]);
      const auto other = other_spelling(list, words);
      return other ? message + "; the vectors are of words such as " + in_quotes(*other) +
                         ", not in lower case"
                   : message;
    }
    if (what == "questions" && restrict_vocabulary_ != 0 && restrict_vocabulary_ < all &&
        known(letter_case_, restrict_vocabulary_) < found)
      return start + "each has a word that is not among the first " +
             std::to_string(restrict_vocabulary_) + " (--restrict-vocabulary 0: all are asked)";
    return start + "each has a word that is not among the vectors (" + some(found) + ")";
  }

  /// Returns a word of the vectors whose lower case is one of `words`, which are not in the
  /// vectors.
  static std::optional<std::string> other_spelling(const wordloom::WordList& list,
                                                   const Words& words) {
    const auto of_set = wordloom::WordList::from(words);
    for (std::size_t i = 0; i < list.size(); ++i)
      if (of_set.find(wordloom::lower_case(list[i]))) return std::string(list[i]);
    return std::nullopt;
  }

  std::string case_name_;
  wordloom::LetterCase letter_case_;
  std::size_t restrict_vocabulary_;
  std::vector<Set<std::vector<wordloom::SimilarityPair>, wordloom::SimilarityReport>> similarity_;
  std::vector<Set<std::vector<wordloom::AnalogySection>, wordloom::AnalogyReport>> analogy_;
};
