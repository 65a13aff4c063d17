// Ranks with models on devices. Returns 77 (skipped) where there is no device; what needs two is
// left out where there is one.
#define WORDLOOM_CUDA_ROW_SIZES 1
#include <wordloom/nccl.hpp>

#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/evaluation/word_tests.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <vector>

#include "demo_text.hpp"
#include "sync/row_scenario.hpp"

using namespace wordloom;

namespace {

#ifdef WORDLOOM_EMULATED_CUDA
constexpr bool is_emulated = true;  // some thousand words a second: ranks agree, and learn little
#else
constexpr bool is_emulated = false;
#endif

int failures = 0;

void report(const char* what, bool good) {
  failures += good ? 0 : 1;
  std::printf("%s: %s\n", what, good ? "good" : "WRONG");
}

/// Compares ranks that share a device with ranks on the host.
template <class Combine>
void compare(const char* name) {
  using namespace row_scenario;
  const auto on_device = run([](ThreadRanks self, Model& model) {
    const auto kernel = CudaWarpKernel().start(SharedNegative(), {.dimension = columns}, model);
    auto replica = kernel->replica();
    Allreduce<StagedRanks<ThreadRanks>, Combine> sync(StagedRanks<ThreadRanks>(self), options);
    const auto put = [&] {
      const auto copy = [&](float* to, const RowMatrix& from) {
        cuda::check(cudaMemcpy2D(to, replica.view.stride * sizeof(float), from.data(),
                                 from.stride() * sizeof(float), columns * sizeof(float), words,
                                 cudaMemcpyHostToDevice));
      };
      copy(replica.view.input, model.input);
      copy(replica.view.output, model.output);
      // The copies may still be in progress, and the kernel's streams do not wait for them.
      cuda::check(cudaStreamSynchronize(nullptr));
    };
    run_rank(
        sync, model, replica, [&] { kernel->download(model); }, put);
  });
  report(name, difference(run_on_host<Combine>(), on_device) < 1e-3);
}

/// Returns whether `size` ranks agree on vectors that solve the demo's analogies (emulated: on any
/// vectors). Each rank has the sync policy make_sync(self, options).
template <class MakeSync>
bool learn(const DemoText& text, std::size_t size, bool own_devices, MakeSync make_sync) {
  std::vector<std::optional<Embeddings>> of_ranks(size);
  ThreadRanks::run(size, [&](ThreadRanks self) {
    auto sync = make_sync(self, SyncOptions{.interval = is_emulated ? 500u : 20'000u});
    Trainer<SharedNegative, CudaWarpKernel, decltype(sync), RankScaledDecay> trainer(
        {.dimension = 32, .device = own_devices ? self.rank() : 0}, std::move(sync));
    of_ranks[self.rank()] = trainer.fit(text.corpus, text.vocabulary);
  });
  for (std::size_t rank = 1; rank < size; ++rank)
    for (std::size_t i = 0; i < text.vocabulary.size(); ++i)
      if (!std::ranges::equal(of_ranks[0]->vector(i), of_ranks[rank]->vector(i))) return false;
  return is_emulated || evaluate_analogies(*of_ranks[0], demo::analogies()).total.accuracy() >= 0.9;
}

}  // namespace

int main() try {
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // see NcclRanks
  int devices = 0;
  try {
    cuda::use_device(0);
    cuda::check(cudaGetDeviceCount(&devices));
  } catch (const DeviceError& error) {
    std::printf("skipped: %s\n", error.what());
    return 77;
  }
  compare<Average>("average");
  compare<DeltaSum>("sum");
  compare<TouchedAverage>("average of those that changed a row");
  compare<CoherentSum>("coherent sum");
  const DemoText text(is_emulated ? 2'000 : 500'000);
  const auto staged = [](ThreadRanks self, SyncOptions options) {
    return Allreduce<StagedRanks<ThreadRanks>>(StagedRanks<ThreadRanks>(self), options);
  };
  const auto by_nccl = [](ThreadRanks self, SyncOptions options) {
    return Allreduce<NcclRanks<ThreadRanks>>(NcclRanks<ThreadRanks>(self, self.rank()), options);
  };
  report("two ranks on a device, by way of the host", learn(text, 2, false, staged));
  report("one rank by NCCL", learn(text, 1, true, by_nccl));
  if (devices > 1)
    report("two ranks by NCCL", learn(text, 2, true, by_nccl));
  else
    std::printf("left out: two ranks by NCCL, which need two devices\n");
  return failures == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::printf("failed: %s\n", error.what());
  return 1;
}
