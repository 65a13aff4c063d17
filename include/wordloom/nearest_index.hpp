#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/words.hpp>
#include <wordloom/model/embeddings.hpp>
#include <wordloom/query/nearest_rows.hpp>

#if !WORDLOOM_HAS_HNSWLIB
#error \
    "nearest_index.hpp needs hnswlib: install it (Debian: libhnswlib-dev), link wordloom::hnswlib"
#endif
#if WORDLOOM_DEFINES_FUNCTIONS
#include <algorithm>
#include <atomic>
#include <string>

#include <wordloom/core/detail/hash.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/parameters.hpp>
#include <wordloom/model/detail/usable_vectors.hpp>
#include <wordloom/query/detail/nearest_graph.hpp>
#include <wordloom/query/row_queries.hpp>
#endif

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

class NearestGraph;

}  // namespace detail

/// An index that finds the words nearest to a word or a vector by cosine, without comparing it with
/// all words: a hierarchical graph of near words (HNSW, Malkov and Yashunin 2018, built and
/// searched by hnswlib). It may miss some of them: recall() measures how many. Scores are those of
/// Embeddings::most_similar, to the bit. Zero vectors are never returned; a question of zeros is
/// answered by Embeddings::most_similar.
///
/// This header is not part of wordloom.hpp; it needs hnswlib (CMake: wordloom::hnswlib). All
/// members are thread-safe; copies share the graph. Memory besides the vectors, which it uses where
/// they are: 8 x connections + 60 bytes a word, and 2 bytes a word for each thread that asks.
class NearestIndex {
  using List = std::initializer_list<std::string_view>;

 public:
  struct Options {
    /// Maximum number of links of a word in an upper layer; the bottom layer has twice as many (M
    /// of the paper; 2 to 100): more need more memory and find more.
    std::size_t connections = 16;
    /// Candidates for the links of a word (efConstruction; 1 to 100,000).
    std::size_t build_search = 200;
    /// Candidates of a query (ef; 1 to 1,000,000), at least as many as the answers: more take more
    /// time and find more.
    std::size_t search = 100;
    /// Seed of the levels of words, which depend on it and the number of the word alone.
    std::uint64_t seed = 1;
    /// Threads that build; 0: see resolve_threads. One thread makes the same graph each time;
    /// several link words in the order in which they come, so that some answers may differ from
    /// one building to the next. A graph, once built or loaded, always gives the same answers.
    std::size_t threads = 0;

    template <class Visit>
    void visit_parameters(Visit&& visit) const {
      visit("connections", connections, 2, 100);
      visit("build_search", build_search, 1, 100'000);
      visit("search", search, 1, 1'000'000);
    }
  };

  /// Builds the index. Throws InvalidArgument for options out of bounds, and for a vector that is
  /// not finite or whose length is not 0 and not from 3.2e-39 to 3.1e38.
  explicit NearestIndex(Embeddings embeddings) : NearestIndex(std::move(embeddings), Options{}) {}
  NearestIndex(Embeddings embeddings, const Options& options);

  /// Writes the graph, its options and a hash of the vectors, but no vectors; the file appears
  /// whole or not at all. Throws IoError.
  void save(const std::filesystem::path& path) const;
  /// Reads the index of these vectors. Throws IoError, FormatError for a file that is damaged, of
  /// another kind or version, and InvalidArgument if it is the index of other vectors.
  [[nodiscard]] static NearestIndex load(const std::filesystem::path& path, Embeddings embeddings);

  const Embeddings& embeddings() const& noexcept { return embeddings_; }
  void embeddings() const&& = delete;
  /// Returns the options that it was built with.
  const Options& options() const noexcept { return options_; }
  /// Returns the number of words with a vector other than zeros.
  std::size_t size() const noexcept;

