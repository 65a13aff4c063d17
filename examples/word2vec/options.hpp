#pragma once
#include <CLI/CLI.hpp>
#include <cctype>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>
#include <wordloom/registry.hpp>
#include <wordloom/wordloom.hpp>

#include "command_line.hpp"
#include "composition.hpp"
#include "distinct_files.hpp"
#include "gpu.hpp"

/// The options of the command line.
struct Options {
  std::string train, output, save_vocab, read_vocab, cache, load_model, save_model;
  bool new_words = false;
  wordloom::Hyperparameters parameters;
  std::uint64_t min_count = 5;
  std::size_t max_vocabulary = 0;
  std::size_t max_sentence = 1000;
  int binary = 0;
  std::string format;   // empty: by `binary`
  std::string sampler;  // empty: by `cbow`
  std::string kernel = "fused", cbow_gradient = "mean";
  std::vector<std::string> evaluate_similarity, evaluate_analogy;
  bool list_policies = false, stream = false, json = false, quiet = false;
  std::string checkpoint;
  double checkpoint_every = 600;
  bool resume = false;
  std::string sync = "none";
  bool sync_bf16 = false;
  wordloom::SyncOptions sync_options;
  std::optional<double> alpha;
  int cbow = 0, hs = 0, debug = 2, classes = 0;

  Composition composition() const {
    const auto gradient =
        cbow_gradient == "mean" ? wordloom::BagGradient::mean : wordloom::BagGradient::whole;
    return {sampler,     kernel,     parameters,
            gradient,    checkpoint, std::chrono::duration<double>(checkpoint_every),
            resume,      sync,       sync_bf16,
            sync_options};
  }
};

/// Refuses names that a registry does not have.
template <class Names>
inline const CLI::Validator registered(
    [](std::string& name) {
      return Names::contains(name) ? std::string() : name + " is none of " + Names::names();
    },
    "");

