#!/usr/bin/env bash
# Installs what is missing, builds the programs and the tests, and runs these.
# Usage: cmake/test.sh [PRESET]   `release` without. WORDLOOM_WERROR=ON makes warnings errors. Code
#                                 for GPUs is compiled and tested where a GPU answers. Takes 6 to 13
#                                 minutes on two cores.
#        cmake/test.sh long       after `release`, for each change, 12 to 40 minutes: the reference by
#                                 Doxygen, clang-tidy, the tests of edges under the sanitizers, those
#                                 of addresses by Clang, changed files for the loaders, the library
#                                 as installed, as a subfolder, in Python and with mixed flags, code
#                                 that must not compile, several processes, killed runs, code for
#                                 GPUs by nvcc, where it is, and on an emulated GPU, and ratios of
#                                 speeds.
#        cmake/test.sh full       before each release, for hours: all of these, the tests of edges
#                                 optimised by Clang, each header on its own, the benchmarks and
#                                 their tests, tests that train for minutes, more changed files and
#                                 killed runs, the quickstart on emulated processors (aarch64 with
#                                 and without SVE, RISC-V), the programs for Windows by MinGW and
#                                 Wine, the quickstart compiled for macOS, code for GPUs by nvcc, and on an
#                                 emulated GPU with more seeds, under sanitizers, without each of
#                                 its barriers and as nvcc compiled it. Writes
#                                 benchmarks/results/full-check.md.
#        WORDLOOM_FUZZ_INPUTS and WORDLOOM_KILLS say how many of each: 1000 and 10, of `full` 10000
#        and 100.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/install_packages.sh"

# check PRESET FOLDERS PROGRAM...: builds only these programs of the tests, and runs them side by
# side; test_together has the tests of these folders, without those of one thread that take long.
# None of them needs hnswlib.
check() {
  local preset=$1 folders=$2 program process arguments running=()
  shift 2
  configure "$preset" -DWORDLOOM_BUILD_TESTS=ON -DWORDLOOM_BUILD_EXAMPLES=OFF \
    -DWORDLOOM_BUILD_BENCHMARKS=OFF -DWORDLOOM_WERROR="${WORDLOOM_WERROR:-OFF}" \
    -DWORDLOOM_TEST_TOGETHER="$folders" -DWORDLOOM_ENABLE_HNSWLIB=OFF
  run cmake --build --preset "$preset" --parallel "$jobs" --target "$@"
  for program in "$@"; do
    arguments=()
    if [ "$program" = test_together ]; then arguments=('~[serial]'); fi
    if [ "$program" = fuzz_loaders ]; then
      program=fuzz/$program
      arguments=(all "$inputs")
    fi
    run "build/$preset/tests/$program" "${arguments[@]}" &
    running+=($!)
  done
  for process in "${running[@]}"; do wait "$process"; done
}

# require RATIO SLOW FAST: fails unless FAST is at least that many times as fast as SLOW, by the
# medians of three runs in alternation; input: lines of a name and a time.
require() {
  sort -k 1,1 -k 2,2g | awk -v ratio="$1" -v slow="$2" -v fast="$3" '
    { print; seconds[$1, ++runs[$1]] = $2 }
    END {
      if (runs[slow] != 3 || runs[fast] != 3) exit 1
      reached = seconds[slow, 2] / seconds[fast, 2]
      printf "%s over %s: %.2f, at least %s\n", fast, slow, reached, ratio
      exit !(reached >= ratio)
    }'
}

# time_kernels NAMES: prints the name and the time of each repetition; NAMES: a regular expression.
time_kernels() {
  build/release/benchmarks/bench_kernel --benchmark_filter="^$1\$" --benchmark_repetitions=3 \
    --benchmark_enable_random_interleaving=true --benchmark_format=csv |
    awk -F , '/^"[^_]*",/ { gsub(/"/, "", $1); print $1, $3 }'
}

