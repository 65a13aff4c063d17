#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <numeric>
#include <string>
#include <vector>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/eigen.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

TEST_CASE("rows are aligned to 64 bytes, padded to 16 floats and zero", "[row_matrix]") {
  for (const std::size_t columns : {1u, 15u, 16u, 17u, 300u}) {
    RowMatrix matrix(5, columns);
    CHECK(matrix.stride() == (columns + 15) / 16 * 16);
    for (std::size_t i = 0; i < 5; ++i) {
      CHECK(reinterpret_cast<std::uintptr_t>(matrix.row_data(i)) % 64 == 0);
      for (std::size_t c = 0; c < matrix.stride(); ++c) CHECK(matrix.row_data(i)[c] == 0.0f);
    }
  }
}

TEST_CASE("a row matrix can be moved, copied by copy() and viewed by Eigen", "[row_matrix]") {
  RowMatrix matrix(3, 2);
  matrix.row(2)[1] = 7.0f;
  const RowMatrix copy = matrix.copy();
  matrix.row(2)[1] = 8.0f;
  const RowMatrix moved = std::move(matrix);
  CHECK(eigen_view(copy)(2, 1) == 7.0f);
  CHECK(eigen_view(moved)(2, 1) == 8.0f);
  CHECK(eigen_view(moved).rows() == 3);
  CHECK(eigen_view(moved).cols() == 2);
  CHECK(RowMatrix().bytes() == 0);
}

TEST_CASE("reserved rows of a matrix are not part of it", "[row_matrix]") {
  for (const std::size_t rows : {3u, 40'000u}) {  // on the heap, and from 2 MiB on
    RowMatrix matrix(rows, 20);
    for (std::size_t i = 0; i < rows; ++i) matrix.row(i)[19] = static_cast<float>(i);
    for (const std::size_t room : {rows + 2, rows + 100'000, rows + 1, std::size_t{0}}) {
      matrix.reserve(room);
      if (room == 0) matrix.shrink_to_fit();
      REQUIRE(matrix.rows() == rows);
      REQUIRE(reinterpret_cast<std::uintptr_t>(matrix.data()) % 64 == 0);
      for (std::size_t i = 0; i < rows; ++i) REQUIRE(matrix.row(i)[19] == static_cast<float>(i));
      for (std::size_t i = rows; i < room; ++i) std::fill_n(matrix.row_data(i), 32, 7.0f);
    }
    CHECK(eigen_view(matrix).rightCols(1).sum() > 0);
    CHECK(eigen_view(matrix).leftCols(19).isZero(0));
    const float* const before = matrix.data();
    for (const int shift : {50, 63})
      CHECK_THROWS_AS(matrix.reserve(std::size_t{1} << shift), std::bad_alloc);
    CHECK(matrix.data() == before);
    CHECK(matrix.row(rows - 1)[19] == static_cast<float>(rows - 1));
  }
  RowMatrix none(0, 20);
  none.reserve(100'000);
  none.shrink_to_fit();
  none.row_data(0)[0] = 1;  // a page remains
}

TEST_CASE("a matrix too large for memory throws bad_alloc and does not overflow", "[row_matrix]") {
  constexpr auto most = std::numeric_limits<std::size_t>::max();
  CHECK_THROWS_AS(RowMatrix(most / 16, 17), std::bad_alloc);
  CHECK_THROWS_AS(RowMatrix(2, most), std::bad_alloc);
}

TEST_CASE("a word list finds the first occurrence of every word", "[word_list]") {
  CHECK_FALSE(WordList().find("a"));
  const std::vector<std::string> given{"b", "a", "", "b", std::string("x\0y", 3), "\xff\xfe"};
  const auto words = WordList::from(given);
  REQUIRE(words.size() == 6);
  CHECK(words.find("b") == 0u);
  CHECK(words.find("a") == 1u);
  CHECK(words.find("") == 2u);
  CHECK(words.find(given[4]) == 4u);
  CHECK(words.find("\xff\xfe") == 5u);
  CHECK_FALSE(words.find("x"));
  CHECK(words[3] == "b");
  CHECK(words.at("a") == 1u);
  CHECK(message_of<UnknownWord>([&] { words.at("zebra"); }) == "unknown word 'zebra'");
  CHECK(words == WordList::from(given));
  CHECK_FALSE(words == WordList());
}

TEST_CASE("a long word list finds all of its words and no other", "[word_list]") {
  WordList words;
  for (int i = 0; i < 50'000; ++i) words.append("w" + std::to_string(i));
  bool all = true;
  for (int i = 0; i < 50'000; ++i)
    all = all && words.find("w" + std::to_string(i)) == static_cast<WordId>(i);
  CHECK(all);
  CHECK_FALSE(words.find("w50000"));
}

TEST_CASE("run_threads runs every index once, even when nested", "[parallel]") {
  std::vector<int> seen(7);
  detail::run_threads(
      7, [&](std::size_t i) { detail::run_threads(1, [&](std::size_t) { ++seen[i]; }); });
  CHECK(seen == std::vector<int>(7, 1));
  detail::run_threads(0, [](std::size_t) { FAIL("zero threads run nothing"); });
}

TEST_CASE("an exception in a thread reaches the caller", "[parallel]") {
  const auto work = [](std::size_t i) {
    if (i == 2) throw InvalidArgument("from thread 2");
  };
  CHECK(message_of<InvalidArgument>([&] { detail::run_threads(4, work); }) == "from thread 2");
}

TEST_CASE("parts cover a range in order and differ in size by at most one", "[parallel]") {
  for (std::size_t n = 1; n < 8; ++n) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto [first, last] = detail::part_of(17, i, n);
      CHECK(first == at);
      CHECK(last - first >= 17 / n);
      CHECK(last - first <= 17 / n + 1);
      at = last;
    }
    CHECK(at == 17);
  }
}

TEST_CASE("a model starts like word2vec's, input within 0.5 / D of zero, output zero", "[model]") {
  const Model model(1000, 10, 5), again(1000, 10, 5), other(1000, 10, 6);
  double sum = 0, least = 1, most = -1;
  for (std::size_t i = 0; i < 1000; ++i)
    for (std::size_t c = 0; c < 10; ++c) {
      const double x = static_cast<double>(model.input.row(i)[c]);
      sum += x;
      least = std::min(least, x);
      most = std::max(most, x);
      CHECK(model.output.row(i)[c] == 0.0f);
      CHECK(model.input.row(i)[c] == again.input.row(i)[c]);
    }
  CHECK(least >= -0.05);
  CHECK(most < 0.05);
  CHECK(least < -0.0499);
  CHECK(most > 0.0499);
  CHECK(std::abs(sum / 10'000) < 0.002);  // 0.1 / sqrt(12) / sqrt(10,000) = 0.0003
  CHECK(model.input.row(3)[3] != other.input.row(3)[3]);
}

TEST_CASE("a loss sum adds losses and logarithms of products", "[loss]") {
  LossSum sum;
  double expected = 0;
  for (int i = 0; i < 1000; ++i) {
    sum += LossSum(0.25, 3.0);
    expected += 0.25 + std::log(3.0);
  }
  CHECK(sum.value() == Approx(expected));
  sum += LossSum(0.0, std::nan(""));
  CHECK(std::isnan(sum.value()));
}
