#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/vocabulary.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Draws negative words in proportion to count^exponent (Mikolov et al. 2013b, section 2.2), never
/// the positive word. Copies share their tables; thread-safe with a random stream for each thread.
class NegativeDistribution {
 public:
  /// Throws CorpusError when fewer than two words can be drawn.
  NegativeDistribution(const Vocabulary& vocabulary, double exponent)
      : tables_(std::make_shared<const Tables>(powers(vocabulary, exponent))) {}

  /// Returns a word other than `positive`.
  WordId draw(Random& random, WordId positive) const noexcept {
    // A few tries are nearly always enough. If `positive` holds nearly all of the weight they would
    // take forever: the rest is then drawn exactly, which leaves the distribution the same.
    for (int i = 0; i < 8; ++i)
      if (const WordId word = tables_->alias.draw(random); word != positive) return word;
    return draw_others(random, positive, positive);
  }

  /// Returns a word that is neither `a` nor `b`, if a third can be drawn.
  WordId draw(Random& random, WordId a, WordId b) const noexcept {
    for (int i = 0; i < 8; ++i)
      if (const WordId word = draw(random, a); word != b) return word;
    return draw_others(random, (std::min)(a, b), (std::max)(a, b));
  }

  /// Returns the table of all words, by count^exponent.
  const AliasTable& table() const noexcept { return tables_->alias; }

  /// Draws from all words in two steps, see AliasTable::begin.
  AliasTable::Place begin_draw(Random& random) const noexcept {
    return tables_->alias.begin_draw(random);
  }
  WordId end_draw(AliasTable::Place place) const noexcept { return tables_->alias.end_draw(place); }

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
    auto word = (std::min)(static_cast<std::size_t>(found - ends.begin()), ends.size() - 1);
    // Rounding may end at the border of one of the two: then the next other word is the right one.
    while (word == first || word == second) word = word + 1 < ends.size() ? word + 1 : 0;
    return static_cast<WordId>(word);
  }

  std::shared_ptr<const Tables> tables_;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
