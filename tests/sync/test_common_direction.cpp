#include <wordloom/sync/replica_rows.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

#include "catch.hpp"

using namespace wordloom;

TEST_CASE("the common direction is the mean of rows by their pairs", "[sync]") {
  RowMatrix matrix(3, 2);
  const float rows[3][2] = {{3, 0}, {1, 2}, {0, 4}};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t d = 0; d < 2; ++d) matrix.row(i)[d] = rows[i][d];
  float direction[2];
  const auto of = [&](const auto& functions, const RowMatrix& m, std::vector<float> pairs) {
    return detail::common_direction(functions, m.data(), m.stride(), 3, 2, pairs.data(), direction);
  };
  const auto check = [&](const auto& functions) {
    const float square = of(functions, matrix, {2, 3, 0});  // (9, 6) / 5
    CHECK(direction[0] == Approx(9 / std::sqrt(117.0)));
    CHECK(direction[1] == Approx(6 / std::sqrt(117.0)));
    // Along it: 27 and 21 by the root of 117.
    CHECK(square == Approx((2 * 27 * 27 + 3 * 21 * 21) / 117.0 / 5));
    CHECK(of(functions, RowMatrix(3, 2), {1, 1, 1}) == 0);
    CHECK(direction[0] == 0);
  };
  check(detail::PlainFunctions());
  check(simd::row_change_functions());
}

TEST_CASE("CoherentSum adds orthogonal changes and averages parallel ones", "[sync]") {
  // Rows of 4 floats; what their partners have in common is the third.
  std::vector<float> sums{2, 0, 0, 0, -2, 0, 0, 0, 0, 3, 8, 0, 0, -3, 8, 0, 0, 0, 8, 0};
  const std::vector<float> numbers{2, 4,              // two orthogonal changes: |s|^2 = 4
                                   2, 2,              // two equal changes of norm 1
                                   3, 6 + 64 / 3.0f,  // in part, and equal along the third
                                   1, 9 + 64,         // of one rank
                                   4, 16};
  const std::vector<float> direction{0, 0, 1, 0};
  const float square = 20;
  // Along it each update is a step of 0.1 x 20 x its learning rate to where the row rests.
  const float half = std::log(2.0f) / 2;
  const std::vector<float> steps{half, half, half, half, 1e-9f};
  for (std::size_t i = 0; i < 5; ++i)
    detail::combine_row(CoherentSum(), simd::row_change_functions(),
                        {8, numbers[2 * i], numbers[2 * i + 1], 0, 0, steps[i] * square},
                        sums.data() + 4 * i, direction.data(), 1, 4);
  const auto expect = [&](std::size_t row, std::vector<float> expected) {
    for (std::size_t d = 0; d < 4; ++d) CHECK(sums[4 * row + d] == Approx(expected[d]));
  };
  expect(0, {2, 0, 0, 0});
  expect(1, {-1, 0, 0, 0});
  // Three halvings of the way are 7 / 8 of it, three parallel halves were summed to 3 / 2.
  expect(2, {0, 3 * 6.0f / 9, 8 * (7.0f / 8) / (3.0f / 2), 0});
  expect(3, {0, -3, 8, 0});
  expect(4, {0, 0, 8, 0});
}
