HWY_BEFORE_NAMESPACE();
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Returns the dot product over `stride` floats, a multiple of 16: the padding is zero.
HWY_INLINE float dot(const float* a, const float* b, std::size_t stride) {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  auto even = hn::Zero(d), odd = hn::Zero(d);
  std::size_t c = 0;
  for (; c + 2 * lanes <= stride; c += 2 * lanes) {
    even = hn::MulAdd(load_row(d, a + c), load_row(d, b + c), even);
    odd = hn::MulAdd(load_row(d, a + c + lanes), load_row(d, b + c + lanes), odd);
  }
  if (c < stride) even = hn::MulAdd(load_row(d, a + c), load_row(d, b + c), even);
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}

HWY_INLINE void add_to_row(hn::Vec<RowTag> change, float* row) {
  const RowTag d;
  store_row(d, hn::Add(load_row(d, row), change), row);
}

/// Does DotKernel::update for a block of n x m.
template <bool with_loss>
HWY_ATTR LossSum dot_update(const DotBlock& block, std::size_t stride,
                            float learning_rate) noexcept {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t n = block.n, m = block.m;
  float* const g = block.gradients;
  for (std::size_t j = 0; j < m; ++j)
    for (std::size_t i = 0; i < n; ++i)
      g[j * n + i] = dot(block.inputs[i], block.outputs[j], stride);
  const LossSum loss = block_gradients<with_loss>(g, block.pair_weights, n * m, learning_rate);

  // Column by column of the rows: both changes are computed from the old values of a column before
  // either is added, so that a duplicate row gets both changes.
  for (std::size_t c = 0; c < stride; c += lanes) {
    for (std::size_t i = 0; i < n; ++i) {
      auto change = hn::Zero(d);
      for (std::size_t j = 0; j < m; ++j)
        change = hn::MulAdd(hn::Set(d, g[j * n + i]), load_row(d, block.outputs[j] + c), change);
      hn::StoreU(change, d, block.change + i * lanes);
    }
    for (std::size_t j = 0; j < m; ++j) {
      auto change = hn::Zero(d);
      for (std::size_t i = 0; i < n; ++i)
        change = hn::MulAdd(hn::Set(d, g[j * n + i]), load_row(d, block.inputs[i] + c), change);
      add_to_row(change, block.outputs[j] + c);
    }
    for (std::size_t i = 0; i < n; ++i)
      add_to_row(hn::LoadU(d, block.change + i * lanes), block.inputs[i] + c);
  }
  return loss;
}

/// Writes the sum of `count` rows, row k times weights[k * step], to `sum`.
HWY_INLINE void weighted_sum(const float* const* rows, const float* weights, std::size_t count,
                             std::size_t step, std::size_t stride, float* sum) {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  for_columns<4>(stride, [&]<std::size_t V>(std::size_t c) WORDLOOM_INLINED {
    hn::Vec<RowTag> sums[V];
    unrolled<V>([&](auto v) WORDLOOM_INLINED { sums[v] = hn::Zero(d); });
    for (std::size_t k = 0; k < count; ++k) {
      const auto weight = hn::Set(d, weights[k * step]);
      unrolled<V>([&](auto v) WORDLOOM_INLINED {
        sums[v] = hn::MulAdd(weight, load_row(d, rows[k] + c + v * lanes), sums[v]);
      });
    }
    unrolled<V>([&](auto v) WORDLOOM_INLINED { hn::Store(sums[v], d, sum + c + v * lanes); });
  });
}

/// Does DotKernel::gradients for a block of n x m.
template <bool with_loss>
HWY_ATTR LossSum dot_gradients(const DotBlock& block, RowMatrix* inputs, RowMatrix* outputs,
                               std::size_t stride) noexcept {
  const std::size_t n = block.n, m = block.m;
  float* const g = block.gradients;
  for (std::size_t j = 0; j < m; ++j)
    for (std::size_t i = 0; i < n; ++i)
      g[j * n + i] = dot(block.inputs[i], block.outputs[j], stride);
  const LossSum loss = block_gradients<with_loss>(g, block.pair_weights, n * m, 1.0f);
  if (inputs != nullptr)
    for (std::size_t i = 0; i < n; ++i)
      weighted_sum(block.outputs, g + i, m, n, stride, inputs->row_data(i));
  if (outputs != nullptr)
    for (std::size_t j = 0; j < m; ++j)
      weighted_sum(block.inputs, g + j * n, n, 1, stride, outputs->row_data(j));
  return loss;
}

inline DotFunctions dot_table() noexcept {
  return {{dot_update<false>, dot_update<true>}, {dot_gradients<false>, dot_gradients<true>}};
}

}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
