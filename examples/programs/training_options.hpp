#pragma once
#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/registry.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/combine.hpp>
#include <wordloom/wordloom.hpp>

#include "distinct_files.hpp"

/// The options that all training programs share.
struct TrainingOptions {
  std::map<std::string, std::string> given;  // all names of the options: "--size", and the typed
  std::string output, cache, load_model, save_model;
  wordloom::Hyperparameters parameters;
  int binary = 0;
  std::string format;   // empty: by `binary`
  std::string sampler;  // empty: by `cbow`
  std::string preset;   // empty: the defaults of each option
  std::string system;   // likewise
  std::string schedule = "linear";
  std::string kernel = "fused", optimizer = "sgd";
  std::string cbow_gradient;  // empty: the sampler's
  std::optional<std::size_t> block_contexts;
  std::size_t strata = 0, block_threads = 1;
  std::uint64_t episode = 0;
  std::size_t context_size = 1024;
  std::string contexts;
  wordloom::SubwordOptions subwords = {.maxn = 0};
  std::size_t char_cnn = 0;  // filters of each width
  std::size_t char_cnn_positions = 0;
  bool end_to_end = false;
  std::string pretrained;
  bool list_policies = false, json = false, quiet = false;
  std::string checkpoint;
  double checkpoint_every = 600;
  bool resume = false;
  std::string sync = "none";
  std::string sync_format = "auto";
  wordloom::SyncOptions sync_options;
  double sync_timeout = 1800;
  std::string sync_rule = "coherent";
  std::optional<double> alpha;
  bool for_walks = false;  // see choose_for_walks
  int cbow = 0, hs = 0;

  bool is_given(const std::string& option) const { return given.contains(option); }
};

inline bool is_for_gpu(std::string_view kernel) { return kernel.starts_with("cuda-"); }

/// Returns the options of synchronisation, with the format that --sync-format names.
inline wordloom::SyncOptions sync_options_of(const TrainingOptions& options) {
  wordloom::SyncOptions result = options.sync_options;
  for (const auto& [name, format] : wordloom::SyncOptions::formats)
    if (options.sync_format == name) result.format = format;
  return result;
}

/// Returns the rule that combines the changes of processes.
inline wordloom::SyncOptions::Rule rule_of(const TrainingOptions& options) {
  const auto& names = wordloom::SyncOptions::Rule::names;
  return {wordloom::SyncOptions::Rule::Kind(std::ranges::find(names, options.sync_rule) -
                                            names.begin())};
}

inline wordloom::VectorFormat output_format(const TrainingOptions& options) {
  if (!options.format.empty()) return wordloom::VectorFile::format_named(options.format);
  return options.binary == 1 ? wordloom::VectorFormat::word2vec_binary
                             : wordloom::VectorFormat::word2vec_text;
}

/// Returns whether the output is the whole model, in fastText's format.
inline bool writes_model(const TrainingOptions& options) {
  return output_format(options) == wordloom::VectorFormat::fasttext;
}

inline bool trains_columns(const TrainingOptions& options) {
  return wordloom::Policies::ColumnSamplers::contains(options.sampler);
}

inline bool trains_strata(const TrainingOptions& options) {
  return wordloom::Policies::StratumSamplers::contains(options.sampler);
}

/// Returns whether each process trains rows of its own and gives them to the others.
inline bool owns_rows(const TrainingOptions& options) {
  return trains_columns(options) || trains_strata(options);
}

/// Returns the name of a sampler in the registry. "-fixed" at its end means fixed windows.
inline std::string_view without_fixed(std::string_view sampler) {
  if (sampler.ends_with("-fixed")) sampler.remove_suffix(6);
  return sampler;
}

inline bool is_cbow(std::string_view sampler) { return sampler.find("cbow") != sampler.npos; }

/// Sets `sampler` to the name in the registry that --sampler, --cbow, --hs and --negative choose,
/// and fixed windows.
inline void choose_sampler(TrainingOptions& options) {
  std::string& name = options.sampler;
  if (name.ends_with("-fixed")) {
    name = without_fixed(name);
    options.parameters = options.parameters.with_fixed_window();
  }
  if (name.empty()) name = options.cbow == 1 ? "cbow" : "shared";
  if (options.cbow == 1 && !is_cbow(name))
    throw wordloom::InvalidArgument("--cbow 1 does not go with --sampler " + name);
  if (options.is_given("--cbow") && options.cbow == 0 && is_cbow(name))
    throw wordloom::InvalidArgument("--cbow 0 does not go with --sampler " + name);
  if (options.is_given("--hs") && options.hs == 0 && name.find("-hs") != name.npos)
    throw wordloom::InvalidArgument("--hs 0 does not go with --sampler " + name);
  if (options.hs == 1) {
    const std::string with_tree =
        name + (options.parameters.negatives > 0 ? "-hs-negative" : "-hs");
    if (!wordloom::Policies::Samplers::contains(with_tree)) {
      if (wordloom::Policies::Samplers::contains(name + "-hs"))
        throw wordloom::InvalidArgument("--hs 1 with --sampler " + name + " needs --negative 0");
      throw wordloom::InvalidArgument(
          "--hs 1 goes with --sampler hogwild, shared, cbow or grouped, not " + name);
    }
    name = with_tree;
  } else if (options.parameters.negatives == 0 && !name.ends_with("-hs")) {
    throw wordloom::InvalidArgument("--negative is 0: give --hs 1, or 1 to 1000 negatives");
  }
}

