#pragma once
#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iomanip>
#include <limits>
#include <optional>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/files.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/model/embeddings.hpp>

/// Tests of word vectors against what people say: similarity of pairs, and analogies.
namespace wordloom::inline WORDLOOM_ABI {

namespace detail {

/// Returns a word of a test set, if `lower_case` with its ASCII letters lower-cased.
inline std::string test_word(std::string word, bool lower_case) {
  if (lower_case)
    for (char& c : word)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return word;
}

/// Calls `use(fields, line)` for each line of a file that is neither blank nor begins with '#';
/// fields are separated by white space, lines count from 1.
template <class Use>
void for_each_test_line(const std::filesystem::path& path, Use&& use) {
  const MappedFile file(path);
  for_each_line(file.text(), [&](std::string_view line, std::uint64_t number) {
    std::vector<std::string> fields;
    for_each_token(
        line, [&](std::string_view token) { fields.emplace_back(token); }, [] {});
    if (!fields.empty() && !fields[0].starts_with('#')) use(fields, number);
  });
}

}  // namespace detail

/// Two words and how similar people find them, on any scale.
struct SimilarityPair {
  std::string first, second;
  double score;
};

/// How well cosines rank word pairs as people do.
struct SimilarityReport {
  double spearman = std::numeric_limits<double>::quiet_NaN();  // of the pairs used; NaN below two
  std::size_t used = 0;
  std::size_t out_of_vocabulary = 0;  // pairs left out
  std::size_t made_of_subwords = 0;   // pairs used with a word out of the vocabulary
};

inline std::ostream& operator<<(std::ostream& out, const SimilarityReport& report) {
  std::ostringstream text;
  text << "word similarity  Spearman " << std::fixed << std::setprecision(4) << report.spearman
       << "  " << report.used << " pairs, " << report.out_of_vocabulary << " out of vocabulary";
  if (report.made_of_subwords > 0)
    text << ", " << report.made_of_subwords << " with a word made of subwords";
  return out << text.str();
}

/// Reads "word word score" lines, separated by tabs or spaces; what follows on a line is ignored,
/// as are blank lines and those that begin with '#'. Throws IoError, and FormatError with the line.
[[nodiscard]] std::vector<SimilarityPair> load_similarity_pairs(const std::filesystem::path& path);

namespace detail {

/// Ranks from 1, equal values sharing the mean of theirs. No value may be NaN, which has no order.
inline std::vector<double> ranks(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end()), result;
  std::sort(sorted.begin(), sorted.end());
  for (const double value : values) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
    const auto ends = (first - sorted.begin()) + (last - sorted.begin());
    result.push_back((static_cast<double>(ends) + 1.0) / 2.0);
  }
  return result;
}

}  // namespace detail

