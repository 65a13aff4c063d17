// expect: the worker of this Sampler lacks 'void sample
// expect: MuteSampler

#include <span>

#include "support.hpp"

using namespace wordloom;

struct MuteSampler {
  struct Worker {
    Block::Shape max_block() const { return {1, 1}; }
#ifndef WORDLOOM_EXPECT_FAILURE
    template <class Sink>
    void sample(std::span<const WordId>, Random&, Sink&&) {}
#endif
  };
  Worker start(const Vocabulary&) const { return {}; }
};

template void compose<Trainer<MuteSampler, DotKernel>>();