# time_training WORDS TOKENS OPTION...: prints the sampler and the seconds of three runs of
# hogwild+dot and of shared+fused in alternation, on a random text.
time_training() {
  local text=build/release/large_vocabulary method
  build/release/benchmarks/make_text --output "$text" --words "$1" --tokens "$2" >&2
  shift 2
  for _ in 1 2 3; do
    for method in 'hogwild --kernel dot' 'shared --kernel fused'; do
      # shellcheck disable=SC2086
      build/release/examples/word2vec --train "$text" --threads 1 --json --quiet --iter 1 \
        --min-count 1 "$@" --sampler $method |
        sed -n 's/.*"train_seconds":\([^,]*\),.*"sampler":"\([^"]*\)".*/\2 \1/p'
    done
  done
}

# Whether there is training on GPUs is found out anew, whatever an earlier configuration said.
options=(-U 'WORDLOOM_ENABLE_CU*' -U WORDLOOM_ENABLE_NCCL)
has_gpu() { nvidia-smi >/dev/null 2>&1; }

preset=${1:-release}
depth=short
case $preset in long | full) depth=$preset preset=release ;; esac
has_gpu || [ "$depth" = full ] || options+=(-DWORDLOOM_ENABLE_CUDA=OFF)

# Configures, builds and runs the tests: one more than there are cores, as those that write
# checkpoints and caches wait for the disk.
build_and_test() {
  configure "$preset" "${options[@]}"
  run cmake --build --preset "$preset" --parallel "$jobs"
  run ctest --preset "$preset" --output-on-failure --parallel $((jobs + 1))
}

make_reference() { run cmake --build --preset release --target docs; }

# The loaders, and what trains on the edges of its inputs; by Clang, so that each change is compiled
# by both compilers. `full` takes encoders, too, and runs the edges by Clang without sanitizers.
sanitize_addresses() {
  local programs=(test_core test_corpus test_graph test_io test_train_edges fuzz_loaders)
  [ "$depth" = long ] || programs+=(test_encoder)
  check asan '' "${programs[@]}"
}
sanitize_threads() { check tsan 'graph;train_edges' test_together; }
run_clang_code() { check clang '' test_train_edges; }

kill_runs() {
  local runs=build/release/kills
  rm -rf "$runs"
  run build/release/examples/write_demo_corpus "$runs" 300000
  run python3 tests/kills/kill_runs.py "$PWD/build/release/examples/word2vec" "$PWD/$runs/text" \
    "$runs/runs" "$kills"
}

install_and_use() {
  run cmake --build --preset release --parallel "$jobs" --target wordloom_precompiled \
    wordloom_any_trainer word2vec word2phrase node2vec neighbours evaluate mixed_flags
  run ctest --preset release --output-on-failure --parallel "$jobs" \
    --tests-regex '^(compile_failure|install|mixed_flags)/'
}

run_ranks() {
  run cmake --build --preset release --parallel "$jobs" --target \
    mpi_failures mpi_row_allgather mpi_sums train_by_ranks word2vec node2vec evaluate write_demo_corpus
  run ctest --preset release --output-on-failure --parallel "$jobs" --label-regex mpi \
    --label-exclude benchmark
}

# The GPU trainers of word2vec by nvcc, where it is, and a program from the headers alone: for errors
# and warnings that other compilers do not have. Both take 40 seconds, as the first has one length of
# rows and is not optimised.
compile_gpu_code() {
  if ! command -v nvcc >/dev/null; then
    say "Skipped: there is no nvcc"
    return
  fi
  local options=(-std=c++20 --expt-relaxed-constexpr -Werror=all-warnings -Xcompiler=-Wall -ptx
                 -arch=sm_90 -DWORDLOOM_HAS_CUDA=1 -DHWY_SHARED_DEFINE -DWORDLOOM_UNOPTIMIZED
                 -Iinclude -Itests -Iexamples/support -Iexamples/programs
                 -isystem /usr/include/eigen3)
  run nvcc "${options[@]}" -O0 -DWORDLOOM_PRECOMPILED=1 -DWORDLOOM_CUDA_ROW_SIZES=4 \
    examples/programs/gpu.cu -o build/release/gpu_trainers.ptx
  if echo '#include <nccl.h>' | nvcc -x cu -E - >/dev/null 2>&1; then
    run nvcc "${options[@]}" -O3 tests/cuda/nccl_on_device.cu -o build/release/nccl_on_device.ptx
  fi
}

