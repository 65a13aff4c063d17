#pragma once
#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <wordloom/core/error.hpp>

/// Returns a word or name for a message of one line: at most 60 bytes, control characters as '?'.
inline std::string in_quotes(std::string_view text) {
  std::size_t size = std::min<std::size_t>(text.size(), 60);
  while (size < text.size() && size > 0 && (text[size] & 0xC0) == 0x80) --size;  // inside UTF-8
  std::string shown(text.substr(0, size));
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = '?';
  return "'" + shown + (size < text.size() ? "...'" : "'");
}

/// Returns how a command line names standard input instead of the file `path`: "word2vec --train
/// -"; only the name of the program if no argument is that path.
inline std::string reading_standard_input(const std::string& program, std::string_view path,
                                          int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const std::size_t before = argument.size() - std::min(argument.size(), path.size());
    if (path.empty() || argument.substr(before) != path) continue;
    if (before > 0) {  // --train=corpus.xz, and SNAP's -i:edges.xz
      if (argument[0] != '-' || (argument[before - 1] != '=' && argument[before - 1] != ':'))
        continue;
      return program + " " + std::string(argument.substr(0, before)) + "-";
    }
    const std::string_view option = i > 1 ? argv[i - 1] : "";
    return program +
           (option.starts_with('-') && option.size() > 1 ? " " + std::string(option) : "") + " -";
  }
  return program;
}

/// Returns the message of an error. If a command prints a file in a form that can be read, the
/// message ends with that command: "xz -dc corpus.xz | word2vec --train -".
inline std::string message_of(const std::exception& error, const std::string& program, int argc,
                              const char* const* argv) {
  const auto* const foreign = dynamic_cast<const wordloom::ForeignFormat*>(&error);
  if (foreign == nullptr || foreign->command.empty()) return error.what();
  return std::string(error.what()) + " | " +
         reading_standard_input(program, foreign->path().string(), argc, argv);
}
