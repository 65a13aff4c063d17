#pragma once
#include <benchmark/benchmark.h>

#include <CLI/CLI.hpp>
#include <string>

/// Takes our own options, declared in `app`, and Google Benchmark's (--benchmark_...) from a
/// command line. Throws CLI::ParseError.
inline void parse_arguments(CLI::App& app, int argc, char** argv) {
  benchmark::Initialize(&argc, argv);  // takes out what is its own
  app.parse(argc, argv);
}