# `unkind` has the order of threads and copies that shows the most faults, on two devices where
# several are for several; nothing that compiles or runs a minute.
emulate_gpu() {
  compile_gpu_code
  run cmake --build --preset release --parallel "$jobs" --target \
    test_cuda emulated_{on_device,nccl,columns,vanilla,edges,ceilings,time_kernel} \
    word2vec evaluate write_demo_corpus
  run ctest --preset release --output-on-failure --parallel "$jobs" --label-regex emulated \
    --exclude-regex '/devices:[123]$|/seed:[12]$|vanilla/unkind$|/99_KiB$|/char_cnn/'
  run ctest --preset release --output-on-failure --parallel "$jobs" --tests-regex '^cuda/'
}

compare_speeds() {
  run cmake --build --preset release --parallel "$jobs" --target bench_kernel make_text word2vec
  time_kernels '(gemm|fused)/6x6x128/cached' |
    require 1.2 gemm/6x6x128/cached fused/6x6x128/cached
  time_training 68000 500000 --size 128 | require 2 hogwild shared
  # Rows that come from memory, nearly all: on a busy machine the ratio was 4.0.
  time_training 400000 400000 --size 300 | require 2.5 hogwild shared
}

run_clang_tidy() {
  local options=(-std=c++20 -Iinclude -isystem /usr/include/eigen3 -DWORDLOOM_PRECOMPILED=1
                 -DWORDLOOM_FUNCTION=inline)
  run clang-tidy --quiet examples/tour.cpp -- "${options[@]}" &
  run clang-tidy --quiet tests/all_headers.cpp -- "${options[@]}"
  wait $!
}

# Where there is nvcc, what it compiles the kernels to runs on the emulated device; where no GPU runs
# it, the programs for one architecture show that nvcc takes the device code.
run_all_tests() {
  has_gpu || options+=(-DCMAKE_CUDA_ARCHITECTURES=90)
  configure release "${options[@]}"
  options+=(-DWORDLOOM_TEST_PTX="$(
    sed -n 's/^WORDLOOM_ENABLE_CUDA:BOOL=//p' build/release/CMakeCache.txt)")
  build_and_test
}

