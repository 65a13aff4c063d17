#pragma once
#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <wordloom/core/error.hpp>

#include "training_options.hpp"

/// A value that was set and has no effect is refused by its name, because its user expects one.
/// Values are accepted that the command lines of word2vec, fastText, PecanPy and SNAP give although
/// they have no effect there either, such as -minn 3 beside -maxn 0.

/// Throws InvalidArgument for the first of `names` that was given, unless it has an effect.
/// `condition`: "without --sampler uniform".
inline void require_effect(const TrainingOptions& options, std::initializer_list<const char*> names,
                           bool has_effect, const std::string& condition) {
  if (has_effect) return;
  for (const char* name : names)
    if (options.is_given(name))
      throw wordloom::InvalidArgument(options.given.at(name) + " has no effect " + condition);
}

/// Throws InvalidArgument for the first given option that is not among `read`, those that a method
/// reads. `condition`: "with --method svd".
inline void require_read(const TrainingOptions& options, const std::set<std::string>& read,
                         const std::string& condition) {
  for (const auto& [name, typed] : options.given)
    if (!read.contains(name))
      throw wordloom::InvalidArgument(typed + " has no effect " + condition);
}

/// Return whether a sampler groups words (--minibatch), and whether a group shares negatives.
inline bool has_minibatch(std::string_view sampler) {
  return sampler.starts_with("minibatch") || sampler.starts_with("combined") ||
         sampler.starts_with("grouped") || sampler == "uniform" ||
         wordloom::Policies::PublishedSamplers::contains(sampler);
}
inline bool shares_negatives(std::string_view sampler) {
  return has_minibatch(sampler) && sampler != "grouped-hs" &&
         !wordloom::Policies::PublishedSamplers::contains(sampler);
}

/// Returns whether a sampler of the host picks negatives from a pool (--negative-pool).
inline bool has_pool(std::string_view sampler) {
  return !sampler.starts_with("hogwild") && sampler != "uniform" && sampler != "stratified" &&
         sampler.find("-hs") == sampler.npos;
}

/// Refuses options that have no effect on the chosen method.
inline void require_effects_on_method(const TrainingOptions& options) {
  const std::string& sampler = options.sampler;
  const bool columns = trains_columns(options), strata = trains_strata(options),
             gpu = is_for_gpu(options.kernel);
  const bool tree = sampler.find("-hs") != sampler.npos, negatives = !sampler.ends_with("-hs");
  const std::string with_sampler = options.system.empty() ? "with --sampler " + sampler
                                                          : "with --system " + options.system,
                    with_kernel = "with --kernel " + options.kernel;
  require_effect(options, {"--context-size", "--contexts"}, columns, "without --sampler uniform");
  require_effect(options, {"--block-contexts"},
                 (sampler == "shared" || sampler.starts_with("shared-") || strata) && !gpu,
                 gpu ? with_kernel : with_sampler);
  require_effect(options, {"--strata", "--episode", "--block-threads"}, strata,
                 "without --sampler stratified");
  require_effect(options, {"--cbow-gradient"}, is_cbow(sampler), "without --cbow 1");
  require_effect(options, {"--hs-sample"}, tree, "without --hs 1");
  require_effect(options, {"--negative-exponent"}, negatives, "without negatives");
  require_effect(options, {"--negative"}, negatives || options.parameters.negatives == 0,
                 with_sampler);
  require_effect(options, {"--minibatch"}, has_minibatch(sampler), with_sampler);
  require_effect(options, {"--shared-negatives"}, shares_negatives(sampler), with_sampler);
  const bool has_none = options.parameters.negative_pool == 0;
  require_effect(options, {"--negative-pool"}, has_pool(sampler) || has_none, with_sampler);
  require_effect(options, {"--negative-pool"}, !gpu || has_none, with_kernel);
  require_effect(options, {"--private-rows"},
                 !(columns || strata) || options.parameters.private_rows == 0, with_sampler);
  require_effect(options, {"--private-rows"},
                 options.optimizer == "sgd" || options.parameters.private_rows == 0,
                 "with --optimizer " + options.optimizer);
  require_effect(options, {"--private-rows", "--pin"}, !gpu, with_kernel);
  require_effect(options, {"--private-rows"},
                 !wordloom::Policies::RowKernels::contains(options.kernel), with_kernel);
  require_effect(options, {"--device", "--in-flight"}, gpu, "without a --kernel for a GPU");
  require_effect(options, {"--in-flight"}, !columns, with_sampler);
  const auto sync = {"--sync-bytes-per-word", "--sync-interval", "--sync-first-rows",
                     "--sync-rule"};
  require_effect(options, sync, options.sync != "none", "without --sync mpi or nccl");
  require_effect(options, {"--sync-overlap", "--sync-timeout"}, options.sync != "none",
                 "without --sync mpi or nccl");
  require_effect(options, sync, !(columns || strata), with_sampler);
  require_effect(options, {"--sync-overlap"}, !strata, with_sampler);
  require_effect(options, {"--sync-bytes-per-word"}, options.sync_options.interval == 0,
                 "beside --sync-interval: leave one out");
  require_effect(options, {"--sync-first-rows"},
                 options.sync_options.interval != wordloom::SyncOptions::epoch,
                 "with --sync-interval epoch");
  // fastText's commands give -minn 0 -maxn 0 for words alone.
  require_effect(
      options, {"--minn", "--bucket"},
      options.subwords.maxn > 0 || options.is_given("--maxn") || !options.load_model.empty(),
      "without --maxn (6 in fastText)");
}

/// Refuses a name of the output with the ending of a format that was not chosen.
inline void refuse_foreign_ending(const TrainingOptions& options) {
  const std::filesystem::path path(options.output);
  if (options.format.empty() && (path.extension() == ".npy" || path.extension() == ".tsv"))
    throw wordloom::InvalidArgument("--output '" + options.output +
                                    "' is named like another format: give --format " +
                                    path.extension().string().substr(1) + ", or another name");
}

/// Refuses vectors on standard output beside JSON or scores there. `prints_scores`: whether the
/// program prints scores.
inline void refuse_two_on_stdout(const TrainingOptions& options, bool prints_scores) {
  if (options.output == "-" && (options.json || prints_scores))
    throw wordloom::InvalidArgument(std::string("--output - and ") +
                                    (options.json ? "--json" : "--evaluate-...") +
                                    " both write to standard output: give --output a file");
}

/// Refuses options of files that are not written. `trains`: whether any result needs training.
inline void require_effects_on_files(const TrainingOptions& options, bool trains,
                                     const std::string& results) {
  require_effect(options, {"--format"}, !options.output.empty(), "without --output");
  refuse_foreign_ending(options);
  require_effect(options, {"--binary"}, options.format.empty(), "beside --format: leave one out");
  require_effect(options, {"--checkpoint-every"}, !options.checkpoint.empty(),
                 "without --checkpoint");
  require_effect(options, {"--checkpoint", "--contexts", "--load-model", "--pretrained-vectors"},
                 trains, "without a result of training: give " + results);
}
