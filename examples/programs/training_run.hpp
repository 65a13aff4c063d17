#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>
#include <wordloom/any_trainer.hpp>
#include <wordloom/corpus/missing_contexts.hpp>
#include <wordloom/registry.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/row_allgather.hpp>
#include <wordloom/wordloom.hpp>

#include "cluster.hpp"
#include "gpu.hpp"
#include "interrupts.hpp"
#include "process.hpp"
#include "progress_line.hpp"
#include "traffic.hpp"
#include "training_options.hpp"

/// The files that are written after training. They are opened before it, so that a wrong name does
/// not cost hours.
struct PreparedFiles {
  PreparedFiles(const TrainingOptions& options, bool writes) {
    if (!writes) return;
    if (!options.output.empty()) {
      // Opening a named pipe would wait for its reader.
      if (std::error_code ignored;
          std::filesystem::is_fifo(options.output, ignored) &&
          !wordloom::VectorFile::words_path(options.output, output_format(options)).empty())
        throw wordloom::InvalidArgument{"cannot write words beside '", options.output,
                                        "', which is not a regular file: choose a format that is ",
                                        "one file"};
      output.emplace(options.output);
      wordloom::VectorFile::check_place(*output, output_format(options));
    }
    if (options.resume) wordloom::MappedFile(options.checkpoint);
    try_kept("--cache", options.cache);
    try_kept("--contexts", options.contexts);
    if (!options.checkpoint.empty()) require_regular("--checkpoint", options.checkpoint);
    try_written(options.save_model);
  }

  /// Throws IoError if no file can be written there. A named pipe is not tried, because its reader
  /// would take that for the whole content.
  static void try_written(const std::filesystem::path& path) {
    std::error_code ignored;
    if (!path.empty() && !std::filesystem::is_fifo(path, ignored)) wordloom::AtomicFile{path};
  }
  /// Throws InvalidArgument if this is not a regular file, because it is read again, and IoError.
  static void require_regular(const char* option, const std::filesystem::path& path) {
    std::error_code ignored;
    if (std::filesystem::is_fifo(path, ignored) || wordloom::AtomicFile(path).is_direct())
      throw wordloom::InvalidArgument{option, " needs a regular file, not '", path, "'"};
  }
  /// Tries a file that is created if it does not exist.
  static void try_kept(const char* option, const std::filesystem::path& path) {
    std::error_code ignored;
    if (path.empty()) return;
    if (std::filesystem::is_regular_file(path, ignored))
      wordloom::MappedFile{path};
    else
      require_regular(option, path);
  }

  /// Writes the vectors if the options name a file for them, of a format that holds vectors alone.
  void write(const TrainingOptions& options, const wordloom::Embeddings& words) {
    if (options.output.empty() || writes_model(options)) return;
    if (!output) output.emplace(options.output);
    if (output_format(options) == wordloom::VectorFormat::compressed)
      words.compress({}).write(*output);
    else
      wordloom::VectorFile::write(words, *output, output_format(options));
    output->commit();
  }
  /// Writes the whole model if the options name a file for it, of a format that holds models.
  void write(const TrainingOptions& options, const wordloom::Model& model,
             const wordloom::Model::FastTextOptions& training = {}) {
    if (options.output.empty() || !writes_model(options)) return;
    if (!output) output.emplace(options.output);
    wordloom::VectorFile::write(model, *output, training);
    output->commit();
  }

  std::optional<wordloom::AtomicFile> output;
};

/// Reads a model that Wordloom or fastText has saved.
inline wordloom::Model load_model(const std::filesystem::path& path) {
  return wordloom::VectorFile(path).model();
}

/// Reads the model of --load-model. It has its own dimension, which --size must agree with.
inline wordloom::Model load_model(TrainingOptions& options) {
  auto model = load_model(options.load_model);
  std::size_t& dimension = options.parameters.dimension;
  if (options.is_given("--size") && dimension != model.dimension())
    throw wordloom::InvalidArgument{"--size is ",        dimension,           ", the model in '",
                                    options.load_model,  "' has vectors of ", model.dimension(),
                                    ": leave --size out"};
  dimension = model.dimension();
  return model;
}

