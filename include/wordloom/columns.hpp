#pragma once

/// Two-step training of the uniform word-context matrix (W2V-CL), and optimizers; besides
/// wordloom.hpp.
#include <wordloom/corpus/word_context_matrix.hpp>
#include <wordloom/kernel/dot_kernel.hpp>
#include <wordloom/kernel/fused_kernel.hpp>
#include <wordloom/kernel/with_optimizer.hpp>
#include <wordloom/optimizer/ada_grad.hpp>
#include <wordloom/optimizer/adam.hpp>
#include <wordloom/optimizer/rms_prop.hpp>
#include <wordloom/optimizer/row_ada_grad.hpp>
#include <wordloom/optimizer/sgd.hpp>
#include <wordloom/sampler/hogwild.hpp>
#include <wordloom/sampler/uniform_matrix.hpp>
#include <wordloom/sync/row_allgather.hpp>
#include <wordloom/train/trainer.hpp>

namespace wordloom::inline WORDLOOM_ABI {

/// W2V-CL: the columns of a WordContextMatrix in two steps, by Adam; with `.minibatch = 1` each
/// pair has negatives of its own, as in the paper.
using W2vCl = Trainer<UniformMatrix, WithOptimizer<FusedKernel, Adam>>;

/// Its baseline: pairs in the order of the corpus, in minibatches of 1 to 65536 pairs whose rows
/// may repeat: `Vanilla<Adam>(parameters, HogwildFixedWindow::from(parameters), {.batch = 1024})`.
template <class OptimizerPolicy = Adam>
using Vanilla = Trainer<HogwildFixedWindow, WithOptimizer<DotKernel, OptimizerPolicy>>;

}  // namespace wordloom::inline WORDLOOM_ABI
