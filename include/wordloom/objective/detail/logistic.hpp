#pragma once
#include <cstddef>

#include <wordloom/objective/loss.hpp>
#include <wordloom/simd/detail/row_access.hpp>
#include <wordloom/simd/detail/simd.hpp>
#include <wordloom/simd/sigmoid.hpp>

#define WORDLOOM_VECTOR_CODE <wordloom/objective/detail/logistic.inl>
#include <wordloom/simd/detail/for_each_target.inl>
