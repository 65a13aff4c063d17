#pragma once

/// Training by several processes, on one machine or many: `Trainer<SharedNegative, FusedKernel,
/// Allreduce<MpiRanks>, RankScaledDecay>`; samplers that train columns or strata take RowAllgather<MpiRanks>.
/// Needs the target wordloom::mpi.
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/mpi.hpp>
#include <wordloom/sync/rank_corpus.hpp>
#include <wordloom/sync/row_allgather.hpp>
#include <wordloom/train/trainer.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

using MpiAllreduce [[deprecated("use Allreduce<MpiRanks>")]] = Allreduce<MpiRanks>;

}}  // namespace wordloom::WORDLOOM_ABI