/// Throws InvalidArgument for a vocabulary that cannot be trained with these options, or that has
/// words which the format of the vectors cannot hold.
inline void check_vocabulary(const TrainingOptions& options,
                             const wordloom::Vocabulary& vocabulary) {
  // Negatives of a small vocabulary are nearly all of its words, repeatedly: training diverges.
  constexpr std::size_t usual = wordloom::Hyperparameters{}.negatives;
  const std::size_t negatives = options.parameters.negatives;
  if (negatives > usual && negatives >= vocabulary.size())
    throw wordloom::InvalidArgument{"--negative is ", negatives, ", the vocabulary has only ",
                                    vocabulary.size(),
                                    " words: give fewer negatives than there are words"};
  if (!options.output.empty())
    wordloom::VectorFile::check_words(vocabulary.words(), output_format(options));
}

/// Throws CorpusError if no word has a context in any part of the corpus; its message ends with the
/// cause if sentences have one word. A vocabulary of one word is refused by the trainer.
inline void require_contexts(const wordloom::AnyCorpus& corpus,
                             const wordloom::Vocabulary& vocabulary, const TrainingOptions& options,
                             Cluster& cluster, std::string_view cause) {
  if (vocabulary.size() < 2) return;
  wordloom::Shard own{.seed = options.parameters.seed};
  if (!owns_rows(options) || corpus.ranks() > 1) {
    own.index = cluster.rank();
    own.count = cluster.size();
  }
  const auto error = own.missing_contexts(corpus, cause);
  if (cluster.sum(error ? 0 : 1) == 0) throw *error;
}

/// Joins the other processes and chooses the GPU if the options name them. From then on signals end
/// the program without leaving unfinished files. Throws InvalidArgument if a launcher has started
/// several processes, and no option says whether they train together.
inline void start_training(TrainingOptions& options, Cluster& cluster) {
  if (options.sync != "none") {
    cluster.join(options.sync_timeout);
  } else if (const auto launch = Launch::of_environment();
             launch.size > 1 && !options.is_given("--sync")) {
    throw wordloom::InvalidArgument{"a launcher has started ", launch.size, " processes (",
                                    launch.variable,
                                    "): give --sync mpi to train one model together, or --sync "
                                    "none to train one in each process"};
  }
  if (is_for_gpu(options.kernel)) {
    options.parameters.device = gpu_of(options, cluster);
    check_gpu(options);
  }
  catch_signals();
}

/// Prints the names of all policies, and of the program's published systems, as JSON.
inline void list_policies(const std::vector<std::string>& systems) {
  nlohmann::ordered_json all;
  const auto list = [&](const char* what) {
    return [&names = all[what]]<class>(std::string_view name) { names.push_back(name); };
  };
  wordloom::Policies::Samplers::for_each(list("samplers"));
  wordloom::Policies::StratumSamplers::for_each(list("samplers"));
  wordloom::Policies::ColumnSamplers::for_each(list("samplers"));
  wordloom::Policies::Kernels::for_each(list("kernels"));
  wordloom::Policies::RowKernels::for_each(list("kernels"));
  wordloom::Policies::Optimizers::for_each(list("optimizers"));
  all["systems"] = systems;
  std::cout << all.dump() << '\n';
}

/// Returns the SyncPolicy of the processes that train together.
inline wordloom::AnySync<> sync_of(const TrainingOptions& options, const Cluster& cluster) {
  if (!cluster.is_joined()) return {};
  if (owns_rows(options))
    return wordloom::RowAllgather(*cluster.ranks(), sync_options_of(options).format);
  return wordloom::Allreduce(*cluster.ranks(), sync_options_of(options), rule_of(options));
}

