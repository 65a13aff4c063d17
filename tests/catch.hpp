#pragma once

// The test framework under one name: Catch2 3 where it is installed, else Catch2 2.

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_all.hpp>
using Catch::Approx;
#else
// No try block around each assertion, which takes time to compile: an exception there fails the
// whole test case.
#define CATCH_CONFIG_FAST_COMPILE
#include <catch2/catch.hpp>
using Catch::Detail::Approx;  // Catch::Approx is a matcher there
#endif
