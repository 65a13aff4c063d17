#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/detail/strata.hpp>
#include <wordloom/sampler/expected_updates.hpp>
#include <wordloom/sampler/negative_sampling.hpp>
#include <wordloom/sampler/window.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Skip-gram by strata (stratified SGD: Gemulla et al. 2011, "Large-Scale Matrix Factorization with
/// Distributed Stochastic Gradient Descent"; for embeddings of nodes Zhu et al. 2019, "GraphVite",
/// section 3.2): the rows of both sides of the model are divided into P strata, and the pairs of
/// some words of the corpus, an episode, into P x P blocks by the strata of their context word
/// (input) and their centre (output). P blocks that have no stratum in common are trained at the
/// same time, P times an episode. While `block_threads` is 1, no two threads or ranks
/// change one row at a time: any number of them gives the same bits, the rows of a block stay in
/// the cache, and ranks, each of which has its own inputs, pass the outputs on in a ring instead of
/// summing changes.
///
/// Pairs are trained in another order than that of the corpus: block by block, and within one in
/// random order, those of a centre together, at most `block_contexts` of which share the negatives.
/// Negatives are drawn from the stratum of the centre, as many on average as from all words.
struct StratifiedPairs {
  Window window = {};
  NegativeSampling targets = {};   // its pool has no effect
  std::size_t block_contexts = 0;  // of a centre, which share negatives; 0: 10
  /// P. A rank needs one or more, and uses `block_threads` threads for each at most. 0: 32, fewer
  /// for less than 16,384 words, more for above 2 million. A stratum has 16 words or more: small
  /// vocabularies have fewer strata than this.
  std::size_t strata = 0;
  /// Words of an episode, of all ranks, each of which sends a whole side of the model in it. Longer
  /// ones are further from the order of the corpus. 0: 64 for each word of the vocabulary, but at
  /// least 16 episodes in a run; an epoch has one or more.
  std::uint64_t episode = 0;
  /// Threads that train a block at a time, each a share of its pairs: they change its rows without
  /// locks, as those of Hogwild do, so that above 1 runs of several threads differ.
  std::size_t block_threads = 1;

  static constexpr bool by_strata = true;

  static StratifiedPairs from(const Hyperparameters& parameters) {
    return {Window::from(parameters), NegativeSampling::from(parameters)};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit_parameters_of(visit, window, targets);
    visit("block_contexts", block_contexts, 0, 1000);
    visit("strata", strata, 0, 256);
    visit("episode", episode, std::uint64_t{0}, std::uint64_t{1} << 40);
    visit("block_threads", block_threads, 1, 256);
  }

  class Run;
  class Worker;
  /// Throws CorpusError for a vocabulary of fewer than two words, and InvalidArgument for more than
  /// 65,536 words in a stratum.
  Run start(const Vocabulary& vocabulary) const;
};

/// The tables of a run. Copies share them; thread-safe.
class StratifiedPairs::Run {
 public:
  Run(const StratifiedPairs& policy, const Vocabulary& vocabulary)
      : Run(policy, vocabulary, WordRates(vocabulary, 0)) {}
  /// `rates`: of the words, which strata divide among them.
  Run(const StratifiedPairs& policy, const Vocabulary& vocabulary, const WordRates& rates)
      : policy_(policy),
        targets_(policy.targets.start(vocabulary)),
        tables_(std::make_shared<Tables>(policy, vocabulary, rates)) {}

  const StratifiedPairs& policy() const noexcept { return policy_; }
  const detail::Strata& strata() const noexcept { return tables_->strata; }
  std::size_t output_rows() const noexcept { return strata().rows(); }
  detail::ExpectedUpdates expected_updates(const WordRates& rates) const {
    return detail::expected_of_skip_gram(rates, static_cast<double>(policy_.window.mean_context()),
                                         targets_);
  }
  Worker worker() const;

 private:
  friend class Worker;
  struct Tables {
    Tables(const StratifiedPairs& policy, const Vocabulary& vocabulary, const WordRates& rates)
        : strata(count_of(policy, vocabulary.size()), rates.kept) {
      double all = 0;
      for (std::uint32_t j = 0; j < strata.count(); ++j) {
        double sum = 0, pairs = 0;
        std::vector<double> weights;
        for (const RowId row : strata.of(j)) {
          weights.push_back(
              std::pow(static_cast<double>(vocabulary.counts()[row]), policy.targets.exponent));
          sum += weights.back();
          pairs += rates.kept[row] / rates.sum;
        }
        noise.emplace_back(weights);
        negatives.push_back(static_cast<double>(policy.targets.negatives) * sum /
                            (std::max)(pairs, 1e-9));
        all += sum;
      }
      for (double& of : negatives) of /= all;
    }

    detail::Strata strata;
    std::vector<detail::AliasTable> noise;  // [strata] of the places of each
    // [strata] for each centre of it: as many as its words are of all negatives, divided by what
    // they are of all centres.
    std::vector<double> negatives;
  };

  static std::uint32_t count_of(const StratifiedPairs& policy, std::size_t words) {
    constexpr std::size_t usual = 32, usual_rows = 512, least_rows = 16;
    const std::size_t least = (words + detail::Strata::max_rows - 1) / detail::Strata::max_rows;
    std::size_t count = policy.strata;
    if (count == 0)
      count = (std::max)(std::clamp<std::size_t>(words / usual_rows, 1, usual), least);
    if (count < least)
      throw InvalidArgument{
          "strata is ", count,   ", must be at least ", least, " for a vocabulary of ",
          words,        " words"};
    return static_cast<std::uint32_t>(
        (std::min)(count, (std::max<std::size_t>)(1, words / least_rows)));
  }

