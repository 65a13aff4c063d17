// The entry point that all test programs share; with Catch2 2 this also compiles the framework.

#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
#else
#define CATCH_CONFIG_MAIN
#define CATCH_CONFIG_FAST_COMPILE  // as in catch.hpp
#include <catch2/catch.hpp>
#endif
