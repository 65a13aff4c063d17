#pragma once
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "declare_options.hpp"
#include "effects.hpp"
#include "evaluation_sets.hpp"
#include "presets.hpp"
#include "published_systems.hpp"
#include "similar_programs.hpp"

/// The options of the command line.
struct Options : TrainingOptions {
  std::string train, save_vocab, read_vocab;
  bool new_words = false;
  std::uint64_t min_count = 5;
  std::size_t max_vocabulary = 0;
  std::size_t max_sentence = 1000;
  std::vector<std::string> evaluate_similarity, evaluate_analogy;
  LookupOptions lookup;
  bool stream = false, unicode_spaces = false, join_lines = false;
  std::size_t phrases = 0;  // passes; 0: none
  double phrase_threshold = 100;
  std::string save_phrases;
  int debug = 2;
  std::string method = "training";                         // or svd
  double eigenvalue_power = 0.5;                           // of svd
  bool adds_contexts = false;                              // svd
  std::size_t classes = 0;                                 // 0: vectors
  std::string loss;                                        // of fastText; empty: by --hs
  int verbose = 2, word_ngrams = 1, lr_update_rate = 100;  // of fastText
};

/// Adds the options of subwords.
inline void declare_subwords(CLI::App& app, Options& options) {
  const std::string group = "Subwords";
  app.add_option("--maxn", options.subwords.maxn,
                 "Words are means of their n-grams of at most so many characters, as in fastText, "
                 "which has 6; 0: words alone")
      ->check(whole_number)
      ->capture_default_str()
      ->group(group);
  app.add_option("--minn", options.subwords.minn, "Minimum number of characters of an n-gram")
      ->check(whole_number)
      ->capture_default_str()
      ->group(group);
  app.add_option("--bucket,--buckets", options.subwords.buckets,
                 "Rows that n-grams share, by their hash")
      ->check(whole_number)
      ->capture_default_str()
      ->group(group);
}

/// Adds the options of the character CNN.
inline void declare_char_cnn(CLI::App& app, Options& options) {
  app.add_option("--char-cnn", options.char_cnn,
                 "Vectors of words are computed by a character CNN with so many filters of each "
                 "width, a multiple of 16, such as 128; 0: words have vectors of their own")
      ->check(whole_number)
      ->capture_default_str()
      ->group("Subwords");
  app.add_option("--char-cnn-positions", options.char_cnn_positions,
                 "Each filter has a feature for each of so many places in a word, such as 12 "
                 "(flattened, as in W2V-CL); 0: one for its largest value")
      ->check(whole_number)
      ->capture_default_str()
      ->group("Subwords");
  app.add_flag("--end-to-end", options.end_to_end,
               "Train the character CNN by the gradient of each minibatch or column, as in W2V-CL, "
               "not in rounds: about 10 times slower")
      ->group("Subwords");
}

/// Adds the options of --method svd.
inline void declare_svd(CLI::App& app, Options& options) {
  app.add_option("--method", options.method,
                 "training | svd: factorise the positive mutual information of words and their "
                 "contexts, minus log of --negative, without which nothing is subtracted")
      ->check(CLI::IsMember({"training", "svd"}))
      ->capture_default_str()
      ->group(heading::method);
  app.add_option("--eigenvalue-power,--eig", options.eigenvalue_power,
                 "Power of the singular values of --method svd, usually 0, 0.5 or 1")
      ->capture_default_str()
      ->group(heading::method);
  app.add_flag("--add-contexts", options.adds_contexts,
               "Add each word's vector as a context, with --method svd (hyperwords: w+c)")
      ->group(heading::method);
}

