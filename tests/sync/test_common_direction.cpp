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
  const auto of = [&](const RowMatrix& m, std::vector<float> pairs) {
    return common_direction(m.data(), m.stride(), 3, 2, pairs.data(), direction);
  };
  const float square = of(matrix, {2, 3, 0});  // (9, 6) / 5
  CHECK(direction[0] == Approx(9 / std::sqrt(117.0)));
  CHECK(direction[1] == Approx(6 / std::sqrt(117.0)));
  // Along it: 27 and 21 by the root of 117.
  CHECK(square == Approx((2 * 27 * 27 + 3 * 21 * 21) / 117.0 / 5));
  CHECK(of(RowMatrix(3, 2), {1, 1, 1}) == 0);
  CHECK(direction[0] == 0);
}
