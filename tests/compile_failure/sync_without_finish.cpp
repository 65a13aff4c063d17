// expect: this SyncPolicy lacks broadcast.model., tick.model, progress. or finish.model.
// expect: EndlessSync

#include "support.hpp"

using namespace wordloom;

struct EndlessSync {
  std::size_t rank() const { return 0; }
  std::size_t size() const { return 1; }
  void broadcast(Model&) {}
  void tick(Model&, double) {}
#ifndef WORDLOOM_EXPECT_FAILURE
  void finish(Model&) {}
#endif
};

template void compose<Trainer<Hogwild, DotKernel, EndlessSync>>();
