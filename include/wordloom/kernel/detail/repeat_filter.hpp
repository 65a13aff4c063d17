#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include <wordloom/core/types.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd {

/// Tells whether an id of a set may occur twice: never misses a repeat, and rarely reports one that
/// does not exist.
class RepeatFilter {
 public:
  void begin() noexcept {
    if (++set_ == 0) {
      last_.fill(0);
      set_ = 1;
    }
  }
  bool seen(RowId id) noexcept { return std::exchange(last_[id % last_.size()], set_) == set_; }
  bool repeats(std::span<const RowId> ids) noexcept {
    begin();
    bool repeat = false;
    for (const RowId id : ids) repeat |= seen(id);
    return repeat;
  }

 private:
  std::array<std::uint8_t, 4096> last_{};  // the last set in which each residue occurred
  std::uint8_t set_ = 0;
};

}}}  // namespace wordloom::WORDLOOM_ABI::simd
