#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

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
#include <wordloom/train/update_sink.hpp>

namespace wordloom::detail {

/// The model of kernels on the host, as RunControl takes it.
struct HostPlace {
  Model& host_model;
  Model& replica() const noexcept { return host_model; }
  void arrive() const noexcept {}
  Model& model() const noexcept { return host_model; }
};

/// Training by threads of the host: each takes its shard of the corpus, subsamples each sentence,
/// lets the sampler make blocks of it and the kernel apply their gradients to the one model.
template <class Corpus, class Samplers, class Kernels, class Sync, class Schedule>
class ThreadLoop {
 public:
  /// `samplers`, `kernels`: the runs whose workers threads train with.
  ThreadLoop(const Corpus& corpus, const Samplers& samplers, const Kernels& kernels, Model& model,
             const Run<Sync, Schedule>& run)
      : corpus_(corpus),
        samplers_(samplers),
        kernels_(kernels),
        model_(model),
        run_(run),
        place_{model},
        control_(run, place_),
        subsampling_(model.vocabulary, run.parameters.subsample),
        threads_(run.start.threads.size()),
        interval_(report_interval(run.tokens_per_epoch * run.parameters.epochs / threads_)),
        // Synchronisations may be due more often than anything is reported.
        tick_interval_(std::max<std::uint64_t>(1, run.tick_interval / threads_)) {}

  void train() {
    const double progress = run_.state.fraction();
    control_.begin(run_.state.fraction(run_.start.threads[0].tokens * threads_));
    run_threads(threads_, [&](std::size_t thread) {
      try {
        train_thread(thread, progress);
      } catch (...) {
        run_.state.stop();
        throw;
      }
    });
    control_.end();
  }

 private:
  /// Tokens between two looks at the learning rate and the clock: rare enough to cost nothing,
  /// frequent enough that the rate falls smoothly on a small corpus.
  static std::uint64_t report_interval(std::uint64_t tokens_of_thread) {
    return std::clamp<std::uint64_t>(tokens_of_thread / 1000, 100, 10'000);
  }

  void train_thread(std::size_t thread, double progress) {
    const std::size_t stream = run_.sync.rank() * threads_ + thread;
    const std::size_t streams = run_.sync.size() * threads_;
    auto sampler = worker_of(samplers_);
    const BlockShape max = sampler.max_block();
    auto kernel = kernels_.worker(std::as_const(model_), max);
    const Checkpoint::Thread start = run_.start.threads[thread];
    std::vector<WordId> kept;
    std::uint64_t ticked = start.tokens;  // of those not reported
    double rate = run_.schedule.rate(progress);
    UpdateSink<decltype(kernel)> sink{model_, kernel,
                                      max,    static_cast<float>(rate),
                                      true,   {start.tokens, start.examples, LossSum(start.loss)}};

    for (std::size_t epoch = start.epoch; epoch < run_.parameters.epochs; ++epoch) {
      Random random(run_.parameters.seed, stream, epoch);
      std::uint64_t sentences = 0, skipped = 0;
      if (epoch == start.epoch) {
        random = Random::from_state(start.random_state, start.random_gamma);
        skipped = start.sentences;
      }
      const auto set_position = [&] {
        if (run_.checkpointer == nullptr) return;
        const WorkDone& done = sink.done;
        run_.checkpointer->set_position(thread, {epoch, sentences, random.state(), random.gamma(),
                                                 done.tokens, done.examples, done.loss.value()});
      };
      const auto report = [&] {
        const double now = run_.state.report(std::exchange(sink.done, {}), epoch, rate);
        rate = run_.schedule.rate(now);
        sink.learning_rate = static_cast<float>(rate);
        set_position();
        ticked = 0;
        if (thread == 0) control_.tick(now);
      };
      for (const std::span<const WordId> sentence :
           corpus_.sentences(Shard{stream, streams, epoch, run_.parameters.seed})) {
        if (sentences < skipped) {
          ++sentences;
          continue;
        }
        if (run_.state.stopped()) return set_position();
        sink.with_loss = sink.done.tokens <= interval_ / 16;  // a tenth of a block's time
        sampler.sample(subsampling_(sentence, random, kept), random, sink);
        sink.finish();
        sink.done.tokens += sentence.size();
        ++sentences;
        if (sink.done.tokens >= interval_) {
          report();
        } else if (thread == 0 && sink.done.tokens - ticked >= tick_interval_) {
          set_position();
          ticked = sink.done.tokens;
          control_.tick(run_.state.fraction(sink.done.tokens * threads_));
        }
      }
      report();
    }
  }

  const Corpus& corpus_;
  const Samplers& samplers_;
  const Kernels& kernels_;
  Model& model_;
  const Run<Sync, Schedule>& run_;
  HostPlace place_;
  RunControl<Sync, Schedule, HostPlace> control_;
  Subsampling subsampling_;
  std::size_t threads_;
  std::uint64_t interval_, tick_interval_;  // tokens of a thread
};

}  // namespace wordloom::detail
