// A network that classifies sequences, against answers of another program and plain code in double
// precision.
#if WORDLOOM_HAS_BLAS
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>
#include <wordloom/core/random.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/encoder/detail/sequence_network.hpp>

#include "catch.hpp"
#include "evaluation/known_vectors.hpp"

using namespace wordloom;
using detail::NetworkParameter, detail::SequenceNetwork, detail::Symbols;

namespace {

using Sequences = std::vector<std::vector<std::uint32_t>>;

std::vector<Symbols> views_of(const Sequences& sequences) {
  return {sequences.begin(), sequences.end()};
}

double length(const RowMatrix& gradient) {
  double squares = 0;
  for (std::size_t row = 0; row < gradient.rows(); ++row)
    for (const float x : gradient.row(row)) squares += double{x} * double{x};
  return std::sqrt(squares);
}

/// Returns the mean cross entropy of sequences by plain code, with one number of one parameter
/// changed by `change`.
double plain_loss(SequenceNetwork& network, const SequenceNetwork::Options& options,
                  const Sequences& sequences, const std::vector<std::uint32_t>& labels,
                  const RowMatrix* parameter, std::size_t row, std::size_t column, double change) {
  const auto at = [&](const RowMatrix& of, std::size_t i, std::size_t c) {
    return double{of.row(i)[c]} + (&of == parameter && i == row && c == column ? change : 0);
  };
  const std::size_t kinds = network.tables().size(), stride = network.biases().value.stride();
  double loss = 0;
  for (std::size_t b = 0; b < sequences.size(); ++b) {
    const auto& tokens = sequences[b];
    const std::size_t padding = options.padding * kinds;
    std::vector<std::uint32_t> padded(padding);
    padded.insert(padded.end(), tokens.begin(), tokens.end());
    padded.resize(std::max(padded.size() + padding, options.max_width * kinds));
    std::vector<double> scores;
    for (std::size_t y = 0; y < options.classes; ++y)
      scores.push_back(at(network.bias().value, 0, y));
    for (std::size_t w = options.min_width, place = 0; w <= options.max_width; place += w++)
      for (std::size_t f = 0; f < options.filters; ++f) {
        double most = -std::numeric_limits<double>::infinity();
        for (std::size_t p = 0; p + w <= padded.size() / kinds; ++p) {
          double sum = at(network.biases().value, w - options.min_width, f);
          for (std::size_t k = 0; k < w; ++k)
            for (std::size_t t = 0; t < kinds; ++t) {
              const RowMatrix& table = network.tables()[t].value;
              for (std::size_t c = 0; c < table.columns(); ++c)
                sum += at(table, padded[(p + k) * kinds + t], c) *
                       at(network.filters()[t].value, (place + k) * table.columns() + c, f);
            }
          most = std::max(most, sum);
        }
        const double feature = options.has_tanh ? std::tanh(most) : std::max(most, 0.0);
        for (std::size_t y = 0; y < options.classes; ++y)
          scores[y] +=
              feature * at(network.weights().value, (w - options.min_width) * stride + f, y);
      }
    double sum = 0;
    for (const double score : scores) sum += std::exp(score);
    loss += (std::log(sum) - scores[labels[b]]) / static_cast<double>(sequences.size());
  }
  return loss;
}

}  // namespace

