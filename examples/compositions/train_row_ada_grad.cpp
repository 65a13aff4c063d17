#include "train_on_host.hpp"

using namespace wordloom;

template <>
TrainReport train_on_host<WithOptimizer<FusedKernel, RowAdaGrad>>(const Job& job) {
  return train_on_host<WithOptimizer<FusedKernel, RowAdaGrad>, Samplers>(job);
}
