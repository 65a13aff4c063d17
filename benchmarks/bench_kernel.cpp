// Each kernel over block shapes: useful operations a second (6 N M D for a block: scores and two
// updates) and their share of the FMA peak measured at the start. Rows are in the cache ("cached":
// the block's own rows) or at random in a model of 68,000 words ("random"). "bag:8": each input is
// the mean of 8 rows, whose gathering and scattering do not count as useful.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/registry.hpp>
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

struct Shape {
  std::size_t n, m, dimension, bag = 0;  // bag: members of each input; 0: inputs are rows

  std::size_t members() const { return n * std::max<std::size_t>(bag, 1); }
  std::string name() const {
    return std::to_string(n) + "x" + std::to_string(m) + "x" + std::to_string(dimension) +
           (bag == 0 ? "" : "/bag:" + std::to_string(bag));
  }
};

template <class Kernel>
void run(benchmark::State& state, const Shape& shape, bool cached) {
  const auto& [n, m, dimension, bag] = shape;
  const std::size_t members = shape.members(), rows = cached ? members + m : 68'000;
  Model& model = model_of(rows, dimension);
  const auto kernel = detail::start_kernel(Kernel{}, model);
  const detail::PackedRows packed(kernel, model, 1);
  auto worker = kernel.worker(std::as_const(model), Block::Shape{n, m, bag == 0 ? 0 : members});
  Random random(1);
  // Enough that random rows do not come back before they have left the cache.
  const std::size_t blocks = cached ? 64 : 16'384;
  std::vector<RowId> inputs(members * blocks), outputs(m * blocks);
  const auto fill = [&](std::vector<RowId>& ids, std::size_t each) {
    for (std::size_t i = 0; i < ids.size(); ++i)
      ids[i] = static_cast<RowId>(cached ? i % each : random.below(rows));
  };
  fill(inputs, members);
  fill(outputs, m);
  std::vector<std::uint32_t> ends(bag == 0 ? 0 : n);
  for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = static_cast<std::uint32_t>((i + 1) * bag);
  std::size_t block = 0;
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) {
    // Without the loss, which training measures on a sixteenth of the tokens.
    worker.template update<false>(
        model,
        Block{.inputs = std::span(inputs).subspan(block * members, members),
              .bag_ends = ends,
              .outputs = std::span(outputs).subspan(block * m, m),
              .positives = 1},
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
void add(std::string_view name) {
  for (const Shape& shape :
       {Shape{1, 6, 128}, Shape{6, 6, 128}, Shape{11, 6, 128}, Shape{24, 40, 128},
        Shape{64, 64, 128}, Shape{6, 6, 100}, Shape{6, 6, 300}, Shape{24, 40, 300},
        Shape{1, 6, 128, 8}, Shape{4, 14, 128, 8}})
    for (const bool cached : {true, false}) {
      if (shape.bag > 0 && !detail::features_honoured<Kernel>().bags) continue;
      const std::string row =
          std::string(name) + "/" + shape.name() + (cached ? "/cached" : "/random");
      benchmark::RegisterBenchmark(
          row.c_str(), [=](benchmark::State& state) { run<Kernel>(state, shape, cached); });
    }
}

}  // namespace

int main(int argc, char** argv) try {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  peak = fma_peak();
  describe_machine();
  benchmark::AddCustomContext("fma_peak_gflops", std::to_string(peak / 1e9));
  Policies::Kernels::for_each([]<class Kernel>(std::string_view name) { add<Kernel>(name); });
  Policies::RowKernels::for_each([]<class Kernel>(std::string_view name) {
    if (Kernel::runs_here()) add<Kernel>(name);
  });
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
} catch (const std::exception& error) {
  std::cerr << "bench_kernel: " << error.what() << '\n';
  return 1;
}
