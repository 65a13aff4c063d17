// Trainers of FusedKernel, for wordloom::any_trainer.
#include <wordloom/registry.hpp>
#include <wordloom/train/detail/composition.hpp>

#include "shared.hpp"

using namespace wordloom;

template AnyTrainer detail::trainer_from<Policies::Samplers>(const detail::Method&,
                                                             const FusedKernel&);
template AnyTrainer detail::trainer_from<Policies::StratumSamplers>(const detail::Method&,
                                                                    const FusedKernel&);
template AnyTrainer detail::trainer_from<Policies::SubwordSamplers>(const detail::Method&,
                                                                    const FusedKernel&);
#if WORDLOOM_HAS_BLAS
template AnyTrainer detail::trainer_from<Policies::EncodedSamplers>(const detail::Method&,
                                                                    const FusedKernel&);
#endif
