#pragma once
// A CUDA runtime on the host, which runs device code where there is no GPU: every CUDA thread is a
// fiber, warp and block collectives wait for each other, and streams do their work late and in any
// order that events allow. A .cu file is compiled as C++ with this file included first, this folder
// first in the include path, and the macros of CMakeLists.txt.
//   EMU_SEED=n     another interleaving of warps, lanes and streams
//   EMU_DEVICES=n  GPUs that there are (1)
//   EMU_MIB=n      memory of a GPU (80 GiB)
//   EMU_PINNED_KIB=n  the largest array of pinned memory (no bound)
//   EMU_SHARED_KIB=n  shared memory that a block may ask for (227; 99 is sm_86 and sm_89)
//   EMU_YIELD=p    per cent of reads and atomics of global memory at which a thread lets others run
#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
extern "C" {
void __sanitizer_start_switch_fiber(void**, const void*, size_t);
void __sanitizer_finish_switch_fiber(void*, const void**, size_t*);
}
#define EMU_ASAN 1
#else
#define EMU_ASAN 0
#endif

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)

// ---- what the runtime's headers define ----------------------------------------------------------
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorUnsupportedPtxVersion = 222,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorLaunchFailure = 719
};
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
inline constexpr unsigned cudaEventBlockingSync = 1, cudaEventDisableTiming = 2,
                          cudaStreamNonBlocking = 1;
struct cudaDeviceProp {
  char name[256];
  int multiProcessorCount, l2CacheSize;
  size_t sharedMemPerBlockOptin, totalGlobalMem;
};

