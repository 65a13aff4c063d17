#include <wordloom/cuda/detail/gemm_scheme.hpp>
#include <wordloom/cuda/detail/host_kernel.hpp>
#include <wordloom/cuda/detail/published_schemes.hpp>
#include <wordloom/cuda/detail/warp_scheme.hpp>
#include <wordloom/evaluation/word_tests.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "demo_text.hpp"

using namespace wordloom;

// What a GPU computes, with one sentence in flight.
TEMPLATE_TEST_CASE(
    "the arithmetic of the CUDA kernels learns the demo corpus", "[quality][cuda]",
    (Trainer<SharedNegative, cuda::HostKernel<cuda::WarpScheme<11>, 1, cuda::HostTeam<32>>>),
    (Trainer<Hogwild, cuda::HostKernel<cuda::SentenceScheme, 1, cuda::HostTeam<32>>>),
    (Trainer<SentenceMinibatch, cuda::HostKernel<cuda::GemmScheme, 1, cuda::HostWarps<4>>>)) {
  static const DemoText text(400'000);
  TestType trainer(Hyperparameters{.dimension = 32, .learning_rate = 0.05, .epochs = 3});
  const auto words = trainer.fit(text.corpus, text.vocabulary);
  CHECK(trainer.report().tokens == 3 * text.corpus.token_count());
  CHECK(trainer.report().epoch_losses.back() < trainer.report().epoch_losses.front());
  CHECK(evaluate_analogies(words, demo::analogies()).total.accuracy() >= 0.9);
  CHECK(evaluate_similarity(words, demo::similarity_pairs()).spearman >= 0.6);
}
