#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/corpus/detail/pair_table.hpp>
#include <wordloom/corpus/detail/phrase_counter.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The phrases of some passes by the ids of their words: those of a list of words, and after them
/// the ids of phrases that it lacks. Immutable, except `add`.
class PhraseIds {
 public:
  /// The phrases of a pass.
  struct Pass {
    static constexpr unsigned char begins = 1, ends = 2, connects = 4;
    std::vector<unsigned char> features;  // of ids; ids above have none
    PairTable phrases;                    // id of the phrase plus 1
    WordList betweens;                    // sequences of connectors, as bytes_of

    unsigned features_of(WordId id) const noexcept {
      return id < features.size() ? features[id] : 0;
    }
  };

  PhraseIds(WordList words, std::span<const std::string> connectors, std::string_view delimiter)
      : words_(std::move(words)),
        connectors_(connectors.begin(), connectors.end()),
        delimiter_(delimiter) {}

  /// Adds a pass of `phrases` [phrases], each a range of words: those with a word that is neither
  /// in the list nor a phrase of a pass before are left out. Returns the number of a phrase that
  /// the pass has twice, or the number of phrases.
  template <class Phrases>
  std::size_t add(const Phrases& phrases) {
    passes_.emplace_back();
    for (const std::string& connector : connectors_)
      if (const auto id = words_.find(connector)) feature(*id) |= Pass::connects;
    const WordId known = static_cast<WordId>(words_.size());
    std::vector<WordId> ids;
    std::size_t number = 0;
    for (const auto& phrase : phrases) {
      ids.clear();
      for (const std::string& word : phrase.words)
        if (const auto id = words_.find(word); id && *id < known) ids.push_back(*id);
      if (ids.size() == phrase.words.size() && !insert(ids)) return number;
      ++number;
    }
    return number;
  }

  std::size_t size() const noexcept { return words_.size(); }
  const WordList& words() const noexcept { return words_; }
  const std::vector<Pass>& passes() const noexcept { return passes_; }

 private:
  unsigned char& feature(WordId id) {
    auto& features = passes_.back().features;
    if (id >= features.size()) features.resize(id + 1);
    return features[id];
  }
  /// Adds a phrase to the last pass; returns false if the pass has it.
  bool insert(std::span<const WordId> ids);

  WordList words_;
  std::vector<std::string> connectors_;
  std::string delimiter_;
  std::vector<Pass> passes_;
};

/// Joins the words of phrases, one word after the other, from left to right: a word is part of one
/// phrase in each pass. Not thread-safe.
class PhraseJoiner {
 public:
  /// `phrases` must outlive the joiner.
  explicit PhraseJoiner(const PhraseIds& phrases)
      : passes_(phrases.passes()), states_(passes_.size()) {}

  /// Takes the next word, and calls `use(id)` for each word or phrase that is complete.
  template <class Use>
  void push(WordId id, Use&& use) {
    push(0, id, use);
  }

  /// Ends the sentence: calls `use(id)` for what is left of it.
  template <class Use>
  void flush(Use&& use) {
    for (std::size_t pass = 0; pass < states_.size(); ++pass) release(pass, use);
  }

 private:
  /// The beginning of what may be a phrase.
  struct State {
    bool is_open = false;
    WordId first = 0;
    std::vector<WordId> between;
  };

  template <class Use>
  void push(std::size_t number, WordId id, Use& use) {
    if (number == passes_.size()) {
      use(id);
      return;
    }
    const PhraseIds::Pass& pass = passes_[number];
    State& state = states_[number];
    const unsigned features = pass.features_of(id);
    if (state.is_open) {
      if (features & PhraseIds::Pass::connects) {
        state.between.push_back(id);
        return;
      }
      const WordId phrase = features & PhraseIds::Pass::ends ? find(pass, state, id) : 0;
      if (phrase != 0) {
        state.is_open = false;
        state.between.clear();
        push(number + 1, phrase - 1, use);
        return;
      }
      release(number, use);
    }
    if (features & PhraseIds::Pass::begins) {
      state.is_open = true;
      state.first = id;
    } else {
      push(number + 1, id, use);
    }
  }

  /// Passes on the words of what is no phrase.
  template <class Use>
  void release(std::size_t number, Use& use) {
    State& state = states_[number];
    if (!state.is_open) return;
    state.is_open = false;
    push(number + 1, state.first, use);
    for (const WordId id : state.between) push(number + 1, id, use);
    state.between.clear();
  }

  static WordId find(const PhraseIds::Pass& pass, const State& state, WordId id) noexcept {
    std::uint32_t between = 0;
    if (!state.between.empty()) {
      const auto number = pass.betweens.find(bytes_of(state.between));
      if (!number) return 0;
      between = *number + 1;
    }
    return pass.phrases.find({state.first, id, between});
  }

  const std::vector<PhraseIds::Pass>& passes_;
  std::vector<State> states_;
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION bool PhraseIds::insert(std::span<const WordId> ids) {
  std::string text;
  for (const WordId id : ids) {
    if (!text.empty()) text += delimiter_;
    text += words_[id];
  }
  const WordId phrase = words_.insert(text);
  feature(ids.front()) |= Pass::begins;
  feature(ids.back()) |= Pass::ends;
  Pass& pass = passes_.back();
  std::uint32_t between = 0;
  if (ids.size() > 2) between = pass.betweens.insert(bytes_of(ids.subspan(1, ids.size() - 2))) + 1;
  return pass.phrases.insert({ids.front(), ids.back(), between}, phrase + 1);
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