# The quickstart for processors that are not here, from the headers, and run by an emulator.
run_on_other_processors() {
  local folder=build/processors target flags compiler emulator
  mkdir -p "$folder/include"
  ln -sfn /usr/include/hwy "$folder/include/hwy"
  run build/release/examples/write_demo_corpus "$folder" 60000
  for target in aarch64 'aarch64 -mcpu=neoverse-v1' riscv64; do
    flags=${target#* } compiler=${target%% *}-linux-gnu-g++ emulator=qemu-${target%% *}
    [ "$flags" != "$target" ] || flags=
    if ! command -v "$compiler" >/dev/null || ! command -v "$emulator" >/dev/null; then
      say "Skipped: there is no $compiler, or no $emulator"
      continue
    fi
    # shellcheck disable=SC2086
    run "$compiler" -std=c++20 -O2 -static $flags -Iinclude -isystem "$folder/include" \
      examples/quickstart.cpp -o "$folder/quickstart"
    run "$emulator" "$folder/quickstart" "$folder/text" "$folder/vectors.bin"
    run build/release/examples/evaluate "$folder/vectors.bin" \
      --similarity "$folder/similarity" --analogy "$folder/analogies"
  done
}

# The programs for Windows by MinGW and CMake, from headers of Debian's packages, run by Wine: one
# thread gives the vectors that it gives here.
run_on_windows() {
  local folder=build/windows package program target
  local programs=(quickstart word2vec node2vec neighbours evaluate)
  if ! command -v x86_64-w64-mingw32-g++-posix >/dev/null || ! command -v wine >/dev/null; then
    say "Skipped: there is no x86_64-w64-mingw32-g++-posix, or no wine"
    return
  fi
  mkdir -p "$folder/prefix/include"
  ln -sfn /usr/include/{hwy,CLI,nlohmann} /usr/include/eigen3/Eigen "$folder/prefix/include/"
  for target in hwy::hwy CLI11::CLI11 nlohmann_json::nlohmann_json Eigen3::Eigen; do
    package=${target%%::*}
    mkdir -p "$folder/prefix/lib/cmake/$package"
    printf '%s\n' 'include_guard(GLOBAL)' "add_library($target INTERFACE IMPORTED)" \
      "target_include_directories($target SYSTEM INTERFACE \${CMAKE_CURRENT_LIST_DIR}/../../../include)" \
      >"$folder/prefix/lib/cmake/$package/${package}Config.cmake"
  done
  run cmake -S . -B "$folder/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_SYSTEM_NAME=Windows \
    -DCMAKE_CXX_COMPILER=x86_64-w64-mingw32-g++-posix -DCMAKE_EXE_LINKER_FLAGS=-static \
    -DCMAKE_FIND_ROOT_PATH="$PWD/$folder/prefix" -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY \
    -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY \
    -DWORDLOOM_BUILD_TESTS=OFF -DWORDLOOM_BUILD_BENCHMARKS=OFF -DWORDLOOM_ENABLE_OPENMP=OFF
  run cmake --build "$folder/build" --parallel "$jobs" --target "${programs[@]}"
  run build/release/examples/write_demo_corpus "$folder" 60000
  (
    cd "$folder"
    export WINEPREFIX=$PWD/wine WINEDEBUG=-all OMP_NUM_THREADS=1
    local here=../release/examples there=build/examples
    run "$here/quickstart" text here.bin
    run wine "$there/quickstart.exe" text there.bin
    run cmp here.bin there.bin
    run "$here/word2vec" --train text --output here.bin --threads 1 --quiet
    run wine "$there/word2vec.exe" --train text --output there.bin --threads 1 --quiet
    run cmp here.bin there.bin
    run "$here/evaluate" here.bin --similarity similarity --analogy analogies >here
    run wine "$there/evaluate.exe" there.bin --similarity similarity --analogy analogies |
      tr -d '\r' >there
    run diff <(grep -v '^\$' here) <(grep -v '^\$' there)
    run wine "$there/neighbours.exe" there.bin <<<'man'
    run wine "$there/node2vec.exe" --version
  )
}

# The quickstart for macOS by the Clang of PyPI's ziglang: nothing runs it.
compile_for_macos() {
  local folder=build/macos
  mkdir -p "$folder/include"
  ln -sfn /usr/include/hwy "$folder/include/hwy"
  if ! python3 -m venv "$folder/python" || ! "$folder/python/bin/pip" install --quiet ziglang; then
    say 'Skipped: ziglang cannot be installed'
    return
  fi
  run "$folder/python/bin/python" -m ziglang c++ -target aarch64-macos -std=c++20 -O2 -Iinclude \
    -isystem "$folder/include" -c examples/quickstart.cpp -o "$folder/quickstart.o"
}

compile_headers() {
  run cmake --build --preset release --parallel "$jobs" --target wordloom_self_contained_headers
}

sanitize_emulated_gpu() {
  local emulated=build/release/tests/cuda_emulator
  run cmake --build --preset release --parallel "$jobs" --target \
    emulated_{address,races}{,_char_cnn,_columns,_vanilla}
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
}

leave_out_barriers() {
  local emulated=build/release/tests/cuda_emulator
  run tests/cuda_emulator/leave_out.sh "$emulated/emulated_on_device"
  run tests/cuda_emulator/leave_out.sh "$emulated/emulated_columns" run copy copy_back
  run tests/cuda_emulator/leave_out.sh "$emulated/emulated_vanilla" adam
  run tests/cuda_emulator/leave_out.sh "$emulated/emulated_char_cnn" fit train fail
}

# both FIRST SECOND: runs two functions that leave cores idle side by side; shows what FIRST wrote
# at the end.
both() {
  local output status=0
  output=$(mktemp)
  "$1" >"$output" 2>&1 &
  "$2"
  wait $! || status=$?
  cat "$output"
  rm "$output"
  return "$status"
}
check_sources() { both make_reference run_clang_tidy; }
kill_runs_and_sanitize_addresses() { both kill_runs sanitize_addresses; }
sanitize_threads_and_emulate_gpu() { both sanitize_threads emulate_gpu; }

# step FUNCTION: runs it and notes how long it took; `full` writes that to a file, also when a step
# fails.
rows=()
step() {
  local start=$SECONDS
  current=$1 began=$start
  say "${1//_/ }"
  "$@"
  rows+=("${1//_/ } | $((SECONDS - start)) | passed")
  current=
}
write_result() {
  local row
  [ -z "$current" ] || rows+=("${current//_/ } | $((SECONDS - began)) | **failed**")
  {
    echo '# The last full check'
    echo
    echo "\`cmake/test.sh full\` of commit $commit on $(date -u +%F):"
    echo "$jobs cores of $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)," \
      "$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 || true)"
    echo "$(c++ --version | head -n 1), $(clang++ --version | head -n 1)."
    echo "$kills killed runs, $inputs changed files for each loader."
    echo
    echo '| step | seconds | |'
    echo '|---|---|---|'
    for row in "${rows[@]}"; do echo "| $row |"; done
  } >benchmarks/results/full-check.md
  cat benchmarks/results/full-check.md
}

options+=(-DWORDLOOM_BUILD_TESTS=ON -DWORDLOOM_BUILD_EXAMPLES=ON
          -DWORDLOOM_WERROR="${WORDLOOM_WERROR:-OFF}")
case $depth in
  short)
    options+=(-DWORDLOOM_BUILD_BENCHMARKS=OFF -DWORDLOOM_TEST_BRIEF=ON
              -DWORDLOOM_TEST_EMULATED=OFF -DWORDLOOM_TEST_LONG=OFF)
    build_and_test
    exit
    ;;
  long) inputs=${WORDLOOM_FUZZ_INPUTS:-1000} kills=${WORDLOOM_KILLS:-10} ;;
  full) inputs=${WORDLOOM_FUZZ_INPUTS:-10000} kills=${WORDLOOM_KILLS:-100} ;;
