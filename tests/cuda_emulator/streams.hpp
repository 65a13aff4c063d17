#pragma once
// Devices, streams and events: work is done late and in any order that events allow.
#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "fibers.hpp"

namespace emu {

struct Event {
  int device;
  std::uint64_t recorded = 0, over = 0;
};
struct Op {
  std::function<bool()> ready;  // empty: always
  std::function<void()> work;
  bool is_last = false;  // is done when nothing else can be
};
struct Graph {
  int device;
  std::vector<Op> ops;
  std::size_t launches = 0;  // in progress
};
struct Stream {
  int device;
  std::deque<Op> ops;
  int priority = 0;            // below 0: urgent
  Graph* recording = nullptr;  // which has what is submitted

  void push(Op op) {
    if (recording != nullptr)
      recording->ops.push_back(std::move(op));
    else
      ops.push_back(std::move(op));
  }
};

struct World {
  std::recursive_mutex guard;
  std::list<Stream> streams;
  std::map<int, Stream*> default_streams;
  std::map<char*, std::size_t> pinned, device_memory;
  std::map<char*, std::size_t> unopened;  // of the device, see allocate
  std::map<const void*, std::size_t> shared_limits;
  std::size_t used = 0;
  std::size_t waits = 0;   // calls of the host that wait for a device
  std::size_t calls = 0;   // of the host
  std::thread::id holder;  // who holds the runtime's lock, which other threads' calls wait for
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
    const auto is_last = [](const Stream* s) { return s->ops.front().is_last; };
    if (!std::all_of(can.begin(), can.end(), is_last)) std::erase_if(can, is_last);
    if (can.empty()) return false;
    Stream& s = *can[below(static_cast<unsigned>(can.size()))];
    Op op = std::move(s.ops.front());
    s.ops.pop_front();
    op.work();
    return true;
  }
};
using Lock = std::unique_lock<std::recursive_mutex>;
inline thread_local int device = 0;
inline thread_local bool records = false;  // whether this thread records a graph
/// Waits, copies of pageable memory, and what makes or frees an array.
inline void not_while_recording(const char* call) {
  if (records) die(std::string("while a graph is recorded: ") + call);
}
inline void sleep(Lock& l) {  // another thread may have to do something
  l.unlock();
  struct timespec t {
    0, 100'000
  };
  nanosleep(&t, nullptr);
  l.lock();
}
inline Lock lock() {
  Lock l(World::get().guard);
  ++World::get().calls;
  const std::thread::id& holder = World::get().holder;
  while (holder != std::thread::id() && holder != std::this_thread::get_id()) sleep(l);
  // Time goes by.
  for (unsigned n = below(4) == 0 ? below(4) : 0; n > 0; --n)
    if (!World::get().step()) break;
  return l;
}
template <class Done>
void until(Lock& l, Done done, const char* what, int patience = 600'000) {
  not_while_recording(what);
  ++World::get().waits;
  int idle = 0;
  while (!done()) {
    if (World::get().step()) {
      idle = 0;
      continue;
    }
    if (++idle > patience) die(std::string("waits in vain: ") + what);
    sleep(l);
  }
}

