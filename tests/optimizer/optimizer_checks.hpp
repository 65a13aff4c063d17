#pragma once
#include <algorithm>
#include <string_view>
#include <wordloom/model/model.hpp>

#include "catch.hpp"
#include "kernel/block_checks.hpp"
#include "small_models.hpp"
#include "support.hpp"

using namespace wordloom;
using namespace wordloom_test;

inline bool all_padding_is_zero(Model& model) {
  return std::ranges::all_of(model.matrices(),
                             [](const auto& named) { return padding_is_zero(*named.matrix); });
}

/// The matrix of a model that has this name.
inline const RowMatrix& state_of(const Model& model, std::string_view name) {
  for (const auto& [known, matrix] : model.matrices())
    if (known == name) return *matrix;
  FAIL("no matrix " << name);
  throw;
}
