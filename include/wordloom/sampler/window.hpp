#pragma once
#include <cstddef>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/random.hpp>

namespace wordloom {

/// Window policy of word2vec: the reach to both sides is drawn for each centre word, uniform from
/// 1 to `window`, so that near words count more.
class RandomWindow {
 public:
  explicit RandomWindow(const Hyperparameters& parameters) : window_(parameters.window) {}
  std::size_t largest() const noexcept { return window_; }
  /// Context words of a centre in the mean.
  std::size_t mean_context() const noexcept { return window_ + 1; }
  std::size_t reach(Random& random) const noexcept {
    return 1 + static_cast<std::size_t>(random.below(window_));
  }

 private:
  std::size_t window_;
};

/// Window policy of FULL-W2V (Randall et al. 2021): always ceil(window / 2), the mean reach of
/// RandomWindow rounded up, so that a window's rows can be kept in place from word to word.
class FixedWindow {
 public:
  explicit FixedWindow(const Hyperparameters& parameters) : reach_((parameters.window + 1) / 2) {}
  std::size_t largest() const noexcept { return reach_; }
  std::size_t mean_context() const noexcept { return 2 * reach_; }
  std::size_t reach(Random&) const noexcept { return reach_; }

 private:
  std::size_t reach_;
};

}  // namespace wordloom
