// Register tiles of FusedKernel. `RowTag` vectors; rows by pointer. Gradients are in groups of 4
// inputs, each group output by output: see GradientLayout.
HWY_BEFORE_NAMESPACE();
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Sizes of tiles that fit the registers (32 of AVX-512, SVE and NEON; 16 of AVX2 and SSE).
struct FusedTuning {
  static constexpr bool many_registers =
      HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM || HWY_ARCH_RVV || HWY_ARCH_PPC;
  /// Outputs of a score tile: 4 x 6 sums and 4 inputs of 32 registers, 4 x 3 or 2 x 6 of 16.
  static constexpr std::size_t score_outputs(std::size_t inputs) {
    return many_registers || inputs <= 2 ? 6 : 3;
  }
  /// The outputs of an update tile, and the vectors of each row that it holds: old and new value.
  static constexpr std::size_t update_outputs = 6;
  static constexpr std::size_t update_vectors = many_registers ? 2 : 1;
};

/// Prefetches V vectors, from column c on, of the rows that later blocks need, each cache line
/// once: if V vectors are part of a line, then of part of the rows. Called a few at a time between
/// multiply-adds, because all at once would wait for each other.
template <std::size_t V>
HWY_INLINE void prefetch_ahead(std::span<const float* const> rows, std::size_t c) {
  constexpr std::size_t line = 16, width = V * hn::MaxLanes(RowTag());
  constexpr std::size_t parts = width < line ? line / width : 1;
  // One test for all lines: a test for each line took 2 to 4 % of an update.
  const auto prefetch = [&]<bool for_writing>(std::bool_constant<for_writing>) WORDLOOM_INLINED {
    for (std::size_t i = c / width % parts; i < rows.size(); i += parts)
      for (std::size_t at = 0; at < width; at += line)
        detail::prefetch_line<for_writing>(rows[i] + c + at);
  };
  if (detail::prefetches_for_writing)
    prefetch(std::true_type());
  else
    prefetch(std::false_type());
}

#if HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR  // see fused_plain.inl

/// Keeps a loaded vector in a register: otherwise GCC reads it from memory for each of its uses,
/// and two loads a cycle are too few for two multiply-adds.
HWY_INLINE void hold([[maybe_unused]] hn::Vec<RowTag>& v) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3
  asm("" : "+v"(v.raw));
#endif
}

/// Returns sums of neighbouring lanes of a (even lanes of the result) and b (odd lanes). One
/// shuffle and two blends: machines have more units for them than for two shuffles (interleaving).
HWY_INLINE hn::Vec<RowTag> add_lanes(hn::Vec<RowTag> a, hn::Vec<RowTag> b) {
  return hn::Add(hn::OddEven(b, a), hn::Shuffle2301(hn::OddEven(a, b)));
}

/// Returns sums of neighbouring pairs of lanes of a and b, placed likewise.
HWY_INLINE hn::Vec<RowTag> add_pairs(hn::Vec<RowTag> a, hn::Vec<RowTag> b) {
  const RowTag d;
  const hn::Repartition<double, RowTag> wide;
  const auto x = hn::BitCast(wide, a), y = hn::BitCast(wide, b);
  return hn::Add(hn::BitCast(d, hn::OddEven(y, x)),
                 hn::BitCast(d, hn::Shuffle01(hn::OddEven(x, y))));
}

/// Returns the partial sums of (a, b, c, d) in each block of 4 lanes.
HWY_INLINE hn::Vec<RowTag> transposed_add(hn::Vec<RowTag> a, hn::Vec<RowTag> b, hn::Vec<RowTag> c,
                                          hn::Vec<RowTag> d) {
  return add_pairs(add_lanes(a, b), add_lanes(c, d));
}

/// Returns a vector whose block k is the sum of all blocks of v[k], for the first `used` blocks;
/// the others are unspecified.
template <std::size_t used>
HWY_INLINE hn::Vec<RowTag> sums_of_blocks(const hn::Vec<RowTag>* v) {
  const RowTag tag;
  constexpr std::size_t blocks = hn::MaxLanes(RowTag()) / 4;  // 1, 2 or 4
  const auto add_blocks = [](hn::Vec<RowTag> x, hn::Vec<RowTag> y) WORDLOOM_INLINED {
    return hn::Add(hn::OddEvenBlocks(y, x), hn::SwapAdjacentBlocks(hn::OddEvenBlocks(x, y)));
  };
  if constexpr (blocks == 1) {
    return v[0];
  } else if constexpr (blocks == 2) {
    return used == 1 ? hn::Add(v[0], hn::SwapAdjacentBlocks(v[0])) : add_blocks(v[0], v[1]);
  } else {
    const auto xy =
        used == 1 ? hn::Add(v[0], hn::SwapAdjacentBlocks(v[0])) : add_blocks(v[0], v[1]);
    if constexpr (used <= 2) {
      return hn::Add(xy, hn::ConcatLowerUpper(tag, xy, xy));
    } else {
      const auto zw =
          used == 3 ? hn::Add(v[2], hn::SwapAdjacentBlocks(v[2])) : add_blocks(v[2], v[3]);
      return hn::Add(hn::ConcatUpperLower(tag, zw, xy), hn::ConcatLowerUpper(tag, zw, xy));
    }
  }
}

