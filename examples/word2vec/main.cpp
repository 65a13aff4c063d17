// The command-line trainer: a drop-in replacement for word2vec with additional options.
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <wordloom/evaluation/categories.hpp>
#include <wordloom/sync/rank_corpus.hpp>
#include <wordloom/wordloom.hpp>

#include "any_vectors.hpp"
#include "evaluation_sets.hpp"
#include "join_phrases.hpp"
#include "options.hpp"
#include "program.hpp"
#include "reading.hpp"
#include "svd_method.hpp"
#include "training_run.hpp"

namespace {

/// PreparedFiles, with the vectors that training starts from, and the files that are read after it.
struct Prepared : PreparedFiles {
  Prepared(const Options& options, bool writes)
      : PreparedFiles(options, writes),
        pretrained(options.pretrained.empty()
                       ? std::nullopt
                       : std::optional(wordloom::Embeddings::load(options.pretrained,
                                                                  {.warn = warn_as("word2vec")}))),
        evaluation(options.evaluate_similarity, options.evaluate_analogy, options.lookup) {
    if (pretrained) check_pretrained(options);
    if (writes && !options.save_vocab.empty()) save_vocab.emplace(options.save_vocab);
    if (writes && !options.save_phrases.empty()) save_phrases.emplace(options.save_phrases);
  }

  /// Throws InvalidArgument for vectors that training cannot begin with.
  void check_pretrained(const Options& options) const {
    if (pretrained->dimension() != options.parameters.dimension)
      throw wordloom::InvalidArgument(options.pretrained + ": the vectors have dimension " +
                                      std::to_string(pretrained->dimension()) +
                                      ": train with --size of that number");
    for (std::size_t i = 0; i < pretrained->size(); ++i)
      for (const float number : pretrained->vector(i))
        if (!std::isfinite(number))
          throw wordloom::InvalidArgument{options.pretrained,
                                          ": the vector of the word ",
                                          in_quotes(pretrained->word(i)),
                                          " has ",
                                          number,
                                          ": training needs finite numbers, remove the word"};
  }

  /// Writes lines "word class".
  void write_classes(const Options& options, const wordloom::Embeddings& words) {
    const auto classes =
        wordloom::WordCategories::classify(words, options.classes, options.parameters.threads);
    if (!output) output.emplace(options.output);
    for (std::size_t i = 0; i < words.size(); ++i)
      output->write(std::string(words.word(i)) + ' ' + std::to_string(classes[i]) + '\n');
    output->commit();
  }

