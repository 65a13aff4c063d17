#pragma once
#include <cstddef>
#include <type_traits>
#include <utility>

#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/corpus/text_corpus.hpp>
#include <wordloom/kernel/dot_kernel.hpp>
#include <wordloom/kernel/fused_kernel.hpp>
#include <wordloom/sampler/attraction_repulsion.hpp>
#include <wordloom/sampler/cbow.hpp>
#include <wordloom/sampler/combined_context.hpp>
#include <wordloom/sampler/edge_pairs.hpp>
#include <wordloom/sampler/hogwild.hpp>
#include <wordloom/sampler/indexed_context.hpp>
#include <wordloom/sampler/sentence_minibatch.hpp>
#include <wordloom/sampler/shared_negative.hpp>
#include <wordloom/sampler/subwords.hpp>
#include <wordloom/sampler/uniform_matrix.hpp>
#include <wordloom/sampler/window.hpp>
#include <wordloom/train/trainer.hpp>

#if WORDLOOM_HAS_BLAS
#include <wordloom/kernel/gemm_kernel.hpp>
#include <wordloom/kernel/pairs_apart.hpp>
#include <wordloom/sampler/decoupled_minibatch.hpp>
#endif

/// The published systems by name, so that no template arguments are needed to reproduce a paper.
namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// Switches off what published systems do not have in a sampler, and in those around which it is.
template <class Policy>
void without_ours(Policy& policy) {
  if constexpr (requires { policy.pool = 0; }) policy.pool = 0;
  if constexpr (requires { policy.node_sample = 0; }) policy.node_sample = 0;
  if constexpr (requires { policy.sampler; }) without_ours(policy.sampler);
  if constexpr (requires { policy.targets; }) without_ours(policy.targets);
  if constexpr (requires { policy.path; }) without_ours(policy.path);
  if constexpr (requires { policy.sampling; }) without_ours(policy.sampling);
}

/// Returns a sampler as published systems have it, by such parameters.
template <class SamplerPolicy>
SamplerPolicy published_sampler(const Hyperparameters& parameters) {
  auto sampler = policy_from<SamplerPolicy>(parameters);
  if constexpr (requires { sampler.gradient; }) sampler.gradient = BagGradient::whole;
  if constexpr (std::is_same_v<SamplerPolicy, UniformMatrix>)
    if (sampler.minibatch == 0) sampler.minibatch = 1;
  return sampler;
}

}  // namespace detail

/// A trainer without our own additions: threads train one shared matrix whatever
/// Hyperparameters::private_rows says (Hogwild: Recht et al. 2011), each negative is drawn anew, a
/// Huffman tree trains all of its nodes, each context word of CBOW receives the whole gradient, as
/// in word2vec.c, and each pair of a column has negatives of its own. Otherwise a Trainer. The
/// hyperparameters of word2vec.c are those of Presets::word2vec() (presets.hpp). `private_rows`:
/// for a system that has some.
template <class SamplerPolicy, class KernelPolicy, class SyncPolicyType = NoSync,
          std::size_t private_rows = 0>
class Published : public Trainer<SamplerPolicy, KernelPolicy, SyncPolicyType> {
 public:
  /// Throws as Trainer does.
  explicit Published(Hyperparameters parameters, SyncPolicyType sync = SyncPolicyType())
      : Published(parameters, detail::published_sampler<SamplerPolicy>(parameters.as_published()),
                  policy_from<KernelPolicy>(parameters), std::move(sync)) {}

  /// With policies of other parameters: of the sampler, all but the pool of negatives and the nodes
  /// that are left out. Throws as Trainer does.
  Published(Hyperparameters parameters, SamplerPolicy sampler, KernelPolicy kernel = {},
            SyncPolicyType sync = SyncPolicyType())
      : Trainer<SamplerPolicy, KernelPolicy, SyncPolicyType>(parameters.as_published(private_rows),
                                                             as_published(std::move(sampler)),
                                                             std::move(kernel), std::move(sync)) {}

 private:
  static SamplerPolicy as_published(SamplerPolicy sampler) {
    detail::without_ours(sampler);
    return sampler;
  }
};

namespace detail {

/// A trainer with fixed windows: see Hyperparameters::with_fixed_window(). Otherwise a Trainer.
template <class SamplerPolicy, class KernelPolicy>
class FixedWindowTrainer : public Trainer<SamplerPolicy, KernelPolicy> {
 public:
  /// Throws as Trainer does.
  explicit FixedWindowTrainer(const Hyperparameters& parameters)
      : FixedWindowTrainer(parameters, policy_from<KernelPolicy>(parameters)) {}
  FixedWindowTrainer(const Hyperparameters& parameters, KernelPolicy kernel)
      : Trainer<SamplerPolicy, KernelPolicy>(
            parameters.with_fixed_window(),
            policy_from<SamplerPolicy>(parameters.with_fixed_window()), std::move(kernel)) {}
};

}  // namespace detail

/// Mikolov et al. 2013b, "Distributed Representations of Words and Phrases and their
/// Compositionality": skip-gram with negative sampling.
using Word2Vec = Published<Hogwild, DotKernel>;

/// Mikolov et al. 2013a, "Efficient Estimation of Word Representations in Vector Space": CBOW, with
/// negative sampling, as word2vec.c trains it. The learning rate there is 0.05.
using Word2VecCbow = Published<Cbow, DotKernel>;

/// Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information": skip-gram with
/// negative sampling, whose inputs are bags of n-grams. `Trainer<Subwords<SharedNegative>,
/// FusedKernel>` is twice as fast.
using FastText = Published<Subwords<Hogwild>, DotKernel>;

/// Perozzi et al. 2014, "DeepWalk: Online Learning of Social Representations": hierarchical softmax
/// on RandomWalks with p = q = 1. For text, skip-gram with hierarchical softmax, pair by
/// pair, as in word2vec.c (Morin and Bengio 2005; Mikolov et al. 2013a).
using DeepWalk = Published<BasicHogwild<HuffmanPath>, DotKernel>;

/// Vuurens et al. 2016, "Efficient Parallel Learning of Word2Vec": DeepWalk
/// whose threads have copies of the 31 most frequent nodes, the top of the tree, and merge them
/// into the shared rows after a number of pairs. The authors' program merges after each centre
/// word: see benchmarks/results/as-published.md.
using CachedHierarchicalSoftmax = Published<BasicHogwild<HuffmanPath>, DotKernel, NoSync, 31>;

/// Grover and Leskovec 2016, "node2vec: Scalable Feature Learning for Networks": skip-gram with
/// negative sampling on RandomWalks, which are never subsampled.
using Node2Vec = Word2Vec;

/// Tang et al. 2015, "LINE: Large-scale Information Network Embedding", of first or second order,
/// for EdgeSamples; `Embeddings::concatenate` joins the vectors of both.
template <int order>
requires(order == 1 || order == 2) using Line = Published<
    std::conditional_t<order == 1, detail::LineFirstOrder, detail::LineSecondOrder>, DotKernel>;

/// Ours: shared negatives and everything in one pass over the rows.
using DefaultTrainer = Trainer<SharedNegative, FusedKernel>;
#if defined(WORDLOOM_PRECOMPILED)
// wordloom::precompiled holds DefaultTrainer with corpora of text: a program does not compile its
// training again, and trains as fast where it is not optimised. src/default_trainer.cpp defines
// WORDLOOM_DEFAULT_TRAINER as nothing.
#ifndef WORDLOOM_DEFAULT_TRAINER
#define WORDLOOM_DEFAULT_TRAINER extern
#endif
WORDLOOM_DEFAULT_TRAINER template class Trainer<SharedNegative, FusedKernel>;
WORDLOOM_DEFAULT_TRAINER template Embeddings DefaultTrainer::fit_new(const EncodedCorpus&,
                                                                     const Vocabulary&,
                                                                     const std::filesystem::path*);
WORDLOOM_DEFAULT_TRAINER template Embeddings DefaultTrainer::fit_new(const TextCorpus&,
                                                                     const Vocabulary&,
                                                                     const std::filesystem::path*);
WORDLOOM_DEFAULT_TRAINER template TrainReport DefaultTrainer::train_model(
    const EncodedCorpus&, Model&, const std::filesystem::path*);
WORDLOOM_DEFAULT_TRAINER template TrainReport DefaultTrainer::train_model(
    const TextCorpus&, Model&, const std::filesystem::path*);
// The parts of training that are independent of sampler and kernel.
WORDLOOM_DEFAULT_TRAINER template struct detail::RankTraining<NoSync, LinearDecay, Model>;
WORDLOOM_DEFAULT_TRAINER template struct detail::RankRun<NoSync, LinearDecay, Model>;
WORDLOOM_DEFAULT_TRAINER template struct detail::ThreadTeam<
    detail::RankRun<NoSync, LinearDecay, Model>>;
WORDLOOM_DEFAULT_TRAINER template detail::ExpectedUpdates detail::expected_of_skip_gram(
    const WordRates&, double, const NegativeSampling::Run&);
WORDLOOM_DEFAULT_TRAINER template CorpusError detail::nothing_trained(const EncodedCorpus&, double,
                                                                      std::uint64_t);
#endif

/// Canny et al. 2015, "Machine Learning at the Limit".
using BidMach = Published<SplitSharedNegative, DotKernel>;

#if WORDLOOM_HAS_BLAS
/// Ji et al. 2016, "Parallelizing Word2Vec in Shared and Distributed Memory". A block is a whole
/// window, as with the batch size that the authors advise, 2 window + 1. On many nodes:
/// `Trainer<SharedNegative, GemmKernel, Allreduce<MpiRanks, Average>, SteepDecay>` with
/// `.private_rows = 0`, `.negative_pool = 0` and SyncOptions{.first_rows = 1024}.
using PWord2Vec = Published<SharedNegative, GemmKernel>;

/// Rengasamy et al. 2017, "Optimizing Word2Vec Performance on Multicore Systems". One process.
using PSgnsCc = Published<IndexedContext, GemmKernel>;

/// Wombat on CPUs (Simonton and Alaghband 2017, "Efficient and accurate Word2Vec implementations in
/// GPU and shared-memory multicore architectures"), with negative sampling; with hierarchical
/// softmax `Published<HierarchicalSoftmax, GemmKernel>`: the blocks and products of pWord2Vec.
/// There, the threads of one core take windows from one queue; here, each thread has sentences of
/// its own.
using Wombat = PWord2Vec;

/// Moon et al. 2019, "Parallel Data-Local Training for Optimizing Word2Vec Embeddings for Word and
/// Graph Embeddings". In the paper C = 8, K = 5, D = 128.
using ParWord2Vec = Published<DecoupledMinibatch, PairsApart<GemmKernel>>;
#endif

}}  // namespace wordloom::WORDLOOM_ABI
