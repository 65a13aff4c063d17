#!/usr/bin/env bash
# On a machine with a GPU: tests and measures a kit that prepare.sh has made, the most valuable part
# first, within a budget of time. A step that fails or takes too long costs only its own result. The
# summary is written again after each part, so that nothing is lost when the run is cut off.
# Usage: KIT/run.sh [OPTION...] [-- OPTION...]
#   --out FOLDER       for the results; default: ./gpu-results
#   --budget SECONDS   for all of it; default 480
#   --parts LIST       of: facts,tests,ceilings,first,variants,peers,kernels,flight,profile,cores,
#                      sanitize,long,columns,bench,seeds; default: all, in this order
#   --scale PERCENT    trains on the first so many percent of the corpus; default 100
#   -- OPTION...       of the programs in KIT/variants: --size 128 --window 5 --in-flight 1056 ...
set -u
kit=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
fail() { echo "run.sh: error: $*" >&2; exit 1; }
out=gpu-results budget=480 scale=100
parts=facts,tests,ceilings,first,variants,peers,kernels,flight,profile,cores,sanitize,long,columns,bench,seeds
all_parts=,$parts,
while [ $# -gt 1 ] && [ "$1" != -- ]; do
  case $1 in
    --out) out=$2 ;;
    --budget) budget=$2 ;;
    --parts) parts=$2 ;;
    --scale) scale=$2 ;;
    *) fail "no option $1" ;;
  esac
  shift 2
done
if [ "${1:-}" = -- ]; then
  shift
elif [ $# -ne 0 ]; then
  sed -n '5,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 1
fi
for part in ${parts//,/ }; do
  case $all_parts in *,$part,*) ;; *) fail "no part '$part'" ;; esac
done
case $budget$scale in *[!0-9]*) fail "--budget and --scale take whole numbers" ;; esac
[ -s "$kit/pack.tar.xz" ] && [ -s "$kit/corpus.xz" ] || fail "'$kit' has no pack: prepare.sh makes it"
SECONDS=0
mkdir -p -- "$out" || exit 1
out=$(cd -- "$out" && pwd)
work=$(mktemp -d) clocks='' running=''
mkdir -- "$work/logs"
logs=$work/logs steps=$out/steps.tsv
: >"$steps"
cores=$(nproc)
cd -- "$work" || exit 1
finish() {
  [ -z "$clocks" ] || kill "$clocks" 2>/dev/null
  cd / && rm -rf -- "$work"
}
trap finish EXIT
# Cut off from outside: the results so far.
trap '[ -z "$running" ] || kill "$running"; end; exit 143' TERM INT
left() { echo $((budget - SECONDS)); }
wants() { case ,$parts, in *,$1,*) ;; *) return 1 ;; esac; }

