#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/detail/hash.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/files.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/graph/detail/random_order.hpp>
#include <wordloom/graph/detail/walker.hpp>
#include <wordloom/graph/graph.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Random walks as a corpus, made by the thread that trains them and never stored. A walk is a
/// function of (seed, epoch, node, number of the walk from that node), and so does not depend on
/// the number of threads and ranks. A shard has its own nodes to start from, in another random
/// order for each round of walks. A walk ends early at a node without neighbours. Immutable; copies
/// share the graph; all members are thread-safe. Memory of a reader: `walker_width` walks.
class RandomWalks {
 public:
  /// Options of random walks. The defaults are node2vec's.
  struct Options {
    std::size_t walks_per_node = 10;  ///< in each epoch
    std::size_t length = 80;          ///< maximum number of nodes in a walk
    /// Second order (Grover and Leskovec 2016, equation 2): a step back to the node before has
    /// weight 1/p, a step to a neighbour of that node weight 1, any other 1/q, each times the
    /// weight of the edge. With p = q = 1, walks are of first order (DeepWalk, Perozzi et al.
    /// 2014).
    double p = 1, q = 1;
    /// Draw new walks in each epoch. If false, every epoch repeats those of the first, like
    /// programs that store walks in a file.
    bool new_each_epoch = true;
    /// Threads that the constructor may use, up to 65536; 0 = all processors of the machine.
    std::size_t threads = 0;

    /// Throws InvalidArgument.
    void validate() const {
      check_parameter("walks_per_node", walks_per_node, 1, 1'000'000);
      check_parameter("length", length, 1, 1'000'000);
      check_parameter("p", p, 1e-6, 1e6);
      check_parameter("q", q, 1e-6, 1e6);
    }
  };

  static constexpr bool repeats = false, drops_words = false, splits = true;

  explicit RandomWalks(Graph graph);
  /// Throws InvalidArgument. If walks in the graph may end early, walks once from each node to
  /// estimate the length of all.
  explicit RandomWalks(Graph graph, const Options& options)
      : graph_(std::move(graph)), options_(options) {
    options.validate();
    tokens_ = count_tokens() * options.walks_per_node;
  }

  const Graph& graph() const& noexcept { return graph_; }
  void graph() const&& = delete;
  const Options& options() const noexcept { return options_; }

  /// Returns the number of nodes of all walks of an epoch; an estimate if the graph has dead ends.
  std::uint64_t token_count() const noexcept { return tokens_; }
  std::uint64_t vocabulary_fingerprint() const noexcept {
    return graph_.vocabulary().fingerprint();
  }
  /// Returns a hash of the graph and of all options except `threads`.
  std::uint64_t fingerprint() const noexcept {
    detail::Hash hash;
    hash.add(graph_.fingerprint());
    hash.add(std::uint64_t{options_.walks_per_node});
    hash.add(std::uint64_t{options_.length});
    hash.add(&options_.p, sizeof(options_.p));
    hash.add(&options_.q, sizeof(options_.q));
    hash.add(std::uint64_t{options_.new_each_epoch});
    return hash.value();
  }

  /// Returns the walks of a shard. All shards have nearly equal numbers of nodes to start from.
  auto sentences(const Shard& shard) const;

  /// Writes all walks of an epoch, one a line as names of nodes, in the order of a single thread;
  /// whole or not at all. Throws IoError, and as check_names.
  void save(const std::filesystem::path& path, std::uint64_t seed = 1, std::size_t epoch = 0) const;

  /// Throws InvalidArgument for the first node whose name contains white space, which separates
  /// nodes in a file of walks. Programs call this before they train.
  static void check_names(const Graph& graph);

 private:
  class Reader;

  std::uint64_t count_tokens() const;

  Graph graph_;
  Options options_;
  std::uint64_t tokens_ = 0;
};

inline RandomWalks::RandomWalks(Graph graph) : RandomWalks(std::move(graph), Options()) {}

