#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/detail/hash.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/graph/graph.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Edges as a corpus (LINE: Tang et al. 2015, "LINE: Large-scale Information Network Embedding",
/// section 4.2): each epoch draws edges in proportion to their weights, with replacement; an
/// undirected edge is drawn in either direction. A sentence is a run of up to `max_edges` edges:
/// from, to, from, to, ... It is a function of (seed, epoch, its number in the epoch), so that all
/// shards together have the same edges for any number of threads and ranks.
///
/// An edge is drawn in constant time: its first end from an alias table over nodes (Walker 1977; 8
/// bytes a node), then one of its neighbours. Immutable; copies share the graph and the table; all
/// members are thread-safe.
class EdgeSamples {
 public:
  /// Options of drawing edges.
  struct Options {
    std::uint64_t edges_per_epoch = 0;  ///< 0: as many as the graph has entries

    /// Throws InvalidArgument.
    void validate() const {
      check_parameter("edges_per_epoch", edges_per_epoch, std::uint64_t{0}, std::uint64_t{1} << 60);
    }
  };

  static constexpr bool repeats = false, drops_words = false, splits = true;
  static constexpr std::size_t max_edges = 500;  // of a sentence

  /// Throws InvalidArgument, and CorpusError for a graph without edges.
  EdgeSamples(Graph graph, const Options& options);
  explicit EdgeSamples(Graph graph);

  const Graph& graph() const& noexcept { return graph_; }
  void graph() const&& = delete;
  std::uint64_t edges_per_epoch() const noexcept { return edges_; }

  std::uint64_t token_count() const noexcept { return 2 * edges_; }
  std::uint64_t vocabulary_fingerprint() const noexcept {
    return graph_.vocabulary().fingerprint();
  }
  /// Returns a hash of the graph and of the number of edges.
  std::uint64_t fingerprint() const noexcept {
    detail::Hash hash;
    hash.add(graph_.fingerprint());
    hash.add(edges_);
    return hash.value();
  }

  /// Returns consecutive sentences. All shards have nearly equal numbers of them.
  auto sentences(const Shard& shard) const;

 private:
  class Reader;

  Graph graph_;
  std::uint64_t edges_, sentences_ = 0;              // of an epoch
  std::shared_ptr<const detail::AliasTable> nodes_;  // by the sum of the weights of their edges
};

inline EdgeSamples::EdgeSamples(Graph graph) : EdgeSamples(std::move(graph), Options()) {}

/// The sentences of one shard, one after the other.
class EdgeSamples::Reader {
 public:
  Reader(const EdgeSamples& samples, const Shard& shard)
      : samples_(samples), shard_(shard), sentences_(shard.part_of(samples.sentences_)) {}

  detail::NextSentence operator()() {
    if (sentences_.first == sentences_.second) return std::nullopt;
    const std::size_t sentence = sentences_.first++;
    const auto [first, last] = detail::part_of(samples_.edges_, sentence, samples_.sentences_);
    Random random(shard_.seed ^ own_streams, sentence, shard_.epoch);
    nodes_.resize(2 * (last - first));
    for (std::size_t i = 0; i < nodes_.size(); i += 2 * at_once)
      draw(std::span(nodes_).subspan(i, (std::min)(2 * at_once, nodes_.size() - i)), random);
    return nodes_;
  }

 private:
  // Makes these streams of random numbers differ from those of the samplers that train the edges.
  static constexpr std::uint64_t own_streams = 0x6564676573616d70;
  // The number of edges drawn together, step by step, so that their memory accesses overlap.
  static constexpr std::size_t at_once = 64;

  /// Draws edges[0] to edges[1], edges[2] to edges[3], ...
  void draw(std::span<WordId> edges, Random& random) const noexcept {
    const detail::GraphRows& rows = samples_.graph_.rows();
    const std::size_t count = edges.size() / 2;
    std::array<detail::AliasTable::Place, at_once> places;
    std::array<std::uint64_t, at_once> entries;
    for (std::size_t i = 0; i < count; ++i) places[i] = samples_.nodes_->begin_draw(random);
    for (std::size_t i = 0; i < count; ++i) {
      const WordId node = edges[2 * i] = samples_.nodes_->end_draw(places[i]);
      __builtin_prefetch(&rows.ends[node]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t begin = rows.begin(edges[2 * i]);
      places[i] = detail::AliasTable::draw_place(random, rows.ends[edges[2 * i]] - begin);
      entries[i] = begin + places[i].bucket;
      __builtin_prefetch(&rows.neighbours[entries[i]]);
      if (!rows.aliases.empty()) __builtin_prefetch(&rows.aliases[entries[i]]);
    }
    if (!rows.aliases.empty())
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t begin = entries[i] - places[i].bucket;
        entries[i] = begin + detail::AliasTable::end_draw(&rows.aliases[begin], places[i]);
      }
    for (std::size_t i = 0; i < count; ++i) edges[2 * i + 1] = rows.neighbours[entries[i]];
  }

  EdgeSamples samples_;
  Shard shard_;
  std::pair<std::size_t, std::size_t> sentences_;  // left, by number
  std::vector<WordId> nodes_;                      // [2 x edges] of the sentence
};

inline auto EdgeSamples::sentences(const Shard& shard) const {
  return SentenceRange([samples = *this, shard] { return Reader(samples, shard); });
}

static_assert(Corpus<EdgeSamples>);

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION EdgeSamples::EdgeSamples(Graph graph, const Options& options)
    : graph_(std::move(graph)), edges_(options.edges_per_epoch) {
  options.validate();
  if (graph_.entry_count() == 0) throw CorpusError("the graph has no edges to draw");
  if (edges_ == 0) edges_ = graph_.entry_count();
  // A small epoch has shorter sentences, so that it can be divided among many threads.
  const std::uint64_t edges = std::clamp<std::uint64_t>(edges_ / 64, 1, max_edges);
  sentences_ = (edges_ + edges - 1) / edges;
  std::vector<double> sums(graph_.node_count());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto node = static_cast<WordId>(i);
    const auto weights = graph_.weights(node);
    sums[i] = graph_.is_weighted() ? std::accumulate(weights.begin(), weights.end(), 0.0)
                                   : static_cast<double>(graph_.neighbours(node).size());
  }
  nodes_ = std::make_shared<const detail::AliasTable>(sums);
}

#endif

using EdgeSampleOptions [[deprecated("use EdgeSamples::Options")]] = EdgeSamples::Options;

}}  // namespace wordloom::WORDLOOM_ABI
