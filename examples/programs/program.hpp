#pragma once
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <exception>
#include <iostream>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "cluster.hpp"
#include "command_line.hpp"
#include "interrupts.hpp"

/// Calls `run(argc, argv, cluster)` and returns the exit code of the program. An exception becomes
/// one line on stderr, and the other processes end too.
template <class Run>
int run_program(const std::string& name, Run run, int argc, char** argv) {
  Cluster cluster;
  std::string cause;
  int code = 1;
  try {
    const int result = run(argc, argv, cluster);
    end_output();
    return result;
  } catch (const Interrupted& interrupted) {
    cause = interrupted.what();
    code = exit_code_of_signal();
  } catch (const std::bad_alloc&) {
    cause = "not enough memory";
  } catch (const std::exception& error) {
    cause = message_of(error, name, argc, argv);
  }
  cluster.fail(cause);
  std::cerr << name << ": " << (code == 1 ? "error: " : "") << cause << '\n';
  return code;
}

/// Turns the original programs' `-train` into our `--train`; one-letter options and negative
/// numbers stay.
inline std::vector<std::string> with_double_dashes(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.size() > 2 && argument[0] == '-' &&
        std::isalpha(static_cast<unsigned char>(argument[1])))
      argument.insert(0, "-");
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

/// Parses the arguments by `app`, to which it adds --version; the last of several values of an
/// option counts. Returns an exit code if nothing is left to do, for example after --help. Throws
/// InvalidArgument.
inline std::optional<int> parse(CLI::App& app, std::vector<std::string> arguments) {
  take_last_values(app);
  app.set_version_flag("--version", [name = app.get_name()] {
    return name + " of Wordloom " + std::string(wordloom::version) + ", vectors of " +
           wordloom::InstructionSet::chosen().name;
  });
  std::reverse(arguments.begin(), arguments.end());  // the order of CLI11
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& version) {
    return app.exit(version);
  } catch (const CLI::ParseError& error) {
    throw wordloom::InvalidArgument(std::string(error.what()) + " (--help lists the options)");
  }
  return std::nullopt;
}
