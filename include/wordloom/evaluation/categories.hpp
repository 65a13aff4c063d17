#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/evaluation/detail/k_means.hpp>
#include <wordloom/evaluation/detail/test_file.hpp>
#include <wordloom/evaluation/letter_case.hpp>
#include <wordloom/evaluation/statistics.hpp>
#include <wordloom/model/embeddings.hpp>
#include <wordloom/query/row_queries.hpp>

/// Categories of words, by people and by clusters of vectors.
namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// Returns for each point whether its category is the most frequent one of its cluster (of equal
/// ones, the first); the purity is their share.
std::vector<bool> in_majority(std::span<const std::uint32_t> categories,
                              std::span<const std::uint32_t> clusters);

/// Returns the share of points in the most frequent category of their cluster. With the arguments
/// exchanged: the inverse purity, which the library vecto reports as purity.
double purity(std::span<const std::uint32_t> categories, std::span<const std::uint32_t> clusters);

}  // namespace detail

/// Words that people put into categories, such as AP, BLESS and ESSLLI 2008.
struct WordCategories {
  struct Entry {
    std::string word, category;
  };

  struct Options {
    LetterCase letter_case = LetterCase::fallback;
    /// k-means is repeated with seeds 1 to this number.
    std::size_t seeds = 10;
    /// Each time, the best of so many starts by greedy k-means++ counts.
    std::size_t starts = 10;
    std::size_t iterations = 50;
    /// Centres stand still if the squares of their movements sum to no more than this times the
    /// mean variance of the numbers of the vectors.
    double tolerance = 1e-4;
    /// 0: all processors of the machine, one seed each.
    std::size_t threads = 0;
  };

  struct Report {
    /// The shares of words in the most frequent category of their cluster, and those in the most
    /// frequent cluster of their category, over the seeds.
    Statistics purity, inverse_purity;
    std::size_t used = 0, left_out = 0, categories = 0;  // words left out have no vector
    /// For each entry the share of seeds with which its category is the most frequent one of its
    /// cluster, NaN if it was left out: their mean is the purity.
    std::vector<double> words = {};
  };

  std::vector<Entry> entries;

  /// Reads lines "word<TAB>category"; see SimilarityPair::load for separators. Further fields are
  /// ignored. A first line is a header, and ignored, if its category is called "category",
  /// "categories", "class", "label" or "cluster" and either its word is called "word", "words",
  /// "concept" or "item", or no other line has that category. Throws IoError, and FormatError with
  /// line and column.
  [[nodiscard]] static WordCategories load(const std::filesystem::path& path);

  /// Divides the vectors, scaled to length 1, of the words that have one into as many clusters by
  /// k-means as there are categories. Without any known word, `used` is 0 and the purity NaN. The
  /// result does not depend on the number of threads. Throws InvalidArgument if options are 0.
  [[nodiscard]] Report evaluate(const Embeddings& embeddings, const Options& options) const;
  [[nodiscard]] Report evaluate(const Embeddings& embeddings) const {
    return evaluate(embeddings, Options{});
  }

  /// Divides all words into `classes` by one run of k-means of their vectors, scaled to length 1,
  /// as evaluate() does but with at most 10 iterations, like word2vec. Returns the class of each
  /// word, from 0. Memory: a copy of the vectors. `threads`: 0: all processors of the machine; the
  /// result does not depend on it. Throws InvalidArgument unless there are 1 to as many classes as
  /// words, and for vectors that are not finite.
  [[nodiscard]] static std::vector<std::uint32_t> classify(const Embeddings& embeddings,
                                                           std::size_t classes,
                                                           std::size_t threads = 0);
};

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

WORDLOOM_FUNCTION std::vector<bool> in_majority(std::span<const std::uint32_t> categories,
                                                std::span<const std::uint32_t> clusters) {
  std::map<std::uint32_t, std::map<std::uint32_t, std::size_t>> counts;
  for (std::size_t i = 0; i < clusters.size(); ++i) ++counts[clusters[i]][categories[i]];
  std::map<std::uint32_t, std::uint32_t> most;
  for (const auto& [cluster, of_cluster] : counts)
    most[cluster] = std::max_element(of_cluster.begin(), of_cluster.end(), [](auto& a, auto& b) {
                      return a.second < b.second;
                    })->first;
  std::vector<bool> result;
  for (std::size_t i = 0; i < clusters.size(); ++i)
    result.push_back(most[clusters[i]] == categories[i]);
  return result;
}

WORDLOOM_FUNCTION double purity(std::span<const std::uint32_t> categories,
                                std::span<const std::uint32_t> clusters) {
  const auto in = in_majority(categories, clusters);
  return static_cast<double>(std::count(in.begin(), in.end(), true)) /
         static_cast<double>(in.size());
}

}  // namespace detail