/// Spearman's rho of two series of the same length: Pearson's correlation of their ranks. NaN when
/// there are fewer than two values, one series is constant or a value is NaN.
[[nodiscard]] inline double spearman(std::span<const double> x, std::span<const double> y) {
  const auto is_nan = [](double value) { return std::isnan(value); };
  if (std::any_of(x.begin(), x.end(), is_nan) || std::any_of(y.begin(), y.end(), is_nan))
    return std::numeric_limits<double>::quiet_NaN();
  const auto rx = detail::ranks(x), ry = detail::ranks(y);
  const double mean = (static_cast<double>(x.size()) + 1.0) / 2.0;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < rx.size(); ++i) {
    xy += (rx[i] - mean) * (ry[i] - mean);
    xx += (rx[i] - mean) * (rx[i] - mean);
    yy += (ry[i] - mean) * (ry[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : std::numeric_limits<double>::quiet_NaN();
}

/// Spearman's rho between the scores and the cosines of the pairs that have vectors: those of the
/// vocabulary, with SubwordEmbeddings all but words without any n-gram. The others are counted.
/// With `lower_case`, ASCII letters of the test words are lower-cased first.
template <std::derived_from<Embeddings> Vectors>
[[nodiscard]] SimilarityReport evaluate_similarity(const Vectors& embeddings,
                                                   std::span<const SimilarityPair> pairs,
                                                   bool lower_case = true) {
  SimilarityReport report;
  std::vector<double> people, cosines;
  for (const auto& pair : pairs) {
    const std::string first = detail::test_word(pair.first, lower_case),
                      second = detail::test_word(pair.second, lower_case);
    const bool known = embeddings.contains(first) && embeddings.contains(second);
    bool has_vectors = known;
    if constexpr (requires { embeddings.has_vector(first); })
      has_vectors = embeddings.has_vector(first) && embeddings.has_vector(second);
    if (!has_vectors) {
      ++report.out_of_vocabulary;
      continue;
    }
    if (!known) ++report.made_of_subwords;
    people.push_back(pair.score);
    cosines.push_back(static_cast<double>(embeddings.similarity(first, second)));
  }
  report.spearman = spearman(people, cosines);
  report.used = people.size();
  return report;
}

/// "a is to b as c is to d".
struct AnalogyQuestion {
  std::string a, b, c, d;
};

/// Questions about one relation. Those named gram... are syntactic, as in Google's set.
struct AnalogySection {
  std::string name;
  std::vector<AnalogyQuestion> questions;
  bool syntactic() const { return name.starts_with("gram"); }
};

/// How questions are asked.
struct AnalogyOptions {
  AnalogyMethod method = AnalogyMethod::cos_add;
  /// Answers come from so many most frequent words, and a question with a rarer word is skipped;
  /// 0 = all words.
  std::size_t restrict_vocabulary = 30'000;
  /// Lower-case the ASCII letters of the questions.
  bool lower_case = true;
  /// Threads that search, as in Embeddings; 0: as many as the questions need.
  std::size_t threads = 0;
};

/// Questions asked and answered right; `skipped`: those with a word that the vocabulary lacks.
struct AnalogyCount {
  std::size_t correct = 0, asked = 0, skipped = 0;

  /// correct / asked; NaN when none was asked.
  double accuracy() const {
    return asked == 0 ? std::numeric_limits<double>::quiet_NaN()
                      : static_cast<double>(correct) / static_cast<double>(asked);
  }
  void operator+=(const AnalogyCount& other) {
    correct += other.correct;
    asked += other.asked;
    skipped += other.skipped;
  }
};

struct AnalogyReport {
  struct Section {
    std::string name;
    AnalogyCount count;
  };
  std::vector<Section> sections;
  AnalogyCount semantic, syntactic, total;
};

std::ostream& operator<<(std::ostream& out, const AnalogyReport& report);

/// Reads questions-words.txt: ": name" begins a section, other lines hold four words; blank lines
/// and those that begin with '#' are ignored. Throws IoError, and FormatError with the line.
[[nodiscard]] std::vector<AnalogySection> load_analogies(const std::filesystem::path& path);

/// Asks all questions; an answer is right when the expected word is the best of all but a, b and c.
/// The result does not depend on the number of threads.
[[nodiscard]] AnalogyReport evaluate_analogies(const Embeddings& embeddings,
                                               std::span<const AnalogySection> sections,
                                               const AnalogyOptions& options = {});

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION std::vector<SimilarityPair> load_similarity_pairs(
    const std::filesystem::path& path) {
  std::vector<SimilarityPair> pairs;
  detail::for_each_test_line(path, [&](const std::vector<std::string>& fields, std::uint64_t line) {
    constexpr auto expected = "two words and a number";
    if (fields.size() < 3)
      throw FormatError::at(path, "line", line, expected,
                            detail::joined({fields.size(), " fields"}));
    const auto score = number_in<double>(fields[2]);
    if (!score || !std::isfinite(*score))
      throw FormatError::at(path, "line", line, expected, detail::shown(fields[2]));
    pairs.push_back({fields[0], fields[1], *score});
  });
  if (pairs.empty()) throw FormatError::at(path, "line", 1, "word pairs", "none");
  return pairs;
}

WORDLOOM_FUNCTION std::ostream& operator<<(std::ostream& out, const AnalogyReport& report) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(4);
  const auto row = [&](const std::string& name, const auto&... columns) {
    text << std::left << std::setw(30) << name << std::right;
    ((text << std::setw(9) << columns), ...) << '\n';
  };
  const auto count_row = [&](const std::string& name, const AnalogyCount& count) {
    row(name, count.accuracy(), count.correct, count.asked, count.skipped);
  };
  row("analogies", "accuracy", "correct", "asked", "skipped");
  for (const auto& section : report.sections) count_row(section.name, section.count);
  count_row("semantic", report.semantic);
  count_row("syntactic", report.syntactic);
  count_row("all", report.total);
  return out << text.str();
}

WORDLOOM_FUNCTION std::vector<AnalogySection> load_analogies(const std::filesystem::path& path) {
  std::vector<AnalogySection> sections;
  detail::for_each_test_line(path, [&](const std::vector<std::string>& fields, std::uint64_t line) {
    if (fields[0].starts_with(':')) {
      std::string name = fields[0].substr(1);
      for (std::size_t i = 1; i < fields.size(); ++i)
        name.append(name.empty() ? "" : " ").append(fields[i]);
      sections.push_back({std::move(name), {}});
      return;
    }
    if (fields.size() != 4)
      throw FormatError::at(path, "line", line, "four words or ': section'",
                            detail::joined({fields.size(), " fields"}));
    if (sections.empty()) sections.push_back({"questions", {}});
    sections.back().questions.push_back({fields[0], fields[1], fields[2], fields[3]});
  });
  if (sections.empty()) throw FormatError::at(path, "line", 1, "questions", "none");
  return sections;
}

WORDLOOM_FUNCTION AnalogyReport evaluate_analogies(const Embeddings& embeddings,
                                                   std::span<const AnalogySection> sections,
                                                   const AnalogyOptions& options) {
  const std::size_t count = options.restrict_vocabulary == 0
                                ? embeddings.size()
                                : std::min(options.restrict_vocabulary, embeddings.size());
  const auto find = [&](const std::string& word) {
    const auto id = embeddings.words().find(detail::test_word(word, options.lower_case));
    return id && *id < count ? id : std::nullopt;
  };
  AnalogyReport report;
  for (const auto& section : sections) {
    AnalogyCount result;
    std::vector<Embeddings::Analogy> asked;
    std::vector<WordId> expected;
    for (const auto& question : section.questions) {
      const auto a = find(question.a), b = find(question.b), c = find(question.c),
                 d = find(question.d);
      if (!a || !b || !c || !d) {
        ++result.skipped;
        continue;
      }
      asked.push_back({*a, *b, *c});
      expected.push_back(*d);
    }
    result.asked = asked.size();
    const auto answers = embeddings.analogies(
        asked, 1, options.method,
        {.restrict_vocabulary = options.restrict_vocabulary, .threads = options.threads});
    for (std::size_t q = 0; q < answers.size(); ++q)
      result.correct += !answers[q].empty() && answers[q].front().row == expected[q];
    report.sections.push_back({section.name, result});
    (section.syntactic() ? report.syntactic : report.semantic) += result;
    report.total += result;
  }
  return report;
}

#endif

}  // namespace wordloom::inline WORDLOOM_ABI
