// expect: this Sampler lacks 'BlockShape max_block
// expect: UnboundedSampler

#include "support.hpp"

using namespace wordloom;

struct UnboundedSampler {
  using Produces = Block;
  UnboundedSampler(const Hyperparameters&, const Vocabulary&) {}
#ifndef WORDLOOM_EXPECT_FAILURE
  BlockShape max_block() const { return {1, 1}; }
#endif
  template <class Sink>
  void sample(std::span<const WordId> sentence, Random&, Sink&& sink) {
    sink(Block{sentence.first(1), sentence.first(1), 1, {}});
  }
};

template void compose<Trainer<UnboundedSampler, DotKernel>>();