WORDLOOM_FUNCTION WordCategories WordCategories::load(const std::filesystem::path& path) {
  detail::TestFile file(path);
  WordCategories result;
  const char* const content = "words with a category";
  if (file.lines().empty()) file.refuse_empty(content);
  file.separate_as(file.lines()[0], 1);
  for (const auto& line : file.lines()) {
    const auto fields = file.fields(line);
    if (fields.size() < 2) file.refuse_count(line, fields, "a word and its category");
    for (std::size_t i = 0; i < 2; ++i)
      if (fields[i].text.empty())
        file.refuse(line, fields[i].column, i == 0 ? "a word" : "a category", "nothing");
    result.entries.push_back({fields[0].text, fields[1].text});
  }
  const auto is_one_of = [](const std::string& field, std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), detail::column_name(field)) != names.end();
  };
  const Entry& first = result.entries[0];
  const auto is_of_first = [&](const Entry& entry) { return entry.category == first.category; };
  if (is_one_of(first.category, {"category", "categories", "class", "label", "cluster"}) &&
      (is_one_of(first.word, {"word", "words", "concept", "item"}) ||
       std::count_if(result.entries.begin(), result.entries.end(), is_of_first) == 1))
    result.entries.erase(result.entries.begin());
  if (result.entries.empty()) file.refuse_empty(content);
  return result;
}

WORDLOOM_FUNCTION WordCategories::Report WordCategories::evaluate(const Embeddings& embeddings,
                                                                  const Options& options) const {
  for (const auto& [name, value] :
       {std::pair{"seeds", options.seeds}, std::pair{"starts", options.starts},
        std::pair{"iterations", options.iterations}})
    if (value == 0) throw InvalidArgument{name, " is 0, must be at least 1"};
  Report report;
  std::vector<WordId> ids;
  std::vector<std::uint32_t> categories;
  std::vector<std::size_t> places;
  std::map<std::string, std::uint32_t> numbers;
  report.words.assign(entries.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto id = find_spelling(embeddings.words(), entries[i].word, options.letter_case);
    if (!id) continue;
    ids.push_back(*id);
    places.push_back(i);
    const auto number = static_cast<std::uint32_t>(numbers.size());
    categories.push_back(numbers.try_emplace(entries[i].category, number).first->second);
  }
  report.used = ids.size();
  report.left_out = entries.size() - ids.size();
  report.categories = numbers.size();
  if (ids.empty()) return report;
  const detail::RowQueries queries{embeddings.vectors(), embeddings.inverse_lengths()};
  RowMatrix points(ids.size(), embeddings.dimension());
  for (std::size_t i = 0; i < ids.size(); ++i) queries.add_unit(ids[i], 1, points.row(i));
  const detail::KMeans means(points);
  std::vector<std::vector<std::uint32_t>> found(options.seeds);
  const std::size_t threads = (std::min)(resolve_threads(options.threads), options.seeds);
  detail::run_threads(threads, [&](std::size_t thread) {
    for (std::size_t s = thread; s < options.seeds; s += threads)
      found[s] =
          means.best(numbers.size(), options.starts, s + 1, options.iterations, options.tolerance)
              .clusters;
  });
  for (const std::size_t place : places) report.words[place] = 0;
  std::vector<double> purities, inverse;
  for (const auto& clusters : found) {
    purities.push_back(detail::purity(categories, clusters));
    inverse.push_back(detail::purity(clusters, categories));
    const auto in = detail::in_majority(categories, clusters);
    for (std::size_t i = 0; i < in.size(); ++i)
      report.words[places[i]] += in[i] / static_cast<double>(options.seeds);
  }
  report.purity = Statistics::of(purities);
  report.inverse_purity = Statistics::of(inverse);
  return report;
}

WORDLOOM_FUNCTION std::vector<std::uint32_t> WordCategories::classify(const Embeddings& embeddings,
                                                                      std::size_t classes,
                                                                      std::size_t threads) {
  const detail::RowQueries queries{embeddings.vectors(), embeddings.inverse_lengths()};
  RowMatrix points(embeddings.size(), embeddings.dimension());
  for (std::size_t i = 0; i < points.rows(); ++i) {
    for (const float x : embeddings.vector(i))
      if (!detail::is_finite(x))
        throw InvalidArgument{"the vector of '", embeddings.word(i), "' is not finite"};
    queries.add_unit(static_cast<WordId>(i), 1, points.row(i));
  }
  const Options options;
  return detail::KMeans(points, resolve_threads(threads))
      .best(classes, 1, 1, 10, options.tolerance)
      .clusters;
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
