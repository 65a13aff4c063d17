// expect: this SyncPolicy lacks start.model, run., tick.model, progress, request., gather.model,
// expect: EndlessSync

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "support.hpp"

using namespace wordloom;

struct EndlessSync {
  std::size_t rank() const { return 0; }
  std::size_t size() const { return 1; }
  std::uint64_t start(Model&, RankInfo&) { return 1; }
  RankInfo::Signal tick(Model&, double, RankInfo::Signal request) { return request; }
  RankInfo::Positions gather(Model&, std::span<const std::uint64_t>) { return {}; }
#ifndef WORDLOOM_EXPECT_FAILURE
  RankInfo::Signal finish(Model&) { return RankInfo::Signal::go_on; }
#endif
  void fail(const std::string&) {}
};

template void compose<Trainer<Hogwild, DotKernel, EndlessSync>>();
