#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <wordloom/concepts.hpp>
#include <wordloom/core/block.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/loss.hpp>
#include <wordloom/core/model.hpp>
#include <wordloom/core/simd.hpp>
#include <wordloom/kernel/fused_tile.hpp>
#include <wordloom/kernel/gradient.hpp>

namespace wordloom {

/// Scores, sigmoid and both rank updates of a block on the rows where they lie, in register tiles:
/// nothing is gathered or packed, each row is read twice and written once. The default kernel.
/// `Dimension`: of all models it will see, so that loops have constant bounds; 0 = any.
template <std::size_t Dimension = 0>
class FusedKernel {
 public:
  using Consumes = Block;

  /// Throws InvalidArgument when `parameters.dimension` is not Dimension.
  FusedKernel(const Hyperparameters& parameters, BlockShape most)
      : inputs_(most.inputs),
        outputs_(most.outputs),
        // A tile may store up to a vector past its group.
        gradients_(1, (most.inputs + 3) / 4 * simd::group_size(most.outputs) +
                          simd::hn::MaxLanes(simd::RowTag())),
        change_(most.inputs, Tuning::update_vectors * 16) {
    if (Dimension != 0 && parameters.dimension != Dimension)
      throw InvalidArgument("dimension is " + std::to_string(parameters.dimension) +
                            ", this FusedKernel is for " + std::to_string(Dimension));
  }

  template <bool with_loss>
  LossSum update(Model& model, const Block& block, float learning_rate) noexcept {
    const std::size_t n = block.inputs.size();
    const std::size_t m = block.outputs.size();
    if (n == 0 || m == 0) return {};
    const std::size_t stride = Dimension != 0 ? (Dimension + 15) / 16 * 16 : model.input.stride();
    for (std::size_t i = 0; i < n; ++i) inputs_[i] = model.input.row_data(block.inputs[i]);
    for (std::size_t j = 0; j < m; ++j) outputs_[j] = model.output.row_data(block.outputs[j]);

    score(n, m, stride);
    const LossSum loss = make_gradients<with_loss>(block, learning_rate);
    fold_repeats(block);

    apply_gradients(n, m, stride);
    return loss;
  }

 private:
  using Tuning = simd::FusedTuning;

  HWY_INLINE void score(std::size_t n, std::size_t m, std::size_t stride) noexcept {
    constexpr std::size_t width = Tuning::score_outputs;
    const std::size_t group = simd::group_size(m);
    const simd::RowTag d;
    for (std::size_t i = 0; i < n; i += 4) {
      // Tiles need not reach the end of their group.
      simd::hn::Store(simd::hn::Zero(d), d,
                      gradients_.data() + (i / 4 + 1) * group - simd::hn::Lanes(d));
      simd::with_count<4>(std::min<std::size_t>(4, n - i), [&]<std::size_t I>() {
        // Tiles go up, so that what one stores past its end the next replaces.
        for (std::size_t j = 0; j < m; j += width)
          simd::with_count<width>(std::min(width, m - j), [&]<std::size_t J>() {
            simd::score_tile<I, J>(&inputs_[i], &outputs_[j], stride,
                                   gradients_.data() + (i / 4 * group + j * 4));
          });
      });
    }
  }

  /// All scores in one loop, so that what it adds up stays in registers.
  template <bool with_loss>
  HWY_INLINE LossSum make_gradients(const Block& block, float learning_rate) noexcept {
    const simd::RowTag d;
    const std::size_t lanes = simd::hn::Lanes(d);
    const std::size_t n = block.inputs.size();
    const std::size_t m = block.outputs.size();
    const std::size_t group = simd::group_size(m);
    const std::size_t positives = block.positives * 4;
    simd::GradientMaker<with_loss, simd::RowTag> make(learning_rate);
    float* g = gradients_.data();
    for (std::size_t i = 0; i < n; i += 4, g += group)
      for (std::size_t k = 0; k < group; k += lanes)
        simd::hn::Store(make(simd::hn::Load(d, g + k), positives - std::min(k, positives)), d,
                        g + k);
    if (!block.weights.empty())
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < m; ++j) gradient(i, j, m) *= block.weights[i];
    return make.loss(n * m);
  }