/// Adds every option to `app`; values go to `options`.
inline void declare(CLI::App& app, Options& options) {
  auto& p = options.parameters;
  const std::string files = "Files", training = "Training", method = "Method", results = "Results";

  app.add_option("--train", options.train, "Text to train on, plain or .gz; - is standard input")
      ->group(files);
  app.add_option("--output", options.output, "Where the vectors go; - is standard output")
      ->group(files);
  app.add_option("--binary", options.binary, "1: word2vec binary, 0: text")
      ->check(CLI::Range(0, 1))
      ->capture_default_str()
      ->group(files);
  app.add_option("--format", options.format,
                 "Format of the vectors, instead of --binary: " + wordloom::vector_format_names())
      ->group(files);
  app.add_option("--save-vocab", options.save_vocab, "Where the vocabulary goes")->group(files);
  app.add_option("--read-vocab", options.read_vocab, "Vocabulary to use instead of counting")
      ->group(files);
  app.add_option("--save-model", options.save_model,
                 "Where the whole model goes, to train it on later")
      ->group(files);
  app.add_option("--load-model", options.load_model,
                 "Train this model on, with its vocabulary, instead of a new one")
      ->group(files);
  app.add_flag("--new-words", options.new_words,
               "Add the words of the text to the vocabulary of --load-model")
      ->group(files);
  app.add_option("--cache", options.cache, "Keep the encoded text in this file and reuse it")
      ->group(files);
  app.add_option("--checkpoint", options.checkpoint,
                 "Write the state of training to this file now and then, and when interrupted")
      ->group(files);
  app.add_option("--checkpoint-every", options.checkpoint_every,
                 "Time between two of them, in seconds or as 30s, 10min, 2h")
      ->transform(CLI::AsNumberWithUnit(
          std::map<std::string, double>{{"s", 1.0}, {"min", 60.0}, {"h", 3600.0}}))
      ->capture_default_str()
      ->group(files);
  app.add_flag("--resume", options.resume, "Resume from the file of --checkpoint")->group(files);
  app.add_flag("--stream", options.stream, "Read the text anew in each epoch, never hold it")
      ->group(files);

  app.add_option("--size", p.dimension, "Floats in a vector")
      ->check(whole_number)
      ->capture_default_str()
      ->group(training);
  app.add_option("--window", p.window, "Context words on each side, at most")
      ->check(whole_number)
      ->capture_default_str()
      ->group(training);
  app.add_option("--negative", p.negatives, "Negative words for a positive one")
      ->check(whole_number)
      ->capture_default_str()
      ->group(training);
  app.add_option("--sample", p.subsample, "Subsampling threshold, 0 = off")
      ->capture_default_str()
      ->group(training);
  app.add_option("--alpha", options.alpha,
                 "Learning rate at the start. Without: 0.025; CBOW 0.075, or 0.05 with "
                 "--cbow-gradient whole")
      ->group(training);
  app.add_option("--iter", p.epochs, "Epochs")
      ->check(whole_number)
      ->capture_default_str()
      ->group(training);
  app.add_option("--threads", p.threads, "Threads, 0 = all")
      ->check(whole_number)
      ->capture_default_str()
      ->group(training);
  app.add_flag("--pin", p.pin_threads, "Pin each thread to a processor")->group(training);
  app.add_option("--private-rows", p.private_rows,
                 "Number of frequent rows of each matrix that each thread copies, 0 = none, as "
                 "word2vec")
      ->check(whole_number)
      ->capture_default_str()
      ->group(training);
  app.add_option("--min-count", options.min_count, "Words rarer than this are dropped")
      ->check(whole_number)
      ->capture_default_str()
      ->group(training);
  app.add_option("--max-vocabulary", options.max_vocabulary,
                 "Keep the most frequent words, 0 = all")
      ->check(whole_number)
      ->capture_default_str()
      ->group(training);
  app.add_option("--max-sentence", options.max_sentence,
                 "Longer lines are split at this many words")
      ->check(whole_number)
      ->capture_default_str()
      ->group(training);
  app.add_option("--hs-sample", p.node_sample,
                 "Threshold of the subsampling of frequent nodes of the Huffman tree; 0: all "
                 "nodes, as word2vec")
      ->capture_default_str()
      ->group(training);
  app.add_option("--negative-exponent", p.negative_exponent, "Negatives are drawn by count to this")
      ->capture_default_str()
      ->group(training);
  app.add_option("--seed", p.seed, "Seed of all random streams")
      ->check(whole_number)
      ->capture_default_str()
      ->group(training);

  app.add_option("--sampler", options.sampler,
                 wordloom::Samplers::names(" | ") + ". Without: shared, or cbow with --cbow 1")
      ->check(registered<wordloom::Samplers>)
      ->group(method);
  app.add_option("--kernel", options.kernel,
                 wordloom::Kernels::names(" | ") +
                     " | cuda-warp | cuda-ring | cuda-register | cuda-sentence | cuda-gemm")
      ->capture_default_str()
      ->group(method);
  app.add_option("--cbow", options.cbow, "1: CBOW, 0: skip-gram")
      ->check(CLI::Range(0, 1))
      ->capture_default_str()
      ->group(method);
  app.add_option(
         "--cbow-gradient", options.cbow_gradient,
         "What a context word of CBOW receives: mean, its share of the gradient; whole, all "
         "of it, as word2vec does")
      ->check(CLI::IsMember({"mean", "whole"}))
      ->capture_default_str()
      ->group(method);
  app.add_option("--hs", options.hs,
                 "1: hierarchical softmax, together with negatives unless --negative is 0")
      ->check(CLI::Range(0, 1))
      ->capture_default_str()
      ->group(method);
  app.add_option("--device", p.device, "Which GPU, counted from 0")
      ->check(whole_number)
      ->capture_default_str()
      ->group(method);
  app.add_option("--in-flight", p.sentences_in_flight,
                 "Sentences that a GPU trains at a time, 0 = by the sizes of things")
      ->check(whole_number)
      ->capture_default_str()
      ->group(method);
  app.add_option(
         "--minibatch", p.minibatch,
         "Words that minibatch, combined or grouped train together, 0 = as the sampler says")
      ->check(whole_number)
      ->capture_default_str()
      ->group(method);
  app.add_option("--shared-negatives", p.shared_negatives,
                 "Negatives that they share, 0 = as the sampler says")
      ->check(whole_number)
      ->capture_default_str()
      ->group(method);

  app.add_option("--sync", options.sync,
                 "none | mpi: train together with the other processes of mpirun | nccl: those with "
                 "a GPU each")
      ->check(CLI::IsMember({"none", "mpi", "nccl"}))
      ->capture_default_str()
      ->group(method);
  app.add_option(
         "--sync-bytes-per-word", options.sync_options.bytes_per_word,
         "Bytes that a process may send for each word that it trains, 0 = 8 for each process")
      ->capture_default_str()
      ->group(method);
  app.add_flag("--sync-bf16", options.sync_bf16, "Changes travel as 16-bit floats, half the bytes")
      ->group(method);
  app.add_option("--sync-interval", options.sync_options.interval,
                 "Words of a process from one synchronisation to the next, 0 = by the bytes")
      ->check(whole_number)
      ->capture_default_str()
      ->group(method);
  app.add_option(
         "--sync-first-rows", options.sync_options.first_rows,
         "Rows that travel each time, twice as many each second time, and so on, 0 = by the "
         "number of processes")
      ->check(whole_number)
      ->capture_default_str()
      ->group(method);

  app.add_option("--evaluate-similarity", options.evaluate_similarity,
                 "Score the vectors on word pairs (word word score); may be given again")
      ->group(results);
  app.add_option("--evaluate-analogy", options.evaluate_analogy,
                 "Score the vectors on analogies (questions-words.txt); may be given again")
      ->group(results);
  app.add_flag("--list-policies", options.list_policies,
               "Print the names of all samplers and kernels as JSON and end")
      ->group(results);
  app.add_flag("--json", options.json, "One JSON object on stdout at the end")->group(results);
  app.add_flag("--quiet", options.quiet, "No progress on stderr")->group(results);

  // Accepted so that scripts written for the original program run; what is not there is refused.
  const std::string original = "Of the original program";
  app.add_option("--classes", options.classes, "Only 0: vectors, no classes")->group(original);
  app.add_option("--debug", options.debug, "0: as --quiet")->group(original);
}

