#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/detail/processors.hpp>
#include <wordloom/core/detail/spinning_barrier.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/kernel/fused_one_side.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/optimizer/concept.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/detail/column_parts.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/train/detail/checkpoint.hpp>
#include <wordloom/train/detail/encoder_rounds.hpp>
#include <wordloom/train/detail/run.hpp>
#include <wordloom/train/detail/thread_loop.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// A corpus with columns, such as WordContextMatrix.
template <class C>
concept HasColumns = requires(const C& corpus, std::span<WordId> to) {
  { corpus.words() } -> std::convertible_to<std::span<const WordId>>;
  { corpus.columns() } -> std::convertible_to<std::size_t>;
  corpus.contexts(std::uint64_t{0}, std::size_t{0}, to);
  corpus.contexts(std::uint64_t{0}, std::size_t{0}, std::size_t{1}, to);
};

/// Exchanges, after a step of a column, the rows that each rank has trained in its parts.
template <class Run>
void share_step([[maybe_unused]] Run& run, [[maybe_unused]] Sides step,
                [[maybe_unused]] std::span<const WordId> words,
                [[maybe_unused]] const ColumnParts& parts,
                [[maybe_unused]] const std::pair<std::size_t, std::size_t>& own) {
  if constexpr (shares_rows<decltype(run.sync)>) {
    if (run.sync.size() == 1) return;
    const Side side = step == Sides::inputs ? Side::input : Side::output;
    const RowMatrix& matrix = side == Side::input ? run.model.input : run.model.output;
    const auto row = [&](std::size_t part) -> std::size_t {
      return part == 0 ? 0 : part == parts.count() ? matrix.rows() : words[parts.first_word(part)];
    };
    run.sync.share_rows(run.replica, side, row(own.first), row(own.second));
  }
}

/// The place of a run in the columns of its epochs.
struct ColumnPosition {
  std::size_t epoch, column;    // the next column, of an epoch
  std::size_t columns, epochs;  // of an epoch; of the run

  ColumnPosition(const Checkpoint::Thread& start, std::size_t of_epoch, std::size_t of_run)
      : epoch(start.epoch), column(start.sentences), columns(of_epoch), epochs(of_run) {}

  /// Returns the number of the next column, over all epochs.
  std::uint64_t number() const noexcept {
    return static_cast<std::uint64_t>(epoch) * columns + column;
  }
  /// Returns the fraction of the run that is done, 0 to 1.
  double progress() const noexcept {
    return static_cast<double>(number()) /
           (static_cast<double>(epochs) * static_cast<double>(columns));
  }
  Checkpoint::Thread position() const { return {.epoch = epoch, .sentences = column}; }
  bool ends_epoch() const noexcept { return column == columns; }
  bool ends_run() const noexcept { return epoch == epochs; }
  void begin_next_epoch() noexcept {
    ++epoch;
    column = 0;
  }
};

/// Training column by column, each in two steps (see UniformMatrix). The words of a column are cut
/// into parts, which threads take in turn; they wait for each other after each step. A part draws
/// its random numbers from a stream of its own and no row changes twice in a step, so that any
/// number of threads gives the same bits. Between two steps one thread does all other work.
///
/// Each of several ranks trains its share of the parts, and the SyncPolicy gives changed rows to
/// all ranks (`share_rows`): any number of ranks gives the same bits, too.
template <class Corpus, class Samplers, class Kernels, class Run>
class ColumnLoop {
 public:
  ColumnLoop(const Corpus& corpus, const Samplers& samplers, const Kernels& kernels,
             EncoderRoundsOf<Samplers>& encoder, Run& run)
      : corpus_(corpus),
        samplers_(samplers),
        kernels_(kernels),
        encoder_(encoder),
        run_(run),
        words_(corpus.words()),
        parts_{words_.size()},
        own_parts_(part_of(parts_.count(), run.sync.rank(), run.sync.size())),
        own_words_(parts_.first_word(own_parts_.second) - parts_.first_word(own_parts_.first)),
        threads_(resolve_threads(run.parameters.threads)),
        at_(run.start.threads[0], corpus.columns(), run.parameters.epochs),
        start_(at_.number()),
        contexts_(columns_at_once * words_.size()),
        done_(threads_),
        barrier_(threads_) {}

  void train() {
    run_.synchronise(at_.progress());
    end_epoch();
    rate_ = run_.schedule.rate(at_.progress());
    ended_ = ended_ || run_.state.stopped();
    if (at_.number() == 0 || encoder_.end_to_end()) encoder_.begin();
    next_part_ = own_parts_.first;
    const auto processors = run_.parameters.pin_threads ? cores_first(allowed_processors())
                                                        : std::vector<std::size_t>();
    run_threads(threads_, [&](std::size_t thread) {
      const PinnedThread pinned(processors, thread);
      train_thread(thread);
    });
    if (failure_) {
      run_.state.stop();
      std::rethrow_exception(failure_);
    }
    run_.state.leave();
    // A checkpoint of a run that stops in the middle of a round has the rows of that round.
    const bool stopped = run_.state.stopped();
    if (stopped) run_.end();
    if (!ends_round()) encoder_.end_round(rate_);
    if (!stopped) run_.end();
  }

