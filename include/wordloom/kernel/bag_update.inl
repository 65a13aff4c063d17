HWY_BEFORE_NAMESPACE();
namespace wordloom::inline WORDLOOM_ABI::simd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Scores of the outputs of a bag, from the rows as they are.
HWY_ATTR inline void bag_score(const BagBlock& block, std::size_t stride) noexcept {
  mean_of_rows(block.members, block.size, stride, block.mean);
  score_rows(block.outputs, block.m, block.mean, stride, block.gradients);
  if (block.own == 0) return;
  // mean without x = mean + (mean - x) / (n - 1)
  score_pairs(block.left_out, block.outputs, block.own, stride, block.shares);
  for (std::size_t j = 0; j < block.own; ++j)
    block.gradients[j] += (block.gradients[j] - block.shares[j]) * block.without_one;
}

/// Vectors of each row that an update holds: twice as many are in registers.
inline constexpr std::size_t bag_vectors = FusedTuning::many_registers ? 4 : 2;

/// Adds the gradients of a bag's outputs to V vectors, from column c on, of all rows. `repeats`:
/// outputs, or members left out, may have duplicates; all are then read before one is written.
/// `block` by value: for all that the compiler knows, a store to a row could change a reference's.
template <bool repeats, std::size_t... v>
HWY_INLINE void update_bag(const BagBlock block, std::size_t c, Indices<v...>) {
  constexpr std::size_t V = sizeof...(v);
  using Vectors = hn::Vec<RowTag>[V];
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  float* const outputs_before = block.copies;
  float* const left_out_before = block.copies + block.m * V * lanes;
  const auto read = [&](Vectors& x, const float* row)
                        WORDLOOM_INLINED { ((x[v] = load_row(d, row + v * lanes)), ...); };
  const auto write = [&](const Vectors& x, float* row)
                         WORDLOOM_INLINED { (store_row(d, x[v], row + v * lanes), ...); };
  const auto copy = [&](const float* const* rows, std::size_t count, float* to) WORDLOOM_INLINED {
    for (std::size_t k = 0; k < count; ++k)
      (hn::Store(load_row(d, rows[k] + c + v * lanes), d, to + (k * V + v) * lanes), ...);
  };
  const auto take_copy = [&](Vectors& x, const float* of, std::size_t k) WORDLOOM_INLINED {
    ((x[v] = hn::Load(d, of + (k * V + v) * lanes)), ...);
  };
  if constexpr (repeats) {
    copy(block.outputs, block.m, outputs_before);
    copy(block.left_out, block.own, left_out_before);
  }
  Vectors mean, change, row, before, x, x_before;
  ((mean[v] = hn::Load(d, block.mean + c + v * lanes)), ...);
  ((change[v] = hn::Zero(d)), ...);
  std::size_t prefetched = 0;
  const auto prefetch_next = [&]() WORDLOOM_INLINED {
    if (prefetched < block.ahead.size()) prefetch_ahead<V>(block.ahead.subspan(prefetched++, 1), c);
  };
  for (std::size_t k = block.own; k < block.m; ++k) {
    prefetch_next();
    const auto g = hn::Set(d, block.gradients[k]), share = hn::Set(d, block.shares[k]);
    float* const at = block.outputs[k] + c;
    read(row, at);
    ((before[v] = row[v]), ...);
    if constexpr (repeats) take_copy(before, outputs_before, k);
    ((change[v] = hn::MulAdd(share, before[v], change[v])), ...);
    ((row[v] = hn::MulAdd(g, mean[v], row[v])), ...);
    write(row, at);
  }
  for (std::size_t k = 0; k < block.own; ++k) {
    const auto g = hn::Set(d, block.gradients[k] * block.without_one);
    const auto of_mean = hn::Set(d, block.gradients[k] * (1.0f + block.without_one));
    const auto share = hn::Set(d, block.shares[k]);
    float* const at = block.outputs[k] + c;
    float* const own = block.left_out[k] + c;
    read(row, at);
    read(x, own);
    ((before[v] = row[v], x_before[v] = x[v]), ...);
    if constexpr (repeats) {
      take_copy(before, outputs_before, k);
      take_copy(x_before, left_out_before, k);
    }
    ((change[v] = hn::MulAdd(share, before[v], change[v])), ...);
    ((row[v] = hn::NegMulAdd(g, x_before[v], hn::MulAdd(of_mean, mean[v], row[v]))), ...);
    ((x[v] = hn::NegMulAdd(share, before[v], x[v])), ...);
    write(row, at);
    write(x, own);
  }
  for (std::size_t k = 0; k < block.size; ++k) {
    prefetch_next();
    float* const at = block.members[k] + c;
    (store_row(d, hn::Add(load_row(d, at + v * lanes), change[v]), at + v * lanes), ...);
  }
  prefetch_ahead<V>(block.ahead.subspan(prefetched), c);
}

/// Adds the gradients of a bag's outputs to all rows.
HWY_NOINLINE HWY_ATTR inline void update_bag(const BagBlock& block, std::size_t stride) noexcept {
  const auto update = [&]<bool repeats>() WORDLOOM_INLINED {
    for_columns<bag_vectors>(stride, [&]<std::size_t V>(std::size_t c) WORDLOOM_INLINED {
      update_bag<repeats>(block, c, UpTo<V>());
    });
  };
  if (block.may_repeat)
    update.template operator()<true>();
  else
    update.template operator()<false>();
}

/// The second half of an update of a bag.
template <bool with_loss>
HWY_ATTR LossSum bag_apply(const BagBlock& block, std::size_t stride) noexcept {
  VectorLoss loss;
  make_gradients<with_loss>(block.gradients, block.weights, block.m, block.learning_rate, loss);
  for (std::size_t k = 0; k < block.m; ++k)
    block.shares[k] = block.gradients[k] * (k < block.own ? block.share_without : block.share);
  if (block.update == Sides::inputs) std::fill_n(block.gradients, block.m, 0.0f);
  if (block.update == Sides::outputs) std::fill_n(block.shares, block.m, 0.0f);
  update_bag(block, stride);
  return with_loss ? loss.loss(0) : LossSum();
}

inline BagFunctions bag_table() noexcept {
  return {bag_score, {bag_apply<false>, bag_apply<true>}};
}

}  // namespace wordloom::inline WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
