#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/vocabulary.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// Drops frequent words at random: keeps a word of relative frequency f with probability
/// min(1, sqrt(t/f) + t/f), as word2vec.c does (the paper, Mikolov et al. 2013b, section 2.3, has
/// sqrt(t/f)). Costs one integer comparison a token. Immutable; copies share their table; all
/// members are thread-safe.
class Subsampling {
 public:
  /// `threshold`: t, as a share of the corpus; 0 keeps every word.
  Subsampling(const Vocabulary& vocabulary, double threshold);

  bool enabled() const noexcept { return highest_kept_ != nullptr; }

  /// Returns a table: word i is kept if 32 random bits are at most table()[i]; words beyond the
  /// table have its last entry. Requires enabled().
  std::span<const std::uint32_t> table() const noexcept { return *highest_kept_; }

  double keep_probability(WordId word) const noexcept {
    if (!enabled()) return 1.0;
    const std::uint32_t highest = table()[(std::min<std::size_t>)(word, table().size() - 1)];
    return (static_cast<double>(highest) + 1.0) * 0x1p-32;
  }

  /// Returns the words of `sentence` that are kept, in order: `sentence` itself, or a part of
  /// `kept`, a buffer that grows as needed and should be reused.
  std::span<const WordId> operator()(std::span<const WordId> sentence, Random& random,
                                     std::vector<WordId>& kept) const {
    if (!enabled()) return sentence;
    if (kept.size() < sentence.size()) kept.resize(sentence.size());
    const std::uint32_t* const highest = highest_kept_->data();
    const auto last = static_cast<WordId>(highest_kept_->size() - 1);
    std::size_t count = 0;
    for (const WordId word : sentence) {
      // Always store, then step: a branch here would be mispredicted every other token.
      kept[count] = word;
      count += static_cast<std::uint32_t>(random() >> 32) <= highest[(std::min)(word, last)];
    }
    return {kept.data(), count};
  }

 private:
  // [words up to the first that is always kept, like all after it]
  std::shared_ptr<const std::vector<std::uint32_t>> highest_kept_;
};

}  // namespace detail

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

WORDLOOM_FUNCTION Subsampling::Subsampling(const Vocabulary& vocabulary, double threshold) {
  if (threshold <= 0) return;
  auto table = std::make_shared<std::vector<std::uint32_t>>(vocabulary.size());
  const double scaled = threshold * static_cast<double>(vocabulary.total_count());
  for (std::size_t i = 0; i < table->size(); ++i) {
    const double ratio = scaled / static_cast<double>(vocabulary.counts()[i]);
    const double keep = (std::min)(1.0, std::sqrt(ratio) + ratio);
    (*table)[i] = static_cast<std::uint32_t>((std::max)(1.0, keep * 0x1p32) - 1.0);
  }
  // Words are sorted by descending count: all words after a certain one are always kept. They share
  // one entry, so that the table stays in the first-level cache.
  while (table->size() > 1 && table->back() == UINT32_MAX && table->end()[-2] == UINT32_MAX)
    table->pop_back();
  table->shrink_to_fit();
  highest_kept_ = std::move(table);
}

}  // namespace detail

#endif

}}  // namespace wordloom::WORDLOOM_ABI