  std::optional<wordloom::AtomicFile> save_vocab, save_phrases;
  std::optional<wordloom::Embeddings> pretrained;
  EvaluationSets evaluation;
};

/// Counts the words of --train, or reads the given vocabulary. If this process counts alone, adds
/// the number of words that it has counted to `read`.
wordloom::Vocabulary make_vocabulary(const Options& options, const Cluster& cluster,
                                     std::uint64_t& read) {
  const wordloom::VocabularyOptions limits = counting_of(options);
  if (!options.read_vocab.empty()) return wordloom::Vocabulary::load(options.read_vocab, limits);
  if (!cluster.is_joined()) {
    auto vocabulary = wordloom::Vocabulary::from_text(options.train, limits);
    read = vocabulary.words_read();
    return vocabulary;
  }
  auto ranks = *cluster.ranks();
  return wordloom::rank_vocabulary(ranks, options.train, limits);
}

/// Throws InvalidArgument, in all processes, if they would read the vocabulary or the text in
/// different ways: what they tell each other meanwhile would not fit together.
void require_one_way(const Options& options, Cluster& cluster) {
  const bool counts =
      options.read_vocab.empty() && (options.load_model.empty() || options.new_words);
  const auto ways = cluster.gather(std::uint64_t{counts} + 2 * std::uint64_t{owns_rows(options)} +
                                   4 * std::uint64_t{has_own_texts(options)});
  if (std::ranges::count(ways, ways[0]) != std::ssize(ways))
    throw wordloom::InvalidArgument(
        "the processes read --train in different ways: give all of them one --sampler, a --train "
        "with %r or without, and --read-vocab and --load-model to all or none");
}

/// Throws InvalidArgument if strata cannot be trained on a text that is read anew in each epoch.
void require_splits(const Options& options, const auto& text) {
  if (trains_strata(options) && !text.splits())
    throw wordloom::InvalidArgument{"--sampler ", options.sampler,
                                    " reads the text in many parts, and '", options.train,
                                    "' can only be read as a whole: leave --stream out"};
}

/// Prints a note to stderr if processes have texts of their own, and one has many more words than
/// the mean.
void note_own_texts(const Options& options, const Cluster& cluster, const auto& text) {
  const double times = static_cast<double>(text.most_tokens() * cluster.size()) /
                       static_cast<double>(text.token_count());
  if (options.quiet || !cluster.is_first() || !has_own_texts(options) || trains_strata(options) ||
      times < 1.25)
    return;
  std::cerr << "word2vec: note: one process has " << std::round(times * 10) / 10
            << " times the mean number of words, and the others wait for it: give all texts of "
               "about equal length\n";
}

/// Returns the corpus of --train: each process reads its part or its own file, or all of it to
/// train columns or strata. Sets `read` to the number of its words, unknown ones included.
wordloom::AnyCorpus make_corpus(const Options& options, Cluster& cluster,
                                const wordloom::Vocabulary& vocabulary, std::uint64_t& read) {
  const wordloom::CorpusOptions reading = reading_of(options);
  using namespace wordloom;
  const auto counted = [&](const auto& corpus) {
    read = corpus.words_read();
    return AnyCorpus(corpus);
  };
  if (owns_rows(options) && !has_own_texts(options)) {
    if (options.stream) {
      const TextCorpus text(options.train, vocabulary, reading);
      require_splits(options, text);
      return counted(text);
    }
    return counted(EncodedCorpus::from_text(options.train, vocabulary, reading));
  }
  if (options.stream) {
    const auto text = rank_corpus<TextCorpus>(cluster, options.train, vocabulary, reading);
    require_splits(options, text);
    note_own_texts(options, cluster, text);
    return counted(text);
  }
  const auto text = rank_corpus<EncodedCorpus>(cluster, options.train, vocabulary, reading);
  note_own_texts(options, cluster, text);
  return counted(text);
}

/// Returns the counts of a text: "Vocabulary: 20 words; corpus: 1000 words, 980 kept, 20 dropped as
/// rare (min_count 5)".
std::string counts_of(const Options& options, const wordloom::Vocabulary& vocabulary,
                      std::uint64_t read, std::uint64_t kept) {
  std::string text = "Vocabulary: " + std::to_string(vocabulary.size()) +
                     (vocabulary.size() == 1 ? " word" : " words") +
                     "; corpus: " + std::to_string(read) + " words, " + std::to_string(kept) +
                     " kept, " + std::to_string(read - kept) + " dropped";
  if (read == kept) return text;
  if (!options.read_vocab.empty() || !options.load_model.empty())
    return text + ": not in the vocabulary";
  text += " as rare (min_count " + std::to_string(options.min_count);
  if (options.max_vocabulary != 0)
    text += ", max_vocabulary " + std::to_string(options.max_vocabulary);
  return text + ")";
}

/// Returns how many words of the vocabulary have pretrained vectors, as text; warns if none has.
std::string pretrained_counts(const Options& options, const wordloom::Vocabulary& vocabulary,
                              const wordloom::Embeddings& pretrained) {
  std::size_t found = 0;
  for (wordloom::WordId id = 0; id < vocabulary.size(); ++id)
    found += pretrained.contains(vocabulary.word(id));
  const std::string all = std::to_string(vocabulary.size()) + " words of the vocabulary";
  if (found == 0)
    warn("word2vec",
         {"'" + options.pretrained + "' has 0 of the " + all + ": all begin at random"});
  return "Pretrained vectors: " + std::to_string(found) + " of the " + all + " found";
}

/// Reads the model of --load-model, with the words of the text if they are to be added, and makes
/// the options agree with it.
wordloom::Model load_model_for(Options& options, const Cluster& cluster, std::uint64_t& read) {
  auto model = load_model(options);
  if (options.new_words) model.extend(make_vocabulary(options, cluster, read));
  const wordloom::SubwordOptions own = model.subwords.value_or(wordloom::SubwordOptions{.maxn = 0}),
                                 given = options.subwords;
  const auto agree = [&](const char* option, std::size_t value, std::size_t of_model) {
    if (options.is_given(option) && value != of_model)
      throw wordloom::InvalidArgument{
          option,   " is ",   value,           ", the model in '", options.load_model,
          "' has ", of_model, ": leave it out"};
  };
  agree("--maxn", given.maxn, own.maxn);
  if (model.subwords) {
    agree("--minn", given.minn, own.minn);
    agree("--bucket", given.buckets, own.buckets);
    options.subwords = own;
  }
  agree("--char-cnn", options.char_cnn, filters_of(model));
  options.char_cnn = filters_of(model);
  agree("--char-cnn-positions", options.char_cnn_positions, positions_of(model));
  options.char_cnn_positions = positions_of(model);
  check_subwords(options);
  check_char_cnn(options, true);
  options.parameters.learning_rate = options.alpha.value_or(default_rate(options));
  return model;
}

/// Throws CorpusError for a vocabulary of one word, in a message that says what was counted.
void require_two_words(const Options& options, const wordloom::Vocabulary& vocabulary,
                       std::uint64_t read) {
  if (vocabulary.size() > 1) return;
  const std::string counts = counts_of(options, vocabulary, read, vocabulary.total_count());
  std::string advice;
  if (options.max_vocabulary == 1)
    advice = ": give a higher --max-vocabulary";
  else if (read > vocabulary.total_count())
    advice = ": give a lower --min-count";
  throw wordloom::CorpusError{"nothing to train on: training needs a vocabulary of at least 2 ",
                              "words, got only ",
                              in_quotes(vocabulary.word(0)),
                              "; ",
                              counts.substr(counts.find("corpus:")),
                              advice};
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
  const auto arguments = with_double_dashes(app, argc, argv);
  refuse_foreign_names(arguments, foreign_commands, foreign_options);
  if (const auto code = parse(app, arguments)) return *code;
  options.given = given_options(app, arguments);
  if (options.list_policies) {
    list_policies(names_of(published_systems));
    return 0;
  }
  check(options);
  check_lookup(app, "--evaluate-similarity", "--evaluate-analogy");
  auto warnings = warnings_of_repeated(app);
  if (options.loss == "hs" && options.is_given("--negative"))
    warnings.push_back("--negative has no effect with --loss hs");
  warn("word2vec", warnings);
  start_training(options, cluster);
  require_one_way(options, cluster);
  Prepared prepared(options, cluster.is_first());
  // Another process can end this one at any time: leave no unfinished files.
  if (cluster.size() > 1) prepared.output.reset();

  std::uint64_t read = 0;  // words of the text
  std::optional<wordloom::Model> model;
  if (!options.load_model.empty()) model.emplace(load_model_for(options, cluster, read));
  std::optional<JoinedText> joined;
  if (options.phrases > 0) {
    joined.emplace(join_phrases(options, prepared.save_phrases));
    read = joined->words_read;
  }
  const auto vocabulary = joined  ? joined->vocabulary
                          : model ? model->vocabulary
                                  : make_vocabulary(options, cluster, read);
  if (trains(options)) {
    if (!cluster.is_joined() && options.read_vocab.empty() && options.load_model.empty())
      require_two_words(options, vocabulary, read);
    check_vocabulary(options, vocabulary);
    if (options.method == "svd") svd_of(options).check(vocabulary);
    if (options.classes > vocabulary.size())
      throw wordloom::InvalidArgument{"--classes is ", options.classes,
                                      ", the vocabulary has only ", vocabulary.size(), " words"};
    if (options.subwords.maxn == 0 && options.char_cnn == 0)
      prepared.evaluation.require_scored(vocabulary.words());
  }
  std::optional<wordloom::AnyCorpus> corpus;
  if (joined)
    corpus.emplace(joined->corpus);
  else if (trains(options) || !options.cache.empty())
    corpus.emplace(make_corpus(options, cluster, vocabulary, read));
  if (trains(options))
    require_contexts(*corpus, vocabulary, options, cluster,
                     options.max_sentence == 1 ? "--max-sentence is 1, give 2 or more" : "");
  if (prepared.save_vocab) {
    vocabulary.write(*prepared.save_vocab);
    prepared.save_vocab->commit();
  }
  const std::uint64_t kept = corpus ? corpus->token_count() : vocabulary.total_count();
  const bool is_counted = corpus || (!cluster.is_joined() && options.read_vocab.empty());
  Program program{"word2vec", speed};
  if (is_counted) program.counts = counts_of(options, vocabulary, read, kept);
  if (joined) program.counts += "\nPhrases: " + std::to_string(joined->phrases);
  // Like the original program, a run without an output makes only the vocabulary.
  if (!trains(options)) {
    if (!options.quiet && cluster.is_first() && is_counted) std::cerr << program.counts << '\n';
    return 0;
  }
  if (prepared.pretrained)
    program.counts += "\n" + pretrained_counts(options, vocabulary, *prepared.pretrained);
  note_threads(program, options, cluster);
  if (options.method == "svd") {
    run_svd(options, *corpus, vocabulary, program.counts, prepared);
    return 0;
  }
  const auto report = train(program, options, cluster, *corpus, vocabulary, model,
                            prepared.pretrained ? &*prepared.pretrained : nullptr);
  if (report.stopped) return exit_code_of_signal();
  if (!cluster.is_first()) return 0;
  if (!options.save_model.empty()) model->save(options.save_model);
  const wordloom::Model::FastTextOptions of_training{.window = options.parameters.window,
                                                     .epochs = options.parameters.epochs,
                                                     .negatives = options.parameters.negatives,
                                                     .min_count = options.min_count,
                                                     .subsample = options.parameters.subsample,
                                                     .cbow = is_cbow(options.sampler)};
  prepared.write(options, *model, of_training);
  const auto use = [&](const auto& words) {
    if (options.classes > 0)
      prepared.write_classes(options, words.in_vocabulary());
    else
      prepared.write(options, words.in_vocabulary());
    prepared.evaluation.run(words);
  };
  with_vectors_of(std::move(*model), use);
  if (options.json) {
    auto json = json_report(options, report, cluster.size(), vocabulary.size(), kept);
    json["words_read"] = read;
    json["words_dropped"] = read - kept;
    json["scores"] = prepared.evaluation.json();
    std::cout << line_of(json);
  } else {
    prepared.evaluation.print(std::cout);
  }
  prepared.evaluation.require_scores();
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_program("word2vec", run, argc, argv); }