/// Adds every option to `app`; values go to `options`.
inline void declare(CLI::App& app, Options& options) {
  app.add_option("--train,--input", options.train,
                 "Text to train on, plain or .gz; - is standard input. With --sync, %r in the name "
                 "is replaced by the number of the process: each reads its own text, of about the "
                 "same size")
      ->group(heading::files);
  app.add_flag("--unicode-spaces", options.unicode_spaces,
               "Unicode's spaces, such as U+00A0 and U+3000, separate words too, as in Python's "
               "str.split()")
      ->group(heading::files);
  app.add_flag("--join-lines", options.join_lines,
               "Line ends do not end sentences: the text is cut every --max-sentence words, as in "
               "FULL-W2V")
      ->group(heading::files);
  declare_output(app, options);
  app.add_option("--save-vocab", options.save_vocab, "File for the vocabulary")
      ->group(heading::files);
  app.add_option("--read-vocab", options.read_vocab, "Vocabulary to use instead of counting")
      ->group(heading::files);
  app.add_option("--phrases", options.phrases,
                 "Learn phrases of the text in so many passes, such as 1, and train them as words "
                 "(new_york), as after word2phrase; 0: none")
      ->check(whole_number)
      ->capture_default_str()
      ->group(heading::files);
  app.add_option("--phrase-threshold", options.phrase_threshold,
                 "Of --phrases: they score above it")
      ->capture_default_str()
      ->group(heading::files);
  app.add_option("--save-phrases", options.save_phrases,
                 "File for the phrases, which word2phrase --read-phrases joins in other texts")
      ->group(heading::files);
  declare_models(app, options);
  app.add_option("--pretrained-vectors,--pretrainedVectors", options.pretrained,
                 "Vectors, in any format, that initialize the words of a new model")
      ->group(heading::files);
  app.add_flag("--new-words", options.new_words,
               "Add the words of the text to the vocabulary of --load-model")
      ->group(heading::files);
  app.add_option("--cache", options.cache, "Keep the encoded text in this file and reuse it")
      ->group(heading::files);
  declare_checkpoints(app, options);
  app.add_flag("--stream", options.stream, "Read the text anew in each epoch, never hold it")
      ->group(heading::files);

  app.add_option("--preset", options.preset,
                 "Method and hyperparameters together: best (the best vectors), fast (about "
                 "word2vec's in 3 epochs), word2vec (its method and defaults). Other options, such "
                 "as --iter, override these")
      ->check(CLI::IsMember(preset_names))
      ->group(heading::training);
  declare_system(app, options);
  declare_training(app, options, fasttext_names);
  app.add_option("--min-count,--minCount,--min_count", options.min_count,
                 "Words rarer than this are dropped; --system w2v-cl has 50")
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
  declare_subwords(app, options);
  declare_char_cnn(app, options);
  declare_svd(app, options);
  declare_method(app, options);

  app.add_option("--evaluate-similarity", options.evaluate_similarity,
                 "Score the vectors on word pairs with scores (WS-353, ...); may be given again")
      ->group(heading::results);
  app.add_option("--evaluate-analogy,--accuracy", options.evaluate_analogy,
                 "Score the vectors on analogies (questions-words.txt, BATS); may be given again")
      ->group(heading::results);
  declare_lookup(app, options.lookup, heading::results);
  declare_results(app, options);

  // Accepted so that scripts written for the original programs run; missing features are refused.
  const std::string original = "Of word2vec and fastText";
  app.add_option("--classes", options.classes,
                 "Write lines 'word class' to --output: so many classes of the words by k-means of "
                 "their vectors; 0: vectors")
      ->check(whole_number)
      ->group(original);
  app.add_option("--debug", options.debug, "0: as --quiet")->group(original);
  app.add_option("--verbose", options.verbose, "Likewise")->group(original);
  app.add_option("--loss", options.loss, "ns | hs, as --hs 0 or --hs 1 --negative 0")
      ->check(CLI::IsMember({"ns", "hs"}))
      ->group(original);
  app.add_option("--wordNgrams", options.word_ngrams, "Only 1")->group(original);
  app.add_option("--lrUpdateRate", options.lr_update_rate, "Has no effect")->group(original);
}

