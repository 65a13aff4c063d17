// What benchmarks/count_sass counts. Compiled by nvcc: the kernels. Compiled as C++: a program that
// prints, for each kernel, its shape and how often a team passes each WORDLOOM_MARK for a kept word
// in the midst of a sentence: D = 128, 5 negatives, fixed windows of 3, no loss.
#ifdef __CUDACC__
#include <wordloom/cuda/cuda_kernel.cuh>
#else
#include <array>
#include <cstdio>
#include <vector>
std::array<long, 128> passed;
#define WORDLOOM_MARK(number) (void)++passed[number]
#endif
#include <wordloom/cuda/detail/grouped_warp_scheme.hpp>
#include <wordloom/cuda/detail/published_schemes.hpp>
#include <wordloom/cuda/detail/ring_schemes.hpp>
#include <wordloom/cuda/detail/warp_scheme.hpp>

using namespace wordloom;
using namespace wordloom::cuda;

// KERNEL(name, reach, floats of a row in each thread, threads of a team and of a block, scheme)
#define KERNELS(KERNEL)                                                \
  KERNEL("sentence", 3, 1, 128, 128, BasicSentenceScheme<WordTargets>) \
  KERNEL("register", 3, 1, 128, 128, BasicRegisterScheme<WordTargets>) \
  KERNEL("ring", 3, 1, 128, 128, RingBufferScheme)                     \
  KERNEL("warp, 7 rows", 3, 4, 32, 128, WarpScheme<7>)                 \
  KERNEL("warp, 11 rows", 5, 4, 32, 128, WarpScheme<11>)               \
  KERNEL("warp, groups", 4, 4, 32, 128, GroupedWarpScheme<3, 2, 7>)

#ifdef __CUDACC__
#define KERNEL(name, reach, floats, team, block, ...)                                       \
  template __global__ void cuda::train_batch<__VA_ARGS__, floats, DeviceTeam<team>, block>( \
      ModelView, Sampling, BatchView, std::uint32_t);
KERNELS(KERNEL)
#ifdef ALL_SIZES  // for their registers
#define SIZED(scheme, floats, width, team, block)                                             \
  template __global__ void cuda::train_batch<scheme, floats, DeviceTeam<width, team>, block>( \
      ModelView, Sampling, BatchView, std::uint32_t);
#define SIZES(OF) \
  OF(32, 1)       \
  OF(64, 2) OF(192, 6) OF(256, 8) OF(320, 10) OF(384, 12) OF(512, 16) OF(768, 24) OF(1024, 32)
#define BLOCK(row, floats)                                  \
  SIZED(BasicSentenceScheme<WordTargets>, 1, row, row, row) \
  SIZED(BasicRegisterScheme<WordTargets>, 1, row, row, row) \
  SIZED(RingBufferScheme, 1, row, row, row)
#define WARP(row, floats) \
  SIZED(GemmScheme, floats, 32, 128, 128) SIZED(SharedWarpScheme, floats, 32, 32, 128)
#define WARP_7(floats) SIZED(WarpScheme<7>, floats, 32, 32, 128)
#define WARP_11(floats) SIZED(WarpScheme<11>, floats, 32, 32, 128)
SIZES(BLOCK)
SIZES(WARP)
WARP(128, 4)
WARP_7(1) WARP_7(2) WARP_7(6) WARP_7(8) WARP_11(1) WARP_11(2)
#endif
#else
int main() {
  constexpr std::uint32_t words = 50'000, negatives = 5;
  const detail::AliasTable table(std::vector<double>(words, 1.0));
  std::vector<float> model(std::size_t{2} * words * 128);
  // Twice as many words as lead to whole draws, in both sentences; the ends of a sentence cancel.
  constexpr std::uint32_t lengths[] = {1440, 2880};
  const auto count = [&]<class Scheme, int floats, int team>(const char* name, const char* type,
                                                             std::uint32_t reach, int block) {
    const Sampling sampling{.negatives = {table.entries().data(), words},
                            .max_reach = reach,
                            .per_window = negatives,
                            .fixed_window = true,
                            .shared = 7,  // as all of what follows: for groups
                            .group = 3,
                            .side = 2};
    std::vector<float> memory(Scheme::floats_of_own(sampling, 128));
    std::array<long, 128> of[2];
    for (int i = 0; i < 2; ++i) {
      passed = {};
      std::vector<WordId> sentence(lengths[i]);
      for (std::uint32_t w = 0; w < lengths[i]; ++w) sentence[w] = w;
      PairLoss loss;
      const Sentence one{sentence.data(), lengths[i], {1, 1, 1}, 0.0f, false};
      const ModelView view{model.data(), model.data() + std::size_t{words} * 128, 128};
      Scheme::train(
          SentenceTask<floats, HostTeam<team>>{{}, view, sampling, one, memory.data(), loss});
      of[i] = passed;
    }
    const int scratch = team > 32 ? 64 : 0;  // as DeviceTeam
    std::printf("%s|%s|%d|%d|%zu|", name, type, team, block,
                (memory.size() + scratch) * sizeof(float) * (block / team));
    for (std::size_t m = 0; m < passed.size(); ++m)
      if (of[1][m] != 0)
        std::printf("%zu:%ld/%u ", m, of[1][m] - of[0][m], lengths[1] - lengths[0]);
    std::printf("\n");
  };
#define KERNEL(name, reach, floats, team, block, ...) \
  count.operator()<__VA_ARGS__, floats, team>(name, #__VA_ARGS__, reach, block);
  KERNELS(KERNEL)
}
#endif
