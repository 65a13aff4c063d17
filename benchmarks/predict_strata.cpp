// How fast a cluster would train by strata: counts the pairs of each block in an episode of a text,
// and lets nodes train the blocks in the order of Wordloom, with given times of a pair and of the
// network. Threads that share a block are taken to lose nothing by rows that they both change.
// Prints a table: words/s of the fastest number of strata, and their share of what as many single
// nodes would make.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <queue>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <wordloom/sampler/detail/strata.hpp>
#include <wordloom/train/detail/strata_loop.hpp>
#include <wordloom/wordloom.hpp>

#include "support/arguments.hpp"
#include "support/demo_text.hpp"
#include "support/training.hpp"

using namespace wordloom;
using detail::Strata;

namespace {

/// Seconds, of one AMD EPYC (AVX2) and 128 dimensions.
struct Costs {
  double pair = 243e-9, part = 52e-9, block = 2e-6;  // fitted to 200,000 blocks
  double find = 150e-9;                              // a word's pairs, sorted
  double write = 100e-9, read = 30e-9;               // a row, as 8 bits
  double wire = 8e-9;                                // a pair, written and read
  double byte = 0.2e-9;                              // of pairs, in thread 0
  double speed_up = 1;                               // of another processor
};

struct Network {
  double latency, bytes_per_second;

  /// `mbit`: its nominal speed, of which ranks reach the share `wire`.
  static Network of(double mbit, double wire) {
    return {mbit <= 1000 ? 50e-6 : mbit <= 10000 ? 30e-6 : 10e-6, mbit * 1e6 / 8 * wire};
  }
};

/// An episode: the seconds of each block on one thread, [inputs x outputs].
struct Episode {
  std::uint32_t strata;
  std::vector<double> seconds;
  double words, pairs, rows, row_bytes;

  double at(std::size_t input, std::size_t step) const {
    return seconds[input * strata + (input + step) % strata];
  }
};

struct Pair {
  WordId center, context;
};

std::vector<Pair> pairs_of(const TrainingInput& input, std::size_t words, std::size_t window,
                           double subsample) {
  const detail::Subsampling subsampling(input.vocabulary, subsample);
  Random random(1);
  std::vector<WordId> kept;
  std::vector<Pair> pairs;
  std::size_t read = 0;
  for (std::size_t s = 0; s < input.corpus.sentence_count() && read < words; ++s) {
    const auto sentence = input.corpus.sentence(s);
    read += sentence.size();
    const auto of = subsampling(sentence, random, kept);
    for (std::size_t i = 0; i < of.size(); ++i) {
      const detail::WindowRange<std::size_t> range(i, 1 + random.below(window), of.size());
      for (std::size_t k = range.first; k < range.end; ++k)
        if (k != i) pairs.push_back({of[i], of[k]});
    }
  }
  std::ranges::sort(pairs, {}, &Pair::center);
  return pairs;
}

Episode episode_of(const Vocabulary& vocabulary, double subsample, std::span<const Pair> pairs,
                   std::size_t words, std::uint32_t count, const Costs& costs) {
  const Strata strata(count, WordRates(vocabulary, subsample).kept);
  Episode episode{count,
                  std::vector<double>(std::size_t{count} * count, costs.block / costs.speed_up),
                  static_cast<double>(words),
                  static_cast<double>(pairs.size()),
                  static_cast<double>(strata.most_rows()),
                  132};
  constexpr std::uint32_t most = 10;  // contexts of a part
  for (std::size_t first = 0, i = 0; i < pairs.size(); first = i) {
    std::vector<std::uint32_t> contexts(count);
    for (; i < pairs.size() && pairs[i].center == pairs[first].center; ++i)
      ++contexts[strata.at(pairs[i].context).stratum()];
    for (std::uint32_t s = 0; s < count; ++s)
      episode.seconds[s * count + strata.at(pairs[first].center).stratum()] +=
          (contexts[s] * costs.pair + (contexts[s] + most - 1) / most * costs.part) /
          costs.speed_up;
  }
  return episode;
}

/// Simulates the steps between two ticks: threads of nodes that take blocks as BlockOrder gives
/// them, and thread 0 of each, which passes outputs on between its blocks.
class Steps {
 public:
  Steps(const Episode& episode, std::size_t nodes, std::size_t threads, const Network& network,
        const Costs& costs)
      : episode_(episode),
        threads_(threads),
        own_(episode.strata / nodes),
        shares_((threads + own_ - 1) / own_),
        write_(episode.rows * costs.write / costs.speed_up),
        read_(episode.rows * costs.read / costs.speed_up),
        travel_(network.latency + episode.rows * episode.row_bytes / network.bytes_per_second),
        nodes_(nodes) {}

