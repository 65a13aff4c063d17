#pragma once
#include <benchmark/benchmark.h>

#include <CLI/CLI.hpp>
#include <string>

/// Takes our own options, which `app` declares, and those of Google Benchmark (--benchmark_...)
/// from a command line. Throws CLI::ParseError.
inline void parse_arguments(CLI::App& app, int argc, char** argv) {
  benchmark::Initialize(&argc, argv);  // removes its own
  app.parse(argc, argv);
}

/// Refuses names that no registry (wordloom/registry.hpp) of these has.
template <class... Names>
inline const CLI::Validator registered(
    [](std::string& name) {
      if ((Names::contains(name) || ...)) return std::string();
      std::string message = "there is no '" + name + "', choose one of:";
      ((message += ' ' + Names::names()), ...);
      return message;
    },
    "");
