#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/sampler/expected_updates.hpp>
#include <wordloom/sampler/targets.hpp>

namespace wordloom::inline WORDLOOM_ABI {

/// Draws negative words in proportion to count^exponent (Mikolov et al. 2013b, section 2.2), never
/// the positive word. Copies share their tables; thread-safe with a random stream for each thread.
class NegativeDistribution {
 public:
  /// Throws CorpusError when fewer than two words can be drawn.
  NegativeDistribution(const Vocabulary& vocabulary, double exponent)
      : tables_(std::make_shared<const Tables>(powers(vocabulary, exponent))) {}

  /// A word other than `positive`.
  WordId draw(Random& random, WordId positive) const noexcept {
    // A few tries decide nearly always. Where `positive` holds nearly all of the weight they would
    // take forever: the rest is then drawn exactly, which leaves the distribution the same.
    for (int i = 0; i < 8; ++i)
      if (const WordId word = tables_->alias.draw(random); word != positive) return word;
    return draw_others(random, positive, positive);
  }

  /// A word that is neither of two, where a third can be drawn.
  WordId draw(Random& random, WordId a, WordId b) const noexcept {
    for (int i = 0; i < 8; ++i)
      if (const WordId word = draw(random, a); word != b) return word;
    return draw_others(random, std::min(a, b), std::max(a, b));
  }

  /// Returns the table of all words, by count^exponent.
  const AliasTable& table() const noexcept { return tables_->alias; }

  /// Draws from all words in two steps, see AliasTable::begin.
  AliasTable::Place begin(Random& random) const noexcept { return tables_->alias.begin(random); }
  WordId finish(AliasTable::Place place) const noexcept { return tables_->alias.finish(place); }

 private:
  struct Tables {
    explicit Tables(const std::vector<double>& weights) : alias(weights), ends(weights) {
      for (std::size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
    }
    AliasTable alias;
    std::vector<double> ends;  // [V] cumulated weights
  };

  static std::vector<double> powers(const Vocabulary& vocabulary, double exponent) {
    if (vocabulary.size() < 2)
      throw CorpusError{"negative sampling needs a vocabulary of at least 2 words, got ",
                        vocabulary.size()};
    std::vector<double> weights(vocabulary.size());
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = std::pow(static_cast<double>(vocabulary.counts()[i]), exponent);
    return weights;
  }

  /// Draws exactly from the words that are neither `first` nor `second`, first <= second.
  WordId draw_others(Random& random, WordId first, WordId second) const noexcept {
    const auto& ends = tables_->ends;
    const auto before = [&](WordId word) { return word == 0 ? 0.0 : ends[word - 1]; };
    const double of_first = ends[first] - before(first);
    const double of_second = first == second ? 0.0 : ends[second] - before(second);
    double target = random.uniform() * (ends.back() - of_first - of_second);
    if (target >= before(first)) target += of_first;
    if (target >= before(second)) target += of_second;
    const auto found = std::upper_bound(ends.begin(), ends.end(), target);
    auto word = std::min(static_cast<std::size_t>(found - ends.begin()), ends.size() - 1);
    // Rounding may land on the border of one of the two: the next other word is then meant.
    while (word == first || word == second) word = word + 1 < ends.size() ? word + 1 : 0;
    return static_cast<WordId>(word);
  }

  std::shared_ptr<const Tables> tables_;
};

/// Whether some of `negatives` is one of `centers`. Compares all, without a branch for each pair.
inline bool share_a_word(std::span<const WordId> centers,
                         std::span<const WordId> negatives) noexcept {
  unsigned same = 0;
  for (const WordId center : centers)
    for (const WordId negative : negatives) same |= static_cast<unsigned>(center == negative);
  return same != 0;
}

/// Draws negatives in batches that begin long before they are used, so that the entries of the
/// distribution's table arrive meanwhile. One for each thread.
class NegativeBatch {
 public:
  /// Makes room for at most `max_count` draws.
  NegativeBatch(NegativeDistribution negatives, std::size_t max_count)
      : negatives_(std::move(negatives)), begun_(max_count) {}

  void begin(Random& random, std::size_t count) noexcept {
    for (AliasTable::Place& place : std::span(begun_).first(count))
      place = negatives_.begin(random);
  }

  /// The first words.size() draws that were begun, whatever the positives are.
  void finish(std::span<WordId> words) const noexcept {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = negatives_.finish(begun_[i]);
  }

 private:
  NegativeDistribution negatives_;
  std::vector<AliasTable::Place> begun_;
};

/// Targets of a centre: the centre itself and K negative words (Mikolov et al. 2013b, section 2.2).
struct NegativeSampling {
  std::size_t negatives = 5;  // K
  double exponent = 0.75;     // negatives are drawn in proportion to count^exponent

  static NegativeSampling from(const Hyperparameters& parameters) {
    return {parameters.negatives, parameters.negative_exponent};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("negatives", negatives, 1, 1000);
    visit("negative_exponent", exponent, -10.0, 10.0);
  }

  /// Draws the targets of one thread's centres.
  class Worker {
   public:
    Worker(const NegativeDistribution& negatives, std::size_t k, std::size_t slots,
           std::size_t at_once)
        : negatives_(negatives), outputs_(1 + k), drawn_(slots * outputs_), begun_(at_once * k) {}

    void begin(std::span<const WordId> centers, Random& random) noexcept {
      for (AliasTable::Place& place : std::span(begun_).first(centers.size() * (outputs_ - 1)))
        place = negatives_.begin(random);
    }
    void finish(std::span<const WordId> centers, std::size_t slot, Random& random) noexcept {
      const AliasTable::Place* place = begun_.data();
      WordId* output = drawn_.data() + slot * outputs_;
      for (const WordId center : centers) {
        *output++ = center;
        for (std::size_t k = 1; k < outputs_; ++k) {
          const WordId word = negatives_.finish(*place++);
          *output++ = word != center ? word : negatives_.draw(random, center);
        }
      }
    }
    void draw(WordId center, std::size_t slot, Random& random) noexcept {
      WordId* const output = drawn_.data() + slot * outputs_;
      *output = center;
      for (std::size_t k = 1; k < outputs_; ++k) output[k] = negatives_.draw(random, center);
    }
    TargetSet at(std::size_t slot) const noexcept {
      return {std::span(drawn_).subspan(slot * outputs_, outputs_), 1};
    }

   private:
    NegativeDistribution negatives_;
    std::size_t outputs_;       // 1 + K
    std::vector<RowId> drawn_;  // [slots][1 + K] a centre and its negatives
    std::vector<AliasTable::Place> begun_;
  };

  /// The tables of a run. Copies share them; thread-safe.
  class Run {
   public:
    Run(const Vocabulary& vocabulary, std::size_t negatives, double exponent)
        : words_(vocabulary),
          distribution_(vocabulary, exponent),
          negatives_(negatives),
          exponent_(exponent) {}

    const NegativeDistribution& distribution() const noexcept { return distribution_; }
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
    Worker worker(std::size_t slots, std::size_t at_once) const {
      return {distribution_, negatives_, slots, at_once};
    }

   private:
    Vocabulary words_;
    NegativeDistribution distribution_;
    std::size_t negatives_;
    double exponent_;
  };

  /// Throws CorpusError for a vocabulary of fewer than two words.
  Run start(const Vocabulary& vocabulary) const { return {vocabulary, negatives, exponent}; }
};

static_assert(Targets<NegativeSampling>);

}  // namespace wordloom::inline WORDLOOM_ABI
