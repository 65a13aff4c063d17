# What is written to standard output, a descriptor, a pipe or a device goes through it: nothing in
# /dev is replaced, also by root. All runs are in a mount namespace with a /dev of its own, so that a
# fault does no harm: https://man7.org/linux/man-pages/man7/mount_namespaces.7.html
if test "$(id -u)" -eq 0; then enter='unshare -m --propagation private'; else enter='unshare -rm'; fi
$enter true 2>/dev/null || { echo 'mount namespaces are not allowed here'; exit 77; }

head -c 30000 "$CORPUS/text" >text
i=1
while test $i -le 20; do
  echo $i $((i % 20 + 1))
  echo $i $(((i + 6) % 20 + 1))
  i=$((i + 1))
done >edges
cp "$(command -v word2vec)" "$(command -v node2vec)" .
mkdir dev

cat >cases <<'end'
set -eu
PATH=$PWD:$PATH
dev_is_whole() {
  test "$(readlink /dev/stdout)" = /proc/self/fd/1
  test "$(readlink /dev/fd)" = /proc/self/fd
  test -c /dev/null
  test "$(ls /dev)" = "$devices"
}
devices=$(ls /dev)
# fails MESSAGE COMMAND: the command exits with 1 and one line on standard error.
fails() {
  message=$1; status=0
  eval "$2" 2>err || status=$?
  cat err
  test $status -eq 1
  test "$(wc -l <err)" -eq 1
  grep -q -e "$message" err
  dev_is_whole
}
same() { cmp "$1" "$2"; dev_is_whole; rm "$1"; }

words='word2vec --train text --size 8 --iter 1 --threads 1 --quiet'
nodes='node2vec --input edges --size 8 --threads 1 --num-walks 2 --walk-length 5 --quiet'
$words --output words --save-vocab vocabulary --save-model model
$nodes --output nodes --save-model graph_model
$nodes --save-walks walks
test "$(wc -l <walks)" -eq 40

for kind in "words|$words --output" "nodes|$nodes --output" "vocabulary|$words --save-vocab" \
            "model|$words --save-model" "graph_model|$nodes --save-model" \
            "walks|$nodes --save-walks" "walks|$nodes -ow --output"; do
  expected=${kind%%|*}
  run=${kind#*|}
  names=-
  test $expected != words || names='- /dev/stdout /dev/fd/1 /proc/self/fd/1'
  for name in $names; do
    $run $name >f; same f $expected
    echo before >f; $run $name >>f; head -n 1 f | grep -q '^before$'
    tail -n +2 f | cmp - $expected; dev_is_whole
    $run $name | cmp - $expected; dev_is_whole
    fails 'Bad file descriptor' "$run $name >&-"
  done
  ln -s /dev/stdout link; $run link >f; test -L link; rm link; same f $expected
  $run /dev/fd/5 5>f; same f $expected
  $run - >/dev/null; $run /dev/null; dev_is_whole
  fails 'No space left' "$run - >/dev/full"
  mkfifo pipe; cat pipe >f & $run pipe; wait $!; test -p pipe; rm pipe; same f $expected
  ls -A | grep -v -x -e '[a-z0-9_]*' && exit 1
  if test $expected = words && command -v python3 >/dev/null; then
    run="$run" python3 -c '
import os, socket, subprocess
ours, theirs = socket.socketpair()
run = subprocess.Popen(os.environ["run"].split() + ["-"], stdout=theirs)
theirs.close()
with open("f", "wb") as f:
    while data := ours.recv(65536): f.write(data)
assert run.wait() == 0'
    same f $expected
  fi
done

# A format with a second file has no place for it.
for format in tsv npy; do
  for name in - /dev/stdout /dev/fd/1; do
    for run in "$words" "$nodes"; do
      fails 'choose a format that is one file' "$run --output $name --format $format >f"
      test ! -s f
    done
  done
done
fails 'choose a format that is one file' "mkfifo pipe; $words --output pipe --format tsv"
rm pipe f
# Two files would be mixed; what is kept to be read again is no stream.
fails "save-vocab '-' is the same file as --output '-'" "$words --output - --save-vocab - >f"
fails "save-model '-' is the same file" "$words --output - --save-model - >f"
fails 'is the same file' "$words --output /dev/stdout --save-vocab /dev/fd/1 >f"
fails 'is the same file' "$nodes --output - --save-walks - >f"
fails 'is the same file' "mkfifo pipe; $words --output pipe --save-vocab pipe"
rm pipe f
$words --output - --save-vocab /dev/fd/5 >f 5>g; cmp f words; cmp g vocabulary
$words --output /dev/null --save-vocab /dev/null
for option in --checkpoint --cache --contexts; do
  sampler=; test $option != --contexts || sampler='--sampler uniform --context-size 4'
  fails "$option needs a regular file, not '-'" "$words $sampler --output v $option - >f"
  test ! -e v
done
rm -f f g err
test "$(ls -A | tr '\n' ' ')" = "$(cat files)"
end

cat >enter <<'end'
set -eu
user=$1
folder=$PWD
mount -t tmpfs tmpfs dev
for device in null zero full urandom random; do
  touch dev/$device
  mount --bind /dev/$device dev/$device
done
ln -s /proc/self/fd dev/fd
for link in 0:stdin 1:stdout 2:stderr; do ln -s /proc/self/fd/${link%%:*} dev/${link##*:}; done
mkdir dev/own
cp word2vec node2vec text edges cases dev/own
chmod 777 dev/own
mount --rbind dev /dev
cd /dev/own
for name in words vocabulary model nodes graph_model walks cases edges files node2vec text word2vec; do
  echo $name
done | LC_ALL=C sort | tr '\n' ' ' >files
export LC_ALL=C
if test "$user" = 0; then sh cases
else setpriv --reuid "$user" --regid "$user" --clear-groups sh cases; fi
end
$enter sh enter 0
if test "$(id -u)" -eq 0 && command -v setpriv >/dev/null; then $enter sh enter 65534; fi
