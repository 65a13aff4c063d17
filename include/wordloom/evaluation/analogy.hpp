#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iomanip>
#include <limits>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/evaluation/words.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom {

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
};

/// Questions asked and answered right; `skipped`: those with a word that the vocabulary lacks.
struct AnalogyCount {
  std::size_t correct = 0, asked = 0, skipped = 0;

  /// correct / asked; NaN when none was asked.
  double accuracy() const {
    return asked == 0 ? std::numeric_limits<double>::quiet_NaN()
                      : static_cast<double>(correct) / static_cast<double>(asked);
  }
  AnalogyCount& operator+=(const AnalogyCount& other) {
    correct += other.correct;
    asked += other.asked;
    skipped += other.skipped;
    return *this;
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

inline std::ostream& operator<<(std::ostream& out, const AnalogyReport& report) {
  const auto flags = out.flags();
  const auto precision = out.precision();
  const auto row = [&](const std::string& name, const AnalogyCount& count) {
    out << std::left << std::setw(30) << name << std::right << std::fixed << std::setprecision(4)
        << std::setw(9) << count.accuracy() << std::setw(9) << count.correct << std::setw(9)
        << count.asked << std::setw(9) << count.skipped << '\n';
  };
  out << std::left << std::setw(30) << "analogies" << std::right << std::setw(9) << "accuracy"
      << std::setw(9) << "correct" << std::setw(9) << "asked" << std::setw(9) << "skipped" << '\n';
  for (const auto& section : report.sections) row(section.name, section.count);
  row("semantic", report.semantic);
  row("syntactic", report.syntactic);
  row("all", report.total);
  out.flags(flags);
  out.precision(precision);
  return out;
}

/// Reads questions-words.txt: ": name" begins a section, other lines hold four words; blank lines
/// and those that begin with '#' are ignored. Throws IoError, and FormatError with the line.
inline std::vector<AnalogySection> load_analogies(const std::filesystem::path& path) {
  std::vector<AnalogySection> sections;
  detail::for_each_line(path, [&](const std::vector<std::string>& fields, std::uint64_t line) {
    if (fields[0].starts_with(':')) {
      std::string name = fields[0].substr(1);
      for (std::size_t i = 1; i < fields.size(); ++i)
        name.append(name.empty() ? "" : " ").append(fields[i]);
      sections.push_back({std::move(name), {}});
      return;
    }
    if (fields.size() != 4)
      throw FormatError::at_line(path, line, "four words or ': section'",
                                 std::to_string(fields.size()) + " fields");
    if (sections.empty()) sections.push_back({"questions", {}});
    sections.back().questions.push_back({fields[0], fields[1], fields[2], fields[3]});
  });
  if (sections.empty()) throw FormatError::at_line(path, 1, "questions", "none");
  return sections;
}

/// Asks all questions; an answer is right when the expected word is the best of all but a, b and c.
/// On all threads; the result does not depend on their number.
inline AnalogyReport evaluate_analogies(const Embeddings& embeddings,
                                        std::span<const AnalogySection> sections,
                                        const AnalogyOptions& options = {}) {
  const std::size_t count = options.restrict_vocabulary == 0
                                ? embeddings.size()
                                : std::min(options.restrict_vocabulary, embeddings.size());
  const auto find = [&](const std::string& word) {
    const auto id = embeddings.words().find(options.lower_case ? detail::lower_case(word) : word);
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
    const auto answers = embeddings.analogies(asked, 1, options.method, count);
    for (std::size_t q = 0; q < answers.size(); ++q)
      result.correct += !answers[q].empty() && answers[q].front().row == expected[q];
    report.sections.push_back({section.name, result});
    (section.syntactic() ? report.syntactic : report.semantic) += result;
    report.total += result;
  }
  return report;
}

}  // namespace wordloom
