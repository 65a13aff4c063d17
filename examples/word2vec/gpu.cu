#include <wordloom/cuda.hpp>

#include "gpu.hpp"

namespace {

using namespace wordloom;

/// Calls `use.operator()<Sampler, Kernel>()` with those of the two names.
template <class Use>
auto with_composition(const Composition& composition, Use use) {
  const auto with_sampler_of = [&]<class Kernel>() {
    if constexpr (Kernel::template trains<Hogwild>) {
      if (composition.sampler == "hogwild") return use.template operator()<Hogwild, Kernel>();
      if (composition.sampler == "hogwild-fixed")
        return use.template operator()<HogwildFixedWindow, Kernel>();
    } else if constexpr (Kernel::template trains<SentenceMinibatch>) {
      if (composition.sampler == "minibatch")
        return use.template operator()<SentenceMinibatch, Kernel>();
      if (composition.sampler == "minibatch-fixed")
        return use.template operator()<SentenceMinibatchFixedWindow, Kernel>();
    } else {
      if (composition.sampler == "shared") return use.template operator()<SharedNegative, Kernel>();
      if (composition.sampler == "shared-fixed")
        return use.template operator()<SharedNegativeFixedWindow, Kernel>();
    }
    throw InvalidArgument("--kernel " + std::string(composition.kernel) +
                          " cannot stand for --sampler " + std::string(composition.sampler));
  };
  if (composition.kernel == "cuda-sentence")
    return with_sampler_of.template operator()<CudaSentenceKernel>();
  if (composition.kernel == "cuda-register")
    return with_sampler_of.template operator()<CudaRegisterKernel>();
  if (composition.kernel == "cuda-ring")
    return with_sampler_of.template operator()<CudaRingBufferKernel>();
  if (composition.kernel == "cuda-gemm")
    return with_sampler_of.template operator()<CudaGemmKernel>();
  if (composition.kernel == "cuda-warp")
    return with_sampler_of.template operator()<CudaWarpKernel>();
  throw InvalidArgument("unknown kernel '" + std::string(composition.kernel) + "'");
}

template <class Corpus>
Trained train(const Composition& composition, const Corpus& corpus, const Vocabulary& vocabulary,
              const ProgressCallback& callback, double callback_seconds) {
  return with_composition(composition, [&]<class Sampler, class Kernel>() {
    Trainer<Sampler, Kernel> trainer(composition.parameters);
    trainer.on_progress(callback, callback_seconds);
    auto words = trainer.fit(corpus, vocabulary);
    return Trained{std::move(words), trainer.report()};
  });
}

}  // namespace

void check_gpu(const Composition& composition) {
  with_composition(composition, [&]<class Sampler, class Kernel>() {
    composition.parameters.validate();
    Kernel::check(composition.parameters);
  });
}

Trained train_on_gpu(const Composition& composition, const EncodedCorpus& corpus,
                     const Vocabulary& vocabulary, const ProgressCallback& callback,
                     double callback_seconds) {
  return train(composition, corpus, vocabulary, callback, callback_seconds);
}

Trained train_on_gpu(const Composition& composition, const TextCorpus& corpus,
                     const Vocabulary& vocabulary, const ProgressCallback& callback,
                     double callback_seconds) {
  return train(composition, corpus, vocabulary, callback, callback_seconds);
}
