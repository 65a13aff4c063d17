#pragma once
#include <cstddef>
#include <utility>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/concept.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// The words that `SamplerPolicy` makes meet, whose vectors are not free: an encoder computes them
/// from the words themselves (W2V-CL: Li et al. 2019, section 5.8). Training is in rounds. The
/// encoder writes the vectors of all words to Model::input; the sampler and the kernel train these
/// rows as they do any others; then the encoder is fitted to the rows, and writes them anew. With
/// plain SGD, a round of one column of a WordContextMatrix and one batch, that is the gradient of
/// the loss by the parameters of the encoder; longer rounds share its cost between more words.
///
/// Or end to end, as in the paper: the gradient of the loss by the vectors becomes that by the
/// encoder's parameters at once. A column is one pass over all words after its first step, whose
/// gradients are those of that step, also in later batches. Sentences are cut into minibatches of
/// different words, each of which is one step: as many words as the encoder's `batch` says, or, of
/// WithOptimizer with a batch above 1, the words of such a batch, whose gradients are those by the
/// vectors as they were when it began (W2V-CL's Vanilla). The optimizer then changes outputs alone.
/// A minibatch ends early where a thread reports. Threads wait for each other to read and change
/// the encoder. The kernel must keep nothing by row, or be WithOptimizer of such a one.
///
/// `EncoderPolicy`: a policy with `learning_rate`, `Embeddings` (what is made of a trained Model&&)
/// and `start(model, threads, seed)`, whose run has `encode()` and `learn(rate)`, and, for training
/// end to end, `encode_and_keep()`, `learn_gradient(rate, row_rate)` and `Batch`: see CharCnn.
///
/// For kernels of the host; the encoder may be on a GPU (CudaCharCnn). Of several ranks, only with
/// samplers that train columns: each rank fits an encoder of its own, and all get the same bits.
template <class SamplerPolicy, class EncoderPolicy>
struct Encoded {
  SamplerPolicy sampler = {};
  EncoderPolicy encoder = {};
  /// Words that a round trains, as a multiple of the size of the vocabulary, or columns; 1 to
  /// 1000000.
  std::size_t round = 64;
  bool end_to_end = false;  // instead of in rounds

  static constexpr BlockFeatures uses = features_used<SamplerPolicy>();
  static constexpr bool two_steps = detail::has_two_steps<SamplerPolicy>;

  static Encoded from(const Hyperparameters& parameters) {
    return {policy_from<SamplerPolicy>(parameters),
            policy_from<EncoderPolicy>(parameters)};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("round", round, 1, 1'000'000);
    if (end_to_end) visit("end_to_end", 1, 1, 1);
    visit_parameters_of(visit, sampler, encoder);
  }

  class Run;
  /// Throws as the sampler does.
  Run start(const Vocabulary& vocabulary) const { return {*this, vocabulary}; }
};

/// The state that the threads of a run share.
template <class SamplerPolicy, class EncoderPolicy>
class Encoded<SamplerPolicy, EncoderPolicy>::Run : public detail::RunOf<SamplerPolicy> {
  using Inner = detail::RunOf<SamplerPolicy>;
  static_assert(!detail::HasSubwords<Inner> && !detail::uses_one_matrix<Inner>(),
                "wordloom: Encoded does not go with Subwords or samplers that train one matrix");

 public:
  Run(const Encoded& policy, const Vocabulary& vocabulary)
      : Inner(policy.sampler.start(vocabulary)),
        encoder_(policy.encoder),
        round_(policy.round),
        end_to_end_(policy.end_to_end) {}

  const EncoderPolicy& encoder() const noexcept { return encoder_; }
  /// Returns Encoded::round.
  std::size_t round() const noexcept { return round_; }
  bool end_to_end() const noexcept { return end_to_end_; }

  /// Returns what Trainer::fit returns of a new model.
  static auto embeddings(Model&& model) {
    return typename EncoderPolicy::Embeddings(std::move(model));
  }

 private:
  EncoderPolicy encoder_;
  std::size_t round_;
  bool end_to_end_;
};

}}  // namespace wordloom::WORDLOOM_ABI
