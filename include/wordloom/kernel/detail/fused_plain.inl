// The arithmetic of FusedKernel for targets without vector instructions, on which tiles would gain
// nothing and take longest to compile. The order of all sums is that of the tiles.
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE float read(const float* at) {
  return hn::GetLane(load_row(hn::CappedTag<float, 1>(), at));
}
HWY_INLINE void write(float value, float* at) {
  const hn::CappedTag<float, 1> d;
  store_row(d, hn::Set(d, value), at);
}

HWY_INLINE float score_of(const float* a, const float* b, std::size_t stride) {
  float sums[4] = {};
  for (std::size_t c = 0; c < stride; c += 4)
    for (std::size_t d = 0; d < 4; ++d) sums[d] = read(a + c + d) * read(b + c + d) + sums[d];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

HWY_INLINE void score_rows(const float* const* rows, std::size_t count, const float* with,
                           std::size_t stride, float* scores) {
  for (std::size_t k = 0; k < count; ++k) scores[k] = score_of(rows[k], with, stride);
}

HWY_INLINE void score_pairs(const float* const* a, const float* const* b, std::size_t count,
                            std::size_t stride, float* scores) {
  for (std::size_t k = 0; k < count; ++k) scores[k] = score_of(a[k], b[k], stride);
}

HWY_NOINLINE inline void fused_scores(const FusedBlock& block, std::size_t stride) noexcept {
  const GradientLayout layout{block.n, block.m};
  std::fill_n(block.gradients, layout.tail() + layout.tail_count(), 0.0f);
  for (std::size_t i = 0; i < block.n; ++i)
    for (std::size_t j = 0; j < block.m; ++j)
      block.gradients[layout.place(i, j)] = score_of(block.inputs[i], block.outputs[j], stride);
}

/// Adds the gradients of a block to its rows. The inputs are stored last to first: a duplicate row
/// is right if the gradients of its later places are zero (fold_repeats).
template <bool scaled>
HWY_NOINLINE void add_gradients(const FusedBlock& block, std::size_t stride) noexcept {
  const GradientLayout layout{block.n, block.m};
  const auto gradient = [&](std::size_t i, std::size_t j) {
    return block.gradients[layout.place(i, j)];
  };
  const auto for_output = [&](std::size_t i, std::size_t j) {
    return (block.gradients + (scaled ? block.for_outputs : 0))[layout.place(i, j)];
  };
  const bool whole = block.m <= FusedTuning::update_outputs;
  constexpr std::size_t width = 16;
  for (std::size_t c = 0; c < stride; c += width) {
    for (std::size_t i = 0; i < block.n; ++i) {
      float* const change = block.change + i * width;
      for (std::size_t d = 0; d < width; ++d) change[d] = whole ? read(block.inputs[i] + c + d) : 0;
      for (std::size_t j = 0; j < block.m; ++j)
        for (std::size_t d = 0; d < width; ++d)
          change[d] = gradient(i, j) * read(block.outputs[j] + c + d) + change[d];
    }
    for (std::size_t j = 0; j < block.m; ++j)
      for (std::size_t d = 0; d < width; ++d) {
        float* const at = block.outputs[j] + c + d;
        float after = read(at);
        for (std::size_t i = 0; i < block.n; ++i)
          after = for_output(i, j) * read(block.inputs[i] + c + d) + after;
        write(after, at);
      }
    for (std::size_t i = block.n; i-- > 0;)
      for (std::size_t d = 0; d < width; ++d) {
        float* const at = block.inputs[i] + c + d;
        const float change = block.change[i * width + d];
        write(whole ? change : read(at) + change, at);
      }
  }
}

}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