/// The files that the command line names, those that are only read first.
inline std::vector<NamedFile> files_of(const Options& options) {
  std::vector<NamedFile> files{{"--train", options.train},
                               {"--read-vocab", options.read_vocab},
                               {"--load-model", options.load_model},
                               {"--pretrained-vectors", options.pretrained}};
  for (const auto& path : options.evaluate_similarity)
    files.push_back({"--evaluate-similarity", path});
  for (const auto& path : options.evaluate_analogy) files.push_back({"--evaluate-analogy", path});
  add_output_files(files, options);
  files.push_back({"--save-vocab", options.save_vocab, true, "--read-vocab"});
  files.push_back({"--save-phrases", options.save_phrases, true});
  add_written_files(files, options);
  return files;
}

/// Returns whether the command line names a result for which vectors are trained.
inline bool trains(const Options& options) {
  return !options.output.empty() || !options.save_model.empty() || options.json ||
         !options.evaluate_similarity.empty() || !options.evaluate_analogy.empty();
}

/// Refuses a run without a result, and options without effect.
inline void require_effects(const Options& options) {
  const std::string results =
      "--output, --save-model, --evaluate-similarity, --evaluate-analogy or --json";
  if (!trains(options) && options.save_vocab.empty() && options.cache.empty() &&
      options.save_phrases.empty())
    throw wordloom::InvalidArgument("nothing would be written: give " + results +
                                    ", or --save-vocab for the vocabulary alone");
  require_effects_on_method(options);
  require_effects_on_files(options, trains(options), results);
  refuse_two_on_stdout(options,
                       !options.evaluate_similarity.empty() || !options.evaluate_analogy.empty());
  require_effect(options, {"--max-vocabulary"}, options.load_model.empty() || options.new_words,
                 "with --load-model, which has its own vocabulary, unless --new-words adds words");
  // fastText's files record the minimum count.
  require_effect(options, {"--min-count"},
                 options.load_model.empty() || options.new_words || writes_model(options),
                 "with --load-model, which has its own vocabulary, unless --new-words adds words");
}

/// Refuses --phrases beside what has words already or shares the text, and its options without it.
inline void require_effects_on_phrases(const Options& options) {
  require_effect(options, {"--phrase-threshold", "--save-phrases"}, options.phrases > 0,
                 "without --phrases");
  if (options.phrases == 0) return;
  if (!options.read_vocab.empty() || !options.load_model.empty())
    throw wordloom::InvalidArgument(
        "--phrases makes a vocabulary: leave --read-vocab and --load-model out, or join the text "
        "first, by word2phrase --read-phrases");
  if (options.sync != "none")
    throw wordloom::InvalidArgument(
        "--phrases needs the whole text in one process: join it first, by word2phrase");
  if (!(options.phrase_threshold >= 0 && std::isfinite(options.phrase_threshold)))
    throw wordloom::InvalidArgument{"--phrase-threshold is ", options.phrase_threshold,
                                    ", must be at least 0 and finite"};
}

/// Refuses options that --method svd does not read, and its own without it.
inline void require_effects_on_svd(const Options& options) {
  require_effect(options, {"--eigenvalue-power", "--add-contexts"}, options.method == "svd",
                 "without --method svd");
  if (options.method != "svd") return;
  require_read(options,
               {"--train",
                "--input",
                "--unicode-spaces",
                "--join-lines",
                "--output",
                "--binary",
                "--format",
                "--phrases",
                "--phrase-threshold",
                "--save-phrases",
                "--save-vocab",
                "--read-vocab",
                "--cache",
                "--stream",
                "--size",
                "--dim",
                "--window",
                "--ws",
                "--negative",
                "--neg",
                "--sample",
                "-t",
                "--threads",
                "--thread",
                "--min-count",
                "--minCount",
                "--min_count",
                "--max-vocabulary",
                "--max-sentence",
                "--negative-exponent",
                "--seed",
                "--method",
                "--eigenvalue-power",
                "--eig",
                "--add-contexts",
                "--evaluate-similarity",
                "--evaluate-analogy",
                "--accuracy",
                "--case",
                "--restrict-vocabulary",
                "--list-policies",
                "--json",
                "--quiet",
                "--classes",
                "--debug",
                "--verbose"},
               "with --method svd");
  if (options.parameters.negatives == 0)
    throw wordloom::InvalidArgument(
        "--negative is 0, whose logarithm cannot be subtracted: leave it out for 1");
  if (writes_model(options))
    throw wordloom::InvalidArgument("--format fasttext is for models of --method training");
}

