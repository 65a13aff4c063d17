#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/train/detail/host_strata.hpp>
#include <wordloom/train/detail/step_loop.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Returns the episodes of an epoch: see StratifiedPairs::episode.
inline std::uint64_t episodes_of(std::uint64_t tokens, std::size_t epochs, std::size_t words,
                                 std::uint64_t episode) {
  constexpr std::uint64_t words_each = 64, least = 16;
  if (episode == 0)
    episode = (std::min)(words_each * words, (std::max<std::uint64_t>)(1, tokens * epochs / least));
  return std::clamp<std::uint64_t>((tokens + episode - 1) / episode, 1, 1 << 20);
}

/// Training by strata, see StratifiedPairs. Rank n has the inputs of the n-th part of the strata,
/// and at the beginning of an episode the outputs of the same strata. In each step it passes those
/// of its first block on to the rank before once they are trained, and receives those of the last
/// block of the next step from the rank behind.
template <class Engine, class Samplers, class Run>
class StrataLoop : StepLoop<Engine, Run> {
  using Base = StepLoop<Engine, Run>;
  using Base::engine_, Base::run_, Base::at_;

 public:
  StrataLoop(Engine& engine, const Samplers& samplers, Run& run, std::uint64_t episodes)
      : Base(engine, run, 1),
        strata_(samplers.strata()),
        steps_(episodes * strata_.count),
        // Ranks that ask each other end the overlap of training with what is in flight.
        tick_interval_(run.sync.size() == 1 ? 1 : (strata_.count + 7) / 8) {
    if (run.sync.size() > strata_.count)
      throw InvalidArgument{
          "there are ", run.sync.size(), " ranks and ", strata_.count,
          " strata: set strata to that number or more; each has 16 words or more"};
    run.arrive = [this] {
      this->arrive();
      gather_rows();
    };
  }

  /// Returns the strata [first, second) of a rank.
  std::pair<std::size_t, std::size_t> strata_of(std::size_t rank) const {
    return part_of(strata_.count, rank, run_.sync.size());
  }

  void train() {
    run_.synchronise(progress());
    if (ends_epoch()) this->end_epoch(engine_.has_contexts());  // in which the run was stopped
    engine_.run([this] {
      while (this->goes_on()) train_step();
    });
    run_.end();
  }

 private:
  /// Returns the number of a step in its episode.
  std::uint32_t step() const { return static_cast<std::uint32_t>(at_.sentences % strata_.count); }
  /// Returns the fraction of the run that is done, 0 to 1.
  double progress() const {
    return static_cast<double>(at_.epoch * steps_ + at_.sentences) /
           static_cast<double>(run_.parameters.epochs * steps_);
  }
  bool ends_epoch() const { return at_.sentences == steps_; }

  void train_step() {
    if (step() == 0 || !has_pairs_) find_pairs();
    const double rate = run_.schedule.rate(progress());
    begun_ = false;
    engine_.train(step(), rate, [this](bool first_is_trained, bool waits) {
      return pass_outputs(first_is_trained, waits);
    });
    if (!begun_) pass_outputs(true, true);
    const auto [first, last] = part_of(run_.tokens_per_epoch, at_.sentences, steps_);
    ++at_.sentences;
    this->submitted(last - first, rate);
    if (step() % tick_interval_ == 0) {
      take_outputs();
      this->end_step(progress());
      if (ends_epoch()) this->end_epoch(engine_.has_contexts());
    } else if (run_.state.is_due()) {
      run_.state.pause(run_.model);
    }
  }

  /// Finds the pairs of the episode.
  void find_pairs() {
    engine_.find_pairs(at_.epoch, at_.sentences / strata_.count);
    has_pairs_ = true;
    if constexpr (shares_rows<decltype(run_.sync)>)
      if (run_.sync.size() > 1)
        engine_.exchange_pairs(
            run_.sync.size(), [this](std::size_t rank) { return strata_of(rank); },
            [this](std::vector<std::string> to) { return run_.sync.exchange(std::move(to)); });
    engine_.begin_episode();
  }

  /// Takes the outputs of the last block of this step if they have arrived or `waits`, and then
  /// begins to give those of the first block to the rank before once they are trained. Returns
  /// whether the former are there.
  bool pass_outputs([[maybe_unused]] bool first_is_trained, [[maybe_unused]] bool waits) {
    if constexpr (shares_rows<decltype(run_.sync)>) {
      if (run_.sync.size() == 1) return true;
      if (!begun_ && in_flight_ && !waits && !run_.sync.has_passed()) return false;
      if (!begun_) take_outputs();
      if (!begun_ && first_is_trained) {
        const auto first = strata_of(run_.sync.rank()).first;
        run_.sync.begin_pass(run_.replica, Model::Side::output,
                             rows_of((first + step()) % strata_.count),
                             (strata_.rows + strata_.count - 1) / strata_.count);
        begun_ = in_flight_ = true;
        taken_ = (strata_of(run_.sync.rank()).second + step()) % strata_.count;
      } else if (begun_ && in_flight_ && run_.sync.has_passed()) {
        take_outputs();
      }
    }
    return true;
  }
  /// Waits for the outputs in flight, if there are any.
  void take_outputs() {
    if constexpr (shares_rows<decltype(run_.sync)>)
      if (std::exchange(in_flight_, false))
        run_.sync.end_pass(run_.replica, Model::Side::output, rows_of(taken_));
  }
  /// Makes all rows equal on all ranks, between two steps.
  void gather_rows() {
    if constexpr (shares_rows<decltype(run_.sync)>) {
      if (run_.sync.size() == 1) return;
      for (const Model::Side side : {Model::Side::input, Model::Side::output}) {
        std::vector<RowId> rows;
        std::vector<std::uint64_t> first;
        for (std::size_t rank = 0; rank < run_.sync.size(); ++rank) {
          first.push_back(rows.size());
          const auto [from, until] = strata_of(rank);
          for (std::size_t i = from; i < until; ++i) {
            const auto of_stratum =
                rows_of(side == Model::Side::input ? i : (i + step()) % strata_.count);
            rows.insert(rows.end(), of_stratum.begin(), of_stratum.end());
          }
        }
        first.push_back(rows.size());
        run_.sync.gather_rows(run_.replica, side, rows, first);
      }
    }
  }
  std::vector<RowId> rows_of(std::size_t stratum) const {
    const auto s = static_cast<std::uint32_t>(stratum);
    std::vector<RowId> rows(strata_.size(s));
    for (std::uint32_t i = 0; i < rows.size(); ++i) rows[i] = strata_.row(s, i);
    return rows;
  }

  const Strata strata_;
  const std::uint64_t steps_;  // of an epoch
  const std::uint32_t tick_interval_;
  bool has_pairs_ = false;
  bool begun_ = false;      // to give outputs, in this step
  bool in_flight_ = false;  // outputs
  std::size_t taken_ = 0;   // the stratum of those that this rank takes
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
