#pragma once
#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>
#include <wordloom/registry.hpp>
#include <wordloom/wordloom.hpp>

#include "command_line.hpp"
#include "training_options.hpp"

/// The headings of the help.
namespace heading {
inline const std::string files = "Files", training = "Training", method = "Method",
                         results = "Results";
}

/// Options that have several names in a program: "--size" maps to "--size,--dimensions".
struct Aliases {
  std::map<std::string, std::string> names = {};

  const std::string& operator()(const std::string& name) const {
    const auto found = names.find(name);
    return found == names.end() ? name : found->second;
  }
};

/// Returns all names of some registries, with `separator` between them.
template <class First, class... Registries>
std::string names(std::string_view separator = ", ") {
  std::string all = First::names(separator);
  ((all.append(separator).append(Registries::names(separator))), ...);
  return all;
}

/// Refuses names that are in none of the registries. Takes those of samplers with "-fixed".
template <class... Registries>
inline const CLI::Validator registered(
    [](std::string& name) {
      return (Registries::contains(without_fixed(name)) || ...)
                 ? std::string()
                 : name + " is not one of " + names<Registries...>();
    },
    "");

/// Refuses a text that is neither a number of words nor `epoch`, and converts it to its number.
inline const CLI::Validator words_or_epoch(
    [](std::string& text) {
      if (text == "epoch") text = std::to_string(wordloom::SyncOptions::epoch);
      return is_whole_number(text) ? std::string()
                                   : "must be a number of words or epoch, not " + text;
    },
    "");

/// Converts a time such as 30s, 10min or 2h to seconds.
inline const CLI::AsNumberWithUnit seconds(std::map<std::string, double>{
    {"s", 1.0}, {"min", 60.0}, {"h", 3600.0}});

/// Adds the options of the file of vectors.
inline void declare_output(CLI::App& app, TrainingOptions& options, const Aliases& named = {}) {
  app.add_option(named("--output"), options.output, "File for the vectors; - is standard output")
      ->group(heading::files);
  app.add_option(named("--binary"), options.binary, "1: word2vec binary, 0: text")
      ->check(CLI::Range(0, 1))
      ->capture_default_str()
      ->group(heading::files);
  app.add_option(
         named("--format"), options.format,
         "Format of the vectors, instead of --binary: " + wordloom::VectorFile::format_names())
      ->group(heading::files);
}

/// Adds the options of saved models.
inline void declare_models(CLI::App& app, TrainingOptions& options) {
  app.add_option("--save-model", options.save_model,
                 "File for the whole model, to continue its training later")
      ->group(heading::files);
  app.add_option("--load-model", options.load_model,
                 "Continue to train this model, with its vocabulary; also fastText's")
      ->group(heading::files);
}

/// Adds the options of checkpoints.
inline void declare_checkpoints(CLI::App& app, TrainingOptions& options) {
  app.add_option("--checkpoint", options.checkpoint,
                 "Write the state of training to this file periodically and when interrupted")
      ->group(heading::files);
  app.add_option("--checkpoint-every", options.checkpoint_every,
                 "Time between two checkpoints, in seconds or as 30s, 10min, 2h")
      ->transform(seconds)
      ->capture_default_str()
      ->group(heading::files);
  app.add_flag("--resume", options.resume, "Resume from the file of --checkpoint")
      ->group(heading::files);
}

/// Adds the hyperparameters that most runs set.
inline void declare_training(CLI::App& app, TrainingOptions& options, const Aliases& named = {}) {
  auto& p = options.parameters;
  app.add_option(named("--size"), p.dimension, "Floats in a vector")
      ->check(whole_number)
      ->capture_default_str()
      ->group(heading::training);
  app.add_option(named("--window"), p.window, "Maximum number of context words on each side")
      ->check(whole_number)
      ->capture_default_str()
      ->group(heading::training);
  app.add_option(named("--negative"), p.negatives, "Negative words for a positive one")
      ->check(whole_number)
      ->capture_default_str()
      ->group(heading::training);
  app.add_option(named("--sample"), p.subsample, "Subsampling threshold, 0 = off")
      ->capture_default_str()
      ->group(heading::training);
  app.add_option(
         named("--alpha"), options.alpha,
         "Learning rate at the start. Without: 0.025, or 0.05 with subwords; CBOW 0.1, or 0.075 "
         "with --hs 1, 0.15 with --cbow-gradient mean, 0.05 with whole; uniform 0.05; 0.1 with "
         "adagrad or row-adagrad; 0.01 with adam or rmsprop, of uniform 0.003; 0.001 with "
         "cuda-bidmach")
      ->group(heading::training);
  app.add_option(named("--iter"), p.epochs, "Epochs")
      ->check(whole_number)
      ->capture_default_str()
      ->group(heading::training);
  app.add_option(named("--threads"), p.threads, "Threads, 0 = all")
      ->check(whole_number)
      ->capture_default_str()
      ->group(heading::training);
  app.add_option("--schedule", options.schedule,
                 "Schedule of the learning rate: linear, to 1e-4 of the start, from a higher start "
                 "with more processes; epoch, once an epoch; cosine; steep, from a still higher "
                 "one and faster with more processes; or constant")
      ->check(CLI::IsMember(std::vector<std::string>(wordloom::AnySchedule::names.begin(),
                                                     wordloom::AnySchedule::names.end())))
      ->capture_default_str()
      ->group(heading::training);
  app.add_flag("--pin", p.pin_threads, "Pin each thread to a processor")->group(heading::training);
  app.add_option(named("--private-rows"), p.private_rows,
                 "Number of frequent rows of each matrix that each thread copies at most, 0 = "
                 "none, as word2vec")
      ->check(whole_number)
      ->capture_default_str()
      ->group(heading::training);
}

