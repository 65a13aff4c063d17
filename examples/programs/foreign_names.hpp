#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>
#include <wordloom/core/error.hpp>

/// Advice for names that similar programs have and this one lacks, by name. Dashes at the beginning
/// and the difference between - and _ do not count.
using ForeignNames = std::map<std::string, std::string, std::less<>>;

/// Throws InvalidArgument if the first argument is a name in `commands`, and for the first argument
/// that is the name of an option in `options`, also with a value after = or :.
inline void refuse_foreign_names(const std::vector<std::string>& arguments,
                                 const ForeignNames& commands, const ForeignNames& options) {
  if (arguments.empty()) return;
  const auto refuse = [](std::string_view name, const std::string& advice) {
    throw wordloom::InvalidArgument{name, ": ", advice, " (--help lists the options)"};
  };
  if (const auto found = commands.find(arguments.front()); found != commands.end())
    refuse(found->first, found->second);
  for (const std::string& argument : arguments) {
    if (!argument.starts_with("--")) continue;
    std::string name = argument.substr(2, argument.find_first_of("=:") - 2);
    for (char& c : name)
      if (c == '_') c = '-';
    if (const auto found = options.find(name); found != options.end())
      refuse(argument.substr(0, argument.find_first_of("=:")), found->second);
  }
}
