# Read by each script of this folder. $CORPUS is a folder with the demo corpus (text, analogies,
# similarity), $INPUTS the folder of the inputs that are files.

# refused MESSAGE PROGRAM ARGUMENT...: fails unless the program exits with 1 and prints one line to
# standard error, which matches the regular expression MESSAGE, and nothing to standard output.
refused() {
  message=$1
  shift
  status=0
  "$@" >refused.out 2>refused.err </dev/null || status=$?
  cat refused.err
  test $status -eq 1
  test "$(wc -l <refused.err)" -eq 1
  grep -q -e "$message" refused.err
  test ! -s refused.out
  rm refused.out refused.err
}
