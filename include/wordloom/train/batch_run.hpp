#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include <wordloom/core/types.hpp>
#include <wordloom/corpus/sentence_batch.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/train/checkpoint.hpp>
#include <wordloom/train/checkpointer.hpp>
#include <wordloom/train/run_state.hpp>

namespace wordloom::detail {

/// Feeds a kernel that takes batches of sentences, two of which are under way at a time, and keeps
/// account of where it is; a place of RankRun.
template <class Kernel>
class BatchRun {
 public:
  /// `batch_words`: the size of a batch, about; `longest`: longer sentences are cut; `start`: where
  /// this rank begins.
  BatchRun(Kernel& kernel, Model& model, RunState& state, Checkpointer* checkpointer,
           std::size_t batch_words, std::size_t longest, const Checkpoint::Rank& start,
           std::size_t rank)
      : kernel_(kernel),
        replica_(kernel.replica()),
        model_(model),
        state_(state),
        checkpointer_(checkpointer),
        batch_words_(batch_words),
        longest_(longest),
        first_stream_(std::uint64_t{rank} << 40),
        start_(start.threads[0]),
        begun_(start.tokens) {}

  auto& replica() noexcept { return replica_; }
  void arrive() {
    while (!unfinished_.empty()) end_one();
    if (checkpointer_ != nullptr)
      checkpointer_->stands(0, {.epoch = epoch_, .sentences = sentences_});
  }
  Model& model() {
    kernel_.finish(model_);
    return model_;
  }

  /// Words that have been given to the kernel.
  std::uint64_t begun() const noexcept { return begun_; }
  std::size_t first_epoch() const noexcept { return start_.epoch; }

  /// Trains an epoch of `sentences`. `rate(words)`: the learning rate after so many words have been
  /// begun; after each batch `after()`.
  template <class Sentences, class Rate, class After>
  void train(const Sentences& sentences, std::size_t epoch, Rate rate, After after) {
    epoch_ = epoch;
    batch_.index = 0;
    sentences_ = 0;
    const auto next = [&] {
      if (train_one(rate)) after();
    };
    if (is_known_ && kernel_.keeps(sizes_.size() - 1)) {
      while (batch_.index < sizes_.size() && !state_.stopped()) next();
    } else {
      for (const std::span<const WordId> sentence : sentences) {
        if (state_.stopped()) break;
        batch_.add(sentence, longest_);
        if (batch_.words.size() >= batch_words_) next();
      }
      if (!batch_.words.empty() && !state_.stopped()) next();
      is_known_ = !state_.stopped();
    }
    batch_.clear();
    arrive();
  }

 private:
  struct Size {
    std::uint64_t words, sentences;
  };
  struct Unfinished {
    std::uint64_t words;
    double rate;
  };

  /// False for what a checkpoint has: it is not trained again.
  template <class Rate>
  bool train_one(Rate rate) {
    if (batch_.index == sizes_.size()) sizes_.push_back({batch_.words.size(), batch_.ends.size()});
    const auto [words, sentences] = sizes_[batch_.index];
    const bool is_new = epoch_ != start_.epoch || sentences_ >= start_.sentences;
    if (is_new) {
      const double first_rate = rate(begun_);
      begun_ += words;
      batch_.first_sentence = first_stream_ + sentences_;
      kernel_.begin(batch_, epoch_, first_rate, rate(begun_));
      unfinished_.push_back({words, first_rate});
      if (unfinished_.size() == 2) end_one();
    }
    sentences_ += sentences;
    ++batch_.index;
    batch_.clear();
    return is_new;
  }

  void end_one() {
    const auto trained = kernel_.end();
    const auto [words, rate] = unfinished_.front();
    unfinished_.pop_front();
    state_.report({words, static_cast<std::uint64_t>(trained.positives), LossSum(trained.loss)},
                  epoch_, rate);
  }

  Kernel& kernel_;
  typename Kernel::Replica replica_;
  Model& model_;
  RunState& state_;
  Checkpointer* checkpointer_;
  std::size_t batch_words_, longest_;
  std::uint64_t first_stream_;  // of random numbers: other ranks draw others
  const Checkpoint::Thread start_;
  std::uint64_t begun_;
  std::size_t epoch_ = 0;
  std::uint64_t sentences_ = 0;  // of the epoch, that have been begun
  SentenceBatch batch_;
  std::vector<Size> sizes_;  // of each batch of an epoch
  bool is_known_ = false;    // all of them
  std::deque<Unfinished> unfinished_;
};

}  // namespace wordloom::detail
