#pragma once
#include <cmath>
#include <cstddef>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/model/embeddings.hpp>
#include <wordloom/query/nearest_rows.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Throws InvalidArgument for the first vector that has a number that is not finite or a length
/// that is no float or whose inverse is none.
inline void require_usable(const Embeddings& embeddings) {
  for (std::size_t id = 0; id < embeddings.size(); ++id) {
    const double square = dot_in_double(embeddings[id], embeddings[id]);
    if (!is_finite(square))
      throw InvalidArgument{"the vector of ", shown(embeddings.word(id)),
                            " contains a number that is not finite"};
    if (square != 0 && (square < 1e-77 || square > 1e77))
      throw InvalidArgument{"the vector of ",
                            shown(embeddings.word(id)),
                            " has the length ",
                            std::sqrt(square),
                            ", must be 0 or from 3.2e-39 to 3.1e38: scale the ",
                            "vectors"};
  }
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