/// The sizes of a score tile.
template <std::size_t I, std::size_t J>
struct ScoreTile {
  static constexpr std::size_t per_output = I <= 2 ? 2 : 4;
  /// Blocks of 4 sums, as many as a vector has blocks, are one vector of scores.
  static constexpr std::size_t quads = (J * per_output + 3) / 4;
  static constexpr std::size_t per_vector = hn::MaxLanes(RowTag()) / 4;
  static constexpr std::size_t vectors = (quads + per_vector - 1) / per_vector;
  static constexpr std::size_t place(std::size_t ij) { return ij / I * per_output + ij % I; }
  static constexpr std::size_t used(std::size_t vector) {
    return (std::min)(quads - vector * per_vector, per_vector);
  }
};

/// The tile below as folds over inputs i, pairs ij, sums s, blocks q of 4 sums, and vectors v.
template <std::size_t I, std::size_t J, std::size_t... i, std::size_t... ij, std::size_t... s,
          std::size_t... q, std::size_t... v>
HWY_INLINE void score_tile(const float* const* inputs, const float* const* outputs,
                           std::size_t stride, float* scores, Indices<i...>, Indices<ij...>,
                           Indices<s...>, Indices<q...>, Indices<v...>) {
  using Tile = ScoreTile<I, J>;
  const RowTag d;
  hn::Vec<RowTag> sums[sizeof...(s)], parts[Tile::vectors * Tile::per_vector];
  ((sums[s] = hn::Zero(d)), ...);
  for (std::size_t c = 0; c < stride; c += hn::Lanes(d)) {
    hn::Vec<RowTag> x[I], y;
    ((x[i] = load_row(d, inputs[i] + c)), ...);
    ((ij % I == 0 ? hold(y = load_row(d, outputs[ij / I] + c)) : void(),
      sums[Tile::place(ij)] = hn::MulAdd(x[ij % I], y, sums[Tile::place(ij)])),
     ...);
  }
  ((parts[q] = transposed_add(sums[4 * q], sums[4 * q + 1], sums[4 * q + 2], sums[4 * q + 3])),
   ...);
  (hn::StoreU(sums_of_blocks<Tile::used(v)>(parts + v * Tile::per_vector), d,
              scores + v * Tile::per_vector * 4),
   ...);
}

/// Computes the scores of I inputs (at most 4) with J outputs, stored from `scores` on, 4 for each
/// output, or 2 when I is 1 or 2; scores beyond I are zero. Stores whole vectors; values beyond the
/// tile are unspecified.
template <std::size_t I, std::size_t J>
HWY_INLINE void score_tile(const float* const* inputs, const float* const* outputs,
                           std::size_t stride, float* scores) {
  using Tile = ScoreTile<I, J>;
  score_tile<I, J>(inputs, outputs, stride, scores, UpTo<I>(), UpTo<I * J>(),
                   UpTo<4 * Tile::quads>(), UpTo<Tile::quads>(), UpTo<Tile::vectors>());
}

/// Updates one input of an update tile, whose gradients are `per_output` floats apart, as folds
/// over the vectors v of a row and kv of all outputs. `scaled`: the outputs have gradients of their
/// own, `for_outputs` floats after those of the input.
template <std::size_t per_output, bool scaled, class IsFirst, class IsLast, std::size_t... v,
          std::size_t... kv>
