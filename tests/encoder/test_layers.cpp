// The layers of a character CNN and its gradients, against plain code in double precision.
#if WORDLOOM_HAS_BLAS
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/core/random.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/encoder/char_cnn.hpp>
#include <wordloom/encoder/dense_layer.hpp>
#include <wordloom/encoder/max_over_time.hpp>
#include <wordloom/model/model.hpp>

#include "catch.hpp"
#include "encoder/char_cnn_oracle.hpp"
#include "small_models.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

constexpr std::size_t symbol_count = 3;  // so few that most windows repeat

/// The table of a convolution, a sequence, and the buffers that the vector code writes.
struct Convolution {
  std::size_t width, filters;
  RowMatrix rows, bias;
  std::vector<std::uint32_t> symbols;
  RowMatrix hidden;
  std::vector<std::int32_t> places;

  /// `draw()`: the numbers of table and bias.
  template <class Draw>
  Convolution(std::size_t window, std::size_t filter_count, std::size_t length, Random& random,
              Draw draw)
      : width(window),
        filters(filter_count),
        rows(width * symbol_count, filters),
        bias(1, filters),
        symbols(length),
        hidden(2, filters),
        places(filters + 16, -7) {
    for (RowMatrix* matrix : {&rows, &bias})
      for (std::size_t i = 0; i < matrix->rows(); ++i)
        for (float& x : matrix->row(i)) x = draw();
    for (std::uint32_t& symbol : symbols)
      symbol = static_cast<std::uint32_t>(random.below(symbol_count));
    std::ranges::fill(hidden.row(1), -7.0f);
  }

  simd::ConvolutionTable table() const { return {rows.data(), symbol_count, width, filters}; }
  void run() {
    simd::convolution_functions().max_over_time(table(), symbols.data(), symbols.size(),
                                                bias.data(), hidden.data(), places.data());
  }

  std::size_t windows() const { return symbols.size() < width ? 1 : symbols.size() - width + 1; }
  /// The sum of a window for a filter.
  double sum(std::size_t first, std::size_t f) const {
    double sum = 0;
    for (std::size_t k = 0; k < width && first + k < symbols.size(); ++k)
      sum += double{rows.row(k * symbol_count + symbols[first + k])[f]};
    return sum;
  }
  std::size_t first_largest(std::size_t f) const {
    std::size_t best = 0;
    for (std::size_t p = 1; p < windows(); ++p)
      if (sum(p, f) > sum(best, f)) best = p;
    return best;
  }
  double feature(std::size_t f) const {
    return std::max(0.0, sum(first_largest(f), f) + double{bias.row(0)[f]});
  }
  /// Whether nothing was written behind the buffers of the filters.
  bool ends_are_kept() const {
    return std::ranges::count(hidden.row(1), -7.0f) == static_cast<std::ptrdiff_t>(filters) &&
           std::count(places.begin() + static_cast<std::ptrdiff_t>(filters), places.end(), -7) ==
               16;
  }
};

/// Calls `check(width, filters, length)` for sequences shorter than the filters, as long, and
/// longer.
template <class Check>
void for_all_convolutions(Check check) {
  for (std::size_t width = 1; width <= 5; ++width)
    for (const std::size_t filters : {16u, 48u, 80u})
      for (const std::size_t length :
           std::set<std::size_t>{1, 2, std::max<std::size_t>(1, width - 1), width, width + 1, 23})
        check(width, filters, length);
}

}  // namespace

TEST_CASE("a feature is the largest window of its filter, the first where several are",
          "[encoder]") {
  Random random(4);
  std::size_t ties = 0, cut_off = 0;
  for_all_convolutions([&](std::size_t width, std::size_t filters, std::size_t length) {
    INFO("width " << width << ", " << filters << " filters, " << length << " symbols");
    // Sums of small integers are exact, and often equal.
    Convolution all(width, filters, length, random,
                    [&] { return static_cast<float>(random.below(9)) - 4.5f; });
    all.run();
    bool is_right = true;
    for (std::size_t f = 0; f < filters; ++f) {
      const std::size_t best = all.first_largest(f);
      for (std::size_t p = best + 1; p < all.windows(); ++p)
        ties += all.sum(p, f) == all.sum(best, f);
      cut_off += all.feature(f) == 0;
      is_right = is_right && double{all.hidden.row(0)[f]} == all.feature(f) &&
                 all.places[f] == static_cast<std::int32_t>(best);
    }
    CHECK(is_right);
    CHECK(all.ends_are_kept());
  });
  CHECK(ties > 1000);
  CHECK(cut_off > 1000);
}

