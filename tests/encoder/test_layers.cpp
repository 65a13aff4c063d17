// The layers of a character CNN against plain code in double precision.
#if WORDLOOM_HAS_BLAS
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>
#include <wordloom/core/random.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/encoder/detail/dense_layer.hpp>
#include <wordloom/encoder/detail/max_over_time.hpp>
#include <wordloom/model/model.hpp>

#include "catch.hpp"
#include "encoder/char_cnn_oracle.hpp"
#include "encoder/gradient_steps.hpp"

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

TEST_CASE(
    "flattened features are the first windows, and their gradients go to the rows they summed",
    "[encoder]") {
  constexpr std::size_t positions = 4;
  Random random(7);
  for_all_convolutions([&](std::size_t width, std::size_t filters, std::size_t length) {
    INFO("width " << width << ", " << filters << " filters, " << length << " symbols");
    Convolution all(width, filters, length, random,
                    [&] { return static_cast<float>(random.below(9)) - 4.5f; });
    RowMatrix features(positions + 1, filters), gradient(positions, filters);
    std::ranges::fill(features.row(positions), -7.0f);
    for (std::size_t p = 0; p < positions; ++p)
      for (float& x : gradient.row(p)) x = static_cast<float>(random.below(9));
    simd::convolution_functions().all_windows(all.table(), all.symbols.data(), length,
                                              all.bias.data(), positions, features.data());
    RowMatrix changes(all.rows.rows(), filters), expected(all.rows.rows(), filters);
    simd::scatter_all(changes.data(), all.table(), all.symbols, positions, gradient.data(), 0,
                      filters - 16);
    simd::scatter_all(changes.data(), all.table(), all.symbols, positions, gradient.data(),
                      filters - 16, filters);
    bool is_right = true;
    for (std::size_t p = 0; p < positions; ++p)
      for (std::size_t f = 0; f < filters; ++f) {
        const bool exists = p < all.windows();
        is_right = is_right &&
                   double{features.row(p)[f]} ==
                       (exists ? std::max(0.0, all.sum(p, f) + double{all.bias.row(0)[f]}) : 0.0);
        for (std::size_t k = 0; exists && k < width && p + k < length; ++k)
          expected.row(k * symbol_count + all.symbols[p + k])[f] += gradient.row(p)[f];
      }
    for (std::size_t row = 0; row < changes.rows(); ++row)
      is_right = is_right && std::ranges::equal(changes.row(row), expected.row(row));
    CHECK(is_right);
    CHECK(std::ranges::count(features.row(positions), -7.0f) ==
          static_cast<std::ptrdiff_t>(filters));
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
#endif
