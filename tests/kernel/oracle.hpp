#pragma once
#include <cmath>
#include <cstddef>
#include <vector>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/block.hpp>

/// A Block's update in the plainest code and in double precision.
namespace oracle {

struct Matrix {
  std::size_t columns;
  std::vector<double> values;
  explicit Matrix(const wordloom::RowMatrix& from) : columns(from.columns()) {
    for (std::size_t i = 0; i < from.rows(); ++i)
      for (const float x : from.row(i)) values.push_back(static_cast<double>(x));
  }
  double& at(std::size_t i, std::size_t c) { return values[i * columns + c]; }
  double at(std::size_t i, std::size_t c) const { return values[i * columns + c]; }
};

struct Model {
  Matrix input, output;
  explicit Model(const wordloom::Model& from) : input(from.input), output(from.output) {}
};

inline double score(const Model& model, wordloom::WordId i, wordloom::WordId j) {
  double sum = 0;
  for (std::size_t c = 0; c < model.input.columns; ++c)
    sum += model.input.at(i, c) * model.output.at(j, c);
  return sum;
}

/// -log sigma(x)
inline double negative_log_sigmoid(double x) {
  return x > 0 ? std::log1p(std::exp(-x)) : -x + std::log1p(std::exp(x));
}

/// The weight of a pair, above 0 for label 1, below 0 for label 0.
inline double weight(const wordloom::Block& block, std::size_t i, std::size_t j) {
  if (!block.pair_weights.empty())
    return static_cast<double>(block.pair_weights[j * block.inputs.size() + i]);
  const double weight = block.weights.empty() ? 1.0 : static_cast<double>(block.weights[i]);
  return j < block.positives ? weight : -weight;
}

/// The block's loss, each pair's part times its weight when `weighted`.
inline double loss(const Model& model, const wordloom::Block& block, bool weighted) {
  double sum = 0;
  for (std::size_t i = 0; i < block.inputs.size(); ++i)
    for (std::size_t j = 0; j < block.outputs.size(); ++j) {
      const double s = score(model, block.inputs[i], block.outputs[j]);
      const double w = weight(block, i, j);
      if (w != 0.0) sum += (weighted ? std::abs(w) : 1.0) * negative_log_sigmoid(w > 0.0 ? s : -s);
    }
  return sum;
}

/// Adds learning_rate times the negative gradient of the weighted loss.
inline void update(Model& model, const wordloom::Block& block, double learning_rate) {
  const Model before = model;
  for (std::size_t i = 0; i < block.inputs.size(); ++i)
    for (std::size_t j = 0; j < block.outputs.size(); ++j) {
      const auto in = block.inputs[i], out = block.outputs[j];
      const double w = weight(block, i, j);
      const double label = w > 0.0 ? 1.0 : 0.0;
      const double sigma = 1.0 / (1.0 + std::exp(-score(before, in, out)));
      const double g = (label - sigma) * learning_rate * std::abs(w);
      for (std::size_t c = 0; c < model.input.columns; ++c) {
        model.input.at(in, c) += g * before.output.at(out, c);
        model.output.at(out, c) += g * before.input.at(in, c);
      }
    }
}

}  // namespace oracle
