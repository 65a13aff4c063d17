// The command-line trainer: a drop-in for word2vec's flags, with ours beside them.
#include <sys/resource.h>

#include <csignal>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <wordloom/wordloom.hpp>

#include "compositions.hpp"
#include "options.hpp"
#include "progress_line.hpp"
#include "results.hpp"

namespace {

volatile std::sig_atomic_t interrupted = 0;

/// Files that are read or written after training are opened before it: a wrong name must not cost
/// hours.
struct Prepared {
  Prepared(const Options& options, bool writes)
      : evaluation(options.evaluate_similarity, options.evaluate_analogy) {
    if (writes && !options.output.empty()) output.emplace(options.output);
    if (writes && !options.save_vocab.empty()) save_vocab.emplace(options.save_vocab);
    if (writes && options.resume) wordloom::MappedFile(options.checkpoint);
    if (writes && !options.checkpoint.empty()) wordloom::AtomicFile(options.checkpoint);
  }
  std::optional<wordloom::AtomicFile> output, save_vocab;
  EvaluationSets evaluation;
};

wordloom::Vocabulary make_vocabulary(const Options& options, const Cluster& cluster) {
  const wordloom::VocabularyOptions limits{.min_count = options.min_count,
                                           .max_size = options.max_vocabulary,
                                           .threads = options.parameters.threads};
  if (!options.read_vocab.empty()) return wordloom::Vocabulary::load(options.read_vocab, limits);
  if (!cluster.is_joined()) return wordloom::Vocabulary::from_text(options.train, limits);
  auto ranks = *cluster.ranks();
  return wordloom::rank_vocabulary(ranks, options.train, limits);
}

/// What all processes have trained together.
void add_up(Cluster& cluster, wordloom::TrainReport& report) {
  if (!cluster.is_joined()) return;
  const auto all = cluster.gather(report.tokens);
  report.tokens = std::accumulate(all.begin(), all.end(), std::uint64_t{0});
  report.words_per_second = static_cast<double>(report.tokens) / report.seconds;
}

Trained train_on_text(const Options& options, Cluster& cluster,
                      const wordloom::Vocabulary& vocabulary, ProgressLine& line,
                      std::uint64_t& corpus_tokens) {
  const wordloom::CorpusOptions reading{.max_sentence_length = options.max_sentence,
                                        .threads = options.parameters.threads,
                                        .cache = options.cache};
  const auto run = [&](const auto& corpus) {
    corpus_tokens = corpus.token_count();
    const auto callback = [&](const wordloom::Progress& progress) {
      line.show(progress);
      return interrupted == 0;
    };
    auto trained =
        train(options.composition(), cluster, corpus, vocabulary, callback, line.interval());
    add_up(cluster, trained.report);
    return trained;
  };
  using wordloom::rank_corpus;
  return options.stream
             ? run(rank_corpus<wordloom::TextCorpus>(cluster, options.train, vocabulary, reading))
             : run(rank_corpus<wordloom::EncodedCorpus>(cluster, options.train, vocabulary,
                                                        reading));
}

int run(int argc, char** argv, Cluster& cluster) {
  CLI::App app(
      "Trains word vectors: skip-gram with negative sampling.\n"
      "Long options may be written with one dash, as word2vec's.");
  app.name("word2vec");
  app.set_version_flag("--version", [] {
    return std::string("word2vec of Wordloom " WORDLOOM_VERSION ", vectors of ") +
           wordloom::target().name;
  });
  Options options;
  declare(app, options);
  auto arguments = with_double_dashes(argc, argv);
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& version) {
    return app.exit(version);
  } catch (const CLI::ParseError& error) {
    throw wordloom::InvalidArgument(std::string(error.what()) + " (--help lists the options)");
  }
  check(options);
  if (options.sync != "none") cluster.join();
  if (is_for_gpu(options.kernel)) {
    options.parameters.device = gpu_of(options.composition(), cluster);
    check_gpu(options.composition());
  }
  Prepared prepared(options, cluster.is_first());
  // Where another process can end this one at any time, nothing unfinished may lie about.
  if (cluster.size() > 1) prepared.output.reset();

  const auto vocabulary = make_vocabulary(options, cluster);
  if (prepared.save_vocab) {
    vocabulary.write(*prepared.save_vocab);
    prepared.save_vocab->commit();
  }
  // As the original program: without an output it has only the vocabulary to make.
  if (options.output.empty() && !options.json && prepared.evaluation.empty()) return 0;

  ProgressLine line(options.quiet || !cluster.is_first());
  std::signal(SIGINT, [](int) { interrupted = 1; });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
  std::uint64_t corpus_tokens = 0;
  const auto trained = train_on_text(options, cluster, vocabulary, line, corpus_tokens);
  line.end();
  if (!cluster.is_first()) return interrupted != 0 ? 130 : 0;
  if (interrupted != 0) {
    const bool goes_on = !options.checkpoint.empty() && std::filesystem::exists(options.checkpoint);
    std::cerr << "word2vec: interrupted, "
              << (goes_on ? "go on with --resume from " + options.checkpoint : "nothing written")
              << '\n';
    return 130;
  }
  if (!options.output.empty()) {
    if (!prepared.output) prepared.output.emplace(options.output);
    wordloom::write_embeddings(trained.words, *prepared.output, output_format(options));
    prepared.output->commit();
  }
  prepared.evaluation.run(trained.words);
  if (options.json)
    std::cout << json_report(options, trained.report, cluster.size(), vocabulary, corpus_tokens,
                             prepared.evaluation)
                     .dump()
              << '\n';
  else
    prepared.evaluation.print(std::cout);
  std::cout.flush();
  if (!std::cout) throw wordloom::IoError("cannot write to standard output");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Cluster cluster;
  std::string cause;
  try {
    return run(argc, argv, cluster);
  } catch (const std::bad_alloc&) {
    cause = "not enough memory";
  } catch (const std::exception& error) {
    cause = error.what();
  }
  cluster.fail(cause);  // ends here when there are other processes
  std::cerr << "word2vec: error: " << cause << '\n';
  return 1;
}
