#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/corpus/text_corpus.hpp>
#include <wordloom/sync/rank_corpus.hpp>
#include <wordloom/train/trainer.hpp>

#include "cluster.hpp"

struct Trained {
  wordloom::Embeddings words;
  wordloom::TrainReport report;
};

inline bool is_for_gpu(std::string_view kernel) { return kernel.starts_with("cuda-"); }

/// How to train, as the command line says it.
struct Composition {
  std::string_view sampler, kernel;
  const wordloom::Hyperparameters& parameters;
  std::string_view checkpoint;  // a file; empty: none
  double checkpoint_every;      // seconds
  bool resume;
  std::string_view sync;
  bool sync_bf16;
  const wordloom::SyncOptions& sync_options;

  /// As the checkpoint options say.
  template <class Trainer, class Corpus>
  Trained train(Trainer& trainer, const Corpus& corpus, const wordloom::Vocabulary& vocabulary,
                const wordloom::ProgressCallback& callback, double callback_seconds) const {
    trainer.on_progress(callback, callback_seconds);
    if (!checkpoint.empty()) trainer.checkpoint_to(checkpoint, checkpoint_every);
    auto words =
        resume ? trainer.resume(corpus, vocabulary, checkpoint) : trainer.fit(corpus, vocabulary);
    return {std::move(words), trainer.report()};
  }
};

#if WORDLOOM_HAS_CUDA

/// Throws what would stop training on a GPU at once: before the corpus is read. All in gpu.cu.
void check_gpu(const Composition& composition);
/// The GPU of a process, if it is the only one or with others on its machine.
std::size_t gpu_of(const Composition& composition, const Cluster& cluster);
Trained train_on_gpu(const Composition& composition, const Cluster& cluster,
                     const wordloom::RankCorpus<wordloom::EncodedCorpus>& corpus,
                     const wordloom::Vocabulary& vocabulary,
                     const wordloom::ProgressCallback& callback, double callback_seconds);
Trained train_on_gpu(const Composition& composition, const Cluster& cluster,
                     const wordloom::RankCorpus<wordloom::TextCorpus>& corpus,
                     const wordloom::Vocabulary& vocabulary,
                     const wordloom::ProgressCallback& callback, double callback_seconds);

#else

[[noreturn]] inline void check_gpu(const Composition& composition) {
  throw wordloom::InvalidArgument("--kernel " + std::string(composition.kernel) +
                                  " needs a build with CUDA (WORDLOOM_ENABLE_CUDA)");
}
inline std::size_t gpu_of(const Composition& composition, const Cluster&) {
  check_gpu(composition);
}
template <class Corpus>
Trained train_on_gpu(const Composition& composition, const Cluster&, const Corpus&,
                     const wordloom::Vocabulary&, const wordloom::ProgressCallback&, double) {
  check_gpu(composition);
}

#endif
