#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/sampler/expected_updates.hpp>
#include <wordloom/sampler/negative_distribution.hpp>
#include <wordloom/sampler/negative_pool.hpp>
#include <wordloom/sampler/targets.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// Returns whether any of `negatives` is one of `centers`. Compares all, without a branch for each
/// pair.
inline bool share_a_word(std::span<const WordId> centers,
                         std::span<const WordId> negatives) noexcept {
  unsigned same = 0;
  for (const WordId center : centers)
    for (const WordId negative : negatives) same |= static_cast<unsigned>(center == negative);
  return same != 0;
}

/// Draws negatives in batches that begin long before they are used, so that the entries of the
/// distribution's table arrive meanwhile, or picks them from a pool. One object for each thread.
class NegativeBatch {
 public:
  /// Makes room for at most `max_count` draws. `pool`: P, see NegativePool.
  NegativeBatch(NegativeDistribution negatives, std::size_t max_count, std::size_t pool = 0)
      : negatives_(negatives), begun_(max_count), pool_(std::move(negatives), pool) {}

  /// Fills the pool, if there is one. Must be called before the first draw of an epoch.
  void begin_epoch(const Random& stream, std::uint64_t picks) noexcept {
    pool_.begin_epoch(stream, picks);
  }
  std::uint64_t picks() const noexcept { return pool_.picks(); }

  void begin_draw(Random& random, std::size_t count) noexcept {
    if (pool_)
      for (AliasTable::Place& place : std::span(begun_).first(count))
        place.bucket = pool_.pick(random);
    else
      for (AliasTable::Place& place : std::span(begun_).first(count))
        place = negatives_.begin_draw(random);
  }

  /// Draws one at once, whatever the positives are.
  WordId draw(Random& random) {
    return pool_ ? pool_.pick(random) : negatives_.end_draw(negatives_.begin_draw(random));
  }

  /// Completes the first words.size() draws that were begun, whatever the positives are.
  void end_draw(std::span<WordId> words) const noexcept {
    if (pool_)
      for (std::size_t i = 0; i < words.size(); ++i) words[i] = begun_[i].bucket;
    else
      for (std::size_t i = 0; i < words.size(); ++i) words[i] = negatives_.end_draw(begun_[i]);
  }

 private:
  NegativeDistribution negatives_;
  std::vector<AliasTable::Place> begun_;  // from the pool: the words
  NegativePool pool_;
};

}  // namespace detail

/// Targets of a centre: the centre itself and K negative words (Mikolov et al. 2013b, section 2.2).
struct NegativeSampling {
  std::size_t negatives = 5;  // K
  double exponent = 0.75;     // negatives are drawn in proportion to count^exponent
  std::size_t pool = 2048;    // P, see NegativePool; small vocabularies have none

  static NegativeSampling from(const Hyperparameters& parameters) {
    return {parameters.negatives, parameters.negative_exponent, parameters.negative_pool};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("negatives", negatives, 1, 1000);
    visit("negative_exponent", exponent, -10.0, 10.0);
    visit("negative_pool", pool, 0, 1 << 20);
  }

  /// Draws the targets of one thread's centres.
  class Worker {
   public:
    Worker(const detail::NegativeDistribution& negatives, std::size_t k, std::size_t slot_count,
           std::size_t at_once, std::size_t pool = 0)
        : negatives_(negatives),
          outputs_(1 + k),
          drawn_(slot_count * outputs_),
          begun_(negatives, at_once * k, pool),
          words_(at_once * k) {}

    void begin_epoch(const Random& stream, std::uint64_t picks) noexcept {
      begun_.begin_epoch(stream, picks);
    }
    std::uint64_t picks() const noexcept { return begun_.picks(); }

