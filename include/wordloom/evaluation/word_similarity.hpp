#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <iomanip>
#include <limits>
#include <numeric>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/evaluation/detail/pair_columns.hpp>
#include <wordloom/evaluation/detail/test_file.hpp>
#include <wordloom/evaluation/letter_case.hpp>
#include <wordloom/model/embeddings.hpp>

/// Similarity of word pairs, by human judgement and by vectors.
namespace wordloom { inline namespace WORDLOOM_ABI {

/// Two words and the similarity that people gave them, on any scale.
struct SimilarityPair {
  std::string first, second;
  double score;

  /// Reads word pairs in their published formats: lines of two words and a number, separated by
  /// tabs, commas, semicolons or white space, whichever occurs twice in the first line (see
  /// TestFile). One column with a part of speech (N, V, A, ...) may precede the number, as in
  /// SimLex-999 and SimVerb-3500; further columns are ignored.
  ///
  /// The first line is a header if no field of it is a number or begins like one, or if it names
  /// two columns like word1 and word2 (`Word 1`, `word_1`). These columns then hold the words,
  /// otherwise the first two. The number is in a column named score, similarity, relatedness,
  /// rating, mean, average or as in WS-353 and SimLex-999, or in the only one with such a word in
  /// its name (`human score`), otherwise in the first column after the words or the part of speech,
  /// which may not be the first of several with numbers, such as annotator1 and annotator2. No line
  /// may have more fields than the header.
  ///
  /// If every word ends in -n, -v or -j, as in the lemma form of MEN, these endings are removed.
  /// Throws IoError, and FormatError with line and column.
  [[nodiscard]] static std::vector<SimilarityPair> load(const std::filesystem::path& path);
};

/// The rank correlation of cosines with the scores that people gave word pairs.
struct SimilarityReport {
  /// Options of evaluate_similarity.
  struct Options {
    LetterCase letter_case = LetterCase::fallback;
    /// True if a pair with an unknown word has the cosine 0, as in hyperwords and in vecto; false
    /// if it is left out.
    bool unknown_is_zero = false;
  };

