#pragma once
#include <cstddef>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// The window of word2vec: the reach to both sides is drawn for each centre word, uniform from 1 to
/// `size`, so that near words count more.
struct RandomWindow {
  std::size_t size = 5;  // maximum number of words on each side

  static RandomWindow from(const Hyperparameters& parameters) { return {parameters.window}; }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("window", size, 1, 1000);
  }

  std::size_t max_reach() const noexcept { return size; }
  /// Returns the mean number of context words of a centre.
  std::size_t mean_context() const noexcept { return size + 1; }
  /// Returns the mean of `value(context)` over the numbers of context words.
  template <class Value>
  double mean_of(Value&& value) const {
    double sum = 0;
    for (std::size_t reach = 1; reach <= size; ++reach)
      sum += static_cast<double>(value(2 * reach));
    return sum / static_cast<double>(size);
  }
  std::size_t reach(Random& random) const noexcept {
    return 1 + static_cast<std::size_t>(random.below(size));
  }
};

/// The window of FULL-W2V (Randall et al. 2021): always ceil(size / 2), the mean reach of
/// RandomWindow rounded up, so that a window's rows can stay in place from word to word.
struct FixedWindow {
  std::size_t size = 5;

  static FixedWindow from(const Hyperparameters& parameters) { return {parameters.window}; }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("window", size, 1, 1000);
  }

  std::size_t max_reach() const noexcept { return (size + 1) / 2; }
  std::size_t mean_context() const noexcept { return 2 * max_reach(); }
  template <class Value>
  double mean_of(Value&& value) const {
    return static_cast<double>(value(mean_context()));
  }
  std::size_t reach(Random&) const noexcept { return max_reach(); }
};

/// The positions of a window in its sentence, in [first, end), the centre included. On the host and
/// on devices.
template <class Position>
struct WindowRange {
  Position first, end;

  WORDLOOM_BOTH constexpr WindowRange(Position center, Position reach, Position sentence_size)
      : first(center < reach ? 0 : center - reach),
        end(sentence_size - center <= reach ? sentence_size : center + reach + 1) {}
};

}}  // namespace wordloom::WORDLOOM_ABI
