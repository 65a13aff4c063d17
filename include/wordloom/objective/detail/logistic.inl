HWY_BEFORE_NAMESPACE();
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The operations of LogisticPair on a vector of pairs.
struct VectorOperations {
  using Value = hn::Vec<RowTag>;

  static HWY_INLINE Value negate_positive(Value score, Value weight) {
    return hn::Xor(score, hn::AndNot(weight, hn::SignBit(RowTag())));
  }
  static HWY_INLINE Value multiply(Value a, Value b) { return hn::Mul(a, b); }
  static HWY_INLINE Value positive_part(Value z) {
    const auto zero = hn::Zero(RowTag());
    return hn::IfThenElse(hn::Lt(z, zero), zero, z);  // keeps NaN
  }
  static HWY_INLINE Value exp_minus_abs(Value z) {
    return HWY_NAMESPACE::exp_minus_abs(RowTag(), z);
  }
  static HWY_INLINE Value sigmoid_times(Value factor, Value z, Value e) {
    return sigmoid_from(RowTag(), z, e, factor);
  }
};

#define WORDLOOM_TERM HWY_INLINE
#include <wordloom/objective/detail/logistic_terms.inl>
#undef WORDLOOM_TERM

/// The sum of the losses of vectors of pairs, as a sum and a product (see LossSum).
class VectorLoss {
 public:
  HWY_INLINE VectorLoss() : sums_(hn::Zero(RowTag())), products_(hn::Set(RowTag(), 1.0f)) {}

  /// Adds the first `count` lanes; one of weight 0 does not count.
  HWY_INLINE void add(const LogisticPair<VectorOperations>& pairs, std::size_t count) {
    const RowTag d;
    const auto counts = hn::And(hn::FirstN(d, count), hn::Ne(pairs.weight, hn::Zero(d)));
    sums_ = hn::Add(sums_, hn::IfThenElseZero(counts, pairs.linear_loss()));
    products_ = hn::MulAdd(products_, hn::IfThenElseZero(counts, pairs.e), products_);
    if (++added_ == max_added) fold();
  }

  /// Returns the sum. `padding`: the number of lanes that are not pairs but had a weight, and a
  /// score of 0, which was counted as log(2).
  HWY_INLINE LossSum loss(std::size_t padding) {
    fold();
    if (padding > 0) loss_ += LossSum(-0.69314718055994531 * static_cast<double>(padding));
    return loss_;
  }

 private:
  /// 1 + e is at most 2: the product of 16 lanes of 7 of them is below 2^128.
  static constexpr int max_added = 7;

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
#if HWY_TARGET != HWY_SCALAR  // has no halves
    if constexpr (hn::MaxLanes(Tag()) > 1) {
      const hn::Half<Tag> half;
      return product_of_lanes(half, hn::Mul(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
    }
#endif
    return hn::GetLane(v);
  }

  hn::Vec<RowTag> sums_, products_;
  int added_ = 0;
  LossSum loss_;
};

/// Turns scores into gradients, times the learning rate, in place. `pair_weights` are those of
/// LogisticPair; for a place without a pair, the weight or the score is 0. Processes whole vectors,
/// past `count`.
template <bool with_loss>
HWY_INLINE void make_gradients(float* scores, const float* pair_weights, std::size_t count,
                               float learning_rate, VectorLoss& loss) {
  const RowTag d;
  const auto rate = hn::Set(d, learning_rate);
  for (std::size_t k = 0; k < count; k += hn::Lanes(d)) {
    const LogisticPair<VectorOperations> pairs(hn::LoadU(d, scores + k),
                                               hn::LoadU(d, pair_weights + k));
    if constexpr (with_loss) loss.add(pairs, count - k);
    hn::StoreU(pairs.gradient(rate), d, scores + k);
  }
}

/// Turns the scores of a whole block into gradients. Returns its loss when `with_loss`.
template <bool with_loss>
HWY_ATTR LossSum block_gradients(float* scores, const float* pair_weights, std::size_t count,
                                 float learning_rate) noexcept {
  VectorLoss loss;
  make_gradients<with_loss>(scores, pair_weights, count, learning_rate, loss);
  return loss.loss(0);
}

}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
