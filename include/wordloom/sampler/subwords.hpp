#pragma once
#include <cstddef>
#include <utility>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/corpus/subwords.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/model/subword_embeddings.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/expected_updates.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// The pairs of `SamplerPolicy`, with fastText's input vectors (Bojanowski et al. 2017): the vector
/// of an input word is the mean of its bag, its own row and those of its n-grams, and each row of
/// the bag receives the whole change of the mean. Model::input is [V + buckets x D].
///
/// The trainer composes the mean when a block first has the word as an input, trains it as a row,
/// and adds its change to the bag when more than 64 different words need a row, or at the end of
/// some hundred words that a sampler takes at once (Sentences). A bag is therefore read and written
/// once for all pairs of a word in a window; fastText does so for each pair. Two words that share
/// an n-gram do not see each other's change of it before that. With maxn = 0 this is
/// `SamplerPolicy`, bit for bit.
///
/// Not for samplers that train columns or one matrix, nor with WithOptimizer.
template <class SamplerPolicy>
struct Subwords {
  SamplerPolicy sampler = {};
  SubwordOptions subwords = {};

  static constexpr Block::Features uses = Block::Features::used_by<SamplerPolicy>();

  static Subwords from(const Hyperparameters& parameters) {
    return {policy_from<SamplerPolicy>(parameters)};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit_parameters_of(visit, sampler, subwords);
  }

  class Run;
  /// Throws as the sampler does, and as SubwordTable.
  Run start(const Vocabulary& vocabulary) const { return Run(*this, vocabulary); }
};

/// The state that the threads of a run share.
template <class SamplerPolicy>
class Subwords<SamplerPolicy>::Run : public detail::RunOf<SamplerPolicy> {
  using Inner = detail::RunOf<SamplerPolicy>;
  static_assert(!detail::owns_rows<SamplerPolicy> && !detail::uses_one_matrix<Inner>(),
                "wordloom: Subwords does not go with samplers that train columns, strata or one "
                "matrix");

 public:
  Run(const Subwords& policy, const Vocabulary& vocabulary)
      : Inner(policy.sampler.start(vocabulary)), table_(vocabulary, policy.subwords) {}

  /// Returns the bags that replace words among the inputs of a block.
  const detail::SubwordTable& subword_table() const noexcept { return table_; }

  /// Returns the result of Trainer::fit for a new model.
  static SubwordEmbeddings embeddings(Model&& model) { return SubwordEmbeddings(std::move(model)); }

  detail::ExpectedUpdates expected_updates(
      const WordRates& rates) const requires detail::ExpectsUpdates<SamplerPolicy> {
    detail::ExpectedUpdates expected = Inner::expected_updates(rates);
    std::vector<float> input(table_.input_rows());
    for (std::size_t w = 0; w < table_.words(); ++w)
      for (const RowId row : table_[static_cast<WordId>(w)]) input[row] += expected.input[w];
    expected.input = std::move(input);
    return expected;
  }

 private:
  detail::SubwordTable table_;
};

}}  // namespace wordloom::WORDLOOM_ABI
