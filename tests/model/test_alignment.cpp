#include <wordloom/core/detail/abi.hpp>
#if WORDLOOM_HAS_EIGEN
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/alignment.hpp>
#include <wordloom/core/random.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

RowMatrix random_rows(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  Random random(seed);
  RowMatrix matrix(rows, columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (float& x : matrix.row(i))
      x = static_cast<float>(random.uniform() + random.uniform() - 1.0);
  return matrix;
}

/// A random orthogonal matrix: rows made orthonormal by Gram and Schmidt's method, in double.
std::vector<std::vector<double>> random_rotation(std::size_t d, std::uint64_t seed) {
  const RowMatrix rows = random_rows(d, d, seed);
  std::vector<std::vector<double>> w;
  for (std::size_t i = 0; i < d; ++i) {
    std::vector<double> row(rows.row(i).begin(), rows.row(i).end());
    for (int pass = 0; pass < 2; ++pass)
      for (const auto& other : w) {
        double along = 0;
        for (std::size_t j = 0; j < d; ++j) along += row[j] * other[j];
        for (std::size_t j = 0; j < d; ++j) row[j] -= along * other[j];
      }
    double length = 0;
    for (const double x : row) length += x * x;
    for (double& x : row) x /= std::sqrt(length);
    w.push_back(row);
  }
  return w;
}

Embeddings named(RowMatrix vectors, const std::string& prefix = "w", std::size_t first = 0) {
  WordList words;
  for (std::size_t i = 0; i < vectors.rows(); ++i) words.append(prefix + std::to_string(first + i));
  return {std::move(words), std::move(vectors)};
}

/// The rows from the last to the first, times `w`, plus noise.
RowMatrix rotated_backwards(const RowMatrix& rows, const std::vector<std::vector<double>>& w,
                            double noise = 0) {
  Random random(99);
  const std::size_t d = w.size();
  RowMatrix result(rows.rows(), d);
  for (std::size_t i = 0; i < rows.rows(); ++i)
    for (std::size_t j = 0; j < d; ++j) {
      double sum = noise * (random.uniform() - 0.5);
      for (std::size_t k = 0; k < d; ++k)
        sum += static_cast<double>(rows.row(rows.rows() - 1 - i)[k]) * w[k][j];
      result.row(i)[j] = static_cast<float>(sum);
    }
  return result;
}

double largest_error(const Alignment& alignment, const std::vector<std::vector<double>>& w) {
  double worst = 0;
  for (std::size_t i = 0; i < w.size(); ++i)
    for (std::size_t j = 0; j < w.size(); ++j)
      worst =
          std::max(worst, std::abs(static_cast<double>(alignment.rotation().row(i)[j]) - w[i][j]));
  return worst;
}

}  // namespace

TEST_CASE("an alignment recovers a random rotation from shared words and from pairs", "[align]") {
  const std::size_t d = 24, size = 200;
  const auto w = random_rotation(d, 3);
  const RowMatrix rows = random_rows(size, d, 4);
  const Embeddings from = named(rows.copy());
  // The other space has the words in another order, only the last 150 of them, and some more.
  RowMatrix other = rotated_backwards(rows, w);
  WordList names;
  for (std::size_t i = 0; i < size; ++i)
    names.append(i < 150 ? "w" + std::to_string(size - 1 - i) : "other" + std::to_string(i));
  const Embeddings to(std::move(names), std::move(other));
  const Alignment shared(from, to);
  CHECK(shared.pairs() == 150);
  CHECK(largest_error(shared, w) < 1e-5);
  CHECK(shared.residual() < 1e-5);
  CHECK(Alignment(from, to, {.max_shared = 60}).pairs() == 60);

  const Embeddings moved = shared.apply(from);
  for (std::size_t i = 0; i < from.size(); i += 7)
    CHECK(std::ranges::equal(shared.apply(from[i]), moved[i]));
  for (std::size_t i = 50; i < size; i += 7)
    for (std::size_t j = 0; j < d; ++j)
      CHECK(moved[i][j] == Approx(to["w" + std::to_string(i)][j]).margin(1e-5));
  CHECK(moved.words() == from.words());

  // A dictionary: only its words count, unknown ones are left out.
  Alignment::Pairs pairs;
  for (std::size_t i = 0; i < 50; ++i)
    pairs.emplace_back("w" + std::to_string(i), "other" + std::to_string(size - 1 - i));
  pairs.emplace_back("none", "w60");
  pairs.emplace_back("w60", "none");
  const Alignment dictionary(from, to, {.pairs = pairs});
  CHECK(dictionary.pairs() == 50);
  CHECK(largest_error(dictionary, w) < 1e-5);
}

