// Trains one configuration for `reproduce w2v-cl` and prints one JSON object: settings, times,
// bytes and scores.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <exception>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/columns.hpp>
#include <wordloom/evaluation/word_tests.hpp>
#include <wordloom/schedule/schedules.hpp>
#include <wordloom/sync/row_allgather.hpp>
#include <wordloom/sync/thread_ranks.hpp>
#include <wordloom/wordloom.hpp>

#include "command_line.hpp"
#include "pair_class.hpp"
#include "support/averaged_gradients.hpp"
#include "support/sgd_by_count.hpp"

using namespace wordloom;

namespace {

struct Options {
  std::string text, output, method = "uniform", kernel = "fused", optimizer = "sgd", matrix_file,
                            analogy;
  std::vector<std::string> similarity;
  std::size_t batch = 1, columns = 1024, window = 2, points = 10, ranks = 1;
  std::uint64_t min_count = 50;
  std::size_t max_vocabulary = 0;
  bool loss_by_class = false, dense = false, constant = false;
  double count_exponent = 0;
  Hyperparameters parameters{.dimension = 128, .subsample = 0, .epochs = 1, .threads = 1};
};

/// Seconds on a steady clock.
double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Processor time of all threads: other programs on the machine hardly change it.
double cpu_now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

using Json = nlohmann::ordered_json;  // NaN becomes null

/// The losses of two classes of words at equally spaced points of training.
class LossCurves {
 public:
  LossCurves(const EncodedCorpus& corpus, const Vocabulary& vocabulary, const Options& options)
      : points_(options.points) {
    const Hyperparameters& parameters = options.parameters;
    const auto matrix = WordContextMatrix::from(corpus, vocabulary,
                                                {.columns = 1,
                                                 .window = options.window,
                                                 .subsample = parameters.subsample,
                                                 .seed = parameters.seed + 1000,
                                                 .threads = parameters.threads});
    const detail::NegativeDistribution negatives(vocabulary, parameters.negative_exponent);
    const std::size_t words = matrix.words().size(), tenth = std::max(words / 10, std::size_t{1});
    classes_.emplace_back("frequent", matrix, 0, tenth, negatives, parameters.negatives);
    classes_.emplace_back("rare", matrix, words / 2, words - words / 2, negatives,
                          parameters.negatives);
  }

  /// Measures the classes if the next point is due.
  void at(const Progress& progress, const Model& model) {
    const double due = static_cast<double>(done_ + 1) / static_cast<double>(points_);
    if (done_ == points_ || progress.fraction() < due) return;
    const double start = now(), cpu_start = cpu_now();
    Json point{{"fraction", progress.fraction()}};
    for (const PairClass& words : classes_) point[words.name()] = words.loss(model);
    json_.push_back(std::move(point));
    done_ = static_cast<std::size_t>(progress.fraction() * static_cast<double>(points_));
    seconds_ += now() - start;
    cpu_seconds_ += cpu_now() - cpu_start;
  }

  double seconds() const { return seconds_; }  // spent here
  double cpu_seconds() const { return cpu_seconds_; }
  const Json& json() const { return json_; }