HWY_INLINE void update_input(float* row, float* change, const float* gradients,
                             [[maybe_unused]] std::size_t for_outputs, IsFirst is_first,
                             IsLast is_last, const hn::Vec<RowTag>* before, hn::Vec<RowTag>* after,
                             Indices<v...>, Indices<kv...>) {
  constexpr std::size_t V = sizeof...(v);
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr bool is_only =
      std::is_same_v<IsFirst, std::true_type> && std::is_same_v<IsLast, std::true_type>;
  hn::Vec<RowTag> x[V], sum[V], g, h;
  ((x[v] = load_row(d, row + v * lanes)), ...);
  if constexpr (is_only)
    ((sum[v] = x[v]), ...);
  else if (is_first)
    ((sum[v] = hn::Zero(d)), ...);
  else
    ((sum[v] = hn::Load(d, change + v * lanes)), ...);
  if constexpr (scaled)
    ((kv % V == 0 ? void((g = hn::Set(d, gradients[kv / V * per_output]),
                          h = hn::Set(d, gradients[kv / V * per_output + for_outputs])))
                  : void(),
      sum[kv % V] = hn::MulAdd(g, before[kv], sum[kv % V]),
      after[kv] = hn::MulAdd(h, x[kv % V], after[kv])),
     ...);
  else
    ((kv % V == 0 ? void(g = hn::Set(d, gradients[kv / V * per_output])) : void(),
      sum[kv % V] = hn::MulAdd(g, before[kv], sum[kv % V]),
      after[kv] = hn::MulAdd(g, x[kv % V], after[kv])),
     ...);
  if constexpr (is_only)
    (store_row(d, sum[v], row + v * lanes), ...);
  else if (is_last)
    (store_row(d, hn::Add(x[v], sum[v]), row + v * lanes), ...);
  else
    (hn::Store(sum[v], d, change + v * lanes), ...);
}

/// Implements the tile below, as folds over the vectors kv of all outputs.
template <std::size_t V, bool scaled, class IsFirst, class IsLast, std::size_t... kv>
HWY_INLINE void update_tile(const FusedBlock& block, float* const* outputs, std::size_t c,
                            std::size_t j, IsFirst is_first, IsLast is_last, Indices<kv...> all) {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t last = sizeof...(kv) - 1;
  hn::Vec<RowTag> before[last + 1], after[last + 1];
  ((after[kv] = before[kv] = load_row(d, outputs[kv / V] + c + kv % V * lanes)), ...);
  // One copy of the code for all groups of 4 (or 3), and one for the tail.
  const float* group = block.gradients + j * 4;
  std::size_t i = 0;
  for (; i < block.n_of_four; group += block.m * 4) {
    const std::size_t end = (std::min)(i + 4, block.n_of_four);
    for (const float* own = group; i < end; ++i, ++own)
      update_input<4, scaled>(block.inputs[i] + c, block.change + i * V * lanes, own,
                              block.for_outputs, is_first, is_last, before, after, UpTo<V>(), all);
  }
  for (const float* own = block.tail + j * 2; i < block.n; ++i, ++own)
    update_input<2, scaled>(block.inputs[i] + c, block.change + i * V * lanes, own,
                            block.for_outputs, is_first, is_last, before, after, UpTo<V>(), all);
  (store_row(d, after[last - kv], outputs[(last - kv) / V] + c + (last - kv) % V * lanes), ...);
}

/// Adds to V vectors of J rows `outputs`, from column c on, and computes their changes to the
/// inputs: at once, or over several tiles of outputs by way of `block.change` [N x V vectors]; `j`
/// is the place of the first output in the block. Whether the tile is the block's first, its last,
/// or both, is a bool, or a std::bool_constant for separate code, which must be compiled too.
/// Inputs are read before their own change is added, outputs stored last to first: a duplicate row
/// is right if its later places have gradient 0 (fold_repeats).
template <std::size_t J, std::size_t V, bool scaled, class IsFirst, class IsLast>
HWY_INLINE void update_tile(const FusedBlock& block, float* const* outputs, std::size_t c,
                            std::size_t j, IsFirst is_first, IsLast is_last) {
  update_tile<V, scaled>(block, outputs, c, j, is_first, is_last, UpTo<J * V>());
}

/// Calls `use.template operator()<count>()` for a run-time `count` in [Least, Most].
template <std::size_t Most, std::size_t Least = 1, class Use>
HWY_INLINE void with_count(std::size_t count, Use&& use) {
  [&]<std::size_t... More>(Indices<More...>) WORDLOOM_INLINED {
    static_cast<void>(
        ((count == Least + More ? (use.template operator()<Least + More>(), true) : false) || ...));
  }
  (UpTo<Most - Least + 1>());
}