  /// Returns k words near to `word`, best first, without the word itself. `search`: candidates as
  /// in Options, 0: that number. Throws UnknownWord.
  [[nodiscard]] std::vector<Neighbour> most_similar(std::string_view word, std::size_t k = 10,
                                                    std::size_t search = 0) const {
    return nearest(embeddings_.words().at(word), k, search);
  }
  /// Returns k words near to a vector [D]. Throws InvalidArgument for another length and
  /// numbers that are not finite.
  [[nodiscard]] std::vector<Neighbour> most_similar(std::span<const float> vector,
                                                    std::size_t k = 10,
                                                    std::size_t search = 0) const;
  /// Returns most_similar of each of many words, found by as many threads as resolve_threads says.
  template <class Words = List>
  requires WordRange<const Words&>
  [[nodiscard]] std::vector<std::vector<Neighbour>> most_similar_each(
      const Words& words, std::size_t k = 10, std::size_t search = 0,
      std::size_t threads = 0) const {
    std::vector<WordId> ids;
    for (const auto& word : words) ids.push_back(embeddings_.words().at(word));
    return nearest_to_each(ids, k, search, threads);
  }

  /// Returns the recall of k answers: the share of Embeddings::most_similar's answers that the
  /// index finds, or others with the same scores, for at most `sample` words at equal distances in
  /// the vocabulary. Words of zeros do not count. Throws InvalidArgument if nothing is asked.
  [[nodiscard]] double recall(std::size_t k = 10, std::size_t sample = 200, std::size_t search = 0,
                              std::size_t threads = 0) const;

 private:
  NearestIndex(Embeddings embeddings, const Options& options,
               std::shared_ptr<const detail::NearestGraph> graph)
      : embeddings_(std::move(embeddings)), options_(options), graph_(std::move(graph)) {}

  std::size_t width(std::size_t search) const noexcept {
    return search == 0 ? options_.search : search;
  }
  std::vector<Neighbour> nearest(WordId id, std::size_t k, std::size_t search) const;
  std::vector<std::vector<Neighbour>> nearest_to_each(const std::vector<WordId>& ids, std::size_t k,
                                                      std::size_t search,
                                                      std::size_t threads) const;

  Embeddings embeddings_;
  Options options_;
  std::shared_ptr<const detail::NearestGraph> graph_;  // uses the rows of embeddings_
};

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

constexpr const char* nearest_index_format = "wordloom nearest index 1";

inline std::uint64_t hash_of_rows(const RowMatrix& rows) {
  Hash hash;
  hash.add(std::uint64_t{rows.columns()});
  for (std::size_t i = 0; i < rows.rows(); ++i) hash.add(rows.row_data(i), rows.columns() * 4);
  return hash.value();
}

}  // namespace detail

WORDLOOM_FUNCTION NearestIndex::NearestIndex(Embeddings embeddings, const Options& options)
    : embeddings_(std::move(embeddings)), options_(options) {
  validate_parameters(options_);
  detail::require_usable(embeddings_);
  std::vector<WordId> rows;
  const auto inverse_lengths = embeddings_.inverse_lengths();
  for (std::size_t i = 0; i < embeddings_.size(); ++i)
    if (inverse_lengths[i] > 0) rows.push_back(static_cast<WordId>(i));
  auto graph = std::make_shared<detail::NearestGraph>(
      embeddings_.vectors(), inverse_lengths,
      detail::NearestGraph::Shape{options_.connections, options_.build_search}, rows.size());
  graph->add(rows, options_.seed, options_.threads);
  graph_ = std::move(graph);
}

WORDLOOM_FUNCTION std::size_t NearestIndex::size() const noexcept { return graph_->size(); }

WORDLOOM_FUNCTION void NearestIndex::save(const std::filesystem::path& path) const {
  detail::SectionWriter file(path, detail::nearest_index_format);
  const std::uint64_t numbers[] = {embeddings_.size(),
                                   embeddings_.dimension(),
                                   detail::hash_of_rows(embeddings_.vectors()),
                                   graph_->size(),
                                   options_.connections,
                                   options_.build_search,
                                   options_.search,
                                   options_.seed};
  file.numbers(numbers);
  graph_->save(file);
  file.commit();
}