 private:
  std::size_t points_, done_ = 0;
  std::vector<PairClass> classes_;
  Json json_ = Json::array();
  double seconds_ = 0, cpu_seconds_ = 0;
};

/// Returns Spearman's rho and the number of pairs of all sets together, for pairs whose rarer word
/// is in the most frequent, middle and rarest third of the vocabulary. The sets have different
/// scales, so each score is replaced by its rank in its set, from 0 to 1.
Json similarity_by_frequency(const Embeddings& vectors,
                             const std::vector<std::vector<SimilarityPair>>& sets) {
  constexpr std::array names{"frequent", "middle", "rare"};
  std::array<std::vector<double>, 3> people, cosines;
  const auto find = [&](const std::string& word) {
    return find_spelling(vectors.words(), word, LetterCase::fallback);
  };
  for (const auto& set : sets) {
    std::vector<double> scores;
    for (const auto& pair : set) scores.push_back(pair.score);
    const auto ranks = detail::ranks(scores);
    for (std::size_t i = 0; i < set.size(); ++i) {
      const auto first = find(set[i].first), second = find(set[i].second);
      if (!first || !second) continue;
      const std::size_t third = std::max(*first, *second) * 3 / vectors.size();
      people[third].push_back(ranks[i] / static_cast<double>(set.size()));
      cosines[third].push_back(static_cast<double>(vectors.similarity(*first, *second)));
    }
  }
  Json json;
  for (std::size_t third = 0; third < names.size(); ++third)
    json[names[third]] = {detail::spearman(people[third], cosines[third]), people[third].size()};
  return json;
}

/// Adds the scores of the vectors and, with --output, saves them.
void add_scores(Json& json, const Embeddings& vectors, const Options& options) {
  if (!options.output.empty()) vectors.save(options.output);
  std::vector<std::vector<SimilarityPair>> sets;
  Json scores = Json::object();
  for (const std::string& file : options.similarity) {
    sets.push_back(SimilarityPair::load(file));
    scores[std::filesystem::path(file).stem()] = evaluate_similarity(vectors, sets.back()).spearman;
  }
  json["similarity"] = scores;
  if (!sets.empty()) json["by_frequency"] = similarity_by_frequency(vectors, sets);
  if (options.analogy.empty()) return;
  const auto report = evaluate_analogies(vectors, AnalogySection::load(options.analogy));
  json["analogies"] = report.total.accuracy();
  json["semantic"] = report.semantic.accuracy();
  json["syntactic"] = report.syntactic.accuracy();
}

/// Trains, and adds all that is measured.
template <class AnyTrainer, class Corpus>
void train(Json& json, AnyTrainer trainer, const Corpus& corpus, const EncodedCorpus& text,
           const Vocabulary& vocabulary, const Options& options) {
  std::optional<LossCurves> curves;
  if (options.loss_by_class) {
    curves.emplace(text, vocabulary, options);
    trainer.on_progress(
        [&](const Progress& progress, const Model& model) { curves->at(progress, model); },
        std::chrono::seconds(0));
  }
  Model model = trainer.new_model(vocabulary);
  const double cpu_start = cpu_now();
  const TrainReport report = trainer.train(corpus, model);
  const double cpu_seconds = cpu_now() - cpu_start;
  const double seconds = report.seconds - (curves ? curves->seconds() : 0);
  json["seconds"] = seconds;
  json["cpu_seconds"] = cpu_seconds - (curves ? curves->cpu_seconds() : 0);
  json["words_per_second"] = static_cast<double>(report.tokens) / seconds;
  json["loss"] = report.loss;
  std::size_t bytes = 0;
  for (const auto& [name, matrix] : model.matrices()) bytes += matrix->bytes();
  json["model_bytes"] = bytes;
  if (curves) json["losses"] = curves->json();
  add_scores(json, std::move(model).embeddings(), options);
}

AnySchedule schedule_of(const Options& options) {
  return {options.constant ? AnySchedule::Kind::constant : AnySchedule::Kind::linear,
          options.parameters};
}

/// Trains columns by ranks, each with one thread of this process, and adds what the first one
/// reports: all end together, with the same model.
template <class Kernel>
void train_ranks(Json& json, const Kernel& kernel, const WordContextMatrix& matrix,
                 const Vocabulary& vocabulary, const Options& options) {
  ThreadRanks::run(options.ranks, [&](ThreadRanks self) {
    using Sync = RowAllgather<ThreadRanks>;
    Trainer<UniformMatrix, Kernel, Sync, AnySchedule> trainer(
        options.parameters, UniformMatrix::from(options.parameters), kernel, Sync(self),
        schedule_of(options));
    Model model = trainer.new_model(vocabulary);
    const TrainReport report = trainer.train(matrix, model);
    if (self.rank() != 0) return;
    json["seconds"] = report.seconds;
    json["loss"] = report.loss;
    json["bytes_sent"] = trainer.sync().bytes_sent();
    add_scores(json, std::move(model).embeddings(), options);
  });
}

/// Trains Vanilla by ranks, each with one thread of this process, that average gradients, and adds
/// what the first one reports: all have the same model.
void train_vanilla_ranks(Json& json, const Hyperparameters& parameters, const EncodedCorpus& text,
                         const Vocabulary& vocabulary, const Options& options) {
  ThreadRanks::run(options.ranks, [&](ThreadRanks self) {
    using Sync = AlikeRanks<ThreadRanks>;
    using Kernel = AveragedGradients<Adam, ThreadRanks>;
    Trainer<Hogwild, Kernel, Sync, AnySchedule> trainer(parameters, Hogwild::from(parameters),
                                                        Kernel{self, {}, options.batch}, Sync(self),
                                                        schedule_of(options));
    Model model = trainer.new_model(vocabulary);
    const TrainReport report = trainer.train(text, model);
    if (self.rank() != 0) return;
    json["seconds"] = report.seconds;
    json["loss"] = report.loss;
    add_scores(json, std::move(model).embeddings(), options);
  });
}

[[noreturn]] void refuse(const Options& options) {
  throw InvalidArgument("method '" + options.method + "' does not train with kernel '" +
                        options.kernel + "' and optimizer '" + options.optimizer + "'");
}

/// Calls `use` with kernel K under the optimizer of the options.
template <class K, class Use>
void with_optimizer(const Options& options, Use use) {
  if (options.optimizer == "sgd")
    use(WithOptimizer<K, Sgd>{});
  else if (options.optimizer == "sgd-by-count")
    use(WithOptimizer<K, SgdByCount>{.optimizer = {options.count_exponent}});
  else if (options.optimizer == "adam")
    use(WithOptimizer<K, Adam>{.optimizer = {.dense = options.dense}});
  else
    use(WithOptimizer<K, AdaGrad>{.optimizer = {.per_row = options.optimizer == "adagrad-row"}});
}

template <class Sampler, class K>
auto trainer_of(const Hyperparameters& parameters, K kernel, const Options& options) {
  return Trainer<Sampler, K, NoSync, AnySchedule>(parameters, Sampler::from(parameters),
                                                  std::move(kernel), {}, schedule_of(options));
}

void train_columns(Json& json, const EncodedCorpus& text, const Vocabulary& vocabulary,
                   const Options& options) {
  if (options.kernel == "dot" && options.optimizer != "sgd") refuse(options);
  const double start = now();
  const auto matrix = WordContextMatrix::from(text, vocabulary,
                                              {.columns = options.columns,
                                               .window = options.window,
                                               .subsample = options.parameters.subsample,
                                               .seed = options.parameters.seed,
                                               .threads = options.parameters.threads,
                                               .file = options.matrix_file});
  json["matrix_seconds"] = now() - start;
  json["pairs"] = matrix.token_count() * options.parameters.epochs;
  const auto run = [&](auto kernel) {
    if (options.ranks > 1) return train_ranks(json, kernel, matrix, vocabulary, options);
    train(json, trainer_of<UniformMatrix>(options.parameters, std::move(kernel), options), matrix,
          text, vocabulary, options);
  };
  if (options.optimizer != "sgd")
    with_optimizer<FusedKernel>(options, run);
  else if (options.kernel == "fused")
    run(FusedKernel{});
  else
    run(DotKernel{});
}

/// The methods that read the corpus from its beginning to its end.
void train_corpus(Json& json, const EncodedCorpus& text, const Vocabulary& vocabulary,
                  const Options& options) {
  Hyperparameters parameters = options.parameters;
  parameters.window = options.window;
  parameters.fixed_window = true;
  const detail::Subsampling subsampling(vocabulary, parameters.subsample);
  double kept = 0;
  for (WordId word = 0; word < vocabulary.size(); ++word)
    kept += static_cast<double>(vocabulary.counts()[word]) * subsampling.keep_probability(word);
  json["pairs"] = kept * static_cast<double>(2 * parameters.window * parameters.epochs);
  const auto run = [&](auto trainer) {
    train(json, std::move(trainer), text, text, vocabulary, options);
  };
  if (options.method == "vanilla") {
    if (options.kernel != "dot") refuse(options);
    if (options.ranks > 1) return train_vanilla_ranks(json, parameters, text, vocabulary, options);
    with_optimizer<DotKernel>(options, [&](auto kernel) {
      kernel.batch = options.batch;
      run(trainer_of<Hogwild>(parameters, std::move(kernel), options));
    });
  } else if (options.optimizer != "sgd" ||
             options.kernel != (options.method == "shared" ? "fused" : "dot")) {
    refuse(options);
  } else if (options.method == "shared") {
    run(trainer_of<SharedNegative>(parameters, FusedKernel{}, options));
  } else {
    run(trainer_of<Hogwild>(parameters, DotKernel{}, options));
  }
}

void train(const Options& options) {
  options.parameters.validate();
  const bool vanilla = options.method == "vanilla";
  check_parameter("--ranks", options.ranks, 1, options.method == "uniform" || vanilla ? 1024 : 1);
  if (options.dense && (options.optimizer != "adam" || !vanilla))
    throw InvalidArgument("--dense goes with --method vanilla --optimizer adam");
  if (vanilla && options.ranks > 1 && !options.dense)
    throw InvalidArgument("--method vanilla with --ranks needs --dense");
  const auto vocabulary = Vocabulary::from_text(
      options.text, {.min_count = options.min_count, .max_size = options.max_vocabulary});
  const auto text = EncodedCorpus::from_text(options.text, vocabulary);
  const Hyperparameters& parameters = options.parameters;
  const bool uniform = options.method == "uniform";
  Json json{{"method", options.method},
            {"kernel", options.kernel},
            {"optimizer", options.optimizer},
            {"dense", options.dense},
            {"constant", options.constant},
            {uniform ? "columns" : "batch", uniform ? options.columns : options.batch},
            {"epochs", parameters.epochs},
            {"dimension", parameters.dimension},
            {"window", options.window},
            {"negatives", parameters.negatives},
            {"minibatch", parameters.minibatch},
            {"shared_negatives", parameters.shared_negatives},
            {"seed", parameters.seed},
            {"threads", parameters.threads},
            {"ranks", options.ranks},
            {"min_count", options.min_count},
            {"vocabulary", vocabulary.size()},
            {"corpus_words", text.token_count()},
            {"exponent", parameters.negative_exponent},
            {"subsample", parameters.subsample},
            {"rate", parameters.learning_rate},
            {"count_exponent", options.count_exponent}};
  if (uniform)
    train_columns(json, text, vocabulary, options);
  else
    train_corpus(json, text, vocabulary, options);
  std::cout << json << '\n';
  end_output();
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Trains one configuration of reproduce w2v-cl");
  Options options;
  Hyperparameters& parameters = options.parameters;
  const auto size = [&](const char* name, auto& value, const char* help) {
    app.add_option(name, value, help)->check(whole_number)->capture_default_str();
  };
  const auto choice = [&](const char* name, std::string& value, std::vector<std::string> all,
                          const char* help) {
    app.add_option(name, value, help)->check(CLI::IsMember(std::move(all)))->capture_default_str();
  };
  app.add_option("--text", options.text, "Text file")->required();
  app.add_option("--output", options.output, "File for the vectors, in word2vec's binary format");
  app.add_option("--similarity", options.similarity, "Files of lines 'word word score'");
  app.add_option("--analogy", options.analogy, "File of analogies");
  choice("--method", options.method, {"uniform", "vanilla", "shared", "hogwild"},
         "Columns of the uniform matrix, or the corpus in its order");
  choice("--kernel", options.kernel, {"fused", "dot"}, "Of uniform; vanilla and hogwild have dot");
  choice("--optimizer", options.optimizer,
         {"sgd", "sgd-by-count", "adam", "adagrad", "adagrad-row"}, "Of uniform and vanilla");
  size("--batch", options.batch, "Pairs in a batch of vanilla");
  size("--columns", options.columns, "Contexts of each word in an epoch of uniform");
  app.add_option("--matrix-file", options.matrix_file, "File that keeps the matrix");
  size("--epochs", parameters.epochs, "Passes over the matrix or the corpus");
  size("--dimension", parameters.dimension, "Numbers in a vector");
  size("--window", options.window, "Context words on each side, always so many");
  size("--negatives", parameters.negatives, "Negatives of each pair");
  size("--minibatch", parameters.minibatch, "Pairs that share negatives (uniform)");
  size("--shared-negatives", parameters.shared_negatives, "Negatives that they share (uniform)");
  size("--seed", parameters.seed, "Of all random numbers");
  size("--threads", parameters.threads, "That train, 0 = all");
  size("--ranks", options.ranks, "Ranks in this process, of uniform, or of vanilla with --dense");
  size("--min-count", options.min_count, "Of words in the vocabulary");
  size("--max-vocabulary", options.max_vocabulary, "The most frequent words, 0 = all");
  app.add_option("--exponent", parameters.negative_exponent, "Of counts, for negatives")
      ->capture_default_str();
  app.add_option("--count-exponent", options.count_exponent,
                 "Of sgd-by-count: a word's rate is by its count to this")
      ->capture_default_str();
  app.add_option("--subsample", parameters.subsample, "Threshold, 0 = all words")
      ->capture_default_str();
  app.add_option("--rate", parameters.learning_rate, "Learning rate")->capture_default_str();
  app.add_flag("--dense", options.dense, "Adam steps all rows after each batch");
  app.add_flag("--constant", options.constant, "The learning rate does not fall");
  app.add_flag("--loss-by-class", options.loss_by_class,
               "Measure the loss of frequent and of rare words during training");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  }
  train(options);
  return 0;
} catch (const std::exception& error) {
  std::cerr << "train_w2v_cl: error: " << error.what() << '\n';
  return 1;
}