  double spearman = std::numeric_limits<double>::quiet_NaN();  // of the pairs used; NaN below 2
  std::size_t used = 0;
  std::size_t out_of_vocabulary = 0;  // pairs without vectors: left out, or with the cosine 0
  std::size_t made_of_subwords = 0;   // pairs used with a word out of the vocabulary
  std::vector<double> cosines = {};   // one for each pair, NaN for those left out
};

namespace detail {

/// Returns a score with four decimals, "-" for NaN.
inline std::string score_text(double score) {
  if (is_nan(score)) return "-";
  std::ostringstream text;
  text << std::fixed << std::setprecision(4) << score;
  return text.str();
}

/// Writes a row of a table: a name, then columns of `width` characters.
template <class Name, class... Columns>
void write_row(std::ostream& out, int width, const Name& name, const Columns&... columns) {
  out << std::left << std::setw(30) << name << std::right;
  ((out << std::setw(width) << columns), ...) << '\n';
}

}  // namespace detail

inline std::ostream& operator<<(std::ostream& out, const SimilarityReport& report) {
  std::ostringstream text;
  text << "word similarity  Spearman " << detail::score_text(report.spearman) << "  " << report.used
       << " pairs, " << report.out_of_vocabulary << " out of vocabulary";
  if (report.made_of_subwords > 0)
    text << ", " << report.made_of_subwords << " with a word made of subwords";
  if (report.used > 0 && detail::is_nan(report.spearman))
    text << "; a rank correlation needs two pairs, with scores and cosines that differ";
  return out << text.str();
}

namespace detail {

/// Returns ranks from 1; equal values get the mean of their ranks. No value may be NaN, which has
/// no order.
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

/// Returns Pearson's correlation of two series of equal length and these means.
inline double correlation(std::span<const double> x, std::span<const double> y, double x_mean,
                          double y_mean) {
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - x_mean) * (y[i] - y_mean);
    xx += (x[i] - x_mean) * (x[i] - x_mean);
    yy += (y[i] - y_mean) * (y[i] - y_mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : std::numeric_limits<double>::quiet_NaN();
}

/// Returns Pearson's correlation of two series of equal length. NaN if there are fewer than two
/// values, one series is constant or a value is NaN.
inline double pearson(std::span<const double> x, std::span<const double> y) {
  const auto mean = [](std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  return correlation(x, y, mean(x), mean(y));
}

/// Returns Spearman's rho of two series of equal length: Pearson's correlation of their ranks. NaN
/// if there are fewer than two values, one series is constant or a value is NaN.
[[nodiscard]] inline double spearman(std::span<const double> x, std::span<const double> y) {
  if (std::any_of(x.begin(), x.end(), is_nan<double>) ||
      std::any_of(y.begin(), y.end(), is_nan<double>))
    return std::numeric_limits<double>::quiet_NaN();
  const auto rx = detail::ranks(x), ry = detail::ranks(y);
  const double mean = (static_cast<double>(x.size()) + 1.0) / 2.0;
  return correlation(rx, ry, mean, mean);
}

}  // namespace detail

/// Returns Spearman's rho between the scores and the cosines of the pairs that have vectors: the
/// pairs of known words; with SubwordEmbeddings all pairs except those of words without n-grams (of
/// the word in lower case, unless `letter_case` is exact). The other pairs are counted.
template <class Vectors>
requires requires(const Vectors& vectors, std::string_view word) { vectors.similarity(word, word); }
[[nodiscard]] SimilarityReport evaluate_similarity(const Vectors& embeddings,
                                                   std::span<const SimilarityPair> pairs,
                                                   const SimilarityReport::Options& options = {}) {
  SimilarityReport report;
  std::vector<double> people, cosines;
  const auto spelling = [&](const std::string& word) {
    const bool as_written =
        options.letter_case == LetterCase::exact ||
        (options.letter_case == LetterCase::fallback && embeddings.contains(word));
    return as_written ? word : lower_case(word);
  };
  for (const auto& pair : pairs) {
    const std::string first = spelling(pair.first), second = spelling(pair.second);
    const bool known = embeddings.contains(first) && embeddings.contains(second);
    bool has_vectors = known;
    if constexpr (requires { embeddings.has_vector(first); })
      has_vectors = embeddings.has_vector(first) && embeddings.has_vector(second);
    if (!has_vectors) ++report.out_of_vocabulary;
    if (!has_vectors && !options.unknown_is_zero) {
      report.cosines.push_back(std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    if (has_vectors && !known) ++report.made_of_subwords;
    people.push_back(pair.score);
    cosines.push_back(has_vectors ? static_cast<double>(embeddings.similarity(first, second))
                                  : 0.0);
    report.cosines.push_back(cosines.back());
  }
  report.spearman = detail::spearman(people, cosines);
  report.used = people.size();
  return report;
}

template <class Vectors>
[[nodiscard]] SimilarityReport evaluate_similarity(const Vectors& embeddings,
                                                   std::span<const SimilarityPair> pairs,
                                                   LetterCase letter_case) {
  return evaluate_similarity(embeddings, pairs,
                             SimilarityReport::Options{.letter_case = letter_case});
}

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

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

/// Removes the parts of speech from words, if all have one.
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

WORDLOOM_FUNCTION std::vector<SimilarityPair> SimilarityPair::load(
    const std::filesystem::path& path) {
  detail::TestFile file(path);
  std::span<const detail::TestFile::Line> lines = file.lines();
  if (lines.empty()) file.refuse_empty("word pairs");
  file.separate_as(lines[0], 2);
  auto fields = file.fields(lines[0]);
  detail::PairColumns columns;
  std::size_t named = (std::numeric_limits<std::size_t>::max)();
  if (lines.size() > 1 && detail::is_pair_header(fields)) {
    columns = detail::pair_columns(&fields, file.fields(lines[1]));
    if (detail::is_first_of_several(fields, columns.score))
      file.refuse(lines[0], fields[columns.score].column,
                  "a column of scores, named score, similarity, relatedness, rating or mean",
                  detail::shown(fields[columns.score].text));
    // A field without a name may be part of a number with a decimal comma.
    named = fields.size();
    if (file.separator() != ' ')
      named = detail::TestFile::count(lines[0].text, file.separator()) + 1;
    lines = lines.subspan(1);
  } else {
    columns = detail::pair_columns(nullptr, fields);
  }
  std::vector<SimilarityPair> pairs;
  for (const auto& line : lines) {
    fields = file.fields(line);
    if (fields.size() > named)
      file.refuse_count(line, fields,
                        detail::joined({"at most ", named, " fields, as the header"}));
    pairs.push_back(detail::read_pair(file, line, fields, columns));
  }
  detail::remove_lemma_tags(pairs);
  return pairs;
}

#endif

[[deprecated("use SimilarityPair::load")]] inline std::vector<SimilarityPair> load_similarity_pairs(
    const std::filesystem::path& path) {
  return SimilarityPair::load(path);
}

}}  // namespace wordloom::WORDLOOM_ABI