/// Adds the model, the cache and the checkpoint to the files that a command line names.
inline void add_written_files(std::vector<NamedFile>& files, const TrainingOptions& options) {
  files.push_back({"--save-model", options.save_model, true, "--load-model"});
  files.push_back({"--cache", options.cache, true});
  files.push_back({"--contexts", options.contexts, true});
  files.push_back({"--checkpoint", options.checkpoint, true});
}

/// Adds the files of the vectors.
inline void add_output_files(std::vector<NamedFile>& files, const TrainingOptions& options) {
  files.push_back({"--output", options.output, true});
  files.push_back({"the file of words beside --output",
                   wordloom::VectorFile::words_path(options.output, output_format(options)), true});
}

/// Returns the learning rate of CBOW, see benchmarks/results/cbow.md. All bags of a group have one
/// size, for which the gradients differ by a factor.
inline double rate_of_cbow(const TrainingOptions& options) {
  if (options.cbow_gradient == "whole") return 0.05;
  if (options.cbow_gradient == "mean") return options.sampler == "grouped-cbow" ? 0.1 : 0.15;
  return options.sampler.find("-hs") == std::string::npos ? 0.1 : 0.075;
}

/// Chooses blocks of four context nodes, which hold on graphs of many kinds
/// (benchmarks/results/node2vec-defaults.md).
inline void choose_for_walks(TrainingOptions& options) {
  if (options.for_walks && options.sampler == "shared" && options.system.empty() &&
      !is_for_gpu(options.kernel) && !options.block_contexts)
    options.block_contexts = 4;
}

/// Returns the learning rate of a sampler without --alpha.
inline double default_rate(const TrainingOptions& options) {
  const std::string& sampler = options.sampler;
  if (options.kernel == "cuda-bidmach") return 0.001;
  if (options.optimizer == "adam" || options.optimizer == "rmsprop")
    return trains_columns(options) ? 0.003 : 0.01;
  if (options.optimizer.ends_with("adagrad")) return 0.1;
  if (is_cbow(sampler)) return rate_of_cbow(options);
  if (options.subwords.maxn > 0 || trains_columns(options)) return 0.05;
  return 0.025;
}

/// Chooses the sampler and the learning rate, and checks the kernel. Throws InvalidArgument.
inline void choose_method(TrainingOptions& options) {
  choose_sampler(options);
  choose_for_walks(options);
  if (!options.cbow_gradient.empty() && !is_cbow(options.sampler))
    throw wordloom::InvalidArgument("--cbow-gradient is for --cbow 1");
  options.parameters.learning_rate = options.alpha.value_or(default_rate(options));
  if (options.optimizer != "sgd" && options.optimizer != "row-adagrad" &&
      !trains_columns(options) && !options.is_given("--kernel"))
    options.kernel = "dot";
  if (!is_for_gpu(options.kernel) && !wordloom::Policies::Kernels::contains(options.kernel) &&
      !wordloom::Policies::RowKernels::contains(options.kernel))
    throw wordloom::InvalidArgument(
        "there is no --kernel '" + options.kernel + "' in this build, choose one of: " +
        wordloom::Policies::Kernels::names() + ", " + wordloom::Policies::RowKernels::names());
}

/// Throws InvalidArgument for options that samplers of strata exclude.
inline void check_strata(const TrainingOptions& options) {
  if (!trains_strata(options)) return;
  const std::string sampler = "--sampler " + options.sampler;
  if (options.optimizer != "sgd")
    throw wordloom::InvalidArgument("--optimizer " + options.optimizer + " does not go with " +
                                    sampler);
  if (is_for_gpu(options.kernel))
    throw wordloom::InvalidArgument("--kernel " + options.kernel + " does not train " + sampler +
                                    ", choose " + wordloom::Policies::Kernels::names());
  wordloom::check_parameter("--strata", options.strata, 0, 256);
  wordloom::check_parameter("--block-threads", options.block_threads, 1, 256);
  wordloom::check_parameter("--episode", options.episode, std::uint64_t{0}, std::uint64_t{1} << 40);
  if (options.sync_format != "auto" && options.sync_format != "fp32" &&
      options.sync_format != "bf16" && options.sync_format != "8bit")
    throw wordloom::InvalidArgument("--sync-format " + options.sync_format + " does not go with " +
                                    sampler + ", choose fp32, bf16 or 8bit");
}

