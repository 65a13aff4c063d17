// Trainers of DotKernel and Bf16Kernel, for wordloom::any_trainer.
#include <wordloom/registry.hpp>
#include <wordloom/train/detail/composition.hpp>

using namespace wordloom;

template AnyTrainer detail::trainer_from<Samplers>(const detail::Method&, const DotKernel&);
template AnyTrainer detail::trainer_from<SubwordSamplers>(const detail::Method&, const DotKernel&);
template AnyTrainer detail::trainer_from<RowSamplers>(const detail::Method&, const Bf16Kernel&);
