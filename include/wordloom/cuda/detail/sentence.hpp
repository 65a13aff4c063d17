#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/core/types.hpp>
#include <wordloom/cuda/detail/sampling.hpp>
#include <wordloom/cuda/detail/team.hpp>
#include <wordloom/objective/float_pair.hpp>
#include <wordloom/sampler/window.hpp>

/// The work of schemes and the operations on rows that they share. A scheme is a struct of two
/// static functions: `floats_of_own(sampling, row)` returns the memory that it needs for itself
/// with rows of `row` floats, and `train(task)` trains a sentence by one team and adds all changes
/// to the model atomically.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// Both matrices [V x stride], row-major, in the memory of the machine that trains.
struct ModelView {
  float* input;
  float* output;
  std::size_t stride;  // floats

  WORDLOOM_BOTH float* input_row(WordId word) const { return input + word * stride; }
  WORDLOOM_BOTH float* output_row(WordId word) const { return output + word * stride; }
  /// Returns the row of the input (0) or the output (1).
  WORDLOOM_BOTH float* row(std::uint32_t matrix, WordId word) const {
    return matrix == 0 ? input_row(word) : output_row(word);
  }
};

/// A sentence after subsampling, and how to train it.
struct Sentence {
  const WordId* words;
  std::uint32_t size;
  SentenceRandom random;
  float learning_rate;
  bool with_loss;
};

/// The loss of some pairs.
struct PairLoss {
  float sum = 0;       // of the losses of all pairs
  float examples = 0;  // of Block::examples
};

/// The weight of a pair that counts once (see LogisticPair).
WORDLOOM_BOTH float pair_weight(bool positive) { return positive ? 1.0f : -1.0f; }
/// A weight of LogisticPair itself.
WORDLOOM_BOTH float pair_weight(float weight) { return weight; }
/// The number of times that the loss of such a pair counts.
WORDLOOM_BOTH float loss_weight(bool) { return 1.0f; }
WORDLOOM_BOTH float loss_weight(float weight) { return weight < 0 ? -weight : weight; }

/// A batch of sentences in the memory of the machine that trains, and how to train it.
struct BatchView {
  const WordId* words;
  const std::uint32_t* ends;  // [sentences] in `words`
  std::uint32_t sentences;
  std::uint64_t first_sentence;  // in the epoch: numbers the random streams
  std::uint64_t seed;
  std::uint32_t epoch;
  float first_rate, last_rate;    // the learning rate goes linearly from one to the other
  WordId* kept;                   // [words] room for the words of each sentence that are kept
  std::uint32_t* kept_sizes;      // [sentences] how many words that is
  double* loss = nullptr;         // [2] as PairLoss, added to
  std::uint32_t* next = nullptr;  // on a device: the first sentence that no team has claimed

  /// The loss is measured on one sentence in this many.
  static constexpr std::uint32_t loss_interval = 16;

  /// Subsamples sentence i by a team of 32 threads.
  template <class Team>
  WORDLOOM_BOTH void subsample_sentence(const Team& team, const SubsamplingView& table,
                                        std::uint32_t i) const {
    const std::uint32_t count =
        subsample(team, table, words + begin(i), ends[i] - begin(i), random(i), kept + begin(i));
    team.each([&](int l) {
      if (l == 0) kept_sizes[i] = count;
      return 0;
    });
  }
  /// Returns sentence i after subsampling.
  WORDLOOM_BOTH Sentence sentence(std::uint32_t i) const {
    const float done = static_cast<float>(i) / static_cast<float>(sentences);
    return {kept + begin(i), kept_sizes[i], random(i), first_rate + (last_rate - first_rate) * done,
            i % loss_interval == 0};
  }
  WORDLOOM_BOTH std::uint32_t begin(std::uint32_t i) const { return i == 0 ? 0 : ends[i - 1]; }
  /// Returns the number of words of the batch before subsampling.
  WORDLOOM_BOTH std::uint32_t word_count() const { return begin(sentences); }
  /// Returns the sentence that contains word number `word` of the batch.
  WORDLOOM_BOTH std::uint32_t sentence_of(std::uint32_t word) const {
    std::uint32_t first = 0, last = sentences;
    while (last - first > 1) {
      const std::uint32_t middle = first + (last - first) / 2;
      (begin(middle) <= word ? first : last) = middle;
    }
    return first;
  }

