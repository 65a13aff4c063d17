#pragma once
#include <algorithm>
#include <cstddef>

#include <wordloom/core/block.hpp>
#include <wordloom/core/loss.hpp>
#include <wordloom/core/sigmoid.hpp>
#include <wordloom/core/simd.hpp>
#include <wordloom/kernel/row_access.hpp>

namespace wordloom::simd {

/// Turns vectors of scores into gradients, (label - sigma(score)) * learning_rate (Mikolov et al.
/// 2013b, the derivative of eq. 4), and sums up the loss when `with_loss`.
template <bool with_loss, class D>
class GradientMaker {
 public:
  using V = hn::Vec<D>;

  explicit HWY_INLINE GradientMaker(float learning_rate)
      : rate_(hn::Set(D(), learning_rate)), sum_(hn::Zero(D())), product_(hn::Set(D(), 1.0f)) {}

  /// The first `positives` lanes have label 1, the others 0. A lane that holds no pair must be 0:
  /// `loss` takes out what it adds.
  HWY_INLINE V operator()(V score, std::size_t positives) {
    const D d;
    const auto positive = hn::FirstN(d, positives);
    // With z = -score of a positive, score of a negative, the gradient is +-sigma(z): right to the
    // last bits where 1 - sigma(score) would cancel.
    const V z = hn::IfThenElse(positive, hn::Neg(score), score);
    const V e = exp_minus_abs(d, z);
    if constexpr (with_loss) {
      // -log sigma(-z) = max(z, 0) + log(1 + exp(-|z|)), all logarithms as one product.
      sum_ = hn::Add(sum_, hn::IfThenElse(hn::Lt(z, hn::Zero(d)), hn::Zero(d), z));  // keeps NaN
      product_ = hn::MulAdd(product_, e, product_);
      lanes_ += hn::Lanes(d);
      if (++unfolded_ * hn::Lanes(d) > 100) fold();  // a product of 127 twos would overflow
    }
    const V magnitude = hn::Mul(rate_, sigmoid_from(d, z, e));
    return hn::IfThenElse(positive, magnitude, hn::Neg(magnitude));
  }

  /// Of all calls so far, `pairs` of whose lanes held one.
  HWY_INLINE LossSum loss(std::size_t pairs) {
    if constexpr (with_loss) {
      if (unfolded_ > 0) fold();
      // A score of 0 adds log(2).
      if (lanes_ > pairs)
        loss_ += LossSum(-0.69314718055994531 * static_cast<double>(lanes_ - pairs));
    }
    return loss_;
  }

 private:
  HWY_INLINE void fold() {
    loss_ += LossSum(static_cast<double>(hn::GetLane(hn::SumOfLanes(D(), sum_))),
                     static_cast<double>(product_of_lanes(D(), product_)));
    sum_ = hn::Zero(D());
    product_ = hn::Set(D(), 1.0f);
    unfolded_ = 0;
  }

  template <class Tag>
  static HWY_INLINE float product_of_lanes(Tag, hn::Vec<Tag> v) {
    if constexpr (hn::MaxLanes(Tag()) == 1) {
      return hn::GetLane(v);
    } else {
      const hn::Half<Tag> half;
      return product_of_lanes(half, hn::Mul(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
    }
  }

  V rate_, sum_, product_;
  LossSum loss_;
  std::size_t lanes_ = 0, unfolded_ = 0;
};

/// Floats past the end of scores that `to_gradients` may overwrite.
inline constexpr std::size_t gradient_slack = hn::MaxLanes(RowTag());

/// Turns the scores of a block into gradients in place, weights of the inputs included. `scores`
/// lie output by output [M x N], so that those of the positives come first. Returns the block's
/// loss when `with_loss`.
template <bool with_loss>
LossSum to_gradients(float* scores, const Block& block, float learning_rate) noexcept {
  const RowTag d;
  const std::size_t n = block.inputs.size();
  const std::size_t count = block.outputs.size() * n;
  const std::size_t positives = block.positives * n;
  std::fill_n(scores + count, gradient_slack, 0.0f);
  GradientMaker<with_loss, RowTag> make(learning_rate);
  for (std::size_t k = 0; k < count; k += hn::Lanes(d))
    hn::StoreU(make(hn::LoadU(d, scores + k), positives - std::min(k, positives)), d, scores + k);
  if (!block.weights.empty())
    for (std::size_t j = 0; j < block.outputs.size(); ++j)
      for (std::size_t i = 0; i < n; ++i) scores[j * n + i] *= block.weights[i];
  return make.loss(count);
}

}  // namespace wordloom::simd
