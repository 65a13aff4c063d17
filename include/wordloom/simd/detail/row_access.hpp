#pragma once
#include <atomic>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <wordloom/simd/detail/simd.hpp>

// The vector code that the vector code of other headers uses: unrolled loops, and the access to
// rows. It must be compiled first, for the same instruction sets.
#define WORDLOOM_VECTOR_CODE <wordloom/simd/detail/unrolled.inl>
#include <wordloom/simd/detail/for_each_target.inl>
#define WORDLOOM_VECTOR_CODE <wordloom/simd/detail/row_access.inl>
#include <wordloom/simd/detail/for_each_target.inl>