# step NAME LIMIT COMMAND...: runs it for LIMIT seconds at most. Its output: logs/NAME, with / as -.
step() {
  local name=$1 limit=$2 log=$logs/${1//[\/ ]/-} code=0 start
  shift 2
  if [ "$(left)" -lt 5 ]; then
    printf '%s\tskipped\t0\t%s\n' "$name" "${log##*/}" >>"$steps"
    return 1
  fi
  if [ "$limit" -gt "$(left)" ]; then limit=$(left); fi
  start=$(date +%s.%N)
  timeout -k 3 "$limit" "$@" >"$log" 2>&1 </dev/null &
  running=$!
  wait "$running" || code=$?
  running=''
  printf '%s\t%s\t%s\t%s\n' "$name" "$code" \
    "$(echo "$(date +%s.%N) $start" | awk '{printf "%.2f", $1 - $2}')" "${log##*/}" >>"$steps"
  return "$code"
}
summarise() {
  command -v python3 >/dev/null || return
  python3 "$kit/summarise.py" "$work" "$out" "$budget" "$SECONDS" >"$logs/summarise" 2>&1 ||
    cat "$logs/summarise" >&2
}
end() {
  tar -czf "$out/logs.tar.gz" logs
  summarise
  cat "$out/summary.md" 2>/dev/null || cat "$steps"
}
unxz() {
  if command -v xz >/dev/null; then
    xz -dc -- "$1"
  else
    python3 -c 'import lzma, shutil, sys
shutil.copyfileobj(lzma.open(sys.argv[1]), sys.stdout.buffer)' "$1"
  fi
}

# The pack, then the corpus beside the steps that need none.
unxz "$kit/pack.tar.xz" | tar -x || fail "the pack cannot be unpacked"
bin=$work/bin data=$work/data text=$work/text
(
  unxz "$kit/corpus.xz" >text.part
  [ "$scale" -eq 100 ] || truncate -s $(($(stat -c %s text.part) * scale / 100)) text.part
  mv text.part text
) &
corpus=$!

# Where cuBLAS and NCCL are, if the loader does not know: packages of Python have them.
libraries=$(
  {
    ls -d /usr/local/cuda*/lib64 /usr/local/cuda*/targets/x86_64-linux/lib 2>/dev/null
    command -v python3 >/dev/null && python3 - <<'PYTHON' 2>/dev/null
import glob, site, sys
for folder in dict.fromkeys(sys.path + site.getsitepackages()):
    for found in sorted(glob.glob(folder + '/nvidia/*/lib')):
        print(found)
PYTHON
  } | paste -sd: -
)
# The machine's own libstdc++ is the first choice.
if ldd "$bin/word2vec" 2>&1 | grep -q 'not found'; then
  libraries=$work/lib/cxx:$libraries
  export LD_LIBRARY_PATH=$work/lib/cxx
fi
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer \
  /usr/local/cuda*/compute-sanitizer/compute-sanitizer /opt/nvidia/*/compute-sanitizer \
  2>/dev/null | head -n 1)
ncu=$(command -v ncu || ls /usr/local/cuda*/bin/ncu /opt/nvidia/nsight-compute/*/ncu 2>/dev/null |
  tail -n 1)

facts() {
  cat "$work/built"
  echo "== GPU"
  nvidia-smi
  nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,clocks.max.mem,clocks.sm,power.limit,mig.mode.current,ecc.mode.current,pcie.link.gen.current,pcie.link.width.current --format=csv
  nvidia-smi topo -m
  echo "== machine"
  uname -a
  head -n 2 /etc/os-release
  ldd --version | head -n 1
  lscpu || grep -m 1 'model name' /proc/cpuinfo
  free -g
  df -h "$work" /dev/shm
  echo "== tools"
  nvcc --version
  g++ --version
  python3 --version
  echo "ncu: $ncu; compute-sanitizer: $sanitizer"
  echo "libraries: $libraries"
  echo "== programs whose libraries are missing"
  for program in "$bin"/* "$work"/peers/*; do
    if [ -f "$program" ] && [ -x "$program" ]; then
      LD_LIBRARY_PATH=$work/lib:$libraries ldd "$program" 2>&1 | grep -E 'not found|not a dynamic' |
        sed "s#^#${program##*/}:#"
    fi
  done
  return 0
}
export work bin libraries ncu sanitizer
export -f facts
if wants facts; then step facts 25 bash -c facts; fi
# The clocks of the device while it works.
if command -v nvidia-smi >/dev/null; then
  nvidia-smi --query-gpu=timestamp,clocks.sm,clocks.mem,power.draw,temperature.gpu,utilization.gpu \
    --format=csv,noheader -lms 500 >"$out/clocks.csv" 2>/dev/null &
  clocks=$!
fi

