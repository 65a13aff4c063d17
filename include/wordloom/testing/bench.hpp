#pragma once
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include <wordloom/core/random.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/kernel/detail/packed_rows.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/block.hpp>

/// Measures the speed of a custom kernel, and of those of this library for comparison.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace bench {

/// The speed of a kernel on one thread.
struct KernelSpeed {
  double blocks_per_second;
  double gflops;  // 6 D for each pair of a block: score, and change of both rows

  /// Measures updates of random blocks, all of `most`, for about `seconds`. `rows`: of each matrix;
  /// 1,000 fit the cache; with more than (bytes of the cache) / (8 D), they come from memory.
  /// Throws as the kernel does. On a busy machine only ratios of alternating runs mean something.
  template <class Kernel>
  static KernelSpeed of(const Kernel& kernel, Block::Shape most = {.inputs = 6, .outputs = 6},
                        std::size_t dimension = 128, std::size_t rows = 1000, double seconds = 0.5);
};

template <class Kernel>
KernelSpeed KernelSpeed::of(const Kernel& kernel, Block::Shape most, std::size_t dimension,
                            std::size_t rows, double seconds) {
  static_assert(!detail::PacksRows<detail::KernelRun<Kernel>>,
                "wordloom: this UpdateKernel packs rows, which this benchmark does not");
  constexpr std::size_t blocks = 256;  // that are made beforehand
  Model model(rows, dimension);
  Random random(1, 0, 0);
  std::vector<RowId> ids(blocks * (most.inputs + most.outputs));
  for (RowId& id : ids) id = static_cast<RowId>(random.below(rows));

  const auto run = detail::start_kernel(kernel, model);
  auto worker = run.worker(std::as_const(model), most);
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  std::size_t done = 0;
  double elapsed = 0;
  do {
    const RowId* at = ids.data();
    for (std::size_t n = 0; n < blocks; ++n, at += most.inputs + most.outputs)
      worker.template update<false>(model,
                                    Block{.inputs = {at, most.inputs},
                                          .outputs = {at + most.inputs, most.outputs},
                                          .positives = 1,
                                          .examples = most.inputs},
                                    1e-6f);
    done += blocks;
    elapsed = std::chrono::duration<double>(Clock::now() - start).count();
  } while (elapsed < seconds);
  detail::flush_worker(worker, model, 1e-6f);
  const double speed = static_cast<double>(done) / elapsed;
  const auto pairs = static_cast<double>(most.inputs * most.outputs);
  return {speed, speed * pairs * 6 * static_cast<double>(dimension) / 1e9};
}

}}}  // namespace wordloom::WORDLOOM_ABI::bench
