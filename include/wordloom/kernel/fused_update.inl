HWY_BEFORE_NAMESPACE();
namespace wordloom::inline WORDLOOM_ABI::simd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Scores of all pairs.
HWY_INLINE void fused_scores(const FusedBlock& block, std::size_t stride) {
  constexpr std::size_t width = FusedTuning::score_outputs;
  const auto tiles = [&]<std::size_t I>(std::size_t i, float* scores) WORDLOOM_INLINED {
    // Places go up, so that what a tile stores past its end the next replaces.
    for (std::size_t j = 0; j < block.m; j += width)
      with_count<width>(std::min(width, block.m - j), [&]<std::size_t J>() WORDLOOM_INLINED {
        score_tile<I, J>(block.inputs + i, block.outputs + j, stride,
                         scores + j * (I <= 2 ? 2 : 4));
      });
  };
  float* scores = block.gradients;
  std::size_t i = 0;
  for (; i + 4 <= block.n_of_four; i += 4, scores += block.m * 4)
    tiles.template operator()<4>(i, scores);
  if (i < block.n_of_four) return tiles.template operator()<3>(i, scores);
  if (i + 2 == block.n) return tiles.template operator()<2>(i, block.tail);
  if (i + 1 == block.n) return tiles.template operator()<1>(i, block.tail);
}

HWY_INLINE std::size_t first_place(const float* const* rows, std::size_t i) {
  return static_cast<std::size_t>(std::find(rows, rows + i, rows[i]) - rows);
}

/// Moves all gradients of a duplicate row to its first place: update_tile then leaves the right
/// sum. Not inlined: duplicates are rare.
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

/// Prefetches V vectors, from column c on, of the rows that later blocks need. A few at a time
/// between multiply-adds: all at once they would wait for each other.
template <std::size_t V>
HWY_INLINE void prefetch_ahead(std::span<const float* const> rows, std::size_t c) {
  const std::size_t lanes = hn::Lanes(RowTag());
  for (const float* const row : rows)
    unrolled<V>([&](auto v) WORDLOOM_INLINED { detail::prefetch_line(row + c + v * lanes); });
}

/// Adds the gradients of a block to its rows.
HWY_INLINE void add_gradients(const FusedBlock& block, std::size_t stride) {
  constexpr std::size_t width = FusedTuning::update_outputs;
  const std::size_t m = block.m;
  const auto tile =
      [&]<std::size_t J, std::size_t V, InputChange mode>(std::size_t c, std::size_t j)
          WORDLOOM_INLINED { update_tile<J, V, mode>(block, c, j); };
  constexpr std::size_t vectors = FusedTuning::update_vectors;
  if (m <= width)
    return with_count<width>(m, [&]<std::size_t J>() WORDLOOM_INLINED {
      for_columns<vectors>(stride, [&]<std::size_t V>(std::size_t c) WORDLOOM_INLINED {
        prefetch_ahead<V>(block.ahead, c);
        tile.template operator()<J, V, InputChange::whole>(c, 0);
      });
    });
  // Tiles of about the same number of outputs: a small last one would cost nearly a whole one.
  const std::size_t tiles = (m + width - 1) / width;
  const std::size_t each = (m + tiles - 1) / tiles;
  with_count<width, (width + 2) / 2>(each, [&]<std::size_t J>() WORDLOOM_INLINED {
    for_columns<vectors>(stride, [&]<std::size_t V>(std::size_t c) WORDLOOM_INLINED {
      prefetch_ahead<V>(block.ahead, c);
      tile.template operator()<J, V, InputChange::first>(c, 0);
      std::size_t j = J;
      for (; j + J < m; j += J) tile.template operator()<J, V, InputChange::middle>(c, j);
      with_count<J>(m - j, [&]<std::size_t L>() WORDLOOM_INLINED {
        tile.template operator()<L, V, InputChange::last>(c, j);
      });
    });
  });
}

/// Finds the rows of `ids`. Returns whether some may be duplicates.
HWY_INLINE bool find_rows(float* matrix, std::size_t stride, std::span<const WordId> ids,
                          float** rows, RepeatFilter& filter) {
  filter.begin();
  bool repeats = false;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    rows[i] = matrix + ids[i] * stride;
    repeats |= filter.seen(ids[i]);
  }
  return repeats;
}

/// The first half of an update of rows of the model.
HWY_ATTR inline void fused_score(Model& model, const Block& block, FusedBlock& own,
                                 RepeatFilter& filter) noexcept {
  const std::size_t stride = model.input.stride();
  const bool inputs_repeat =
      find_rows(model.input.data(), stride, block.inputs, own.inputs, filter);
  const bool outputs_repeat =
      find_rows(model.output.data(), stride, block.outputs, own.outputs, filter);
  own.may_repeat = inputs_repeat || outputs_repeat;
  fused_scores(own, stride);
}

/// The same of rows that were found before.
HWY_ATTR inline void fused_score_staged(const FusedBlock& own, std::size_t stride) noexcept {
  fused_scores(own, stride);
}

/// The second half of an update.
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
  add_gradients(own, model.input.stride());
  return with_loss ? loss.loss(own.weights.padding) : LossSum();
}

}  // namespace wordloom::inline WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
