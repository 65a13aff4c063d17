#pragma once
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iomanip>
#include <limits>
#include <numeric>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/evaluation/words.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom {

/// Two words and how similar people find them, on any scale.
struct SimilarityPair {
  std::string first, second;
  double score;
};

/// How well cosines rank word pairs as people do.
struct SimilarityReport {
  double spearman = std::numeric_limits<double>::quiet_NaN();  // of the pairs used; NaN below two
  std::size_t used = 0;               // pairs with both words in the vocabulary
  std::size_t out_of_vocabulary = 0;  // pairs left out
};

inline std::ostream& operator<<(std::ostream& out, const SimilarityReport& report) {
  const auto flags = out.flags();
  const auto precision = out.precision();
  out << "word similarity  Spearman " << std::fixed << std::setprecision(4) << report.spearman
      << "  " << report.used << " pairs, " << report.out_of_vocabulary << " out of vocabulary";
  out.flags(flags);
  out.precision(precision);
  return out;
}

/// Reads "word word score" lines, separated by tabs or spaces; what follows on a line is ignored,
/// as are blank lines and those that begin with '#'. Throws IoError, and FormatError with the line.
inline std::vector<SimilarityPair> load_similarity_pairs(const std::filesystem::path& path) {
  std::vector<SimilarityPair> pairs;
  detail::for_each_line(path, [&](const std::vector<std::string>& fields, std::uint64_t line) {
    constexpr auto expected = "two words and a number";
    if (fields.size() < 3)
      throw FormatError::at_line(path, line, expected, std::to_string(fields.size()) + " fields");
    double score = 0;
    const std::string& text = fields[2];
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), score);
    if (error != std::errc() || stop != text.data() + text.size() || !std::isfinite(score))
      throw FormatError::at_line(path, line, expected, detail::shown(text));
    pairs.push_back({fields[0], fields[1], score});
  });
  if (pairs.empty()) throw FormatError::at_line(path, 1, "word pairs", "none");
  return pairs;
}

/// Ranks from 1, equal values sharing the mean of theirs.
inline std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first + 1;
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    const double rank = (static_cast<double>(first + last) + 1.0) / 2.0;
    for (; first < last; ++first) result[order[first]] = rank;
  }
  return result;
}

/// Spearman's rho of two series of the same length: Pearson's correlation of their ranks. NaN when
/// there are fewer than two values or one series is constant.
inline double spearman(std::span<const double> x, std::span<const double> y) {
  const auto rx = ranks(x), ry = ranks(y);
  const double mean = (static_cast<double>(x.size()) + 1.0) / 2.0;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < rx.size(); ++i) {
    xy += (rx[i] - mean) * (ry[i] - mean);
    xx += (rx[i] - mean) * (rx[i] - mean);
    yy += (ry[i] - mean) * (ry[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : std::numeric_limits<double>::quiet_NaN();
}

/// Spearman's rho between the scores and the cosines of the pairs that the vocabulary has; the
/// others are counted. With `lower_case`, ASCII letters of the test words are lower-cased first.
inline SimilarityReport evaluate_similarity(const Embeddings& embeddings,
                                            std::span<const SimilarityPair> pairs,
                                            bool lower_case = true) {
  const auto find = [&](const std::string& word) {
    return embeddings.words().find(lower_case ? detail::lower_case(word) : word);
  };
  std::vector<double> people, cosines;
  for (const auto& pair : pairs) {
    const auto first = find(pair.first), second = find(pair.second);
    if (!first || !second) continue;
    people.push_back(pair.score);
    cosines.push_back(static_cast<double>(embeddings.similarity(*first, *second)));
  }
  return {spearman(people, cosines), people.size(), pairs.size() - people.size()};
}

}  // namespace wordloom
