#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/core/random.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/testing/oracle.hpp>

/// A character CNN in the plainest code and in double precision, as the comment of CharCnn says.
class CharCnnOracle {
 public:
  struct Parameter {
    std::string name;
    wordloom::oracle::Matrix matrix;
  };

  /// Copies the parameters from the state of a model.
  explicit CharCnnOracle(const std::vector<wordloom::Model::NamedMatrix>& state) {
    for (const std::string name : {"characters", "dense", "dense_bias", "biases"})
      if (!add(state, "char_cnn." + name)) throw std::runtime_error("no parameter " + name);
    for (std::size_t width = 1; width <= 32; ++width)
      if (add(state, "char_cnn.filters." + std::to_string(width))) widths_.push_back(width);
  }

  std::vector<Parameter>& parameters() noexcept { return parameters_; }
  const std::vector<Parameter>& parameters() const noexcept { return parameters_; }

  /// Returns what the network reads of a word: its bytes between 256 and 257.
  static std::vector<std::size_t> symbols_of(std::string_view word) {
    std::vector<std::size_t> symbols{256};
    for (const char byte : word) symbols.push_back(static_cast<unsigned char>(byte));
    symbols.push_back(257);
    return symbols;
  }

  /// Returns the vector [D] of a word. A dense layer of several rows for each filter has one for
  /// each of so many windows, else it has the largest.
  std::vector<double> vector(std::string_view word) const {
    const std::vector<std::size_t> symbols = symbols_of(word);
    const wordloom::oracle::Matrix &characters = parameters_[0].matrix,
                                   &dense = parameters_[1].matrix;
    const wordloom::oracle::Matrix& biases = parameters_[3].matrix;
    const std::size_t positions =
        dense.values.size() / (dense.columns * widths_.size() * biases.columns);
    std::vector<double> vector = parameters_[2].matrix.values;
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      const wordloom::oracle::Matrix& filters = parameters_[4 + i].matrix;
      std::vector<double> largest(biases.columns, -std::numeric_limits<double>::infinity());
      std::size_t first = 0;
      do {
        std::vector<double> sum(biases.columns);
        for (std::size_t k = 0; k < widths_[i] && first + k < symbols.size(); ++k)
          for (std::size_t c = 0; c < characters.columns; ++c)
            for (std::size_t f = 0; f < sum.size(); ++f)
              sum[f] +=
                  characters.at(symbols[first + k], c) * filters.at(k * characters.columns + c, f);
        for (std::size_t f = 0; f < sum.size(); ++f) {
          largest[f] = std::max(largest[f], sum[f]);
          for (std::size_t d = 0; d < vector.size() && positions > 1 && first < positions; ++d)
            vector[d] += std::max(0.0, sum[f] + biases.at(i, f)) *
                         dense.at((i * positions + first) * biases.columns + f, d);
        }
        ++first;
      } while (first + widths_[i] <= symbols.size());
      for (std::size_t f = 0; f < largest.size() && positions == 1; ++f)
        for (std::size_t d = 0; d < vector.size(); ++d)
          vector[d] +=
              std::max(0.0, largest[f] + biases.at(i, f)) * dense.at(i * biases.columns + f, d);
    }
    return vector;
  }

 private:
  bool add(const std::vector<wordloom::Model::NamedMatrix>& state, const std::string& name) {
    for (const auto& [known, matrix] : state)
      if (known == name) {
        parameters_.push_back({name, wordloom::oracle::Matrix(matrix)});
        return true;
      }
    return false;
  }

  std::vector<Parameter> parameters_;  // characters, dense, dense_bias, biases, filters by width
  std::vector<std::size_t> widths_;
};

/// Fills the parameters of a character CNN in the state of a model with numbers of a trained one's
/// size: those that a new one begins with make vectors too small for the tests.
inline void enlarge_char_cnn(std::vector<wordloom::Model::NamedMatrix>& state, std::uint64_t seed) {
  wordloom::Random random(seed);
  for (auto& [name, matrix] : state) {
    if (name.find(".adam_") != std::string::npos) continue;
    const double most = name == "char_cnn.characters" ? 1.0 : 0.4;
    for (std::size_t row = 0; row < matrix.rows(); ++row)
      for (float& x : matrix.row(row)) x = static_cast<float>((2 * random.uniform() - 1) * most);
  }
}

/// Returns the largest difference, or infinity where the sizes differ or a number is not finite.
inline double largest_difference(std::span<const float> got, const std::vector<double>& expected) {
  if (got.size() != expected.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double apart = std::abs(double{got[i]} - expected[i]);
    if (!std::isfinite(apart)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, apart);
  }
  return largest;
}
