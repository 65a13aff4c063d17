#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
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
#include <wordloom/core/words.hpp>
#include <wordloom/evaluation/letter_case.hpp>
#include <wordloom/evaluation/test_file.hpp>
#include <wordloom/model/embeddings.hpp>

/// Similarity of word pairs, as people and as vectors see it.
namespace wordloom::inline WORDLOOM_ABI {

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

namespace detail {

/// Returns a score with four decimals, "-" for NaN: there is none.
inline std::string score_text(double score) {
  if (std::isnan(score)) return "-";
  std::ostringstream text;
  text << std::fixed << std::setprecision(4) << score;
  return text.str();
}

}  // namespace detail

inline std::ostream& operator<<(std::ostream& out, const SimilarityReport& report) {
  std::ostringstream text;
  text << "word similarity  Spearman " << detail::score_text(report.spearman) << "  " << report.used
       << " pairs, " << report.out_of_vocabulary << " out of vocabulary";
  if (report.made_of_subwords > 0)
    text << ", " << report.made_of_subwords << " with a word made of subwords";
  if (report.used > 0 && std::isnan(report.spearman))
    text << "; a rank correlation needs two pairs, and scores that differ";
  return out << text.str();
}

/// Reads word pairs as their authors publish them: lines of two words and a number, separated by
/// tabs, commas, semicolons or white space, whichever the first line has twice (see TestFile). One
/// column with a part of speech (N, V, A, ...) may stand before the number, as in SimLex-999 and
/// SimVerb-3500; further columns are ignored.
///
/// The first line is a header if no field of it is a number or begins like one, or if it names two
/// columns as word1 and word2 (`Word 1`, `word_1`). Those columns then hold the words, otherwise
/// the first two. The number is in a column named score, similarity, relatedness, rating, mean,
/// average or as in WS-353 and SimLex-999, otherwise in the first one after the words, or after the
/// part of speech.
/// Where every word ends in -n, -v or -j, as in the lemma form of MEN, these endings are taken off.
/// Throws IoError, and FormatError with line and column.
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
/// vocabulary, with SubwordEmbeddings all but words without any n-gram (of the word in lower case,
/// unless `letter_case` is exact). The others are counted.
template <std::derived_from<Embeddings> Vectors>
[[nodiscard]] SimilarityReport evaluate_similarity(const Vectors& embeddings,
                                                   std::span<const SimilarityPair> pairs,
                                                   LetterCase letter_case = LetterCase::fallback) {
  SimilarityReport report;
  std::vector<double> people, cosines;
  const auto spelling = [&](const std::string& word) {
    const bool as_written = letter_case == LetterCase::exact ||
                            (letter_case == LetterCase::fallback && embeddings.contains(word));
    return as_written ? word : lower_case(word);
  };
  for (const auto& pair : pairs) {
    const std::string first = spelling(pair.first), second = spelling(pair.second);
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

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

/// The columns of a file of word pairs, from 0.
struct PairColumns {
  std::size_t first = 0, second = 1, score = 2;
  std::optional<std::size_t> part_of_speech = {};

  std::size_t count() const noexcept {
    return std::max({first, second, score, part_of_speech.value_or(0)}) + 1;
  }
};

using TestFields = std::vector<TestFile::Field>;

inline std::optional<std::size_t> column_named(const TestFields& header,
                                               std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    for (std::size_t i = 0; i < header.size(); ++i)
      if (column_name(header[i].text) == name) return i;
  return std::nullopt;
}

/// Returns the number that a field is, with or without a plus sign.
inline std::optional<double> score_in(std::string_view field) {
  if (field.starts_with('+') && !field.starts_with("+-")) field.remove_prefix(1);
  const auto score = number_in<double>(field);
  return score && std::isfinite(*score) ? score : std::nullopt;
}

inline bool is_part_of_speech(std::string_view field) {
  static constexpr std::array<std::string_view, 16> tags{"n",    "v",    "a",     "j",   "r",  "s",
                                                         "noun", "verb", "adj",   "adv", "nn", "vb",
                                                         "jj",   "rb",   "propn", "x"};
  return std::find(tags.begin(), tags.end(), lower_case(field)) != tags.end();
}

/// Whether the first line of a file of word pairs names its columns.
inline bool is_pair_header(const TestFields& fields) {
  if (fields.size() < 3) return false;
  if (column_named(fields, {"word1"}) && column_named(fields, {"word2"})) return true;
  return std::none_of(fields.begin(), fields.end(),
                      [](const auto& field) { return is_like_number(field.text); });
}

/// Returns where words and scores are, by the header and the first line after it.
inline PairColumns pair_columns(const TestFields* header, const TestFields& fields) {
  PairColumns columns;
  const auto holds_score = [&](std::size_t column) {
    return column < fields.size() && score_in(fields[column].text);
  };
  bool has_names = false;
  if (header) {
    const auto first = column_named(*header, {"word1"}), second = column_named(*header, {"word2"});
    has_names = first && second;
    if (has_names) columns = {*first, *second, std::max(*first, *second) + 1};
  }
  const std::size_t after = columns.score;
  if (!holds_score(after) && holds_score(after + 1) && is_part_of_speech(fields[after].text))
    columns.part_of_speech = columns.score++;
  if (!header) return columns;
  const auto named =
      column_named(*header, {"score", "similarity", "relatedness", "rating", "humanmean",
                             "simlex999", "mean", "average", "averagescore", "avg"});
  // Without names of words, a number after the first two columns shows that those are words.
  if (named && (has_names || holds_score(columns.score))) columns.score = *named;
  return columns;
}

inline SimilarityPair read_pair(const TestFile& file, const TestFile::Line& line,
                                const TestFields& fields, const PairColumns& columns) {
  constexpr auto expected = "two words and a number";
  if (fields.size() < columns.count()) file.refuse_count(line, fields, expected);
  for (const std::size_t column : {columns.first, columns.second})
    if (fields[column].text.empty()) file.refuse(line, fields[column].column, "a word", "nothing");
  if (columns.part_of_speech && !is_part_of_speech(fields[*columns.part_of_speech].text))
    file.refuse(line, fields[*columns.part_of_speech].column, "a part of speech, as before",
                shown(fields[*columns.part_of_speech].text));
  const auto& [text, column] = fields[columns.score];
  const auto score = score_in(text);
  if (!score) {
    const bool has_comma = std::count(text.begin(), text.end(), ',') == 1 && is_like_number(text);
    file.refuse(line, column, expected,
                shown(text) + (has_comma ? "; write decimals with a point" : ""));
  }
  return {fields[columns.first].text, fields[columns.second].text, *score};
}

/// Takes off the parts of speech of words, where all have one.
inline void remove_lemma_tags(std::vector<SimilarityPair>& pairs) {
  const auto is_tagged = [](const std::string& word) {
    return word.size() > 2 &&
           (word.ends_with("-n") || word.ends_with("-v") || word.ends_with("-j"));
  };
  if (std::all_of(pairs.begin(), pairs.end(), [&](const SimilarityPair& pair) {
        return is_tagged(pair.first) && is_tagged(pair.second);
      }))
    for (SimilarityPair& pair : pairs)
      for (std::string* const word : {&pair.first, &pair.second}) word->resize(word->size() - 2);
}

}  // namespace detail

WORDLOOM_FUNCTION std::vector<SimilarityPair> load_similarity_pairs(
    const std::filesystem::path& path) {
  detail::TestFile file(path);
  std::span<const detail::TestFile::Line> lines = file.lines();
  if (lines.empty()) file.refuse_empty("word pairs");
  file.separate_as(lines[0], 2);
  auto fields = file.fields(lines[0]);
  detail::PairColumns columns;
  if (lines.size() > 1 && detail::is_pair_header(fields)) {
    lines = lines.subspan(1);
    columns = detail::pair_columns(&fields, file.fields(lines[0]));
  } else {
    columns = detail::pair_columns(nullptr, fields);
  }
  std::vector<SimilarityPair> pairs;
  for (const auto& line : lines)
    pairs.push_back(detail::read_pair(file, line, file.fields(line), columns));
  detail::remove_lemma_tags(pairs);
  return pairs;
}

#endif

}  // namespace wordloom::inline WORDLOOM_ABI
