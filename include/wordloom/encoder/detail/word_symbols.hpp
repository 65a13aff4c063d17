#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <wordloom/core/types.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/encoder/detail/char_cnn_parameters.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// A sequence of symbols, by their place in the alphabet of those that occur. At least one.
using Symbols = std::span<const std::uint32_t>;

/// Input of the character CNN for all words of a vocabulary.
class WordSymbols {
 public:
  explicit WordSymbols(const Vocabulary& vocabulary) {
    for (WordId word = 0; word < vocabulary.size(); ++word) {
      append_symbols(vocabulary.word(word), symbols_);
      ends_.push_back(symbols_.size());
    }
    std::array<std::uint32_t, symbol_count> places{};
    for (const std::uint32_t symbol : symbols_) places[symbol] = 1;
    for (std::uint32_t symbol = 0; symbol < places.size(); ++symbol)
      if (places[symbol] != 0) {
        places[symbol] = static_cast<std::uint32_t>(alphabet_.size());
        alphabet_.push_back(symbol);
      }
    for (std::uint32_t& symbol : symbols_) symbol = places[symbol];
  }

  /// Returns the number of words.
  std::size_t size() const noexcept { return ends_.size() - 1; }
  Symbols operator[](std::size_t word) const noexcept {
    return Symbols(symbols_).subspan(ends_[word], ends_[word + 1] - ends_[word]);
  }
  /// Returns the symbols that occur, rising.
  const std::vector<std::uint32_t>& alphabet() const noexcept { return alphabet_; }
  /// Returns the symbols of all words, and where each word ends, after a 0.
  Symbols all() const noexcept { return symbols_; }
  std::span<const std::uint64_t> ends() const noexcept { return ends_; }

 private:
  std::vector<std::uint32_t> symbols_, alphabet_;
  std::vector<std::uint64_t> ends_{0};
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