/// Returns whether --train names a text of each process.
inline bool has_own_texts(const Options& options) {
  return options.train.find("%r") != options.train.npos && options.sync != "none";
}

/// Throws InvalidArgument for options that parse but cannot be honoured.
inline void check(Options& options) {
  const auto only = [](int accepted, const char* name, int value, const char* what) {
    if (value != accepted)
      throw wordloom::InvalidArgument(std::string("--") + name + " is " + std::to_string(value) +
                                      ", must be " + std::to_string(accepted) + ": " + what);
  };
  only(1, "wordNgrams", options.word_ngrams, "this program trains no classifier");
  if (options.train.empty())
    throw wordloom::InvalidArgument("--train is required (--help lists the options)");
  if (options.train == "-" && (!options.cache.empty() || options.sync != "none"))
    throw wordloom::InvalidArgument("--cache and --sync need a file as --train, not -");
  require_effects_on_svd(options);
  if (!options.loss.empty()) {
    const int hs = options.loss == "hs" ? 1 : 0;
    if (options.is_given("--hs") && options.hs != hs)
      throw wordloom::InvalidArgument("--loss " + options.loss + " and --hs " +
                                      std::to_string(options.hs) + " exclude each other");
    options.hs = hs;
  }
  if (options.loss == "hs") options.parameters.negatives = 0;
  choose_preset(options);
  choose_system(options);
  // Li et al. 2019 drop rarer words; the other systems have word2vec's minimum.
  if (options.system == "w2v-cl" && !options.is_given("--min-count")) options.min_count = 50;
  choose_method(options);
  if (has_own_texts(options) && owns_rows(options) && !trains_strata(options))
    throw wordloom::InvalidArgument("--sampler " + options.sampler +
                                    " needs the whole text in each process: give a --train without "
                                    "%r, not " +
                                    options.train);
  if (options.train.find("%r") != options.train.npos && options.sync == "none" &&
      !std::filesystem::exists(options.train))
    throw wordloom::IoError{"'", options.train, "': No such file or directory; %r is replaced by ",
                            "the number of a process only with --sync mpi: give that, or a file"};
  if (options.new_words && options.load_model.empty())
    throw wordloom::InvalidArgument("--new-words needs --load-model");
  if (!options.read_vocab.empty() && !options.load_model.empty() && !options.new_words)
    throw wordloom::InvalidArgument("--load-model has its own vocabulary: leave --read-vocab out");
  if (options.debug == 0 || options.verbose == 0) options.quiet = true;
  if (options.stream && !options.cache.empty())
    throw wordloom::InvalidArgument("--stream and --cache exclude each other");
  check(static_cast<const TrainingOptions&>(options));
  require_distinct(files_of(options));
  require_effects(options);
  require_effects_on_phrases(options);
  if (options.classes > 0 && (options.output.empty() || writes_model(options)))
    throw wordloom::InvalidArgument(
        "--classes writes lines 'word class' to --output FILE: give that, not --format fasttext");
  require_effect(options, {"--format"}, options.classes == 0, "with --classes");
  if (options.max_sentence == 0)
    throw wordloom::InvalidArgument("--max-sentence is 0, must be above 0");
}
