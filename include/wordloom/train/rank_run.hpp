#pragma once
#include <type_traits>
#include <utility>

#include <wordloom/model/model.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/train/checkpoint.hpp>
#include <wordloom/train/checkpointer.hpp>
#include <wordloom/train/rank_checkpoints.hpp>
#include <wordloom/train/run_state.hpp>

namespace wordloom::detail {

/// The model of kernels on the host, as RankRun wants it.
class HostPlace {
 public:
  explicit HostPlace(Model& model) : model_(model) {}
  /// What a SyncPolicy keeps alike.
  Model& replica() const noexcept { return model_; }
  /// All that has been begun is done and reported.
  void arrive() const noexcept {}
  /// As it is now.
  Model& model() const noexcept { return model_; }

 private:
  Model& model_;
};

/// What the trainer of one rank does between two sentences: synchronises, and writes checkpoints
/// when it is time. One thread at a time. `Place`: HostPlace or the like.
template <class Sync, class Place>
class RankRun {
  static constexpr bool pauses =
      Pauses<Sync, std::remove_cvref_t<decltype(std::declval<Place&>().replica())>>;

 public:
  /// `checkpointer` is null where there are no checkpoints.
  RankRun(Sync& sync, RunState& state, Checkpointer* checkpointer, Place& place)
      : sync_(sync), state_(state), checkpointer_(checkpointer), place_(place) {
    if (pauses && sync_.size() > 1) state_.stop_by_agreement();
  }

  void tick(double progress) {
    const bool is_due = checkpointer_ != nullptr && checkpointer_->is_due();
    if (sync_.size() == 1) {
      sync_.tick(place_.replica(), progress);
      if (is_due) {
        place_.arrive();
        checkpointer_->begin(place_.model(), {checkpointer_->own(state_)}, 0);
      }
      return;
    }
    if constexpr (pauses)
      if (state_.asked_to_stop() || (is_due && sync_.rank() == 0))
        sync_.ask_for_pause(state_.asked_to_stop());
    go_on(progress);
  }
  /// Where a checkpoint may have been made: more than one synchronisation may have been due then.
  void go_on(double progress) {
    sync_.tick(place_.replica(), progress);
    while (pause()) sync_.tick(place_.replica(), progress);
  }

  /// After all threads have returned.
  void end() {
    if (sync_.size() == 1) {
      if (checkpointer_ != nullptr && state_.stopped()) {
        place_.arrive();
        checkpointer_->finish(place_.model(), state_);
      }
    } else if constexpr (pauses) {
      sync_.wait(place_.replica());
      pause();
    }
    if (checkpointer_ != nullptr) checkpointer_->wait();
  }

 private:
  /// What ranks do where all stand alike; false when they do not, or stop there.
  bool pause() {
    if constexpr (pauses) {
      if (!sync_.paused()) return false;
      save();
      if (sync_.stopping()) state_.stop();
      return !sync_.stopping();
    } else {
      return false;
    }
  }

  /// Makes all rows agree; rank 0 writes where all ranks are, where there are checkpoints.
  void save() {
    place_.arrive();
    Checkpoint::Rank own;  // before what other threads go on with
    if (checkpointer_ != nullptr) own = checkpointer_->own(state_);
    sync_.settle(place_.replica());
    if (checkpointer_ == nullptr) return;
    auto ranks = gather_ranks(sync_, own);
    if (sync_.rank() == 0)
      checkpointer_->begin(place_.model(), std::move(ranks), sync_.synchronisations());
  }

  Sync& sync_;
  RunState& state_;
  Checkpointer* checkpointer_;
  Place& place_;
};

}  // namespace wordloom::detail
