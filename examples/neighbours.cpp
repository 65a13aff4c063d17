// Asks trained vectors: a word gives its nearest words, three words an analogy.
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "any_vectors.hpp"
#include "command_line.hpp"

using namespace wordloom;

namespace {

void print(const std::vector<Neighbour>& answers) {
  for (const auto& [word, score] : answers)
    std::printf("  %-24.*s %.4f\n", static_cast<int>(word.size()), word.data(),
                static_cast<double>(score));
}

template <class Words>
void answer(const Words& words, const std::vector<std::string>& asked, std::size_t count) {
  if (asked.empty()) return;
  if (asked.size() == 1) return print(words.most_similar(asked[0], count));
  if (asked.size() == 3) return print(words.analogy(asked[0], asked[1], asked[2], count));
  throw InvalidArgument("one word, or three: a b c asks what is to c as b is to a");
}

/// Answers the lines of stdin.
template <class Words>
void answer_lines(const Words& words, std::size_t count) {
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  if (terminal) std::printf("%zu words of dimension %zu\n", words.size(), words.dimension());
  std::string line;
  while ((!terminal || std::printf("> ") > 0) && std::fflush(stdout) == 0 &&
         std::getline(std::cin, line)) {
    std::vector<std::string> asked;
    for_each_token(
        line, [&](std::string_view word) { asked.emplace_back(word); }, [] {});
    try {
      answer(words, asked, count);
    } catch (const Error& error) {
      std::printf("%s\n", error.what());
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app(
      "Nearest words and analogies. A line of one word gives its nearest words, a line of\n"
      "three, a b c, the words that are to c as b is to a.");
  std::string path, format;
  std::size_t count = 10;
  app.add_option("vectors", path, "Vectors in any format that Wordloom writes, or a model")
      ->required();
  app.add_option("--count", count, "Answers to a question")
      ->check(whole_number)
      ->capture_default_str();
  app.add_option("--format", format, "Instead of detecting it: " + vector_format_names());
  LoadOptions loading;
  declare_load_options(app, loading, "neighbours");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    throw InvalidArgument(std::string(error.what()) + " (--help lists the options)");
  }
  with_vectors_in(path, format, loading, [&](const auto& words) { answer_lines(words, count); });
  end_output();
} catch (const std::exception& error) {
  std::cerr << "neighbours: error: " << message_of(error, "neighbours", argc, argv) << '\n';
  return 1;
}
