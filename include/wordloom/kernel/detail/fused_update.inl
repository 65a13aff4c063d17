HWY_BEFORE_NAMESPACE();
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE std::size_t first_place(const float* const* rows, std::size_t i) {
  return static_cast<std::size_t>(std::find(rows, rows + i, rows[i]) - rows);
}

/// Moves all gradients of a duplicate row to its first place: update_tile then leaves the right
/// sum. Not inlined, because duplicates are rare.
HWY_NOINLINE HWY_ATTR inline void fold_repeats(const FusedBlock& block) noexcept {
  const GradientLayout layout{block.n, block.m};
  const auto move = [&](std::size_t from, std::size_t to) {
    block.gradients[to] += block.gradients[from];
    block.gradients[from] = 0.0f;
  };
  for (std::size_t i = 1; i < layout.n; ++i)
    if (const std::size_t first = first_place(block.inputs, i); first != i)
      for (std::size_t j = 0; j < layout.m; ++j) move(layout.place(i, j), layout.place(first, j));
  for (std::size_t j = 1; j < layout.m; ++j)
    if (const std::size_t first = first_place(block.outputs, j); first != j)
      for (std::size_t i = 0; i < layout.n; ++i) move(layout.place(i, j), layout.place(i, first));
}

/// Finds the rows of `ids`. Returns whether some may be duplicates.
HWY_INLINE bool find_rows(float* matrix, std::size_t stride, std::span<const RowId> ids,
                          const detail::RowMap& map, float** rows, RepeatFilter& filter) {
  filter.begin();
  bool repeats = false;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    rows[i] = matrix + map(ids[i]) * stride;
    repeats |= filter.seen(ids[i]);
  }
  return repeats;
}

/// Does the first half of an update of rows of the model.
HWY_ATTR inline void fused_score(Model& model, const Block& block, FusedBlock& own,
                                 RepeatFilter& filter, const detail::RowMaps& maps) noexcept {
  const std::size_t stride = model.input.stride();
  const bool inputs_repeat =
      find_rows(model.input.data(), stride, block.inputs, maps.input, own.inputs, filter);
  const bool outputs_repeat =
      find_rows(model.output.data(), stride, block.outputs, maps.output, own.outputs, filter);
  own.may_repeat = inputs_repeat || outputs_repeat;
  fused_scores(own, stride);
}

/// Does the first half of an update of rows that were found before.
HWY_ATTR inline void fused_score_staged(const FusedBlock& own, std::size_t stride) noexcept {
  fused_scores(own, stride);
}

/// Does the second half of an update.
template <bool with_loss>
HWY_ATTR LossSum fused_apply(const Model& model, const FusedBlock& own) noexcept {
  VectorLoss loss;
  const GradientLayout layout{own.n, own.m};
  float* scores = own.gradients;
  const float* pair_weights = own.weights.of_four;
  std::size_t count = layout.count_of_four();
  for (int part = 0; part < 2; ++part) {  // one copy of the code for both
    make_gradients<with_loss>(scores, pair_weights, count, own.learning_rate, loss);
    scores = own.tail;
    pair_weights = own.weights.tail;
    count = layout.tail_count();
  }
  if (own.may_repeat) fold_repeats(own);
  add_gradients<false>(own, model.input.stride());
  return with_loss ? loss.loss(own.weights.padding) : LossSum();
}

inline FusedFunctions fused_table() noexcept {
  return {fused_score, fused_score_staged, {fused_apply<false>, fused_apply<true>}};
}

}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
