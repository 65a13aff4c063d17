// expect: this Sampler lacks 'auto start.const Vocabulary&. const'
// expect: IdleSampler

#include <span>

#include "support.hpp"

using namespace wordloom;

struct IdleSampler {
  struct Worker {
    Block::Shape max_block() const { return {1, 1}; }
    template <class Sink>
    void sample(std::span<const WordId>, Random&, Sink&&) {}
  };
#ifndef WORDLOOM_EXPECT_FAILURE
  Worker start(const Vocabulary&) const { return {}; }
#endif
};

template void compose<Trainer<IdleSampler, DotKernel>>();