/// Returns the trainer of the method that the options choose, on the host or a GPU.
inline wordloom::AnyTrainer make_trainer(const TrainingOptions& options, const Cluster& cluster) {
  auto trainer = is_for_gpu(options.kernel)
                     ? make_gpu_trainer(options, cluster)
                     : wordloom::make_trainer(options.sampler, options.kernel, options.parameters,
                                              {.optimizer = options.optimizer,
                                               .schedule = options.schedule,
                                               .subwords = options.subwords,
                                               .char_cnn = options.char_cnn > 0,
                                               .context_size = options.context_size,
                                               .contexts = options.contexts,
                                               .sync = sync_of(options, cluster)});
  if (!options.cbow_gradient.empty()) trainer.sampler_parameter("gradient", options.cbow_gradient);
  if (options.block_contexts)
    trainer.sampler_parameter("block_contexts", std::to_string(*options.block_contexts));
  if (trains_strata(options)) {
    trainer.sampler_parameter("strata", std::to_string(options.strata));
    trainer.sampler_parameter("block_threads", std::to_string(options.block_threads));
    trainer.sampler_parameter("episode", std::to_string(options.episode));
  }
  if (options.char_cnn > 0) {
    trainer.sampler_parameter("filters", std::to_string(options.char_cnn));
    trainer.sampler_parameter("positions", std::to_string(options.char_cnn_positions));
    trainer.sampler_parameter("end_to_end", options.end_to_end ? "true" : "false");
  }
  return trainer;
}

/// The name of a program in its messages, and its format of the speed.
struct Program {
  std::string name;
  ProgressLine::Speed speed;
  std::string counts = {};  // counts of the corpus, written when training begins
};

/// Prints a note to stderr if there are more threads than processors that they may run on.
inline void note_threads(const Program& program, const TrainingOptions& options,
                         const Cluster& cluster) {
  const std::size_t threads = wordloom::resolve_threads(options.parameters.threads),
                    processors = allowed_processors();
  if (options.quiet || !cluster.is_first() || processors == 0 || threads <= processors) return;
  std::cerr << program.name << ": note: " << threads << " threads on " << processors
            << (processors == 1 ? " processor" : " processors")
            << " train no faster than --threads " << processors;
  if (processors < std::thread::hardware_concurrency())
    std::cerr << "; this process may not use the others: mpirun needs --bind-to none, srun "
                 "--cpus-per-task";
  std::cerr << '\n';
}

/// Prints a note to stderr if the checkpoint that is resumed is of other processes or threads.
inline void note_team(const Program& program, const TrainingOptions& options,
                      const Cluster& cluster, const wordloom::AnyCorpus& corpus) {
  const bool by_rows = owns_rows(options);  // by any number of threads
  if (!options.resume || options.quiet || !cluster.is_first() || (by_rows && corpus.ranks() == 1))
    return;
  const auto team = wordloom::Checkpoint(options.checkpoint).team();
  const std::size_t threads =
      is_for_gpu(options.kernel) ? 1 : wordloom::resolve_threads(options.parameters.threads);
  if (team.ranks == cluster.size() && (by_rows || team.threads == threads)) return;
  std::cerr << program.name << ": note: '" << options.checkpoint << "' was written by "
            << team.ranks << " processes of " << team.threads << " threads, not " << cluster.size()
            << " of " << threads
            << ": the rest of its epoch is divided anew, so some sentences are trained twice and "
               "others not, and the vectors differ from those of an undisturbed run\n";
}

/// The report of all processes together.
struct RunReport : wordloom::TrainReport {
  std::optional<ClusterTraffic> traffic = {};  // of several processes
  std::string sync_format = {};                // in which they exchanged changes
};

