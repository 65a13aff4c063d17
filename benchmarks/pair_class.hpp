#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/columns.hpp>

/// A fixed set of pairs: some words, each with contexts, and K negatives for each pair.
class PairClass {
 public:
  PairClass(std::string name, const wordloom::WordContextMatrix& matrix, std::size_t first,
            std::size_t count, const wordloom::detail::NegativeDistribution& negatives,
            std::size_t negative_count)
      : name_(std::move(name)), others_(1 + negative_count) {
    constexpr std::size_t enough = 16384;
    wordloom::Random random(11, first);
    std::vector<wordloom::WordId> contexts(count);
    for (std::uint64_t column = 0; words_.size() < enough; ++column) {
      matrix.contexts(column, first, contexts);
      for (std::size_t i = 0; i < count; ++i) {
        words_.push_back(matrix.words()[first + i]);
        targets_.push_back(contexts[i]);
        for (std::size_t k = 0; k < negative_count; ++k)
          targets_.push_back(negatives.draw(random, contexts[i]));
      }
    }
  }

  const std::string& name() const { return name_; }

  /// Returns the mean and the variance of the loss of the pairs.
  std::pair<double, double> loss(const wordloom::Model& model) const {
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      double of_pair = 0;
      for (std::size_t k = 0; k < others_; ++k) {
        double score = 0;
        const auto x = model.input.row(words_[i]), y = model.output.row(targets_[i * others_ + k]);
        for (std::size_t d = 0; d < x.size(); ++d)
          score += static_cast<double>(x[d]) * static_cast<double>(y[d]);
        if (k > 0) score = -score;
        // -log sigma(score), written so that no exponential overflows
        of_pair += std::max(0.0, -score) + std::log1p(std::exp(-std::abs(score)));
      }
      sum += of_pair;
      squares += of_pair * of_pair;
    }
    const double mean = sum / static_cast<double>(words_.size());
    return {mean, squares / static_cast<double>(words_.size()) - mean * mean};
  }

 private:
  std::string name_;
  std::size_t others_;                             // the context and the negatives
  std::vector<wordloom::WordId> words_, targets_;  // [pairs], [pairs x others_]
};
