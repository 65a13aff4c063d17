// The command-line trainer: a drop-in for word2vec's flags, with ours beside them.
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <thread>
#include <wordloom/registry.hpp>
#include <wordloom/sync/rank_corpus.hpp>
#include <wordloom/wordloom.hpp>

#include "interrupts.hpp"
#include "options.hpp"
#include "progress_line.hpp"
#include "results.hpp"
#include "train_on_host.hpp"

namespace {

/// Files that are read or written after training are opened before it: a wrong name must not cost
/// hours.
struct Prepared {
  Prepared(const Options& options, bool writes)
      : evaluation(options.evaluate_similarity, options.evaluate_analogy) {
    if (!writes) return;
    if (!options.output.empty()) {
      output.emplace(options.output);
      wordloom::check_place(*output, output_format(options));
    }
    if (!options.save_vocab.empty()) save_vocab.emplace(options.save_vocab);
    if (options.resume) wordloom::MappedFile(options.checkpoint);
    if (std::filesystem::exists(options.cache))
      wordloom::MappedFile(options.cache);
    else if (!options.cache.empty())
      wordloom::AtomicFile(options.cache);
    for (const auto& path : {options.save_model, options.checkpoint})
      if (!path.empty()) wordloom::AtomicFile{path};
  }
  std::optional<wordloom::AtomicFile> output, save_vocab;
  EvaluationSets evaluation;
};

wordloom::Vocabulary make_vocabulary(const Options& options, const Cluster& cluster) {
  const wordloom::VocabularyOptions limits{.min_count = options.min_count,
                                           .max_size = options.max_vocabulary,
                                           .threads = options.parameters.threads,
                                           .before_piece = check_signals};
  if (!options.read_vocab.empty()) return wordloom::Vocabulary::load(options.read_vocab, limits);
  if (!cluster.is_joined()) return wordloom::Vocabulary::from_text(options.train, limits);
  auto ranks = *cluster.ranks();
  return wordloom::rank_vocabulary(ranks, options.train, limits);
}

/// Adds up what all processes have trained.
void add_up(Cluster& cluster, wordloom::TrainReport& report) {
  if (!cluster.is_joined()) return;
  const auto all = cluster.gather(report.tokens);
  report.tokens = std::accumulate(all.begin(), all.end(), std::uint64_t{0});
  report.words_per_second = static_cast<double>(report.tokens) / report.seconds;
}

/// The corpus of --train, of which each process reads its part.
wordloom::AnyCorpus make_corpus(const Options& options, Cluster& cluster,
                                const wordloom::Vocabulary& vocabulary) {
  const wordloom::CorpusOptions reading{.max_sentence_length = options.max_sentence,
                                        .threads = options.parameters.threads,
                                        .cache = options.cache,
                                        .before_piece = check_signals};
  using namespace wordloom;
  if (options.stream)
    return AnyCorpus(rank_corpus<TextCorpus>(cluster, options.train, vocabulary, reading));
  return AnyCorpus(rank_corpus<EncodedCorpus>(cluster, options.train, vocabulary, reading));
}

wordloom::TrainReport train(const Job& job) {
  if (is_for_gpu(job.composition.kernel)) return train_on_gpu(job);
  wordloom::TrainReport report;
  wordloom::Kernels::with(job.composition.kernel,
                          [&]<class Kernel>() { report = train_on_host<Kernel>(job); });
  return report;
}

/// Prints the names of all policies as JSON.
void list_policies() {
  nlohmann::ordered_json all{{"samplers", nlohmann::json::array()},
                             {"kernels", nlohmann::json::array()}};
  wordloom::Samplers::for_each([&]<class>(std::string_view n) { all["samplers"].push_back(n); });
  wordloom::Kernels::for_each([&]<class>(std::string_view n) { all["kernels"].push_back(n); });
  std::cout << all.dump() << '\n';
}

constexpr const char* first_example =
    "Trains word vectors. To begin with, on a text with one sentence a line:\n\n"
    "  word2vec --train corpus.txt --output vectors.bin --binary 1 --size 100 --threads 0\n"
    "  neighbours vectors.bin    # type a word to see those nearest to it\n\n"
    "Also: --cbow 1, --hs 1 --negative 0, --sampler grouped --alpha 0.03 (the fastest);\n"
    "word2vec --help lists all options.\n";

int run(int argc, char** argv, Cluster& cluster) {
  if (argc == 1) {
    std::cout << first_example;
    return 0;
  }
  CLI::App app(
      "Trains word vectors: skip-gram and CBOW, with negative sampling or hierarchical softmax.\n"
      "Long options may be written with one dash, as word2vec's.");
  app.name("word2vec");
  app.set_version_flag("--version", [] {
    return "word2vec of Wordloom " + std::string(wordloom::version) + ", vectors of " +
           wordloom::target().name;
  });
  Options options;
  declare(app, options);
  auto arguments = with_double_dashes(argc, argv);
  std::reverse(arguments.begin(), arguments.end());  // the order of CLI11
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& version) {
    return app.exit(version);
  } catch (const CLI::ParseError& error) {
    throw wordloom::InvalidArgument(std::string(error.what()) + " (--help lists the options)");
  }
  if (options.list_policies) {
    list_policies();
    return 0;
  }
  check(options);
  if (options.sync != "none") cluster.join();
  if (is_for_gpu(options.kernel)) {
    options.parameters.device = gpu_of(options.composition(), cluster);
    check_gpu(options.composition());
  }
  catch_signals();
  Prepared prepared(options, cluster.is_first());
  // Where another process can end this one at any time, nothing unfinished may lie about.
  if (cluster.size() > 1) prepared.output.reset();

