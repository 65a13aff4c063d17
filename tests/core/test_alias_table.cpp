#include <cmath>
#include <limits>
#include <vector>
#include <wordloom/core/random.hpp>

#include "catch.hpp"
#include "statistics.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

double deviation(const std::vector<double>& weights, std::uint64_t seed) {
  const detail::AliasTable table(weights);
  Random random(seed);
  std::vector<std::uint64_t> counts(weights.size());
  for (int i = 0; i < 200'000; ++i) ++counts.at(table.draw(random));
  double total = 0;
  for (const double w : weights) total += w;
  std::vector<double> shares;
  for (const double w : weights) shares.push_back(w / total);
  return chi_squared_deviation(counts, shares);
}

}  // namespace

TEST_CASE("an alias table draws in proportion to the weights", "[alias_table]") {
  CHECK(deviation({1.0}, 1) < 5);
  CHECK(deviation({1.0, 3.0}, 2) < 5);
  CHECK(deviation(std::vector<double>(100, 0.25), 3) < 5);
  CHECK(deviation({0.0, 5.0, 0.0, 1.0, 0.0}, 4) < 5);
  CHECK(deviation({1e6, 1.0, 1.0, 1e3}, 5) < 5);
  std::vector<double> zipf;
  for (int i = 1; i <= 1000; ++i) zipf.push_back(std::pow(1e6 / i, 0.75));
  CHECK(deviation(zipf, 6) < 5);
}

TEST_CASE("the chi-squared test detects a wrong distribution", "[alias_table]") {
  CHECK(chi_squared_deviation({1000, 1000, 1100}, std::vector<double>(3, 1.0 / 3)) > 2);
  CHECK(chi_squared_deviation({1, 0}, {0.0, 1.0}) > 100);
}

TEST_CASE("weights that do not form a distribution are refused", "[alias_table]") {
  CHECK_THROWS_AS(detail::AliasTable(std::vector<double>{}), InvalidArgument);
  CHECK_THROWS_AS(detail::AliasTable(std::vector<double>{0.0, 0.0}), InvalidArgument);
  CHECK(contains(message_of<InvalidArgument>([] {
                   detail::AliasTable(std::vector<double>{1.0, -2.0});
                 }),
                 "weight 1"));
  CHECK_THROWS_AS(detail::AliasTable(std::vector<double>{std::nan("")}), InvalidArgument);
  CHECK_THROWS_AS(detail::AliasTable(std::vector<double>{std::numeric_limits<double>::infinity()}),
                  InvalidArgument);
}

TEST_CASE("drawing in two steps gives the same words as in one", "[alias_table]") {
  const detail::AliasTable table(std::vector<double>{5, 1, 0, 3, 8, 0.5});
  Random one(3), two(3);
  std::vector<detail::AliasTable::Place> begun;
  for (int i = 0; i < 1000; ++i) begun.push_back(table.begin_draw(two));
  for (const detail::AliasTable::Place place : begun)
    CHECK(table.end_draw(place) == table.draw(one));
  CHECK(one() == two());
}