 private:
  WORDLOOM_BOTH SentenceRandom random(std::uint32_t i) const {
    return {seed, first_sentence + i, epoch};
  }
};

/// Adds factor * x to `to`.
template <std::size_t R, class Factor, class Lanes>
WORDLOOM_BOTH void add_scaled(Lanes (&to)[R], const Factor& factor, const Lanes (&x)[R]) {
  WORDLOOM_UNROLL
  for (std::size_t r = 0; r < R; ++r) to[r] = to[r] + factor * x[r];
}

template <std::size_t R, class Lanes>
WORDLOOM_BOTH void copy_row(Lanes (&to)[R], const Lanes (&from)[R]) {
  WORDLOOM_UNROLL
  for (std::size_t r = 0; r < R; ++r) to[r] = from[r];
}

template <std::size_t R, class Team, class Lanes>
WORDLOOM_BOTH void clear_row(const Team& team, Lanes (&x)[R]) {
  WORDLOOM_UNROLL
  for (std::size_t r = 0; r < R; ++r) x[r] = team.each([](int) { return 0.0f; });
}

/// Returns the part of the dot product of two rows that each thread holds.
template <std::size_t R, class Lanes>
WORDLOOM_BOTH auto partial_dot(const Lanes (&x)[R], const Lanes (&y)[R]) {
  auto sum = x[0] * y[0];
  WORDLOOM_UNROLL
  for (std::size_t r = 1; r < R; ++r) sum = sum + x[r] * y[r];
  return sum;
}

/// The training of one sentence by one team, with R floats of a row in each thread.
template <int R, class AnyTeam>
struct SentenceTask {
  using Team = AnyTeam;
  using Row = typename Team::template Lanes<float>[std::size_t{R}];
  static constexpr std::size_t row_size = static_cast<std::size_t>(Team::width) * R;

  const Team& team;
  const ModelView& model;
  const Sampling& sampling;
  const Sentence& sentence;
  float* memory;  // of the team alone, aligned to 16 bytes
  PairLoss& loss;

  /// Return the rows of the word at `position`, and of an output: the stride of the model is
  /// row_size.
  WORDLOOM_BOTH float* input_row(std::uint32_t position) const {
    return model.input + std::size_t{sentence.words[position]} * row_size;
  }
  WORDLOOM_BOTH float* output_row(RowId row) const {
    return model.output + std::size_t{row} * row_size;
  }
  WORDLOOM_BOTH std::uint32_t reach(std::uint32_t center) const {
    return sampling.reach(sentence.random, center);
  }
  WORDLOOM_BOTH detail::WindowRange<std::uint32_t> window(std::uint32_t center,
                                                          std::uint32_t reach) const {
    return detail::WindowRange(center, reach, sentence.size);
  }
  /// Adds factor * x to a row of the model.
  template <class Target, class Factor>
  WORDLOOM_BOTH void add_product(const Target& row, const Factor& factor, const Row& x) const {
    Row change;
    clear_row(team, change);
    add_scaled(change, factor, x);
    team.add(row, change);
  }
  /// Adds after - before to a row of the model.
  WORDLOOM_BOTH void add_difference(float* row, const Row& after, const Row& before) const {
    Row change;
    WORDLOOM_UNROLL
    for (int r = 0; r < R; ++r) change[r] = after[r] - before[r];
    team.add(row, change);
  }
  /// Returns the gradient of a pair times the learning rate. Where the loss is measured, adds that
  /// of the pair, which counts as `examples` examples.
  WORDLOOM_BOTH float gradient(const Row& x, const Row& y, bool positive, float examples) const {
    const detail::FloatPair pair(team.sum(partial_dot(x, y)), pair_weight(positive));
    if (sentence.with_loss) {
      WORDLOOM_MARK(3);
      loss.sum += pair.loss();
      loss.examples += examples;
    }
    return pair.gradient(sentence.learning_rate);
  }
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