  std::optional<wordloom::Model> model;
  if (!options.load_model.empty()) {
    model.emplace(wordloom::Model::load(options.load_model));
    if (options.new_words) model->extend(make_vocabulary(options, cluster));
  }
  const auto vocabulary = model ? model->vocabulary : make_vocabulary(options, cluster);
  if (prepared.save_vocab) {
    vocabulary.write(*prepared.save_vocab);
    prepared.save_vocab->commit();
  }
  // As in the original program, a run without an output makes only the vocabulary.
  if (options.output.empty() && options.save_model.empty() && !options.json &&
      prepared.evaluation.empty())
    return 0;

  ProgressLine line(options.quiet || !cluster.is_first());
  const std::size_t threads = wordloom::resolve_threads(options.parameters.threads),
                    processors = std::thread::hardware_concurrency();
  if (!options.quiet && cluster.is_first() && processors > 0 && threads > processors)
    std::cerr << "word2vec: note: " << threads << " threads on " << processors
              << " processors train no faster than --threads " << processors << '\n';
  const auto corpus = make_corpus(options, cluster, vocabulary);
  auto report = train({options.composition(), cluster, corpus, vocabulary, model,
                       [&](const wordloom::Progress& progress) {
                         line.show(progress);
                         return caught_signal == 0;
                       },
                       line.interval()});
  add_up(cluster, report);
  line.end();
  if (report.stopped) {
    if (cluster.is_first())
      std::cerr << "word2vec: "
                << (options.checkpoint.empty()
                        ? Interrupted().what()
                        : "interrupted; continue with --resume from " + options.checkpoint)
                << '\n';
    return exit_code_of_signal();
  }
  if (!cluster.is_first()) return 0;
  if (!options.save_model.empty()) model->save(options.save_model);
  const auto words = std::move(*model).embeddings();
  if (!options.output.empty()) {
    if (!prepared.output) prepared.output.emplace(options.output);
    wordloom::write_embeddings(words, *prepared.output, output_format(options));
    prepared.output->commit();
  }
  prepared.evaluation.run(words);
  if (options.json)
    std::cout << line_of(json_report(options, report, cluster.size(), vocabulary,
                                     corpus.token_count(), prepared.evaluation));
  else
    prepared.evaluation.print(std::cout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Cluster cluster;
  std::string cause;
  int code = 1;
  try {
    const int result = run(argc, argv, cluster);
    end_output();
    return result;
  } catch (const Interrupted& interrupted) {
    cause = interrupted.what();
    code = exit_code_of_signal();
  } catch (const std::bad_alloc&) {
    cause = "not enough memory";
  } catch (const std::exception& error) {
    cause = error.what();
  }
  cluster.fail(cause);
  std::cerr << "word2vec: " << (code == 1 ? "error: " : "") << cause << '\n';
  return code;
}
