#!/usr/bin/env bash
# Builds variants of one kernel for a comparison on a machine with a GPU: `KIT/run.sh --parts variants`
# times them there in alternation. Each variant is a checkout of Wordloom (a worktree), or flags, or both.
# Usage: variants.sh [OPTION...] KIT VARIANT...
#   VARIANT           NAME=CHECKOUT[,FLAG...]: the headers of CHECKOUT, compiled with these flags
#   --build FOLDER    the build that prepare.sh has left; default: KIT.build
#   --arch NUMBER     default 90
#   --kernel NAME     default CudaWarpKernel
#   --sampler NAME    default SharedNegative
#   --rows LIST       lengths of rows in units of 32 floats, default 4: dimensions up to 128
# Example: variants.sh KIT base=../main try=../worktree "few=../main,-maxrregcount=168"
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
build='' arch=90 kernel=CudaWarpKernel sampler=SharedNegative rows=4
while [ $# -gt 2 ]; do
  case $1 in
    --build) build=$2 ;;
    --arch) arch=$2 ;;
    --kernel) kernel=$2 ;;
    --sampler) sampler=$2 ;;
    --rows) rows=$2 ;;
    *) break ;;
  esac
  shift 2
done
if [ $# -lt 2 ] || [ ! -d "$1" ]; then
  sed -n '4,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 1
fi
kit=$(realpath -- "$1")
build=$(realpath -- "${build:-$kit.build}")
shift
mkdir -p -- "$kit/variants"
for variant; do
  name=${variant%%=*} rest=${variant#*=}
  IFS=, read -r -a parts <<<"$rest"
  start=$(date +%s)
  "$here/build_single.sh" "$(realpath -- "${parts[0]}")" "$build" "$arch" "$kit/variants/$name" \
    "-DTIMED_KERNEL=$kernel" "-DTIMED_SAMPLER=$sampler" "-DWORDLOOM_CUDA_ROW_SIZES=$rows" \
    -Xptxas -v "${parts[@]:1}" >"$kit/variants/$name.log" 2>&1 || {
    tail -n 5 "$kit/variants/$name.log" >&2
    echo "variants.sh: error: $name does not build" >&2
    exit 1
  }
  strip "$kit/variants/$name"
  # Registers and spills of the kernels
  grep -A2 'train_batch' "$kit/variants/$name.log" | grep -oE 'Used [0-9]+ registers|[0-9]+ bytes spill stores' |
    sort | uniq -c | sed "s/^ */$name: /"
  echo "$name: $(($(date +%s) - start)) s, $(stat -c %s "$kit/variants/$name") bytes"
done
