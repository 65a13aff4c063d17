# For tests of benchmarks/gpu_kit, which run in an empty folder, with the folder of the programs and that
# of the project as $1 and $2: a corpus with test sets, programs to pack, and commands.
rm -rf ./*
mkdir -p text data/similarity data/analogy programs tmp
export TMPDIR=$PWD/tmp
"$1/write_demo_corpus" text 60000
for set in ws353 simlex999; do cp text/similarity "data/similarity/$set.tsv"; done
cp text/analogies data/analogy/questions-words.txt
cp "$1/word2vec" "$1/evaluate" programs/
run=$2/benchmarks/run_on_gpu.sh
prepare="$run --prepare --programs programs kit"

# measure OPTION...: runs the kit, which must write only to out.
measure() {
  local before
  before=$(find . ! -path './out*' | sort)
  "$run" --run kit --out out "$@"
  diff <(echo "$before") <(find . ! -path './out*' | sort)
  ls out | diff - <(printf '%s\n' $(ls out | grep clocks.csv) logs.tar.gz steps.tsv summary.json summary.md | sort)
}
# refused COMMAND MESSAGE
refused() {
  local status=0
  $1 2>err >ignored || status=$?
  cat err
  test $status -eq 1
  test "$(wc -l <err)" -eq 1
  grep -F "$2" err
}
