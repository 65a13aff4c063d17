#pragma once
#include <type_traits>

#include <wordloom/kernel/dot_kernel.hpp>
#include <wordloom/kernel/fused_kernel.hpp>
#include <wordloom/sampler/attraction_repulsion.hpp>
#include <wordloom/sampler/cbow.hpp>
#include <wordloom/sampler/combined_context.hpp>
#include <wordloom/sampler/edge_pairs.hpp>
#include <wordloom/sampler/hogwild.hpp>
#include <wordloom/sampler/sentence_minibatch.hpp>
#include <wordloom/sampler/shared_negative.hpp>
#include <wordloom/sampler/subwords.hpp>
#include <wordloom/train/trainer.hpp>

#if WORDLOOM_HAS_BLAS
#include <wordloom/kernel/gemm_kernel.hpp>
#endif

/// The published systems by name, so that nobody writes template arguments to reproduce a paper.
namespace wordloom::inline WORDLOOM_ABI {

/// Mikolov et al. 2013b, "Distributed Representations of Words and Phrases and their
/// Compositionality": skip-gram with negative sampling.
using Word2Vec = Trainer<Hogwild, DotKernel>;

/// Mikolov et al. 2013a, "Efficient Estimation of Word Representations in Vector Space": CBOW, with
/// negative sampling and a gradient of our own, see BagGradient. As word2vec.c trains it, with a
/// learning rate of 0.05:
/// `Word2VecCbow(parameters, {.window = ..., .targets = ..., .gradient = BagGradient::whole})`.
using Word2VecCbow = Trainer<Cbow, DotKernel>;

/// Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information": skip-gram with negative
/// sampling, whose inputs are bags of n-grams. `Trainer<Subwords<SharedNegative>, FusedKernel>` is
/// twice as fast.
using FastText = Trainer<Subwords<Hogwild>, DotKernel>;

/// Morin and Bengio 2005; Mikolov et al. 2013a: skip-gram with hierarchical softmax, each pair on
/// its own as word2vec.c trains it, with `.node_sample = 0`.
using Word2VecHierarchicalSoftmax = Trainer<BasicHogwild<RandomWindow, HuffmanPath>, DotKernel>;

/// Perozzi et al. 2014, "DeepWalk: Online Learning of Social Representations": hierarchical softmax
/// on RandomWalks with p = q = 1, with `.node_sample = 0`.
using DeepWalk = Word2VecHierarchicalSoftmax;

/// Grover and Leskovec 2016, "node2vec: Scalable Feature Learning for Networks": skip-gram with
/// negative sampling on RandomWalks, with `.subsample = 0`.
using Node2Vec = Word2Vec;

/// Tang et al. 2015, "LINE: Large-scale Information Network Embedding", of first or second order,
/// for EdgeSamples; `concatenate` joins the vectors of both.
template <int order>
requires(order == 1 || order == 2) using Line =
    Trainer<std::conditional_t<order == 1, LineFirstOrder, LineSecondOrder>, DotKernel>;

/// Ours: shared negatives and everything in one pass over the rows.
using DefaultTrainer = Trainer<SharedNegative, FusedKernel>;

/// Canny et al. 2015, "Machine Learning at the Limit".
using BidMach = Trainer<SplitSharedNegative, DotKernel>;

#if WORDLOOM_HAS_BLAS
/// Ji et al. 2016, "Parallelizing Word2Vec in Shared and Distributed Memory".
using PWord2Vec = Trainer<SharedNegative, GemmKernel>;

/// Rengasamy et al. 2017, "Optimizing Word2Vec Performance on Multicore Systems".
using PSgnsCc = Trainer<CombinedContext, GemmKernel>;

/// Moon et al. 2019, "Parallel Data-Local Training for Optimizing Word2Vec Embeddings for Word and
/// Graph Embeddings".
using ParWord2Vec = Trainer<SentenceMinibatch, GemmKernel>;
#endif

}  // namespace wordloom::inline WORDLOOM_ABI