 private:
  static constexpr std::size_t part_words = ColumnParts::part_words;
  static constexpr std::size_t columns_at_once = 16;  // columns whose contexts are found together

  struct alignas(64) Done {
    std::uint64_t examples = 0;
    LossSum loss;
  };

  /// Returns whether a round of an encoder ended with the last column.
  bool ends_round() const { return at_.number() % encoder_.round() == 0; }

  /// Never throws, so that no thread waits for one that has ended: the first failure ends them all.
  void train_thread(std::size_t thread) {
    std::array<WordId, 2 * part_words> pairs;
    attempt([&] {
      auto sampler = worker_of(samplers_);
      const BlockShape max = sampler.max_block();
      auto kernel = one_side_worker_of(kernels_, std::as_const(run_.model), max);
      if (encoder_.end_to_end()) leave_inputs(kernel, 0, run_.model.input.rows());
      UpdateSink<decltype(kernel)> sink(run_.model, kernel, max, rate_, {});
      while (!ended_) {
        attempt([&] {
          sampler.begin_step(step_);
          sink.learning_rate = static_cast<float>(rate_);
          for (std::size_t part = 0; (part = next_part_++) < own_parts_.second;) {
            const std::size_t first = parts_.first_word(part);
            const std::size_t count = parts_.first_word(part + 1) - first;
            const auto contexts = contexts_of(first, count);
            for (std::size_t i = 0; i < count; ++i) {
              pairs[2 * i] = words_[first + i];
              pairs[2 * i + 1] = contexts[i];
            }
            Random random = ColumnParts::random(run_.parameters.seed, part, step_, at_.number());
            sink.with_loss = ColumnParts::has_loss(part, at_.column);
            sampler.sample(std::span<const WordId>(pairs).first(2 * count), random, sink);
            sink.finish();
          }
          finish_worker(kernel, run_.model, sink.learning_rate);
          const WorkDone done = std::exchange(sink.done, {});
          done_[thread].examples += done.examples;
          done_[thread].loss += done.loss;
        });
        meet(thread);
      }
    });
    // A thread that could not begin still takes part in the barriers.
    while (!ended_) meet(thread);
  }

  /// Returns the contexts of a part in this column. Those of several columns are found together:
  /// they are adjacent in the list of a word (WordContextLists).
  std::span<const WordId> contexts_of(std::size_t first, std::size_t count) {
    const std::uint64_t column = at_.number(), row = column % columns_at_once;
    const auto from_here = std::span(contexts_)
                               .subspan(columns_at_once * first, columns_at_once * count)
                               .subspan(row * count);
    if (step_ == Sides::inputs && (row == 0 || column == start_))
      corpus_.contexts(column, first, count, from_here);
    return from_here.first(count);
  }

  /// Waits for all threads, while thread 0 does the work between two steps.
  void meet(std::size_t thread) {
    barrier_.arrive_and_wait(thread, [&] {
      attempt([&] { end_step(); });
      if (failed_) ended_ = true;
      next_part_ = own_parts_.first;
    });
  }

  template <class Work>
  void attempt(Work work) noexcept {
    try {
      if (!failed_) work();
    } catch (...) {
      if (!failed_.exchange(true)) failure_ = std::current_exception();
    }
  }

  void end_step() {
    share_step(run_, step_, words_, parts_, own_parts_);
    if (step_ == Sides::inputs) {
      encoder_.end_inputs(rate_);
      step_ = Sides::outputs;
      return;
    }
    step_ = Sides::inputs;
    ++at_.column;
    WorkDone done;
    done.tokens = own_words_;
    for (Done& of_thread : done_) {
      done.examples += of_thread.examples;
      done.loss += of_thread.loss;
      of_thread = {};
    }
    run_.state.report(done, at_.epoch, rate_, run_.model);
    run_.state.set_position(0, at_.position());
    if (ends_round()) encoder_.end_round(rate_);
    if (run_.state.is_due()) run_.state.pause(run_.model);
    run_.tick(at_.progress());
    end_epoch();
    rate_ = run_.schedule.rate(at_.progress());
    ended_ = ended_ || run_.state.stopped();
  }

  /// Ends the epoch after its last column.
  void end_epoch() {
    if (!at_.ends_epoch() || run_.state.stopped()) return;
    run_.state.end_epoch(0, at_.epoch, run_.model);
    at_.begin_next_epoch();
    ended_ = at_.ends_run();
    if (!ended_) run_.state.set_position(0, at_.position());
  }

  const Corpus& corpus_;
  const Samplers& samplers_;
  const Kernels& kernels_;
  EncoderRoundsOf<Samplers>& encoder_;
  Run& run_;
  const std::span<const WordId> words_;
  const ColumnParts parts_;
  const std::pair<std::size_t, std::size_t> own_parts_;  // of this rank
  const std::uint64_t own_words_;
  const std::size_t threads_;
  // Written by one thread, between two steps.
  ColumnPosition at_;
  const std::uint64_t start_;  // the first column of this run, which may be resumed
  Sides step_ = Sides::inputs;
  double rate_ = 0;
  bool ended_ = false;
  // [columns_at_once x words of the part] for each part; both steps of a column use them.
  std::vector<WordId> contexts_;
  std::vector<Done> done_;  // [threads] work since the column began
  std::atomic<std::size_t> next_part_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
  SpinningBarrier barrier_;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
