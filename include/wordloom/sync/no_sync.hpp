#pragma once
#include <cstddef>

#include <wordloom/concepts.hpp>

namespace wordloom {

/// One replica, nothing to synchronise: compiles to nothing.
class NoSync {
 public:
  constexpr std::size_t rank() const noexcept { return 0; }
  constexpr std::size_t size() const noexcept { return 1; }
  void broadcast(Model&) const noexcept {}
  void tick(Model&, double) const noexcept {}
  void finish(Model&) const noexcept {}
};

static_assert(SyncPolicy<NoSync>);

}  // namespace wordloom