namespace emu {

[[noreturn]] inline void die(const std::string& what) {
  std::fprintf(stderr, "emu: %s\n", what.c_str());
  std::abort();
}
inline long setting(const char* name, long otherwise) {
  const char* const value = std::getenv(name);
  return value ? std::atol(value) : otherwise;
}
inline std::mt19937& rng() {
  static std::mt19937 r(static_cast<unsigned>(setting("EMU_SEED", 1)));
  return r;
}
inline unsigned below(unsigned n) { return static_cast<unsigned>(rng()() % n); }

// ---- fibers -------------------------------------------------------------------------------------
extern "C" void emu_switch(void** from, void* to);
#ifndef EMU_NO_ASM
asm(R"(
.text
.weak emu_switch
.type emu_switch,@function
emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");
#endif

enum class Wait { none, shuffle, ballot, warp, block, done };
inline const char* name(Wait w) {
  static const char* const names[] = {"running",    "a shuffle",     "a ballot",
                                      "__syncwarp", "__syncthreads", "its end"};
  return names[static_cast<int>(w)];
}

struct Block;
struct Fiber {
  void* sp = nullptr;
  char* stack = nullptr;
  Block* block = nullptr;
  uint3 thread{};
  Wait wait = Wait::none;
  unsigned mask = 0;
  std::uint64_t given = 0, got = 0;  // of a collective
  int source = 0;                    // lane, for shuffles
};

inline constexpr std::size_t stack_bytes = 128 << 10;

struct Machine;
inline thread_local Fiber* current = nullptr;
inline thread_local void* scheduler_sp = nullptr;
inline thread_local const void* main_stack = nullptr;
inline thread_local size_t main_stack_size = 0;

struct Block {
  uint3 index{};
  dim3 size, grid;
  std::vector<Fiber*> threads;
  std::vector<float4> shared;  // as the launch asked, and a guard
  std::size_t shared_bytes = 0;
  unsigned left = 0;
  // For races.hpp.
  std::uint32_t launch = 0, epoch = 1;
  std::vector<std::uint32_t> warp_epochs;
};

inline Fiber& self() {
  if (!current) die("device code outside of a kernel");
  return *current;
}

inline void to_scheduler() {
  Fiber* const me = current;
#if EMU_ASAN
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(me->wait == Wait::done ? nullptr : &fake, main_stack,
                                 main_stack_size);
#endif
  emu_switch(&me->sp, scheduler_sp);
#if EMU_ASAN
  __sanitizer_finish_switch_fiber(fake, &main_stack, &main_stack_size);
#endif
}

inline void maybe_yield() {
  static const unsigned per_cent = static_cast<unsigned>(setting("EMU_YIELD", 2));
  if (current && per_cent != 0 && below(100) < per_cent) to_scheduler();
}

inline std::uint64_t collective(Wait kind, unsigned mask, std::uint64_t given, int source) {
  Fiber& me = self();
  const unsigned lane = me.thread.x % 32;
  if (kind != Wait::block && !(mask >> lane & 1)) die("a lane that is not in its own mask");
  me.wait = kind;
  me.mask = mask;
  me.given = given;
  me.source = source;
  to_scheduler();
  return me.got;
}

/// Runs a grid; some of its blocks at a time.
class Grid {
 public:
  Grid(dim3 grid, dim3 block, std::size_t shared, std::function<void()> body)
      : grid_(grid), block_(block), shared_(shared), body_(std::move(body)) {}

  void run() {
    static const unsigned at_a_time = static_cast<unsigned>(setting("EMU_BLOCKS", 8));
    Grid* const before = std::exchange(running_, this);
    unsigned next = 0;
    while (next < grid_.x || !blocks_.empty()) {
      while (next < grid_.x && blocks_.size() < at_a_time) start(next++);
      step();
    }
    running_ = before;
  }

 private:
  void start(unsigned index) {
    auto block = std::make_unique<Block>();
    block->index = {index, 0, 0};
    block->size = block_;
    block->grid = grid_;
    block->shared_bytes = shared_;
    block->shared.resize(shared_ / sizeof(float4) + 16);
    std::memset(static_cast<void*>(block->shared.data()), 0xff,
                block->shared.size() * sizeof(float4));
    block->left = block_.x;
    block->launch = launch_;
    block->warp_epochs.assign((block_.x + 31) / 32, 1);
    for (unsigned t = 0; t < block_.x; ++t) {
      Fiber* const f = take_fiber();
      f->block = block.get();
      f->thread = {t, 0, 0};
      f->wait = Wait::none;
      auto* top = reinterpret_cast<std::uintptr_t*>(f->stack + stack_bytes);
      *--top = 0;  // return address of the entry: none
      *--top = reinterpret_cast<std::uintptr_t>(&Grid::entry);
      top -= 6;
      f->sp = top;
      block->threads.push_back(f);
    }
    blocks_.push_back(std::move(block));
  }
  static void entry() {
#if EMU_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &main_stack, &main_stack_size);
#endif
    running_->body_();
    current->wait = Wait::done;
    to_scheduler();
    die("a fiber that has ended goes on");
  }

  /// Some warp goes on as far as it can.
  void step() {
    const unsigned b = below(static_cast<unsigned>(blocks_.size()));
    Block& block = *blocks_[b];
    const unsigned warps = (block.size.x + 31) / 32, first = below(warps);
    bool moved = false;
    for (unsigned w = 0; w < warps && !moved; ++w) moved = run_warp(block, (first + w) % warps);
    if (!moved) {
      // Another block may; if none can, it is a deadlock.
      for (auto& other : blocks_)
        for (unsigned w = 0; w < warps; ++w)
          if (other.get() != &block && run_warp(*other, w)) return;
      deadlock(block);
    }
    if (block.left == 0) {
      check_guard(block);
      for (Fiber* f : block.threads) free_fibers().push_back(f);
      blocks_.erase(blocks_.begin() + b);
    }
  }
  bool run_warp(Block& block, unsigned warp) {
    const unsigned from = warp * 32, lanes = std::min(32u, block.size.x - from);
    bool moved = false;
    const unsigned turn = below(lanes), forward = below(2);
    for (unsigned i = 0; i < lanes; ++i) {
      const unsigned l = ((forward ? i : lanes - 1 - i) + turn) % lanes;
      Fiber* const f = block.threads[from + l];
      if (f->wait != Wait::none) continue;
      resume(f);
      moved = true;
      if (f->wait == Wait::done) --block.left;
    }
    return meet(block, from, lanes) || moved;
  }
  static void resume(Fiber* f) {
    current = f;
#if EMU_ASAN
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, f->stack, stack_bytes);
#endif
    emu_switch(&scheduler_sp, f->sp);
#if EMU_ASAN
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
    current = nullptr;
  }
  /// Collectives of which all have come.
  bool meet(Block& block, unsigned from, unsigned lanes) {
    bool met = false;
    for (unsigned l = 0; l < lanes; ++l) {
      Fiber* const f = block.threads[from + l];
      if (f->wait == Wait::none || f->wait == Wait::done || f->wait == Wait::block) continue;
      bool all = true;
      for (unsigned k = 0; k < lanes && all; ++k)
        if (f->mask >> k & 1) {
          Fiber* const other = block.threads[from + k];
          all = other->wait == f->wait && other->mask == f->mask;
        }
      if (f->mask >> 1 >> (lanes - 1) != 0) all = false;  // names lanes that are not there
      if (!all) continue;
      std::uint64_t bits = 0;
      for (unsigned k = 0; k < lanes; ++k)
        if (f->mask >> k & 1) bits |= (block.threads[from + k]->given & 1) << k;
      const Wait kind = f->wait;
      const unsigned mask = f->mask;
      static const bool shuffles_order = setting("EMU_SHUFFLES_ORDER", 0) != 0;
      if (kind == Wait::warp || shuffles_order) ++block.warp_epochs[from / 32];
      for (unsigned k = 0; k < lanes; ++k)
        if (mask >> k & 1) {
          Fiber* const g = block.threads[from + k];
          if (kind == Wait::shuffle) {
            const unsigned s = static_cast<unsigned>(g->source) % 32;
            if (!(mask >> s & 1)) die("a shuffle from a lane that is not in the mask");
            g->got = block.threads[from + s]->given;
          } else if (kind == Wait::ballot) {
            g->got = bits;
          }
        }
      for (unsigned k = 0; k < lanes; ++k)
        if (mask >> k & 1) block.threads[from + k]->wait = Wait::none;
      met = true;
    }
    // Barrier of the block: all threads that have not ended.
    unsigned at = 0;
    for (Fiber* f : block.threads) at += f->wait == Wait::block;
    if (at != 0 && at == block.left) {
      if (block.left != block.size.x) die("__syncthreads without threads that have ended");
      for (Fiber* f : block.threads) f->wait = Wait::none;
      ++block.epoch;
      met = true;
    }
    return met;
  }
  static void check_guard(const Block& block) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(block.shared.data());
    for (std::size_t i = block.shared_bytes; i < block.shared.size() * sizeof(float4); ++i)
      if (bytes[i] != 0xff) die("shared memory was written beyond what the launch asked for");
  }
  [[noreturn]] static void deadlock(const Block& block) {
    std::string text = "deadlock in block " + std::to_string(block.index.x) + ":";
    for (const Fiber* f : block.threads)
      text += " " + std::to_string(f->thread.x) + " at " + name(f->wait) + ";";
    die(text);
  }

