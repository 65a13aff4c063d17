#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <wordloom/encoder/detail/word_symbols.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Returns those of `all` that `chosen` numbers.
template <class Item>
std::vector<Item> chosen_of(std::span<const Item> all, std::span<const std::uint32_t> chosen) {
  std::vector<Item> items;
  for (const std::uint32_t i : chosen) items.push_back(all[i]);
  return items;
}

/// The sequences of a batch, with padding, and the symbols that occur in them. A token has one
/// symbol of each of T tables; symbol 0 of each is padding.
class SymbolBatch {
 public:
  /// `padding`: tokens before and after a sequence, which then has at least `min_length`.
  SymbolBatch(std::size_t padding, std::size_t min_length)
      : padding_(padding), min_length_(min_length) {}

  /// Adds a symbol to tokens, of a table of `size` symbols.
  void add_table(std::size_t size) {
    chosen_.emplace_back();
    places_.emplace_back(size);
  }

  /// Takes sequences, of whole tokens.
  void open(std::span<const Symbols> sequences) {
    const std::size_t kinds = tables();
    for (std::size_t t = 0; t < kinds; ++t) {
      for (const std::uint32_t symbol : chosen_[t]) places_[t][symbol] = 0;
      chosen_[t].assign(1, 0);
    }
    padded_.clear();
    std::vector<std::size_t> ends{0};
    for (const Symbols sequence : sequences) {
      padded_.resize(padded_.size() + padding_ * kinds);
      for (std::size_t i = 0; i < sequence.size(); ++i) {
        std::vector<std::uint32_t>& chosen = chosen_[i % kinds];
        std::uint32_t& place = places_[i % kinds][sequence[i]];
        if (place == 0 && sequence[i] != 0) {
          place = static_cast<std::uint32_t>(chosen.size());
          chosen.push_back(sequence[i]);
        }
        padded_.push_back(place);
      }
      const std::size_t length = sequence.size() / kinds + 2 * padding_;
      padded_.resize(ends.back() + (std::max)(length, min_length_) * kinds);
      ends.push_back(padded_.size());
    }
    offsets_.assign(1, 0);
    for (const auto& chosen : chosen_) offsets_.push_back(offsets_.back() + chosen.size());
    for (std::size_t i = 0; i < padded_.size(); ++i)
      padded_[i] += static_cast<std::uint32_t>(offsets_[i % kinds]);
    sequences_.clear();
    for (std::size_t b = 0; b < sequences.size(); ++b)
      sequences_.push_back(Symbols(padded_).subspan(ends[b], ends[b + 1] - ends[b]));
  }

  std::size_t tables() const noexcept { return chosen_.size(); }
  std::size_t size() const noexcept { return sequences_.size(); }
  /// Returns sequence `b` with padding, as places among the symbols of all tables.
  Symbols operator[](std::size_t b) const noexcept { return sequences_[b]; }
  /// Returns the symbols of a table, first padding.
  const std::vector<std::uint32_t>& chosen(std::size_t table) const noexcept {
    return chosen_[table];
  }
  /// Returns the place of the first symbol of a table among those of all.
  std::size_t offset(std::size_t table) const noexcept { return offsets_[table]; }
  /// Returns the number of symbols of all tables.
  std::size_t symbols() const noexcept { return offsets_.back(); }

 private:
  std::vector<std::vector<std::uint32_t>> chosen_, places_;  // by table; places: 0 if not chosen
  std::vector<std::size_t> offsets_;
  std::vector<std::uint32_t> padded_;
  std::vector<Symbols> sequences_;
  std::size_t padding_, min_length_;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
