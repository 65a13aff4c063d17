#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <wordloom/core/error.hpp>
#include <wordloom/core/words.hpp>

/// Refuses what CLI11 would turn into another number: -3, and 2^64 and above.
inline const CLI::Validator whole_number(
    [](std::string& text) {
      return wordloom::number_in<std::uint64_t>(text)
                 ? std::string()
                 : "must be a whole number from 0 to 18446744073709551615, not " + text;
    },
    "");

/// Throws IoError unless all that the program has printed was written.
inline void end_output() {
  std::cout.flush();
  if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw wordloom::IoError("cannot write to standard output");
}
