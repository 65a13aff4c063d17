// Writes a made-up text of any size with the word frequencies of a language, to measure speed where
// no large corpus is at hand. By default as large a vocabulary as that of the 1 Billion Word
// Benchmark, in sentences. See support/zipf_text.hpp. With --planted, a text with relations between
// its words, and test sets of these relations, to measure quality. See support/planted_text.hpp.
#include <CLI/CLI.hpp>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <wordloom/core/error.hpp>
#include <wordloom/core/files.hpp>

#include "command_line.hpp"
#include "support/planted_text.hpp"
#include "support/zipf_text.hpp"

namespace {

void write_file(const std::filesystem::path& path, std::string_view text) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) throw wordloom::IoError::from_errno("create", path.parent_path(), error.value());
  wordloom::AtomicFile file(path);
  file.write(text);
  file.commit();
}

/// Writes the test sets to the files where `evaluate --suite` looks for them.
void write_test_sets(const PlantedText& text, const std::filesystem::path& folder) {
  write_file(folder / "similarity" / "ws353.tsv", text.similarity());
  write_file(folder / "similarity" / "simlex999.tsv", text.similarity_of_rare_stems());
  write_file(folder / "analogy" / "questions-words.txt", text.analogies());
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Writes a made-up text with the word frequencies of a language");
  std::string output, test_sets;
  ZipfText::Options options;
  PlantedText::Options planted_options;
  app.add_option("--output", output, "File to write; - is standard output")->required();
  app.add_option("--tokens", options.tokens, "Words of the text")
      ->check(whole_number)
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Seed")->check(whole_number)->capture_default_str();

  CLI::Option_group& zipf = *app.add_option_group("Words drawn from a law of frequencies");
  zipf.add_option("--words", options.words, "Words of the vocabulary; each occurs at least once")
      ->check(whole_number)
      ->capture_default_str();
  zipf.add_option("--exponent", options.exponent,
                  "The word of rank r has weight (r + shift)^-exponent")
      ->capture_default_str();
  zipf.add_option("--shift", options.shift, "The shift of that law")->capture_default_str();
  zipf.add_option("--line-words", options.line_words, "Words of a line, in the mean")
      ->check(whole_number)
      ->capture_default_str();
  zipf.add_flag(
      "--fixed-lines", options.fixed_lines,
      "All lines have as many words. Without, their lengths vary as those of sentences do");

  CLI::Option_group& relations = *app.add_option_group("Words with planted relations");
  CLI::Option* const planted = relations.add_option(
      "--planted", test_sets,
      "Write sentences about topics, with words in forms, and test sets of similarity and "
      "analogies to this folder, for evaluate --suite and scale_ranks --evaluate");
  relations
      .add_option("--stems", planted_options.stems,
                  "Stems of such a text; each makes a word in each of 4 forms")
      ->check(whole_number)
      ->needs(planted)
      ->capture_default_str();
  zipf.set_help_flag();  // each group has one of its own, which --planted would exclude
  for (CLI::Option* option : zipf.get_options()) planted->excludes(option);
  set_rules_of_values(app);
  set_rules_of_values(relations);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  }
  const auto write = [&](const auto& text) {
    wordloom::AtomicFile file(output);
    if constexpr (requires { text.analogies(); }) write_test_sets(text, test_sets);
    text.write([&](std::string_view piece) { file.write(piece); });
    file.commit();
  };
  if (planted->count() == 0) {
    write(ZipfText(options));
  } else {
    planted_options.tokens = options.tokens;
    planted_options.seed = options.seed;
    write(PlantedText(planted_options));
  }
} catch (const std::exception& error) {
  std::cerr << "make_text: error: " << error.what() << '\n';
  return 1;
}
