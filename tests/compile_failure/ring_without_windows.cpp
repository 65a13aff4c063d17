// expect: keeps a row in shared memory while it is in the window

#include <wordloom/cuda/detail/host_kernel.hpp>
#include <wordloom/cuda/detail/ring_schemes.hpp>
#include <wordloom/sampler/uniform_matrix.hpp>

#include "support.hpp"

using namespace wordloom;

struct RingMethod : cuda::HostMethod<cuda::RingBufferScheme, 1, cuda::HostTeam<32>, cuda::OneByOne>,
                    cuda::RingSamplers {};
using RingKernel = cuda::BatchKernel<cuda::HostMachine, RingMethod, SharedNegative>;

#ifdef WORDLOOM_EXPECT_FAILURE
template void compose<Trainer<UniformMatrix, RingKernel>>();
#else
template void compose<Trainer<SharedNegative, RingKernel>>();
#endif