/// Adds the remaining hyperparameters.
inline void declare_randomness(CLI::App& app, TrainingOptions& options, const Aliases& named = {}) {
  auto& p = options.parameters;
  app.add_option(named("--hs-sample"), p.node_sample,
                 "Threshold of the subsampling of frequent nodes of the Huffman tree; 0: all "
                 "nodes, as word2vec")
      ->capture_default_str()
      ->group(heading::training);
  app.add_option(named("--negative-exponent"), p.negative_exponent,
                 "Negatives are drawn in proportion to count to this power")
      ->capture_default_str()
      ->group(heading::training);
  app.add_option(
         "--negative-pool", p.negative_pool,
         "Draws that each thread picks its negatives from, each about 8 times, so that their "
         "rows stay in the cache; for vocabularies of 128 times as many words and more. 0: "
         "each negative is drawn anew, as word2vec")
      ->check(whole_number)
      ->capture_default_str()
      ->group(heading::training);
  app.add_option(named("--seed"), p.seed, "Seed of all random streams")
      ->check(whole_number)
      ->capture_default_str()
      ->group(heading::training);
}

/// Adds the options of policies, the GPU and processes.
inline void declare_method(CLI::App& app, TrainingOptions& options) {
  auto& p = options.parameters;
  app.add_option("--sampler", options.sampler,
                 names<wordloom::Policies::Samplers, wordloom::Policies::StratumSamplers,
                       wordloom::Policies::ColumnSamplers>(" | ") +
                     ". With -fixed at the end (shared-fixed): windows of always ceil(W / 2) "
                     "words on each side. Without: shared, or cbow with --cbow 1")
      ->check(registered<wordloom::Policies::Samplers, wordloom::Policies::StratumSamplers,
                         wordloom::Policies::ColumnSamplers>)
      ->group(heading::method);
  app.add_option("--kernel", options.kernel,
                 names<wordloom::Policies::Kernels, wordloom::Policies::RowKernels>(" | ") +
                     " | cuda-warp | cuda-ring | cuda-register | cuda-sentence | cuda-word"
                     " | cuda-gemm | cuda-wombat | cuda-bidmach | cuda-uniform")
      ->capture_default_str()
      ->group(heading::method);
  app.add_option("--optimizer", options.optimizer,
                 wordloom::Policies::Optimizers::names(" | ") +
                     "; row-adagrad with --kernel fused, others with dot and not for CBOW; of "
                     "uniform with any kernel")
      ->check(registered<wordloom::Policies::Optimizers>)
      ->capture_default_str()
      ->group(heading::method);
  app.add_option("--context-size", options.context_size,
                 "Contexts of each word in an epoch of --sampler uniform")
      ->check(whole_number)
      ->capture_default_str()
      ->group(heading::method);
  app.add_option("--contexts", options.contexts,
                 "Keep those contexts in this file and reuse it; without: new ones in each epoch")
      ->group(heading::files);
  app.add_option("--cbow", options.cbow, "1: CBOW, 0: skip-gram")
      ->check(CLI::Range(0, 1))
      ->capture_default_str()
      ->group(heading::method);
  app.add_option("--cbow-gradient", options.cbow_gradient,
                 "Part of the gradient for each of n context words of CBOW: root, 1 / sqrt(n), the "
                 "default; mean, 1 / n, the derivative; whole, all of it, as in word2vec")
      ->check(CLI::IsMember({"root", "mean", "whole"}))
      ->group(heading::method);
  app.add_option(
         "--block-contexts", options.block_contexts,
         "Context words of a window of --sampler shared that have negatives of their own and are "
         "trained one after the other, as by hogwild; 0: all are scored before any is trained, "
         "which takes less time and, in wide windows, overshoots. Of --sampler stratified: "
         "contexts of a word that share negatives, 0 = 10")
      ->check(whole_number)
      ->group(heading::method);
  app.add_option(
         "--strata", options.strata,
         "Strata of each matrix with --sampler stratified: a process needs one or more, and "
         "uses --block-threads for each at most; 0 = 32, fewer for less than 16,384 words")
      ->check(whole_number)
      ->capture_default_str()
      ->group(heading::method);
  app.add_option(
         "--block-threads", options.block_threads,
         "Threads that train a block of --sampler stratified at a time, as hogwild does, so "
         "that a process can have so many times as many threads as strata; above 1, runs of "
         "several threads differ")
      ->check(whole_number)
      ->capture_default_str()
      ->group(heading::method);
  app.add_option("--episode", options.episode,
                 "Words whose pairs --sampler stratified sorts and trains together, of all "
                 "processes, each of which sends one matrix meanwhile; 0 = 64 for each word of the "
                 "vocabulary, and at least 16 episodes in a run")
      ->check(whole_number)
      ->capture_default_str()
      ->group(heading::method);
  app.add_option("--hs", options.hs,
                 "1: hierarchical softmax, together with negatives unless --negative is 0")
      ->check(CLI::Range(0, 1))
      ->capture_default_str()
      ->group(heading::method);
  app.add_option("--device", p.device, "GPU to use, counted from 0")
      ->check(whole_number)
      ->capture_default_str()
      ->group(heading::method);
  app.add_option("--in-flight", p.sentences_in_flight,
                 "Sentences that a GPU trains at a time, 0 = chosen automatically")
      ->check(whole_number)
      ->capture_default_str()
      ->group(heading::method);
  app.add_option(
         "--minibatch", p.minibatch,
         "Words that minibatch, combined or grouped train together, 0 = the sampler's default")
      ->check(whole_number)
      ->capture_default_str()
      ->group(heading::method);
  app.add_option("--shared-negatives", p.shared_negatives,
                 "Negatives that these words share, 0 = the sampler's default")
      ->check(whole_number)
      ->capture_default_str()
      ->group(heading::method);
  app.add_option("--sync", options.sync,
                 "none | mpi: train together with the other processes of mpirun | nccl: the same "
                 "with a GPU each")
      ->check(CLI::IsMember({"none", "mpi", "nccl"}))
      ->capture_default_str()
      ->group(heading::method);
  app.add_option("--sync-bytes-per-word", options.sync_options.bytes_per_word,
                 "Bytes that a process may send for each word that it trains, 0 = 8 for each "
                 "process as fp32, less in fewer bits, and up to 32 with more processes")
      ->capture_default_str()
      ->group(heading::method);
  app.add_option("--sync-rule", options.sync_rule,
                 "Rule that combines the processes' changes of a row: coherent, ours, adds "
                 "different changes and averages similar ones; average, over all processes; "
                 "touched, over those that changed the row; or sum")
      ->check(CLI::IsMember(std::vector<std::string>(wordloom::SyncOptions::Rule::names.begin(),
                                                     wordloom::SyncOptions::Rule::names.end())))
      ->capture_default_str()
      ->group(heading::method);
  std::vector<std::string> formats;
  for (const auto& [name, format] : wordloom::SyncOptions::formats) formats.emplace_back(name);
  app.add_option(
         "--sync-format", options.sync_format,
         "Numbers in which changes are exchanged: 32-bit or 16-bit floats, or quantised "
         "with error feedback to 8, 4, 2 or 1 bits; auto: 4bit between machines; "
         "fp32 on one machine, on GPUs, with --sync-interval epoch and for other rules than "
         "coherent. Rows of --sampler stratified: fp32, bf16 or 8bit; auto: 8bit between machines")
      ->check(CLI::IsMember(formats))
      ->capture_default_str()
      ->group(heading::method);
  app.add_flag_callback(
         "--sync-bf16", [&options] { options.sync_format = "bf16"; }, "Same as --sync-format bf16")
      ->group(heading::method);
  app.add_option("--sync-interval", options.sync_options.interval,
                 "Words of a process between two synchronisations, 0 = by --sync-bytes-per-word; "
                 "or epoch: all rows, only at the end of each epoch")
      ->transform(words_or_epoch)
      ->capture_default_str()
      ->group(heading::method);
  app.add_option(
         "--sync-overlap", options.sync_options.overlap,
         "1: exchanged changes take effect as soon as they arrive; 0: at the next "
         "synchronisation, so that a seed gives the same vectors each time with --threads 1")
      ->capture_default_str()
      ->group(heading::method);
  app.add_option("--sync-timeout", options.sync_timeout,
                 "Longest wait for another process, in seconds or as 10min, 2h; then training ends "
                 "with an error. 0: no limit")
      ->transform(seconds)
      ->capture_default_str()
      ->group(heading::method);
  app.add_option("--sync-first-rows", options.sync_options.first_rows,
                 "Rows exchanged each time, twice as many each second time, and so on, 0 = by the "
                 "number of processes")
      ->check(whole_number)
      ->capture_default_str()
      ->group(heading::method);
}

/// Adds the options of the output on stdout and stderr.
inline void declare_results(CLI::App& app, TrainingOptions& options) {
  app.add_flag("--list-policies", options.list_policies,
               "Print the names of all samplers and kernels as JSON and end")
      ->group(heading::results);
  app.add_flag("--json", options.json, "One JSON object on stdout at the end")
      ->group(heading::results);
  app.add_flag("--quiet", options.quiet, "No progress on stderr")->group(heading::results);
}
