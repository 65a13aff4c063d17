#pragma once
#include <string>
#include <string_view>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/corpus/text_corpus.hpp>
#include <wordloom/trainer.hpp>

struct Trained {
  wordloom::Embeddings words;
  wordloom::TrainReport report;
};

inline bool is_for_gpu(std::string_view kernel) { return kernel.starts_with("cuda-"); }

/// How to train, as the command line says it.
struct Composition {
  std::string_view sampler, kernel;
  const wordloom::Hyperparameters& parameters;
  std::string_view checkpoint = {};  // a file; empty: none
  double checkpoint_every = 0;       // seconds
  bool resume = false;
};

#if WORDLOOM_HAS_CUDA

/// Throws what would stop training on a GPU at once: before the corpus is read. All in gpu.cu.
void check_gpu(const Composition& composition);
Trained train_on_gpu(const Composition& composition, const wordloom::EncodedCorpus& corpus,
                     const wordloom::Vocabulary& vocabulary,
                     const wordloom::ProgressCallback& callback, double callback_seconds);
Trained train_on_gpu(const Composition& composition, const wordloom::TextCorpus& corpus,
                     const wordloom::Vocabulary& vocabulary,
                     const wordloom::ProgressCallback& callback, double callback_seconds);

#else

[[noreturn]] inline void check_gpu(const Composition& composition) {
  throw wordloom::InvalidArgument("--kernel " + std::string(composition.kernel) +
                                  " needs a build with CUDA (WORDLOOM_ENABLE_CUDA)");
}
template <class Corpus>
Trained train_on_gpu(const Composition& composition, const Corpus&, const wordloom::Vocabulary&,
                     const wordloom::ProgressCallback&, double) {
  check_gpu(composition);
}

#endif
