// expect: this Corpus lacks 'static constexpr bool repeats'
// expect: VagueCorpus

#include <cstdint>
#include <span>
#include <vector>

#include "support.hpp"

using namespace wordloom;

struct VagueCorpus {
#ifndef WORDLOOM_EXPECT_FAILURE
  static constexpr bool repeats = false;
#endif
  std::uint64_t token_count() const { return 0; }
  std::vector<std::span<const WordId>> sentences(const Shard&) const { return {}; }
};

void fit_vague(Trainer<Hogwild, DotKernel>& trainer, const Vocabulary& vocabulary) {
  trainer.fit(VagueCorpus{}, vocabulary);
}
