// expect: RowAllgather is for samplers that train columns or strata

#include <wordloom/sampler/uniform_matrix.hpp>
#include <wordloom/sync/row_allgather.hpp>
#include <wordloom/sync/thread_ranks.hpp>

#include "support.hpp"

using namespace wordloom;

template <class Sampler>
using RankTrainer = Trainer<Sampler, DotKernel, RowAllgather<ThreadRanks>>;

void compose_ranks(const ThreadRanks& self) {
#ifdef WORDLOOM_EXPECT_FAILURE
  RankTrainer<Hogwild> trainer({}, RowAllgather<ThreadRanks>(self));
#else
  RankTrainer<UniformMatrix> trainer({}, RowAllgather<ThreadRanks>(self));
#endif
}
