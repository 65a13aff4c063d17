#pragma once
#include <wordloom/cuda/detail/methods.cuh>
#include <wordloom/sampler/cbow.hpp>
#include <wordloom/sampler/grouped_window.hpp>
#include <wordloom/sampler/hogwild.hpp>
#include <wordloom/sampler/huffman_path.hpp>
#include <wordloom/sampler/sentence_minibatch.hpp>
#include <wordloom/sampler/shared_negative.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {
/// BlazingText and accSGNS: a thread block for each sentence, separate targets for each pair of
/// words, or CBOW.
using CudaSentenceKernel = cuda::CudaKernel<
    cuda::BlockMethod<cuda::SentenceScheme, cuda::BasicSentenceScheme<cuda::AnyTargets>,
                      cuda::CbowScheme>,
    Hogwild, BasicHogwild<HuffmanPath>, BasicHogwild<HuffmanPathAndNegatives>, Cbow,
    BasicCbow<HuffmanPath>, BasicCbow<HuffmanPathAndNegatives>>;

/// BlazingText's other schedule: a thread block for each word, `sentences_in_flight` words at a
/// time. For comparison only: neighbours change the same rows at once, which cost the authors
/// accuracy.
using CudaWordKernel = cuda::CudaKernel<
    cuda::BlockMethod<cuda::WordAtATime<cuda::SentenceScheme>,
                      cuda::WordAtATime<cuda::SentenceScheme>, cuda::WordAtATime<cuda::CbowScheme>>,
    Hogwild, Cbow>;

/// FULL-Register (Randall et al. 2021): output rows are in registers while the window is scored.
using CudaRegisterKernel = cuda::CudaKernel<
    cuda::BlockMethod<cuda::RegisterScheme, cuda::BasicRegisterScheme<cuda::AnyTargets>>,
    SharedNegative, HierarchicalSoftmax, BasicSharedNegative<HuffmanPathAndNegatives>>;

/// FULL-W2V (Randall et al. 2021): FULL-Register with context rows in a ring in shared memory while
/// they are in the window. Also trains Hogwild and the positives of SentenceMinibatch in this way.
using CudaRingBufferKernel =
    cuda::CudaKernel<cuda::RingMethod, SharedNegative, Hogwild, SentenceMinibatch>;

/// PAR-Word2Vec on a GPU (Moon et al. 2019), `Trainer<SentenceMinibatch, CudaGemmKernel>`: the
/// positives of a sentence, then minibatches of its words against shared negatives as products of
/// tiles.
using CudaGemmKernel = cuda::CudaKernel<cuda::GemmMethod, SentenceMinibatch>;

/// Wombat (Simonton and Alaghband 2017, "Efficient and accurate Word2Vec implementations in GPU and
/// shared-memory multicore architectures"), `Trainer<SharedNegative, CudaWombatKernel>`, or with
/// HierarchicalSoftmax and `.node_sample = 0`: a warp for each window, tiles of 4 targets and 8
/// context words. `sentences_in_flight` words are trained at a time.
using CudaWombatKernel = cuda::CudaKernel<cuda::WombatMethod, SharedNegative, HierarchicalSoftmax>;

/// BIDMach (Canny et al. 2015, "Machine Learning at the Limit", its program for GPUs),
/// `Trainer<SharedNegative, CudaBidMachKernel>`: of each 100,000 words first all positives, then
/// all negatives, with changes scaled by the root of a word's rank: a learning rate of 0.001.
/// `sentences_in_flight` sentences, then as many parts of the batch are trained at a time.
using CudaBidMachKernel = cuda::CudaKernel<cuda::BidMachMethod, SharedNegative>;

/// Ours: a warp for each sentence, context rows in a ring in registers. With GroupedWindow, whose
/// groups of three words share seven negatives, output rows are read and changed about half as
/// often.
using CudaWarpKernel = cuda::CudaKernel<cuda::WarpMethod, SharedNegative, GroupedWindow>;

/// W2V-CL's two-step training of columns: see ColumnKernel, UniformMatrix and W2vClGpu.
template <class Optimizer = Sgd>
using CudaUniformKernel =
    cuda::ColumnKernel<cuda::CudaMachine, cuda::CudaMethod::RowSizes, Optimizer>;

}}  // namespace wordloom::WORDLOOM_ABI