  float& gradient(std::size_t i, std::size_t j, std::size_t m) noexcept {
    return gradients_.data()[simd::gradient_place(i, m) + j * 4];
  }

  HWY_INLINE void apply_gradients(std::size_t n, std::size_t m, std::size_t stride) noexcept {
    using simd::InputChange;
    constexpr std::size_t width = Tuning::update_outputs;
    if (m <= width)
      return simd::with_count<width>(m, [&]<std::size_t J>() {
        for_columns(stride, [&]<std::size_t V>(std::size_t c) WORDLOOM_INLINED {
          simd::update_tile<J, V, InputChange::whole>(inputs_.data(), n, outputs_.data(), c, m,
                                                      gradients_.data(), change_.data());
        });
      });
    for_columns(stride, [&]<std::size_t V>(std::size_t c) {
      const auto tile = [&]<InputChange mode>(std::size_t j) {
        simd::with_count<width>(std::min(width, m - j), [&]<std::size_t J>() {
          simd::update_tile<J, V, mode>(inputs_.data(), n, &outputs_[j], c, m,
                                        gradients_.data() + j * 4, change_.data());
        });
      };
      tile.template operator()<InputChange::first>(0);
      std::size_t j = width;
      for (; j + width < m; j += width) tile.template operator()<InputChange::middle>(j);
      tile.template operator()<InputChange::last>(j);
    });
  }

  /// Calls `use.operator()<V>(c)` so that V vectors from each c on cover a row.
  template <class Use>
  static HWY_INLINE void for_columns(std::size_t stride, Use&& use) {
    constexpr std::size_t most = Tuning::update_vectors;
    const std::size_t lanes = simd::hn::Lanes(simd::RowTag());
    std::size_t c = 0;
    for (; c + most * lanes <= stride; c += most * lanes) use.template operator()<most>(c);
    if constexpr (most > 1)
      for (; c < stride; c += lanes) use.template operator()<1>(c);
  }

  /// A row that stands in the block twice gets both changes at its first place and none at the
  /// others: update_tile then leaves the right sum.
  void fold_repeats(const Block& block) noexcept {
    const std::size_t n = block.inputs.size();
    const std::size_t m = block.outputs.size();
    const auto move = [](float& from, float& to) {
      to += from;
      from = 0.0f;
    };
    if (has_repeats(block.inputs))
      for (std::size_t i = 1; i < n; ++i)
        if (const std::size_t first = first_place(block.inputs, i); first != i)
          for (std::size_t j = 0; j < m; ++j) move(gradient(i, j, m), gradient(first, j, m));
    if (has_repeats(block.outputs))
      for (std::size_t j = 1; j < m; ++j)
        if (const std::size_t first = first_place(block.outputs, j); first != j)
          for (std::size_t i = 0; i < n; ++i) move(gradient(i, j, m), gradient(i, first, m));
  }

  static HWY_INLINE bool has_repeats(std::span<const WordId> ids) noexcept {
    const simd::hn::RebindToUnsigned<simd::RowTag> d;
    const std::size_t lanes = simd::hn::Lanes(d);
    std::size_t equal = 0;
    for (std::size_t k = 0; k < ids.size(); k += lanes) {
      const auto inside = simd::hn::FirstN(d, ids.size() - k);
      const auto some = simd::hn::MaskedLoad(inside, d, ids.data() + k);
      for (const WordId id : ids)
        equal +=
            simd::hn::CountTrue(d, simd::hn::And(inside, simd::hn::Eq(some, simd::hn::Set(d, id))));
    }
    return equal != ids.size();  // each equals itself
  }

  static std::size_t first_place(std::span<const WordId> ids, std::size_t i) noexcept {
    return static_cast<std::size_t>(std::find(ids.begin(), ids.end(), ids[i]) - ids.begin());
  }

  std::vector<float*> inputs_, outputs_;  // [N], [M] rows of the block at hand
  RowMatrix gradients_;                   // of the block at hand, see gradient_place
  RowMatrix change_;                      // [N x vectors] of an update over several tiles
};

static_assert(UpdateKernel<FusedKernel<>> && UpdateKernel<FusedKernel<128>>);

}  // namespace wordloom
