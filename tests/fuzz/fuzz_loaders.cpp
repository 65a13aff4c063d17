// Loads changed files: fuzz_loaders LOADER|all [INPUTS [SEED]]. Input number i is a function of the
// seed and i, so that every failure comes again. Ends with 1 when a loader throws anything but
// wordloom::Error, allocates more than the size of the file justifies, or takes a changed file of a
// format with a checksum. Crashes and races are for the sanitizers to find, hangs for a timer.
#include <malloc.h>
#include <sys/mman.h>
#include <sys/time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "fuzz/loaders.hpp"
#include "fuzz/mutator.hpp"

// All memory is counted: `operator new` of this program and its libraries, and by the linker
// (-Wl,--wrap) what this file calls itself.
namespace {

std::atomic<std::size_t> allocated{0}, most_allocated{0};  // bytes

void count(std::size_t bytes) {
  const std::size_t now = allocated += bytes;
  if (now > most_allocated) most_allocated = now;
}

}  // namespace

extern "C" {
void* __real_malloc(std::size_t);
void* __real_realloc(void*, std::size_t);
void* __real_aligned_alloc(std::size_t, std::size_t);
void __real_free(void*);
void* __real_mmap(void*, std::size_t, int, int, int, off_t);

void* __wrap_malloc(std::size_t size) {
  void* const p = __real_malloc(size);
  count(::malloc_usable_size(p));
  return p;
}
void* __wrap_realloc(void* old, std::size_t size) {
  const std::size_t before = ::malloc_usable_size(old);
  void* const p = __real_realloc(old, size);
  if (p != nullptr) {
    allocated -= before;
    count(::malloc_usable_size(p));
  }
  return p;
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t size) {
  void* const p = __real_aligned_alloc(alignment, size);
  count(::malloc_usable_size(p));
  return p;
}
void __wrap_free(void* p) {
  allocated -= ::malloc_usable_size(p);
  __real_free(p);
}
void* __wrap_mmap(void* at, std::size_t size, int protection, int flags, int file, off_t offset) {
  if ((flags & MAP_ANONYMOUS) != 0) {  // for a moment: munmap is not told what was a file
    count(size);
    allocated -= size;
  }
  return __real_mmap(at, size, protection, flags, file, offset);
}
}

void* operator new(std::size_t size) {
  if (void* const p = std::malloc(size != 0 ? size : 1)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace {

/// A row of one float takes 64 bytes and at least two bytes of a file, a byte of a .gz text holds
/// up to 1032.
std::size_t justified(const Loader& loader, const std::string& file) {
  const bool may_be_gzip = wordloom::detail::has_gzip_magic(file) || loader.name == "gzip" ||
                           loader.name == "text" || loader.name.starts_with("edge_list");
  // Buffers, with which a file of contexts, a vocabulary or phrases are made again.
  const bool writes =
      loader.name == "contexts" || loader.name == "vocabulary" || loader.name == "phrases";
  const std::size_t fixed = std::size_t{1} << (writes ? 22 : 14);
  return fixed + file.size() * (may_be_gzip ? 2 * 1032 : 64);
}

/// Ends the program by SIGVTALRM if it uses so much processor time before the next call: it hangs.
void end_after_cpu_seconds(time_t seconds) {
  const itimerval timer{{}, {seconds, 0}};
  ::setitimer(ITIMER_VIRTUAL, &timer, nullptr);
}

void check(const Loader& loader, std::uint64_t seed, std::uint64_t number) {
  wordloom::Random random(seed, number);
  const std::string bytes = mutated(loader.samples, random);
  const std::size_t before = allocated;
  most_allocated = before;
  try {
    loader.check(bytes);
    if (most_allocated - before > justified(loader, bytes))
      throw FuzzFailure("it allocates " + std::to_string(most_allocated - before) +
                        " bytes for a file of " + std::to_string(bytes.size()));
  } catch (const std::exception& error) {
    throw FuzzFailure(loader.name + ", seed " + std::to_string(seed) + ", input " +
                      std::to_string(number) + ": " + error.what());
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 4) throw FuzzFailure("usage: fuzz_loaders LOADER|all [INPUTS [SEED]]");
  const std::uint64_t inputs = argc > 2 ? std::stoull(argv[2]) : 1000;
  const std::uint64_t seed = argc > 3 ? std::stoull(argv[3]) : 1;
  const TemporaryFolder folder;
  bool found = false;
  for (const Loader& loader : all_loaders(folder)) {
    if (argv[1] != std::string_view("all") && argv[1] != loader.name) continue;
    found = true;
    for (const std::string& sample : loader.samples) {
      write_file(loader.path, sample);
      loader.load(loader.path);
    }
    for (std::uint64_t number = 0; number < inputs; ++number) {
      if (number % 1024 == 0) end_after_cpu_seconds(60);
      check(loader, seed, number);
    }
    std::printf("%s: %llu inputs\n", loader.name.c_str(), static_cast<unsigned long long>(inputs));
    std::fflush(stdout);
  }
  if (!found) throw FuzzFailure("no loader is called " + std::string(argv[1]));
} catch (const std::exception& error) {
  std::fprintf(stderr, "fuzz_loaders: %s\n", error.what());
  return 1;
}
