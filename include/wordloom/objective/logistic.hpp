#pragma once
#include <cstddef>

#include <wordloom/objective/loss.hpp>
#include <wordloom/simd/row_access.hpp>
#include <wordloom/simd/sigmoid.hpp>
#include <wordloom/simd/simd.hpp>

#define WORDLOOM_VECTOR_CODE <wordloom/objective/logistic.inl>
#include <wordloom/simd/for_each_target.inl>
