#pragma once
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <chrono>
#include <exception>
#include <iostream>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "cluster.hpp"
#include "command_line.hpp"
#include "interrupts.hpp"

/// An exception for the user.
struct Failure {
  std::string cause;
  int code = 1;             // exit code of the program
  bool is_shared = false;   // other processes have the same one
  bool is_printed = false;  // by the process that caused it
};

/// Describes the exception that is being handled.
inline Failure current_failure(const std::string& name, int argc, char** argv) {
  try {
    throw;
  } catch (const Interrupted& interrupted) {
    return {interrupted.what(), exit_code_of_signal()};
  } catch (const std::bad_alloc&) {
    return {"not enough memory"};
  } catch (const wordloom::SyncError& error) {
    std::string cause = error.what();
    constexpr std::string_view failed = " has failed: ";
    if (const std::size_t at = cause.find(failed); at != cause.npos) {
      // All ranks find a failure that names a rank, but one may find it, and end, before another
      // does: that one has left it to `prints`. Any other failure is printed where it happens.
      if (!cause.substr(at + failed.size()).starts_with("rank ")) return {cause, 1, true, true};
      cause.erase(0, at + failed.size());
    }
    return {cause, 1, cause.starts_with("rank ")};
  } catch (const std::exception& error) {
    return {message_of(error, name, argc, argv)};
  }
}

/// Returns whether this process prints a failure. One of them prints those that all share: the
/// first, or the second if the first may have ended.
inline bool prints(const Failure& failure, const Cluster& cluster) {
  const std::size_t printing = failure.cause.starts_with("rank 0 ") ? 1 : 0;
  return !failure.is_printed &&
         (!failure.is_shared || cluster.size() <= 1 || cluster.rank() == printing);
}

/// Prints a failure as one line, with the rank of this process if there are several.
inline void print_failure(const std::string& name, const Failure& failure, const Cluster& cluster) {
  if (!prints(failure, cluster)) return;
  const auto launch = Launch::of_environment();
  const std::string rank =
      cluster.size() > 1 || launch.size > 1
          ? "rank " + std::to_string(cluster.size() > 1 ? cluster.rank() : launch.rank) + ": "
          : "";
  const std::string line = name + ": " + (failure.code == 1 ? "error: " : "") +
                           (failure.is_shared ? "" : rank) + failure.cause + '\n';
  std::cerr << line;  // at once, as other processes write to the same place
}

/// Calls `run(argc, argv, cluster)` and returns the exit code of the program. An exception becomes
/// one line on stderr, and the other processes end too.
template <class Run>
int run_program(const std::string& name, Run run, int argc, char** argv) {
  const Cluster* joined = nullptr;
  Cluster cluster([&] { print_failure(name, current_failure(name, argc, argv), *joined); });
  joined = &cluster;
  try {
    const int result = run(argc, argv, cluster);
    end_output();
    return result;
  } catch (const std::exception&) {
    const Failure failure = current_failure(name, argc, argv);
    cluster.fail(failure.cause);
    // A launcher ends all processes as soon as one has failed: first comes the one that prints.
    if (!prints(failure, cluster)) std::this_thread::sleep_for(std::chrono::milliseconds(500));
    return failure.code;
  }
}

/// Turns the original programs' `-train` into our `--train`; one-letter options, negative numbers
/// and values of the option before stay, such as the file in `--output -old.txt`.
inline std::vector<std::string> with_double_dashes(const CLI::App& app, int argc, char** argv) {
  const auto option_of = [&](const std::string& argument) {
    return app.get_option_no_throw(argument.substr(0, argument.find('=')));
  };
  std::vector<std::string> arguments;
  bool is_value = false;  // of the option before
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.size() > 2 && argument[0] == '-' &&
        std::isalpha(static_cast<unsigned char>(argument[1])) &&
        (!is_value || option_of('-' + argument) != nullptr))
      argument.insert(0, "-");
    const CLI::Option* const option = argument.starts_with('-') ? option_of(argument) : nullptr;
    is_value = option != nullptr && option->get_items_expected_max() > 0 &&
               argument.find('=') == argument.npos;
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

/// Parses the arguments by `app`, to which it adds --version; the last of several values of an
/// option counts. Returns an exit code if nothing is left to do, for example after --help. Throws
/// InvalidArgument.
inline std::optional<int> parse(CLI::App& app, const std::vector<std::string>& arguments) {
  set_rules_of_values(app);
  app.set_version_flag("--version", [name = app.get_name()] {
    return name + " of Wordloom " + std::string(wordloom::version) + ", vectors of " +
           wordloom::InstructionSet::chosen().name;
  });
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // the order of CLI11
  try {
    app.parse(reversed);
  } catch (const CLI::Success& done) {  // --help or --version
    return end_parsing(app, done);
  } catch (const CLI::ParseError& error) {
    throw wordloom::InvalidArgument(with_typed_name(error.what(), app, arguments) +
                                    " (--help lists the options)");
  }
  return std::nullopt;
}
