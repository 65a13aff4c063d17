#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/shared_negative.hpp>
#include <wordloom/sync/concept.hpp>

/// Returns what a trainer tells a sync policy of a run of SharedNegative in which each rank trains
/// `words` words an epoch.
inline wordloom::RankInfo sync_run(const wordloom::Model& model, std::uint64_t words,
                                   const wordloom::Hyperparameters& parameters,
                                   std::function<double(double)> rate) {
  const auto sampler = wordloom::SharedNegative::from(parameters).start(model.vocabulary);
  return {.input_rows = model.input.rows(),
          .output_rows = model.output.rows(),
          .dimension = model.dimension(),
          .words_per_epoch = words,
          .epochs = parameters.epochs,
          .rate = std::move(rate),
          .expected = sampler.expected_updates(
              wordloom::WordRates(model.vocabulary, parameters.subsample))};
}
