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

/// Finds the rows of a block.
HWY_ATTR inline void fused_find(Model& model, const Block& block, FusedBlock& own,
                                RepeatFilter& filter, const detail::RowMaps& maps) noexcept {
  const std::size_t stride = model.input.stride();
  const bool inputs_repeat =
      find_rows(model.input.data(), stride, block.inputs, maps.input, own.inputs, filter);
  const bool outputs_repeat =
      find_rows(model.output.data(), stride, block.outputs, maps.output, own.outputs, filter);
  own.may_repeat = (inputs_repeat && own.in_turn == 0) || outputs_repeat;
}

/// Does the first half of an update of rows of the model.
HWY_ATTR inline void fused_score(Model& model, const Block& block, FusedBlock& own,
                                 RepeatFilter& filter, const detail::RowMaps& maps) noexcept {
  fused_find(model, block, own, filter, maps);
  fused_scores(own, model.input.stride());
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

/// Adds the gradients of the first input and scores the next in one pass, with as many outputs as 5
/// negatives give. Returns false, and does nothing, for other blocks.
HWY_INLINE bool trains_and_scores([[maybe_unused]] const FusedBlock& block,
                                  [[maybe_unused]] bool has_next,
                                  [[maybe_unused]] std::size_t stride) {
#if HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
  constexpr std::size_t outputs = 6;
  if (block.m == outputs && has_next && !block.may_repeat && block.inputs[0] != block.inputs[1]) {
    float* rows[outputs];  // stores of vectors may not change them
    std::copy_n(block.outputs, outputs, rows);
    update_and_score<outputs>(block.inputs[0], block.inputs[1], rows, block.tail, block.ahead,
                              stride, block.tail);
    return true;
  }
#endif
  return false;
}

/// Scores and trains the inputs of a block one after the other. Rows ahead are shared out among
/// them: many prefetches at once wait for each other.
template <bool with_loss>
HWY_ATTR LossSum fused_train_in_turn(const Model& model, const FusedBlock& given) noexcept {
  const std::size_t stride = model.input.stride();
  FusedBlock own = given;
  VectorLoss loss;
  bool is_scored = false;
  for (std::size_t i = 0; i < given.in_turn; ++i, ++own.inputs) {
    const std::size_t first = given.ahead.size() * i / given.in_turn;
    const std::size_t end = given.ahead.size() * (i + 1) / given.in_turn;
    own.ahead = given.ahead.subspan(first, end - first);
    if (!is_scored) fused_scores(own, stride);
    make_gradients<with_loss>(own.tail, own.weights.tail, 2 * own.m, own.learning_rate, loss);
    is_scored = trains_and_scores(own, i + 1 < given.in_turn, stride);
    if (is_scored) continue;
    if (own.may_repeat) fold_repeats(own);
    add_gradients<false>(own, stride);
  }
  return with_loss ? loss.loss(own.weights.padding * given.in_turn) : LossSum();
}

inline FusedFunctions fused_table() noexcept {
  return {fused_score,
          fused_score_staged,
          {fused_apply<false>, fused_apply<true>},
          fused_find,
          {fused_train_in_turn<false>, fused_train_in_turn<true>}};
}

}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
