#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/types.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/detail/nothing_to_train.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/train/detail/checkpoint.hpp>
#include <wordloom/train/detail/run.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Training by a kernel on a device, which takes batches of sentences, two of which are in flight
/// at a time. If every epoch has the same sentences, the device may keep its batches.
template <class Corpus, class Kernel, class Run>
class BatchLoop {
 public:
  BatchLoop(const Corpus& corpus, Kernel& kernel, Run& run)
      : corpus_(corpus),
        kernel_(kernel),
        run_(run),
        start_(run.start.threads[0]),
        submitted_(run.start.tokens) {}

  void train() {
    run_.arrive = [this] { arrive(); };
    run_.download = [this] { kernel_.download(run_.model); };
    run_.synchronise(progress(submitted_));
    for (std::size_t epoch = start_.epoch; epoch < run_.parameters.epochs && !run_.state.stopped();
         ++epoch)
      train_epoch(epoch);
    run_.end();
    run_.download();
  }

 private:
  struct Size {
    std::uint64_t words, sentences;
  };

  double progress(std::uint64_t words) const {
    const double total =
        static_cast<double>(run_.tokens_per_epoch) * static_cast<double>(run_.parameters.epochs);
    return std::min(1.0, static_cast<double>(words) / total);
  }

  void arrive() {
    while (!in_flight_.empty()) wait_for_one();
    run_.state.set_position(0, {.epoch = epoch_, .sentences = sentences_});
  }

  void train_epoch(std::size_t epoch) {
    epoch_ = epoch;
    sentences_ = 0;
    batch_.index = 0;
    batch_.keep = repeats(corpus_);
    if (!batch_.keep) sizes_.clear();
    if (batch_.keep && is_known_ && kernel_.keeps(sizes_.size() - 1)) {
      while (batch_.index < sizes_.size() && !run_.state.stopped()) next();
    } else {
      for (const std::span<const WordId> sentence : corpus_.sentences(
               Shard{run_.sync.rank(), run_.sync.size(), epoch, run_.parameters.seed})) {
        if (run_.state.stopped()) break;
        contexts_ = contexts_ || has_contexts(sentence);
        batch_.add(sentence, max_sentence_);
        if (batch_.words.size() >= batch_words_) next();
      }
      if (!batch_.words.empty() && !run_.state.stopped()) next();
      is_known_ = !run_.state.stopped();
      if (is_known_ && !contexts_ && run_.sync.size() == 1) throw NothingTrained();
    }
    batch_.clear();
    if constexpr (requires { kernel_.finish(); }) kernel_.finish();
    arrive();
    if (!run_.options.callbacks.has_epochs() || run_.state.stopped()) return;
    run_.download();
    run_.state.end_epoch(0, epoch, run_.model);
  }

  /// Trains the current batch, unless it is in the checkpoint that this run resumes.
  void next() {
    if (batch_.index == sizes_.size()) sizes_.push_back({batch_.words.size(), batch_.ends.size()});
    const auto [words, sentences] = sizes_[batch_.index];
    const bool is_new = epoch_ != start_.epoch || sentences_ >= start_.sentences;
    if (is_new) {
      const double first_rate = run_.schedule.rate(progress(submitted_));
      submitted_ += words;
      batch_.first_sentence = first_stream_ + sentences_;
      kernel_.submit(batch_, epoch_, first_rate, run_.schedule.rate(progress(submitted_)));
      in_flight_.push_back({words, first_rate});
      if (in_flight_.size() == 2) wait_for_one();
    }
    sentences_ += sentences;
    ++batch_.index;
    batch_.clear();
    if (is_new) run_.tick(progress(submitted_));
    if (!run_.state.is_due()) return;
    arrive();
    run_.download();
    run_.state.pause(run_.model);
  }

  void wait_for_one() {
    const auto trained = kernel_.wait();
    const auto [words, rate] = in_flight_.front();
    in_flight_.pop_front();
    run_.state.report({words, static_cast<std::uint64_t>(trained.examples), LossSum(trained.loss)},
                      epoch_, rate, run_.model);
  }

  const Corpus& corpus_;
  Kernel& kernel_;
  Run& run_;
  const Checkpoint::Thread start_;
  std::uint64_t submitted_;  // words
  const std::size_t batch_words_ =
      std::clamp<std::size_t>(run_.tick_interval, 1, kernel_.batch_words());
  // Long sentences are cut, by the size of the corpus alone, so that many are trained at the same
  // time.
  const std::size_t max_sentence_ =
      std::clamp<std::uint64_t>(run_.tokens_per_epoch / 65'536, 100, 1000);
  // The first stream of random numbers: each rank has its own.
  const std::uint64_t first_stream_ = std::uint64_t{run_.sync.rank()} << 40;
  std::size_t epoch_ = 0;
  std::uint64_t sentences_ = 0;  // of the epoch, submitted so far
  SentenceBatch batch_;
  std::vector<Size> sizes_;                                 // of each batch of an epoch
  bool is_known_ = false;                                   // true if all are known
  bool contexts_ = false;                                   // true if a word has a context
  std::deque<std::pair<std::uint64_t, double>> in_flight_;  // words and learning rate
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