  static std::vector<Fiber*>& free_fibers() {
    static std::vector<Fiber*> all;
    return all;
  }
  static Fiber* take_fiber() {
    auto& all = free_fibers();
    if (!all.empty()) {
      Fiber* const f = all.back();
      all.pop_back();
      return f;
    }
    auto* f = new Fiber;
    void* const memory = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) die("no memory for a stack");
    f->stack = static_cast<char*>(memory);
    return f;
  }

  static inline thread_local Grid* running_ = nullptr;
  static inline std::uint32_t launches_ = 0;
  std::uint32_t launch_ = ++launches_;
  dim3 grid_, block_;
  std::size_t shared_;
  std::function<void()> body_;
  std::vector<std::unique_ptr<Block>> blocks_;
};

inline float4* dynamic_shared() { return self().block->shared.data(); }

// ---- devices, streams, events -------------------------------------------------------------------
struct Event {
  int device;
  std::uint64_t recorded = 0, over = 0;
};
struct Op {
  std::function<bool()> ready;  // empty: always
  std::function<void()> work;
};
struct Stream {
  int device;
  std::deque<Op> ops;
};

struct World {
  std::recursive_mutex guard;
  std::list<Stream> streams;
  std::map<int, Stream*> default_streams;
  std::map<char*, std::size_t> pinned, device_memory;
  std::map<const void*, std::size_t> shared_limits;
  std::size_t used = 0;
  static World& get() {
    static World* const w = new World;  // never goes, as destructors of others need it
    return *w;
  }
  Stream* of(Stream* s, int device) {
    if (s) return s;
    Stream*& d = default_streams[device];
    if (!d) d = &streams.emplace_back(Stream{device, {}});
    return d;
  }
  /// One piece of work, of any stream. False when none can be done.
  bool step() {
    std::vector<Stream*> can;
    for (Stream& s : streams)
      if (!s.ops.empty() && (!s.ops.front().ready || s.ops.front().ready())) can.push_back(&s);
    if (can.empty()) return false;
    Stream& s = *can[below(static_cast<unsigned>(can.size()))];
    Op op = std::move(s.ops.front());
    s.ops.pop_front();
    op.work();
    return true;
  }
};
using Lock = std::unique_lock<std::recursive_mutex>;
inline Lock lock() {
  Lock l(World::get().guard);
  // Time goes by.
  for (unsigned n = below(4) == 0 ? below(4) : 0; n > 0; --n)
    if (!World::get().step()) break;
  return l;
}
template <class Done>
void until(Lock& l, Done done, const char* what) {
  int idle = 0;
  while (!done()) {
    if (World::get().step()) {
      idle = 0;
      continue;
    }
    if (++idle > 600000) die(std::string("waits in vain: ") + what);
    l.unlock();  // another thread may have to do something
    struct timespec t {
      0, 100'000
    };
    nanosleep(&t, nullptr);
    l.lock();
  }
}

