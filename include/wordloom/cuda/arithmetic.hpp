#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <wordloom/core/types.hpp>
#include <wordloom/cuda/random.hpp>
#include <wordloom/cuda/team.hpp>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"  // int as the size of an array

namespace wordloom::cuda {

/// Both matrices in the device's memory [V x stride], row-major.
struct ModelView {
  float* input;
  float* output;
  std::size_t stride;  // floats

  WORDLOOM_BOTH float* input_row(WordId word) const { return input + word * stride; }
  WORDLOOM_BOTH float* output_row(WordId word) const { return output + word * stride; }
};

/// A sentence after subsampling, and how to train it.
struct Sentence {
  const WordId* words;
  std::uint32_t size;
  SentenceRandom random;
  float learning_rate;
  bool with_loss;
};

/// Loss of some pairs: the sum of -log sigma, and how many of the pairs had label 1.
struct PairLoss {
  float sum = 0;
  float positives = 0;
};

WORDLOOM_BOTH float sigmoid(float x) {
#ifdef __CUDA_ARCH__
  return __fdividef(1.0f, 1.0f + __expf(-x));
#else
  return 1.0f / (1.0f + std::exp(-x));
#endif
}

/// -log sigma(x), right for large |x|.
WORDLOOM_BOTH float minus_log_sigmoid(float x) {
#ifdef __CUDA_ARCH__
  return fmaxf(-x, 0.0f) + __logf(1.0f + __expf(-fabsf(x)));
#else
  return std::fmax(-x, 0.0f) + std::log1p(std::exp(-std::fabs(x)));
#endif
}

/// (label - sigma(score)) * rate: the gradient of a pair (Mikolov et al. 2013b, eq. 4).
WORDLOOM_BOTH float gradient(float score, bool positive, float rate) {
  // sigma(-score) for a positive: 1 - sigma(score) would cancel.
  return positive ? sigmoid(-score) * rate : -sigmoid(score) * rate;
}

/// What each thread has of the product of two rows.
template <int R, class Team>
WORDLOOM_BOTH auto partial_dot(const Team&, const typename Team::template Lanes<float> (&x)[R],
                               const typename Team::template Lanes<float> (&y)[R]) {
  auto sum = x[0] * y[0];
  WORDLOOM_UNROLL
  for (int r = 1; r < R; ++r) sum = sum + x[r] * y[r];
  return sum;
}

/// to += factor * x
template <int R, class Lanes>
WORDLOOM_BOTH void add_scaled(Lanes (&to)[R], float factor, const Lanes (&x)[R]) {
  WORDLOOM_UNROLL
  for (int r = 0; r < R; ++r) to[r] = to[r] + factor * x[r];
}

template <int R, class Lanes>
WORDLOOM_BOTH void set_difference(Lanes (&to)[R], const Lanes (&a)[R], const Lanes (&b)[R]) {
  WORDLOOM_UNROLL
  for (int r = 0; r < R; ++r) to[r] = a[r] - b[r];
}

template <int R, class Lanes>
WORDLOOM_BOTH void copy_row(Lanes (&to)[R], const Lanes (&from)[R]) {
  WORDLOOM_UNROLL
  for (int r = 0; r < R; ++r) to[r] = from[r];
}

template <int R, class Team>
WORDLOOM_BOTH void clear_row(const Team& team, typename Team::template Lanes<float> (&x)[R]) {
  WORDLOOM_UNROLL
  for (int r = 0; r < R; ++r) x[r] = team.each([](int) { return 0.0f; });
}

/// The score of a pair turned into its gradient; its loss is counted.
WORDLOOM_BOTH float score_pair(const Sentence& sentence, float score, bool positive,
                               PairLoss& loss) {
  if (sentence.with_loss) {
    loss.sum += minus_log_sigmoid(positive ? score : -score);
    loss.positives += positive ? 1.0f : 0.0f;
  }
  return gradient(score, positive, sentence.learning_rate);
}

/// The words of a window: from `first` up to but not `end`, without the centre.
struct WindowRange {
  std::uint32_t first, end;

  WORDLOOM_BOTH WindowRange(std::uint32_t center, std::uint32_t reach, std::uint32_t size)
      : first(center < reach ? 0 : center - reach),
        end(size - center <= reach ? size : center + reach + 1) {}
};

/// What is kept of a sentence, in order: word2vec's subsampling by `highest_kept` [last + 1] as in
/// Subsampling. For teams of 32. Returns how many words are in `kept`.
template <class Team>
WORDLOOM_BOTH std::uint32_t subsample(const Team& team, const std::uint32_t* highest_kept,
                                      std::uint32_t last, const WordId* words, std::uint32_t size,
                                      const SentenceRandom& random, WordId* kept) {
  const auto bits_below = [](std::uint32_t bits, int l) {
    const std::uint32_t below = bits & ((std::uint32_t{1} << l) - 1);
#ifdef __CUDA_ARCH__
    return static_cast<std::uint32_t>(__popc(below));
#else
    return static_cast<std::uint32_t>(__builtin_popcount(below));
#endif
  };
  std::uint32_t count = 0;
  for (std::uint32_t base = 0; base < size; base += 32) {
    const std::uint32_t bits = team.ballot(team.each([&](int l) {
      const std::uint32_t i = base + static_cast<std::uint32_t>(l);
      if (i >= size) return false;
      const std::uint32_t draw = random(Purpose::subsample, i).x[0];
      return draw <= highest_kept[words[i] < last ? words[i] : last];
    }));
    team.each([&](int l) {
      if (bits >> l & 1u)
        kept[count + bits_below(bits, l)] = words[base + static_cast<std::uint32_t>(l)];
      return 0;
    });
    count += bits_below(bits, 31) + (bits >> 31);
  }
  return count;
}

}  // namespace wordloom::cuda

#pragma GCC diagnostic pop
