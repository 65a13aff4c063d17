// Trainers of FusedKernel with RowAdaGrad and of DotKernel with the other optimizers, for
// wordloom::any_trainer.
#include <wordloom/optimizer/detail/any_optimizer.hpp>
#include <wordloom/registry.hpp>
#include <wordloom/train/detail/composition.hpp>

#include "shared.hpp"

using namespace wordloom;

using Scaling = WithOptimizer<FusedKernel, RowAdaGrad>;
using Stepping = WithOptimizer<DotKernel, detail::AnyOptimizer>;

template AnyTrainer detail::trainer_from<Policies::Samplers>(const detail::Method&, const Scaling&);
template AnyTrainer detail::trainer_from<Policies::Samplers>(const detail::Method&,
                                                             const Stepping&);
