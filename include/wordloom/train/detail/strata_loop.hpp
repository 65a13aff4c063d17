#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
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

/// Returns the steps between two ticks. At a tick, threads wait for each other, and ranks for all
/// that is in flight between them. Several ranks have a tick for each million words that a rank
/// trains, but 2 to 8 in an episode. `words`: of an episode, of all ranks.
inline std::uint32_t steps_of_tick(std::size_t threads, std::size_t ranks, std::uint32_t strata,
                                   std::uint64_t words) {
  if (ranks == 1) return threads == 1 ? 1 : (strata + 7) / 8;
  const auto ticks =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>((words / ranks) >> 20, 2, 8));
  return (strata + ticks - 1) / ticks;
}

/// Training by strata, see StratifiedPairs. Rank n has the inputs of the n-th part of the strata,
/// and at the beginning of an episode the outputs of the same strata. In each step it passes those
/// of its first block on to the rank before once they are trained, and receives those of the last
/// block of the next step from the rank behind.
template <class Engine, class Samplers, class Run>
class StrataLoop : StepLoop<Engine, Run> {
  using Episode = typename Engine::Episode;
  using Base = StepLoop<Engine, Run>;
  using Base::engine_, Base::run_, Base::at_;

 public:
  StrataLoop(Engine& engine, const Samplers& samplers, Run& run, std::uint64_t episodes)
      : Base(engine, run, 1),
        strata_(samplers.strata()),
        steps_(episodes * strata_.count()),
        steps_of_tick_(steps_of_tick(engine.threads(), run.sync.size(), strata_.count(),
                                     run.tokens_per_epoch * run.sync.size() / episodes)) {
    if (run.sync.size() > strata_.count())
      throw InvalidArgument{
          "there are ", run.sync.size(), " ranks and ", strata_.count(),
          " strata: set strata to that number or more; each has 16 words or more"};
    run.arrive = [this] {
      this->arrive();
      gather_rows();
    };
  }

  /// Returns the strata [first, second) of a rank.
  std::pair<std::size_t, std::size_t> strata_of(std::size_t rank) const {
    return part_of(strata_.count(), rank, run_.sync.size());
  }

  void train() {
    run_.synchronise(progress(0));
    if (ends_epoch()) this->end_epoch(engine_.has_contexts());  // in which the run was stopped
    engine_.run([this] {
      while (this->goes_on()) train_steps();
      if constexpr (shares_rows<decltype(run_.sync)>)
        if (exchanges_) run_.sync.end_exchange();  // for an episode that is not trained
    });
    run_.end();
  }

 private:
  /// Returns the number of a step in its episode.
  std::uint32_t step() const { return static_cast<std::uint32_t>(at_.sentences % strata_.count()); }
  /// Returns the fraction of the run that is done `more` steps later, 0 to 1.
  double progress(std::uint64_t more) const {
    return static_cast<double>(at_.epoch * steps_ + at_.sentences + more) /
           static_cast<double>(run_.parameters.epochs * steps_);
  }
  bool ends_epoch() const { return at_.sentences == steps_; }

  /// Trains the steps up to the next tick.
  void train_steps() {
    if (step() == 0 || !has_pairs_) find_pairs();
    const std::uint32_t first = step();
    const auto steps = (std::min)(steps_of_tick_ - first % steps_of_tick_, strata_.count() - first);
    std::vector<double> rates;
    for (std::uint32_t i = 0; i < steps; ++i) rates.push_back(run_.schedule.rate(progress(i)));
    begun_ = arrived_ = 0;
    engine_.train(first, rates, [this](std::uint32_t trained, bool waits) {
      return pass_outputs(trained, waits);
    });
    const std::uint64_t words = part_of(run_.tokens_per_epoch, at_.sentences, steps_).first;
    at_.sentences += steps;
    this->submitted(part_of(run_.tokens_per_epoch, at_.sentences - 1, steps_).second - words,
                    rates.back());
    this->end_step(progress(0));
    if (ends_epoch()) this->end_epoch(engine_.has_contexts());
  }

  /// Finds the pairs of the episode. Several ranks exchange those of the next one while they train
  /// this one.
  void find_pairs() {
    const Episode now{at_.epoch, at_.sentences / strata_.count()};
    has_pairs_ = true;
    if constexpr (shares_rows<decltype(run_.sync)>) {
      if (run_.sync.size() > 1) {
        if (!exchanges_) begin_exchange(now);
        engine_.take_pairs(now, run_.sync.end_exchange());
        exchanges_ = false;
        if (const auto next = after(now)) begin_exchange(*next);
        return;
      }
    }
    engine_.find_pairs(now);
  }
  void begin_exchange(Episode episode) {
    run_.sync.begin_exchange(engine_.find_for_ranks(
        episode, run_.sync.size(), [this](std::size_t rank) { return strata_of(rank); }));
    exchanges_ = true;
  }
  /// Returns the episode after another, if there is one.
  std::optional<Episode> after(Episode episode) const {
    if (++episode.number * strata_.count() < steps_) return episode;
    if (episode.epoch + 1 < run_.parameters.epochs) return Episode{episode.epoch + 1, 0};
    return std::nullopt;
  }

  /// Takes the outputs in flight if they have arrived or `waits`, and then begins to give those of
  /// the first block of the next step, if it is trained: that of `trained` steps since the tick is.
  /// Returns how many steps' outputs have arrived.
  std::uint32_t pass_outputs([[maybe_unused]] std::uint32_t trained, [[maybe_unused]] bool waits) {
    if constexpr (shares_rows<decltype(run_.sync)>) {
      if (run_.sync.size() == 1) return 0;
      const auto [first, last] = strata_of(run_.sync.rank());
      const RankTeam& team = engine_.row_team();
      if (arrived_ < begun_ && (waits || run_.sync.has_passed()))
        run_.sync.end_pass(run_.replica, Model::Side::output,
                           strata_.of((last + step() + arrived_++) % strata_.count()), team);
      if (arrived_ == begun_ && begun_ < trained)
        run_.sync.begin_pass(run_.replica, Model::Side::output,
                             strata_.of((first + step() + begun_++) % strata_.count()),
                             strata_.most_rows(), team);
    }
    return arrived_;
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
            const std::vector<RowId>& of_stratum =
                strata_.of(side == Model::Side::input ? i : (i + step()) % strata_.count());
            rows.insert(rows.end(), of_stratum.begin(), of_stratum.end());
          }
        }
        first.push_back(rows.size());
        run_.sync.gather_rows(run_.replica, side, rows, first);
      }
    }
  }
  const Strata& strata_;
  const std::uint64_t steps_;  // of an epoch
  const std::uint32_t steps_of_tick_;
  bool has_pairs_ = false, exchanges_ = false;
  std::uint32_t begun_ = 0, arrived_ = 0;  // passes since the tick; one is in flight at most
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
