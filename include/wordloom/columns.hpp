#pragma once

/// Two-step training of the uniform word-context matrix (W2V-CL), and optimizers; in addition to
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
#include <wordloom/systems.hpp>
#include <wordloom/train/trainer.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// W2V-CL (Li et al. 2019, "Scaling Word2Vec on Big Corpus"): the columns of a WordContextMatrix in
/// two steps, by Adam. Each pair has negatives of its own unless Hyperparameters::minibatch is
/// above 1. The paper has D = 500, K = 5, l = 65,536 columns, 2 context words on each side, no
/// subsampling, and by its framework Chainer a constant learning rate of 0.001 (ConstantRate).
using W2vCl = Published<UniformMatrix, WithOptimizer<FusedKernel, Adam>>;

/// The baseline of W2V-CL: pairs in the order of the corpus, in minibatches of 1 to 65536 pairs
/// whose rows may repeat. As in the paper, with steps of every row: `Vanilla<Adam>(parameters,
/// {.optimizer = {.dense = true}, .batch = 1024})`, with `.window = 2`, `.fixed_window = true` and
/// `.subsample = 0`. A Trainer with this kernel, fixed windows and Encoded<Hogwild, CharCnn>, with
/// `end_to_end`, is the paper's Vanilla with a character CNN.
template <class OptimizerPolicy = Adam>
using Vanilla = detail::FixedWindowTrainer<Hogwild, WithOptimizer<DotKernel, OptimizerPolicy>>;

}}  // namespace wordloom::WORDLOOM_ABI
