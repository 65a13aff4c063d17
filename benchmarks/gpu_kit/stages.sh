#!/usr/bin/env bash
# Makes copies of the headers in which a stage of CudaWarpKernel is left out or changed, for
# variants.sh: the differences in time show the cost of each stage, also where no counter can be read.
# Their vectors are wrong where an addition is left out: only their speed counts.
# Usage: stages.sh CHECKOUT FOLDER
#   FOLDER/base, no-adds (nothing is added to rows), no-hot-adds (nothing to the rows of the 64 most
#   frequent words), small-blocks (two warps a block)
set -euo pipefail
[ $# -eq 2 ] || { sed -n '5s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 1; }
for name in base no-adds no-hot-adds small-blocks; do
  mkdir -p -- "$2/$name"
  cp -r -- "$1/include" "$2/$name/"
done
# edit FILE OLD NEW: fails where OLD is not there once.
edit() {
  python3 - "$@" <<'PYTHON'
import sys
path, old, new = sys.argv[1:]
text = open(path).read()
if text.count(old) != 1:
    sys.exit(f'{path}: {text.count(old)} times: {old}')
open(path, 'w').write(text.replace(old, new))
PYTHON
}
# A condition that never holds, so that all that is added is still computed.
edit "$2/no-adds/include/wordloom/cuda/detail/teams.cuh" \
  'if (is_there(row))
      transfer<R>' \
  'float all = 0;
#pragma unroll
    for (int r = 0; r < R; ++r) all += x[r];
    if (all == 1.2345e30f) transfer<R>'
edit "$2/no-hot-adds/include/wordloom/cuda/detail/warp_scheme.hpp" \
  'for (unsigned k = 0; k < group; ++k) team.add(row_of(k), change[k]);' \
  'for (unsigned k = 0; k < group; ++k)
          if (row_of(k) >= task.model.output + 64 * Task::row_size) team.add(row_of(k), change[k]);'
edit "$2/small-blocks/include/wordloom/cuda/detail/methods.cuh" \
  'BatchLaunch<Scheme, R, WarpTeam, 128>' 'BatchLaunch<Scheme, R, WarpTeam, 64>'