inline thread_local cudaError_t last_error = cudaSuccess;
inline cudaError_t fail(cudaError_t e) { return last_error = e; }
inline bool device_is_idle() {
  for (const Stream& s : World::get().streams)
    if (s.device == device && !s.ops.empty()) return false;
  return true;
}
/// What a call does that makes or frees an array, with the lock of the runtime: no other thread can
/// start then what the device's work may need. EMU_FREE_AT_ONCE: nothing.
inline void wait_for_device(Lock& l, const char* call) {
  not_while_recording(call);
  if (setting("EMU_FREE_AT_ONCE", 0) != 0) return;
  World::get().holder = std::this_thread::get_id();
  until(l, device_is_idle, call, 100'000);
  World::get().holder = {};
}
inline std::size_t memory_of_device() {
  return static_cast<std::size_t>(setting("EMU_KIB", 80 << 20)) << 10;
}
/// Returns memory of the device that nobody may access before `open`, or null where there is no
/// more.
inline char* allocate(std::size_t bytes) {
  World& w = World::get();
  if (w.used + bytes > memory_of_device()) return nullptr;
  void* const memory =
      mmap(nullptr, std::max<std::size_t>(bytes, 1), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  w.used += bytes;
  w.unopened[static_cast<char*>(memory)] = bytes;
  return static_cast<char*>(memory);
}
inline void open(char* memory, std::size_t bytes) {
  mprotect(memory, bytes, PROT_READ | PROT_WRITE);
  std::memset(memory, 0xff, bytes);  // NaN, and words that there are not
  World::get().unopened.erase(memory);
  World::get().device_memory[memory] = bytes;
}
inline void release(void* p) {
  auto& arrays = World::get().device_memory;
  const auto it = arrays.find(static_cast<char*>(p));
  if (it == arrays.end()) die("frees what is no array");
  World::get().used -= it->second;
  munmap(p, std::max<std::size_t>(it->second, 1));
  arrays.erase(it);
}
inline constexpr int runtime_version = 13000;
inline int devices() { return static_cast<int>(setting("EMU_DEVICES", 1)); }

inline bool is_in(const std::map<char*, std::size_t>& arrays, const void* p) {
  auto it = arrays.upper_bound(const_cast<char*>(static_cast<const char*>(p)));
  if (it == arrays.begin()) return false;
  --it;
  return static_cast<const char*>(p) < it->first + it->second;
}
inline bool is_pinned(const void* p) { return is_in(World::get().pinned, p); }
inline bool is_of_device(const void* p) {
  if (is_in(World::get().unopened, p)) die("uses memory before cudaMallocAsync has made it");
  return is_in(World::get().device_memory, p);
}
/// [p, p + bytes) must lie in memory of the device.
inline void on_device(const void* p, std::size_t bytes) {
  if (bytes == 0) return;
  auto& all = World::get().device_memory;
  auto it = all.upper_bound(const_cast<char*>(static_cast<const char*>(p)));
  if (it == all.begin() || static_cast<const char*>(p) + bytes > (--it)->first + it->second)
    die("a copy that is not within an array of the device");
}

/// Kernels as nvcc has compiled them to PTX (ptx_to_cpp.py): where a program is linked with them
/// they run in place of those of the C++ compiler. Such a program needs -rdynamic.
namespace ptx {
struct Kernel {
  const char* name;
  std::size_t bytes;  // of its parameters
  void (*run)(const unsigned char* parameters);
};
extern const Kernel kernels[] __attribute__((weak));  // the last has no name

/// Returns null in a program without PTX.
inline const Kernel* find(const void* key) {
  if (kernels == nullptr) return nullptr;
  Dl_info info{};
  if (dladdr(key, &info) == 0 || info.dli_sname == nullptr) die("PTX: a kernel without a name");
  for (const Kernel* k = kernels; k->name != nullptr; ++k)
    if (std::strcmp(k->name, info.dli_sname) == 0) return k;
  die(std::string("PTX: there is none of ") + info.dli_sname);
}
/// Returns the arguments as a kernel finds them: in order, each aligned.
template <class... A>
std::vector<unsigned char> pack(std::size_t bytes, const A&... arguments) {
  std::vector<unsigned char> all(bytes);
  std::size_t at = 0;
  const auto put = [&]<class T>(const T& argument) {
    at = (at + alignof(T) - 1) / alignof(T) * alignof(T);
    if (at + sizeof(T) > bytes) die("PTX: a kernel has other parameters than its launch");
    std::memcpy(all.data() + at, &argument, sizeof(T));
    at += sizeof(T);
  };
  (put(arguments), ...);
  if (at != bytes) die("PTX: a kernel has other parameters than its launch");
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
  if (const ptx::Kernel* const compiled = ptx::find(key)) {
    const auto parameters = ptx::pack(compiled->bytes, arguments...);
    w.of(stream, device)->push({{}, [=] {
                                  Grid(grid, block, shared, [&] {
                                    compiled->run(parameters.data());
                                  }).run();
                                }});
    return;
  }
  const std::tuple<A...> values(arguments...);
  w.of(stream, device)->push({{}, [=] {
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
  static const bool late = setting("EMU_PAGEABLE_LATE", 0) != 0;
  if ((kind == cudaMemcpyHostToDevice && !is_pinned(from)) ||
      (kind == cudaMemcpyDeviceToHost && !is_pinned(to)))
    not_while_recording("a copy of pageable memory");
  if (kind == cudaMemcpyHostToDevice && !is_pinned(from) && !late) {
    // Staged at once, on its way when the call returns (CUDA: "the DMA to final destination may not
    // have completed", also of cudaMemcpy).
    auto staged = std::make_shared<std::vector<char>>(width * height);
    for (std::size_t r = 0; r < height; ++r)
      std::memcpy(staged->data() + r * width, static_cast<const char*>(from) + r * from_pitch,
                  width);
    stream->push({{}, [=] { move(staged->data(), width); }});
    return cudaSuccess;
  }
  stream->push({{}, [=] { move(from, from_pitch); }});
  if (synchronous || (kind == cudaMemcpyDeviceToHost && !is_pinned(to) && !late))
    until(
        l, [&] { return stream->ops.empty(); }, "a copy");
  return cudaSuccess;
}

}  // namespace emu
