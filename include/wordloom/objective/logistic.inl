HWY_BEFORE_NAMESPACE();
namespace wordloom::simd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// -log sigma of what a vector of pairs has: sums as LossSum has them. With z = -score of a
/// positive and score of a negative, it is max(z, 0) + log(1 + exp(-|z|)).
class VectorLoss {
 public:
  HWY_INLINE VectorLoss() : sums_(hn::Zero(RowTag())), products_(hn::Set(RowTag(), 1.0f)) {}

  /// A lane with weight 0 does not count, nor one from `count` on.
  HWY_INLINE void add(hn::Vec<RowTag> z, hn::Vec<RowTag> e, hn::Vec<RowTag> weights,
                      std::size_t count) {
    const RowTag d;
    const auto pair = hn::And(hn::FirstN(d, count), hn::Ne(weights, hn::Zero(d)));
    const auto part = hn::IfThenElse(hn::Lt(z, hn::Zero(d)), hn::Zero(d), z);  // keeps NaN
    sums_ = hn::Add(sums_, hn::IfThenElseZero(pair, part));
    products_ = hn::MulAdd(products_, hn::IfThenElseZero(pair, e), products_);
    if (++added_ == most_added) fold();
  }

  /// Of all so far, when `padding` lanes had a weight, a score of 0, which is log(2), and no pair.
  HWY_INLINE LossSum loss(std::size_t padding) {
    fold();
    if (padding > 0) loss_ += LossSum(-0.69314718055994531 * static_cast<double>(padding));
    return loss_;
  }

 private:
  /// 1 + e is at most 2: 16 lanes of so many of them have a product below 2^128.
  static constexpr int most_added = 7;

  HWY_INLINE void fold() {
    const RowTag d;
    loss_ += LossSum(static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sums_))),
                     static_cast<double>(product_of_lanes(d, products_)));
    sums_ = hn::Zero(d);
    products_ = hn::Set(d, 1.0f);
    added_ = 0;
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

  hn::Vec<RowTag> sums_, products_;
  int added_ = 0;
  LossSum loss_;
};

/// Turns scores into gradients in place, (label - sigma(score)) * weight * learning_rate (Mikolov
/// et al. 2013b, the derivative of eq. 4). `pair_weights` as those of a Block, above 0 for label 1,
/// below for label 0; where there is no pair, it or the score is 0. Goes on to the end of the last
/// vector.
template <bool with_loss>
HWY_INLINE void make_gradients(float* scores, const float* pair_weights, std::size_t count,
                               float learning_rate, VectorLoss& loss) {
  const RowTag d;
  const auto rate = hn::Set(d, learning_rate);
  for (std::size_t k = 0; k < count; k += hn::Lanes(d)) {
    const auto weights = hn::LoadU(d, pair_weights + k);
    // With z = -score of a positive, score of a negative, the gradient is +-sigma(z): right to the
    // last bits where 1 - sigma(score) would cancel.
    const auto z = hn::Xor(hn::LoadU(d, scores + k), hn::AndNot(weights, hn::SignBit(d)));
    const auto e = exp_minus_abs(d, z);
    if constexpr (with_loss) loss.add(z, e, weights, count - k);
    hn::StoreU(sigmoid_from(d, z, e, hn::Mul(rate, weights)), d, scores + k);
  }
}

/// The gradients of a block whose scores lie output by output. Returns its loss when `with_loss`.
template <bool with_loss>
HWY_ATTR LossSum block_gradients(float* scores, const float* pair_weights, std::size_t count,
                                 float learning_rate) noexcept {
  VectorLoss loss;
  make_gradients<with_loss>(scores, pair_weights, count, learning_rate, loss);
  return loss.loss(0);
}

}  // namespace wordloom::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
