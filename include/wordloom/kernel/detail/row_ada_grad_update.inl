HWY_BEFORE_NAMESPACE();
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Scales the gradients of `each` inputs and m outputs, which are stored output by output, for both
/// sides. Writes whole vectors, past the end.
template <std::size_t each>
HWY_INLINE void scale_gradients(const float* gradients, std::size_t m, const float* of_inputs,
                                const float* of_outputs, float* for_inputs, float* for_outputs) {
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t k = 0; k < m * each; ++k) {
    for_outputs[k] = gradients[k] * of_outputs[k / each];
    for_inputs[k] = gradients[k] * of_inputs[k % each];
  }
#else
  const RowTag d;
  const hn::Rebind<std::int32_t, RowTag> i;
  const auto lane = hn::Iota(i, 0);
  const auto input = hn::IndicesFromVec(d, hn::And(lane, hn::Set(i, each - 1)));
  const auto output = hn::IndicesFromVec(d, hn::ShiftRight < each == 4 ? 2 : 1 > (lane));
  const auto scales = hn::TableLookupLanes(hn::LoadU(d, of_inputs), input);
  for (std::size_t j = 0; j < m; j += hn::Lanes(d) / each) {
    const auto g = hn::LoadU(d, gradients + j * each);
    const auto of_output = hn::TableLookupLanes(hn::LoadU(d, of_outputs + j), output);
    hn::StoreU(hn::Mul(g, scales), d, for_inputs + j * each);
    hn::StoreU(hn::Mul(g, of_output), d, for_outputs + j * each);
  }
#endif
}

/// Scales the gradients of a block. The next group overwrites what a group writes past its end.
HWY_INLINE void scale_gradients(const FusedBlock& block, const float* scales, float* to) {
  const float* const of_outputs = scales + block.n;
  const std::size_t group = 4 * block.m;
  const float* from = block.gradients;
  float* const tail = to + (block.tail - block.gradients);
  for (std::size_t i = 0; i < block.n_of_four; i += 4, from += group, to += group)
    scale_gradients<4>(from, block.m, scales + i, of_outputs, to, to + block.for_outputs);
  if (block.n_of_four < block.n)
    scale_gradients<2>(block.tail, block.m, scales + block.n_of_four, of_outputs, tail,
                       tail + block.for_outputs);
}

/// Does the second half of an update.
template <bool with_loss>
HWY_ATTR LossSum row_ada_grad_apply(const FusedBlock& block, const float* scales, float* gradients,
                                    std::size_t stride) noexcept {
  const GradientLayout layout{block.n, block.m};
  VectorLoss loss;
  float* scores = block.gradients;
  const float* pair_weights = block.weights.of_four;
  std::size_t count = layout.count_of_four();
  for (int part = 0; part < 2; ++part) {  // one copy of the code for both
    make_gradients<with_loss>(scores, pair_weights, count, block.learning_rate, loss);
    scores = block.tail;
    pair_weights = block.weights.tail;
    count = layout.tail_count();
  }
  if (block.may_repeat) fold_repeats(block);
  scale_gradients(block, scales, gradients);
  FusedBlock scaled = block;
  scaled.gradients = gradients;
  scaled.tail = gradients + (block.tail - block.gradients);
  add_gradients<true>(scaled, stride);
  return with_loss ? loss.loss(block.weights.padding) : LossSum();
}

/// Moves the gradients of duplicate outputs of a bag to their first places.
HWY_NOINLINE inline void fold_outputs(const BagBlock& block) noexcept {
  for (std::size_t k = 1; k < block.m; ++k)
    if (const std::size_t first = first_place(block.outputs, k); first != k)
      block.gradients[first] += std::exchange(block.gradients[k], 0.0f);
}

/// Adds the gradients of a bag's outputs, scaled, to V vectors, from column c on, of all rows.
template <std::size_t... v>
HWY_INLINE void adapt_bag(const BagBlock block, const float* scales, std::size_t c, Indices<v...>) {
  constexpr std::size_t V = sizeof...(v);
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t first_ahead = block.ahead.size() / 2;  // in two parts, as update_bag()
  prefetch_ahead<V>(block.ahead.first(first_ahead), c);
  hn::Vec<RowTag> mean[V], change[V], row[V];
  ((mean[v] = hn::Load(d, block.mean + c + v * lanes)), ...);
  ((change[v] = hn::Zero(d)), ...);
  for (std::size_t k = 0; k < block.m; ++k) {
    const auto g = hn::Set(d, block.gradients[k]), share = hn::Set(d, block.shares[k]);
    float* const at = block.outputs[k] + c;
    ((row[v] = load_row(d, at + v * lanes)), ...);
    ((change[v] = hn::MulAdd(share, row[v], change[v])), ...);
    (store_row(d, hn::MulAdd(g, mean[v], row[v]), at + v * lanes), ...);
  }
  prefetch_ahead<V>(block.ahead.subspan(first_ahead), c);
  for (std::size_t k = 0; k < block.size; ++k) {
    const auto scale = hn::Set(d, scales[k]);
    float* const at = block.members[k] + c;
    (store_row(d, hn::MulAdd(scale, change[v], load_row(d, at + v * lanes)), at + v * lanes), ...);
  }
}

/// Does the second half of an update of a bag.
template <bool with_loss>
HWY_ATTR LossSum row_ada_grad_apply_bag(const BagBlock& block, const float* scales,
                                        std::size_t stride) noexcept {
  VectorLoss loss;
  make_gradients<with_loss>(block.gradients, block.weights, block.m, block.learning_rate, loss);
  if (block.may_repeat) fold_outputs(block);
  for (std::size_t k = 0; k < block.m; ++k) {
    block.shares[k] =
        block.update == Block::Sides::outputs ? 0.0f : block.gradients[k] * block.share;
    block.gradients[k] *= block.update == Block::Sides::inputs ? 0.0f : scales[block.size + k];
  }
  for_columns<bag_vectors>(stride, [&]<std::size_t V>(std::size_t c) WORDLOOM_INLINED {
    adapt_bag(block, scales, c, UpTo<V>());
  });
  return with_loss ? loss.loss(0) : LossSum();
}

HWY_ATTR inline void copy_row(const float* row, float* to, std::size_t stride) noexcept {
  const RowTag d;
  for (std::size_t c = 0; c < stride; c += hn::Lanes(d)) hn::Store(load_row(d, row + c), d, to + c);
}

HWY_ATTR inline float squared_change(const float* row, const float* before,
                                     std::size_t stride) noexcept {
  const RowTag d;
  auto squares = hn::Zero(d);
  for (std::size_t c = 0; c < stride; c += hn::Lanes(d)) {
    const auto change = hn::Sub(load_row(d, row + c), hn::Load(d, before + c));
    squares = hn::MulAdd(change, change, squares);
  }
  return hn::GetLane(hn::SumOfLanes(d, squares));
}

inline RowAdaGradFunctions row_ada_grad_table() noexcept {
  return {{row_ada_grad_apply<false>, row_ada_grad_apply<true>},
          {row_ada_grad_apply_bag<false>, row_ada_grad_apply_bag<true>},
          copy_row,
          squared_change};
}

}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
