#pragma once

// The parts of training that are independent of sampler and kernel, which make_trainer.cpp compiles
// for all trainers of wordloom::any_trainer: it defines WORDLOOM_SHARED as nothing.
#include <wordloom/schedule/schedules.hpp>
#include <wordloom/sync/any_sync.hpp>
#include <wordloom/train/trainer.hpp>

#ifndef WORDLOOM_SHARED
#define WORDLOOM_SHARED extern
#endif

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

using AnyRanks = AnySync<Model, false>;
WORDLOOM_SHARED template struct RankTraining<AnyRanks, AnySchedule, Model>;
WORDLOOM_SHARED template struct RankRun<AnyRanks, AnySchedule, Model>;
WORDLOOM_SHARED template struct ThreadTeam<RankRun<AnyRanks, AnySchedule, Model>>;

}}}  // namespace wordloom::WORDLOOM_ABI::detail
