#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/negative_sampling.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Skip-gram over the columns of a WordContextMatrix (W2V-CL: Li et al. 2019, "Scaling Word2Vec on
/// Big Corpus"): a column has each word once, with one of its contexts, and is trained in two
/// steps. The first changes the input vectors of the words, with the output vectors fixed; the
/// second changes their output vectors, with the input vectors fixed. No row changes twice in a
/// step, so that any number of threads gives the same bits, and rare words are trained as often as
/// frequent ones.
///
/// B successive words share H negatives, each with weight K / H, so that nearly all of a block is a
/// matrix product. A negative may by chance be the context of one of them, as often as its share of
/// all negatives; this is what the solution, log(P(c|w) / (K P(c))) (Levy and Goldberg 2014),
/// assumes. With B = 1 each pair has K negatives of its own, none of which is its context, as in
/// the paper.
struct UniformMatrix {
  NegativeSampling targets = {};     // K and the exponent
  std::size_t minibatch = 0;         // B; 0: 16
  std::size_t shared_negatives = 0;  // H; 0: K

  static constexpr Block::Features uses = {.weights = true, .one_side = true, .pairs = true};
  static constexpr bool two_steps = true;

  static UniformMatrix from(const Hyperparameters& parameters) {
    return {NegativeSampling::from(parameters), parameters.minibatch, parameters.shared_negatives};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    targets.visit_parameters(visit);
    visit("minibatch", minibatch, 0, 1000);
    visit("shared_negatives", shared_negatives, 0, 10'000);
  }

  /// Returns B.
  std::size_t words_at_once() const noexcept { return minibatch != 0 ? minibatch : 16; }
  /// Returns H.
  std::size_t shared() const noexcept {
    return shared_negatives != 0 ? shared_negatives : targets.negatives;
  }

  class Worker;
  auto start(const Vocabulary& vocabulary) const {
    return SamplerRun(*this, targets.start(vocabulary));
  }
  /// Returns equal rates for all words.
  template <class Tables>
  detail::ExpectedUpdates expected_updates(const WordRates& rates, const Tables& tables) const {
    const std::size_t words = rates.kept.size();
    const double each = tables.expected_size(rates) / static_cast<double>(words);
    const std::vector<float> all(words, static_cast<float>(each));
    return {all, all};
  }
};

/// The scratch memory of one thread.
class UniformMatrix::Worker {
 public:
  template <class Tables>
  Worker(const UniformMatrix& policy, const Tables& tables)
      : distribution_(tables.distribution()),
        words_(policy.words_at_once()),
        shared_(policy.shared()),
        begun_(tables.distribution(), shared_),
        weights_(words_ + shared_, 1.0f),
        chunks_{Chunk(words_, shared_), Chunk(words_, shared_)} {
    std::fill(weights_.begin() + static_cast<std::ptrdiff_t>(words_), weights_.end(),
              -static_cast<float>(policy.targets.negatives) / static_cast<float>(shared_));
  }

  Block::Shape max_block() const noexcept {
    return {.inputs = words_ + shared_, .outputs = words_ + shared_};
  }

  /// Sets the side of the words, which is the one that changes: Block::Sides::inputs or
  /// Block::Sides::outputs.
  void begin_step(Block::Sides update) noexcept { update_ = update; }

  /// Makes the blocks of `pairs`: word, context, word, context, ... of a column.
  template <class Sink>
  void sample(std::span<const WordId> pairs, Random& random, Sink&& sink) {
    const std::size_t step = 2 * words_;
    if (pairs.empty()) return;
    begun_.begin_draw(random, shared_);
    fill(chunks_[0], pairs.first((std::min)(step, pairs.size())), random, sink);
    for (std::size_t i = 0, number = 0; i < pairs.size(); i += step, ++number) {
      if (i + step < pairs.size())
        fill(chunks_[(number + 1) % 2],
             pairs.subspan(i + step, (std::min)(step, pairs.size() - i - step)), random, sink);
      const Chunk& chunk = chunks_[number % 2];
      const bool inputs = update_ == Block::Sides::inputs;
      sink(Block{.inputs = inputs ? chunk.moving() : chunk.standing(),
                 .outputs = inputs ? chunk.standing() : chunk.moving(),
                 .paired = chunk.size,
                 .weights = {std::span(weights_).subspan(words_ - chunk.size), 1},
                 .examples = chunk.size,
                 .update = update_});
    }
  }

 private:
  /// Words, their contexts and the negatives that they share.
  struct Chunk {
    Chunk(std::size_t most, std::size_t shared) : words(most), others(most + shared) {}
    std::span<const RowId> moving() const { return std::span(words).first(size); }
    std::span<const RowId> standing() const {
      return std::span(others).first(others.size() - words.size() + size);
    }
    std::vector<RowId> words;   // [B]
    std::vector<RowId> others;  // [B + H] contexts, then negatives
    std::size_t size = 0;       // words in use
  };

  template <class Sink>
  void fill(Chunk& chunk, std::span<const WordId> pairs, Random& random, Sink& sink) {
    chunk.size = pairs.size() / 2;
    for (std::size_t i = 0; i < chunk.size; ++i) {
      chunk.words[i] = pairs[2 * i];
      chunk.others[i] = pairs[2 * i + 1];
    }
    const auto negatives = std::span(chunk.others).subspan(chunk.size, shared_);
    begun_.end_draw(negatives);
    if (words_ == 1)
      for (RowId& word : negatives)
        if (word == chunk.others[0]) word = distribution_.draw(random, chunk.others[0]);
    begun_.begin_draw(random, shared_);
    // The rows of the words are adjacent in memory: kernels and processors find them.
    if (update_ == Block::Sides::inputs)
      announce_rows(sink, {}, chunk.standing());
    else
      announce_rows(sink, chunk.standing(), {});
  }

  detail::NegativeDistribution distribution_;
  std::size_t words_, shared_;  // B, H
  detail::NegativeBatch begun_;
  std::vector<float> weights_;  // [B + H]
  std::array<Chunk, 2> chunks_;
  Block::Sides update_ = Block::Sides::inputs;
};

static_assert(Sampler<UniformMatrix>);

}}  // namespace wordloom::WORDLOOM_ABI
