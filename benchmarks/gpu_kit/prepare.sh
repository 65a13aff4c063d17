#!/usr/bin/env bash
# Prepares a kit for a machine with a GPU on which nothing can be installed: builds the GPU programs
# here, for there, and packs them with the libraries that they need, a corpus and evaluation sets.
# `KIT/run.sh` then tests and measures there within seconds of its start.
# Usage: prepare.sh [OPTION...] KIT CORPUS DATA
#   KIT               the folder to make
#   CORPUS            plain text, or plain text in a .xz file
#   DATA              folder with similarity/ws353.tsv, similarity/simlex999.tsv and
#                     analogy/questions-words.txt
#   --build FOLDER    where to build, kept for the next time; default: KIT.build
#   --arch NUMBER     compute capability; default 90, for H100 and H200
#   --jobs NUMBER     compilations at a time; default 1: each takes up to 3 GB
#   --cuda-flags TEXT more flags for nvcc
#   --peer FOLDER     programs of others, with a file `commands`: see README.md
#   --without LIST    comma-separated: gemm (no OpenBLAS), nccl, bench, vanilla
#   --programs FOLDER packs the programs in this folder and builds none
# The machine needs an x86-64 processor with AVX2 and a glibc as new as here.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
source=$(realpath -- "$here/../..")
say() { echo "prepare.sh: $*" >&2; }
fail() { say "error: $*"; exit 1; }
build='' arch=90 jobs=1 cuda_flags='' peers='' without=, programs=''
while [ $# -gt 1 ]; do
  case $1 in
    --build) build=$2 ;;
    --arch) arch=$2 ;;
    --jobs) jobs=$2 ;;
    --cuda-flags) cuda_flags=$2 ;;
    --peer) peers=$2 ;;
    --without) without=,$2, ;;
    --programs) programs=$2 ;;
    --*) fail "no option $1" ;;
    *) break ;;
  esac
  shift 2
done
if [ $# -ne 3 ]; then
  sed -n '5,18s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 1
fi
sets='similarity/ws353.tsv similarity/simlex999.tsv analogy/questions-words.txt'
[ -s "$2" ] || fail "no corpus '$2'"
for file in $sets; do [ -s "$3/$file" ] || fail "no file '$3/$file'"; done
[ -z "$peers" ] || [ -s "$peers/commands" ] || fail "no file '$peers/commands'"
[ -z "$programs" ] || [ -x "$programs/word2vec" ] || fail "no program '$programs/word2vec'"
corpus=$(realpath -- "$2") data=$(realpath -- "$3")
mkdir -p -- "$1"
kit=$(realpath -- "$1")
has() { case $without in *,$1,*) return 1 ;; esac; }
on_off() { if has "$1"; then echo ON; else echo OFF; fi; }
began=$(date +%s)
stage=$(mktemp -d)
trap 'rm -rf -- "$stage"' EXIT
mkdir -p "$stage"/{bin,lib/cxx,data/similarity,data/analogy,peers}
missing=()

