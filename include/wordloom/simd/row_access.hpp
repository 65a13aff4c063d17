#pragma once
#include <atomic>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <wordloom/simd/simd.hpp>

#define WORDLOOM_VECTOR_CODE <wordloom/simd/unrolled.inl>
#include <wordloom/simd/for_each_target.inl>
#define WORDLOOM_VECTOR_CODE <wordloom/simd/row_access.inl>
#include <wordloom/simd/for_each_target.inl>