inline thread_local int device = 0;
inline thread_local cudaError_t last_error = cudaSuccess;
inline cudaError_t fail(cudaError_t e) { return last_error = e; }
inline int devices() { return static_cast<int>(setting("EMU_DEVICES", 1)); }

inline bool is_pinned(const void* p) {
  auto& all = World::get().pinned;
  auto it = all.upper_bound(const_cast<char*>(static_cast<const char*>(p)));
  if (it == all.begin()) return false;
  --it;
  return static_cast<const char*>(p) < it->first + it->second;
}
inline bool is_of_device(const void* p) {
  auto& all = World::get().device_memory;
  auto it = all.upper_bound(const_cast<char*>(static_cast<const char*>(p)));
  if (it == all.begin()) return false;
  --it;
  return static_cast<const char*>(p) < it->first + it->second;
}
/// [p, p + bytes) must lie in memory of the device.
inline void on_device(const void* p, std::size_t bytes) {
  if (bytes == 0) return;
  auto& all = World::get().device_memory;
  auto it = all.upper_bound(const_cast<char*>(static_cast<const char*>(p)));
  if (it == all.begin() || static_cast<const char*>(p) + bytes > (--it)->first + it->second)
    die("a copy that is not within an array of the device");
}

/// Kernels as nvcc has compiled them to PTX (ptx_to_cpp.py), where a program is linked with them:
/// they run in place of those of the C++ compiler. Needs -rdynamic.
namespace ptx {
struct Kernel {
  const char* name;
  std::size_t bytes;  // of its parameters
  void (*run)(const unsigned char*);
};
#ifdef EMU_PTX
extern const Kernel kernels[];
inline const Kernel* find(const void* key) {
  Dl_info info{};
  if (key == nullptr || dladdr(key, &info) == 0 || info.dli_sname == nullptr) return nullptr;
  for (const Kernel* k = kernels; k->name != nullptr; ++k)
    if (std::strcmp(k->name, info.dli_sname) == 0) return k;
  die(std::string("no PTX of ") + info.dli_sname);
}
#else
inline const Kernel* find(const void*) { return nullptr; }
#endif
template <class... A>
std::vector<unsigned char> pack(std::size_t bytes, const A&... arguments) {
  std::vector<unsigned char> all(bytes);
  std::size_t at = 0;
  const auto put = [&](const auto& x) {
    at = (at + alignof(decltype(x)) - 1) / alignof(decltype(x)) * alignof(decltype(x));
    if (at + sizeof x > bytes) die("PTX: parameters differ");
    std::memcpy(all.data() + at, &x, sizeof x);
    at += sizeof x;
  };
  (put(arguments), ...);
  if (at != bytes) die("PTX: parameters differ");
  return all;
}
}  // namespace ptx

