#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/parallel.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/sampler/detail/column_parts.hpp>
#include <wordloom/train/detail/column_loop.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// ColumnLoop with a kernel on a device: each column of the corpus in two steps, two columns in
/// flight at a time. The device finds the contexts itself if the corpus has an index of them, else
/// it is given them. Several ranks train and share their parts as in ColumnLoop.
template <class Corpus, class Kernel, class Run>
class DeviceColumnLoop {
 public:
  DeviceColumnLoop(const Corpus& corpus, Kernel& kernel, Run& run)
      : corpus_(corpus),
        kernel_(kernel),
        run_(run),
        words_(corpus.words()),
        parts_{words_.size()},
        own_(part_of(parts_.count(), run.sync.rank(), run.sync.size())),
        own_words_(parts_.first_word(own_.second) - parts_.first_word(own_.first)),
        at_(run.start.threads[0], corpus.columns(), run.parameters.epochs) {}

  void train() {
    run_.arrive = [this] { arrive(); };
    run_.download = [this] { kernel_.download(run_.model); };
    kernel_.set_words(words_, own_);
    if constexpr (requires { *corpus_.lists(); })
      if (corpus_.lists() != nullptr) kernel_.set_contexts(*corpus_.lists());
    run_.synchronise(at_.progress());
    end_epoch();
    while (!at_.ends_run() && !run_.state.stopped()) next();
    arrive();
    run_.end();
    run_.download();
  }

 private:
  struct InFlight {
    std::size_t epoch;
    double rate;
  };

  void next() {
    const double rate = run_.schedule.rate(at_.progress());
    if (!kernel_.finds_contexts()) {
      contexts_.resize(words_.size());
      const std::size_t first = parts_.first_word(own_.first);
      corpus_.contexts(at_.number(), first, std::span(contexts_).subspan(first, own_words_));
    }
    kernel_.begin(at_.number(), at_.column, contexts_);
    for (const Sides step : {Sides::inputs, Sides::outputs}) {
      kernel_.train(step, rate);
      share_step(run_, step, words_, parts_, own_);
    }
    kernel_.end();
    in_flight_.push_back({at_.epoch, rate});
    if (in_flight_.size() == 2) wait_for_one();
    ++at_.column;
    run_.tick(at_.progress());
    if (run_.state.is_due()) {
      arrive();
      run_.download();
      run_.state.pause(run_.model);
    }
    end_epoch();
  }

  void arrive() {
    while (!in_flight_.empty()) wait_for_one();
    run_.state.set_position(0, at_.position());
  }

  void wait_for_one() {
    const auto trained = kernel_.wait();
    const auto [epoch, rate] = in_flight_.front();
    in_flight_.pop_front();
    run_.state.report(
        {own_words_, static_cast<std::uint64_t>(trained.examples), LossSum(trained.loss)}, epoch,
        rate, run_.model);
  }

  /// Ends the epoch after its last column.
  void end_epoch() {
    if (!at_.ends_epoch() || run_.state.stopped()) return;
    arrive();
    if (run_.options.callbacks.has_epochs() && !run_.state.stopped()) {
      run_.download();
      run_.state.end_epoch(0, at_.epoch, run_.model);
    }
    at_.begin_next_epoch();
  }

  const Corpus& corpus_;
  Kernel& kernel_;
  Run& run_;
  const std::span<const WordId> words_;
  const ColumnParts parts_;
  const std::pair<std::size_t, std::size_t> own_;  // parts of this rank
  const std::uint64_t own_words_;
  ColumnPosition at_;
  std::vector<WordId> contexts_;  // [words] of a column, if the device does not find them
  std::deque<InFlight> in_flight_;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