# Programs find the libraries beside them. OpenMP would only count processors.
configure() {
  cmake -S "$source" -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release \
    -DWORDLOOM_BUILD_EXAMPLES=ON -DWORDLOOM_BUILD_BENCHMARKS=ON -DWORDLOOM_BUILD_TESTS=ON \
    -DWORDLOOM_TEST_EMULATED=OFF -DWORDLOOM_ENABLE_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES="$arch-real" \
    -DWORDLOOM_ENABLE_OPENMP=OFF -DWORDLOOM_ENABLE_MPI=OFF -DWORDLOOM_ENABLE_ZLIB=OFF \
    -DWORDLOOM_ENABLE_LIBLINEAR=OFF -DWORDLOOM_ENABLE_BLAS="$(on_off gemm)" \
    -DWORDLOOM_ENABLE_CUBLAS="$(on_off gemm)" "-DCMAKE_CUDA_FLAGS=$cuda_flags" \
    "-DCMAKE_BUILD_RPATH=\$ORIGIN/../lib" -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags \
    "$@" >"$build.log" 2>&1 || { tail -n 20 "$build.log" >&2; exit 1; }
}
# take NAME PROGRAM COMMAND...: builds a program by a command, and takes it if that succeeds.
take() {
  local name=$1 program=$2 start
  start=$(date +%s)
  shift 2
  if "$@" >>"$build.log" 2>&1; then
    cp -- "$program" "$stage/bin/$name"
    say "$name: $(($(date +%s) - start)) s"
  else
    missing+=("$name")
    say "$name does not build, see $build.log: left out"
  fi
}
target() { take "$2" "$build/$1/$2" cmake --build "$build" --parallel "$jobs" --target "$2"; }
build_single() {
  if [ -x "$1" ] && [ -z "$cuda_flags" ] && [ -z "$(find "$source/include" "$here/time_kernel.cu" \
    "$build/libwordloom.a" -newer "$1" -print -quit)" ]; then
    return
  fi
  # shellcheck disable=SC2086
  "$here/build_single.sh" "$source" "$build" "$arch" "$@" $cuda_flags
}
single() { take "$1" "$build/single/$1" build_single "$build/single/$1" "${@:2}"; }
if [ -n "$programs" ]; then
  cp -L -- "$programs"/* "$stage/bin/"
else
  build=${build:-$kit.build}
  mkdir -p -- "$build/single"
  build=$(realpath -- "$build")
  generator=()
  command -v ninja >/dev/null && generator=(-G Ninja)
  configure -DWORDLOOM_ENABLE_NCCL=OFF
  for name in word2vec evaluate; do target examples "$name"; done
  [ -x "$stage/bin/word2vec" ] || fail "no word2vec: nothing to measure"
  for name in kernels vanilla columns; do target tests "test_${name}_device"; done
  if has gemm; then target tests test_char_cnn_device; fi
  if has bench; then target benchmarks bench_cuda; fi
  nvcc=$(sed -n 's/^CMAKE_CUDA_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
  take ceilings "$build/single/ceilings" "$nvcc" -std=c++20 -O3 -arch="sm_$arch" \
    -I "$source/include" -I "$source/benchmarks" "$here/ceilings.cu" -o "$build/single/ceilings"
  single time_warp
  single time_hot -DWORDLOOM_CUDA_HOT_OUTPUTS=16
  if has vanilla; then single time_vanilla -DTIMED_VANILLA; fi
  # NCCL is not everywhere, and only one test needs it.
  if has nccl && configure -DWORDLOOM_ENABLE_NCCL=ON; then target tests test_nccl_device; fi
fi
[ -z "$peers" ] || cp -r -- "$peers"/. "$stage/peers/"

# The libraries that are not part of glibc, CUDA or the driver.
for program in "$stage"/bin/* "$stage"/peers/*; do
  [ -f "$program" ] && [ -x "$program" ] || continue
  strip "$program" 2>/dev/null || true
  { ldd "$program" 2>/dev/null || true; } | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p'  # or a script
done | sort -u | while read -r library; do
  case ${library##*/} in
    libc.so* | libm.so* | libdl.so* | libpthread.so* | librt.so* | ld-linux*) ;;
    libcuda.so* | libcublas* | libnccl* | libnvrtc*) ;;
    # Used only where those of the machine are older.
    libstdc++.so* | libgcc_s.so*) cp -L -- "$library" "$stage/lib/cxx/" ;;
    *) cp -L -- "$library" "$stage/lib/" && strip "$stage/lib/${library##*/}" 2>/dev/null || true ;;
  esac
done
for file in $sets; do cp -- "$data/$file" "$stage/data/$file"; done
{
  echo "commit $(git -C "$source" describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)"
  if [ -z "$programs" ]; then
    echo "architecture sm_$arch, nvcc $("$nvcc" --version | sed -n 's/.*, V\([0-9.]*\).*/\1/p')," \
      "g++ $(g++ -dumpfullversion), more flags: ${cuda_flags:-none}"
  fi
  echo "left out: ${missing[*]:-nothing}"
} >"$stage/built"

tar -C "$stage" -c . | xz -T1 -3 >"$kit/pack.tar.xz.part"
mv -- "$kit/pack.tar.xz.part" "$kit/pack.tar.xz"
sum=$(cksum <"$corpus")
if [ "$(cat "$kit/corpus.sum" 2>/dev/null)" != "$sum" ] || [ ! -s "$kit/corpus.xz" ]; then
  case $corpus in
    *.xz) cp -- "$corpus" "$kit/corpus.xz.part" ;;
    *) xz -T1 -3 -c -- "$corpus" >"$kit/corpus.xz.part" ;;
  esac
  mv -- "$kit/corpus.xz.part" "$kit/corpus.xz"
  echo "$sum" >"$kit/corpus.sum"
fi
cp -- "$here"/{run.sh,summarise.py} "$kit/"
cat "$stage/built"
say "ready after $(($(date +%s) - began)) s: $(du -sh "$kit" | cut -f 1)"
