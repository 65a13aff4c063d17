#!/usr/bin/env bash
# Builds time_kernel.cu against the headers of a checkout, with the precompiled library and the
# settings of a build that prepare.sh has configured.
# Usage: build_single.sh CHECKOUT BUILD ARCH PROGRAM [FLAG...]
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
checkout=$1 build=$2 arch=$3 program=$4
shift 4
cmake --build "$build" --target wordloom_precompiled
nvcc=$(sed -n 's/^CMAKE_CUDA_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
flags=(-DWORDLOOM_PRECOMPILED=1 -DWORDLOOM_HAS_CUDA=1) libraries=(-lhwy)
if grep -q 'WORDLOOM_ENABLE_BLAS:BOOL=ON' "$build/CMakeCache.txt"; then
  flags+=(-DWORDLOOM_HAS_BLAS=1)
  libraries+=("$(sed -n 's/^CBLAS_LIBRARY:[A-Z]*=//p' "$build/CMakeCache.txt")")
fi
"$nvcc" -std=c++20 --expt-relaxed-constexpr -O3 -DNDEBUG -DHWY_SHARED_DEFINE -gencode \
  "arch=compute_$arch,code=sm_$arch" -Xcompiler=-O1 -I "$checkout/include" "${flags[@]}" "$@" \
  "$here/time_kernel.cu" "$build/libwordloom.a" "${libraries[@]}" -lpthread \
  -Xlinker --disable-new-dtags -Xlinker -rpath -Xlinker '$ORIGIN/../lib' -o "$program"
