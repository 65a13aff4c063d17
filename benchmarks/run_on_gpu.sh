#!/usr/bin/env bash
# On a machine with a GPU: builds for it, runs the tests that need one, compares the kernels and
# writes the results. About 8 minutes on a corpus of 17 million words. Fails in the end when a test
# has failed.
# Usage: benchmarks/run_on_gpu.sh CORPUS DATA [OUTPUT]
#   DATA holds the evaluation sets of compare_peers; OUTPUT is a folder, by default
#   benchmarks/results.
set -euo pipefail
if [ $# -lt 2 ] || [ ! -r "$1" ] || [ ! -d "$2" ]; then
  echo "usage: benchmarks/run_on_gpu.sh CORPUS DATA [OUTPUT]" >&2
  exit 1
fi
command -v nvidia-smi >/dev/null || { echo "run_on_gpu.sh: no nvidia-smi, so no GPU" >&2; exit 1; }
corpus=$(realpath -- "$1") data=$(realpath -- "$2")
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
output=${3:-benchmarks/results}
mkdir -p -- "$output"
card=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1 | tr -c 'A-Za-z0-9\n' - | tr A-Z a-z)
[ -n "$card" ] || { echo "run_on_gpu.sh: nvidia-smi names no GPU" >&2; exit 1; }

cmake --preset release -DWORDLOOM_BUILD_BENCHMARKS=ON -DWORDLOOM_ENABLE_CUDA=ON \
  -DCMAKE_CUDA_ARCHITECTURES=native
targets=(word2vec write_demo_corpus test_kernels_device test_columns_device bench_cuda)
if grep -q WORDLOOM_ENABLE_NCCL:BOOL=ON build/release/CMakeCache.txt; then
  targets+=(test_nccl_device)
fi
if grep -q WORDLOOM_ENABLE_CUBLAS:BOOL=ON build/release/CMakeCache.txt; then
  targets+=(test_char_cnn_device)
fi
cmake --build --preset release --parallel "$(nproc)" --target "${targets[@]}"
failed=0
ctest --preset release --label-regex gpu --output-on-failure || failed=1
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck synccheck initcheck; do
    for program in build/release/tests/test_{kernels,columns,char_cnn}_device; do
      [ -x "$program" ] || continue
      compute-sanitizer --tool "$tool" --error-exitcode 1 "$program" || failed=1
    done
  done
fi

# Every kernel against the device's ceilings, with its counters where they may be read.
build/release/benchmarks/bench_cuda --corpus "$corpus" --epochs 5 --evaluate "$data" \
  --benchmark_out="$output/gpu-$card-kernels.json.part" --benchmark_out_format=json
mv -- "$output/gpu-$card-kernels.json.part" "$output/gpu-$card-kernels.json"
if command -v ncu >/dev/null; then
  ncu --kernel-name regex:train_batch --launch-skip 2 --launch-count 1 --section SpeedOfLight \
    --section MemoryWorkloadAnalysis --section WarpStateStats \
    build/release/examples/word2vec --train "$corpus" --size 128 --sample 1e-4 --iter 1 --quiet \
    --sampler shared-fixed --kernel cuda-warp --json >"$output/gpu-$card-profile.txt" ||
    echo "run_on_gpu.sh: ncu may not read the counters: no profile" >&2
fi

# Quality beside the CPU's, over three seeds.
benchmarks/compare_peers --corpus "$corpus" --data "$data" --output "$output/gpu-$card" \
  --without gensim --without fasttext --rounds 3 --threads "$(nproc)" --ours hogwild+dot \
  hogwild+cuda-sentence shared-fixed+cuda-register shared-fixed+cuda-ring shared-fixed+cuda-warp \
  shared+cuda-ring shared+cuda-warp \
  minibatch+fused minibatch+cuda-gemm

# row LABEL OPTION...: trains and scores, and prints a row of a table.
row() {
  local label=$1
  shift
  build/release/examples/word2vec --train "$corpus" --size 128 --negative 5 --sample 1e-4 \
    --quiet --json --evaluate-similarity "$data/similarity/ws353.tsv" \
    --evaluate-similarity "$data/similarity/simlex999.tsv" \
    --evaluate-analogy "$data/analogy/questions-words.txt" "$@" |
    python3 -c "import json, sys
r = json.load(sys.stdin)
print('|', '$label', '|', round(r['words_per_second'] / 1e6, 1), 'M |', round(r['loss'], 4), '|',
      json.dumps(r['scores']), '|')"
}

# Quality against the number of sentences in flight.
{
  echo "| sentences in flight | words/s | loss | scores |"
  echo "|---|---|---|---|"
  for in_flight in 1 32 256 1024 2048 4096 8192; do
    row $in_flight --window 5 --iter 5 --sampler shared-fixed --kernel cuda-warp \
      --in-flight $in_flight
  done
} >"$output/gpu-$card-in-flight.md.part"
mv -- "$output/gpu-$card-in-flight.md.part" "$output/gpu-$card-in-flight.md"

# Columns of the uniform matrix: the GPU beside the CPU.
{
  echo "| kernel and optimizer | pairs/s | loss | scores |"
  echo "|---|---|---|---|"
  for optimizer in sgd adam; do
    for kernel in fused cuda-uniform; do
      row "$kernel, $optimizer" --window 2 --min-count 50 --iter 1 --sampler uniform \
        --context-size 4096 --kernel $kernel --optimizer $optimizer
    done
  done
} >"$output/gpu-$card-columns.md.part"
mv -- "$output/gpu-$card-columns.md.part" "$output/gpu-$card-columns.md"
[ $failed = 0 ] || echo "run_on_gpu.sh: a test has failed, see above" >&2
exit $failed