    void begin_draw(std::span<const WordId> centers, Random& random) noexcept {
      begun_.begin_draw(random, centers.size() * (outputs_ - 1));
    }
    void end_draw(std::span<const WordId> centers, std::size_t slot, Random& random) noexcept {
      begun_.end_draw(std::span(words_).first(centers.size() * (outputs_ - 1)));
      const WordId* word = words_.data();
      WordId* output = drawn_.data() + slot * outputs_;
      for (const WordId center : centers) {
        *output++ = center;
        for (std::size_t k = 1; k < outputs_; ++k, ++word)
          *output++ = *word != center ? *word : negatives_.draw(random, center);
      }
    }
    /// Completes those of edges, of which no negative is either end.
    void end_draw(std::span<const WordId> from, std::span<const WordId> to, std::size_t slot,
                  Random& random) noexcept {
      begun_.end_draw(std::span(words_).first(to.size() * (outputs_ - 1)));
      const WordId* word = words_.data();
      WordId* output = drawn_.data() + slot * outputs_;
      for (std::size_t i = 0; i < to.size(); ++i) {
        *output++ = to[i];
        for (std::size_t k = 1; k < outputs_; ++k, ++word)
          *output++ =
              *word != to[i] && *word != from[i] ? *word : negatives_.draw(random, to[i], from[i]);
      }
    }
    void draw(WordId center, std::size_t slot, Random& random) noexcept {
      WordId* const output = drawn_.data() + slot * outputs_;
      *output = center;
      for (std::size_t k = 1; k < outputs_; ++k) output[k] = negatives_.draw(random, center);
    }
    /// Draws other negatives of a centre, from the pool if there is one, as begin_draw() does.
    void draw_again(WordId center, std::size_t slot, Random& random) noexcept {
      WordId* const output = drawn_.data() + slot * outputs_;
      *output = center;
      for (std::size_t k = 1; k < outputs_; ++k) {
        const WordId word = begun_.draw(random);
        output[k] = word != center ? word : negatives_.draw(random, center);
      }
    }
    TargetSet at(std::size_t slot) const noexcept {
      return {std::span(drawn_).subspan(slot * outputs_, outputs_), 1};
    }

   private:
    detail::NegativeDistribution negatives_;
    std::size_t outputs_;       // 1 + K
    std::vector<RowId> drawn_;  // [slot_count][1 + K] a centre and its negatives
    detail::NegativeBatch begun_;
    std::vector<WordId> words_;  // [at_once x K] that are drawn
  };

  /// The tables of a run. Copies share them; thread-safe.
  class Run {
   public:
    Run(const Vocabulary& vocabulary, const NegativeSampling& policy)
        : words_(vocabulary),
          distribution_(vocabulary, policy.exponent),
          negatives_(policy.negatives),
          exponent_(policy.exponent),
          pool_(vocabulary.size() >= detail::NegativePool::min_words * policy.pool ? policy.pool
                                                                                   : 0) {}

    /// Returns P, 0 without a pool.
    std::size_t pool() const noexcept { return pool_; }

    const detail::NegativeDistribution& distribution() const noexcept { return distribution_; }
    std::size_t output_rows() const noexcept { return words_.size(); }
    std::size_t max_outputs() const noexcept { return 1 + negatives_; }
    double expected_size(const WordRates&) const noexcept {
      return 1 + static_cast<double>(negatives_);
    }
    std::vector<double> expected_outputs(const WordRates& rates) const {
      std::vector<double> noise(words_.size());
      double all_noise = 0;
      for (std::size_t i = 0; i < noise.size(); ++i)
        all_noise += noise[i] = std::pow(static_cast<double>(words_.counts()[i]), exponent_);
      const auto k = static_cast<double>(negatives_);
      for (std::size_t i = 0; i < noise.size(); ++i)
        noise[i] = rates.kept[i] + rates.sum * k * noise[i] / all_noise;
      return noise;
    }
    Worker worker(std::size_t slot_count, std::size_t at_once) const {
      return {distribution_, negatives_, slot_count, at_once, pool_};
    }

   private:
    Vocabulary words_;
    detail::NegativeDistribution distribution_;
    std::size_t negatives_;
    double exponent_;
    std::size_t pool_;
  };

  /// Throws CorpusError for a vocabulary of fewer than two words.
  Run start(const Vocabulary& vocabulary) const { return {vocabulary, *this}; }
};

static_assert(Targets<NegativeSampling>);

}}  // namespace wordloom::WORDLOOM_ABI
