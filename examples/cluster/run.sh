#!/bin/sh -eu
# Trains on the machines of a hostfile, a process on each: run.sh HOSTFILE WORD2VEC OPTIONS...
# All must see the program and the corpus under the same names. The machine that starts it, the first
# of the file, writes the output and the checkpoint; call it again with --resume to continue. When it is
# interrupted, the processes have a minute to write what they have.
hosts=$1
shift
exec mpirun --hostfile "$hosts" --map-by node --bind-to none \
  --mca odls_base_sigkill_timeout 60 "$@" --sync mpi
