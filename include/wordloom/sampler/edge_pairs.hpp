#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/negative_sampling.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// Targets of an edge whose ends are rows of one matrix (LINE, first order): its second end and K
/// negatives, none of which is either end, because a node that was its own negative would only be
/// pushed towards zero.
struct EdgeNegatives {
  std::size_t negatives = 5;  // K
  double exponent = 0.75;     // negatives are drawn in proportion to count^exponent

  static constexpr bool one_matrix = true;

  static EdgeNegatives from(const Hyperparameters& parameters) {
    return {parameters.negatives, parameters.negative_exponent};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    NegativeSampling{negatives, exponent}.visit_parameters(visit);
  }

  /// Throws CorpusError for a vocabulary of fewer than three words that can be drawn.
  NegativeSampling::Run start(const Vocabulary& vocabulary) const {
    NegativeSampling::Run run(vocabulary, {negatives, exponent, 0});
    const auto drawn = std::count_if(
        vocabulary.counts().begin(), vocabulary.counts().end(),
        [&](std::uint64_t count) { return std::pow(static_cast<double>(count), exponent) > 0; });
    if (drawn < 3)
      throw CorpusError{"negatives that are neither end of an edge need at least 3 nodes with ",
                        "edges, got ", drawn};
    return run;
  }
};

/// Edges as pairs of words (LINE: Tang et al. 2015, "LINE: Large-scale Information Network
/// Embedding", section 4): a sentence is from, to, from, to, ... as drawn by EdgeSamples; none of
/// its words is dropped. Each edge is a block of its own, 1 x M: `from` is the input, `to` and its
/// negatives are the outputs. With EdgeNegatives, both sides are rows of `input`, and an edge from
/// a node to itself is left out. A sentence of an odd number of words throws InvalidArgument.
template <class Targets = NegativeSampling>
struct BasicEdgePairs {
  Targets targets = {};

  static BasicEdgePairs from(const Hyperparameters& parameters) {
    return {policy_from<Targets>(parameters)};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit_parameters_of(visit, targets);
  }

  /// The tables of the targets that all threads share, and the targets of one thread.
  using Tables = decltype(std::declval<const Targets&>().start(std::declval<const Vocabulary&>()));
  using TargetWorker = decltype(std::declval<const Tables&>().worker(0, 0));

  class Worker;
  /// The tables that all threads share.
  class Run {
   public:
    static constexpr bool one_matrix = detail::uses_one_matrix<Targets>();
    static constexpr bool subsamples = false;

    explicit Run(Tables tables) : tables_(std::move(tables)) {}

    BasicEdgePairs::Worker worker() const { return BasicEdgePairs::Worker(tables_); }
    std::size_t output_rows() const noexcept { return tables_.output_rows(); }
    /// Returns the expected updates: every second word is the first end of an edge.
    ExpectedUpdates expected_updates(const WordRates& rates) const {
      ExpectedUpdates both = detail::expected_of_skip_gram(rates, 0.5, tables_);
      if (!one_matrix) return both;
      for (std::size_t i = 0; i < both.input.size(); ++i) both.input[i] += both.output[i];
      return {std::move(both.input), {}};
    }

   private:
    Tables tables_;
  };

  /// Throws what the targets throw.
  Run start(const Vocabulary& vocabulary) const { return Run(targets.start(vocabulary)); }
};

/// The scratch memory of one thread.
template <class Targets>
class BasicEdgePairs<Targets>::Worker {
 public:
  explicit Worker(const Tables& tables)
      : max_outputs_(tables.max_outputs()), targets_(tables.worker(slot_count, at_once)) {}

  Block::Shape max_block() const noexcept { return {.inputs = 1, .outputs = max_outputs_}; }

  template <class Sink>
  void sample(std::span<const WordId> sentence, Random& random, Sink&& sink) {
    if (sentence.size() % 2 != 0)
      throw InvalidArgument{"a sentence of edges has two words for each, this one has ",
                            sentence.size(), ": is the corpus a text?"};
    const std::size_t edges = sentence.size() / 2;
    begin_draw(sentence, 0, random);
    for (std::size_t i = 0; i < edges + lookahead; ++i) {
      if (i < edges) {
        if (i % at_once == 0) end_draw(sentence, i, random);
        announce_rows(sink, sentence.subspan(2 * i, 1), targets_.at(i % slot_count).outputs);
      }
      if (i >= lookahead) use(sentence, i - lookahead, sink);
    }
  }

 private:
  // The number of edges whose negatives are drawn together.
  static constexpr std::size_t at_once = 8;
  static constexpr std::size_t slot_count = 2 * at_once;
  // The number of edges between the announcement of rows and their use, so that they can arrive.
  static constexpr std::size_t lookahead = 4;

  void begin_draw(std::span<const WordId> sentence, std::size_t first, Random& random) noexcept {
    count_ = (std::min)(at_once, sentence.size() / 2 - first);
    for (std::size_t i = 0; i < count_; ++i) {
      from_[i] = sentence[2 * (first + i)];
      to_[i] = sentence[2 * (first + i) + 1];
    }
    targets_.begin_draw(std::span<const WordId>(to_).first(count_), random);
  }

  void end_draw(std::span<const WordId> sentence, std::size_t first, Random& random) noexcept {
    const auto from = std::span<const WordId>(from_).first(count_),
               to = std::span<const WordId>(to_).first(count_);
    if constexpr (Run::one_matrix)
      targets_.end_draw(from, to, first % slot_count, random);
    else
      targets_.end_draw(to, first % slot_count, random);
    begin_draw(sentence, first + count_, random);
  }

  template <class Sink>
  void use(std::span<const WordId> sentence, std::size_t i, Sink& sink) {
    if (Run::one_matrix && sentence[2 * i] == sentence[2 * i + 1]) return;
    const TargetSet set = targets_.at(i % slot_count);
    sink(Block{.inputs = sentence.subspan(2 * i, 1),
               .outputs = set.outputs,
               .positives = set.positives,
               .examples = 1});
  }

  std::size_t max_outputs_, count_ = 0;
  TargetWorker targets_;
  std::array<WordId, at_once> from_{}, to_{};  // the first `count_`: of the edges begun
};

/// LINE of first order: nodes that share an edge become similar. For undirected graphs.
using LineFirstOrder = BasicEdgePairs<EdgeNegatives>;

/// LINE of second order: nodes that share neighbours become similar.
using LineSecondOrder = BasicEdgePairs<NegativeSampling>;

}  // namespace detail

static_assert(Sampler<detail::LineFirstOrder> && Sampler<detail::LineSecondOrder>);

}}  // namespace wordloom::WORDLOOM_ABI
