#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/core/random.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/encoder/char_cnn.hpp>
#include <wordloom/model/model.hpp>

#include "encoder/char_cnn_oracle.hpp"
#include "encoder/gradient_steps.hpp"

/// Words, models and gradients that show what an encoder learns.
namespace encoder_gradients {

using namespace wordloom;

/// Words of one byte, of bytes above 127, of 40 bytes, and of repeated letters.
inline Vocabulary various_words() {
  std::vector<std::pair<std::string, std::uint64_t>> words;
  for (const char* word : {"a", "b", "\xff", "\x80\x81", "ab", "aa", "aaaaa", "abab", "gr\u00fcn",
                           "banana", "the", "Donaudampfschifffahrtsgesellschaftskapit"})
    words.emplace_back(word, 100 - words.size());
  return Vocabulary::from_counts(words);
}

/// A model of these words whose parameters and input rows are as large as 1.
inline Model large_model(const CharCnn& encoder, const Vocabulary& vocabulary, std::uint64_t seed,
                         std::size_t dimension = 6) {
  Model model(vocabulary, dimension);
  static_cast<void>(encoder.start(model, 1, 1));
  enlarge_char_cnn(model.state, seed);
  Random random(seed + 1);
  model.input = random_matrix(model.rows(), dimension, random);
  return model;
}

/// Returns half the sum of squared differences between the vectors of every `step`-th word from
/// `first` on and their targets.
inline double loss(const CharCnnOracle& network, const Vocabulary& vocabulary,
                   const RowMatrix& targets, std::size_t first, std::size_t step) {
  double sum = 0;
  for (std::size_t word = first; word < vocabulary.size(); word += step) {
    const auto vector = network.vector(vocabulary.word(static_cast<WordId>(word)));
    for (std::size_t c = 0; c < vector.size(); ++c)
      sum += std::pow(vector[c] - double{targets.row(word)[c]}, 2) / 2;
  }
  return sum;
}

/// Returns the gradient of `loss_of(network)` by each parameter, by central differences; it is
/// taken to be 0 for bytes that none of various_words() has.
template <class Loss>
std::vector<std::vector<double>> differences(CharCnnOracle network, Loss loss_of) {
  constexpr double change = 1e-6;  // so small that hardly any largest window changes
  std::vector<std::vector<double>> all;
  std::set<std::size_t> used;
  const Vocabulary vocabulary = various_words();
  for (WordId word = 0; word < vocabulary.size(); ++word)
    for (const std::size_t symbol : CharCnnOracle::symbols_of(vocabulary.word(word)))
      used.insert(symbol);
  for (auto& [name, matrix] : network.parameters()) {
    all.emplace_back();
    for (double& x : matrix.values) {
      if (name == "char_cnn.characters" && !used.contains(all.back().size() / matrix.columns)) {
        all.back().push_back(0);
        continue;
      }
      const double before = x;
      x = before + change;
      const double more = loss_of(network);
      x = before - change;
      const double less = loss_of(network);
      x = before;
      all.back().push_back((more - less) / (2 * change));
    }
  }
  return all;
}

/// Returns that of the loss above.
inline std::vector<std::vector<double>> gradients(const CharCnnOracle& network,
                                                  const Vocabulary& vocabulary,
                                                  const RowMatrix& targets, std::size_t first = 0,
                                                  std::size_t step = 1) {
  return differences(network, [&](const CharCnnOracle& changed) {
    return loss(changed, vocabulary, targets, first, step);
  });
}

/// Returns the numbers of a parameter after training.
inline std::vector<float> values_of(const Model& model, const std::string& name) {
  std::vector<float> values;
  for (const auto& [known, matrix] : model.state)
    for (std::size_t i = 0; known == name && i < matrix.rows(); ++i)
      values.insert(values.end(), matrix.row(i).begin(), matrix.row(i).end());
  return values;
}

inline double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double x : values) most = std::max(most, std::abs(x));
  return most;
}

}  // namespace encoder_gradients
