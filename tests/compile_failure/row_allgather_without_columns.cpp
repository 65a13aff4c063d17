// expect: RowAllgather is for samplers that train columns, as UniformMatrix

#include <wordloom/sampler/uniform_matrix.hpp>
#include <wordloom/sync/in_process.hpp>
#include <wordloom/sync/row_allgather.hpp>

#include "support.hpp"

using namespace wordloom;

template <class Sampler>
using RankTrainer = Trainer<Sampler, DotKernel, RowAllgather<InProcess>>;

void compose_ranks(const InProcess& self) {
#ifdef WORDLOOM_EXPECT_FAILURE
  RankTrainer<Hogwild> trainer({}, RowAllgather<InProcess>(self));
#else
  RankTrainer<UniformMatrix> trainer({}, RowAllgather<InProcess>(self));
#endif
}
