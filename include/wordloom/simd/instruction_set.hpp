#pragma once
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <wordloom/core/error.hpp>
#ifndef WORDLOOM_PRECOMPILED
#include <wordloom/simd/detail/simd.hpp>
#endif

namespace wordloom { inline namespace WORDLOOM_ABI {

/// An instruction set for which this program holds vector code.
struct InstructionSet {
  const char* name;   // "avx512", "avx2", "sse4", "neon", "scalar", ...
  long long highway;  // HWY_AVX3, ...

  /// Returns the one on which kernels run: the best of this machine, or the one that the
  /// environment variable WORDLOOM_TARGET names. Chosen once. Thread-safe; throws InvalidArgument
  /// if WORDLOOM_TARGET names none.
  static const InstructionSet& chosen();
};

namespace detail {

/// Returns the instruction sets that this program holds and this machine can run, best first.
std::vector<InstructionSet> available_instruction_sets();

}  // namespace detail

#ifndef WORDLOOM_PRECOMPILED

namespace detail {

/// The instruction set that the compiler's flags allow.
inline constexpr InstructionSet static_instruction_set {
#if HWY_STATIC_TARGET == HWY_AVX3_DL || HWY_STATIC_TARGET == HWY_AVX3
  "avx512",
#elif HWY_STATIC_TARGET == HWY_AVX2
  "avx2",
#elif HWY_STATIC_TARGET == HWY_SSE4
  "sse4",
#elif HWY_STATIC_TARGET == HWY_SSSE3
  "ssse3",
#elif HWY_STATIC_TARGET == HWY_NEON
  "neon",
#elif HWY_STATIC_TARGET == HWY_EMU128 || HWY_STATIC_TARGET == HWY_SCALAR
  "scalar",
#else
  "static",
#endif
      HWY_STATIC_TARGET
};

inline std::vector<InstructionSet> available_instruction_sets() {
  std::vector<InstructionSet> result;
#if WORDLOOM_COMPILES_AVX2
  // Highway's AVX2 includes F16C too, which Clang cannot query, all machines with AVX2 have, and
  // the kernels do not use.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
#elif WORDLOOM_COMPILES_AVX3
  const bool avx2 = true;
#endif
#if WORDLOOM_COMPILES_AVX3
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    result.push_back({"avx512", HWY_AVX3});
#endif
#if WORDLOOM_COMPILES_AVX2
  if (avx2) result.push_back({"avx2", HWY_AVX2});
#endif
  result.push_back(detail::static_instruction_set);
  return result;
}

}  // namespace detail

#endif

namespace detail {

/// Returns the one of `available` with the name `wanted`, or the best if it is null. Throws
/// InvalidArgument if there is none of this name.
inline InstructionSet choose_instruction_set(const std::vector<InstructionSet>& available,
                                             const char* wanted) {
  if (wanted == nullptr) return available.front();
  std::string names;
  for (const InstructionSet& set : available) {
    if (wanted == std::string_view(set.name)) return set;
    names.append(names.empty() ? "" : ", ").append(set.name);
  }
  throw InvalidArgument{"WORDLOOM_TARGET is ", detail::shown(wanted),
                        ", this program on this machine has: ", names};
}

}  // namespace detail

inline const InstructionSet& InstructionSet::chosen() {
  static const InstructionSet first = detail::choose_instruction_set(
      detail::available_instruction_sets(), std::getenv("WORDLOOM_TARGET"));
  return first;
}

}}  // namespace wordloom::WORDLOOM_ABI
