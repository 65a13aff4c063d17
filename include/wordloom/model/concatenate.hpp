#pragma once
#include <algorithm>
#include <cstddef>
#include <utility>

#include <wordloom/core/error.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Returns embeddings with the vectors of `a` and `b` joined [V x (D_a + D_b)], each first divided
/// by its length (zeros stay). This is how LINE joins first and second order (Tang et al. 2015,
/// section 4.1.2; the authors' program concatenate). Throws InvalidArgument unless both have the
/// same words in the same order.
[[nodiscard]] Embeddings concatenate(const Embeddings& a, const Embeddings& b);

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION Embeddings concatenate(const Embeddings& a, const Embeddings& b) {
  if (a.size() != b.size())
    throw InvalidArgument{"cannot concatenate the vectors of ", a.size(), " words and of ",
                          b.size()};
  RowMatrix both(a.size(), a.dimension() + b.dimension());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a.word(i) != b.word(i))
      throw InvalidArgument{"cannot concatenate the vectors of different words: word ",
                            i,
                            " is '",
                            a.word(i),
                            "' and '",
                            b.word(i),
                            "'"};
    auto to = both.row(i).begin();
    for (const Embeddings* part : {&a, &b})
      to = std::transform(part->vector(i).begin(), part->vector(i).end(), to,
                          [scale = part->inverse_lengths()[i]](float x) { return x * scale; });
  }
  return Embeddings(a.words(), std::move(both), a.counts());
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
