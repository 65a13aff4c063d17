#pragma once
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <wordloom/core/parallel.hpp>
#include <wordloom/simd/detail/simd.hpp>
#include <wordloom/simd/instruction_set.hpp>

#if WORDLOOM_HAS_BLAS
extern "C" char* openblas_get_corename(void) __attribute__((weak));
#endif

#define WORDLOOM_VECTOR_CODE "support/fma_peak.inl"
#include <wordloom/simd/detail/for_each_target.inl>

/// Adds what the figures depend on to the head of the output.
inline void describe_machine() {
  std::ifstream cpu("/proc/cpuinfo");
  for (std::string line; std::getline(cpu, line);)
    if (line.starts_with("model name")) {
      benchmark::AddCustomContext("cpu", line.substr(line.find(':') + 2));
      break;
    }
  benchmark::AddCustomContext("compiler", __VERSION__);
  benchmark::AddCustomContext("simd_target", wordloom::InstructionSet::chosen().name);
  benchmark::AddCustomContext("threads", std::to_string(wordloom::resolve_threads(0)));
#if WORDLOOM_HAS_BLAS
  if (openblas_get_corename != nullptr)
    benchmark::AddCustomContext("openblas_core", openblas_get_corename());
#endif
}

/// Measures the core's peak in fp32 operations a second, with the vectors that the kernels use.
inline double fma_peak() {
  const auto multiply_add = &WORDLOOM_OF_TARGET(multiply_add);
  double best = 0;
  for (int repetition = 0; repetition < 15; ++repetition) {
    const auto start = std::chrono::steady_clock::now();
    const double operations = multiply_add(200'000, repetition);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, operations / seconds.count());
  }
  return best;
}