TEST_CASE("a feature of any numbers is that of double precision", "[encoder]") {
  Random random(5);
  for_all_convolutions([&](std::size_t width, std::size_t filters, std::size_t length) {
    INFO("width " << width << ", " << filters << " filters, " << length << " symbols");
    Convolution all(width, filters, length, random,
                    [&] { return static_cast<float>(random.uniform() - 0.5); });
    all.run();
    bool is_right = true;
    for (std::size_t f = 0; f < filters; ++f) {
      const auto place = static_cast<std::size_t>(all.places[f]);
      is_right = is_right && std::abs(double{all.hidden.row(0)[f]} - all.feature(f)) < 1e-6 &&
                 place < all.windows() &&
                 all.sum(place, f) > all.sum(all.first_largest(f), f) - 1e-6;
      // Windows of the same symbols have the same sum.
      for (std::size_t p = 0; p < place; ++p)
        is_right = is_right &&
                   !std::equal(all.symbols.begin() + static_cast<std::ptrdiff_t>(p),
                               all.symbols.begin() + static_cast<std::ptrdiff_t>(p + all.width),
                               all.symbols.begin() + all.places[f]);
    }
    CHECK(is_right);
    CHECK(all.ends_are_kept());
  });
}

TEST_CASE("the gradient of a feature goes to the rows that its largest window summed",
          "[encoder]") {
  Random random(6);
  for_all_convolutions([&](std::size_t width, std::size_t filters, std::size_t length) {
    INFO("width " << width << ", " << filters << " filters, " << length << " symbols");
    Convolution all(width, filters, length, random,
                    [&] { return static_cast<float>(random.uniform() - 0.5); });
    all.run();
    RowMatrix gradient(1, filters), changes(width * symbol_count, filters);
    for (float& x : gradient.row(0))
      x = random.below(4) == 0 ? 0.0f : static_cast<float>(random.uniform() - 0.5);
    const std::size_t first = 3, last = filters - 2;
    bool is_right = true;
    for (const std::size_t times : {1u, 2u}) {  // the second adds to the first
      simd::scatter_max(changes.data(), all.table(), all.symbols, all.places.data(),
                        gradient.data(), first, last);
      for (std::size_t f = 0; f < filters; ++f) {
        std::vector<double> expected(changes.rows());
        for (std::size_t k = 0; k < std::min(width, length) && f >= first && f < last; ++k)
          expected[k * symbol_count + all.symbols[all.first_largest(f) + k]] =
              double{gradient.row(0)[f]} * static_cast<double>(times);
        for (std::size_t row = 0; row < changes.rows(); ++row)
          is_right = is_right && double{changes.row(row)[f]} == expected[row];
      }
    }
    CHECK(is_right);
  });
}

TEST_CASE("ReLU lets the gradient pass where the feature is above zero", "[encoder]") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  RowMatrix features(3, 16), gradient(3, 16);
  std::ranges::fill(gradient.row(2), 1.0f);
  for (std::size_t c = 0; c < 32; ++c) {
    features.data()[c] = c % 2 == 0 ? 0.0f : c == 5 ? 1e-38f : static_cast<float>(c);
    gradient.data()[c] = c == 4 ? nan : static_cast<float>(c) - 10.5f;
  }
  simd::convolution_functions().pass_positive(features.data(), gradient.data(), 32);
  for (std::size_t c = 0; c < 32; ++c)
    CHECK(gradient.data()[c] == (c % 2 == 0 ? 0.0f : static_cast<float>(c) - 10.5f));
  CHECK(std::ranges::count(gradient.row(2), 1.0f) == 16);  // behind the end
}

