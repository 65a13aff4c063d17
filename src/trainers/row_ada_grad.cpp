// Trainers of FusedKernel with RowAdaGrad, for wordloom::any_trainer.
#include <wordloom/registry.hpp>
#include <wordloom/train/detail/composition.hpp>

using namespace wordloom;

using Kernel = WithOptimizer<FusedKernel, RowAdaGrad>;

template AnyTrainer detail::trainer_from<Policies::Samplers>(const detail::Method&, const Kernel&);
