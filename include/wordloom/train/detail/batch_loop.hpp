#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/detail/sentence_batch.hpp>
#include <wordloom/train/detail/batch_feed.hpp>
#include <wordloom/train/detail/step_loop.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Returns the longest piece of a sentence in a batch: long ones are cut, by the size of the corpus
/// alone, so that many are trained at the same time.
inline std::size_t longest_piece(std::uint64_t tokens_per_epoch) {
  return std::clamp<std::uint64_t>(tokens_per_epoch / 65'536, 100, 1000);
}

/// Training by a kernel on a device, which takes batches of sentences, two of which are in flight
/// at a time. If every epoch has the same sentences, the device may keep its batches.
template <class Corpus, class Kernel, class Run>
class BatchLoop : StepLoop<Kernel, Run> {
  using Base = StepLoop<Kernel, Run>;
  using Base::engine_, Base::run_, Base::at_;

 public:
  BatchLoop(const Corpus& corpus, Kernel& kernel, Run& run)
      : Base(kernel, run, 2), corpus_(corpus), submitted_(run.start.tokens) {}

  void train() {
    if constexpr (requires { engine_.set_ranks(run_.sync.size()); })
      engine_.set_ranks(run_.sync.size());
    run_.synchronise(progress());
    while (this->goes_on()) train_epoch();
    if constexpr (requires { engine_.sentences_in_flight(); })
      run_.state.set_in_flight(engine_.sentences_in_flight());
    run_.end();
    run_.download();
  }

 private:
  struct Size {
    std::uint64_t words, sentences;
  };

  double progress() const {
    const double total =
        static_cast<double>(run_.tokens_per_epoch) * static_cast<double>(run_.parameters.epochs);
    return (std::min)(1.0, static_cast<double>(submitted_) / total);
  }

  void train_epoch() {
    passed_ = 0;
    batch_.index = 0;
    batch_.keep = repeats(corpus_);
    if (!batch_.keep) sizes_.clear();
    if (batch_.keep && is_known_ && engine_.keeps(sizes_.size() - 1)) {
      while (batch_.index < sizes_.size() && !run_.state.stopped()) next();
    } else {
      BatchFeed feed(corpus_, {run_.sync.rank(), run_.sync.size(), at_.epoch, run_.parameters.seed},
                     run_.tokens_per_epoch, batch_words_, longest_piece(run_.tokens_per_epoch),
                     run_.parameters.threads, [this] { return run_.state.stopped(); });
      while (feed.next(batch_)) next();
      contexts_ = contexts_ || feed.has_contexts();
      is_known_ = !run_.state.stopped();
    }
    batch_.clear();
    if constexpr (requires { engine_.flush(); }) engine_.flush();
    this->end_epoch(contexts_);
  }

  /// Trains the current batch, unless it is in the checkpoint that this run resumes.
  void next() {
    if (batch_.index == sizes_.size()) sizes_.push_back({batch_.word_count(), batch_.ends.size()});
    const auto [words, sentences] = sizes_[batch_.index];
    // A run of other ranks may be resumed within a batch, which is trained if half of it is left.
    const bool is_new = passed_ + sentences / 2 >= at_.sentences;
    if (is_new) {
      const double first_rate = run_.schedule.rate(progress());
      submitted_ += words;
      batch_.first_sentence = first_stream_ + passed_;
      engine_.submit(batch_, at_.epoch, first_rate, run_.schedule.rate(progress()));
      this->submitted(words, first_rate);
      at_.sentences = passed_ + sentences;
    }
    passed_ += sentences;
    ++batch_.index;
    batch_.clear();
    if (is_new) this->end_step(progress());
  }

  const Corpus& corpus_;
  std::uint64_t submitted_;  // words
  const std::size_t batch_words_ =
      std::clamp<std::size_t>(run_.tick_interval, 1, engine_.batch_words());
  // The first stream of random numbers: each rank has its own.
  const std::uint64_t first_stream_ = std::uint64_t{run_.sync.rank()} << 40;
  std::uint64_t passed_ = 0;  // sentences of the epoch, also those of the checkpoint
  SentenceBatch batch_;
  std::vector<Size> sizes_;  // of each batch of an epoch
  bool is_known_ = false;    // true if all are known
  bool contexts_ = false;    // true if a word has a context
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