/// Throws InvalidArgument for options that an optimizer excludes if no columns are trained.
inline void check_optimizer(const TrainingOptions& options) {
  if (options.optimizer == "sgd") return;
  if (is_cbow(options.sampler) && options.optimizer != "row-adagrad")
    throw wordloom::InvalidArgument("--optimizer " + options.optimizer +
                                    " does not train CBOW: leave one of them out");
  const auto refuse = [&](const std::string& what, const std::string& got) {
    throw wordloom::InvalidArgument("--optimizer " + options.optimizer + " goes with " + what +
                                    ", not " + got);
  };
  const std::string kernel = options.optimizer == "row-adagrad" ? "fused" : "dot";
  if (options.kernel != kernel) refuse("--kernel " + kernel, options.kernel);
  if (options.subwords.maxn > 0) refuse("--maxn 0", std::to_string(options.subwords.maxn));
  if (kernel == "fused") return;
  std::string names;
  wordloom::Policies::Samplers::for_each([&]<class Sampler>(std::string_view name) {
    if (!wordloom::Block::Features::used_by<Sampler>().bags)
      names.append(names.empty() ? "" : ", ").append(name);
  });
  wordloom::Policies::Samplers::with(options.sampler, [&]<class Sampler>() {
    if (wordloom::Block::Features::used_by<Sampler>().bags)
      refuse("--sampler " + names, options.sampler);
  });
}

/// Returns the option that chooses the format of changes, as it was given.
inline std::string format_option(const TrainingOptions& options) {
  return options.is_given("--sync-bf16") ? "--sync-bf16" : "--sync-format " + options.sync_format;
}

/// Throws InvalidArgument for options that samplers of columns exclude, and for their own options
/// without one of them.
inline void check_columns(const TrainingOptions& options) {
  if (!trains_columns(options)) return check_optimizer(options);
  wordloom::check_parameter("--context-size", options.context_size, 1, 1 << 24);
  if (is_for_gpu(options.kernel) && options.kernel != "cuda-uniform")
    throw wordloom::InvalidArgument("--kernel " + options.kernel + " does not train --sampler " +
                                    options.sampler + ", choose cuda-uniform");
  if (options.sync_format != "auto" && options.sync_format != "fp32")
    throw wordloom::InvalidArgument(format_option(options) + " does not go with --sampler " +
                                    options.sampler + ", whose rows travel as they are");
}

/// Throws InvalidArgument for options that a model with subwords excludes.
inline void check_subwords(const TrainingOptions& options) {
  wordloom::validate_parameters(options.subwords);
  if (options.subwords.maxn == 0) return;
  if (!wordloom::Policies::SubwordSamplers::contains(options.sampler))
    throw wordloom::InvalidArgument(options.system.empty()
                                        ? "--maxn goes with --sampler " +
                                              wordloom::Policies::SubwordSamplers::names() +
                                              ", not " + options.sampler
                                        : "--maxn does not go with --system " + options.system);
  if (is_for_gpu(options.kernel))
    throw wordloom::InvalidArgument("--maxn does not go with --kernel " + options.kernel);
}

/// Throws InvalidArgument for options that kernels of rows alone exclude, and UnsupportedProcessor.
inline void check_row_kernel(const TrainingOptions& options) {
  if (!wordloom::Policies::RowKernels::contains(options.kernel)) return;
  const auto refuse = [&](const std::string& what, const std::string& got) {
    throw wordloom::InvalidArgument("--kernel " + options.kernel + " goes with " + what + ", not " +
                                    got);
  };
  if (!wordloom::Policies::RowSamplers::contains(options.sampler))
    refuse("--sampler " + wordloom::Policies::RowSamplers::names(), options.sampler);
  if (options.subwords.maxn > 0) refuse("--maxn 0", std::to_string(options.subwords.maxn));
  if (options.sync != "none") refuse("--sync none", options.sync);
  // nvcc warns about such a function without a capture.
  wordloom::Policies::RowKernels::with(options.kernel,
                                       [&]<class Kernel>() { Kernel::require_processor(); });
}

/// Returns the number of filters of each width of a model's character CNN, 0 without.
inline std::size_t filters_of(const wordloom::Model& model) {
  for (const auto& [name, matrix] : model.state)
    if (name == "char_cnn.biases") return matrix.columns();
  return 0;
}

