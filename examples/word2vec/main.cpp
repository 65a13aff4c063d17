// The command-line trainer: a drop-in for word2vec's flags, with ours beside them.
#include <malloc.h>

#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <wordloom/sync/rank_corpus.hpp>
#include <wordloom/wordloom.hpp>

#include "any_vectors.hpp"
#include "evaluation_sets.hpp"
#include "options.hpp"
#include "program.hpp"
#include "training_run.hpp"

namespace {

/// Also the vectors that training starts from, and the files that are read after it.
struct Prepared : PreparedFiles {
  Prepared(const Options& options, bool writes)
      : PreparedFiles(options, writes),
        pretrained(options.pretrained.empty()
                       ? std::nullopt
                       : std::optional(wordloom::load_embeddings(options.pretrained,
                                                                 {.warn = warn_as("word2vec")}))),
        evaluation(options.evaluate_similarity, options.evaluate_analogy) {
    if (pretrained && pretrained->dimension() != options.parameters.dimension)
      throw wordloom::InvalidArgument(options.pretrained + ": the vectors have dimension " +
                                      std::to_string(pretrained->dimension()) +
                                      ": train with --size of that number");
    if (writes && !options.save_vocab.empty()) save_vocab.emplace(options.save_vocab);
  }
  std::optional<wordloom::AtomicFile> save_vocab;
  std::optional<wordloom::Embeddings> pretrained;
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

/// The corpus of --train: each process reads its part, or all of it to train columns.
wordloom::AnyCorpus make_corpus(const Options& options, Cluster& cluster,
                                const wordloom::Vocabulary& vocabulary) {
  const wordloom::CorpusOptions reading{.max_sentence_length = options.max_sentence,
                                        .threads = options.parameters.threads,
                                        .cache = options.cache,
                                        .before_piece = check_signals};
  using namespace wordloom;
  if (trains_columns(options)) {
    if (options.stream) return AnyCorpus(TextCorpus(options.train, vocabulary, reading));
    return AnyCorpus(EncodedCorpus::from_text(options.train, vocabulary, reading));
  }
  if (options.stream)
    return AnyCorpus(rank_corpus<TextCorpus>(cluster, options.train, vocabulary, reading));
  return AnyCorpus(rank_corpus<EncodedCorpus>(cluster, options.train, vocabulary, reading));
}

std::string speed(double words_per_second) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2fM words/s", words_per_second / 1e6);
  return text;
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
#ifdef M_MMAP_THRESHOLD
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);  // returns large tables to the system when they are freed
#endif
  CLI::App app(
      "Trains word vectors: skip-gram and CBOW, with negative sampling or hierarchical softmax.\n"
      "Long options may be written with one dash, as word2vec's.");
  app.name("word2vec");
  Options options;
  declare(app, options);
  if (const auto code = parse(app, with_double_dashes(argc, argv))) return *code;
  if (options.list_policies) {
    list_policies();
    return 0;
  }
  check(options);
  start_training(options, cluster);
  Prepared prepared(options, cluster.is_first());
  // Where another process can end this one at any time, nothing unfinished may lie about.
  if (cluster.size() > 1) prepared.output.reset();

  std::optional<wordloom::Model> model;
  if (!options.load_model.empty()) {
    model.emplace(load_model(options.load_model));
    if (options.new_words) model->extend(make_vocabulary(options, cluster));
    if (model->subwords) options.subwords = *model->subwords;
    options.char_cnn = filters_of(*model);
    check_subwords(options);
    check_char_cnn(options);
    options.parameters.learning_rate = options.alpha.value_or(default_rate(options));
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

  const Program program{"word2vec", speed};
  note_threads(program, options, cluster);
  const auto corpus = make_corpus(options, cluster, vocabulary);
  const auto report = train(program, options, cluster, corpus, vocabulary, model,
                            prepared.pretrained ? &*prepared.pretrained : nullptr);
  if (report.stopped) return exit_code_of_signal();
  if (!cluster.is_first()) return 0;
  if (!options.save_model.empty()) model->save(options.save_model);
  const wordloom::FastTextOptions of_training{.window = options.parameters.window,
                                              .epochs = options.parameters.epochs,
                                              .negatives = options.parameters.negatives,
                                              .min_count = options.min_count,
                                              .subsample = options.parameters.subsample,
                                              .cbow = is_cbow(options.sampler)};
  prepared.write(options, *model, of_training);
  const auto use = [&](const auto& words) {
    prepared.write(options, words);
    prepared.evaluation.run(words);
  };
  with_vectors_of(std::move(*model), use);
  if (options.json) {
    auto json =
        json_report(options, report, cluster.size(), vocabulary.size(), corpus.token_count());
    json["scores"] = prepared.evaluation.json();
    std::cout << line_of(json);
  } else {
    prepared.evaluation.print(std::cout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_program("word2vec", run, argc, argv); }
