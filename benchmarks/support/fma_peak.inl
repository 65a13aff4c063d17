HWY_BEFORE_NAMESPACE();
namespace wordloom::simd::HWY_NAMESPACE {

/// Multiplies and adds `rounds` times in 12 vectors; returns the number of operations. 2 FMA ports
/// x 4 cycles of latency need 8 independent sums; 12 leave no doubt and fit 16 registers.
HWY_ATTR inline double multiply_add(int rounds, int seed) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const V a = hn::Set(d, 0.999f), b = hn::Set(d, 1e-6f);
  // All are different, or the compiler would compute one sum for all.
  const auto first = [&](int i) HWY_ATTR { return hn::Set(d, static_cast<float>(seed + i)); };
  V s0 = first(0), s1 = first(1), s2 = first(2), s3 = first(3), s4 = first(4), s5 = first(5),
    s6 = first(6), s7 = first(7), s8 = first(8), s9 = first(9), s10 = first(10), s11 = first(11);
  for (int i = 0; i < rounds; ++i)
    for (V* s : {&s0, &s1, &s2, &s3, &s4, &s5, &s6, &s7, &s8, &s9, &s10, &s11})
      *s = hn::MulAdd(*s, a, b);
  for (const V* s : {&s0, &s1, &s2, &s3, &s4, &s5, &s6, &s7, &s8, &s9, &s10, &s11})
    benchmark::DoNotOptimize(hn::GetLane(*s));
  return 2.0 * 12.0 * rounds * static_cast<double>(hn::Lanes(d));
}

}  // namespace wordloom::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
