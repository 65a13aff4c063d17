// expect: this Sampler updates one side .Block::update., which this UpdateKernel does not honour
// expect: OneSided
// expect: PlainKernel

#include <span>

#include "support.hpp"

using namespace wordloom;

struct OneSided {
  static constexpr Block::Features uses = {.one_side = true};
  struct Worker {
    Block::Shape max_block() const { return {1, 1}; }
    template <class Sink>
    void sample(std::span<const WordId> sentence, Random&, Sink&& sink) {
      sink(Block{.inputs = sentence.first(1),
                 .outputs = sentence.first(1),
                 .positives = 1,
                 .examples = 1,
                 .update = Block::Sides::inputs});
    }
  };
  Worker start(const Vocabulary&) const { return {}; }
};

#ifdef WORDLOOM_EXPECT_FAILURE
template void compose<Trainer<OneSided, PlainKernel>>();
#else
template void compose<Trainer<OneSided, DotKernel>>();
#endif