/// The original program's `-train` is our `--train`; one-letter options and negative numbers stay.
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

inline wordloom::VectorFormat output_format(const Options& options) {
  if (!options.format.empty()) return wordloom::vector_format(options.format);
  return options.binary == 1 ? wordloom::VectorFormat::word2vec_binary
                             : wordloom::VectorFormat::word2vec_text;
}

inline bool is_cbow(std::string_view sampler) { return sampler.find("cbow") != sampler.npos; }

/// Makes `sampler` the name in the registry that --sampler, --cbow, --hs and --negative mean.
inline void choose_sampler(Options& options) {
  std::string& name = options.sampler;
  if (name.empty()) name = options.cbow == 1 ? "cbow" : "shared";
  if (options.cbow == 1 && !is_cbow(name))
    throw wordloom::InvalidArgument("--cbow 1 does not go with --sampler " + name);
  if (options.hs == 1) {
    const std::string with_tree =
        name + (options.parameters.negatives > 0 ? "-hs-negative" : "-hs");
    if (!wordloom::Samplers::contains(with_tree))
      throw wordloom::InvalidArgument("--hs 1 goes with --sampler hogwild, shared or cbow, not " +
                                      name);
    name = with_tree;
  } else if (options.parameters.negatives == 0 && !name.ends_with("-hs")) {
    throw wordloom::InvalidArgument("--negative is 0: give --hs 1, or 1 to 1000 negatives");
  }
}

/// The files that the command line names, those that are only read first.
inline std::vector<NamedFile> files_of(const Options& options) {
  std::vector<NamedFile> files{{"--train", options.train},
                               {"--read-vocab", options.read_vocab},
                               {"--load-model", options.load_model}};
  for (const auto& path : options.evaluate_similarity)
    files.push_back({"--evaluate-similarity", path});
  for (const auto& path : options.evaluate_analogy) files.push_back({"--evaluate-analogy", path});
  files.push_back({"--output", options.output, true});
  files.push_back({"the file of words beside --output",
                   wordloom::words_path(options.output, output_format(options)), true});
  files.push_back({"--save-vocab", options.save_vocab, true, "--read-vocab"});
  files.push_back({"--save-model", options.save_model, true, "--load-model"});
  files.push_back({"--cache", options.cache, true});
  files.push_back({"--checkpoint", options.checkpoint, true});
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
  choose_sampler(options);
  const bool whole = options.cbow_gradient == "whole";
  if (whole && !is_cbow(options.sampler))
    throw wordloom::InvalidArgument("--cbow-gradient is for --cbow 1");
  options.parameters.learning_rate = options.alpha.value_or(!is_cbow(options.sampler) ? 0.025
                                                            : whole                   ? 0.05
                                                                                      : 0.075);
  if (!is_for_gpu(options.kernel) && !wordloom::Kernels::contains(options.kernel))
    throw wordloom::InvalidArgument(
        "there is no --kernel '" + options.kernel +
        "' in this build, choose one of: " + wordloom::Kernels::names());
  if (options.new_words && options.load_model.empty())
    throw wordloom::InvalidArgument("--new-words needs --load-model");
  if (!options.read_vocab.empty() && !options.load_model.empty() && !options.new_words)
    throw wordloom::InvalidArgument("--load-model has its own vocabulary: leave --read-vocab out");
  if (options.resume && !options.load_model.empty())
    throw wordloom::InvalidArgument("--resume and --load-model exclude each other");
  if (options.debug == 0) options.quiet = true;
  if (options.stream && !options.cache.empty())
    throw wordloom::InvalidArgument("--stream and --cache exclude each other");
  if (options.sync == "nccl") {
    if (!is_for_gpu(options.kernel))
      throw wordloom::InvalidArgument("--sync nccl does not go with --kernel " + options.kernel +
                                      ", whose model is not on a GPU");
#if !WORDLOOM_HAS_NCCL
    throw wordloom::InvalidArgument("--sync nccl needs a build with NCCL (WORDLOOM_ENABLE_NCCL)");
#endif
  }
  if (options.sync_bf16 && options.sync != "mpi")
    throw wordloom::InvalidArgument("--sync-bf16 is for --sync mpi");
  if (!(options.checkpoint_every >= 0))
    throw wordloom::InvalidArgument("--checkpoint-every must be 0 or above");
  if (options.resume && options.checkpoint.empty())
    throw wordloom::InvalidArgument("--resume needs the file of --checkpoint");
  require_distinct(files_of(options));
  wordloom::CorpusOptions{.max_sentence_length = options.max_sentence}.validate();
  options.sync_options.validate();
  options.parameters.validate();
  static_cast<void>(wordloom::target());  // refuses a wrong WORDLOOM_TARGET
}