WORDLOOM_FUNCTION NearestIndex NearestIndex::load(const std::filesystem::path& path,
                                                  Embeddings embeddings) {
  detail::SectionReader file(path, detail::nearest_index_format);
  const auto numbers = file.numbers();
  if (numbers.size() != 8)
    file.refuse_section("8 numbers of an index", detail::joined({numbers.size(), " numbers"}));
  if (numbers[0] != embeddings.size() || numbers[1] != embeddings.dimension())
    throw InvalidArgument{"'",
                          path,
                          "' is the index of ",
                          numbers[0],
                          " vectors of dimension ",
                          numbers[1],
                          ", these are ",
                          embeddings.size(),
                          " of dimension ",
                          embeddings.dimension(),
                          ": build an index of these"};
  if (numbers[2] != detail::hash_of_rows(embeddings.vectors()))
    throw InvalidArgument{"'", path, "' is the index of other vectors: build an index of these"};
  const Options options{.connections = numbers[4],
                        .build_search = numbers[5],
                        .search = numbers[6],
                        .seed = numbers[7]};
  try {
    validate_parameters(options);
  } catch (const InvalidArgument& error) {
    file.refuse_section("options of an index", error.what());
  }
  if (numbers[3] > embeddings.size())
    file.refuse_section("points of an index", detail::joined({numbers[3], " points"}));
  auto graph = std::make_shared<detail::NearestGraph>(
      embeddings.vectors(), embeddings.inverse_lengths(),
      detail::NearestGraph::Shape{options.connections, options.build_search}, numbers[3]);
  graph->load(file);
  file.end();
  return {std::move(embeddings), options, std::move(graph)};
}

WORDLOOM_FUNCTION std::vector<Neighbour> NearestIndex::most_similar(std::span<const float> vector,
                                                                    std::size_t k,
                                                                    std::size_t search) const {
  if (vector.size() != embeddings_.dimension() || !(detail::inverse_length(vector) > 0))
    return embeddings_.most_similar(vector, k);
  RowMatrix unit(1, vector.size());
  std::ranges::copy(vector, unit.data());
  detail::scale_to_unit(unit.row(0));
  std::vector<Neighbour> result;
  for (const auto& [row, score] :
       graph_->nearest(unit.data(), k, width(search), embeddings_.size()))
    result.push_back({std::string(embeddings_.word(row)), score});
  return result;
}

WORDLOOM_FUNCTION std::vector<Neighbour> NearestIndex::nearest(WordId id, std::size_t k,
                                                               std::size_t search) const {
  const float scale = embeddings_.inverse_lengths()[id];
  if (scale == 0) return embeddings_.most_similar(embeddings_.word(id), k);
  RowMatrix unit(1, embeddings_.dimension());
  std::ranges::transform(embeddings_[id], unit.data(), [&](float x) { return x * scale; });
  std::vector<Neighbour> result;
  for (const auto& [row, score] : graph_->nearest(unit.data(), k, width(search), id))
    result.push_back({std::string(embeddings_.word(row)), score});
  return result;
}

WORDLOOM_FUNCTION std::vector<std::vector<Neighbour>> NearestIndex::nearest_to_each(
    const std::vector<WordId>& ids, std::size_t k, std::size_t search, std::size_t threads) const {
  std::vector<std::vector<Neighbour>> result(ids.size());
  std::atomic<std::size_t> next{0};
  detail::run_threads((std::min)(resolve_threads(threads), ids.size()), [&](std::size_t) {
    for (std::size_t i; (i = next.fetch_add(1)) < ids.size();)
      result[i] = nearest(ids[i], k, search);
  });
  return result;
}

WORDLOOM_FUNCTION double NearestIndex::recall(std::size_t k, std::size_t sample, std::size_t search,
                                              std::size_t threads) const {
  if (k == 0 || sample == 0 || size() == 0)
    throw InvalidArgument{"the recall of ", k,      " answers to ",         sample,
                          " of ",           size(), " words is not defined"};
  sample = (std::min)(sample, size());
  std::vector<WordId> ids;  // not words, of which several rows may have the same
  for (std::size_t i = 0; i < sample; ++i) ids.push_back(graph_->row_of(i * size() / sample));
  const auto inverse_lengths = embeddings_.inverse_lengths();
  auto exact = detail::RowQueries{embeddings_.vectors(), inverse_lengths}.nearest_to_each(
      ids, k, {.threads = threads});
  const auto found = nearest_to_each(ids, k, search, threads);
  std::size_t right = 0, all = 0;
  for (std::size_t i = 0; i < sample; ++i) {
    // Rows of zeros are no answers of an index.
    std::erase_if(exact[i], [&](const auto& near) { return inverse_lengths[near.row] == 0; });
    all += exact[i].size();
    for (const Neighbour& neighbour : found[i])
      right += !exact[i].empty() && neighbour.score >= exact[i].back().score;
  }
  return all == 0 ? 1.0 : static_cast<double>(right) / static_cast<double>(all);
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
