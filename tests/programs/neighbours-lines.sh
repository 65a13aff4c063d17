# Each line is answered on its own; those that cannot be are named on standard error.
{ printf '5 2\n'; printf 'paris 1 0\nzo\0o 0.9 0.1\nRome 0 1\n\303\266l -1 0\nmilan 0.1 1\n'; } >vectors
printf 'PARIS\r\nxyzzy\r\n\r\n\303\226L\nrome\nRome\n' >lines
status=0
neighbours vectors --count 1 <lines >out 2>err || status=$?
test $status -eq 0
printf "neighbours: unknown word 'xyzzy'\nneighbours: unknown word 'rome'\n" | cmp - err
{ printf '  zo\0o'; printf '%20s 0.9939\n' ''; printf '  Rome                     0.0000\n'
  printf '  milan                    0.9950\n'; } | cmp - out

# The exit code says whether anything could be answered.
status=0
printf 'xyzzy\nparis rome\n' | neighbours vectors >out 2>err || status=$?
test $status -eq 1
test ! -s out
grep "unknown word 'xyzzy'" err
grep 'one word, or three' err
neighbours vectors </dev/null >out
test ! -s out
if printf 'x\0\033y\n' | neighbours vectors 2>err; then exit 1; fi
grep -F "unknown word 'x\x00\x1by'" err
status=0
neighbours vectors <. >out 2>err || status=$?
test $status -eq 1
grep -x 'neighbours: error: cannot read standard input' err
status=0
echo PARIS | neighbours vectors --case exact 2>err || status=$?
test $status -eq 1
grep "unknown word 'PARIS'" err
printf 'paris\tROME\tmilan\n' | neighbours vectors --case fallback 2>err || grep "unknown word 'ROME'" err
printf '\357\273\277Paris Rome milan\n' | neighbours vectors --count 2 >out
test "$(wc -l <out)" -eq 2
neighbours --help | grep 'exit code is 1 if no line could be answered'
