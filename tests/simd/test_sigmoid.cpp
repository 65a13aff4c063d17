#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>
#include <wordloom/core/parallel.hpp>
#include <wordloom/simd/sigmoid.hpp>

#include "catch.hpp"

using namespace wordloom;

namespace {

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

constexpr std::uint32_t sign = 0x80000000;

#ifdef NDEBUG
constexpr std::uint64_t stride = 13;  // 1 is all floats, half a minute on two cores
#else
constexpr std::uint64_t stride = 997;
#endif

/// How many of each `stride`th float from bits `first` to `last` are `wrong(x, sigmoid(x))`, on
/// whole vectors: a test below shows that these are sigmoid() to the bit.
template <class Wrong>
std::uint64_t count_wrong(std::uint32_t first, std::uint32_t last, Wrong&& wrong) {
  const simd::hn::ScalableTag<float> d;
  const std::size_t lanes = simd::hn::Lanes(d);
  constexpr std::size_t threads = 2;
  std::atomic<std::uint64_t> count{0};
  detail::run_threads(threads, [&](std::size_t thread) {
    std::vector<float> x(lanes), y(lanes);
    std::uint64_t own = 0;
    for (std::uint64_t at = first + thread * lanes * stride; at <= last;
         at += threads * lanes * stride) {
      for (std::size_t i = 0; i < lanes; ++i)
        x[i] = std::bit_cast<float>(
            static_cast<std::uint32_t>(std::min<std::uint64_t>(at + i * stride, last)));
      const auto v = simd::hn::LoadU(d, x.data());
      simd::hn::StoreU(simd::sigmoid_from(d, v, simd::exp_minus_abs(d, v)), d, y.data());
      for (std::size_t i = 0; i < lanes; ++i) own += wrong(x[i], y[i]) ? 1u : 0u;
    }
    count += own;
  });
  return count;
}

bool inexact(float x, float y) {
  const double exact = 1.0 / (1.0 + std::exp(-static_cast<double>(x)));
  return !(std::abs(static_cast<double>(y) - exact) < 0x1p-21 * exact);
}

}  // namespace

TEST_CASE("sigmoid is within 2^-21 of the true value for floats of ordinary size", "[sigmoid]") {
  CHECK(count_wrong(bits(0x1p-25f), bits(128.0f), inexact) == 0);
  CHECK(count_wrong(sign | bits(0x1p-25f), sign | bits(87.68f), inexact) == 0);
}

TEST_CASE("sigmoid is one half for floats near zero, including denormals", "[sigmoid]") {
  const auto wrong = [](float, float y) { return !(std::abs(y - 0.5f) <= 0x1p-23f); };
  CHECK(count_wrong(0, bits(0x1p-25f), wrong) == 0);
  CHECK(count_wrong(sign, sign | bits(0x1p-25f), wrong) == 0);
}

TEST_CASE("sigmoid is 0 or 1 for floats far from zero", "[sigmoid]") {
  const auto infinity = bits(std::numeric_limits<float>::infinity());
  CHECK(count_wrong(bits(128.0f), infinity, [](float, float y) { return y != 1.0f; }) == 0);
  CHECK(count_wrong(sign | bits(87.69f), sign | infinity,
                    [](float, float y) { return y != 0.0f; }) == 0);
}

TEST_CASE("sigmoid keeps NaN", "[sigmoid]") {
  CHECK(std::isnan(detail::sigmoid(std::numeric_limits<float>::quiet_NaN())));
  CHECK(std::isnan(detail::sigmoid(-std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("a vector of sigmoids equals single ones, bit for bit", "[sigmoid]") {
  const simd::hn::ScalableTag<float> d;
  std::vector<float> x(simd::hn::Lanes(d)), y(x.size());
  for (float base = -95.0f; base < 95.0f; base += 0.37f) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = base + 0.01f * static_cast<float>(i);
    const auto v = simd::hn::LoadU(d, x.data());
    simd::hn::StoreU(simd::sigmoid_from(d, v, simd::exp_minus_abs(d, v)), d, y.data());
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(bits(y[i]) == bits(detail::sigmoid(x[i])));
  }
}
