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
    V s0 = b, s1 = b, s2 = b, s3 = b, s4 = b, s5 = b, s6 = b, s7 = b, s8 = b, s9 = b, s10 = b,
      s11 = b, s12 = b, s13 = b, s14 = b, s15 = b;
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
