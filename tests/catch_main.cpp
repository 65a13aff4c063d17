// The framework and entry point of all test programs, where Catch2 2 has no library of them.
#define CATCH_CONFIG_MAIN
#define CATCH_CONFIG_FAST_COMPILE  // as in catch.hpp
#include <catch2/catch.hpp>