/// Scores all pairs. Not inlined: a copy for each caller would double the time of compilation.
HWY_NOINLINE HWY_ATTR inline void fused_scores(const FusedBlock& block,
                                               std::size_t stride) noexcept {
  const auto tiles = [&]<std::size_t I>(std::size_t i, float* scores) WORDLOOM_INLINED {
    constexpr std::size_t width = FusedTuning::score_outputs(I);
    // In ascending order, so that the next tile overwrites what a tile stores past its end.
    for (std::size_t j = 0; j < block.m; j += width)
      with_count<width>((std::min)(width, block.m - j), [&]<std::size_t J>() WORDLOOM_INLINED {
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

/// Adds the gradients of an input with J outputs, in the order of a block's tail, to its rows, and
/// scores the input `next`, another row, with the outputs as they then are: one pass over the
/// outputs for both.
template <std::size_t J>
HWY_INLINE void update_and_score(float* row, const float* next, float* const* outputs,
                                 const float* gradients, std::span<const float* const> ahead,
                                 std::size_t stride, float* scores) {
  using Tile = ScoreTile<1, J>;
  const RowTag d;
  hn::Vec<RowTag> sums[4 * Tile::quads], parts[Tile::vectors * Tile::per_vector];
  unrolled<4 * Tile::quads>([&](auto s) WORDLOOM_INLINED { sums[s] = hn::Zero(d); });
  for (std::size_t c = 0; c < stride; c += hn::Lanes(d)) {
    prefetch_ahead<1>(ahead, c);
    const auto x = load_row(d, row + c), y = load_row(d, next + c);
    auto sum = x;
    unrolled<J>([&](auto j) WORDLOOM_INLINED {
      const auto gradient = hn::Set(d, gradients[j * Tile::per_output]);
      const auto before = load_row(d, outputs[j] + c);
      const auto after = hn::MulAdd(gradient, x, before);
      sum = hn::MulAdd(gradient, before, sum);
      sums[Tile::place(j)] = hn::MulAdd(y, after, sums[Tile::place(j)]);
      store_row(d, after, outputs[j] + c);
    });
    store_row(d, sum, row + c);
  }
  unrolled<Tile::quads>([&](auto q) WORDLOOM_INLINED {
    parts[q] = transposed_add(sums[4 * q], sums[4 * q + 1], sums[4 * q + 2], sums[4 * q + 3]);
  });
  unrolled<Tile::vectors>([&](auto v) WORDLOOM_INLINED {
    hn::StoreU(sums_of_blocks<Tile::used(v)>(parts + v * Tile::per_vector), d,
               scores + v * Tile::per_vector * 4);
  });
}

/// Adds the gradients of a block of J outputs, one tile, to its rows. Not inlined, which takes less
/// memory to compile. Copies the block and its pointers: compilers assume that stores of vectors
/// may change them, and would read them again for each column.
template <std::size_t J, bool scaled>
HWY_NOINLINE HWY_ATTR void add_tile(const FusedBlock& given, std::size_t stride) noexcept {
  constexpr std::size_t vectors = FusedTuning::update_vectors;
  const FusedBlock block = given;
  float* outputs[J];
  std::copy_n(block.outputs, J, outputs);
  for_columns<vectors>(stride, [&]<std::size_t V>(std::size_t c) WORDLOOM_INLINED {
    prefetch_ahead<V>(block.ahead, c);
    update_tile<J, V, scaled>(block, outputs, c, 0, std::true_type(), std::true_type());
  });
}

/// Adds the gradients of a block to its rows. `scaled`: the gradients for the outputs differ from
/// those for the inputs, see FusedBlock::for_outputs.
template <bool scaled>
HWY_NOINLINE HWY_ATTR void add_gradients(const FusedBlock& given, std::size_t stride) noexcept {
  constexpr std::size_t width = FusedTuning::update_outputs;
  constexpr std::size_t vectors = FusedTuning::update_vectors;
  const std::size_t m = given.m;
  if (m <= width)
    return with_count<width>(
        m, [&]<std::size_t J>() WORDLOOM_INLINED { add_tile<J, scaled>(given, stride); });
  const FusedBlock block = given;  // as add_tile
  // Tiles that differ by at most one output: a small last one would cost nearly a whole one.
  const std::size_t tiles = (m + width - 1) / width, least = m / tiles, longer = m % tiles;
  for_columns<vectors>(stride, [&]<std::size_t V>(std::size_t c) WORDLOOM_INLINED {
    prefetch_ahead<V>(block.ahead, c);
    std::size_t t = 0, j = 0;
    const auto add = [&](auto is_first, auto is_last) WORDLOOM_INLINED {
      const std::size_t outputs = least + (t++ < longer);
      with_count<width, (width + 1) / 2>(outputs, [&]<std::size_t J>() WORDLOOM_INLINED {
        update_tile<J, V, scaled>(block, block.outputs + j, c, j, is_first, is_last);
        j += J;
      });
    };
    // With few registers, tests of the place would cost 4 %, with many nothing.
    if constexpr (FusedTuning::many_registers) {
      while (t < tiles) add(t == 0, t + 1 == tiles);
    } else {
      add(std::true_type(), std::false_type());
      while (t + 1 < tiles) add(std::false_type(), std::false_type());
      add(std::false_type(), std::true_type());
    }
  });
}

#endif

}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