template <class Kernel, class... A>
void launch(Kernel kernel, const void* key, dim3 grid, dim3 block, std::size_t shared,
            Stream* stream, const A&... arguments) {
  auto l = lock();
  World& w = World::get();
  const auto limit = w.shared_limits.find(key);
  const std::size_t most = limit == w.shared_limits.end() ? 48 << 10 : limit->second;
  if (grid.x == 0 || block.x == 0 || block.x > 1024 || shared > most) {
    fail(cudaErrorInvalidValue);
    return;
  }
  if (stream && stream->device != device) {
    fail(cudaErrorInvalidResourceHandle);
    return;
  }
  const std::tuple<A...> values(arguments...);
  if (const ptx::Kernel* const compiled = ptx::find(key)) {
    const auto params = ptx::pack(compiled->bytes, arguments...);
    w.of(stream, device)->ops.push_back({{}, [=] {
                                           Grid(grid, block, shared, [&] {
                                             compiled->run(params.data());
                                           }).run();
                                         }});
    return;
  }
  w.of(stream, device)->ops.push_back({{}, [=] {
                                         Grid(grid, block, shared, [&] {
                                           std::apply(kernel, values);
                                         }).run();
                                       }});
}

struct Rows {  // of a 2D copy
  std::size_t pitch, width, height;
};
inline cudaError_t copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                        std::size_t width, std::size_t height, cudaMemcpyKind kind, Stream* s,
                        bool synchronous) {
  auto l = lock();
  World& w = World::get();
  if (s && s->device != device) return fail(cudaErrorInvalidResourceHandle);
  if (width > to_pitch || width > from_pitch) return fail(cudaErrorInvalidValue);
  if (width == 0 || height == 0) return cudaSuccess;
  Stream* const stream = w.of(s, device);
  const auto span = [&](std::size_t pitch) { return pitch * (height - 1) + width; };
  if (kind == cudaMemcpyDefault) {
    const bool from_device = is_of_device(from), to_device = is_of_device(to);
    kind = from_device ? (to_device ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost)
                       : (to_device ? cudaMemcpyHostToDevice : cudaMemcpyHostToHost);
  }
  if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice)
    on_device(from, span(from_pitch));
  if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice)
    on_device(to, span(to_pitch));
  const auto move = [=](const void* source, std::size_t pitch) {
    for (std::size_t r = 0; r < height; ++r)
      std::memcpy(static_cast<char*>(to) + r * to_pitch,
                  static_cast<const char*>(source) + r * pitch, width);
  };
  if (kind == cudaMemcpyHostToDevice && !is_pinned(from)) {
    // Staged at once, on its way when the call returns (CUDA: "the DMA to final destination may not
    // have completed", also of cudaMemcpy).
    auto staged = std::make_shared<std::vector<char>>(width * height);
    for (std::size_t r = 0; r < height; ++r)
      std::memcpy(staged->data() + r * width, static_cast<const char*>(from) + r * from_pitch,
                  width);
    stream->ops.push_back({{}, [=] { move(staged->data(), width); }});
    return cudaSuccess;
  }
  stream->ops.push_back({{}, [=] { move(from, from_pitch); }});
  if (synchronous || (kind == cudaMemcpyDeviceToHost && !is_pinned(to)))
    until(
        l, [&] { return stream->ops.empty(); }, "a copy");
  return cudaSuccess;
}

}  // namespace emu

