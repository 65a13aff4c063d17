#pragma once
#include <benchmark/benchmark.h>

#include <chrono>
#include <fstream>
#include <string>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/simd.hpp>

#if WORDLOOM_HAS_BLAS
extern "C" char* openblas_get_corename(void) __attribute__((weak));
#endif

/// What the figures depend on, for the head of the output.
inline void describe_machine() {
  std::ifstream cpu("/proc/cpuinfo");
  for (std::string line; std::getline(cpu, line);)
    if (line.starts_with("model name")) {
      benchmark::AddCustomContext("cpu", line.substr(line.find(':') + 2));
      break;
    }
  benchmark::AddCustomContext("compiler", __VERSION__);
  benchmark::AddCustomContext("simd_target", hwy::TargetName(HWY_STATIC_TARGET));
  benchmark::AddCustomContext("threads", std::to_string(wordloom::resolve_threads(0)));
#if WORDLOOM_HAS_BLAS
  if (openblas_get_corename != nullptr)
    benchmark::AddCustomContext("openblas_core", openblas_get_corename());
#endif
}

/// The core's peak in fp32 operations a second, measured now: 2 FMA ports x 4 cycles of latency
/// want 8 independent sums, 16 leave no doubt.
inline double fma_peak() {
  namespace hn = wordloom::simd::hn;
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const V a = hn::Set(d, 0.999f), b = hn::Set(d, 1e-6f);
  constexpr int rounds = 200'000;
  double best = 0;
  for (int repetition = 0; repetition < 15; ++repetition) {
    // All different, or the compiler sees that one sum does for all.
    const auto seed = [&](int i) { return hn::Set(d, static_cast<float>(repetition + i)); };
    V s0 = seed(0), s1 = seed(1), s2 = seed(2), s3 = seed(3), s4 = seed(4), s5 = seed(5),
      s6 = seed(6), s7 = seed(7), s8 = seed(8), s9 = seed(9), s10 = seed(10), s11 = seed(11),
      s12 = seed(12), s13 = seed(13), s14 = seed(14), s15 = seed(15);
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds; ++i) {
      for (V* s :
           {&s0, &s1, &s2, &s3, &s4, &s5, &s6, &s7, &s8, &s9, &s10, &s11, &s12, &s13, &s14, &s15})
        *s = hn::MulAdd(*s, a, b);
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    for (const V& s : {s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15})
      benchmark::DoNotOptimize(hn::GetLane(s));
    const double operations = 2.0 * 16.0 * rounds * static_cast<double>(hn::Lanes(d));
    best = std::max(best, operations / seconds.count());
  }
  return best;
}