esac

packages=(clang clang-tidy doxygen libthrust-dev python3 universal-ctags
          python3-dev python3-venv python3-setuptools python3-wheel python3-numpy pybind11-dev)
install_packages
options+=(-DWORDLOOM_BUILD_BENCHMARKS=ON -DWORDLOOM_TEST_BRIEF=OFF
          -DWORDLOOM_TEST_EMULATED=ON)
if [ "$depth" = long ]; then
  configure release "${options[@]}" -DWORDLOOM_TEST_LONG=OFF
  for name in check_sources kill_runs_and_sanitize_addresses sanitize_threads_and_emulate_gpu \
    install_and_use run_ranks compare_speeds; do
    step $name
  done
  say 'Seconds of each step'
  printf '%s\n' "${rows[@]}"
  exit
fi

commit=$(git describe --always --dirty --abbrev=12)
trap write_result EXIT
options+=(-DWORDLOOM_TEST_LONG=ON -DWORDLOOM_TEST_DEVICE=ON)
configure release "${options[@]}"
for name in check_sources run_all_tests compile_headers run_on_other_processors run_on_windows \
  compile_for_macos kill_runs_and_sanitize_addresses sanitize_threads run_clang_code \
  sanitize_emulated_gpu leave_out_barriers compare_speeds; do
  step $name
done
