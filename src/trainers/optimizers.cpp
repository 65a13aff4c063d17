// Trainers of DotKernel with the other optimizers, for wordloom::any_trainer.
#include <wordloom/optimizer/detail/any_optimizer.hpp>
#include <wordloom/registry.hpp>
#include <wordloom/train/detail/composition.hpp>

using namespace wordloom;

using Kernel = WithOptimizer<DotKernel, detail::AnyOptimizer>;

template AnyTrainer detail::trainer_from<Policies::Samplers>(const detail::Method&, const Kernel&);
