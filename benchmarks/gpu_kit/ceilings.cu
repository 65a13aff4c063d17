// The bounds of training on a GPU, measured on the device at hand, as one JSON object a line:
// bandwidths of copies, of rows read and added to at random in tables of several sizes, of rows
// that many warps add to at once, and the cost of launches, waits and copies. About five seconds.
// `ceilings 1000` measures with a thousandth of the work. Returns 77 where there is no device.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "support/device_speed.cuh"

namespace {

using namespace device_speed;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point t) {
  return std::chrono::duration<double>(Clock::now() - t).count();
}

void print(const std::string& what, double value, const char* unit) {
  std::printf("{\"what\": \"%s\", \"value\": %.4g, \"unit\": \"%s\"}\n", what.c_str(), value, unit);
  std::fflush(stdout);
}

__global__ void shuffle(int times, float* sink) {
  float v[8];
  for (int i = 0; i < 8; ++i) v[i] = static_cast<float>(threadIdx.x + static_cast<unsigned>(i));
  for (int t = 0; t < times; ++t)
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] += __shfl_xor_sync(0xffffffff, v[i], 16 >> (i % 5));
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += v[i];
  if (sum == 1) *sink = sum;
}

__global__ void nothing() {}

/// `part`: the divisor of the work.
void run(const cudaDeviceProp& found, std::size_t part) {
  const Clock::time_point begin = Clock::now();
  check(cudaFree(nullptr));
  print("first context", since(begin), "s");
  print(std::string(found.name) + ", multiprocessors", found.multiProcessorCount, "");
  print("second-level cache", found.l2CacheSize / 1e6, "MB");
  const auto grid = static_cast<std::size_t>(8 * found.multiProcessorCount);
  const Zeros<float> sink(1);

  {  // Copies and reads, large and in the cache
    const std::size_t bytes = (std::size_t{2} << 30) / part / 512 * 512;
    const Zeros<float4> a(bytes / 16), b(bytes / 16);
    const double copy =
        seconds_of([&] { check(cudaMemcpyAsync(b.data(), a.data(), bytes, cudaMemcpyDefault)); });
    print("copy on the device, bytes read and written",
          2 * static_cast<double>(bytes) / copy / 1e12, "TB/s");
    for (const std::size_t mebibytes : {8, 16, 32, 70, 2048}) {
      const std::size_t size = (mebibytes << 20) / part / 512 * 512;
      const auto times = static_cast<int>(std::max<std::size_t>(1, 4 * bytes / part / size));
      const double seconds = seconds_of([&] {
        launch(read_all, grid, 256, 0, nullptr, a.data(), size / 16, times, sink.data());
      });
      print("read in order, " + std::to_string(mebibytes) + " MiB",
            static_cast<double>(size) * times / seconds / 1e12, "TB/s");
    }
  }

  const auto rates = [&](const std::string& name, std::size_t rows, double power, double subsample,
                         bool all) {
    const std::size_t count = (std::size_t{6} << 19) / part;
    rows = (rows + part - 1) / part;
    const auto ids = draw_rows(rows, count, power, subsample);
    const Zeros<std::uint32_t> on_device(count);
    check(cudaMemcpy(on_device.data(), ids.data(), count * 4, cudaMemcpyDefault));
    const Zeros<float> table(rows * row);
    const auto rate = [&](auto kernel, const std::string& what, std::size_t blocks,
                          std::size_t threads) {
      const double seconds = seconds_of([&] {
        launch(kernel, blocks, threads, 0, nullptr, table.data(), on_device.data(),
               static_cast<std::uint32_t>(count), sink.data());
      });
      print(what + ", " + name, static_cast<double>(count) * 512 / seconds / 1e12, "TB/s of rows");
    };
    rate(rows_at_random<RowWork::add>, "add by vectors", grid, 256);
    rate(rows_at_random<RowWork::read_and_add>, "read and add", grid, 256);
    // As few warps as there are sentences in flight by default: eight a multiprocessor.
    rate(rows_at_random<RowWork::read_then_add>, "read, then add, 8 warps a multiprocessor",
         grid / 4, 128);
    if (all) {
      rate(rows_at_random<RowWork::read>, "read", grid, 256);
      rate(rows_at_random<RowWork::add_floats>, "add by floats", grid, 256);
    }
  };
  rates("24,000 rows at random (12 MB)", 24'000, 0, 0, true);
  rates("68,000 rows at random (35 MB)", 68'000, 0, 0, true);
  rates("136,000 rows at random (70 MB)", 136'000, 0, 0, true);
  rates("2,000,000 rows at random (1 GB)", 2'000'000, 0, 0, true);
  rates("68,000 rows as negatives are", 68'000, 0.75, 0, true);
  rates("68,000 rows as kept words are (sample 1e-4)", 68'000, 1, 1e-4, true);
  rates("68,000 rows as words are (no subsampling)", 68'000, 1, 0, false);
  rates("100 rows", 100, 0, 0, false);
  rates("1 row", 1, 0, 0, false);

  {  // Arithmetic
    const auto times = static_cast<int>(20'000 / part);
    const double multiply = seconds_of(
        [&] { launch(multiply_add, grid, 256, 0, nullptr, times, 0.999f, sink.data()); });
    print("fp32", 2.0 * 16 * times * static_cast<double>(grid) * 256 / multiply / 1e12, "TFLOP/s");
    const double shuffles =
        seconds_of([&] { launch(shuffle, grid, 256, 0, nullptr, times, sink.data()); });
    print("shuffles with an addition each",
          8.0 * times * static_cast<double>(grid) * 8 / shuffles / 1e12, "tera of a warp/s");
  }
  {  // Launches, waits, copies
    const double gap = seconds_of([&] {
                         for (int i = 0; i < 1000; ++i) launch(nothing, 1, 32, 0, nullptr);
                       }) /
                       1000;
    print("launch of a kernel, one after the other", gap * 1e6, "us");
    const wordloom::cuda::Event sleeping;
    const auto wait_of = [&](bool sleeps) {
      std::vector<double> times(200);
      for (double& time : times) {
        const auto start = Clock::now();
        launch(nothing, 1, 32, 0, nullptr);
        if (sleeps) {
          sleeping.record(nullptr);
          sleeping.wait();
        } else {
          check(cudaDeviceSynchronize());
        }
        time = since(start);
      }
      std::sort(times.begin(), times.end());
      return times[100] * 1e6;
    };
    print("launch and wait, sleeping", wait_of(true), "us");
    print("launch and wait, spinning", wait_of(false), "us");
    const std::size_t bytes = 70'000'128 / part / 512 * 512, piece = (std::size_t{4} << 20) / part;
    const Zeros<char> on_device(bytes);
    const auto start_pinned = Clock::now();
    const wordloom::cuda::PinnedArray<char> pinned(piece);
    print("4 MiB of pinned memory made", since(start_pinned) * 1e6, "us");
    std::vector<char> pageable(bytes);
    const auto bandwidth = [&](const std::string& name, void* to, const void* from,
                               std::size_t size, int times) {
      check(cudaMemcpy(to, from, size, cudaMemcpyDefault));
      const auto start = Clock::now();
      for (int i = 0; i < times; ++i) check(cudaMemcpyAsync(to, from, size, cudaMemcpyDefault));
      check(cudaDeviceSynchronize());
      print(name, static_cast<double>(size) * times / since(start) / 1e9, "GB/s");
    };
    bandwidth("copy to the device, pinned, 4 MiB at a time", on_device.data(), pinned.data(), piece,
              100);
    bandwidth("copy to the host, pinned, 4 MiB at a time", pinned.data(), on_device.data(), piece,
              100);
    bandwidth("copy to the device, pageable, 70 MB", on_device.data(), pageable.data(), bytes, 4);
    bandwidth("copy to the host, pageable, 70 MB", pageable.data(), on_device.data(), bytes, 4);
    // As a model is copied back: rows with padding on the host.
    const auto start = Clock::now();
    check(cudaMemcpy2DAsync(pageable.data(), 512, on_device.data(), 512, 512, bytes / 512,
                            cudaMemcpyDefault));
    check(cudaDeviceSynchronize());
    print("copy to the host, pageable, 70 MB in rows of 512 bytes",
          static_cast<double>(bytes) / since(start) / 1e9, "GB/s");
  }
  print("all of this took", since(begin), "s");
}

}  // namespace

int main(int argc, char** argv) try {
  cudaDeviceProp found;
  try {
    found = wordloom::cuda::use_device(0);
  } catch (const wordloom::DeviceError& error) {
    std::printf("skipped: %s\n", error.what());
    return 77;
  }
  run(found, argc > 1 ? std::max<std::size_t>(1, std::strtoull(argv[1], nullptr, 10)) : 1);
} catch (const std::exception& error) {
  std::fprintf(stderr, "ceilings: %s\n", error.what());
  return 1;
}
