#pragma once
#include <cstddef>
#include <span>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/shared_negative.hpp>

namespace wordloom {

/// The split of BIDMach (Canny et al. 2015, "Machine Learning at the Limit"; its word2vecPos and
/// word2vecNeg): what `Base` makes as one block becomes two, the positives of all inputs
/// (attraction, n x 1 for a window) and then their negatives (repulsion, n x K). The latter are
/// scored after the former are applied. For blocks without weights of pairs.
template <class Base>
class AttractionRepulsion {
 public:
  using Produces = Block;

  /// Throws as Base.
  AttractionRepulsion(const Hyperparameters& parameters, const Vocabulary& vocabulary)
      : base_(parameters, vocabulary) {}

  BlockShape max_block() const noexcept { return base_.max_block(); }

  template <class Sink>
  void sample(std::span<const WordId> sentence, Random& random, Sink&& sink) {
    base_.sample(sentence, random, Halves<Sink>{sink});
  }

 private:
  template <class Sink>
  struct Halves {
    Sink& sink;
    void operator()(const Block& block) const {
      sink(Block{block.inputs, block.outputs.first(block.positives), block.positives,
                 block.weights});
      sink(Block{block.inputs, block.outputs.subspan(block.positives), 0, block.weights});
    }
    [[gnu::always_inline]] void prefetch(std::span<const WordId> inputs,
                                         std::span<const WordId> outputs) const {
      announce_rows(sink, inputs, outputs);
    }
  };

  Base base_;
};

using SplitSharedNegative = AttractionRepulsion<SharedNegative>;

static_assert(Sampler<SplitSharedNegative>);

}  // namespace wordloom
