#!/usr/bin/env bash
# Tests and measures the training on a GPU: prepares a kit (gpu_kit/README.md) and runs it, here or on
# another machine where nothing can be installed.
# Usage: run_on_gpu.sh --prepare [OPTION...] KIT CORPUS DATA   builds the programs and packs the kit
#        run_on_gpu.sh --run KIT [OPTION...]                   tests and measures, writes a summary
#        run_on_gpu.sh [OPTION...] CORPUS DATA                 both, for the GPU of this machine
#   DATA is a folder with similarity/ws353.tsv, similarity/simlex999.tsv and
#   analogy/questions-words.txt. OPTION of --prepare: see gpu_kit/prepare.sh; others: gpu_kit/run.sh.
set -euo pipefail
kit=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)/gpu_kit
case ${1:-} in
  --prepare)
    shift
    exec "$kit/prepare.sh" "$@"
    ;;
  --run)
    [ $# -ge 2 ] && [ -x "$2/run.sh" ] || { echo "run_on_gpu.sh: error: no kit '${2:-}'" >&2; exit 1; }
    exec "$2/run.sh" "${@:3}"
    ;;
esac
if [ $# -lt 2 ]; then
  sed -n '4,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 1
fi
arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .) || true
[ -n "$arch" ] || { echo "run_on_gpu.sh: error: nvidia-smi names no GPU" >&2; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
"$kit/prepare.sh" --arch "$arch" --jobs "$(nproc)" "$folder/kit" "${@: -2}"
"$folder/kit/run.sh" "${@:1:$#-2}"
