#!/usr/bin/env bash
# Installs what is missing, builds the programs and the tests, and runs these.
# Usage: cmake/test.sh [PRESET], `release` without. WORDLOOM_WERROR=ON makes warnings errors.
#        Code for GPUs is compiled and tested where a GPU answers.
#        cmake/test.sh long, after `release`: the reference by Doxygen, clang-tidy, the tests of
#        edges under the sanitizers and by Clang, many changed files for the loaders, the benchmarks
#        and their tests, the library as installed and as a subfolder, each header on its own,
#        killed runs of all compositions, code for GPUs by nvcc, and on an emulated GPU: as it is,
#        under sanitizers, without each of its barriers and as nvcc compiled it, and ratios of
#        speeds.
#        WORDLOOM_FUZZ_INPUTS and WORDLOOM_KILLS say how many of each. Takes 20 to 50 minutes.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/install_packages.sh"

# check PRESET PROGRAM...: builds only these programs of the tests, and runs them side by side.
check() {
  local preset=$1 program process arguments running=()
  shift
  configure "$preset" -DWORDLOOM_BUILD_TESTS=ON -DWORDLOOM_BUILD_EXAMPLES=OFF \
    -DWORDLOOM_BUILD_BENCHMARKS=OFF -DWORDLOOM_WERROR="${WORDLOOM_WERROR:-OFF}"
  run cmake --build --preset "$preset" --parallel "$jobs" --target "$@"
  for program in "$@"; do
    arguments=()
    if [ "$program" = fuzz_loaders ]; then
      program=fuzz/$program
      arguments=(all "${WORDLOOM_FUZZ_INPUTS:-10000}")
    fi
    run "build/$preset/tests/$program" "${arguments[@]}" &
    running+=($!)
  done
  for process in "${running[@]}"; do wait "$process"; done
}

# require RATIO SLOW FAST BENCHMARK OPTION...: fails unless row FAST of the benchmark is at least
# that many times as fast as row SLOW, by the medians of runs in alternation.
require() {
  local ratio=$1 slow=$2 fast=$3 benchmark=$4
  shift 4
  run "build/release/benchmarks/$benchmark" "$@" --benchmark_filter="^($slow|$fast)(/|\$)" \
    --benchmark_repetitions=5 --benchmark_enable_random_interleaving=true \
    --benchmark_report_aggregates_only=true --benchmark_format=csv |
    awk -F , -v slow="$slow" -v fast="$fast" -v ratio="$ratio" '
      { print }
      /_median"/ && $1 ~ "^\"" slow "[/_]" { of_slow = $3 }
      /_median"/ && $1 ~ "^\"" fast "[/_]" { of_fast = $3 }
      END {
        printf "%s over %s: %.2f, at least %s\n", fast, slow, of_slow / of_fast, ratio
        exit !(of_slow >= ratio * of_fast)
      }'
}

# Whether there is training on GPUs is found out anew, whatever an earlier configuration said.
options=(-U 'WORDLOOM_ENABLE_CU*' -U WORDLOOM_ENABLE_NCCL)
has_gpu() { nvidia-smi >/dev/null 2>&1; }

if [ "${1:-}" = long ]; then
  packages=(clang clang-tidy doxygen python3)
  install_packages
  # What takes seconds comes first.
  configure release
  run cmake --build --preset release --target docs
  run clang-tidy --quiet tests/all_headers.cpp examples/tour.cpp -- -std=c++20 -Iinclude \
    -isystem /usr/include/eigen3 -DWORDLOOM_PRECOMPILED=1 -DWORDLOOM_FUNCTION=inline
  edges=(test_core test_corpus test_encoder test_graph test_io test_train_edges fuzz_loaders)
  check asan "${edges[@]}"
  check tsan test_graph test_train_edges
  check clang test_train_edges
  # Where there is nvcc, what it compiles the kernels to runs on the emulated device; where no GPU
  # runs it, the programs for one architecture show that nvcc takes the device code.
  has_gpu || options+=(-DCMAKE_CUDA_ARCHITECTURES=90)
  configure release "${options[@]}" -DWORDLOOM_BUILD_BENCHMARKS=ON \
    -DWORDLOOM_TEST_EMULATED=ON -DWORDLOOM_TEST_DEVICE=ON
  ptx=$(sed -n 's/^WORDLOOM_ENABLE_CUDA:BOOL=//p' build/release/CMakeCache.txt)
  configure release -DWORDLOOM_TEST_PTX="$ptx"
  run cmake --build --preset release --parallel "$jobs"
  run ctest --preset release --output-on-failure --parallel "$jobs" \
    --label-regex 'benchmark|emulated|gpu|install'
  run cmake --build --preset release --parallel "$jobs" --target wordloom_self_contained_headers
  runs=build/release/kills
  rm -rf "$runs"
  run build/release/examples/write_demo_corpus "$runs" 300000
  run python3 tests/kills/kill_runs.py "$PWD/build/release/examples/word2vec" "$PWD/$runs/text" \
    "$runs/runs" "${WORDLOOM_KILLS:-100}"
  run cmake --build --preset release --parallel "$jobs" --target \
    emulated_{address,races}{,_char_cnn,_columns,_vanilla}
  emulated=build/release/tests/cuda_emulator
  run "$emulated/emulated_races" &
  # Fibers are no leaks, and their stacks are no frames of one function.
  export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0
  run "$emulated/emulated_address"
  wait $!
  run "$emulated/emulated_address_vanilla" &
  run "$emulated/emulated_address_columns"
  run "$emulated/emulated_races_columns"
  run "$emulated/emulated_races_vanilla" adagrad
  wait $!
  run "$emulated/emulated_address_char_cnn"
  run "$emulated/emulated_races_char_cnn" train
  run tests/cuda_emulator/leave_out.sh "$emulated/emulated_on_device" cbow gemm
  run tests/cuda_emulator/leave_out.sh "$emulated/emulated_columns" run
  run tests/cuda_emulator/leave_out.sh "$emulated/emulated_vanilla" adam
  run tests/cuda_emulator/leave_out.sh "$emulated/emulated_char_cnn" fit train fail
  require 1.2 gemm/6x6x128/cached fused/6x6x128/cached bench_kernel
  require 2 hogwild.dot shared.fused bench_train --sampler hogwild shared --kernel dot fused
  exit
fi

preset=${1:-release}
has_gpu || options+=(-DWORDLOOM_ENABLE_CUDA=OFF)
options+=(-DWORDLOOM_BUILD_TESTS=ON -DWORDLOOM_BUILD_EXAMPLES=ON -DWORDLOOM_BUILD_BENCHMARKS=OFF
          -DWORDLOOM_TEST_EMULATED=OFF -DWORDLOOM_WERROR="${WORDLOOM_WERROR:-OFF}")
configure "$preset" "${options[@]}"
run cmake --build --preset "$preset" --parallel "$jobs"
run ctest --preset "$preset" --output-on-failure --parallel "$jobs" --label-exclude install
