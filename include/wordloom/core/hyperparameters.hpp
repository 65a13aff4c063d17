#pragma once
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string_view>

#include <wordloom/core/error.hpp>

namespace wordloom {

/// What a training run can be told. Defaults are word2vec's skip-gram with negative sampling.
/// Use designated initialisers: `{.dimension = 128, .epochs = 3}`.
struct Hyperparameters {
  /// Floats in a vector (D), 1 to 65536.
  std::size_t dimension = 100;
  /// Context words on each side of the centre, at most; 1 to 1000.
  std::size_t window = 5;
  /// Negative words drawn for a positive one (or for a window, with shared negatives); 1 to 1000.
  std::size_t negatives = 5;
  /// Of samplers that train several words together (SentenceMinibatch, CombinedContext,
  /// GroupedWindow): how many, up to 1000. 0 = as the sampler says.
  std::size_t minibatch = 0;
  /// Of the same samplers: negatives that a minibatch shares, up to 10000;
  /// gradients are weighted so that each word is repelled as often as by `negatives` for each pair.
  /// 0 = as the sampler says.
  std::size_t shared_negatives = 0;
  /// Threshold t of subsampling, a share of the corpus in [0, 1]: words more frequent than t are
  /// dropped at random (Mikolov et al. 2013b, section 2.3, in word2vec's form). 0 keeps all.
  double subsample = 1e-3;
  /// Learning rate at the start, above 0 and at most 10; the schedule lowers it.
  double learning_rate = 0.025;
  /// Passes over the corpus, 1 to 1000000.
  std::size_t epochs = 5;
  /// Training threads, up to 65536; 0 = all that the machine offers.
  std::size_t threads = 0;
  /// Seed of every random stream. One thread and one seed give bit-identical runs.
  std::uint64_t seed = 1;
  /// Negatives are drawn in proportion to count^negative_exponent (Mikolov et al. 2013b: 0.75);
  /// -10 to 10.
  double negative_exponent = 0.75;
  /// Of kernels on a GPU: which one, counted from 0; up to 1023.
  std::size_t device = 0;
  /// Of the same: sentences that are trained at a time, up to 2^20. More keep the device busy,
  /// fewer lose less to changes that cross. 0 = by the sizes of corpus, vocabulary and device.
  std::size_t sentences_in_flight = 0;

  /// Throws InvalidArgument that names the first field outside its bounds, its value and the bound.
  void validate() const {
    check("dimension", dimension, 1, 65536);
    check("window", window, 1, 1000);
    check("negatives", negatives, 1, 1000);
    check("minibatch", minibatch, 0, 1000);
    check("shared_negatives", shared_negatives, 0, 10'000);
    check("subsample", subsample, 0.0, 1.0);
    check("learning_rate", learning_rate, 0.0, 10.0);
    if (learning_rate == 0.0) throw InvalidArgument("learning_rate is 0, must be above 0");
    check("epochs", epochs, 1, 1'000'000);
    check("threads", threads, 0, 65536);
    check("negative_exponent", negative_exponent, -10.0, 10.0);
    check("device", device, 0, 1023);
    check("sentences_in_flight", sentences_in_flight, 0, 1 << 20);
  }

  /// A hash of all that must be the same where several train one model: all but `threads` and
  /// `device`.
  std::uint64_t fingerprint() const {
    std::uint64_t hash = 0;
    const auto add = [&](std::uint64_t value) {
      hash = (hash ^ value) * 0x9E3779B97F4A7C15;
      hash ^= hash >> 32;
    };
    for (const std::size_t value :
         {dimension, window, negatives, minibatch, shared_negatives, epochs, sentences_in_flight})
      add(value);
    add(seed);
    for (const double value : {subsample, learning_rate, negative_exponent})
      add(std::bit_cast<std::uint64_t>(value));
    return hash;
  }

 private:
  template <class Number>
  static void check(std::string_view field, Number value, Number least, Number most) {
    if (value >= least && value <= most) return;  // written so that NaN fails
    std::ostringstream message;
    message << field << " is " << value << ", must be from " << least << " to " << most;
    throw InvalidArgument(message.str());
  }
  // A negative number given to an unsigned field arrives as a huge one and is refused by the bound.
  static void check(std::string_view field, std::size_t value, std::size_t least,
                    std::size_t most) {
    check<std::size_t>(field, value, least, most);
  }
};

/// The defaults of word2vec's command line for skip-gram (word2vec.c).
constexpr Hyperparameters word2vec_defaults() { return {}; }

/// The defaults of `fasttext skipgram` that apply without subwords: learning rate 0.05,
/// subsampling 1e-4, negatives in proportion to the square root of the count.
constexpr Hyperparameters fasttext_defaults() {
  return {.subsample = 1e-4, .learning_rate = 0.05, .negative_exponent = 0.5};
}

}  // namespace wordloom
