#pragma once
#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/evaluation/analogy_sets.hpp>
#include <wordloom/evaluation/letter_case.hpp>
#include <wordloom/evaluation/word_similarity.hpp>
#include <wordloom/model/embeddings.hpp>

/// Evaluation of vectors by analogies.
namespace wordloom { inline namespace WORDLOOM_ABI {

/// Numbers of answers to a set of questions.
struct AnalogyReport {
  /// Options of evaluate_analogies.
  struct Options {
    AnalogyMethod method = AnalogyMethod::cos_add;
    /// Answers are among this many most frequent words, and a question with a rarer word is
    /// skipped; 0 = all words.
    std::size_t restrict_vocabulary = 30'000;
    /// The lookup of the words of a question among these words.
    LetterCase letter_case = LetterCase::fallback;
    /// Threads that search, as in Embeddings; 0: as many as the questions need.
    std::size_t threads = 0;
  };

  /// Numbers of questions asked and answered right; `skipped`: those with an unknown word.
  struct Count {
    std::size_t correct = 0, asked = 0, skipped = 0;

    /// Returns correct / asked; NaN if none was asked.
    double accuracy() const {
      return asked == 0 ? std::numeric_limits<double>::quiet_NaN()
                        : static_cast<double>(correct) / static_cast<double>(asked);
    }
    void operator+=(const Count& other) {
      correct += other.correct;
      asked += other.asked;
      skipped += other.skipped;
    }
  };

  struct Section {
    std::string name;
    Count count;
  };
  std::vector<Section> sections;
  std::vector<Section> groups;  // sums over sections, by the name of their group
  Count semantic, syntactic, total;
};

std::ostream& operator<<(std::ostream& out, const AnalogyReport& report);

/// Asks all questions; an answer is right if the expected word is the best of all except a, b and
/// c. For each two pairs of words x and y of a section, "x is to its first answer as y is to ?" is
/// asked; any answer of y is right, but an answer of x is never given (as in vecto on BATS). The
/// question is skipped if x, y or one of their first answers is missing. The result does not depend
/// on the number of threads.
[[nodiscard]] AnalogyReport evaluate_analogies(const Embeddings& embeddings,
                                               std::span<const AnalogySection> sections,
                                               const AnalogyReport::Options& options = {});

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION std::ostream& operator<<(std::ostream& out, const AnalogyReport& report) {
  std::ostringstream text;
  const auto count_row = [&](const std::string& name, const AnalogyReport::Count& count) {
    detail::write_row(text, 9, name, detail::score_text(count.accuracy()), count.correct,
                      count.asked, count.skipped);
  };
  detail::write_row(text, 9, "analogies", "accuracy", "correct", "asked", "skipped");
  for (const auto& section : report.sections) count_row(section.name, section.count);
  for (const auto& group : report.groups) count_row(group.name, group.count);
  count_row("semantic", report.semantic);
  count_row("syntactic", report.syntactic);
  count_row("all", report.total);
  return out << text.str();
}

namespace detail {

/// Asks the questions of one section at a time.
class AnalogySearch {
 public:
  AnalogySearch(const Embeddings& embeddings, const AnalogyReport::Options& options)
      : embeddings_(embeddings),
        options_(options),
        count_(options.restrict_vocabulary == 0
                   ? embeddings.size()
                   : (std::min)(options.restrict_vocabulary, embeddings.size())) {}

  AnalogyReport::Count count(const AnalogySection& section) {
    result_ = {};
    ask_questions(section.questions);
    search();
    ask_pairs(section.pairs);
    return result_;
  }

 private:
  /// The known words of an AnalogySection::Pair.
  struct Pair {
    WordId word = 0;
    std::vector<WordId> answers;  // the first is the first of AnalogySection::Pair
  };

  std::optional<WordId> find(const std::string& word) const {
    return find_spelling(embeddings_.words(), word, options_.letter_case, count_);
  }

  void ask_questions(const std::vector<AnalogySection::Question>& questions) {
    for (const auto& question : questions) {
      const auto a = find(question.a), b = find(question.b), c = find(question.c),
                 d = find(question.d);
      if (a && b && c && d)
        ask({*a, *b, *c}, *d);
      else
        ++result_.skipped;
    }
  }

