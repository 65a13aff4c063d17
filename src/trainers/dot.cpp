// Trainers of DotKernel and Bf16Kernel, for wordloom::any_trainer.
#include <wordloom/registry.hpp>
#include <wordloom/train/detail/composition.hpp>

#include "shared.hpp"

using namespace wordloom;

template AnyTrainer detail::trainer_from<Policies::Samplers>(const detail::Method&,
                                                             const DotKernel&);
template AnyTrainer detail::trainer_from<Policies::StratumSamplers>(const detail::Method&,
                                                                    const DotKernel&);
template AnyTrainer detail::trainer_from<Policies::SubwordSamplers>(const detail::Method&,
                                                                    const DotKernel&);
template AnyTrainer detail::trainer_from<Policies::RowSamplers>(const detail::Method&,
                                                                const Bf16Kernel&);