TEST_CASE("a network of known parameters has known features, gradients and a known step",
          "[encoder]") {
  // Computed by NumPy in double precision.
  const auto words = wordloom_test::known_vectors();
  RowMatrix table(25, 6);
  for (std::size_t i = 0; i < 24; ++i)
    for (std::size_t c = 0; c < 6; ++c)
      table.row(i + 1)[c] = words.vector(static_cast<WordId>(i))[c] / 100;
  SequenceNetwork network(
      {{table}}, {.classes = 3, .min_width = 2, .max_width = 3, .filters = 4, .padding = 2});
  wordloom_test::WholeNumbers number(2);
  for (std::size_t c = 0; c < 6; ++c)
    for (std::size_t k = 0; k < 5; ++k)
      for (std::size_t f = 0; f < 4; ++f)
        network.filters()[0].value.row(k * 6 + c)[f] = static_cast<float>(number(500)) / 1000;
  for (std::size_t h = 0; h < 8; ++h)
    for (float& x : network.weights().value.row(h / 4 * 16 + h % 4))
      x = static_cast<float>(number(500)) / 1000;
  const Sequences sentences{{1, 2, 3, 4, 5}, {6, 7}, {8}, {24, 20, 16, 12, 8, 4, 1}};
  const std::vector<std::uint32_t> labels{0, 1, 2, 1};
  const RowMatrix& scores = network.score(views_of(sentences));
  const double expected_features[] = {0.55667, 0.45658, 0.93725, 0.78071,
                                      1.00464, 1.42378, 1.21942, 0.94834};
  for (std::size_t h = 0; h < 8; ++h)
    CHECK(network.features().row(0)[h / 4 * 16 + h % 4] ==
          Approx(expected_features[h]).margin(1e-5));
  CHECK(network.features().row(2)[2] == 0);
  CHECK(scores.row(0)[1] == Approx(1.41198).margin(1e-5));
  CHECK(scores.row(3)[2] == Approx(-0.046337).margin(1e-5));
  CHECK(network.differentiate(views_of(sentences), labels, false) ==
        Approx(1.0009993).margin(1e-6));
  CHECK(length(network.weights().gradient) == Approx(0.33541277).epsilon(1e-5));
  CHECK(length(network.bias().gradient) == Approx(0.10193985).epsilon(1e-5));
  CHECK(length(network.biases().gradient) == Approx(0.06584223).epsilon(1e-5));
  CHECK(length(network.filters()[0].gradient) == Approx(0.47806675).epsilon(1e-5));
  network.step();
  CHECK(network.differentiate(views_of(sentences), labels, false) ==
        Approx(0.97888647).margin(1e-6));
}

TEST_CASE("the gradients of a network that classifies are those of finite differences",
          "[encoder]") {
  for (const bool has_tanh : {false, true}) {
    INFO((has_tanh ? "tanh" : "ReLU"));
    Random random(3);
    RowMatrix words(9, 5), places(4, 3);
    for (RowMatrix* const table : {&words, &places})
      for (std::size_t row = 1; row < table->rows(); ++row)
        for (float& x : table->row(row)) x = static_cast<float>(random.uniform() - 0.5);
    const SequenceNetwork::Options options{.classes = 3,
                                           .min_width = 1,
                                           .max_width = 3,
                                           .filters = 18,
                                           .padding = 1,
                                           .has_tanh = has_tanh,
                                           .spread = 0.5};
    SequenceNetwork network({{words, true}, {places, true}}, options);
    for (RowMatrix* const values : {&network.biases().value, &network.bias().value})
      for (std::size_t row = 0; row < values->rows(); ++row)
        for (float& x : values->row(row)) x = static_cast<float>(random.uniform() - 0.5);
    // Tokens of a word and a place; one sequence is empty.
    const Sequences sequences{{1, 1, 2, 2, 3, 3, 1, 1}, {8, 2}, {}, {5, 3, 5, 3, 4, 1}};
    const std::vector<std::uint32_t> labels{0, 2, 1, 2};
    const double loss = network.differentiate(views_of(sequences), labels, false);
    CHECK(loss == Approx(plain_loss(network, options, sequences, labels, nullptr, 0, 0, 0)));
    const auto difference = [&](const RowMatrix& parameter, std::size_t row, std::size_t column) {
      constexpr double change = 1e-5;
      const auto at = [&](double x) {
        return plain_loss(network, options, sequences, labels, &parameter, row, column, x);
      };
      return (at(change) - at(-change)) / (2 * change);
    };
    double worst = 0, largest = 0;
    const auto compare = [&](double gradient, double expected) {
      worst = std::max(worst, std::abs(gradient - expected));
      largest = std::max(largest, std::abs(expected));
    };
    for (NetworkParameter* const p : {&network.filters()[0], &network.filters()[1],
                                      &network.biases(), &network.weights(), &network.bias()}) {
      const std::size_t rows = p->value.rows(), step = rows > 3 ? 3 : 1;
      for (std::size_t row = 0; row < rows; row += step)
        for (std::size_t c = 0; c < p->value.columns(); c += 2)
          if (p != &network.weights() || row % 32 < 18)
            compare(double{p->gradient.row(row)[c]}, difference(p->value, row, c));
    }
    for (NetworkParameter& table : network.tables()) {
      CHECK(table.chosen.size() > 3);
      for (std::size_t i = 1; i < table.chosen.size(); ++i)
        for (std::size_t c = 0; c < table.value.columns(); ++c)
          compare(double{table.gradient.row(i)[c]}, difference(table.value, table.chosen[i], c));
    }
    CHECK(worst < 2e-6);
    CHECK(largest > 0.01);
  }
}

