// Trains one composition on a GPU, several times in one process, and prints a JSON object a line:
// words a second of the first epoch and of each further one, and with --data the scores. It has one
// kernel for one length of rows and so compiles in a minute: for comparisons of variants of the
// headers. Returns 77 where there is no device. By macros:
//   TIMED_SAMPLER, TIMED_KERNEL   types of Wordloom; default SharedNegative and CudaWarpKernel
//   TIMED_VANILLA                 instead: minibatches of pairs, the number of pairs by --batch
//   WORDLOOM_CUDA_ROW_SIZES       lengths of rows in units of 32 floats; default 4 (D up to 128)
#ifndef WORDLOOM_CUDA_ROW_SIZES
#define WORDLOOM_CUDA_ROW_SIZES 4
#endif
#ifdef TIMED_VANILLA
#include <wordloom/cuda_vanilla.hpp>
#else
#include <wordloom/cuda.hpp>
#endif
#ifndef TIMED_SAMPLER
#define TIMED_SAMPLER SharedNegative
#endif
#ifndef TIMED_KERNEL
#define TIMED_KERNEL CudaWarpKernel
#endif

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/evaluation/word_tests.hpp>

namespace {

using wordloom::Embeddings;

std::map<std::string, std::string> options{
    {"--label", "-"},  {"--corpus", ""},  {"--cache", ""},     {"--data", ""},
    {"--size", "128"}, {"--window", "5"}, {"--epochs", "5"},   {"--in-flight", "0"},
    {"--rounds", "3"}, {"--alpha", ""},   {"--batch", "1024"}, {"--negatives", "5"}};

std::size_t number(const char* name) {
  return static_cast<std::size_t>(std::strtoull(options[name].c_str(), nullptr, 10));
}

std::string scores(const Embeddings& words, const std::filesystem::path& data) {
  const auto similarity = [&](const char* set) {
    return evaluate_similarity(words, wordloom::load_similarity_pairs(data / "similarity" / set))
        .spearman;
  };
  const auto text = [](double x) { return std::isnan(x) ? "null" : std::to_string(x); };
  const auto analogies = wordloom::load_analogies(data / "analogy" / "questions-words.txt");
  return ", \"ws353\": " + text(similarity("ws353.tsv")) +
         ", \"simlex999\": " + text(similarity("simlex999.tsv")) +
         ", \"analogies\": " + text(evaluate_analogies(words, analogies).total.accuracy());
}

int run() {
  const auto vocabulary = wordloom::Vocabulary::from_text(options["--corpus"]);
  const auto corpus = wordloom::EncodedCorpus::from_text(options["--corpus"], vocabulary,
                                                         {.cache = options["--cache"]});
  wordloom::Hyperparameters parameters{.dimension = number("--size"),
                                       .window = number("--window"),
                                       .negatives = number("--negatives"),
                                       .subsample = 1e-4,
                                       .epochs = number("--epochs"),
                                       .sentences_in_flight = number("--in-flight")};
#ifdef TIMED_VANILLA
  parameters.learning_rate = 0.001;
#endif
  if (!options["--alpha"].empty()) parameters.learning_rate = std::stod(options["--alpha"]);
  const auto words = static_cast<double>(corpus.token_count());
  for (std::size_t round = 0; round < number("--rounds"); ++round) {
#ifdef TIMED_VANILLA
    wordloom::VanillaGpu<wordloom::Adam> trainer(parameters, {.batch = number("--batch")});
#else
    wordloom::Trainer<wordloom::TIMED_SAMPLER, wordloom::TIMED_KERNEL> trainer(parameters);
#endif
    auto model = trainer.new_model(vocabulary);
    const auto report = trainer.train(corpus, model);
    double further = 0;
    for (std::size_t epoch = 1; epoch < parameters.epochs; ++epoch)
      further += report.epoch_seconds[epoch];
    const double first = words / report.epoch_seconds[0];
    std::printf(
        "{\"label\": \"%s\", \"round\": %zu, \"sentences_in_flight\": %zu, \"dimension\": %zu, "
        "\"epochs\": %zu, \"first_epoch\": %.4g, \"whole\": %.4g, \"further_epochs\": %.4g, "
        "\"loss\": %.5g%s}\n",
        options["--label"].c_str(), round, report.sentences_in_flight, parameters.dimension,
        parameters.epochs, first, report.words_per_second,
        further > 0 ? words * static_cast<double>(parameters.epochs - 1) / further : first,
        report.loss,
        options["--data"].empty() || round > 0
            ? ""
            : scores(std::move(model).embeddings(), options["--data"]).c_str());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  int at = 1;
  for (; at + 1 < argc && options.count(argv[at]) > 0; at += 2) options[argv[at]] = argv[at + 1];
  if (at != argc || options["--corpus"].empty()) {
    std::fprintf(stderr, "usage: time_kernel --corpus TEXT [OPTION VALUE]..., of\n");
    for (const auto& [name, value] : options)
      std::fprintf(stderr, "  %s (%s)\n", name.c_str(), value.c_str());
    return 1;
  }
  try {
    wordloom::cuda::use_device(0);
  } catch (const wordloom::DeviceError& error) {
    std::printf("skipped: %s\n", error.what());
    return 77;
  }
  return run();
} catch (const std::exception& error) {
  std::fprintf(stderr, "time_kernel: %s\n", error.what());
  return 1;
}
