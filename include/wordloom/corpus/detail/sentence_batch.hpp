#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <wordloom/core/types.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The unit of work of a kernel on a device: a few million words of the corpus, before subsampling.
/// The kernel subsamples, draws windows and negatives itself.
struct SentenceBatch {
  std::vector<WordId> words;
  std::vector<std::span<const WordId>> held;  // more words, after `words`, that others hold
  std::vector<std::uint32_t> ends;            // [sentences] ends in all these words
  std::uint64_t first_sentence = 0;           // in the epoch: numbers the random streams
  std::size_t index = 0;                      // of the epoch
  bool keep = true;                           // whether each epoch has the same words at this index

  void clear() noexcept {
    words.clear();
    held.clear();
    ends.clear();
  }
  std::size_t word_count() const noexcept { return ends.empty() ? 0 : ends.back(); }
  /// Calls use(span) for the words, in order.
  template <class Use>
  void for_each_part(Use use) const {
    use(std::span<const WordId>(words));
    for (const auto part : held) use(part);
  }
  /// Adds a copy of a sentence, cut into pieces of at most `longest` words that differ by at most
  /// one. Must not follow hold().
  void add(std::span<const WordId> sentence, std::size_t longest) {
    words.insert(words.end(), sentence.begin(), sentence.end());
    cut(sentence.size(), longest);
  }
  /// Adds a sentence, cut in the same way, that stays where it is until clear().
  void hold(std::span<const WordId> sentence, std::size_t longest) {
    if (!held.empty() && held.back().data() + held.back().size() == sentence.data())
      held.back() = {held.back().data(), held.back().size() + sentence.size()};
    else
      held.push_back(sentence);
    cut(sentence.size(), longest);
  }
  /// Adds all sentences of a batch, whose words stay where they are until clear().
  void hold(const SentenceBatch& part) {
    const auto before = static_cast<std::uint32_t>(word_count());
    for (const std::uint32_t end : part.ends) ends.push_back(before + end);
    part.for_each_part([&](std::span<const WordId> of_part) {
      if (!of_part.empty()) held.push_back(of_part);
    });
  }

 private:
  void cut(std::size_t size, std::size_t longest) {
    const std::size_t before = word_count(), pieces = (size + longest - 1) / longest;
    for (std::size_t i = 1; i <= pieces; ++i)
      ends.push_back(static_cast<std::uint32_t>(before + size * i / pieces));
  }
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
