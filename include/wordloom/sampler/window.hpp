#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// The number of context words on each side of a centre: random, uniform from 1 to `size` for each
/// centre, so that near words count more (word2vec), or fixed, which draws no random number.
struct Window {
  std::size_t size = 5;  // maximum number of words on each side
  bool is_fixed = false;

  /// Returns a window of always `size` words on each side.
  static constexpr Window fixed(std::size_t size) { return {size, true}; }
  static Window from(const Hyperparameters& parameters) {
    return {parameters.window, parameters.fixed_window};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("window", size, 1, 1000);
    visit("fixed_window", static_cast<std::uint64_t>(is_fixed), 0, 1);
  }

  /// Returns the mean number of context words of a centre.
  std::size_t mean_context() const noexcept { return is_fixed ? 2 * size : size + 1; }
  /// Returns the mean of `value(context)` over the numbers of context words.
  template <class Value>
  double mean_of(Value&& value) const {
    const std::size_t least = is_fixed ? size : 1;
    double sum = 0;
    for (std::size_t reach = least; reach <= size; ++reach)
      sum += static_cast<double>(value(2 * reach));
    return sum / static_cast<double>(size + 1 - least);
  }
  std::size_t reach(Random& random) const noexcept {
    return is_fixed ? size : 1 + random.below(size);
  }
};

namespace detail {

/// The positions of a window in its sentence, in [first, end), the centre included. On the host and
/// on devices.
template <class Position>
struct WindowRange {
  Position first, end;

  WORDLOOM_BOTH constexpr WindowRange(Position center, Position reach, Position sentence_size)
      : first(center < reach ? 0 : center - reach),
        end(sentence_size - center <= reach ? sentence_size : center + reach + 1) {}
};

}  // namespace detail

}}  // namespace wordloom::WORDLOOM_ABI