# Each test of device code once, side by side: they are short, and none times anything. A device that
# serves one process at a time gets one after the other.
if wants tests; then
  tests=()
  case $(nvidia-smi --query-gpu=compute_mode --format=csv,noheader 2>/dev/null) in
    *Exclusive*) one_by_one=yes ;;
    *) one_by_one=no ;;
  esac
  for program in "$bin"/test_*_device; do
    [ -x "$program" ] || continue
    LD_LIBRARY_PATH=$libraries step "tests/${program##*/}" 60 "$program" &
    tests+=($!)
    [ $one_by_one = no ] || wait "${tests[@]}"
  done
  [ ${#tests[@]} -eq 0 ] || wait "${tests[@]}"
fi
if wants ceilings; then step ceilings 40 "$bin/ceilings"; fi
wait "$corpus"
[ -s text ] || { summarise; fail "the corpus cannot be unpacked"; }
summarise

scores=(--evaluate-similarity "$data/similarity/ws353.tsv" --evaluate-similarity
  "$data/similarity/simlex999.tsv" --evaluate-analogy "$data/analogy/questions-words.txt")
# train NAME LIMIT OPTION...: the first with a min-count encodes the text for all of them.
encoded=$work/encoded
train() {
  local name=$1 limit=$2
  shift 2
  step "$name" "$limit" "$bin/word2vec" --train "$text" --sample 1e-4 --json --quiet \
    --cache "$encoded" "$@"
}
# kernel NAME DIMENSION OPTION...: five epochs, with scores.
kernel() {
  train "kernel/$1/$2" 60 --size "$2" --iter 5 "${scores[@]}" "${@:3}"
}
shared='--sampler shared' fixed='--sampler shared-fixed'

if wants first; then
  kernel cuda-warp 128 $shared --kernel cuda-warp
  kernel cuda-warp,fixed 128 $fixed --kernel cuda-warp
  kernel cuda-warp,groups 128 --sampler grouped --alpha 0.03 --kernel cuda-warp
  kernel cuda-ring,fixed 128 $fixed --kernel cuda-ring
  # The same arithmetic on the processor, for its scores.
  kernel fused 128 $shared --kernel fused
  summarise
fi

# The programs that variants.sh has built, and CudaWarpKernel with and without hot outputs: each is
# scored once, then all are timed in alternation.
if wants variants; then
  variant() {
    local name=$1 round=$2
    shift 2
    step "variants/$name/$round" 60 "variants/$name" --label "$name" --corpus "$text" \
      --cache "$work/encoded" --rounds 1 "$@"
  }
  programs=()
  mkdir -p variants
  if [ -x "$bin/time_warp" ] && [ -x "$bin/time_hot" ]; then
    cp -- "$bin/time_warp" "$bin/time_hot" variants/
  fi
  # Beside lib, where they find their libraries.
  if [ -d "$kit/variants" ]; then cp -r -- "$kit/variants" .; fi
  for program in variants/*; do
    if [ -x "$program" ] && [ -f "$program" ]; then programs+=("${program##*/}"); fi
  done
  for name in "${programs[@]}"; do variant "$name" scores --epochs 5 --data "$data" "$@"; done
  for round in 1 2 3 4 5 6 7; do
    for name in "${programs[@]}"; do variant "$name" "$round" --epochs 20 "$@"; done
  done
  summarise
fi

# Programs of others: a line of `commands` is NAME|LIMIT|COMMAND, where {text} is the corpus, {lines}
# the corpus in lines of 100 words, {output} the file for vectors in word2vec's binary format,
# {threads} the number of processors and {ncu} the profiler.
if wants peers && [ -f peers/commands ]; then
  if grep -q '{lines}' peers/commands; then
    awk -v RS='[ \n]+' 'NF { printf "%s%s", $0, ++n % 100 ? " " : "\n" } END { print "" }' text >lines
  fi
  while IFS='|' read -r name limit command; do
    case $name in '' | \#*) continue ;; esac
    case $command in *{ncu}*) [ -n "$ncu" ] || continue ;; esac
    command=${command//\{ncu\}/$ncu --clock-control none}
    command=${command//\{text\}/$work/text} command=${command//\{lines\}/$work/lines}
    command=${command//\{output\}/$work/peer.bin} command=${command//\{threads\}/$cores}
    rm -f peer.bin
    LD_LIBRARY_PATH=$work/lib:$libraries step "peers/$name" "$limit" \
      bash -c "cd peers && exec $command"
    if [ -s peer.bin ]; then
      step "peers/$name/scores" 30 "$bin/evaluate" peer.bin --json \
        --similarity "$data/similarity/ws353.tsv" --similarity "$data/similarity/simlex999.tsv" \
        --analogy "$data/analogy/questions-words.txt"
    fi
  done <peers/commands
  summarise
fi

if wants kernels; then
  kernel cuda-ring 128 $shared --kernel cuda-ring
  kernel cuda-register,fixed 128 $fixed --kernel cuda-register
  kernel cuda-sentence 128 --sampler hogwild --kernel cuda-sentence
  kernel cuda-word,fixed 128 --sampler hogwild-fixed --kernel cuda-word
  kernel cuda-gemm 128 --sampler minibatch --kernel cuda-gemm
  kernel cbow,cuda-sentence 128 --cbow 1 --kernel cuda-sentence
  kernel hs,cuda-register 128 --hs 1 --negative 0 --kernel cuda-register
  kernel cbow,hs,cuda-sentence 128 --cbow 1 --hs 1 --negative 0 --kernel cuda-sentence
  summarise
fi

# Sentences in flight: speed and quality. More than fit the registers are as many as fit (at D = 128
# on Hopper: 1,056 with random windows of 5, 1,584 with fixed ones).
if wants flight; then
  for sentences in 528 264 1056 132 8448; do
    train "flight/shared/$sentences" 40 --size 128 --iter 5 "${scores[@]}" $shared \
      --kernel cuda-warp --in-flight "$sentences"
  done
  for sentences in 1584 528; do
    train "flight/shared-fixed/$sentences" 40 --size 128 --iter 5 "${scores[@]}" $fixed \
      --kernel cuda-warp --in-flight "$sentences"
  done
  summarise
fi

# The hardware's counters for one launch, the third.
if wants profile && [ -n "$ncu" ]; then
  # profile NAME SAMPLER KERNEL OPTION...
  profile() {
    step "profile/$1" 50 "$ncu" --clock-control none --kernel-name regex:train_batch \
      --launch-skip 2 --launch-count 1 "${@:4}" "$bin/word2vec" --train "$text" --sample 1e-4 \
      --json --quiet --cache "$work/encoded" --size 128 --iter 1 --sampler "$2" --kernel "$3"
  }
  sections=(--section SpeedOfLight --section MemoryWorkloadAnalysis --section
    MemoryWorkloadAnalysis_Tables --section WarpStateStats --section SchedulerStats --section
    Occupancy --section LaunchStats --section ComputeWorkloadAnalysis --section InstructionStats)
  profile cuda-warp shared cuda-warp "${sections[@]}"
  profile cuda-ring shared-fixed cuda-ring "${sections[@]}"
  # Reductions in the second-level cache: those of these counters that the tool knows.
  known=$(timeout 20 "$ncu" --query-metrics 2>/dev/null) metrics=''
  for metric in gpu__time_duration.sum sm__cycles_elapsed.max smsp__inst_executed.sum \
    smsp__inst_executed.avg.per_cycle_active lts__t_sectors_op_read.sum \
    lts__t_sectors_op_read_lookup_hit.sum lts__t_sectors_op_red.sum lts__t_sectors_op_red_lookup_hit.sum \
    lts__t_requests_srcunit_tex_op_red.sum lts__t_sectors.avg.pct_of_peak_sustained_elapsed \
    lts__d_atomic_input_cycles_active.avg.pct_of_peak_sustained_elapsed \
    lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed \
    lts__t_sectors.max.pct_of_peak_sustained_elapsed dram__bytes_read.sum dram__bytes_write.sum \
    l1tex__m_xbar2l1tex_read_bytes.sum l1tex__m_l1tex2xbar_write_bytes.sum; do
    case $known in *"${metric%%.*}"*) metrics+=${metrics:+,}$metric ;; esac
  done
  [ -z "$metrics" ] || profile cuda-warp,reductions shared cuda-warp --metrics "$metrics"
  # The time of a warp line by line, for the tool's own window.
  profile cuda-warp,lines shared cuda-warp --section SourceCounters --section WarpStateStats \
    --export "$out/cuda-warp" --force-overwrite
  cat "$logs"/profile-* >"$out/profile.txt" 2>/dev/null
  summarise
fi

# Many cores: the claim that private rows let threads share a model.
if wants cores; then
  counts=()
  for ((threads = cores; threads >= 1; threads /= 2)); do counts+=("$threads"); done
  for rows in 512 0; do
    for sampler in shared grouped; do
      rate=0.025
      [ $sampler = shared ] || rate=0.03
      for threads in "${counts[@]}"; do
        # About equally long, but few seconds for many threads.
        epochs=$((threads < 4 ? 1 : threads < 16 ? 2 : 4))
        train "cores/$sampler/$rows/$threads" 25 --size 128 --iter "$epochs" --alpha "$rate" \
          --sampler "$sampler" --kernel fused --threads "$threads" --private-rows "$rows"
      done
    done
    summarise
  done
  for rows in 512 0; do
    train "cores/scores/$rows/$cores" 40 --size 128 --iter 5 "${scores[@]}" --sampler grouped \
      --alpha 0.03 --kernel fused --threads "$cores" --private-rows "$rows"
  done
  summarise
fi

# Errors of memory and races, on the small models of the tests.
if wants sanitize && [ -n "$sanitizer" ]; then
  sanitize() {
    local tool=$1 program=$2 case=${3:-}
    [ -x "$bin/$program" ] || return
    LD_LIBRARY_PATH=$libraries step "sanitize/$tool/$program${case:+,$case}" 60 "$sanitizer" \
      --tool "$tool" --error-exitcode 3 "$bin/$program" ${case:+"$case"}
  }
  for tool in memcheck racecheck initcheck synccheck; do
    sanitize "$tool" test_kernels_device warp
  done
  for tool in racecheck memcheck; do
    for case in ring gemm sentence register; do
      sanitize "$tool" test_kernels_device "$case"
    done
    sanitize "$tool" test_vanilla_device
    sanitize "$tool" test_columns_device
  done
  summarise
fi

# Longer rows
if wants long; then
  kernel cuda-warp 300 $shared --kernel cuda-warp
  kernel cuda-ring 300 $shared --kernel cuda-ring
  kernel cuda-gemm 300 --sampler minibatch --kernel cuda-gemm
  kernel cuda-sentence 300 --sampler hogwild --kernel cuda-sentence
  summarise
fi

# Columns of the uniform matrix, and minibatches of pairs.
if wants columns; then
  encoded=$work/encoded-50
  for optimizer in sgd adam; do
    train "columns/cuda-uniform,$optimizer" 40 --size 128 --window 2 --min-count 50 --iter 1 \
      "${scores[@]}" --sampler uniform --context-size 4096 --kernel cuda-uniform \
      --optimizer "$optimizer"
  done
  train "columns/fused,adam" 40 --size 128 --window 2 --min-count 50 --iter 1 \
    "${scores[@]}" --sampler uniform --context-size 256 --kernel fused --optimizer adam
  encoded=$work/encoded
  if [ -x "$bin/time_vanilla" ]; then
    for batch in 1024 65536; do
      step "columns/vanilla,adam,$batch" 40 "$bin/time_vanilla" --corpus "$text" --cache \
        "$work/encoded" --batch "$batch" --epochs 2 --rounds 1 --label "$batch"
    done
  fi
  summarise
fi

# The project's own benchmark, which compares with the ceilings that it measures itself.
if wants bench && [ -x "$bin/bench_cuda" ]; then
  step bench 60 "$bin/bench_cuda" --corpus "$text" --epochs 5 --benchmark_min_time=0.1 \
    --benchmark_out="$logs/bench.json" --benchmark_out_format=json
fi

# Other seeds: the differences of scores by chance.
if wants seeds; then
  for seed in 2 3; do
    for kernel in cuda-warp fused; do
      train "seeds/$kernel/$seed" 60 --size 128 --iter 5 "${scores[@]}" $shared \
        --kernel "$kernel" --seed "$seed"
    done
  done
fi
end
# A check for errors of memory or races may take longer than its limit: that is not an error.
awk -F '\t' '/^tests\// && $2 !~ /^(0|77|skipped)$/ { failed = 1 }
  /^sanitize\// && $2 !~ /^(0|77|124|skipped)$/ { failed = 1 } END { exit failed }' "$steps" ||
  fail "a test has failed, see the summary"
