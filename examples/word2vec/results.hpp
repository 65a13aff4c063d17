#pragma once
#include <sys/resource.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <wordloom/wordloom.hpp>

#include "evaluation_sets.hpp"
#include "options.hpp"

/// The most memory that this process has held, bytes.
inline std::uint64_t peak_rss_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

inline nlohmann::ordered_json json_report(const Options& options,
                                          const wordloom::TrainReport& report, std::size_t ranks,
                                          const wordloom::Vocabulary& vocabulary,
                                          std::uint64_t corpus_tokens,
                                          const EvaluationSets& evaluation) {
  const auto& p = options.parameters;
  return {{"words_per_second", report.words_per_second},
          {"train_seconds", report.seconds},
          {"vocabulary", vocabulary.size()},
          {"tokens", corpus_tokens},
          {"epochs", p.epochs},
          {"loss", report.loss},
          {"peak_rss_bytes", peak_rss_bytes()},
          {"sampler", options.sampler},
          {"kernel", options.kernel},
          {"target", wordloom::target().name},
          {"dimension", p.dimension},
          {"threads", wordloom::resolve_threads(p.threads)},
          {"ranks", ranks},
          {"seed", p.seed},
          {"scores", evaluation.json()}};
}
