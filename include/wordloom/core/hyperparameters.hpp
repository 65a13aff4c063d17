#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/core/error.hpp>
#include <wordloom/core/parameters.hpp>

namespace wordloom {

/// The parameters of a training run, in word2vec's terms; policies take theirs from here (`from`)
/// unless the trainer is given policies with values of their own. The defaults are those of
/// word2vec's skip-gram with negative sampling. Use designated initialisers:
/// `{.dimension = 128, .epochs = 3}`.
struct Hyperparameters {
  /// Floats in a vector (D), 1 to 65536.
  std::size_t dimension = 100;
  /// Context words on each side of the centre, at most; 1 to 1000.
  std::size_t window = 5;
  /// Negative words drawn for a positive one (or for a window, with shared negatives); 0 to 1000.
  /// 0 only with samplers that draw none (hierarchical softmax).
  std::size_t negatives = 5;
  /// Words that SentenceMinibatch, CombinedContext, GroupedWindow and GroupedCbow train together,
  /// up to 1000. 0: the sampler's default.
  std::size_t minibatch = 0;
  /// Negatives that such a minibatch shares, up to 10000; gradients are weighted so that each word
  /// is repelled as often as by `negatives` for each pair. 0: the sampler's default.
  std::size_t shared_negatives = 0;
  /// Threshold t of subsampling, a share of the corpus in [0, 1]: words more frequent than t are
  /// dropped at random (Mikolov et al. 2013b, section 2.3, in word2vec's form). 0 keeps all.
  double subsample = 1e-3;
  /// Learning rate at the start, above 0 and at most 10; the schedule lowers it.
  double learning_rate = 0.025;
  /// Passes over the corpus, 1 to 1000000.
  std::size_t epochs = 5;
  /// Training threads, up to 65536; 0: all that the machine offers.
  std::size_t threads = 0;
  /// Seed of every random stream. One thread and one seed give bit-identical runs.
  std::uint64_t seed = 1;
  /// Negatives are drawn in proportion to count^negative_exponent (Mikolov et al. 2013b: 0.75);
  /// -10 to 10.
  double negative_exponent = 0.75;
  /// The GPU of kernels on a device, counted from 0; up to 1023.
  std::size_t device = 0;
  /// Sentences that such a kernel trains at a time, up to 2^20. More keep the device busy, fewer
  /// lose less to changes that cross. 0: by the sizes of corpus, vocabulary and device.
  std::size_t sentences_in_flight = 0;

  /// Lists what must be the same where several ranks train one model: all but `threads` and
  /// `device`.
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("dimension", dimension, 1, 65536);
    visit("window", window, 1, 1000);
    visit("negatives", negatives, 0, 1000);
    visit("minibatch", minibatch, 0, 1000);
    visit("shared_negatives", shared_negatives, 0, 10'000);
    visit("epochs", epochs, 1, 1'000'000);
    visit("sentences_in_flight", sentences_in_flight, 0, 1 << 20);
    visit("seed", seed, std::uint64_t{0}, ~std::uint64_t{0});
    visit("subsample", subsample, 0.0, 1.0);
    visit("learning_rate", learning_rate, 0.0, 10.0);
    visit("negative_exponent", negative_exponent, -10.0, 10.0);
  }

  /// Throws InvalidArgument that names the first field outside its bounds, its value and the
  /// bounds.
  void validate() const {
    detail::validate(*this);
    if (learning_rate == 0.0) throw InvalidArgument("learning_rate is 0, must be above 0");
    detail::check_parameter("threads", threads, 0, 65536);
    detail::check_parameter("device", device, 0, 1023);
  }
};

}  // namespace wordloom
