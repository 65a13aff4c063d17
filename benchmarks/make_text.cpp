// Writes a made-up text of any size with the word frequencies of a language, to measure speed where
// no large corpus is at hand. By default as large a vocabulary as that of the 1 Billion Word
// Benchmark, in sentences. See support/zipf_text.hpp.
#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <wordloom/core/files.hpp>

#include "command_line.hpp"
#include "support/zipf_text.hpp"

int main(int argc, char** argv) try {
  CLI::App app("Writes a made-up text with the word frequencies of a language");
  std::string output;
  ZipfText::Options options;
  app.add_option("--output", output, "File to write; - is standard output")->required();
  app.add_option("--words", options.words, "Words of the vocabulary; each occurs at least once")
      ->check(whole_number)
      ->capture_default_str();
  app.add_option("--tokens", options.tokens, "Words of the text")
      ->check(whole_number)
      ->capture_default_str();
  app.add_option("--exponent", options.exponent,
                 "The word of rank r has weight (r + shift)^-exponent")
      ->capture_default_str();
  app.add_option("--shift", options.shift, "The shift of that law")->capture_default_str();
  app.add_option("--line-words", options.line_words, "Words of a line, in the mean")
      ->check(whole_number)
      ->capture_default_str();
  app.add_flag(
      "--fixed-lines", options.fixed_lines,
      "All lines have as many words. Without, their lengths vary as those of sentences do");
  app.add_option("--seed", options.seed, "Seed")->check(whole_number)->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  }
  const ZipfText text(options);
  wordloom::AtomicFile file(output);
  text.write([&](std::string_view piece) { file.write(piece); });
  file.commit();
} catch (const std::exception& error) {
  std::cerr << "make_text: error: " << error.what() << '\n';
  return 1;
}
