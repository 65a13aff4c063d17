#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/shared_negative.hpp>
#include <wordloom/sampler/targets.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// The split of BIDMach (Canny et al. 2015, "Machine Learning at the Limit"; its word2vecPos and
/// word2vecNeg): each block of `Base` becomes two, the positives of all inputs (attraction, n x 1
/// for a window) and then their negatives (repulsion, n x K). The negatives are scored after the
/// positives are applied.
template <class Base>
struct AttractionRepulsion {
  Base base = {};

  static constexpr Block::Features uses = Block::Features::used_by<Base>();

  static AttractionRepulsion from(const Hyperparameters& parameters) {
    return {policy_from<Base>(parameters)};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit_parameters_of(visit, base);
  }

  using BaseRun = detail::RunOf<Base>;

  /// The scratch memory of one thread.
  class Worker {
    using BaseWorker = detail::WorkerOf<Base>;

   public:
    explicit Worker(const BaseRun& run) : base_(detail::worker_of(run)) {}
    Block::Shape max_block() const noexcept { return base_.max_block(); }

    void begin_epoch(const Random& stream, std::uint64_t picks) noexcept {
      detail::begin_epoch_of(base_, stream, picks);
    }
    std::uint64_t picks() const noexcept { return detail::picks_of(base_); }

    template <class Sink>
    void sample(const detail::TextOf<BaseWorker>& text, Random& random, Sink&& sink) {
      base_.sample(text, random, Halves<Sink>{sink});
    }

   private:
    template <class Sink>
    struct Halves {
      Sink& sink;
      void operator()(const Block& block) const {
        const std::size_t positives = block.positives;
        const std::size_t each = block.left_out.empty() ? block.input_count() : 1;
        const std::array whole_bag{static_cast<std::uint32_t>(block.inputs.size())};
        Block attraction = block, repulsion = block;
        attraction.outputs = block.outputs.first(positives);
        repulsion.outputs = block.outputs.subspan(positives);
        repulsion.positives = repulsion.examples = 0;
        if (!block.left_out.empty()) {
          repulsion.left_out = {};
          repulsion.bag_ends = whole_bag;
          repulsion.stands_for_parts = true;
        }
        if (!block.weights.empty()) {
          const auto [values, version] = block.weights;
          attraction.weights = {values.first(positives * each), version};
          repulsion.weights = {values.subspan(positives * each), version};
        }
        sink(attraction);
        sink(repulsion);
      }
      [[gnu::always_inline]] void prefetch(std::span<const RowId> inputs,
                                           std::span<const RowId> outputs) const {
        announce_rows(sink, inputs, outputs);
      }
    };

    BaseWorker base_;
  };

  /// The run of the base.
  class Run {
   public:
    explicit Run(BaseRun base) : base_(std::move(base)) {}
    Worker worker() const { return Worker(base_); }
    std::size_t output_rows() const requires requires(const BaseRun& r) { r.output_rows(); }
    { return base_.output_rows(); }
    ExpectedUpdates expected_updates(
        const WordRates& rates) const requires detail::ExpectsUpdates<Base> {
      return base_.expected_updates(rates);
    }

   private:
    BaseRun base_;
  };

  Run start(const Vocabulary& vocabulary) const { return Run(base.start(vocabulary)); }
};

}  // namespace detail

/// SharedNegative whose positives and negatives are blocks of their own.
using SplitSharedNegative = detail::AttractionRepulsion<SharedNegative>;

static_assert(Sampler<SplitSharedNegative>);

}}  // namespace wordloom::WORDLOOM_ABI
