#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include <wordloom/sync/concept.hpp>

namespace wordloom {

/// One replica, nothing to synchronise: compiles to nothing.
struct NoSync {
  constexpr std::size_t rank() const noexcept { return 0; }
  constexpr std::size_t size() const noexcept { return 1; }
  template <class Replica>
  std::uint64_t start(Replica&, SyncRun&) const noexcept {
    return std::numeric_limits<std::uint64_t>::max();
  }
  template <class Replica>
  Signal tick(Replica&, double, Signal request) const noexcept {
    return request;
  }
  template <class Replica>
  Positions gather(Replica&, std::span<const std::uint64_t> numbers) const {
    return {{{numbers.begin(), numbers.end()}}, {0, 0}};
  }
  template <class Replica>
  Signal finish(Replica&) const noexcept {
    return Signal::go_on;
  }
  void fail(const std::string&) const noexcept {}
};

static_assert(SyncPolicy<NoSync>);

}  // namespace wordloom
