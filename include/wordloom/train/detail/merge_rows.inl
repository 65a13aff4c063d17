HWY_BEFORE_NAMESPACE();
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_ATTR inline void merge_row(const PrivateRow& row, const float* direction, float along,
                               std::size_t stride) noexcept {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  auto sum = hn::Zero(d);
  for (std::size_t c = 0; c < stride; c += lanes)
    sum = hn::MulAdd(hn::Sub(load_row(d, row.own + c), load_row(d, row.base + c)),
                     hn::Load(d, direction + c), sum);
  const auto correction = hn::Mul(hn::Set(d, along - 1), hn::SumOfLanes(d, sum));
  for (std::size_t c = 0; c < stride; c += lanes) {
    const auto change = hn::MulAdd(correction, hn::Load(d, direction + c),
                                   hn::Sub(load_row(d, row.own + c), load_row(d, row.base + c)));
    const auto merged = hn::Add(load_row(d, row.shared + c), change);
    store_row(d, merged, row.shared + c);
    store_row(d, merged, row.own + c);
    store_row(d, merged, row.base + c);
  }
}

inline MergeFunction merge_row_function() noexcept { return merge_row; }

}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