/// Trains with progress on stderr, which also says if a signal stopped training.
inline RunReport train(const Program& program, const TrainingOptions& options, Cluster& cluster,
                       const wordloom::AnyCorpus& corpus, const wordloom::Vocabulary& vocabulary,
                       std::optional<wordloom::Model>& model,
                       const wordloom::Embeddings* pretrained = nullptr) {
  cluster.reset_traffic();
  ProgressLine line(program.name, options.quiet || !cluster.is_first(), program.speed,
                    program.counts);
  auto trainer = make_trainer(options, cluster);
  note_team(program, options, cluster, corpus);
  bool is_noted = options.quiet || !cluster.is_first() || trains_columns(options) ||
                  !cluster.over_network() ||
                  options.sync_options.interval == wordloom::SyncOptions::epoch;
  trainer.on_progress(
      [&](const wordloom::Progress& progress) {
        if (const auto note = is_noted ? "" : waiting_note(options, cluster, progress);
            !note.empty()) {
          line.note(note);
          is_noted = true;
        }
        auto shown = progress;
        // Each process has about the same number of words, and they reach the end together.
        shown.words_per_second *= static_cast<double>(cluster.size());
        line.show(shown, traffic_text(cluster, progress));
        return caught_signal == 0;
      },
      line.interval());
  if (!options.checkpoint.empty())
    trainer.checkpoint_to(options.checkpoint,
                          std::chrono::duration<double>(options.checkpoint_every));
  if (!model) {
    model.emplace(trainer.new_model(vocabulary));
    if (pretrained != nullptr) model->set_vectors(*pretrained);
  }
  RunReport report{options.resume ? trainer.resume_training(corpus, *model, options.checkpoint)
                                  : trainer.train(corpus, *model),
                   std::nullopt};
  if (cluster.is_joined()) {
    report.tokens = cluster.sum(report.tokens);
    const std::uint64_t words = cluster.sum(words_of(report));
    report.words_per_second = report.seconds > 0 ? static_cast<double>(words) / report.seconds : 0;
    if (cluster.sum(report.stopped || std::isfinite(report.loss) ? 1 : 0) == 0)
      throw wordloom::CorpusError(
          "nothing was trained: subsampling leaves no sentence two words; use a higher --sample");
    if (cluster.size() > 1) {
      report.traffic.emplace(cluster, words);
      report.sync_format = sync_format(options, cluster);
    }
  }
  line.end();
  if (report.traffic && !options.quiet && cluster.is_first())
    std::cerr << program.name << ": " << report.traffic->text() << '\n';
  if (report.stopped && cluster.is_first())
    std::cerr << program.name << ": "
              << (options.checkpoint.empty()
                      ? Interrupted().what()
                      : "interrupted; continue with --resume from " + options.checkpoint)
              << '\n';
  return report;
}

/// Returns the part of the report that all programs share.
inline nlohmann::ordered_json json_report(const TrainingOptions& options, const RunReport& report,
                                          std::size_t ranks, std::size_t words,
                                          std::uint64_t corpus_tokens) {
  const auto& p = options.parameters;
  nlohmann::ordered_json json = {{"words_per_second", report.words_per_second},
                                 {"train_seconds", report.seconds},
                                 {"epoch_seconds", report.epoch_seconds},
                                 {"vocabulary", words},
                                 {"tokens", corpus_tokens},
                                 {"epochs", p.epochs},
                                 {"loss", report.loss},
                                 {"peak_rss_bytes", peak_rss_bytes()},
                                 {"sampler", options.sampler},
                                 {"kernel", options.kernel},
                                 {"optimizer", options.optimizer},
                                 {"learning_rate", p.learning_rate},
                                 {"system", options.system},
                                 {"target", wordloom::InstructionSet::chosen().name},
                                 {"dimension", p.dimension},
                                 {"threads", wordloom::resolve_threads(p.threads)},
                                 {"ranks", ranks},
                                 {"seed", p.seed}};
  if (report.sentences_in_flight > 0) json["sentences_in_flight"] = report.sentences_in_flight;
  if (report.traffic) {
    json["sync_format"] = report.sync_format;
    json["sync_bytes_per_word"] = report.traffic->bytes_per_word;
    json["sync_waited_seconds"] = report.traffic->waited_seconds;
    json["slowest_rank"] = report.traffic->slowest_rank();
  }
  return json;
}
