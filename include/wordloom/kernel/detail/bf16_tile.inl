// Updates of Bf16Kernel: register tiles on packed rows.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {
namespace bf16 {

/// Moves all gradients of a duplicate row to its first place: the tiles then leave the right sum.
/// Not inlined, because duplicates are rare.
[[gnu::noinline]] inline void fold_repeats(const Bf16Block& block) noexcept {
  const Bf16Layout layout{block.n, block.m};
  const auto first_place = [](std::uint8_t* const* rows, std::size_t i) {
    return static_cast<std::size_t>(std::find(rows, rows + i, rows[i]) - rows);
  };
  const auto move = [&](std::size_t from, std::size_t to) {
    block.gradients[to] += block.gradients[from];
    block.gradients[from] = 0.0f;
  };
  for (std::size_t i = 1; i < block.n; ++i)
    if (const std::size_t first = first_place(block.inputs, i); first != i)
      for (std::size_t j = 0; j < block.m; ++j) move(layout.place(i, j), layout.place(first, j));
  for (std::size_t j = 1; j < block.m; ++j)
    if (const std::size_t first = first_place(block.outputs, j); first != j)
      for (std::size_t i = 0; i < block.n; ++i) move(layout.place(i, j), layout.place(i, first));
}

/// Rounds the gradients to pairs of bf16.
WORDLOOM_BF16_INLINE void pair_gradients(const Bf16Block& block) {
  const __m256i by_output = _mm256_setr_epi16(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
  const std::size_t count = Bf16Layout{block.n, block.m}.count();
  for (std::size_t k = 0; k < count; k += 16) {
    const auto half = (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(block.gradients + k));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(block.pairs_of_inputs + k / 2), half);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(block.pairs_of_outputs + k / 2),
                        _mm256_permutexvar_epi16(by_output, half));
  }
}

/// Seeds the noise of a block from its rows, its learning rate, and some of its gradients, so that
/// a resumed run has the bits of an uninterrupted one.
WORDLOOM_BF16_INLINE std::uint32_t seed_of(const Bf16Block& block) {
  const __m512i bits = _mm512_loadu_si512(block.gradients);
  const __m512i hash =
      _mm512_mullo_epi32(bits, _mm512_setr_epi32(0x2c1b3c6d, 0x297a2d39, 0x6c9e4f35, 0x1b873593,
                                                 0x52dce729, 0x38495ab5, 0x5851f42d, 0x27d4eb2d,
                                                 0x165667b1, 0x4cf5ad43, 0x2545f491, 0x369dea0f,
                                                 0x61c88647, 0x7feb352d, 0x4a7c15f3, 0x3c6ef373));
  return block.hash ^ static_cast<std::uint32_t>(_mm512_reduce_add_epi32(hash));
}

/// Updates J rows of one side that are held in registers, old values as interleaved pairs and new
/// ones as floats, and reads the rows of the other side two at a time, last to first: a row that
/// occurs twice gets the sum of its first place (the later ones have gradient 0). `holds_inputs`:
/// all inputs are held, at most 7, else outputs from j on, at most 6, in one tile or (`is_first`,
/// `is_last`) several.
template <std::size_t J, bool holds_inputs>
WORDLOOM_BF16_INLINE void update_tile(const Bf16Block& block, std::size_t byte, std::size_t j,
                                      bool is_first, bool is_last, __m512i random) {
  constexpr std::size_t P = (J + 1) / 2;
  const __m512i index = odd_words();
  const std::size_t padded_m = Bf16Layout{block.n, block.m}.padded_m();
  const std::size_t next_group =
      padded_m * 2;  // from the gradients of 4 inputs to those of the next
  std::uint8_t* const* const held = holds_inputs ? block.inputs : block.outputs + j;
  std::uint8_t* const* const passing = holds_inputs ? block.outputs : block.inputs;
  __m512i even[P], odd[P];
  Expanded after[J];
  unrolled<P>([&](auto p) WORDLOOM_BF16_INLINED {
    const __m512i y0 = load_packed(held[2 * p] + byte);
    __m512i y1 = _mm512_setzero_si512();
    after[2 * p] = Expanded(y0);
    if constexpr (2 * p + 1 < J) {
      y1 = load_packed(held[2 * p + 1] + byte);
      after[2 * p + 1] = Expanded(y1);
    }
    even[p] = even_and_odd(y0, to_odd(y1));
    odd[p] = zip_odd(y0, index, y1);
  });
  // `count` rows, 1 or 2, from i on, i even.
  const auto pass = [&]<std::size_t count>(std::size_t i) WORDLOOM_BF16_INLINED {
    const std::uint32_t* const of_passing =
        holds_inputs ? block.pairs_of_inputs + i * 2
                     : block.pairs_of_outputs + (i / 4 * padded_m + j) * 2 + i % 4;
    const std::uint32_t* const of_held =
        holds_inputs ? block.pairs_of_outputs + i * 2
                     : block.pairs_of_inputs + (i / 4 * padded_m + j) * 2 + i % 4 / 2;
    float* const change = block.change + i * 32;
    const __m512i x0 = load_packed(passing[i] + byte);
    const __m512i x1 =
        count == 2 ? load_packed(passing[i + count - 1] + byte) : _mm512_setzero_si512();
    Expanded sum[count];
    if (holds_inputs || is_first) {
      sum[0] = Expanded(x0);
      if constexpr (count == 2) sum[1] = Expanded(x1);
    } else {
      unrolled<count>([&](auto k) WORDLOOM_BF16_INLINED {
        sum[k].even = _mm512_load_ps(change + k * 32);
        sum[k].odd = _mm512_load_ps(change + k * 32 + 16);
      });
    }
    const __m512i x_even = even_and_odd(x0, to_odd(x1)), x_odd = zip_odd(x0, index, x1);
    unrolled<P>([&](auto p) WORDLOOM_BF16_INLINED {
      unrolled<count>([&](auto k) WORDLOOM_BF16_INLINED {
        const __m512i g =
            broadcast(of_passing + (holds_inputs ? p / 2 * next_group + p % 2 + k * 2 : p * 4 + k));
        sum[k].even = add_products(sum[k].even, even[p], g);
        sum[k].odd = add_products(sum[k].odd, odd[p], g);
      });
    });
    unrolled<J>([&](auto l) WORDLOOM_BF16_INLINED {
      const __m512i g = broadcast(of_held + (holds_inputs ? l / 4 * next_group + l % 4 : l * 2));
      after[l].even = add_products(after[l].even, x_even, g);
      after[l].odd = add_products(after[l].odd, x_odd, g);
    });
    if (holds_inputs || is_last) {
      if constexpr (count == 2) store_packed(passing[i + 1] + byte, sum[1].rounded(random, index));
      store_packed(passing[i] + byte, sum[0].rounded(random, index));
    } else {
      unrolled<count>([&](auto k) WORDLOOM_BF16_INLINED {
        _mm512_store_ps(change + k * 32, sum[k].even);
        _mm512_store_ps(change + k * 32 + 16, sum[k].odd);
      });
    }
  };
  const std::size_t rows = holds_inputs ? block.m : block.n;
  std::size_t i = rows / 2 * 2;
  if (i < rows) pass.template operator()<1>(i);
  while (i > 0) pass.template operator()<2>(i -= 2);
  unrolled<J>([&](auto l) WORDLOOM_BF16_INLINED {
    store_packed(held[J - 1 - l] + byte, after[J - 1 - l].rounded(random, index));
  });
}

