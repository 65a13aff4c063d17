HWY_BEFORE_NAMESPACE();
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The vectors of each row that an update of one side holds: those of four rows fit the registers.
inline constexpr std::size_t one_side_vectors = FusedTuning::many_registers ? 4 : 2;

/// Prefetches V vectors of rows that later blocks only read: a line that several threads read stays
/// in the caches of all, whereas prefetch_ahead would take it from the others.
template <std::size_t V>
HWY_INLINE void prefetch_standing(std::span<const float* const> rows, std::size_t c) {
  const std::size_t lanes = hn::Lanes(RowTag());
  for (const float* const row : rows)
    unrolled<V>([&](auto v) WORDLOOM_INLINED { __builtin_prefetch(row + c + v * lanes, 0, 2); });
}

/// Adds their changes to V vectors of I updated rows, from the i-th and from column c on:
/// `gradients` of these rows, `each` for a fixed row. If the changes go elsewhere they are added to
/// zero. The rows of the next block mostly follow those of this one in memory. They are prefetched
/// for writing, because other threads have read them in the step before.
template <std::size_t I, std::size_t V>
HWY_INLINE void move_rows(const OneSideBlock& own, std::size_t i, const float* gradients,
                          std::size_t each, std::size_t c, std::size_t stride) {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  const FusedBlock& block = own.block;
  unrolled<I>([&](auto k) WORDLOOM_INLINED {
    const float* const next = block.inputs[i + k] + block.n * stride + c;
    for (std::size_t at = 0; at < V * lanes; at += 16) detail::prefetch_line(next + at);
  });
  hn::Vec<RowTag> sum[I][V];
  unrolled<I>([&](auto k) WORDLOOM_INLINED {
    const float* const from = own.adds ? block.inputs[i + k] + c : own.zeros;
    unrolled<V>([&](auto v) WORDLOOM_INLINED { sum[k][v] = load_row(d, from + v * lanes); });
  });
  for (std::size_t j = 0; j < block.m; ++j, gradients += each) {
    hn::Vec<RowTag> y[V];
    unrolled<V>([&](auto v)
                    WORDLOOM_INLINED { y[v] = load_row(d, block.outputs[j] + c + v * lanes); });
    unrolled<I>([&](auto k) WORDLOOM_INLINED {
      const auto g = hn::Set(d, gradients[k]);
      unrolled<V>([&](auto v) WORDLOOM_INLINED { sum[k][v] = hn::MulAdd(g, y[v], sum[k][v]); });
    });
  }
  unrolled<I>([&](auto k) WORDLOOM_INLINED {
    if (own.has_pairs) {
      const auto g = hn::Set(d, own.of_pairs[i + k]);
      unrolled<V>([&](auto v) WORDLOOM_INLINED {
        sum[k][v] = hn::MulAdd(g, load_row(d, own.partners[i + k] + c + v * lanes), sum[k][v]);
      });
    }
    float* const to = own.targets[i + k] + c;
    unrolled<V>([&](auto v) WORDLOOM_INLINED { store_row(d, sum[k][v], to + v * lanes); });
  });
}

/// Adds the gradients of a block to the rows that it updates.
HWY_NOINLINE HWY_ATTR inline void move_all(const OneSideBlock& own, std::size_t stride) noexcept {
  const FusedBlock& block = own.block;
  // Distributes the rows that later blocks need over the groups.
  const std::size_t ahead = block.ahead.size() / (block.n / 4 + 1) + 1;
  for_columns<one_side_vectors>(stride, [&]<std::size_t V>(std::size_t c) WORDLOOM_INLINED {
    std::size_t i = 0, prefetched = 0;
    const float* group = block.gradients;
    for (; i + 4 <= block.n_of_four; i += 4, group += block.m * 4) {
      const std::size_t now = (std::min)(ahead, block.ahead.size() - prefetched);
      prefetch_standing<V>(block.ahead.subspan(prefetched, now), c);
      prefetched += now;
      move_rows<4, V>(own, i, group, 4, c, stride);
    }
    prefetch_standing<V>(block.ahead.subspan(prefetched), c);
    // The last 1 to 3 rows, one by one.
    const bool of_four = block.n_of_four == block.n;
    const float* last = of_four ? group : block.tail;
    for (; i < block.n; ++i) move_rows<1, V>(own, i, last++, of_four ? 4 : 2, c, stride);
  });
}

/// Does the second half of an update of one side.
template <bool with_loss>
HWY_ATTR LossSum one_side_apply(const OneSideBlock& own, std::size_t stride) noexcept {
  const FusedBlock& block = own.block;
  const GradientLayout layout{block.n, block.m};
  VectorLoss loss;
  float* scores[] = {block.gradients, block.tail, own.of_pairs};
  const float* const weights[] = {block.weights.of_four, block.weights.tail, own.pair_weights};
  const std::size_t counts[] = {layout.count_of_four(), layout.tail_count(),
                                own.has_pairs ? block.n : 0};
  for (int part = 0; part < 3; ++part)  // one copy of the code for all
    make_gradients<with_loss>(scores[part], weights[part], counts[part], block.learning_rate, loss);
  move_all(own, stride);
  return with_loss ? loss.loss(0) : LossSum();
}

/// Does the first half: computes scores from the rows as they are.
HWY_ATTR inline void one_side_score(const OneSideBlock& own, std::size_t stride) noexcept {
  if (own.block.m > 0) fused_scores(own.block, stride);
  if (own.has_pairs) score_pairs(own.block.inputs, own.partners, own.block.n, stride, own.of_pairs);
}

inline OneSideFunctions one_side_table() noexcept {
  return {one_side_score, {one_side_apply<false>, one_side_apply<true>}};
}

}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
