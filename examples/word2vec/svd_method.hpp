#pragma once
#include <chrono>
#include <iostream>
#include <string>
#include <wordloom/algebra.hpp>
#include <wordloom/wordloom.hpp>

#include "options.hpp"
#include "share_line.hpp"
#include "training_run.hpp"

/// Returns the factorisation of --method svd.
inline wordloom::PmiSvd svd_of(const Options& options) {
  const auto& p = options.parameters;
  wordloom::PmiSvd svd{.dimension = p.dimension,
                       .window = p.window,
                       .subsample = p.subsample,
                       .smoothing = p.negative_exponent,
                       .power = options.eigenvalue_power,
                       .adds_contexts = options.adds_contexts,
                       .seed = p.seed,
                       .threads = p.threads};
  if (options.is_given("--negative")) svd.shift = static_cast<double>(p.negatives);
  return svd;
}

/// Computes, writes and tests vectors by a factorisation. `prepared`: Prepared of main.cpp.
template <class Prepared>
void run_svd(const Options& options, const wordloom::AnyCorpus& corpus,
             const wordloom::Vocabulary& vocabulary, const std::string& counts,
             Prepared& prepared) {
  ShareLine line("word2vec: svd", options.quiet ? "" : counts, options.quiet);
  auto svd = svd_of(options);
  svd.progress = [&line](double share) { line.show(share); };
  const auto start = std::chrono::steady_clock::now();
  const auto words = svd.fit(corpus, vocabulary);
  const std::chrono::duration<double> train_time = std::chrono::steady_clock::now() - start;
  line.end();
  if (options.classes > 0)
    prepared.write_classes(options, words);
  else
    prepared.write(options, words);
  prepared.evaluation.run(words);
  if (options.json) {
    nlohmann::ordered_json json{{"method", options.method},
                                {"train_seconds", train_time.count()},
                                {"vocabulary", words.size()},
                                {"tokens", corpus.token_count()},
                                {"peak_rss_bytes", peak_rss_bytes()},
                                {"target", wordloom::InstructionSet::chosen().name},
                                {"dimension", words.dimension()},
                                {"threads", wordloom::resolve_threads(svd.threads)},
                                {"seed", svd.seed},
                                {"scores", prepared.evaluation.json()}};
    std::cout << line_of(json);
  } else {
    prepared.evaluation.print(std::cout);
  }
  prepared.evaluation.require_scores();
}