using cudaStream_t = emu::Stream*;
using cudaEvent_t = emu::Event*;

// ---- the runtime's functions --------------------------------------------------------------------
inline cudaError_t cudaGetLastError() { return std::exchange(emu::last_error, cudaSuccess); }
inline const char* cudaGetErrorString(cudaError_t e) {
  switch (e) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorNotReady:
      return "device not ready";
    default:
      return "an error";
  }
}
inline cudaError_t cudaDriverGetVersion(int* v) {
  *v = 13000;
  return cudaSuccess;
}
inline cudaError_t cudaRuntimeGetVersion(int* v) {
  *v = 13000;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceCount(int* n) {
  *n = emu::devices();
  return *n == 0 ? emu::fail(cudaErrorNoDevice) : cudaSuccess;
}
inline cudaError_t cudaSetDevice(int d) {
  if (d < 0 || d >= emu::devices()) return emu::fail(cudaErrorInvalidDevice);
  emu::device = d;
  return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* d) {
  *d = emu::device;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  *p = {};
  std::strcpy(p->name, "emulated");
  p->multiProcessorCount = static_cast<int>(emu::setting("EMU_SMS", 2));
  p->l2CacheSize = 50 << 20;
  p->sharedMemPerBlockOptin = static_cast<std::size_t>(emu::setting("EMU_SHARED_KIB", 227)) << 10;
  p->totalGlobalMem = std::size_t{80} << 30;
  return cudaSuccess;
}
inline cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = static_cast<std::size_t>(emu::setting("EMU_MIB", 80 << 10)) << 20;
  *free = *total - std::min(*total, emu::World::get().used);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMalloc(T** p, std::size_t bytes) {
  auto l = emu::lock();
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  if (bytes > free) return emu::fail(cudaErrorMemoryAllocation);
  auto* const memory = static_cast<char*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  if (!memory) return emu::fail(cudaErrorMemoryAllocation);
  std::memset(memory, 0xff, bytes);  // NaN, and words that there are not
  emu::World::get().device_memory[memory] = bytes;
  emu::World::get().used += bytes;
  *p = reinterpret_cast<T*>(memory);
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* p) {
  auto l = emu::lock();
  auto& w = emu::World::get();
  // Waits for the device, as it does; EMU_FREE_AT_ONCE: to see who counts on that.
  if (emu::setting("EMU_FREE_AT_ONCE", 0) == 0)
    emu::until(
        l,
        [&] {
          for (emu::Stream& s : w.streams)
            if (!s.ops.empty() && s.device == emu::device) return false;
          return true;
        },
        "cudaFree");
  const auto it = w.device_memory.find(static_cast<char*>(p));
  if (it == w.device_memory.end()) emu::die("cudaFree of what is no array");
  w.used -= it->second;
  w.device_memory.erase(it);
  std::free(p);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMallocHost(T** p, std::size_t bytes) {
  auto l = emu::lock();
  if (bytes == 0) return emu::fail(cudaErrorInvalidValue);
  static const auto most = static_cast<std::size_t>(emu::setting("EMU_PINNED_KIB", 1 << 30)) << 10;
  if (bytes > most) return emu::fail(cudaErrorMemoryAllocation);
  auto* const memory = static_cast<char*>(std::malloc(bytes));
  std::memset(memory, 0xff, bytes);
  emu::World::get().pinned[memory] = bytes;
  *p = reinterpret_cast<T*>(memory);
  return cudaSuccess;
}
inline cudaError_t cudaFreeHost(void* p) {
  auto l = emu::lock();
  emu::World::get().pinned.erase(static_cast<char*>(p));
  std::free(p);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t n, cudaMemcpyKind kind,
                                   cudaStream_t s = nullptr) {
  return emu::copy(to, n, from, n, n, 1, kind, s, false);
}
inline cudaError_t cudaMemcpy2DAsync(void* to, std::size_t tp, const void* from, std::size_t fp,
                                     std::size_t w, std::size_t h, cudaMemcpyKind kind,
                                     cudaStream_t s = nullptr) {
  return emu::copy(to, tp, from, fp, w, h, kind, s, false);
}
inline cudaError_t cudaMemcpy2D(void* to, std::size_t tp, const void* from, std::size_t fp,
                                std::size_t w, std::size_t h, cudaMemcpyKind kind) {
  return emu::copy(to, tp, from, fp, w, h, kind, nullptr, true);
}
inline cudaError_t cudaMemsetAsync(void* p, int value, std::size_t n, cudaStream_t s = nullptr) {
  auto l = emu::lock();
  if (s && s->device != emu::device) return emu::fail(cudaErrorInvalidResourceHandle);
  emu::on_device(p, n);
  emu::World::get().of(s, emu::device)->ops.push_back({{}, [=] { std::memset(p, value, n); }});
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) {
  auto l = emu::lock();
  *s = &emu::World::get().streams.emplace_back(emu::Stream{emu::device, {}});
  return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t s) {
  auto l = emu::lock();
  s = emu::World::get().of(s, emu::device);
  emu::until(
      l, [&] { return s->ops.empty(); }, "cudaStreamSynchronize");
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() {
  auto l = emu::lock();
  emu::until(
      l,
      [&] {
        for (emu::Stream& s : emu::World::get().streams)
          if (s.device == emu::device && !s.ops.empty()) return false;
        return true;
      },
      "cudaDeviceSynchronize");
  return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t s) {  // what is in it is still done
  auto l = emu::lock();
  emu::until(
      l, [&] { return s->ops.empty(); }, "cudaStreamDestroy");
  emu::World::get().streams.remove_if([&](const emu::Stream& t) { return &t == s; });
  return cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) {
  *e = new emu::Event{emu::device};
  return cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t) {
  return cudaSuccess;
}  // kept: streams may hold it
inline cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s = nullptr) {
  auto l = emu::lock();
  s = emu::World::get().of(s, emu::device);
  if (e->device != s->device) return emu::fail(cudaErrorInvalidResourceHandle);
  const auto n = ++e->recorded;
  s->ops.push_back({{}, [=] { e->over = std::max(e->over, n); }});
  return cudaSuccess;
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned = 0) {
  auto l = emu::lock();
  const auto n = e->recorded;
  emu::World::get().of(s, emu::device)->ops.push_back({[=] { return e->over >= n; }, [] {}});
  return cudaSuccess;
}
inline cudaError_t cudaEventQuery(cudaEvent_t e) {
  auto l = emu::lock();
  if (emu::below(2)) emu::World::get().step();
  return e->over >= e->recorded ? cudaSuccess : emu::fail(cudaErrorNotReady);
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  auto l = emu::lock();
  emu::until(
      l, [&] { return e->over >= e->recorded; }, "cudaEventSynchronize");
  return cudaSuccess;
}
template <class... P>
cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments,
                             std::size_t shared = 0, cudaStream_t stream = nullptr) {
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    emu::launch(kernel, reinterpret_cast<const void*>(kernel), grid, block, shared, stream,
                *static_cast<P*>(arguments[i])...);
  }
  (std::index_sequence_for<P...>());
  return cudaGetLastError();
}
template <class K>
cudaError_t cudaFuncSetAttribute(K* kernel, cudaFuncAttribute, int value) {
  auto l = emu::lock();
  if (value < 0 || value > emu::setting("EMU_SHARED_KIB", 227) << 10)
    return emu::fail(cudaErrorInvalidValue);
  emu::World::get().shared_limits[reinterpret_cast<const void*>(kernel)] =
      static_cast<std::size_t>(value);
  return cudaSuccess;
}
template <class K>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, K*, int threads,
                                                          std::size_t shared) {
  *blocks = static_cast<int>(std::min<std::size_t>(
      {32, 2048u / static_cast<unsigned>(threads),
       (static_cast<std::size_t>(emu::setting("EMU_SHARED_KIB", 227) + 1) << 10) /
           (shared + 1024)}));
  return cudaSuccess;
}

