#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/train/detail/block_checks.hpp>
#include <wordloom/train/detail/private_rows.hpp>
#include <wordloom/train/detail/run_progress.hpp>
#include <wordloom/train/detail/subword_rows.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Takes a copy, so that the caller's block can stay in registers.
[[noreturn, gnu::cold]] void throw_too_large(Block block, Block::Shape max);

/// Takes the blocks of a sampler and gives them to the worker of a kernel. `Words`: the Thread of
/// SubwordRows, EncodedRows or NoSubwordRows, which finds the rows of input words. `Checks`:
/// BlockChecks or NoBlockChecks.
template <class Worker, class Words = NoSubwordRows::Thread, class Checks = NoBlockChecks>
class UpdateSink {
  static constexpr bool has_subwords = !std::is_same_v<Words, NoSubwordRows::Thread>;
  static constexpr bool has_minibatches = requires { Words::trains_encoder; };
  static constexpr bool is_checked = std::is_same_v<Checks, BlockChecks>;
  static constexpr bool trains_in_turn = TrainsInTurn<Worker> && !has_subwords;

 public:
  float learning_rate;
  bool with_loss = true;
  WorkDone done;

  UpdateSink(Model& model, Worker& worker, Block::Shape max, double rate, const WorkDone& before,
             const PrivateRows::Thread& own = {}, Words words = {}, Checks checks = {})
      : learning_rate(static_cast<float>(rate)),
        done(before),
        model_(model),
        worker_(worker),
        max_(max),
        own_(own),
        words_(std::move(words)),
        checks_(std::move(checks)),
        inputs_(has_subwords ? (std::max)(max.inputs, max.members) : 0) {
    if constexpr (MapsRows<Worker>)
      if (own) worker_.map_rows(own.maps());
  }

  void operator()(const Block& block) {
    if constexpr (is_checked) checks_(block);
    if (block.input_count() > max_.inputs || block.outputs.size() > max_.outputs ||
        (block.has_bags() && block.inputs.size() > max_.members))
      throw_too_large(block, max_);
    if (!trains_in_turn && block.in_turn)
      train_inputs(block);
    else
      train(block);
  }

  /// Tells which side the blocks change that follow, in training by columns.
  void begin_step([[maybe_unused]] Block::Sides step) noexcept {
    if constexpr (is_checked) checks_.begin_step(step);
  }

  /// Ends the update in progress. Must be called after the last block, and before `with_loss`
  /// changes.
  [[gnu::always_inline]] void end_update() {
    if constexpr (UpdatesInHalves<Worker>) {
      if (with_loss)
        done.loss += LossSum(worker_.template apply<true>(model_));
      else
        worker_.template apply<false>(model_);
    }
  }

  /// Ends the updates of some sentences, so that the model has all of them.
  void end_sentences() {
    end_update();
    if constexpr (has_subwords && !has_minibatches) words_.flush();
  }

  /// Tells which words come next, which must outlive the blocks that follow.
  void begin_words([[maybe_unused]] std::span<const WordId> words) {
    if constexpr (has_minibatches) words_.read_ahead(words);
  }
  /// Ends the minibatch of an encoder that is trained end to end.
  void end_minibatch() {
    if constexpr (has_minibatches) {
      if (!words_.is_used()) return;
      end_update();
      flush_worker(worker_, model_, learning_rate);
      words_.flush(learning_rate);
    }
  }

  [[gnu::always_inline]] void prefetch(std::span<const RowId> inputs,
                                       std::span<const RowId> outputs) {
    if constexpr (is_checked) checks_.check_announced(inputs, outputs);
    if constexpr (has_subwords) {
      if (words_.is_used()) {
        for (const WordId word : inputs)
          for (const RowId row : words_.rows_ahead(word)) model_.input.prefetch(row);
        inputs = {};
      }
    }
    if constexpr (requires { worker_.prefetch(model_, inputs, outputs); }) {
      worker_.prefetch(model_, inputs, outputs);
    } else {
      const RowMaps& maps = own_.maps();
      for (const RowId id : inputs) model_.input.prefetch(maps.input(id));
      for (const RowId id : outputs) model_.output.prefetch(maps.output(id));
    }
  }

 private:
  [[gnu::always_inline]] void train(const Block& block) {
    end_update();
    if (own_) own_.count(block.input_count() * block.outputs.size(), learning_rate);
    if constexpr (has_subwords) {
      if (!words_.is_used()) return update(block);
      if constexpr (has_minibatches)
        if (!words_.has_room_for(block.inputs)) end_minibatch();
      Block composed = block;
      composed.inputs = words_.map(block.inputs, inputs_.data());
      update(composed);
      if constexpr (has_minibatches && LeavesInputs<Worker>)
        if (worker_.ended_batch()) words_.flush(learning_rate);
    } else {
      update(block);
    }
  }

  /// Trains the inputs of a block one after the other, for a worker that does not.
  [[gnu::noinline]] void train_inputs(Block block) {
    const std::span<const RowId> inputs = block.inputs;
    block.in_turn = false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      block.inputs = inputs.subspan(i, 1);
      train(block);
      block.examples = 0;  // all are counted with the first
    }
  }

  [[gnu::always_inline]] void update(const Block& block) {
    if (with_loss) {
      done.examples += block.examples;
      ++done.blocks;
    }
    if constexpr (UpdatesInHalves<Worker>) {
      worker_.score(model_, block, learning_rate);
    } else if (with_loss) {
      done.loss += LossSum(worker_.template update<true>(model_, block, learning_rate));
    } else {
      worker_.template update<false>(model_, block, learning_rate);
    }
  }

  Model& model_;
  Worker& worker_;
  Block::Shape max_;
  PrivateRows::Thread own_;
  [[no_unique_address]] Words words_;
  [[no_unique_address]] Checks checks_;
  std::vector<RowId> inputs_;  // of a block, if words are composed
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void throw_too_large(Block block, Block::Shape max) {
  const auto shape = [](std::size_t inputs, std::size_t outputs, std::size_t members) {
    return joined({inputs, " x ", outputs,
                   (members == 0 ? "" : " with " + std::to_string(members) + " members of bags")});
  };
  throw InvalidArgument{
      "the sampler made a block of ",
      shape(block.input_count(), block.outputs.size(), block.has_bags() ? block.inputs.size() : 0),
      ", more than its max_block() of ", shape(max.inputs, max.outputs, max.members)};
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