  void ask_pairs(const std::vector<AnalogySection::Pair>& pairs) {
    std::vector<Pair> known;
    for (const auto& [word, answers] : pairs) {
      const auto id = find(word), first = answers.empty() ? std::nullopt : find(answers[0]);
      if (!id || !first) continue;
      known.push_back({*id, {}});
      for (const auto& answer : answers)
        if (const auto other = find(answer)) known.back().answers.push_back(*other);
    }
    if (pairs.empty()) return;
    result_.skipped += pairs.size() * (pairs.size() - 1);
    for (const Pair& x : known)
      for (const Pair& y : known) {
        if (&x == &y) continue;
        --result_.skipped;
        ask({x.word, x.answers[0], y.word}, y.answers[0], &x, &y);
      }
    search();  // as long as `known` lives
  }

  void ask(const AnalogyIds& question, WordId expected, const Pair* x = nullptr,
           const Pair* y = nullptr) {
    if (asked_.size() == max_asked) search();
    asked_.push_back(question);
    expected_.push_back({expected, x, y});
  }

  /// Searches the answers of the waiting questions: the best answer of nearly all, because a search
  /// for many takes long.
  void search() {
    result_.asked += asked_.size();
    std::size_t most = 1;  // answers, all but one of which may be those of x
    for (const Expected& expected : expected_)
      if (expected.x) most = (std::max)(most, expected.x->answers.size() + 1);
    search(1);
    search(most);
    asked_.clear();
    expected_.clear();
  }

  /// Searches the `best` best answers of the waiting questions, and leaves those that need more.
  void search(std::size_t best) {
    const RowQueries queries{embeddings_.vectors(), embeddings_.inverse_lengths()};
    const auto answers = queries.analogies(
        asked_, best, options_.method,
        {.restrict_vocabulary = options_.restrict_vocabulary, .threads = options_.threads});
    std::size_t waiting = 0;
    for (std::size_t q = 0; q < answers.size(); ++q) {
      const auto& [word, x, y] = expected_[q];
      const auto is_in = [](const NearestRow& answer, const std::vector<WordId>& words) {
        return std::find(words.begin(), words.end(), answer.row) != words.end();
      };
      const auto given = std::find_if(
          answers[q].begin(), answers[q].end(),
          [&, x = x](const NearestRow& answer) { return !x || !is_in(answer, x->answers); });
      if (given != answers[q].end()) {
        result_.correct += y ? is_in(*given, y->answers) : given->row == word;
      } else if (answers[q].size() == best) {
        asked_[waiting] = asked_[q];
        expected_[waiting++] = expected_[q];
      }
    }
    asked_.resize(waiting);
    expected_.resize(waiting);
  }

  struct Expected {
    WordId word;
    const Pair *x, *y;  // the pairs of a question that pairs make
  };

  static constexpr std::size_t max_asked = 65'536;  // at a time, which bounds the memory

  const Embeddings& embeddings_;
  const AnalogyReport::Options& options_;
  std::size_t count_;  // words that are looked up
  AnalogyReport::Count result_;
  std::vector<AnalogyIds> asked_;
  std::vector<Expected> expected_;
};

}  // namespace detail

WORDLOOM_FUNCTION AnalogyReport evaluate_analogies(const Embeddings& embeddings,
                                                   std::span<const AnalogySection> sections,
                                                   const AnalogyReport::Options& options) {
  detail::AnalogySearch search(embeddings, options);
  AnalogyReport report;
  for (const auto& section : sections) {
    const AnalogyReport::Count result = search.count(section);
    report.sections.push_back({section.name, result});
    if (!section.group.empty()) {
      auto group = std::find_if(report.groups.begin(), report.groups.end(),
                                [&](const auto& other) { return other.name == section.group; });
      if (group == report.groups.end()) group = report.groups.insert(group, {section.group, {}});
      group->count += result;
    }
    (section.syntactic() ? report.syntactic : report.semantic) += result;
    report.total += result;
  }
  return report;
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
