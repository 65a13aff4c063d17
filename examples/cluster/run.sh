#!/bin/sh -eu
# Trains on the machines of a hostfile, a process on each: run.sh HOSTFILE WORD2VEC OPTIONS...
# All must see the program and the corpus under the same names. The machine that starts it, the first
# of the file, writes the output and the checkpoint; call it again with --resume to continue.
# `kill -USR1` of mpirun's process stops with a checkpoint, however long that takes. Ctrl-C and TERM leave
# the processes about a second, enough for a small model alone.
hosts=$1
shift
exec mpirun --hostfile "$hosts" --map-by node --bind-to none "$@" --sync mpi