  /// Returns the seconds of steps first to first + steps - 1.
  double operator()(std::size_t first, std::size_t steps) {
    first_ = first;
    steps_ = steps;
    for (Node& node : nodes_)
      node = {std::vector<std::size_t>(own_), std::vector<std::size_t>(own_),
              std::vector<std::size_t>(own_), std::vector<bool>(threads_, true),
              std::vector<double>(steps, std::numeric_limits<double>::infinity())};
    for (std::size_t n = 0; n < nodes_.size(); ++n) employ(n, 0);
    double now = 0;
    while (!events_.empty()) {
      const auto [time, n, thread, input] = events_.top();
      events_.pop();
      now = time;
      Node& node = nodes_[n];
      if (thread < threads_) node.is_free[thread] = true;
      if (input < own_) {
        if (++node.ended[input] == shares_) {
          node.begun[input] = node.ended[input] = 0;
          ++node.trained[input];
        }
      } else if (input == writes) {
        Node& before = nodes_[(n + nodes_.size() - 1) % nodes_.size()];
        before.arrival[node.given++] = now + travel_;
        push(now + travel_, (n + nodes_.size() - 1) % nodes_.size(), threads_, 0);
      } else if (input == reads) {
        ++node.taken;
      }
      employ(n, now);
    }
    return now;
  }

 private:
  using Event = std::tuple<double, std::size_t, std::size_t, std::size_t>;
  struct Node {
    std::vector<std::size_t> trained;  // [own inputs] steps
    std::vector<std::size_t> begun;    // [own inputs] shares of a block
    std::vector<std::size_t> ended;    // [own inputs] shares of a block
    std::vector<bool> is_free;         // [threads]
    std::vector<double> arrival;       // [steps] of the outputs that this node takes
    std::size_t given = 0, taken = 0;
  };
  static constexpr std::size_t writes = ~std::size_t{0} - 1, reads = ~std::size_t{0} - 2,
                               arrives = ~std::size_t{0} - 3, helps = ~std::size_t{0} - 4;

  void push(double time, std::size_t n, std::size_t thread, std::size_t work) {
    events_.emplace(time, n, thread, thread < threads_ ? work : arrives);
  }
  /// Gives each free thread of a node work.
  void employ(std::size_t n, double now) {
    Node& node = nodes_[n];
    for (std::size_t thread = 0; thread < threads_; ++thread) {
      if (!node.is_free[thread]) continue;
      if (thread == 0 && nodes_.size() > 1) {
        const bool gives = node.given == node.taken && node.given < node.trained[0],
                   takes = node.taken < node.given && node.arrival[node.taken] <= now;
        if (gives || takes) {
          // All threads that are free do it together.
          const auto helpers = static_cast<double>(std::ranges::count(node.is_free, true));
          for (std::size_t other = threads_; other-- > 0;)
            if (node.is_free[other]) {
              node.is_free[other] = false;
              push(now + (gives ? write_ : read_) / helpers, n, other,
                   other != 0 ? helps
                   : gives    ? writes
                              : reads);
            }
          continue;
        }
      }
      std::size_t best = own_;
      for (std::size_t i = 0; i < own_; ++i) {
        const std::size_t passed = i + 1 < own_         ? node.trained[i + 1]
                                   : nodes_.size() == 1 ? node.trained[0]
                                                        : node.taken;
        if (node.begun[i] < shares_ && node.trained[i] < steps_ && node.trained[i] <= passed &&
            (best == own_ || node.trained[i] < node.trained[best]))
          best = i;
      }
      if (best == own_) continue;
      node.is_free[thread] = false;
      ++node.begun[best];
      push(now + episode_.at(n * own_ + best, first_ + node.trained[best]) /
                     static_cast<double>(shares_),
           n, thread, best);
    }
  }