TEST_CASE("an alignment of noisy spaces has the least residual of rotations", "[align]") {
  const std::size_t d = 6;
  const auto w = random_rotation(d, 5);
  const Embeddings from = named(random_rows(80, d, 6));
  const Embeddings to = [&] {
    RowMatrix back = rotated_backwards(from.vectors(), w, 0.5);
    WordList names;
    for (std::size_t i = 0; i < 80; ++i) names.append("w" + std::to_string(79 - i));
    return Embeddings(std::move(names), std::move(back));
  }();
  const Alignment alignment(from, to);
  const auto residual_of = [&](const auto& matrix) {
    double sum = 0;
    for (std::size_t i = 0; i < 80; ++i) {
      const auto x = from[i], y = to["w" + std::to_string(i)];
      const auto at = [](std::span<const float> v, std::size_t j) { return double{v[j]}; };
      double xx = 0, yy = 0;
      for (std::size_t j = 0; j < d; ++j) {
        xx += at(x, j) * at(x, j);
        yy += at(y, j) * at(y, j);
      }
      for (std::size_t j = 0; j < d; ++j) {
        double moved = 0;
        for (std::size_t k = 0; k < d; ++k) moved += at(x, k) * matrix(k, j);
        sum += std::pow(moved / std::sqrt(xx) - at(y, j) / std::sqrt(yy), 2);
      }
    }
    return std::sqrt(sum / 80);
  };
  const auto found = [&](std::size_t i, std::size_t j) {
    return double{alignment.rotation().row(i)[j]};
  };
  CHECK(alignment.residual() == Approx(residual_of(found)).margin(1e-5));
  CHECK(alignment.residual() > 0.1);
  CHECK(alignment.residual() <= residual_of([&](auto i, auto j) { return w[i][j]; }));
  for (std::uint64_t seed = 10; seed < 20; ++seed) {
    const auto other = random_rotation(d, seed);
    CHECK(alignment.residual() < residual_of([&](auto i, auto j) { return other[i][j]; }));
  }
}

TEST_CASE("an alignment refuses what does not determine a rotation", "[align]") {
  const Embeddings from = named(random_rows(30, 8, 1));
  CHECK(message_of<InvalidArgument>([&] { Alignment(from, named(random_rows(30, 9, 1))); }) ==
        "cannot align vectors of dimension 8 and 9: reduce the larger one (Embeddings::reduced)");
  CHECK(contains(
      message_of<InvalidArgument>([&] { Alignment(from, named(random_rows(30, 8, 2), "w", 23)); }),
      "dimension 8 needs at least as many pairs"));
  CHECK_THROWS_AS(Alignment(from, named(random_rows(30, 8, 2), "v")), InvalidArgument);
  CHECK_THROWS_AS(Alignment(from, from, {.pairs = {{"w1", "w1"}}}), InvalidArgument);
  // 30 words, all in one plane.
  RowMatrix flat = random_rows(30, 8, 3);
  for (std::size_t i = 0; i < 30; ++i)
    for (std::size_t j = 2; j < 8; ++j) flat.row(i)[j] = 0;
  CHECK(contains(message_of<InvalidArgument>([&] { Alignment(from, named(std::move(flat))); }),
                 "span only 2"));
  CHECK_THROWS_AS(Alignment(from, from).apply(named(random_rows(3, 9, 1))), InvalidArgument);
  CHECK_THROWS_AS(Alignment(from, from).apply(std::vector<float>(9)), InvalidArgument);
}
#endif
