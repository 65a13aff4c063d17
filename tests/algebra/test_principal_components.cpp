#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/algebra/principal_components.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/model/embeddings.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

/// Vectors with a mean, whose columns vary more and more and are mixed.
Embeddings mixed_vectors(std::size_t words, std::size_t dimension) {
  WordList names;
  RowMatrix rows(words, dimension);
  Random random(3);
  for (std::size_t i = 0; i < words; ++i) {
    names.append(std::to_string(i));
    double before = 0;
    for (std::size_t c = 0; c < dimension; ++c) {
      before = before / 2 + (random.uniform() - 0.5) * static_cast<double>(c + 1);
      rows.row(i)[c] = static_cast<float>(before + 3);
    }
  }
  return {std::move(names), std::move(rows)};
}

std::vector<double> mean_of(const Embeddings& words) {
  std::vector<double> mean(words.dimension());
  for (std::size_t i = 0; i < words.size(); ++i)
    for (std::size_t c = 0; c < mean.size(); ++c)
      mean[c] += double(words.vector(i)[c]) / double(words.size());
  return mean;
}

double covariance(const Embeddings& words, std::size_t a, std::size_t b) {
  const auto mean = mean_of(words);
  double sum = 0;
  for (std::size_t i = 0; i < words.size(); ++i)
    sum += (double(words.vector(i)[a]) - mean[a]) * (double(words.vector(i)[b]) - mean[b]);
  return sum / double(words.size());
}

/// The direction of the largest variance, by power iterations in double precision.
std::vector<double> first_component(const Embeddings& words) {
  const std::size_t n = words.dimension();
  std::vector<double> matrix(n * n), x(n, 1.0);
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) matrix[a * n + b] = covariance(words, a, b);
  for (int i = 0; i < 500; ++i) {
    std::vector<double> y(n);
    double square = 0;
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) y[a] += matrix[a * n + b] * x[b];
      square += y[a] * y[a];
    }
    for (std::size_t a = 0; a < n; ++a) x[a] = y[a] / std::sqrt(square);
  }
  return x;
}

}  // namespace

TEST_CASE("principal components keep the largest variance", "[pca]") {
  const Embeddings words = mixed_vectors(700, 12);
  const Embeddings all = words.reduced(12), three = words.reduced(3, 2);
  REQUIRE(three.dimension() == 3);
  const auto mean = mean_of(words), first = first_component(words);
  for (std::size_t i = 0; i < words.size(); i += 50) {
    double expected = 0, square = 0, kept = 0;
    for (std::size_t c = 0; c < 12; ++c) {
      const double x = double(words.vector(i)[c]) - mean[c];
      expected += x * first[c];
      square += x * x;
      kept += double(all.vector(i)[c]) * double(all.vector(i)[c]);
    }
    CHECK(std::abs(std::abs(double(three.vector(i)[0])) - std::abs(expected)) < 1e-3);
    CHECK(std::abs(kept / square - 1) < 1e-4);  // a rotation
    for (std::size_t c = 0; c < 3; ++c) CHECK(three.vector(i)[c] == all.vector(i)[c]);
  }
  for (std::size_t a = 0; a < 12; ++a) {
    if (a > 0) CHECK(covariance(all, a - 1, a - 1) >= covariance(all, a, a));
    for (std::size_t b = 0; b < a; ++b)
      CHECK(std::abs(covariance(all, a, b)) < 1e-4 * covariance(all, 0, 0));
  }
  CHECK(contains(message_of<InvalidArgument>([&] { static_cast<void>(words.reduced(13)); }),
                 "dimension is 13"));
  CHECK_THROWS_AS(words.reduced(0), InvalidArgument);
}

TEST_CASE("all but the top takes the mean and the first directions away", "[pca]") {
  const Embeddings words = mixed_vectors(700, 12);
  const Embeddings rest = words.without_top(1), centred = words.without_top(0);
  const auto first = first_component(words), mean = mean_of(words);
  for (std::size_t i = 0; i < words.size(); i += 50) {
    double projection = 0;
    for (std::size_t c = 0; c < 12; ++c)
      projection += (double(words.vector(i)[c]) - mean[c]) * first[c];
    for (std::size_t c = 0; c < 12; ++c) {
      const double x = double(words.vector(i)[c]) - mean[c];
      CHECK(std::abs(double(rest.vector(i)[c]) - (x - projection * first[c])) < 1e-3);
      CHECK(std::abs(double(centred.vector(i)[c]) - x) < 1e-5);
    }
  }
  CHECK_THROWS_AS(words.without_top(12), InvalidArgument);
  for (const float factor : {1e30f, 1e-30f}) {  // squares of such numbers are no floats
    RowMatrix scaled = words.vectors().copy(700);
    for (std::size_t i = 0; i < 700; ++i)
      for (float& x : scaled.row(i)) x *= factor;
    const Embeddings other(words.words(), std::move(scaled));
    CHECK(contains(message_of<InvalidArgument>([&] { static_cast<void>(other.without_top(1)); }),
                   "must be from 1e-15 to 1e15"));
    CHECK_THROWS_AS(other.reduced(3), InvalidArgument);
  }
  // Any number of threads gives the same bits.
  const Embeddings one = words.without_top(2, 1), three = words.without_top(2, 3);
  for (std::size_t i = 0; i < words.size(); i += 50)
    for (std::size_t c = 0; c < 12; ++c) CHECK(one.vector(i)[c] == three.vector(i)[c]);
}

TEST_CASE("the first words are kept with their vectors", "[pca]") {
  const Embeddings words = mixed_vectors(20, 3), some = words.first(7);
  REQUIRE(some.size() == 7);
  CHECK(some["6"][2] == words["6"][2]);
  CHECK_FALSE(some.contains("7"));
  CHECK(words.first(30).size() == 20);
}
