#pragma once
#include <cstddef>
#include <type_traits>
#include <utility>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/train/detail/encoded_rows.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// An encoder in training that takes gradients.
template <class Run>
concept TakesGradients = requires(Run& run) {
  typename Run::Batch;
  run.encode_and_keep();
  run.learn_gradient(0.1, 0.1);
};

/// The encoder of a run (Encoded). Calls are made while no thread trains. The model must outlive
/// it.
template <class Samplers>
class EncoderRounds {
  using Encoder = std::remove_cvref_t<decltype(std::declval<const Samplers&>().encoder())>;

 public:
  /// The encoder of a model in training.
  using Run = decltype(std::declval<const Encoder&>().start(std::declval<Model&>(), 0, 0));

  /// Throws as the encoder's start, and InvalidArgument for an encoder that is to be trained end to
  /// end and takes no gradients.
  EncoderRounds(const Samplers& samplers, Model& model, const Hyperparameters& parameters)
      : end_to_end_(samplers.end_to_end()),
        round_(end_to_end_ ? 1 : samplers.round()),
        rate_(samplers.encoder().learning_rate / parameters.learning_rate),
        encoder_(
            samplers.encoder().start(model, resolve_threads(parameters.threads), parameters.seed)) {
    if (end_to_end_ && !TakesGradients<Run>)
      throw InvalidArgument("this encoder is trained in rounds, not end to end");
  }

  bool end_to_end() const noexcept { return end_to_end_; }
  /// Returns the words that a round trains, as a multiple of the size of the vocabulary, or
  /// columns.
  std::size_t round() const noexcept { return round_; }

  /// Writes the vectors of all words: for runs that begin, and end to end for those that resume,
  /// too. During a round the rows differ from the encoder's vectors.
  void begin_rounds() {
    if constexpr (TakesGradients<Run>)
      if (end_to_end_) return encoder_.encode_and_keep();
    encoder_.encode();
  }
  /// Fits the encoder to the rows. `learning_rate` is that of the rows.
  void end_round(double learning_rate) {
    if (!end_to_end_) encoder_.learn(rate_ * learning_rate);
  }

  /// End to end, takes the gradients of the first step of a column.
  void end_inputs(double learning_rate) {
    if constexpr (TakesGradients<Run>)
      if (end_to_end_ && learning_rate > 0)  // some schedules end at 0
        encoder_.learn_gradient(rate_ * learning_rate, learning_rate);
  }

  /// Writes the vectors of all words, after threads have trained the encoder by minibatches.
  void encode() { encoder_.encode(); }
  /// Brings its parameters to the model, where they are elsewhere. Threads may train meanwhile.
  void download() {
    if constexpr (requires { encoder_.download(); }) encoder_.download();
  }
  /// Returns the scratch rows of threads that train minibatches of `words` words, 0: as many as the
  /// encoder says.
  auto rows(Model& model, std::size_t words, Block::Shape most, std::size_t threads) {
    if (words == 0) words = encoder_.words_at_once();
    return EncodedRows<Run>(model, encoder_, rate_, end_to_end_ ? words : 0, most, threads);
  }

 private:
  bool end_to_end_;
  std::size_t round_;
  double rate_;  // of the encoder, for a learning rate of 1
  Run encoder_;
};

/// Its place in runs whose words have vectors of their own.
struct NoEncoderRounds {
  explicit NoEncoderRounds(const auto&...) {}
  static constexpr bool end_to_end() noexcept { return false; }
  static constexpr std::size_t round() noexcept { return 1; }
  void begin_rounds() const noexcept {}
  void end_round(double) const noexcept {}
  void end_inputs(double) const noexcept {}
};

template <class Samplers, bool = HasEncoder<Samplers>>
struct EncoderRoundsFor : std::type_identity<NoEncoderRounds> {};
template <class Samplers>
struct EncoderRoundsFor<Samplers, true> : std::type_identity<EncoderRounds<Samplers>> {};

template <class Samplers>
using EncoderRoundsOf = typename EncoderRoundsFor<Samplers>::type;

/// True for runs that may train an encoder by minibatches of sentences.
template <class Samplers, bool = HasEncoder<Samplers>>
inline constexpr bool may_train_minibatches = false;
template <class Samplers>
inline constexpr bool may_train_minibatches<Samplers, true> =
    TakesGradients<typename EncoderRoundsOf<Samplers>::Run>;

/// A worker of a kernel that can leave what becomes of the inputs' gradients to an encoder.
template <class Worker>
concept LeavesInputs = requires(Worker& worker) {
  worker.leave_inputs(RowId{}, std::size_t{});
};

/// Has a worker change `count` inputs from row `first` on by their gradients alone.
template <class Worker>
void leave_inputs(Worker& worker, RowId first, std::size_t count) {
  if constexpr (LeavesInputs<Worker>) worker.leave_inputs(first, count);
}

/// Returns the pairs of a batch whose gradients a kernel sums, 0 for one that does not.
template <class Kernels>
std::size_t pairs_of_batch(const Kernels& kernels) {
  if constexpr (LeavesInputs<KernelWorker<Kernels>>)
    return kernels.batch > 1 ? kernels.batch : 0;
  else
    return 0;
}

/// Throws InvalidArgument for an encoder that is to be trained end to end with a kernel that
/// cannot.
template <class Kernels, class Samplers>
void require_end_to_end(const Samplers& samplers) {
  if constexpr (HasEncoder<Samplers>)
    if constexpr (!KeepsNothingByRow<Kernels> && !LeavesInputs<KernelWorker<Kernels>>)
      if (samplers.end_to_end())
        throw InvalidArgument(
            "this UpdateKernel keeps data by row and cannot train an encoder end to end");
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
