#pragma once
#include <cstddef>

#include <wordloom/sync/concept.hpp>

namespace wordloom {

/// One replica, nothing to synchronise: compiles to nothing.
class NoSync {
 public:
  constexpr std::size_t rank() const noexcept { return 0; }
  constexpr std::size_t size() const noexcept { return 1; }
  template <class Replica>
  void broadcast(Replica&) const noexcept {}
  template <class Replica>
  void tick(Replica&, double) const noexcept {}
  template <class Replica>
  void finish(Replica&) const noexcept {}
};

static_assert(SyncPolicy<NoSync>);

}  // namespace wordloom
