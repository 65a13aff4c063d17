#!/usr/bin/env bash
# Leaves out each barrier and each wait of the device code in turn, and fails unless a test notices
# each. Usage: leave_out.sh EMULATED_ON_DEVICE [KERNEL...], or EMULATED_CHAR_CNN CASE...
set -euo pipefail
program=$1
shift
[ $# -gt 0 ] || set -- sentence word cbow register ring warp gemm
# As unkind as a device may be.
export EMU_PAGEABLE_LATE=1 EMU_FREE_AT_ONCE=1
out=$(mktemp) && trap 'rm -f "$out"' EXIT

# Whether a run of the kernel notices that a place is left out, in one of twelve interleavings: one
# wait was noticed in every third only. `how` says by what.
notices() {
  local seed status
  for seed in {1..12}; do
    status=0
    EMU_SEED=$seed EMU_OMIT=$1 timeout 120 "$program" "$2" >"$out" 2>&1 || status=$?
    how=$(grep -oE 'emu: [a-z _]+|WRONG|failed: .*' "$out" | head -n 1 || true)
    how=${how:-exit status $status}
    if [ $status -ne 0 ]; then return 0; fi
  done
  return 1
}

declare -A seen
survivors=0
echo "| place | kernel | noticed by |"
echo "|---|---|---|"
for kernel in "$@"; do
  for place in $(EMU_OMIT=list "$program" "$kernel" 2>&1 | sed -n 's/^emu: place //p' | sort); do
    [ -z "${seen[$place]:-}" ] || continue
    seen[$place]=1
    # The innermost line that is not of the emulator, and where a wait is called from.
    lines=$(addr2line -i -e "$program" "${place%:*}" | sed -E 's/ \(.*//; s,.*/,,' | head -n 2 | paste -sd ' ')
    if [ "${place#*:}" != "(nil)" ]; then
      lines+=" < $(addr2line -i -e "$program" "${place#*:}" | sed -E 's/ \(.*//; s,.*/,,' | head -n 2 | paste -sd ' ')"
    fi
    if notices "$place" "$kernel"; then
      echo "| $lines | $kernel | $how |"
    else
      echo "| $lines | $kernel | **nothing** |"
      survivors=$((survivors + 1))
    fi
  done
done
echo "${#seen[@]} places, $survivors that nothing notices"
[ $survivors -eq 0 ]
