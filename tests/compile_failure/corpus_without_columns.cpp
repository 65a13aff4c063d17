// expect: this Sampler trains the columns of a WordContextMatrix, and this Corpus has none
// expect: EncodedCorpus

#include <wordloom/corpus/word_context_matrix.hpp>
#include <wordloom/kernel/fused_kernel.hpp>
#include <wordloom/sampler/uniform_matrix.hpp>

#include "support.hpp"

using namespace wordloom;

void fit_columns(Trainer<UniformMatrix, FusedKernel>& trainer, const EncodedCorpus& corpus,
         const Vocabulary& vocabulary) {
#ifdef WORDLOOM_EXPECT_FAILURE
  trainer.fit(corpus, vocabulary);
#else
  trainer.fit(WordContextMatrix::from(corpus, vocabulary), vocabulary);
#endif
}
