#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "declare_options.hpp"

/// The options of the command line.
struct Options : TrainingOptions {
  std::string train, save_vocab, read_vocab;
  bool new_words = false;
  std::uint64_t min_count = 5;
  std::size_t max_vocabulary = 0;
  std::size_t max_sentence = 1000;
  std::vector<std::string> evaluate_similarity, evaluate_analogy;
  bool stream = false;
  int debug = 2, classes = 0;
};

/// Adds every option to `app`; values go to `options`.
inline void declare(CLI::App& app, Options& options) {
  app.add_option("--train", options.train, "Text to train on, plain or .gz; - is standard input")
      ->group(heading::files);
  declare_output(app, options);
  app.add_option("--save-vocab", options.save_vocab, "Where the vocabulary goes")
      ->group(heading::files);
  app.add_option("--read-vocab", options.read_vocab, "Vocabulary to use instead of counting")
      ->group(heading::files);
  declare_models(app, options);
  app.add_flag("--new-words", options.new_words,
               "Add the words of the text to the vocabulary of --load-model")
      ->group(heading::files);
  app.add_option("--cache", options.cache, "Keep the encoded text in this file and reuse it")
      ->group(heading::files);
  declare_checkpoints(app, options);
  app.add_flag("--stream", options.stream, "Read the text anew in each epoch, never hold it")
      ->group(heading::files);

  declare_training(app, options);
  app.add_option("--min-count", options.min_count, "Words rarer than this are dropped")
      ->check(whole_number)
      ->capture_default_str()
      ->group(heading::training);
  app.add_option("--max-vocabulary", options.max_vocabulary,
                 "Keep the most frequent words, 0 = all")
      ->check(whole_number)
      ->capture_default_str()
      ->group(heading::training);
  app.add_option("--max-sentence", options.max_sentence,
                 "Longer lines are split at this many words")
      ->check(whole_number)
      ->capture_default_str()
      ->group(heading::training);
  declare_randomness(app, options);
  declare_method(app, options);

  app.add_option("--evaluate-similarity", options.evaluate_similarity,
                 "Score the vectors on word pairs (word word score); may be given again")
      ->group(heading::results);
  app.add_option("--evaluate-analogy", options.evaluate_analogy,
                 "Score the vectors on analogies (questions-words.txt); may be given again")
      ->group(heading::results);
  declare_results(app, options);

  // Accepted so that scripts written for the original program run; what is not there is refused.
  const std::string original = "Of the original program";
  app.add_option("--classes", options.classes, "Only 0: vectors, no classes")->group(original);
  app.add_option("--debug", options.debug, "0: as --quiet")->group(original);
}

/// The files that the command line names, those that are only read first.
inline std::vector<NamedFile> files_of(const Options& options) {
  std::vector<NamedFile> files{{"--train", options.train},
                               {"--read-vocab", options.read_vocab},
                               {"--load-model", options.load_model}};
  for (const auto& path : options.evaluate_similarity)
    files.push_back({"--evaluate-similarity", path});
  for (const auto& path : options.evaluate_analogy) files.push_back({"--evaluate-analogy", path});
  add_output_files(files, options);
  files.push_back({"--save-vocab", options.save_vocab, true, "--read-vocab"});
  add_written_files(files, options);
  return files;
}

/// Throws InvalidArgument for what parses but cannot be done.
inline void check(Options& options) {
  const auto only_zero = [](const char* name, int value, const char* what) {
    if (value != 0)
      throw wordloom::InvalidArgument(std::string("--") + name + " is " + std::to_string(value) +
                                      ", must be 0: " + what);
  };
  only_zero("classes", options.classes, "this program writes vectors");
  if (options.train.empty())
    throw wordloom::InvalidArgument("--train is required (--help lists the options)");
  if (options.train == wordloom::detail::standard_stream &&
      (!options.cache.empty() || options.sync != "none"))
    throw wordloom::InvalidArgument("--cache and --sync need a file as --train, not -");
  choose_method(options);
  if (options.new_words && options.load_model.empty())
    throw wordloom::InvalidArgument("--new-words needs --load-model");
  if (!options.read_vocab.empty() && !options.load_model.empty() && !options.new_words)
    throw wordloom::InvalidArgument("--load-model has its own vocabulary: leave --read-vocab out");
  if (options.debug == 0) options.quiet = true;
  if (options.stream && !options.cache.empty())
    throw wordloom::InvalidArgument("--stream and --cache exclude each other");
  check(static_cast<const TrainingOptions&>(options));
  require_distinct(files_of(options));
  wordloom::CorpusOptions{.max_sentence_length = options.max_sentence}.validate();
}
