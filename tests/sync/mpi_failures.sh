#!/bin/sh -eu
# What an exception on one rank is on each: mpi_failures.sh PROGRAM LAUNCHER NUMBER_FLAG.
program=$1 launcher=$2 flag=$3

# $1: how rank 1 fails; $2, $3: what arrives there, and on the other ranks; $4: how many ranks.
check() {
  "$launcher" "$flag" "$4" sh -c 'status=0; "$0" "$1" || status=$?; echo "exit code $status"' \
    "$program" "$1" >out 2>err || { cat out err; exit 1; }
  echo "$1:"
  sort out
  cat err
  test ! -s err
  grep -x "$2" out
  test "$(grep -cx "SyncError: rank 1 $3" out)" -eq $(($4 - 1))
  test "$(grep -cx 'exit code 1' out)" -eq "$4"
}

check library "Error: unknown word 'mine'" "on .* has failed: unknown word 'mine'" 2
check outside "Error: unknown word 'mine'" 'has ended before the others' 2
check library "Error: unknown word 'mine'" "on .* has failed: unknown word 'mine'" 3
check standard 'std::exception: mine' 'on .* has failed: mine' 3
check int 'int: 42' 'on .* has failed: an exception that is not a std::exception' 3
check vocabulary 'Error: the corpus was encoded with another vocabulary.*' \
  'on .* has failed: the corpus was encoded with another vocabulary.*' 3
check end "Error: unknown word 'mine'" "on .* has failed: unknown word 'mine'" 3
check outside "Error: unknown word 'mine'" 'has ended before the others' 3
