// Cases that a program runs on a device, and reports of them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/model/model.hpp>

#include "small_models.hpp"

namespace wordloom {

constexpr std::size_t words = 300;
#ifdef WORDLOOM_EMULATED_CUDA
constexpr double tolerance = 1e-5;
#else
constexpr double tolerance = 1e-3;  // the device's exponentials are approximate
#endif
/// Training must change some number by more than this, or a device that does nothing would pass. It
/// is above both tolerances, so that the emulated device shows whether a case can pass on a real
/// one.
constexpr double min_change = 2e-3;

inline int failures = 0;
inline std::string_view only;  // the case to run; empty: all

inline bool is_wanted(std::string_view name) { return only.empty() || name == only; }
inline void report(const std::string& what, bool good) {
  failures += good ? 0 : 1;
  std::printf("%s: %s\n", what.c_str(), good ? "good" : "WRONG");
}

inline const Vocabulary& vocabulary() {
  static const Vocabulary all = zipf_vocabulary(words, 10'000);
  return all;
}

/// What a kernel trains, and the loss that it reports.
struct Trained {
  Model model;
  double loss;
};

/// The largest difference of two numbers, of the loss too; NaN for NaN.
inline double difference(const Trained& a, const Trained& b) {
  double worst = std::abs(a.loss - b.loss) / a.loss;
  const auto all = a.model.matrices(), others = b.model.matrices();
  for (std::size_t m = 0; m < std::min(all.size(), others.size()); ++m)
    for (std::size_t i = 0; i < all[m].matrix->rows(); ++i)
      for (std::size_t d = 0; d < all[m].matrix->columns(); ++d) {
        const double one = std::abs(all[m].matrix->row(i)[d] - others[m].matrix->row(i)[d]);
        if (one > worst || std::isnan(one)) worst = one;
      }
  return worst;
}

}  // namespace wordloom
