#pragma once
#include <cstddef>
#include <type_traits>
#include <utility>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/concept.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The encoder of a run (Encoded). Calls are made while no thread trains. The model must outlive
/// it.
template <class Samplers>
class EncoderRounds {
 public:
  /// Throws as the encoder's start.
  EncoderRounds(const Samplers& samplers, Model& model, const Hyperparameters& parameters)
      : round_(samplers.round()),
        rate_(samplers.encoder().learning_rate / parameters.learning_rate),
        encoder_(samplers.encoder().start(model, resolve_threads(parameters.threads),
                                          parameters.seed)) {}

  /// Returns the words that a round trains, as a multiple of the size of the vocabulary.
  std::size_t round() const noexcept { return round_; }

  /// Writes the vectors of all words. For runs that begin, not for those that resume: during a
  /// round the rows differ from the encoder's vectors.
  void begin() { encoder_.encode(); }
  /// Fits the encoder to the rows. `learning_rate` is that of the rows.
  void end_round(double learning_rate) { encoder_.learn(rate_ * learning_rate); }

 private:
  using Encoder = std::remove_cvref_t<decltype(std::declval<const Samplers&>().encoder())>;

  std::size_t round_;
  double rate_;  // of the encoder, for a learning rate of 1
  decltype(std::declval<const Encoder&>().start(std::declval<Model&>(), 0, 0)) encoder_;
};

/// Its place in runs whose words have vectors of their own.
struct NoEncoderRounds {
  template <class Samplers>
  NoEncoderRounds(const Samplers&, Model&, const Hyperparameters&) {}
  static constexpr std::size_t round() noexcept { return 1; }
  void begin() const noexcept {}
  void end_round(double) const noexcept {}
};

template <class Samplers, bool = HasEncoder<Samplers>>
struct EncoderRoundsFor : std::type_identity<NoEncoderRounds> {};
template <class Samplers>
struct EncoderRoundsFor<Samplers, true> : std::type_identity<EncoderRounds<Samplers>> {};

template <class Samplers>
using EncoderRoundsOf = typename EncoderRoundsFor<Samplers>::type;

}}}  // namespace wordloom::WORDLOOM_ABI::detail
