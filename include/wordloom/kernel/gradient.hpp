#pragma once
#include <atomic>
#include <cstddef>

#include <wordloom/core/loss.hpp>
#include <wordloom/core/sigmoid.hpp>
#include <wordloom/core/simd.hpp>

#define WORDLOOM_VECTOR_CODE <wordloom/kernel/row_access.inl>
#include <wordloom/core/for_each_target.inl>
#define WORDLOOM_VECTOR_CODE <wordloom/kernel/gradient.inl>
#include <wordloom/core/for_each_target.inl>
