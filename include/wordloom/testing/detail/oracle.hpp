#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <wordloom/model/model.hpp>
#include <wordloom/sampler/block.hpp>

/// A Block's update in the plainest code and in double precision.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace oracle {

struct Matrix {
  std::size_t columns;
  std::vector<double> values;
  explicit Matrix(const RowMatrix& from) : columns(from.columns()) {
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

/// The rows that input i is the mean of.
inline std::vector<RowId> bag(const Block& block, std::size_t i) {
  std::vector<RowId> all(block.inputs.begin(), block.inputs.end());
  const auto at = [&](std::size_t k) { return all.begin() + static_cast<std::ptrdiff_t>(k); };
  if (!block.left_out.empty()) {
    if (i < block.left_out.size()) all.erase(at(block.left_out[i]));
    return all;
  }
  if (block.bag_ends.empty()) return {all[i]};
  return {at(i == 0 ? 0 : block.bag_ends[i - 1]), at(block.bag_ends[i])};
}

/// Input i: [D] the mean of its rows.
inline std::vector<double> input(const Model& model, const Block& block, std::size_t i) {
  const auto members = bag(block, i);
  std::vector<double> mean(model.input.columns);
  for (std::size_t c = 0; c < mean.size(); ++c) {
    for (const RowId member : members) mean[c] += model.input.at(member, c);
    mean[c] /= static_cast<double>(members.size());
  }
  return mean;
}

inline double score(const Model& model, const std::vector<double>& in, RowId out) {
  double sum = 0;
  for (std::size_t c = 0; c < in.size(); ++c) sum += in[c] * model.output.at(out, c);
  return sum;
}

/// -log sigma(x)
inline double negative_log_sigmoid(double x) {
  return x > 0 ? std::log1p(std::exp(-x)) : -x + std::log1p(std::exp(x));
}

/// The weight of a pair, above 0 for label 1, below 0 for label 0.
inline double weight(const Block& block, std::size_t i, std::size_t j) {
  if (!block.left_out.empty()) {  // an output meets the bag of its own, or the whole
    if (i != (std::min)(j, block.left_out.size())) return 0.0;
    if (!block.weights.empty()) return static_cast<double>(block.weights.values[j]);
  } else if (block.paired > 0) {  // of two rows that have partners, only partners meet
    if (i != j && i < block.paired && j < block.paired) return 0.0;
    const std::size_t of_longer = (std::max)(i, j);
    if (!block.weights.empty()) return static_cast<double>(block.weights.values[of_longer]);
    return of_longer < block.paired ? 1.0 : -1.0;
  } else if (!block.weights.empty())
    return static_cast<double>(block.weights.values[j * block.input_count() + i]);
  return j < block.positives ? 1.0 : -1.0;
}

/// The block's loss, each pair's part times its weight when `weighted`.
inline double loss(const Model& model, const Block& block, bool weighted) {
  double sum = 0;
  for (std::size_t i = 0; i < block.input_count(); ++i) {
    const auto in = input(model, block, i);
    for (std::size_t j = 0; j < block.outputs.size(); ++j) {
      const double w = weight(block, i, j);
      if (w == 0.0) continue;
      const double s = score(model, in, block.outputs[j]);
      sum += (weighted ? std::abs(w) : 1.0) * negative_log_sigmoid(w > 0.0 ? s : -s);
    }
  }
  return sum;
}

/// Returns the part of the gradient of the mean that each member of a bag of n receives; of a bag
/// that replaces those without one member, (n - 1) / n of it.
inline double member_share(const Block& block, std::size_t n) {
  const bool stands =
      (block.stands_for_parts || !block.left_out.empty()) && n == block.inputs.size();
  const auto size = static_cast<double>(stands ? n - 1 : n);
  const double power = block.bag_gradient == BagGradient::mean   ? 1.0
                       : block.bag_gradient == BagGradient::root ? 0.5
                                                                 : 0.0;
  return std::pow(size, -power) * (stands ? size / static_cast<double>(n) : 1.0);
}

/// Adds learning_rate times the negative gradient of the weighted loss to the sides that the block
/// updates. Members of bags receive what BagGradient says of it.
inline void update(Model& model, const Block& block, double learning_rate) {
  const Model before = model;
  for (std::size_t i = 0; i < block.input_count(); ++i) {
    const auto in = input(before, block, i);
    const auto members = bag(block, i);
    const double share = member_share(block, members.size());
    for (std::size_t j = 0; j < block.outputs.size(); ++j) {
      const RowId out = block.outputs[j];
      const double w = weight(block, i, j);
      const double label = w > 0.0 ? 1.0 : 0.0;
      const double sigma = 1.0 / (1.0 + std::exp(-score(before, in, out)));
      const double g = (label - sigma) * learning_rate * std::abs(w);
      for (std::size_t c = 0; c < in.size(); ++c) {
        if (block.update != Block::Sides::outputs)
          for (const RowId member : members)
            model.input.at(member, c) += share * g * before.output.at(out, c);
        if (block.update != Block::Sides::inputs) model.output.at(out, c) += g * in[c];
      }
    }
  }
}

}}}  // namespace wordloom::WORDLOOM_ABI::oracle
