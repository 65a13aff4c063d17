#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/evaluation/analogy_sets.hpp>
#include <wordloom/evaluation/detail/row_blocks.hpp>
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
    /// Added to the divisor of cos_mul: 0.001 as in Levy and Goldberg 2014, 0.01 in hyperwords.
    float epsilon = 0.001f;
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
    double accuracy() const { return share_of(asked); }
    /// Returns correct / (asked + skipped): a question with an unknown word is wrong.
    double accuracy_of_all() const { return share_of(asked + skipped); }
    double share_of(std::size_t questions) const {
      return questions == 0 ? std::numeric_limits<double>::quiet_NaN()
                            : static_cast<double>(correct) / static_cast<double>(questions);
    }
    void operator+=(const Count& other) {
      correct += other.correct;
      asked += other.asked;
      skipped += other.skipped;
    }
  };

  /// The result of a question.
  enum class Outcome : unsigned char { skipped, wrong, right };

  struct Section {
    std::string name;
    Count count;
    /// One for each question of a section, then for each two of its pairs; none of a group.
    std::vector<Outcome> outcomes = {};
  };
  std::vector<Section> sections;
  std::vector<Section> groups;  // sums over sections, by the name of their group
  Count semantic, syntactic, total;

  /// Adds the result of a section, whose outcomes it counts, to all sums.
  void add(const AnalogySection& section, std::vector<Outcome> outcomes);
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

WORDLOOM_FUNCTION void AnalogyReport::add(const AnalogySection& section,
                                          std::vector<Outcome> outcomes) {
  const auto number_of = [&](Outcome outcome) {
    return static_cast<std::size_t>(std::count(outcomes.begin(), outcomes.end(), outcome));
  };
  const Count count{number_of(Outcome::right),
                    number_of(Outcome::right) + number_of(Outcome::wrong),
                    number_of(Outcome::skipped)};
  sections.push_back({section.name, count, std::move(outcomes)});
  if (!section.group.empty()) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& other) { return other.name == section.group; });
    if (group == groups.end()) group = groups.insert(group, {section.group, {}});
    group->count += count;
  }
  (section.syntactic() ? syntactic : semantic) += count;
  total += count;
}

namespace detail {

/// Asks questions about words: the cosines of each distinct word with all candidates are computed
/// once for as many questions as possible, and the scores of answers are sums of them.
class AnalogySearch {
 public:
  AnalogySearch(const Embeddings& embeddings, const AnalogyReport::Options& options)
      : embeddings_(embeddings),
        options_(options),
        count_(options.restrict_vocabulary == 0
                   ? embeddings.size()
                   : (std::min)(options.restrict_vocabulary, embeddings.size())) {}

  AnalogyReport run(std::span<const AnalogySection> sections) {
    outcomes_.resize(sections.size());
    known_.resize(sections.size());
    for (section_ = 0; section_ < sections.size(); ++section_) {
      ask_questions(sections[section_].questions);
      ask_pairs(sections[section_].pairs);
    }
    search();
    AnalogyReport report;
    for (std::size_t i = 0; i < sections.size(); ++i)
      report.add(sections[i], std::move(outcomes_[i]));
    return report;
  }

 private:
  using Outcome = AnalogyReport::Outcome;
  using Pair = KnownPair;

  struct Question {
    std::uint32_t a, b, c;  // in words_
    WordId expected;
    const Pair *x, *y;  // the pairs of a question that pairs make
    std::size_t section, place;
  };

  std::optional<WordId> find(const std::string& word) const {
    return find_spelling(embeddings_.words(), word, options_.letter_case, count_);
  }

  void ask_questions(const std::vector<AnalogySection::Question>& questions) {
    for (const auto& question : questions)
      ask(find(question.a), find(question.b), find(question.c), find(question.d));
  }

  void ask_pairs(const std::vector<AnalogySection::Pair>& pairs) {
    auto& known = known_[section_];
    for (const auto& pair : pairs)
      known.push_back(KnownPair::of(pair, [&](const std::string& word) { return find(word); }));
    for (const Pair& x : known)
      for (const Pair& y : known)
        if (&x != &y) ask(x.word, x.first, y.word, y.first, &x, &y);
  }

