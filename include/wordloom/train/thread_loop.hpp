#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/subsampling.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/train/checkpoint.hpp>
#include <wordloom/train/run.hpp>

namespace wordloom::inline WORDLOOM_ABI::detail {

[[noreturn]] inline void throw_too_large(const Block& block, BlockShape max) {
  const auto shape = [](std::size_t inputs, std::size_t outputs, std::size_t members) {
    return std::to_string(inputs) + " x " + std::to_string(outputs) +
           (members == 0 ? "" : " with " + std::to_string(members) + " members of bags");
  };
  throw InvalidArgument(
      "the sampler made a block of " +
      shape(block.input_count(), block.outputs.size(), block.has_bags() ? block.inputs.size() : 0) +
      ", more than its max_block() of " + shape(max.inputs, max.outputs, max.members));
}

/// Takes the blocks of a sampler and gives them to the worker of a kernel.
template <class Worker>
struct UpdateSink {
  Model& model;
  Worker& worker;
  BlockShape max;
  float learning_rate;
  bool with_loss;
  WorkDone done;

  void operator()(const Block& block) {
    if (block.input_count() > max.inputs || block.outputs.size() > max.outputs ||
        (block.has_bags() && block.inputs.size() > max.members))
      throw_too_large(block, max);
    if (with_loss) done.examples += block.examples;
    if constexpr (UpdatesInHalves<Worker>) {
      finish();
      worker.score(model, block, learning_rate);
    } else if (with_loss) {
      done.loss += LossSum(worker.template update<true>(model, block, learning_rate));
    } else {
      worker.template update<false>(model, block, learning_rate);
    }
  }

  /// Ends the update in progress: after the last block, and before `with_loss` changes.
  void finish() {
    if constexpr (UpdatesInHalves<Worker>) {
      if (with_loss)
        done.loss += LossSum(worker.template apply<true>(model));
      else
        worker.template apply<false>(model);
    }
  }

  [[gnu::always_inline]] void prefetch(std::span<const RowId> inputs,
                                       std::span<const RowId> outputs) {
    if constexpr (requires { worker.prefetch(model, inputs, outputs); })
      return worker.prefetch(model, inputs, outputs);
    for (const RowId id : inputs) model.input.prefetch(id);
    for (const RowId id : outputs) model.output.prefetch(id);
  }
};

/// Trains by threads of the host: each takes its shard of the corpus, subsamples each sentence,
/// lets the sampler make blocks of it and the kernel apply their gradients to the one model.
/// `samplers`, `kernels`: the runs whose workers threads train with.
template <class Corpus, class Samplers, class Kernels, class Run>
void train_by_threads(const Corpus& corpus, const Samplers& samplers, const Kernels& kernels,
                      Run& run) {
  Model& model = run.model;
  const Hyperparameters& parameters = run.parameters;
  const std::size_t threads = run.start.threads.size();
  const Subsampling subsampling(model.vocabulary, parameters.subsample);
  // Tokens of a thread between two looks at the learning rate and the clock: rare enough to cost
  // nothing, frequent enough that the rate falls smoothly on a small corpus.
  const std::uint64_t interval = std::clamp<std::uint64_t>(
      run.tokens_per_epoch * parameters.epochs / threads / 1000, 100, 10'000);
  // Synchronisations may be due more often than anything is reported.
  const std::uint64_t tick_interval = std::max<std::uint64_t>(1, run.tick_interval / threads);
  const double first_rate = run.schedule.rate(run.state.fraction());

  const auto train_thread = [&](std::size_t thread) {
    const std::size_t stream = run.sync.rank() * threads + thread;
    const std::size_t streams = run.sync.size() * threads;
    auto sampler = worker_of(samplers);
    const BlockShape max = sampler.max_block();
    auto kernel = kernels.worker(std::as_const(model), max);
    const Checkpoint::Thread start = run.start.threads[thread];
    std::vector<WordId> kept;
    std::uint64_t ticked = start.tokens;  // of those not reported
    double rate = first_rate;
    UpdateSink<decltype(kernel)> sink{model, kernel,
                                      max,   static_cast<float>(rate),
                                      true,  {start.tokens, start.examples, LossSum(start.loss)}};

    for (std::size_t epoch = start.epoch; epoch < parameters.epochs; ++epoch) {
      run.state.begin_epoch(epoch, model);
      Random random(parameters.seed, stream, epoch);
      std::uint64_t sentences = 0, skipped = 0;
      if (epoch == start.epoch) {
        random = Random::from_state(start.random_state, start.random_gamma);
        skipped = start.sentences;
      }
      const auto set_position = [&] {
        const WorkDone& done = sink.done;
        run.state.set_position(thread, {epoch, sentences, random.state(), random.gamma(),
                                        done.tokens, done.examples, done.loss.value()});
      };
      const auto report = [&] {
        const double now = run.state.report(std::exchange(sink.done, {}), epoch, rate, model);
        rate = run.schedule.rate(now);
        sink.learning_rate = static_cast<float>(rate);
        set_position();
        ticked = 0;
        if (run.state.is_due()) run.state.pause(model);
        if (thread == 0) run.tick(now);
      };
      for (const std::span<const WordId> sentence :
           corpus.sentences(Shard{stream, streams, epoch, parameters.seed})) {
        if (sentences < skipped) {
          ++sentences;
          continue;
        }
        if (run.state.stopped()) return set_position();
        sink.with_loss = sink.done.tokens <= interval / 16;  // a tenth of a block's time
        sampler.sample(subsampling(sentence, random, kept), random, sink);
        sink.finish();
        sink.done.tokens += sentence.size();
        ++sentences;
        if (sink.done.tokens >= interval) {
          report();
        } else if (thread == 0 && sink.done.tokens - ticked >= tick_interval) {
          set_position();
          ticked = sink.done.tokens;
          run.tick(run.state.fraction(sink.done.tokens * threads));
        }
      }
      report();
      run.state.end_epoch(thread, epoch, model);
    }
    run.state.leave();
  };

  run.synchronise(run.state.fraction(run.start.threads[0].tokens * threads));
  run_threads(threads, [&](std::size_t thread) {
    try {
      train_thread(thread);
    } catch (...) {
      run.state.stop();
      throw;
    }
  });
  run.end();
}

}  // namespace wordloom::inline WORDLOOM_ABI::detail
