HWY_BEFORE_NAMESPACE();
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Computes the scores of the outputs of a bag from the rows as they are.
HWY_ATTR inline void bag_score(const BagBlock& block, std::size_t stride) noexcept {
  mean_of_rows(block.members, block.size, stride, block.mean);
  score_rows(block.outputs, block.m, block.mean, stride, block.gradients);
  if (block.own == 0) return;
  // mean without x = mean + (mean - x) / (n - 1)
  score_pairs(block.left_out, block.outputs, block.own, stride, block.shares);
  for (std::size_t j = 0; j < block.own; ++j)
    block.gradients[j] += (block.gradients[j] - block.shares[j]) * block.without_one;
}

/// The number of vectors of each row that an update holds at a time, for all outputs and for
/// outputs with a member of their own.
inline constexpr std::size_t bag_vectors = 4, own_vectors = FusedTuning::many_registers ? 4 : 2;

/// Copies V vectors of `count` rows, from column c on.
template <std::size_t... v>
HWY_INLINE void copy_columns(const float* const* rows, std::size_t count, std::size_t c, float* to,
                             Indices<v...>) {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t k = 0; k < count; ++k, to += sizeof...(v) * lanes)
    (hn::Store(load_row(d, rows[k] + c + v * lanes), d, to + v * lanes), ...);
}

/// Updates the outputs that leave out a member of their own: adds their gradients to some vectors,
/// from column c on, of both rows, and the changes of the other members to `change`. `before`, used
/// if rows repeat: these columns of all outputs, then of the members left out, before any change,
/// in rows of `copied` floats.
template <bool repeats, std::size_t... v>
HWY_INLINE void update_own(const BagBlock& block, std::size_t c, hn::Vec<RowTag>* change,
                           const float* before, std::size_t copied, Indices<v...>) {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto old = [&](std::size_t k, std::size_t w)
                       WORDLOOM_INLINED { return hn::Load(d, before + k * copied + w * lanes); };
  hn::Vec<RowTag> mean[sizeof...(v)], row[sizeof...(v)], x[sizeof...(v)];
  ((mean[v] = hn::Load(d, block.mean + c + v * lanes)), ...);
  for (std::size_t k = 0; k < block.own; ++k) {
    const auto g = hn::Set(d, block.gradients[k] * block.without_one);
    const auto of_mean = hn::Set(d, block.gradients[k] * (1.0f + block.without_one));
    const auto share = hn::Set(d, block.shares[k]);
    float* const at = block.outputs[k] + c;
    float* const own = block.left_out[k] + c;
    ((row[v] = load_row(d, at + v * lanes), x[v] = load_row(d, own + v * lanes)), ...);
    if constexpr (repeats) {
      ((change[v] = hn::MulAdd(share, old(k, v), change[v])), ...);
      ((row[v] = hn::NegMulAdd(g, old(block.m + k, v), hn::MulAdd(of_mean, mean[v], row[v]))), ...);
      ((x[v] = hn::NegMulAdd(share, old(k, v), x[v])), ...);
      (store_row(d, row[v], at + v * lanes), ...);
      (store_row(d, x[v], own + v * lanes), ...);
    } else {
      ((change[v] = hn::MulAdd(share, row[v], change[v])), ...);
      (store_row(d, hn::NegMulAdd(g, x[v], hn::MulAdd(of_mean, mean[v], row[v])), at + v * lanes),
       ...);
      (store_row(d, hn::NegMulAdd(share, row[v], x[v]), own + v * lanes), ...);
    }
  }
}

/// Adds the gradients of a bag's outputs to V vectors, from column c on, of all rows. `repeats`:
/// outputs, or members left out, may have duplicates; all are then read before one is written.
/// `block` is passed by value, because a store to a row might otherwise change it, as far as the
/// compiler knows.
template <bool repeats, std::size_t... v>
HWY_INLINE void update_bag(const BagBlock block, std::size_t c, Indices<v...>) {
  constexpr std::size_t V = sizeof...(v);
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  if constexpr (repeats) {
    copy_columns(block.outputs, block.m, c, block.copies, Indices<v...>());
    copy_columns(block.left_out, block.own, c, block.copies + block.m * V * lanes, Indices<v...>());
  }
  // In two parts: more lines at once than a core can wait for would delay the updates as well.
  const std::size_t first_ahead = block.ahead.size() / 2;
  prefetch_ahead<V>(block.ahead.first(first_ahead), c);
  hn::Vec<RowTag> mean[V], change[V], row[V];
  ((mean[v] = hn::Load(d, block.mean + c + v * lanes)), ...);
  ((change[v] = hn::Zero(d)), ...);
  for (std::size_t k = block.own; k < block.m; ++k) {
    const auto g = hn::Set(d, block.gradients[k]), share = hn::Set(d, block.shares[k]);
    float* const at = block.outputs[k] + c;
    ((row[v] = load_row(d, at + v * lanes)), ...);
    if constexpr (repeats)
      ((change[v] = hn::MulAdd(share, hn::Load(d, block.copies + (k * V + v) * lanes), change[v])),
       ...);
    else
      ((change[v] = hn::MulAdd(share, row[v], change[v])), ...);
    (store_row(d, hn::MulAdd(g, mean[v], row[v]), at + v * lanes), ...);
  }
  prefetch_ahead<V>(block.ahead.subspan(first_ahead), c);
  constexpr std::size_t some = (std::min)(V, own_vectors);
  unrolled<V / some>([&](auto part) WORDLOOM_INLINED {
    constexpr std::size_t w = part * some;
    update_own<repeats>(block, c + w * lanes, change + w, block.copies + w * lanes, V * lanes,
                        UpTo<some>());
  });
  for (std::size_t k = 0; k < block.size; ++k) {
    float* const at = block.members[k] + c;
    (store_row(d, hn::Add(load_row(d, at + v * lanes), change[v]), at + v * lanes), ...);
  }
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
  if (block.update == Block::Sides::inputs) std::fill_n(block.gradients, block.m, 0.0f);
  if (block.update == Block::Sides::outputs) std::fill_n(block.shares, block.m, 0.0f);
  update_bag(block, stride);
  return with_loss ? loss.loss(0) : LossSum();
}

inline BagFunctions bag_table() noexcept {
  return {bag_score, {bag_apply<false>, bag_apply<true>}};
}

}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
