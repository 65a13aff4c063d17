// expect: this Corpus lacks shard.i, n.
// expect: WholeCorpus

#include <span>
#include <vector>

#include "support.hpp"

using namespace wordloom;

struct WholeCorpus {
  std::uint64_t token_count() const { return 0; }
#ifndef WORDLOOM_EXPECT_FAILURE
  std::vector<std::span<const WordId>> shard(std::size_t, std::size_t) const { return {}; }
#endif
};

void train(Trainer<Hogwild, DotKernel>& trainer, const Vocabulary& vocabulary) {
  trainer.fit(WholeCorpus{}, vocabulary);
}
