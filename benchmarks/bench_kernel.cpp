// Each kernel over block shapes: useful operations a second (6 N M D for a block: scores and two
// updates) and their share of the FMA peak measured at the start. Rows in the cache
// ("cached": the block's own rows), or at random in a model of 68,000 words ("random").
#include <benchmark/benchmark.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "support/machine.hpp"

using namespace wordloom;

namespace {

double peak = 0;

Model& model_of(std::size_t rows, std::size_t dimension) {
  static std::map<std::pair<std::size_t, std::size_t>, Model> models;
  const auto [found, made] = models.try_emplace({rows, dimension}, rows, dimension);
  if (made)
    for (std::size_t i = 0; i < rows; ++i)
      for (float& x : found->second.output.row(i)) x = 0.01f;
  return found->second;
}

template <class Kernel>
void run(benchmark::State& state, std::size_t n, std::size_t m, std::size_t dimension,
         std::size_t rows) {
  Model& model = model_of(rows, dimension);
  Kernel kernel(Hyperparameters{.dimension = dimension}, BlockShape{n, m});
  Random random(1);
  // Enough that random rows do not come back before they have left the cache.
  const std::size_t blocks = rows == n + m ? 64 : 16'384;
  std::vector<WordId> inputs(n * blocks), outputs(m * blocks);
  const auto fill = [&](std::vector<WordId>& ids, std::size_t each) {
    for (std::size_t i = 0; i < ids.size(); ++i)
      ids[i] = static_cast<WordId>(rows == n + m ? i % each : random.below(rows));
  };
  fill(inputs, n);
  fill(outputs, m);
  std::size_t block = 0;
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) {
    // Without the loss, which training measures on a sixteenth of the tokens.
    kernel.template update<false>(model,
                                  Block{std::span(inputs).subspan(block * n, n),
                                        std::span(outputs).subspan(block * m, m),
                                        1,
                                        {}},
                                  1e-6f);
    block = (block + 1) % blocks;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const double operations =
      6.0 * static_cast<double>(n * m * dimension) * static_cast<double>(state.iterations());
  state.counters["flops"] = benchmark::Counter(operations, benchmark::Counter::kIsRate);
  state.counters["of_peak"] = operations / seconds.count() / peak;
}

template <class Kernel>
void add(const std::string& name) {
  struct Shape {
    std::size_t n, m, dimension;
  };
  for (const auto& [n, m, dimension] :
       {Shape{1, 6, 128}, Shape{6, 6, 128}, Shape{11, 6, 128}, Shape{24, 40, 128},
        Shape{64, 64, 128}, Shape{6, 6, 100}, Shape{6, 6, 300}, Shape{24, 40, 300}})
    for (const bool cached : {true, false}) {
      const std::string row = name + "/" + std::to_string(n) + "x" + std::to_string(m) + "x" +
                              std::to_string(dimension) + (cached ? "/cached" : "/random");
      const std::size_t rows = cached ? n + m : 68'000;
      benchmark::RegisterBenchmark(
          row.c_str(), [=](benchmark::State& state) { run<Kernel>(state, n, m, dimension, rows); });
    }
}

}  // namespace

int main(int argc, char** argv) try {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  peak = fma_peak();
  describe_machine();
  benchmark::AddCustomContext("fma_peak_gflops", std::to_string(peak / 1e9));
  add<FusedKernel<>>("fused");
  add<DotKernel>("dot");
#if WORDLOOM_HAS_BLAS
  add<GemmKernel>("gemm");
#endif
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
} catch (const std::exception& error) {
  std::cerr << "bench_kernel: " << error.what() << '\n';
  return 1;
}
