// expect: the worker of this Sampler lacks 'Block::Shape max_block.. const'
// expect: UnboundedSampler

#include <span>

#include "support.hpp"

using namespace wordloom;

struct UnboundedSampler {
  struct Worker {
#ifndef WORDLOOM_EXPECT_FAILURE
    Block::Shape max_block() const { return {1, 1}; }
#endif
    template <class Sink>
    void sample(std::span<const WordId> sentence, Random&, Sink&& sink) {
      sink(Block{.inputs = sentence.first(1), .outputs = sentence.first(1)});
    }
  };
  Worker start(const Vocabulary&) const { return {}; }
};

template void compose<Trainer<UnboundedSampler, DotKernel>>();