/// Calls `columns(byte, random words)` for each 64 bytes of a row, and prefetches those bytes of
/// the rows that later blocks need.
template <class Columns>
WORDLOOM_BF16_INLINE void for_columns(const Bf16Block& block, Columns&& columns) {
  Noise noise(seed_of(block));
  const auto prefetch = [&]<bool for_writing>(std::size_t byte) WORDLOOM_BF16_INLINED {
    for (const std::uint8_t* row : block.ahead)
      detail::prefetch_line<for_writing>(reinterpret_cast<const float*>(row + byte));
  };
  for (std::size_t byte = 0; byte < block.bytes; byte += 64) {
    if (detail::prefetches_for_writing)
      prefetch.template operator()<true>(byte);
    else
      prefetch.template operator()<false>(byte);
    columns(byte, noise.next());
  }
}

/// Updates all inputs, J of them, in registers: each row is read, expanded and packed once.
template <std::size_t J>
[[gnu::noinline]] WORDLOOM_BF16 void update_holding_inputs(const Bf16Block& given) noexcept {
  const Bf16Block block = given;
  for_columns(block, [&](std::size_t byte, __m512i random) WORDLOOM_BF16_INLINED {
    update_tile<J, true>(block, byte, 0, true, true, random);
  });
}

[[gnu::noinline]] WORDLOOM_BF16 inline void update_holding_outputs(
    const Bf16Block& given) noexcept {
  const Bf16Block block = given;
  // Tiles of at most 3 pairs of outputs, of nearly equal size.
  const std::size_t pairs = (block.m + 1) / 2, tiles = (pairs + 2) / 3, shorter = pairs / tiles,
                    longer = pairs % tiles;
  for_columns(block, [&](std::size_t byte, __m512i random) WORDLOOM_BF16_INLINED {
    for (std::size_t t = 0, j = 0; t < tiles; ++t) {
      const std::size_t outputs = (std::min)(2 * (shorter + (t < longer ? 1 : 0)), block.m - j);
      with_count<6>(outputs, [&]<std::size_t J>() WORDLOOM_BF16_INLINED {
        update_tile<J, false>(block, byte, j, t == 0, t + 1 == tiles, random);
      });
      j += outputs;
    }
  });
}

/// Does the second half of an update, from its gradients.
WORDLOOM_BF16 inline void update(const Bf16Block& block) noexcept {
  if (block.may_repeat) fold_repeats(block);
  pair_gradients(block);
  // If all outputs fit into one tile, holding inputs gains nothing.
  if (block.n <= 7 && block.m > 6)
    with_count<7>(block.n,
                  [&]<std::size_t J>() WORDLOOM_BF16_INLINED { update_holding_inputs<J>(block); });
  else
    update_holding_outputs(block);
}

}}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE::bf16
#undef WORDLOOM_BF16
#undef WORDLOOM_BF16_INLINE
#undef WORDLOOM_BF16_INLINED