  void ask(std::optional<WordId> a, std::optional<WordId> b, std::optional<WordId> c,
           std::optional<WordId> expected, const Pair* x = nullptr, const Pair* y = nullptr) {
    auto& outcomes = outcomes_[section_];
    outcomes.push_back(Outcome::skipped);
    if (!a || !b || !c || !expected) return;
    if (asked_.size() == max_asked || words_.size() + 3 > max_words) search();
    asked_.push_back(
        {column(*a), column(*b), column(*c), *expected, x, y, section_, outcomes.size() - 1});
  }

  std::uint32_t column(WordId word) {
    const auto [at, is_new] = columns_.try_emplace(word, static_cast<std::uint32_t>(words_.size()));
    if (is_new) words_.push_back(word);
    return at->second;
  }

  /// Answers the questions that were asked.
  void search() {
    if (options_.method == AnalogyMethod::cos_add)
      search(CosAdd());
    else
      search(CosMul{options_.epsilon});
    asked_.clear();
    words_.clear();
    columns_.clear();
  }

  // Scores of one row, or of four. Not lambdas: these are constexpr, so that nvcc would make code
  // for a device of them, and it fails with vectors of four floats.
  struct CosAdd {
    template <class T>
    T operator()(T a, T b, T c) const {
      return b - a + c;
    }
  };
  struct CosMul {
    float epsilon;

    template <class T>
    T operator()(T a, T b, T c) const {
      const T one = constant<T>(1.0f), half = constant<T>(0.5f);
      return (b + one) * half * ((c + one) * half) / ((a + one) * half + constant<T>(epsilon));
    }
    template <class T>
    static T constant(float x) {
      if constexpr (std::is_same_v<T, float>)
        return x;
      else
        return T{x, x, x, x};
    }
  };

  template <class Score>
  void search(const Score& score) {
    const RowQueries queries{embeddings_.vectors(), embeddings_.inverse_lengths()};
    RowMatrix words = vectors_to_multiply(words_.size(), embeddings_.dimension());
    for (std::size_t i = 0; i < words_.size(); ++i) queries.add_unit(words_[i], 1, words.row(i));
    const std::size_t work = words_.size() * words.stride() + asked_.size();
    const std::size_t threads = threads_for(count_ * work, options_.threads);
    BestRows best(threads, asked_.size());
    for_each_block(words, queries.vectors, queries.inverse_lengths, count_, threads,
                   [&](std::size_t thread, const RowBlock& block) {
                     for (std::size_t q = 0; q < asked_.size(); ++q)
                       scan(asked_[q], block, score, best.at(thread, q));
                   });
    for (std::size_t q = 0; q < asked_.size(); ++q) {
      const Question& question = asked_[q];
      const WordId row = best.best(q).row;
      const bool is_right = question.y ? question.y->has_answer(row) : row == question.expected;
      outcomes_[question.section][question.place] = is_right ? Outcome::right : Outcome::wrong;
    }
  }

  template <class Score>
  void scan(const Question& question, const RowBlock& block, const Score& score,
            BestRow& best) const {
    const float *const a = block.of(question.a), *const b = block.of(question.b),
                       *const c = block.of(question.c);
    const auto at = [](const float* p) { return *reinterpret_cast<const FourFloats*>(p); };
    if (!any_above(best.score,
                   [&](std::size_t i) { return score(at(a + i), at(b + i), at(c + i)); }))
      return;
    for (std::size_t i = 0; i < block.size; ++i) {
      const float s = score(a[i], b[i], c[i]);
      const auto row = static_cast<WordId>(block.begin + i);
      if (s > best.score && row != words_[question.a] && row != words_[question.b] &&
          row != words_[question.c] && !(question.x && question.x->has_answer(row)))
        best = {s, row};
    }
  }

  // At a time, which bounds the memory; the products of so many words stay in the second cache.
  static constexpr std::size_t max_asked = 65'536, max_words = 1024;

  const Embeddings& embeddings_;
  const AnalogyReport::Options& options_;
  std::size_t count_;        // words that are looked up
  std::size_t section_ = 0;  // of the questions that are asked
  std::vector<std::vector<Outcome>> outcomes_;
  std::vector<std::vector<Pair>> known_;
  std::vector<Question> asked_;
  std::vector<WordId> words_;  // distinct, of the questions asked
  std::unordered_map<WordId, std::uint32_t> columns_;
};

}  // namespace detail

WORDLOOM_FUNCTION AnalogyReport evaluate_analogies(const Embeddings& embeddings,
                                                   std::span<const AnalogySection> sections,
                                                   const AnalogyReport::Options& options) {
  return detail::AnalogySearch(embeddings, options).run(sections);
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