  StratifiedPairs policy_;
  NegativeSampling::Run targets_;
  std::shared_ptr<const Tables> tables_;
};

/// The scratch memory of one thread.
class StratifiedPairs::Worker {
 public:
  explicit Worker(const Run& run)
      : run_(run),
        most_(run.policy_.block_contexts != 0 ? run.policy_.block_contexts : 10),
        // The mean of a centre depends on its stratum's share of negatives; this is the most.
        max_negatives_(4 * run.policy_.targets.negatives),
        drawn_{std::vector<RowId>(1 + max_negatives_), std::vector<RowId>(1 + max_negatives_)} {}

  Block::Shape max_block() const noexcept {
    return {.inputs = most_, .outputs = 1 + max_negatives_};
  }

  /// Sets the strata of the pairs that sample() takes.
  void begin_block(std::uint32_t input, std::uint32_t output) noexcept {
    input_ = input;
    output_ = output;
    negatives_ = (std::min)(run_.tables_->negatives[output], static_cast<double>(max_negatives_));
  }

  /// Makes the blocks of pairs, each a StratumPair.
  template <class Sink>
  void sample(std::span<const std::uint32_t> pairs, Random& random, Sink&& sink) {
    using Pair = detail::StratumPair;
    if (pairs.size() > (std::numeric_limits<std::uint32_t>::max)())
      throw InvalidArgument{"a block has ", pairs.size(),
                            " pairs, can have 4294967295: use more strata or a shorter episode"};
    const std::vector<RowId>& rows = run_.strata().of(input_);
    ends_.assign(run_.strata().of(output_).size() + 1, 0);
    inputs_.resize(pairs.size());
    for (const std::uint32_t pair : pairs) ++ends_[Pair::output(pair) + 1];
    for (std::size_t i = 1; i < ends_.size(); ++i) ends_[i] += ends_[i - 1];
    for (const std::uint32_t pair : pairs)
      inputs_[ends_[Pair::output(pair)]++] = rows[Pair::input(pair)];
    // ends_[i] is the end of the inputs of output i now.
    parts_.clear();
    for (std::uint32_t i = 0, first = 0; i + 1 < ends_.size(); first = ends_[i++]) {
      const std::size_t contexts = ends_[i] - first, parts = (contexts + most_ - 1) / most_;
      for (std::size_t k = 0; k < parts; ++k) {
        const auto [from, until] = detail::part_of(contexts, k, parts);
        parts_.push_back({i, first + static_cast<std::uint32_t>(from),
                          static_cast<std::uint32_t>(until - from)});
      }
    }
    for (std::size_t i = parts_.size(); i > 1; --i)
      std::swap(parts_[i - 1], parts_[random.below(i)]);
    for (std::size_t i = 0; i <= parts_.size(); ++i) {
      if (i < parts_.size()) begin(parts_[i], drawn_[i % 2], sizes_[i % 2], random, sink);
      if (i == 0) continue;
      const Part& part = parts_[i - 1];
      sink(Block{.inputs = std::span<const RowId>(inputs_).subspan(part.first, part.size),
                 .outputs = std::span<const RowId>(drawn_[(i - 1) % 2]).first(sizes_[(i - 1) % 2]),
                 .positives = 1,
                 .examples = part.size});
    }
  }

 private:
  /// Contexts of a centre.
  struct Part {
    std::uint32_t output, first, size;
  };

  /// Draws the outputs of a part and announces its rows.
  template <class Sink>
  void begin(const Part& part, std::vector<RowId>& drawn, std::size_t& count, Random& random,
             Sink& sink) {
    const auto& noise = run_.tables_->noise[output_];
    const std::vector<RowId>& rows = run_.strata().of(output_);
    drawn[0] = rows[part.output];
    const auto negatives = static_cast<std::size_t>(negatives_ + random.uniform());
    count = 1;
    // A negative that is the centre is left out, as in word2vec.
    for (std::size_t k = 0; k < (std::min)(negatives, max_negatives_); ++k) {
      const std::uint32_t place = noise.draw(random);
      if (place != part.output) drawn[count++] = rows[place];
    }
    announce_rows(sink, std::span<const RowId>(inputs_).subspan(part.first, part.size),
                  std::span<const RowId>(drawn).first(count));
  }

  Run run_;
  std::size_t most_, max_negatives_;
  std::uint32_t input_ = 0, output_ = 0;
  double negatives_ = 0;             // of a part, on average
  std::vector<std::uint32_t> ends_;  // [1 + outputs of the stratum]
  std::vector<RowId> inputs_;        // [pairs] by output
  std::vector<Part> parts_;
  std::vector<RowId> drawn_[2];  // [1 + negatives] the outputs of a part and of the next
  std::size_t sizes_[2] = {};
};

inline auto StratifiedPairs::Run::worker() const -> Worker { return Worker(*this); }
inline auto StratifiedPairs::start(const Vocabulary& vocabulary) const -> Run {
  return Run(*this, vocabulary);
}

static_assert(Sampler<StratifiedPairs>);

}}  // namespace wordloom::WORDLOOM_ABI
