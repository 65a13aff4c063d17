#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/kernel/detail/packed_rows.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/testing/detail/oracle.hpp>

/// Tests a custom kernel: a Block's update in the plainest code and in double precision, and the
/// distance of a kernel from it.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace oracle {

/// Trains `blocks` random blocks, all of `most`, by a kernel and in double precision, and returns
/// the largest difference between two numbers of the models, as a share of the largest change.
/// Single precision gives about 1e-6, a wrong gradient much more, a number that is not finite
/// infinity. The loss is not compared. The blocks have neither bags nor weights. `rate`: the
/// learning rate. Throws as the kernel does.
template <class Kernel>
double largest_error(const Kernel& kernel, Block::Shape most = {.inputs = 8, .outputs = 6},
                     std::size_t dimension = 100, std::size_t blocks = 50, float rate = 0.05f,
                     std::uint64_t seed = 1) {
  static_assert(!detail::PacksRows<detail::KernelRun<Kernel>>,
                "wordloom: this UpdateKernel packs rows, which the oracle does not read");
  if (blocks == 0 || !(rate > 0))
    throw InvalidArgument("an error is measured by at least 1 block, at a rate above 0");
  const std::size_t rows = 4 * (most.inputs + most.outputs);
  wordloom::Model model(rows, dimension);
  Random random(seed, 0, 0);
  for (RowMatrix* matrix : {&model.input, &model.output})
    for (std::size_t row = 0; row < rows; ++row)
      for (float& x : matrix->row(row)) x = static_cast<float>(2 * random.uniform() - 1);
  const Model start(model);
  Model expected = start;

  const auto run = detail::start_kernel(kernel, model);
  auto worker = run.worker(std::as_const(model), most);
  std::vector<RowId> inputs(most.inputs), outputs(most.outputs);
  for (std::size_t n = 0; n < blocks; ++n) {
    // Distinct rows in a block: kernels differ in the order of changes of a duplicate row.
    for (std::vector<RowId>* ids : {&inputs, &outputs})
      for (auto id = ids->begin(); id != ids->end(); ++id) {
        do *id = static_cast<RowId>(random.below(rows));
        while (std::find(ids->begin(), id, *id) != id);
      }
    const Block block{
        .inputs = inputs, .outputs = outputs, .positives = 1, .examples = inputs.size()};
    if (n % 2 == 0)
      worker.template update<true>(model, block, rate);
    else
      worker.template update<false>(model, block, rate);
    update(expected, block, static_cast<double>(rate));
  }
  detail::flush_worker(worker, model, rate);

  const auto worse = [](double a, double b) {  // NaN is the worst
    return detail::is_finite(b) ? (std::max)(a, b) : std::numeric_limits<double>::infinity();
  };
  double largest = 0, change = 0;
  const auto compare = [&](const RowMatrix& got, const Matrix& want, const Matrix& before) {
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t c = 0; c < dimension; ++c) {
        largest = worse(largest, std::abs(static_cast<double>(got.row(row)[c]) - want.at(row, c)));
        change = (std::max)(change, std::abs(want.at(row, c) - before.at(row, c)));
      }
  };
  compare(model.input, expected.input, start.input);
  compare(model.output, expected.output, start.output);
  return largest / change;
}

}}}  // namespace wordloom::WORDLOOM_ABI::oracle
