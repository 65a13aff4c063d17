#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
#include <wordloom/model/model.hpp>
#include <wordloom/optimizer/sgd.hpp>

/// SGD with a rate by the count of the word: times (count / geometric mean of all counts)^exponent,
/// from 1/8 to 8.
struct SgdByCount {
  double exponent = 0;

  class Run {
   public:
    Run(wordloom::Model& model, double exponent) : sgd_(wordloom::Sgd().start(model)) {
      const auto counts = model.vocabulary.counts();
      double logs = 0;
      for (const std::uint64_t count : counts) logs += std::log(static_cast<double>(count));
      const double mean = logs / static_cast<double>(counts.size());
      for (const std::uint64_t count : counts) {
        const double log = exponent * (std::log(static_cast<double>(count)) - mean);
        factors_.push_back(static_cast<float>(std::clamp(std::exp(log), 0.125, 8.0)));
      }
    }
    void step(wordloom::Model::Side side, wordloom::RowId row, float* data, const float* gradient,
              float rate) const noexcept {
      sgd_.step(side, row, data, gradient, rate * factors_[row]);
    }

   private:
    wordloom::Sgd::Run sgd_;
    std::vector<float> factors_;  // [V]
  };
  Run start(wordloom::Model& model) const { return {model, exponent}; }
};
