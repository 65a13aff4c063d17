#include <wordloom/sync/common_direction.hpp>

#include <cmath>
#include <cstddef>

#include "catch.hpp"

using namespace wordloom;

TEST_CASE("the common direction is the mean of rows by their pairs", "[sync]") {
  RowMatrix matrix(3, 2);
  const float rows[3][2] = {{3, 0}, {1, 2}, {0, 4}};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t d = 0; d < 2; ++d) matrix.row(i)[d] = rows[i][d];
  const auto common = detail::common_direction(matrix, {2, 3, 0});  // (9, 6) / 5
  CHECK(common.direction[0] == Approx(9 / std::sqrt(117.0)));
  CHECK(common.direction[1] == Approx(6 / std::sqrt(117.0)));
  // Along it: 27 and 21 by the root of 117.
  CHECK(common.square == Approx((2 * 27 * 27 + 3 * 21 * 21) / 117.0 / 5));
  CHECK(detail::common_direction(RowMatrix(3, 2), {1, 1, 1}).square == 0);
}
