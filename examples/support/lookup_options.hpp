#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <wordloom/core/error.hpp>
#include <wordloom/evaluation/word_tests.hpp>

#include "command_line.hpp"

/// The options of a command line for the lookup of words of test sets.
struct LookupOptions {
  std::string letter_case = "fallback";
  std::uint64_t restrict_vocabulary = wordloom::AnalogyReport::Options{}.restrict_vocabulary;

  wordloom::LetterCase chosen_case() const {
    return letter_case == "exact"   ? wordloom::LetterCase::exact
           : letter_case == "lower" ? wordloom::LetterCase::lower
                                    : wordloom::LetterCase::fallback;
  }
};

/// Declares --case.
inline CLI::Option* declare_case(CLI::App& app, LookupOptions& options) {
  return app
      .add_option("--case", options.letter_case,
                  "How words are looked up: exact (as they are written), lower (in lower case) or "
                  "fallback (as they are written, else in lower case)")
      ->check(CLI::IsMember({"exact", "lower", "fallback"}))
      ->capture_default_str();
}

/// Declares --case and --restrict-vocabulary.
inline void declare_lookup(CLI::App& app, LookupOptions& options, const std::string& group) {
  declare_case(app, options)->group(group);
  app.add_option("--restrict-vocabulary", options.restrict_vocabulary,
                 "Use only this many most frequent words in analogies and skip questions with a "
                 "rarer one; 0: all words")
      ->check(whole_number)
      ->capture_default_str()
      ->group(group);
}

/// Throws InvalidArgument if --case is given without a set, or --restrict-vocabulary without
/// analogies; `similarity` and `analogy`: the options that name sets.
inline void check_lookup(const CLI::App& app, const std::string& similarity,
                         const std::string& analogy) {
  const auto refuse = [&](const std::string& option, const std::string& sets) {
    if (app.count(option) > 0)
      throw wordloom::InvalidArgument(option + " has no effect without " + sets);
  };
  if (app.count(analogy) > 0) return;
  refuse("--restrict-vocabulary", analogy);
  if (app.count(similarity) == 0) refuse("--case", similarity + " or " + analogy);
}