/// Returns the positions of a model's character CNN, 0 without.
inline std::size_t positions_of(const wordloom::Model& model) {
  std::size_t features = 0, filters = 0;
  for (const auto& [name, matrix] : model.state) {
    if (name == "char_cnn.dense") features = matrix.rows();
    if (name == "char_cnn.biases") filters = matrix.rows() * matrix.columns();
  }
  return features > filters && filters > 0 ? features / filters : 0;
}

/// Throws InvalidArgument for options that a character CNN excludes. `is_known`: whether there is
/// one; before a model is loaded that may have one, it is not.
inline void check_char_cnn(const TrainingOptions& options, bool is_known) {
  if (options.char_cnn == 0) {
    for (const auto& [given, name] :
         {std::pair(options.char_cnn_positions > 0, "--char-cnn-positions"),
          std::pair(options.end_to_end, "--end-to-end")})
      if (given && is_known)
        throw wordloom::InvalidArgument(std::string(name) + " needs --char-cnn");
    return;
  }
#if !WORDLOOM_HAS_BLAS
  throw wordloom::InvalidArgument("--char-cnn needs a build with CBLAS (WORDLOOM_ENABLE_BLAS)");
#endif
  wordloom::check_parameter("--char-cnn", options.char_cnn, 0, 65536);
  if (options.char_cnn % 16 != 0)
    throw wordloom::InvalidArgument("--char-cnn is " + std::to_string(options.char_cnn) +
                                    ", must be a multiple of 16");
  if (options.char_cnn_positions != 0)
    wordloom::check_parameter("--char-cnn-positions", options.char_cnn_positions, 2, 1000);
  const auto refuse = [](const std::string& what) {
    throw wordloom::InvalidArgument("--char-cnn goes with " + what);
  };
  if (options.sampler != "uniform" && options.sampler != "shared")
    refuse("--sampler uniform or shared, not " + options.sampler);
  if (options.optimizer != "sgd") refuse("--optimizer sgd, not " + options.optimizer);
  if (options.kernel != "fused") refuse("--kernel fused, not " + options.kernel);
  if (options.subwords.maxn > 0) refuse("--maxn 0");
  if (!options.pretrained.empty()) refuse("vectors that it computes, not --pretrained-vectors");
  if (writes_model(options)) refuse("formats of vectors or --save-model, not --format fasttext");
  if (options.sync != "none" && !trains_columns(options))
    refuse("--sync none or --sampler uniform");
}

/// Throws InvalidArgument for options that parse but cannot be honoured.
inline void check(const TrainingOptions& options) {
  if (options.resume && !options.load_model.empty())
    throw wordloom::InvalidArgument("--resume and --load-model exclude each other");
  if (options.sync == "nccl") {
    if (!is_for_gpu(options.kernel))
      throw wordloom::InvalidArgument("--sync nccl does not go with --kernel " + options.kernel +
                                      ", whose model is not on a GPU");
#if !WORDLOOM_HAS_NCCL
    throw wordloom::InvalidArgument("--sync nccl needs a build with NCCL (WORDLOOM_ENABLE_NCCL)");
#endif
  }
  if (output_format(options) == wordloom::VectorFormat::model)
    throw wordloom::InvalidArgument("--format model can only be read: --save-model writes models");
  check_strata(options);
  check_columns(options);
  check_subwords(options);
  check_row_kernel(options);
  check_char_cnn(options, options.load_model.empty());
  if (!options.pretrained.empty() && (options.resume || !options.load_model.empty()))
    throw wordloom::InvalidArgument("--pretrained-vectors is for new models");
  if (writes_model(options) && options.sampler.find("-hs") != options.sampler.npos)
    throw wordloom::InvalidArgument(
        "--format fasttext needs a model without " +
        (options.system.empty() ? "--hs 1" : "--system " + options.system));
  if (options.is_given("--sync-bf16") && options.is_given("--sync-format"))
    throw wordloom::InvalidArgument("--sync-bf16 and --sync-format exclude each other");
  if (options.sync_format != "auto" && options.sync_format != "fp32" && options.sync != "mpi")
    throw wordloom::InvalidArgument(format_option(options) + " is for --sync mpi");
  if (is_for_gpu(options.kernel) && options.sync_format.ends_with("bit"))
    throw wordloom::InvalidArgument(format_option(options) + " does not go with --kernel " +
                                    options.kernel + ": choose fp32 or bf16");
  if (!(options.sync_timeout >= 0))
    throw wordloom::InvalidArgument("--sync-timeout must be 0 or above");
  if (!(options.checkpoint_every >= 0))
    throw wordloom::InvalidArgument("--checkpoint-every must be 0 or above");
  if (options.resume && options.checkpoint.empty())
    throw wordloom::InvalidArgument("--resume needs the file of --checkpoint");
  options.sync_options.validate();
  options.parameters.validate();
  static_cast<void>(wordloom::InstructionSet::chosen());  // refuses a wrong WORDLOOM_TARGET
}
