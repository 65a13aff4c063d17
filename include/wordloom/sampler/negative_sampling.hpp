#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <wordloom/core/alias_table.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/vocabulary.hpp>

namespace wordloom {

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
    // go on for ever: the rest is then drawn exactly, which leaves the distribution the same.
    for (int i = 0; i < 8; ++i)
      if (const WordId word = tables_->alias.draw(random); word != positive) return word;
    return draw_others(random, positive);
  }

  /// Of all words, by count^exponent.
  const AliasTable& table() const noexcept { return tables_->alias; }

  /// A draw from all words in two steps, see AliasTable::begin.
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
      throw CorpusError("negative sampling needs a vocabulary of at least 2 words, got " +
                        std::to_string(vocabulary.size()));
    std::vector<double> weights(vocabulary.size());
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = std::pow(static_cast<double>(vocabulary.counts()[i]), exponent);
    return weights;
  }

  WordId draw_others(Random& random, WordId positive) const noexcept {
    const auto& ends = tables_->ends;
    const double before = positive == 0 ? 0.0 : ends[positive - 1];
    const double own = ends[positive] - before;
    double target = random.uniform() * (ends.back() - own);
    if (target >= before) target += own;
    const auto found = std::upper_bound(ends.begin(), ends.end(), target);
    auto word = std::min(static_cast<std::size_t>(found - ends.begin()), ends.size() - 1);
    // Rounding may land on the border of `positive`: its neighbour is then meant.
    if (word == positive) word = word + 1 < ends.size() ? word + 1 : word - 1;
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

/// Draws negatives in batches that are begun long before they are used, so that the entries of the
/// distribution's table arrive meanwhile. One for each thread.
class NegativeBatch {
 public:
  /// Of at most `most` draws. Throws as NegativeDistribution.
  NegativeBatch(const Vocabulary& vocabulary, double exponent, std::size_t most)
      : negatives_(vocabulary, exponent), begun_(most) {}

  void begin(Random& random, std::size_t count) noexcept {
    for (AliasTable::Place& place : std::span(begun_).first(count))
      place = negatives_.begin(random);
  }

  /// The first words.size() draws that were begun: words for a minibatch, whatever its positives.
  void finish(std::span<WordId> words) const noexcept {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = negatives_.finish(begun_[i]);
  }

  /// Likewise, for each of `centers` a row of `outputs` [centers x (1 + K)]: the word, then K
  /// negatives other than it.
  void finish(Random& random, std::span<const WordId> centers,
              std::span<WordId> outputs) const noexcept {
    const std::size_t each = outputs.size() / centers.size();
    const AliasTable::Place* place = begun_.data();
    WordId* output = outputs.data();
    for (const WordId center : centers) {
      *output++ = center;
      for (std::size_t k = 1; k < each; ++k) {
        const WordId word = negatives_.finish(*place++);
        *output++ = word != center ? word : negatives_.draw(random, center);
      }
    }
  }

 private:
  NegativeDistribution negatives_;
  std::vector<AliasTable::Place> begun_;
};

}  // namespace wordloom
