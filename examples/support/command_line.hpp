#pragma once
#include <CLI/CLI.hpp>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <system_error>
#include <vector>
#include <wordloom/core/error.hpp>

#include "error_message.hpp"

/// Returns whether all of a text is a number from 0 to 2^64 - 1.
inline bool is_whole_number(const std::string& text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  return last == end && error == std::errc();
}

/// Refuses numbers that CLI11 would turn into others: -3, and 2^64 and above.
inline const CLI::Validator whole_number(
    [](std::string& text) {
      return is_whole_number(text)
                 ? std::string()
                 : "must be a whole number from 0 to 18446744073709551615, not " + text;
    },
    "");

/// Throws IoError unless everything that the program has printed was written.
inline void end_output() {
  std::cout.flush();
  if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw wordloom::IoError("cannot write to standard output");
}

/// Prints the help or the version, for which parsing ended, and returns the exit code. Throws as
/// end_output() does.
inline int end_parsing(const CLI::App& app, const CLI::Success& done) {
  const int code = app.exit(done);
  end_output();
  return code;
}

/// Makes a file that grows beyond the limit of the system an error instead of the end of the
/// program.
inline void report_too_large_files() {
#ifdef SIGXFSZ
  std::signal(SIGXFSZ, SIG_IGN);
#endif
}

/// Returns the name of an option in messages: "--size".
inline std::string name_of(const CLI::Option& option) {
  if (!option.get_lnames().empty()) return "--" + option.get_lnames().front();
  return option.get_snames().empty() ? option.get_name() : "-" + option.get_snames().front();
}

/// Makes the last value count for each option of `app` that takes one value and is given several
/// times, as in scripts that append options, and refuses empty values, which come from empty
/// variables of scripts and would be taken for options that were not given. Must be called before
/// parsing.
inline void set_rules_of_values(CLI::App& app) {
  static const CLI::Validator not_empty(
      [](std::string& text) {
        return text.empty() ? "the value is empty: give one, or leave the option out"
                            : std::string();
      },
      "");
  for (CLI::Option* option : app.get_options()) {
    if (option->get_expected_max() <= 1)
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    if (option->get_items_expected_max() > 0) option->check(not_empty);
  }
}

/// Returns the name by which a command line has given an option: "--dimensions", an alias of
/// "--size".
inline std::string typed_name(const CLI::Option& option,
                              const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    const std::string typed = argument.substr(0, argument.find('='));
    for (const std::string& name : option.get_lnames())
      if (typed == "--" + name) return typed;
    for (const std::string& name : option.get_snames())
      if (typed == "-" + name) return typed;
  }
  return name_of(option);
}

/// Returns all names of the options that a command line has given: "--size", "--dimensions", "-d",
/// each with that which was typed.
inline std::map<std::string, std::string> given_options(const CLI::App& app,
                                                        const std::vector<std::string>& arguments) {
  std::map<std::string, std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    const std::string typed = typed_name(*option, arguments);
    for (const std::string& name : option->get_lnames()) names["--" + name] = typed;
    for (const std::string& name : option->get_snames()) names["-" + name] = typed;
  }
  return names;
}

/// Returns an error of parsing with the name of the option as it was typed.
inline std::string with_typed_name(const std::string& message, const CLI::App& app,
                                   const std::vector<std::string>& arguments) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = name_of(*option);
    if (message.starts_with(name + ':') || message.starts_with(name + ' '))
      return typed_name(*option, arguments) + message.substr(name.size());
  }
  return message;
}

/// Returns a warning for each option whose last value counts: "--size is given twice: the last, 30,
/// is taken".
inline std::vector<std::string> warnings_of_repeated(const CLI::App& app) {
  std::vector<std::string> warnings;
  for (const CLI::Option* option : app.get_options()) {
    const std::size_t count = option->count();
    if (count < 2 || option->get_expected_max() != 1) continue;
    warnings.push_back(name_of(*option) + " is given " +
                       (count == 2 ? "twice" : std::to_string(count) + " times") + ": the last, " +
                       option->results().back() + ", is taken");
  }
  return warnings;
}

/// Writes warnings to stderr.
inline void warn(const std::string& name, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) std::cerr << name << ": warning: " << warning << '\n';
}
