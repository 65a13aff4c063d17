#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/sampler/negative_distribution.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Negatives of one thread whose rows stay in the cache: P draws from the distribution, of which
/// each negative is picked uniformly; after every 8 picks a new draw replaces the oldest. Each pick
/// has the distribution of a draw, but picks near each other are more often the same word, with
/// different contexts.
///
/// The words depend only on a random stream of its own and on the number of picks, so that a
/// checkpoint needs that number and not the words.
class NegativePool {
 public:
  /// Minimum number of words of a vocabulary for each draw of a pool: many rows of smaller
  /// vocabularies are in the cache anyway, and a pool gains nothing.
  static constexpr std::size_t min_words = 128;

  /// `size`: P, draws; 0: there is no pool.
  NegativePool(NegativeDistribution negatives, std::size_t size)
      : negatives_(std::move(negatives)), words_(size) {}

  explicit operator bool() const noexcept { return !words_.empty(); }

  /// Draws the words from `stream` as they are after `picks` picks.
  void begin_epoch(Random stream, std::uint64_t picks) noexcept {
    if (words_.empty()) return;
    stream_ = stream;
    picks_ = picks;
    const std::uint64_t replaced = picks / reuse;
    stream_.skip(replaced);
    oldest_ = replaced % words_.size();
    for (std::size_t i = 0; i < words_.size(); ++i)
      words_[(oldest_ + i) % words_.size()] = negatives_.end_draw(negatives_.begin_draw(stream_));
    next_ = negatives_.begin_draw(stream_);
  }
  /// Returns the number of picks in this epoch.
  std::uint64_t picks() const noexcept { return picks_; }

  WordId pick(Random& random) noexcept {
    const WordId word = words_[random.below(words_.size())];
    if (++picks_ % reuse == 0) {
      words_[oldest_] = negatives_.end_draw(next_);
      oldest_ = oldest_ + 1 == words_.size() ? 0 : oldest_ + 1;
      next_ = negatives_.begin_draw(stream_);
    }
    return word;
  }

 private:
  static constexpr std::uint64_t reuse = 8;  // picks of a draw, on average

  NegativeDistribution negatives_;
  std::vector<WordId> words_;  // [P] draw i, counted from the first of the epoch, is at i mod P
  Random stream_{0};
  AliasTable::Place next_{};  // the next draw, begun early so that its entry arrives
  std::uint64_t picks_ = 0;
  std::size_t oldest_ = 0;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
