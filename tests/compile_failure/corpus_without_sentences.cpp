// expect: this Corpus lacks sentences.const Shard&., a range of std::span<const WordId>
// expect: WholeCorpus

#include <cstdint>
#include <span>
#include <vector>

#include "support.hpp"

using namespace wordloom;

struct WholeCorpus {
  static constexpr bool repeats = true;
  std::uint64_t token_count() const { return 0; }
#ifdef WORDLOOM_EXPECT_FAILURE
  std::vector<std::span<const WordId>> sentences() const { return {}; }
#else
  std::vector<std::span<const WordId>> sentences(const Shard&) const { return {}; }
#endif
};

void fit_whole(Trainer<Hogwild, DotKernel>& trainer, const Vocabulary& vocabulary) {
  trainer.fit(WholeCorpus{}, vocabulary);
}
