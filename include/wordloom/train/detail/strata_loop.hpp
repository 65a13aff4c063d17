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
/// and at the beginning of an episode the outputs of the same strata. After each step it passes
/// those of its first stratum on to the rank before and receives those of the next stratum from the
/// rank behind. A run stops, resumes and writes checkpoints between two episodes.
template <class Engine, class Samplers, class Run>
class StrataLoop : StepLoop<Engine, Run> {
  using Base = StepLoop<Engine, Run>;
  using Base::engine_, Base::run_, Base::at_;

 public:
  StrataLoop(Engine& engine, const Samplers& samplers, Run& run, std::uint64_t episodes)
      : Base(engine, run, 1), strata_(samplers.strata()), episodes_(episodes) {
    if (run.sync.size() > strata_.count)
      throw InvalidArgument{"there are ", run.sync.size(), " ranks and ", strata_.count,
                            " strata: set strata to that number or more"};
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
    if (at_.sentences == episodes_) this->end_epoch(engine_.has_contexts());
    engine_.run([this] {
      while (this->goes_on()) train_episode();
    });
    run_.end();
  }

 private:
  /// Returns the fraction of the run that is done after `steps` steps of the next episode, 0 to 1.
  double progress(std::uint32_t steps = 0) const {
    return (static_cast<double>(at_.epoch * episodes_ + at_.sentences) +
            static_cast<double>(steps) / strata_.count) /
           static_cast<double>(run_.parameters.epochs * episodes_);
  }

  void train_episode() {
    engine_.find_pairs(at_.epoch, at_.sentences);
    if constexpr (shares_rows<decltype(run_.sync)>)
      if (run_.sync.size() > 1)
        engine_.exchange_pairs(
            run_.sync.size(), [this](std::size_t rank) { return strata_of(rank); },
            [this](std::vector<std::string> to) { return run_.sync.exchange(std::move(to)); });
    for (std::uint32_t step = 0; step < strata_.count; ++step) {
      const double rate = run_.schedule.rate(progress(step));
      engine_.train(step, rate);
      pass_outputs(step);
      const auto [first, last] = part_of(
          run_.tokens_per_epoch, at_.sentences * strata_.count + step, episodes_ * strata_.count);
      this->submitted(last - first, rate);
      if (step + 1 < strata_.count && run_.state.is_due()) run_.state.pause(run_.model);
    }
    ++at_.sentences;
    this->end_step(progress());
    if (at_.sentences == episodes_) this->end_epoch(engine_.has_contexts());
  }

  /// Gives the outputs of the first stratum of a step to the rank before, and takes those that the
  /// next step adds from the rank behind.
  void pass_outputs([[maybe_unused]] std::uint32_t step) {
    if constexpr (shares_rows<decltype(run_.sync)>) {
      if (run_.sync.size() == 1) return;
      const auto [first, last] = strata_of(run_.sync.rank());
      run_.sync.pass_rows(run_.replica, Model::Side::output,
                          rows_of((first + step) % strata_.count),
                          rows_of((last + step) % strata_.count));
    }
  }
  /// Makes all rows equal on all ranks, between two episodes.
  void gather_rows() {
    if constexpr (shares_rows<decltype(run_.sync)>) {
      if (run_.sync.size() == 1) return;
      std::vector<RowId> rows;
      std::vector<std::uint64_t> first;
      for (std::size_t rank = 0; rank < run_.sync.size(); ++rank) {
        first.push_back(rows.size());
        const auto [from, until] = strata_of(rank);
        for (std::size_t stratum = from; stratum < until; ++stratum) {
          const auto of_stratum = rows_of(stratum);
          rows.insert(rows.end(), of_stratum.begin(), of_stratum.end());
        }
      }
      first.push_back(rows.size());
      for (const Model::Side side : {Model::Side::input, Model::Side::output})
        run_.sync.gather_rows(run_.replica, side, rows, first);
    }
  }
  std::vector<RowId> rows_of(std::size_t stratum) const {
    const auto s = static_cast<std::uint32_t>(stratum);
    std::vector<RowId> rows(strata_.size(s));
    for (std::uint32_t i = 0; i < rows.size(); ++i) rows[i] = strata_.row(s, i);
    return rows;
  }

  const Strata strata_;
  const std::uint64_t episodes_;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
