#pragma once
// The threads of a grid as fibers: warp and block collectives meet here.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "types.hpp"

#if defined(__SANITIZE_ADDRESS__)
extern "C" {
void __sanitizer_start_switch_fiber(void**, const void*, size_t);
void __sanitizer_finish_switch_fiber(void*, const void**, size_t*);
}
#define EMU_ASAN 1
#else
#define EMU_ASAN 0
#endif

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

/// Whether a barrier or a wait is to be left out, to see that a test notices: EMU_OMIT=list prints
/// the places that call one, EMU_OMIT=place leaves that one out. A place is the address of the code
/// that is returned to, and for waits of the host the one above.
inline bool left_out(const void* place, const void* above) {
  static const char* const which = std::getenv("EMU_OMIT");
  if (which == nullptr) return false;
  char text[64];
  std::snprintf(text, sizeof text, "%p:%p", place, above);
  if (std::strcmp(which, "list") != 0) return std::strcmp(which, text) == 0;
  static std::mutex guard;
  static std::set<std::string> seen;
  const std::lock_guard lock(guard);
  if (seen.insert(text).second) std::fprintf(stderr, "emu: place %s\n", text);
  return false;
}
#define EMU_LEFT_OUT_ON_HOST \
  ::emu::left_out(__builtin_return_address(0), __builtin_return_address(1))

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
    die("resumed a fiber that has ended");
  }

  /// Resumes a warp until each of its lanes waits or has ended.
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
      if (bytes[i] != 0xff) die("a write beyond the shared memory of the launch");
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

}  // namespace emu
