#pragma once
#include <string_view>

#include <wordloom/core/detail/abi.hpp>

/// For the preprocessor: 10000 major + 100 minor + patch.
#define WORDLOOM_VERSION 900

namespace wordloom { inline namespace WORDLOOM_ABI {

/// major.minor.patch. Before 1.0, another minor version may change any name.
inline constexpr std::string_view version = "0.9.0";

}}  // namespace wordloom::WORDLOOM_ABI