  const Episode& episode_;
  const std::size_t threads_, own_, shares_;  // own: inputs of a node; shares: of a block
  const double write_, read_, travel_;
  std::size_t first_ = 0, steps_ = 0;
  std::vector<Node> nodes_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

/// Returns the words/s of a cluster.
double speed(const Episode& episode, std::size_t nodes, std::size_t threads, const Network& network,
             const Costs& costs, std::size_t ticks) {
  const auto n = static_cast<double>(nodes), t = static_cast<double>(threads),
             strata = static_cast<double>(episode.strata);
  double seconds = episode.words * costs.find / costs.speed_up / (n * t);
  const double of_ranks = 2 * std::log2(n) * network.latency;  // that ask each other
  double exchange = 0;                                         // of pairs and rows, beside training
  if (nodes > 1) {
    const auto places = static_cast<unsigned>(episode.rows) - 1;
    const double bytes = (episode.pairs / n * ((2 * std::bit_width(places) + 7) / 8) +
                          4.0 * episode.strata * episode.strata) *
                         (n - 1) / n;
    exchange = (n + strata) * network.latency +
               (bytes + strata * episode.rows * episode.row_bytes) / network.bytes_per_second;
    seconds += 2 * of_ranks +
               (bytes * costs.byte + episode.pairs / (n * std::min(t, strata)) * costs.wire) /
                   costs.speed_up;
  }
  Steps train(episode, nodes, threads, network, costs);
  const std::size_t tick = ticks != 0
                               ? (episode.strata + ticks - 1) / ticks
                               : detail::steps_of_tick(threads, nodes, episode.strata,
                                                       static_cast<std::uint64_t>(episode.words));
  double trained = 0;
  for (std::size_t first = 0; first < episode.strata; first += tick)
    trained += train(first, std::min(tick, episode.strata - first)) + of_ranks;
  seconds += std::max(trained, exchange);
  return episode.words / seconds;
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Speed of a cluster that trains by strata");
  std::string corpus;
  std::vector<std::size_t> nodes{2, 4, 8, 16, 32}, threads{1, 16}, mbit{1000, 10000, 100000};
  std::vector<std::uint32_t> strata{32, 64, 128};
  std::size_t episode = 5'600'000, ticks = 0;
  double subsample = 1e-4, wire = 0.7;
  Costs costs;
  app.add_option("--corpus", corpus, "Text; default: the demo corpus");
  app.add_option("--nodes", nodes, "Numbers of nodes");
  app.add_option("--threads", threads, "Threads of each");
  app.add_option("--strata", strata, "Numbers of strata to choose from");
  app.add_option("--episode", episode, "Words of an episode");
  app.add_option("--ticks", ticks,
                 "Times in an episode that ranks wait for each other; 0: as Wordloom does");
  app.add_option("--subsample", subsample, "Threshold of subsampling");
  app.add_option("--speed-up", costs.speed_up, "Speed of a thread, of that of the EPYC");
  app.add_option("--mbit", mbit, "Nominal speeds of networks, Mbit/s");
  app.add_option("--wire", wire, "Share of a network's nominal speed that ranks reach");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  }
  const TrainingInput input = load_input(BenchmarkText(corpus, 200'000), "");
  episode = std::min<std::size_t>(episode, input.corpus.token_count());
  const auto pairs = pairs_of(input, episode, 5, subsample);
  std::vector<Episode> episodes;
  for (const std::uint32_t count : strata)
    episodes.push_back(episode_of(input.vocabulary, subsample, pairs, episode, count, costs));
  std::cout << "| threads | Mbit/s | nodes | strata | block threads | M words/s | share |\n"
               "|---|---|---|---|---|---|---|\n";
  // Returns the fastest words/s and its number of strata.
  const auto best_of = [&](std::size_t n, std::size_t t, const Network& network) {
    std::pair<double, std::uint32_t> best{0, 0};
    for (const Episode& of : episodes)
      if (of.strata % n == 0)
        best = std::max(best, {speed(of, n, t, network, costs, ticks), of.strata});
    return best;
  };
  for (const std::size_t t : threads) {
    const auto single = best_of(1, t, {0, 1});
    const auto print = [&](const std::string& network, std::size_t n, double words,
                           std::uint32_t with) {
      std::cout << "| " << t << " | " << network << " | " << n << " | " << with << " | "
                << (t * n + with - 1) / with << " | " << std::setprecision(3) << words / 1e6
                << " | " << std::fixed << std::setprecision(0)
                << 100 * words / single.first / static_cast<double>(n) << std::defaultfloat
                << " % |\n";
    };
    print("none", 1, single.first, single.second);
    for (const std::size_t speed_of : mbit)
      for (const std::size_t n : nodes) {
        const auto [words, with] = best_of(n, t, Network::of(static_cast<double>(speed_of), wire));
        if (words > 0) print(std::to_string(speed_of), n, words, with);
      }
  }
} catch (const std::exception& error) {
  std::cerr << "predict_strata: " << error.what() << '\n';
  return 1;
}
