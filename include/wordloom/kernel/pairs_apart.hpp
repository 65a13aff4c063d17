#pragma once
#include <cstddef>

#include <wordloom/kernel/concept.hpp>
#include <wordloom/kernel/fused_kernel.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// `Kernel`, except that a single pair, a block 1 x 1, is a dot product and two additions of rows
/// as in word2vec: PAR-Word2Vec trains its positives in this way (Moon et al. 2019, algorithm 3),
/// and the rest by matrix products. WithOptimizer does not accept it, because it writes no
/// gradients.
template <class Kernel>
struct PairsApart {
  static constexpr Block::Features honours = Kernel::honours;
  static constexpr bool keeps_nothing_by_row = Kernel::keeps_nothing_by_row;

  Kernel kernel = {};

  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit_parameters_of(visit, kernel);
  }

  /// The scratch memory of one thread.
  class Worker {
    using Other = detail::KernelWorker<Kernel>;

   public:
    Worker(const Kernel& kernel, const Model& model, Block::Shape most)
        : pairs_({.inputs = 1, .outputs = 1}), other_(kernel.worker(model, most)) {}

    template <bool with_loss>
    LossSum update(Model& model, const Block& block, float learning_rate) noexcept {
      if (block.inputs.size() == 1 && block.outputs.size() == 1 && !block.has_bags())
        return pairs_.template update<with_loss>(model, block, learning_rate);
      return other_.template update<with_loss>(model, block, learning_rate);
    }

    void map_rows(const detail::RowMaps& maps) noexcept requires detail::MapsRows<Other> {
      pairs_.map_rows(maps);
      other_.map_rows(maps);
    }

   private:
    FusedKernel::RowWorker pairs_;
    Other other_;
  };

  Worker worker(const Model& model, Block::Shape most) const { return {kernel, model, most}; }
};

}}  // namespace wordloom::WORDLOOM_ABI
