#pragma once
#include <cstddef>
#include <utility>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/concept.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// The pairs of `SamplerPolicy`, with input vectors computed by an encoder from the words
/// themselves (W2V-CL: Li et al. 2019, section 5.8). Training is in rounds. The encoder writes the
/// vectors of all words to Model::input; the sampler and the kernel train these rows as they do any
/// others; then the encoder is fitted to the rows, and writes them anew. With plain SGD, a round of
/// one column of a WordContextMatrix and one batch, that is the gradient of the loss by the
/// parameters of the encoder; longer rounds share its cost between more words.
///
/// With `end_to_end`, as in the paper, the gradient of the loss by the vectors goes through the
/// encoder to its parameters at once:
/// - Columns: one pass over all words after the first step of a column, with its gradients.
/// - Sentences: cut into minibatches of distinct words. Each minibatch is one step of the encoder.
///   It has CharCnn::batch words; with WithOptimizer and a batch above 1 it is that batch, and the
///   gradients are those by the vectors before it (W2V-CL's Vanilla). The optimizer then changes
///   outputs only. A minibatch ends early if a thread reports.
/// Threads wait for each other to read and change the encoder. The kernel must keep no data by row,
/// or be WithOptimizer of such a kernel.
///
/// `EncoderPolicy`: a policy with `learning_rate`, `Embeddings` (made of a trained Model&&)
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

  static constexpr Block::Features uses = Block::Features::used_by<SamplerPolicy>();
  static constexpr bool two_steps = detail::has_two_steps<SamplerPolicy>;
  static_assert(!detail::is_by_strata<SamplerPolicy>,
                "wordloom: Encoded does not go with samplers that train strata");

  static Encoded from(const Hyperparameters& parameters) {
    return {policy_from<SamplerPolicy>(parameters), policy_from<EncoderPolicy>(parameters)};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("round", round, 1, 1'000'000);
    if (end_to_end) visit("end_to_end", 1, 1, 1);  // checkpoints of rounds stay valid
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