// ---- device code --------------------------------------------------------------------------------
#define threadIdx (::emu::self().thread)
#define blockIdx (::emu::self().block->index)
#define blockDim (::emu::self().block->size)
#define gridDim (::emu::self().block->grid)

namespace emu {
template <class T>
std::uint64_t bits(T value) {
  static_assert(sizeof(T) <= 8);
  std::uint64_t b = 0;
  std::memcpy(&b, &value, sizeof value);
  return b;
}
template <class T>
T value(std::uint64_t b) {
  T v;
  std::memcpy(&v, &b, sizeof v);
  return v;
}
}  // namespace emu

inline void __syncthreads() { emu::collective(emu::Wait::block, 0, 0, 0); }
inline void __syncwarp(unsigned mask = 0xffffffff) { emu::collective(emu::Wait::warp, mask, 0, 0); }
template <class T>
T __shfl_sync(unsigned mask, T v, int lane) {
  return emu::value<T>(emu::collective(emu::Wait::shuffle, mask, emu::bits(v), lane));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T v, int with) {
  return emu::value<T>(emu::collective(emu::Wait::shuffle, mask, emu::bits(v),
                                       static_cast<int>(threadIdx.x % 32) ^ with));
}
inline unsigned __ballot_sync(unsigned mask, bool v) {
  return static_cast<unsigned>(emu::collective(emu::Wait::ballot, mask, v, 0));
}
namespace emu {
template <class T>
T read_global(const T* p) {  // as a read that another thread's atomic may cross
  return __atomic_load_n(p, __ATOMIC_RELAXED);
}
inline float read_global(const float* p) {
  float v;
  __atomic_load(p, &v, __ATOMIC_RELAXED);
  return v;
}
inline void add_global(float* p, float v) {
  float old = read_global(p), sum;
  do sum = old + v;
  while (!__atomic_compare_exchange(p, &old, &sum, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}
template <class V>
void aligned(const V* p) {
  if (reinterpret_cast<std::uintptr_t>(p) % alignof(V) != 0) die("an access that is not aligned");
}
}  // namespace emu
inline float __ldcg(const float* p) {
  emu::maybe_yield();
  return emu::read_global(p);
}
inline float2 __ldcg(const float2* p) {
  emu::maybe_yield();
  emu::aligned(p);
  return {emu::read_global(&p->x), emu::read_global(&p->y)};
}
inline float4 __ldcg(const float4* p) {
  emu::maybe_yield();
  emu::aligned(p);
  return {emu::read_global(&p->x), emu::read_global(&p->y), emu::read_global(&p->z),
          emu::read_global(&p->w)};
}
inline void atomicAdd(float* p, float v) {
  emu::maybe_yield();
  emu::add_global(p, v);
}
inline void atomicAdd(float2* p, float2 v) {
  emu::maybe_yield();
  emu::aligned(p);
  emu::add_global(&p->x, v.x);
  emu::add_global(&p->y, v.y);
}
inline void atomicAdd(float4* p, float4 v) {
  emu::maybe_yield();
  emu::aligned(p);
  emu::add_global(&p->x, v.x);
  emu::add_global(&p->y, v.y);
  emu::add_global(&p->z, v.z);
  emu::add_global(&p->w, v.w);
}
inline void atomicAdd(double* p, double v) {
  double old, sum;
  __atomic_load(p, &old, __ATOMIC_RELAXED);
  do sum = old + v;
  while (!__atomic_compare_exchange(p, &old, &sum, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}
inline unsigned atomicAdd(unsigned* p, unsigned v) {
  emu::maybe_yield();
  return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __fdividef(float x, float y) { return x / y; }
