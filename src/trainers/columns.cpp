// Trainers of columns, with all kernels and optimizers, for wordloom::any_trainer.
#include <wordloom/optimizer/detail/any_optimizer.hpp>
#include <wordloom/registry.hpp>
#include <wordloom/train/detail/composition.hpp>

using namespace wordloom;

template <class Kernel>
using Stepping = WithOptimizer<Kernel, detail::AnyOptimizer>;
template <class Kernel>
using Scaling = WithOptimizer<Kernel, RowAdaGrad>;

template AnyTrainer detail::trainer_from<Policies::ColumnSamplers>(const detail::Method&,
                                                                   const FusedKernel&);
template AnyTrainer detail::trainer_from<Policies::ColumnSamplers>(const detail::Method&,
                                                                   const Scaling<FusedKernel>&);
template AnyTrainer detail::trainer_from<Policies::ColumnSamplers>(const detail::Method&,
                                                                   const Stepping<FusedKernel>&);
template AnyTrainer detail::trainer_from<Policies::ColumnSamplers>(const detail::Method&,
                                                                   const DotKernel&);
template AnyTrainer detail::trainer_from<Policies::ColumnSamplers>(const detail::Method&,
                                                                   const Scaling<DotKernel>&);
template AnyTrainer detail::trainer_from<Policies::ColumnSamplers>(const detail::Method&,
                                                                   const Stepping<DotKernel>&);
#if WORDLOOM_HAS_BLAS
template AnyTrainer detail::trainer_from<Policies::ColumnSamplers>(const detail::Method&,
                                                                   const GemmKernel&);
template AnyTrainer detail::trainer_from<Policies::ColumnSamplers>(const detail::Method&,
                                                                   const Scaling<GemmKernel>&);
template AnyTrainer detail::trainer_from<Policies::ColumnSamplers>(const detail::Method&,
                                                                   const Stepping<GemmKernel>&);
#endif
