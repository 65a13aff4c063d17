// Trainers of GemmKernel, and of the published systems that use it, for wordloom::any_trainer.
#include <wordloom/registry.hpp>
#include <wordloom/train/detail/composition.hpp>

#include "shared.hpp"

using namespace wordloom;

#if WORDLOOM_HAS_BLAS
using Indexed = Registry<Named<"indexed", IndexedContext>>;
using Decoupled = Registry<Named<"decoupled", DecoupledMinibatch>>;

template AnyTrainer detail::trainer_from<Policies::Samplers>(const detail::Method&,
                                                             const GemmKernel&);
template AnyTrainer detail::trainer_from<Policies::StratumSamplers>(const detail::Method&,
                                                                    const GemmKernel&);
template AnyTrainer detail::trainer_from<Policies::SubwordSamplers>(const detail::Method&,
                                                                    const GemmKernel&);
template AnyTrainer detail::trainer_from<Indexed>(const detail::Method&, const GemmKernel&);
template AnyTrainer detail::trainer_from<Decoupled>(const detail::Method&,
                                                    const PairsApart<GemmKernel>&);
#endif
