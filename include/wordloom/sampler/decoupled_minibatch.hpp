#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/negative_sampling.hpp>
#include <wordloom/sampler/window.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// PAR-Word2Vec as published (Moon et al. 2019, "Parallel Data-Local Training for Optimizing
/// Word2Vec Embeddings for Word and Graph Embeddings", algorithms 2 to 4). For each sentence:
///
/// - attraction: the positives in word2vec's order, pair after pair. Each is a block 1 x 1, scored
///   after the pair before has changed its rows;
/// - repulsion: minibatches of B words against H negatives that they share, B x H. H = K x C_rep is
///   drawn for each minibatch: C_rep is uniform from 0 to C - 1 if the first word is among the
///   first or the last C of the sentence, else from 0 to 2 C - 1. If it is 0, the minibatch has no
///   negatives.
///
/// Negatives are drawn in proportion to count^exponent: the authors' program has 0.75, algorithm 4
/// has 0. A negative may be a word of the sentence, as in algorithm 4; the program then draws
/// another one, uniformly from all words outside the sentence.
///
/// SentenceMinibatch has as many negatives as word2vec on average, whatever the sentence's length.
/// Here short sentences have fewer: those of up to B words have H = K (C - 1) / 2 on average.
struct DecoupledMinibatch {
  Window window = {};
  NegativeSampling targets = {};
  std::size_t minibatch = 24;  // B, words

  static DecoupledMinibatch from(const Hyperparameters& parameters) {
    return {Window::from(parameters), NegativeSampling::from(parameters),
            parameters.minibatch == 0 ? 24 : parameters.minibatch};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit_parameters_of(visit, window, targets);
    visit("minibatch", minibatch, 1, 1000);
  }

  /// Returns those of long sentences: a minibatch has K (C - 1/2) negatives on average.
  detail::ExpectedUpdates expected_updates(const WordRates& rates,
                                           const NegativeSampling::Run& tables) const {
    const auto context = static_cast<double>(window.mean_context());
    const double repeated = static_cast<double>(window.size) - 0.5;
    const double negatives = static_cast<double>(targets.negatives) * repeated;
    const std::vector<double> scored = tables.expected_outputs(rates);
    detail::ExpectedUpdates result;
    for (std::size_t i = 0; i < scored.size(); ++i) {
      const double kept = rates.kept[i];
      result.input.push_back(static_cast<float>(kept * (context + negatives)));
      result.output.push_back(static_cast<float>(kept * context + (scored[i] - kept) * repeated));
    }
    return result;
  }

  class Worker;
  /// Throws CorpusError for a vocabulary of fewer than two words.
  auto start(const Vocabulary& vocabulary) const {
    return SamplerRun(*this, targets.start(vocabulary));
  }
};

/// The scratch memory of one thread.
class DecoupledMinibatch::Worker {
 public:
  Worker(const DecoupledMinibatch& policy, const NegativeSampling::Run& tables)
      : window_(policy.window),
        each_(policy.targets.negatives),
        words_(policy.minibatch),
        most_(each_ * (std::max<std::size_t>)(2 * window_.size - 1, 1)),
        negatives_(tables.distribution(), most_, tables.pool()),
        rows_(2 * most_) {}

  Block::Shape max_block() const noexcept { return {.inputs = words_, .outputs = most_}; }

  void begin_epoch(const Random& stream, std::uint64_t picks) noexcept {
    negatives_.begin_epoch(stream, picks);
  }
  std::uint64_t picks() const noexcept { return negatives_.picks(); }

  template <class Sink>
  void sample(const Sentences& text, Random& random, Sink&& sink) {
    for (std::size_t i = 0; i < text.count(); ++i) {
      const std::span<const WordId> sentence = text[i];
      if (sentence.size() < 2) continue;
      begin_draw(sentence, 0, random);
      attract(sentence, random, sink);
      repel(sentence, random, sink);
      if (i + 1 < text.count()) {
        const std::span<const WordId> next = text[i + 1];
        announce_rows(sink, next.first((std::min)(window_.size + 1, next.size())),
                      next.first((std::min<std::size_t>)(1, next.size())));
      }
    }
  }

 private:
  /// Draws H and begins to draw the negatives of the minibatch at `first`.
  void begin_draw(std::span<const WordId> sentence, std::size_t first, Random& random) noexcept {
    const std::size_t reach = window_.size, after = sentence.size() - 1 - first;
    const bool at_an_end = first < reach || after < reach;
    begun_ = each_ * random.below(at_an_end ? reach : 2 * reach);
    negatives_.begin_draw(random, begun_);
  }
  /// Returns the negatives that begin_draw() started to draw, valid until the call after the next
  /// one.
  template <class Sink>
  std::span<const RowId> end_draw(Sink& sink) {
    slot_ = 1 - slot_;
    const auto drawn = std::span(rows_).subspan(slot_ * most_, begun_);
    negatives_.end_draw(drawn);
    announce_rows(sink, {}, drawn);
    return drawn;
  }

  template <class Sink>
  void attract(std::span<const WordId> sentence, Random& random, Sink& sink) {
    for (std::size_t center = 0; center < sentence.size(); ++center) {
      const detail::WindowRange range(center, window_.reach(random), sentence.size());
      if (center + 1 < sentence.size())
        announce_rows(
            sink, sentence.subspan((std::min)(center + 1 + window_.size, sentence.size() - 1), 1),
            sentence.subspan(center + 1, 1));
      for (std::size_t i = range.first; i < range.end; ++i)
        if (i != center)
          sink(Block{.inputs = sentence.subspan(i, 1),
                     .outputs = sentence.subspan(center, 1),
                     .positives = 1,
                     .examples = 1});
    }
  }

  template <class Sink>
  void repel(std::span<const WordId> sentence, Random& random, Sink& sink) {
    std::span<const RowId> next = end_draw(sink);
    for (std::size_t first = 0; first < sentence.size(); first += words_) {
      const std::span<const RowId> negatives = next;
      if (first + words_ < sentence.size()) {
        begin_draw(sentence, first + words_, random);
        next = end_draw(sink);
      }
      if (!negatives.empty())
        sink(Block{.inputs = sentence.subspan(first, (std::min)(words_, sentence.size() - first)),
                   .outputs = negatives});
    }
  }

  Window window_;
  std::size_t each_;   // K
  std::size_t words_;  // B
  std::size_t most_;   // K (2 C - 1), the largest H
  detail::NegativeBatch negatives_;
  std::vector<RowId> rows_;  // [2][most H]
  std::size_t slot_ = 0, begun_ = 0;
};

static_assert(Sampler<DecoupledMinibatch>);

}}  // namespace wordloom::WORDLOOM_ABI