namespace {

/// With it, the first step at a rate r changes a parameter by -r x g / (|g| + 1), so that a test
/// learns the gradient g.
constexpr Adam gradient_shows{.beta1 = 0, .beta2 = 0, .epsilon = 1};

double step_of(double gradient) { return -gradient / (std::abs(gradient) + 1); }
/// Returns the gradient of a step at a rate of 1.
double gradient_of(double step) { return -step / (1 - std::abs(step)); }

RowMatrix random_matrix(std::size_t rows, std::size_t columns, Random& random) {
  RowMatrix matrix(rows, columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (float& x : matrix.row(i)) x = static_cast<float>(2 * random.uniform() - 1);
  return matrix;
}

}  // namespace

TEST_CASE("a dense layer is a product of matrices, as are its gradients", "[encoder]") {
  using detail::ConstFloats, detail::Floats;
  constexpr std::size_t in = 48, out = 11;
  for (const std::size_t batch : {1u, 3u, 70u}) {
    INFO("batch " << batch);
    Random random(batch);
    const RowMatrix x = random_matrix(batch, in, random);
    const RowMatrix y_gradient = random_matrix(batch, out, random);
    const RowMatrix weights = random_matrix(in, out, random), bias = random_matrix(1, out, random);
    Model model(1, 1);  // holds the parameters
    model.state_matrix("weights", in, out) = weights.copy();
    model.state_matrix("bias", 1, out) = bias.copy();
    const auto parameter = [&](const char* name, std::size_t rows) {
      return detail::AdamParameter(model, name, model.state_matrix(name, rows, out),
                                   gradient_shows);
    };
    detail::DenseLayer layer(parameter("weights", in), parameter("bias", 1));

    // By two threads, say, of which the second has the last row.
    RowMatrix y(batch, out), x_gradient(batch, in);
    for (const auto& [first, count] : {std::pair{std::size_t{0}, batch - 1}, {batch - 1, 1}}) {
      layer.forward(ConstFloats(x).some_rows(first, count), Floats(y).some_rows(first, count));
      layer.backward(ConstFloats(y_gradient).some_rows(first, count),
                     Floats(x_gradient).some_rows(first, count));
    }
    double worst = 0;
    for (std::size_t b = 0; b < batch; ++b) {
      std::vector<double> forward, backward(in);
      for (std::size_t o = 0; o < out; ++o) {
        forward.push_back(double{bias.row(0)[o]});
        for (std::size_t i = 0; i < in; ++i) {
          forward[o] += double{x.row(b)[i]} * double{weights.row(i)[o]};
          backward[i] += double{y_gradient.row(b)[o]} * double{weights.row(i)[o]};
        }
      }
      worst = std::max({worst, largest_difference(y.row(b), forward),
                        largest_difference(x_gradient.row(b), backward)});
    }
    CHECK(worst < 1e-5);

    for (std::size_t part = 0; part < layer.parts(); ++part) layer.step(part, x, y_gradient, 1);
    worst = 0;
    for (std::size_t i = 0; i <= in; ++i) {  // the bias is the weights of an input of 1
      const RowMatrix& before = i < in ? weights : bias;
      const std::size_t row = i < in ? i : 0;
      std::vector<double> expected;
      for (std::size_t o = 0; o < out; ++o) {
        double gradient = 0;
        for (std::size_t b = 0; b < batch; ++b)
          gradient += double{y_gradient.row(b)[o]} * (i < in ? double{x.row(b)[i]} : 1.0);
        expected.push_back(double{before.row(row)[o]} + step_of(gradient));
      }
      const RowMatrix& after = model.state_matrix(i < in ? "weights" : "bias", before.rows(), out);
      worst = std::max(worst, largest_difference(after.row(row), expected));
    }
    CHECK(worst < 1e-5);
  }
}

namespace {

/// Words of one byte, of bytes above 127, of 40 bytes, and of repeated letters.
Vocabulary various_words() {
  std::vector<std::pair<std::string, std::uint64_t>> words;
  for (const char* word : {"a", "b", "\xff", "\x80\x81", "ab", "aa", "aaaaa", "abab", "gr\u00fcn",
                           "banana", "the", "Donaudampfschifffahrtsgesellschaftskapit"})
    words.emplace_back(word, 100 - words.size());
  return Vocabulary::from_counts(words);
}

/// A model of these words whose parameters and input rows are as large as 1.
Model large_model(const CharCnn& encoder, const Vocabulary& vocabulary, std::uint64_t seed,
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
double loss(const CharCnnOracle& network, const Vocabulary& vocabulary, const RowMatrix& targets,
            std::size_t first, std::size_t step) {
  double sum = 0;
  for (std::size_t word = first; word < vocabulary.size(); word += step) {
    const auto vector = network.vector(vocabulary.word(static_cast<WordId>(word)));
    for (std::size_t c = 0; c < vector.size(); ++c)
      sum += std::pow(vector[c] - double{targets.row(word)[c]}, 2) / 2;
  }
  return sum;
}

/// Returns the gradient of that by each parameter, by central differences.
std::vector<std::vector<double>> gradients(CharCnnOracle network, const Vocabulary& vocabulary,
                                           const RowMatrix& targets, std::size_t first = 0,
                                           std::size_t step = 1) {
  constexpr double change = 1e-6;  // so small that hardly any largest window changes
  std::vector<std::vector<double>> all;
  for (auto& [name, matrix] : network.parameters()) {
    all.emplace_back();
    for (double& x : matrix.values) {
      const double before = x;
      x = before + change;
      const double more = loss(network, vocabulary, targets, first, step);
      x = before - change;
      const double less = loss(network, vocabulary, targets, first, step);
      x = before;
      all.back().push_back((more - less) / (2 * change));
    }
  }
  return all;
}

/// Returns the numbers of a parameter after training.
std::vector<float> values_of(const Model& model, const std::string& name) {
  std::vector<float> values;
  for (const auto& [known, matrix] : model.state)
    for (std::size_t i = 0; known == name && i < matrix.rows(); ++i)
      values.insert(values.end(), matrix.row(i).begin(), matrix.row(i).end());
  return values;
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double x : values) most = std::max(most, std::abs(x));
  return most;
}

constexpr CharCnn narrow{.character_dimension = 5,
                         .min_width = 2,
                         .max_width = 5,
                         .filters = 16,
                         .adam = gradient_shows};
constexpr CharCnn wide{.character_dimension = 3,
                       .min_width = 1,
                       .max_width = 2,
                       .filters = 48,
                       .adam = gradient_shows};

}  // namespace

TEST_CASE("the gradients of all parameters are those of finite differences", "[encoder]") {
  const Vocabulary vocabulary = various_words();
  REQUIRE(vocabulary.word(11).size() == 40);
  for (const CharCnn& encoder : {narrow, wide}) {
    Model model = large_model(encoder, vocabulary, 8);
    const CharCnnOracle before(model.state);
    const auto expected = gradients(before, vocabulary, model.input);
    encoder.start(model, 2, 1).learn(1);
    REQUIRE(before.parameters().size() == 5 + encoder.max_width - encoder.min_width);
    for (std::size_t i = 0; i < before.parameters().size(); ++i) {
      const auto& [name, matrix] = before.parameters()[i];
      std::vector<float> got = values_of(model, name);
      REQUIRE(got.size() == matrix.values.size());
      for (std::size_t k = 0; k < got.size(); ++k)
        got[k] = static_cast<float>(gradient_of(double{got[k]} - matrix.values[k]));
      INFO(name);
      CHECK(largest(expected[i]) > 0.1);
      CHECK(largest_difference(got, expected[i]) < 1e-3 * largest(expected[i]));
    }
  }
}

TEST_CASE("each batch is a step of its own, with the parameters that the last one left",
          "[encoder]") {
  const Vocabulary vocabulary = various_words();
  CharCnn encoder = wide;
  encoder.batch = 5;  // of 12 words: three batches of four
  Model model = large_model(encoder, vocabulary, 8);
  const RowMatrix targets = model.input.copy();
  CharCnnOracle expected(model.state);
  constexpr double rate = 0.05;
  for (std::size_t batch = 0; batch < 3; ++batch) {
    const auto of_batch = gradients(expected, vocabulary, targets, batch, 3);
    for (std::size_t i = 0; i < of_batch.size(); ++i)
      for (std::size_t k = 0; k < of_batch[i].size(); ++k)
        expected.parameters()[i].matrix.values[k] += rate * step_of(of_batch[i][k]);
  }
  encoder.start(model, 3, 1).learn(rate);
  for (const auto& [name, matrix] : expected.parameters()) {
    INFO(name);
    CHECK(largest_difference(values_of(model, name), matrix.values) < 1e-3 * rate);
  }
  // The input rows are then the vectors of the network.
  for (WordId word = 0; word < vocabulary.size(); ++word)
    CHECK(largest_difference(model.input.row(word), expected.vector(vocabulary.word(word))) < 0.01);
}

TEST_CASE("the embeddings of bytes that no word has keep their bits", "[encoder]") {
  const Vocabulary vocabulary = various_words();
  Model model = large_model(narrow, vocabulary, 8);
  std::set<std::size_t> used;
  for (WordId word = 0; word < vocabulary.size(); ++word)
    for (const std::size_t symbol : CharCnnOracle::symbols_of(vocabulary.word(word)))
      used.insert(symbol);
  const RowMatrix before = model.state_matrix("char_cnn.characters", 258, 5).copy();
  narrow.start(model, 1, 1).learn(0.1);
  const RowMatrix& after = model.state_matrix("char_cnn.characters", 258, 5);
  for (std::size_t symbol = 0; symbol < 258; ++symbol)
    CHECK(std::ranges::equal(before.row(symbol), after.row(symbol)) == !used.contains(symbol));
}

TEST_CASE("the parameters of a new network are matrices of the model's state", "[encoder]") {
  const CharCnn encoder{.character_dimension = 7, .min_width = 3, .max_width = 4, .filters = 32};
  const auto parameters_of = [&](std::uint64_t seed) {
    Model model(zipf_vocabulary(20), 12);
    static_cast<void>(encoder.start(model, 1, seed));
    return model;
  };
  const Model model = parameters_of(5);
  std::set<std::string> shapes;
  for (const auto& [name, matrix] : model.state)
    if (!contains(name, ".adam_"))
      shapes.insert(name + " " + std::to_string(matrix.rows()) + " x " +
                    std::to_string(matrix.columns()));
  CHECK(shapes == std::set<std::string>{"char_cnn.characters 258 x 7", "char_cnn.biases 2 x 32",
                                        "char_cnn.filters.3 21 x 32", "char_cnn.filters.4 28 x 32",
                                        "char_cnn.dense 64 x 12", "char_cnn.dense_bias 1 x 12"});
  CHECK(same_matrices(model, parameters_of(5)));
  CHECK_FALSE(same_matrices(model, parameters_of(6)));
}

TEST_CASE("any number of threads fits the network to the same bits", "[encoder]") {
  // Batches of 150 words, which threads share in parts of 64.
  const CharCnn encoder{
      .character_dimension = 5, .min_width = 2, .max_width = 4, .filters = 32, .batch = 150};
  const auto fitted = [&](std::size_t threads) {
    Model model = large_model(encoder, zipf_vocabulary(400), 3, 12);
    const RowMatrix targets = model.input.copy();
    CharCnn::Run run = encoder.start(model, threads, 1);
    for (int round = 0; round < 3; ++round) {
      model.input.view() = targets.view();
      run.learn(0.01);
    }
    return model;
  };
  const Model one = fitted(1);
  for (const std::size_t threads : {2u, 3u, 7u}) CHECK(same_matrices(fitted(threads), one));
}

TEST_CASE("repeated fitting reaches any vectors of a few words", "[encoder]") {
  const CharCnn encoder{.filters = 32, .batch = 16};
  Model model(zipf_vocabulary(30), 8);
  Random random(2);
  const RowMatrix targets = random_matrix(30, 8, random);
  CharCnn::Run run = encoder.start(model, 2, 1);
  const auto error = [&] {
    double sum = 0;
    for (std::size_t word = 0; word < 30; ++word)
      for (std::size_t c = 0; c < 8; ++c)
        sum += std::pow(double{model.input.row(word)[c]} - double{targets.row(word)[c]}, 2);
    return sum;
  };
  run.encode();
  const double at_first = error();
  CHECK(at_first > 30);
  for (int round = 0; round < 200; ++round) {
    model.input.view() = targets.view();
    run.learn(0.01);
  }
  INFO("squared error " << at_first << ", then " << error());
  CHECK(error() < 0.01 * at_first);
}
#endif