/// The walks of one shard, one after the other.
class RandomWalks::Reader {
 public:
  Reader(const RandomWalks& walks, const Shard& shard)
      : walks_(walks),
        seed_(shard.seed),
        epoch_(walks.options_.new_each_epoch ? shard.epoch : 0),
        shard_(shard.index),
        nodes_(shard.part_of(walks.graph_.node_count())),
        owners_(walks.graph_.node_count(), Random(seed_, 0, owner_stream)),
        walker_(walks_.graph_.rows(), walks.options_.length, walks.options_.p, walks.options_.q) {}

  detail::NextSentence operator()() {
    if (given_ == walker_.count() && !walk_more()) return std::nullopt;
    return walker_.walk(given_++);
  }

 private:
  // Numbers of random streams that no walk has.
  static constexpr std::uint64_t owner_stream = ~std::uint64_t{0}, order_stream = owner_stream - 1;

  bool walk_more() {
    const std::uint64_t own = nodes_.second - nodes_.first;
    if (own == 0) return false;
    WalkStart starts[detail::walker_width];
    std::size_t count = 0;
    while (count < detail::walker_width && round_ < walks_.options_.walks_per_node) {
      const std::uint64_t number = epoch_ * walks_.options_.walks_per_node + round_;
      if (!order_) order_.emplace(own, Random(Random(seed_, shard_, order_stream)(), number));
      const auto node = static_cast<WordId>(owners_[nodes_.first + (*order_)[next_]]);
      starts[count++] = {node, Random(seed_, node, number)};
      if (++next_ < own) continue;
      next_ = 0;
      ++round_;
      order_.reset();
    }
    walker_.run({starts, count});
    given_ = 0;
    return count > 0;
  }

  using WalkStart = detail::WalkStart;
  RandomWalks walks_;
  std::uint64_t seed_, epoch_, shard_;
  std::pair<std::size_t, std::size_t> nodes_;  // those that this shard starts from, in `owners_`
  detail::RandomOrder owners_;                 // deals nodes to shards
  detail::Walker walker_;
  std::optional<detail::RandomOrder> order_;  // of this shard's nodes in this round
  std::uint64_t round_ = 0, next_ = 0;
  std::size_t given_ = 0;  // of the walker's walks
};

inline auto RandomWalks::sentences(const Shard& shard) const {
  return SentenceRange([walks = *this, shard] { return Reader(walks, shard); });
}

/// Returns the nodes of one walk from each node.
inline std::uint64_t RandomWalks::count_tokens() const {
  const std::size_t nodes = graph_.node_count();
  std::uint64_t without_edges = 0;
  for (WordId node = 0; node < nodes; ++node) without_edges += graph_.neighbours(node).empty();
  if (!graph_.is_directed() || without_edges == 0)
    return (nodes - without_edges) * options_.length + without_edges;
  const std::size_t threads = resolve_threads(options_.threads);
  std::vector<std::uint64_t> tokens(threads);
  RandomWalks once = *this;
  once.options_.walks_per_node = 1;
  detail::run_threads(threads, [&](std::size_t i) {
    for (const auto walk : once.sentences({.index = i, .count = threads})) tokens[i] += walk.size();
  });
  std::uint64_t all = 0;
  for (const std::uint64_t of_thread : tokens) all += of_thread;
  return all;
}

static_assert(Corpus<RandomWalks>);

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void RandomWalks::check_names(const Graph& graph) {
  for (WordId node = 0; node < graph.node_count(); ++node)
    if (const auto name = graph.vocabulary().word(node); !detail::is_word(name))
      throw InvalidArgument{"walks separate nodes by blanks and cannot hold the node ",
                            detail::shown(name), ": replace the white space in its name"};
}

WORDLOOM_FUNCTION void RandomWalks::save(const std::filesystem::path& path, std::uint64_t seed,
                                         std::size_t epoch) const {
  check_names(graph_);
  AtomicFile file(path);
  std::string line;
  for (const auto walk : sentences({.epoch = epoch, .seed = seed})) {
    line.clear();
    for (const WordId node : walk) line.append(graph_.vocabulary().word(node)).append(1, ' ');
    line.back() = '\n';
    file.write(line);
  }
  file.commit();
}

#endif

using WalkOptions [[deprecated("use RandomWalks::Options")]] = RandomWalks::Options;

}}  // namespace wordloom::WORDLOOM_ABI