TEST_CASE("a network learns which of two words comes first", "[encoder]") {
  for (const auto rule : {NetworkParameter::Rule::adadelta, NetworkParameter::Rule::adam}) {
    Random random(5);
    RowMatrix table(12, 8);
    for (std::size_t row = 1; row < table.rows(); ++row)
      for (float& x : table.row(row)) x = static_cast<float>(random.uniform() - 0.5);
    Sequences sequences;
    std::vector<std::uint32_t> labels;
    for (std::uint32_t i = 0; i < 200; ++i) {
      auto& tokens = sequences.emplace_back();
      for (std::size_t k = 0; k < i % 7; ++k)
        tokens.push_back(3 + static_cast<std::uint32_t>(random.below(9)));
      labels.push_back(static_cast<std::uint32_t>(random.below(2)));
      const auto place = static_cast<std::ptrdiff_t>(random.below(tokens.size() + 1));
      tokens.insert(tokens.begin() + place, {1 + labels[i], 2 - labels[i]});
    }
    const auto train = [&](bool trains_words) {
      SequenceNetwork network({{table, trains_words}},
                              {.min_width = 1, .max_width = 3, .filters = 20, .rule = rule});
      for (int epoch = 0; epoch < 15; ++epoch) network.train(views_of(sequences), labels, 10);
      CHECK((network.tables()[0].value.row(5)[0] == table.row(5)[0]) == !trains_words);
      CHECK(network.tables()[0].value.row(0)[0] == 0);
      return network.classify(views_of(sequences));
    };
    for (const bool trains_words : {false, true}) {
      const auto classes = train(trains_words);
      std::size_t right = 0;
      for (std::size_t i = 0; i < labels.size(); ++i) right += classes[i] == labels[i];
      CHECK(right > 195);
      CHECK(classes == train(trains_words));
    }
  }
}

TEST_CASE("dropout leaves out features, and their weights are not trained", "[encoder]") {
  RowMatrix table(2, 4);
  std::ranges::fill(table.row(1), 1.0f);
  SequenceNetwork network({{table}},
                          {.filters = 96, .padding = 0, .dropout = 0.25, .has_tanh = true});
  const Sequences sequences{{1, 1, 1, 1, 1, 1}};
  const std::vector<std::uint32_t> labels{1};
  network.differentiate(views_of(sequences), labels, true);
  std::size_t dropped = 0;
  for (std::size_t h = 0; h < 3 * 96; ++h) dropped += network.weights().gradient.row(h)[0] == 0;
  CHECK(dropped > 50);
  CHECK(dropped < 94);  // the mean is 72, the standard deviation 7.3
  network.differentiate(views_of(sequences), labels, false);
  dropped = 0;
  for (std::size_t h = 0; h < 3 * 96; ++h) dropped += network.weights().gradient.row(h)[0] == 0;
  CHECK(dropped == 0);
}
#endif
