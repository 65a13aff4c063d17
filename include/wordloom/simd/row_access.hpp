#pragma once
#include <atomic>
#include <cstddef>

#include <wordloom/simd/simd.hpp>

#define WORDLOOM_VECTOR_CODE <wordloom/simd/row_access.inl>
#include <wordloom/simd/for_each_target.inl>
