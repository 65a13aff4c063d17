# How CTest runs each program.

# Fails when `command` (a line of sh, run in a folder of its own) fails.
function(wordloom_example_test name command)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/runs/${name})
  file(MAKE_DIRECTORY ${folder})
  add_test(NAME example/${name} COMMAND sh -euc "${command}" WORKING_DIRECTORY ${folder})
  set_tests_properties(example/${name} PROPERTIES LABELS example TIMEOUT 300)
endfunction()

# A small corpus for the programs that want one.
add_executable(write_demo_corpus support/write_demo_corpus.cpp)
target_include_directories(write_demo_corpus PRIVATE support)
target_link_libraries(write_demo_corpus PRIVATE wordloom_own_program)
set(corpus ${CMAKE_CURRENT_BINARY_DIR}/runs/corpus)
add_test(NAME example/write_demo_corpus
         COMMAND write_demo_corpus ${corpus} 300000)
set_tests_properties(example/write_demo_corpus PROPERTIES FIXTURES_SETUP demo_corpus)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/runs)

# The same, given that corpus.
function(wordloom_corpus_test name command)
  wordloom_example_test(${name} "${command}")
  set_tests_properties(example/${name} PROPERTIES FIXTURES_REQUIRED demo_corpus)
endfunction()

wordloom_example_test(demo "$<TARGET_FILE:demo> | tee out; grep -q 'paris : france = rome : *italy' out")
wordloom_corpus_test(quickstart
  "$<TARGET_FILE:quickstart> ${corpus}/text vectors.bin | tee out; grep -q nearest out; test -s vectors.bin")
wordloom_corpus_test(custom_policy "$<TARGET_FILE:custom_policy> ${corpus}/text | grep 'loss: right'")
wordloom_corpus_test(custom_targets "$<TARGET_FILE:custom_targets> ${corpus}/text | grep 'loss: neighbouring ranks'")
wordloom_corpus_test(custom_corpus "$<TARGET_FILE:custom_corpus> ${corpus}/text | grep 'loss: random cuts'")
wordloom_corpus_test(custom_combine "$<TARGET_FILE:custom_combine> ${corpus}/text | grep 'loss of two ranks: clipped sum'")
wordloom_corpus_test(continue_training
  "sed 's/dog/hound/g' ${corpus}/text >more
   $<TARGET_FILE:continue_training> ${corpus}/text more model | tee out; grep '1 new words, loss' out; test -s model")
wordloom_corpus_test(neighbours
  "$<TARGET_FILE:quickstart> ${corpus}/text v.bin >/dev/null
   printf 'france\\nparis france rome\\nxyzzy\\n' | $<TARGET_FILE:neighbours> v.bin | tee out
   grep -q italy out; grep -q 'unknown word' out")

wordloom_corpus_test(evaluate
  "$<TARGET_FILE:quickstart> ${corpus}/text v.bin >/dev/null
   $<TARGET_FILE:evaluate> v.bin --similarity ${corpus}/similarity --analogy ${corpus}/analogies | tee out
   grep -q semantic out
   $<TARGET_FILE:evaluate> v.bin --analogy ${corpus}/analogies --json | grep -E '\"accuracy\":(1.0|0.[5-9])'
   status=0; $<TARGET_FILE:evaluate> missing --analogy ${corpus}/analogies 2>err || status=$?
   test $status -eq 1; test $(wc -l <err) -eq 1; grep missing err")

set(train "$<TARGET_FILE:word2vec> --train ${corpus}/text --size 50 --iter 4 --threads 2")
set(train_longer "$<TARGET_FILE:word2vec> --train ${corpus}/text --size 50 --iter 8 --threads 2")
# Every sampler that the program lists, with each kernel.
foreach(kernel IN ITEMS fused dot gemm)
  if(kernel STREQUAL gemm AND NOT WORDLOOM_ENABLE_BLAS)
    continue()
  endif()
  wordloom_corpus_test(word2vec-all-samplers-${kernel}
    "samplers=$($<TARGET_FILE:word2vec> --list-policies | sed 's/.*samplers//; s/kernels.*//; s/[^a-z-]/ /g')
     test $(echo $samplers | wc -w) -ge 18
     for sampler in $samplers; do
       ${train_longer} --sampler $sampler --kernel ${kernel} --json --quiet --evaluate-analogy ${corpus}/analogies --evaluate-similarity ${corpus}/similarity >out
       grep -o '\"accuracy\":[0-9.]*' out | sed \"s/^/$sampler /\"
       grep -Eq '\"accuracy\":(1.0|0.[5-9])' out
     done")
endforeach()
# The original program's options choose among them.
wordloom_corpus_test(word2vec-cbow-and-hs
  "for options in '-cbow 1' '-cbow 1 --cbow-gradient whole' '-hs 1 -negative 0' '-cbow 1 -hs 1 -negative 0' '-hs 1'; do
     ${train_longer} $options --json --quiet --evaluate-analogy ${corpus}/analogies | tee out
     grep -Eq '\"accuracy\":(1.0|0.[5-9])' out
   done")
# A model is trained on: by another kernel, with new words, and not where it does not fit.
wordloom_corpus_test(word2vec-trains-on
  "rm -f *; ${train} --output v --save-model model --quiet
   sed 's/dog/hound/g' ${corpus}/text >more
   $<TARGET_FILE:word2vec> --train more --load-model model --new-words --size 50 --iter 2 --kernel dot --output w --save-model longer --quiet
   grep -q '^hound ' w; grep -q '^dog ' w; test $(wc -l <w) -gt $(wc -l <v)
   status=0; ${train} --load-model model --hs 1 --negative 0 --output x 2>err || status=$?
   cat err; test $status -eq 1; test $(wc -l <err) -eq 1; grep 'output is' err; test ! -e x
   head -c 1000 model >cut; status=0; ${train} --load-model cut --output x 2>err || status=$?
   cat err; test $status -eq 1; test $(wc -l <err) -eq 1; grep 'cut' err; test ! -e x")
if(WORDLOOM_ENABLE_CUDA)
  foreach(composition IN ITEMS shared-cuda-warp shared-fixed-cuda-warp shared-cuda-ring
                               shared-cuda-register hogwild-cuda-sentence minibatch-cuda-gemm)
    string(REGEX MATCH "^(.*)-(cuda-.*)$" matched ${composition})
    wordloom_corpus_test(word2vec-${composition}
      "${train} --sampler ${CMAKE_MATCH_1} --kernel ${CMAKE_MATCH_2} --json --quiet --evaluate-analogy ${corpus}/analogies --evaluate-similarity ${corpus}/similarity | tee out
       grep -Eq '\"accuracy\":(1.0|0.[5-9])' out")
    set_tests_properties(example/word2vec-${composition} PROPERTIES
      LABELS gpu SKIP_REGULAR_EXPRESSION "no CUDA device answers")
  endforeach()
  wordloom_corpus_test(word2vec-without-gpu
    "status=0
     CUDA_VISIBLE_DEVICES= ${train} --output v --kernel cuda-warp 2>err || status=$?
     test $status -eq 1; test $(wc -l <err) -eq 1; grep 'no CUDA device answers' err; test ! -e v")
endif()
# Killed or interrupted at any moment, a run goes on; one thread: to the same bits.
wordloom_corpus_test(word2vec-resumes
  "rm -f *; train='$<TARGET_FILE:word2vec> --train ${corpus}/text --size 50 --iter 60 --threads 1 --quiet'
   $train --output whole
   $train --output killed --checkpoint state --checkpoint-every 0 & sleep 0.3; kill -9 $!; wait $! || true
   test -s state; test ! -e killed; $train --output killed --checkpoint state --resume; cmp whole killed
   rm state; status=0
   timeout --signal INT 0.3 $train --output interrupted --checkpoint state --checkpoint-every 10min 2>err || status=$?
   cat err; grep 'go on with --resume' err; test ! -e interrupted
   $train --output interrupted --checkpoint state --resume; cmp whole interrupted
   head -c 1000 state >damaged; status=0
   $train --output v --checkpoint damaged --resume 2>err || status=$?
   cat err; test $status -eq 1; test $(wc -l <err) -eq 1; grep 'damaged: byte' err; test ! -e v
   status=0; $train --seed 3 --output v --checkpoint state --resume 2>err || status=$?
   test $status -eq 1; grep 'another method or set of hyperparameters' err; test ! -e v")
if(WORDLOOM_ENABLE_MPI)
  set(job "${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG}")
  set(alike "--size 50 --threads 1 --sync mpi --quiet")
  set(together "--train ${corpus}/text ${alike}")
  # One process writes; the vectors are better than one process would learn from its part.
  wordloom_corpus_test(mpi-trains
    "rm -f *; ${job} 3 $<TARGET_FILE:word2vec> ${together} --iter 4 --output v --json --evaluate-analogy ${corpus}/analogies | tee out
     test $(wc -l <out) -eq 1; grep '\"ranks\":3' out; grep -Eq '\"accuracy\":(1.0|0.[89])' out; test \"$(ls)\" = \"$(printf 'out\\nv')\"")
  wordloom_corpus_test(mpi-bf16
    "rm -f *; ${job} 2 $<TARGET_FILE:word2vec> ${together} --sync-bf16 --iter 4 --output v --json --evaluate-analogy ${corpus}/analogies | tee out
     grep -Eq '\"accuracy\":(1.0|0.[89])' out; test -s v")
  wordloom_corpus_test(mpi-refuses
    "rm -f *; status=0
     ${job} 1 $<TARGET_FILE:word2vec> ${together} --output v : ${MPIEXEC_NUMPROC_FLAG} 1 $<TARGET_FILE:word2vec> ${together} --output v --seed 2 2>err || status=$?
     cat err; test $status -ne 0; grep 'rank . on .* has failed: rank 1 has another method or set of hyperparameters' err; test ! -e v
     status=0; ${job} 2 $<TARGET_FILE:word2vec> ${alike} --train missing --output v 2>err || status=$?
     test $status -ne 0; grep 'has failed: .*missing.: No such file' err; test ! -e v
     cp ${corpus}/text other; echo more >>other; status=0
     ${job} 1 $<TARGET_FILE:word2vec> ${together} --output v : ${MPIEXEC_NUMPROC_FLAG} 1 $<TARGET_FILE:word2vec> ${alike} --train other --output v 2>err || status=$?
     cat err; test $status -ne 0; grep 'has failed: rank 1 has another text in' err; test ! -e v")
  # A process that is killed ends the job.
  wordloom_corpus_test(mpi-killed
    "rm -f *; ${job} 2 $<TARGET_FILE:word2vec> ${together} --iter 100000 --output v 2>err & mpi=$!
     sleep 2; kill -9 $(cut -d ' ' -f 1 /proc/$mpi/task/$mpi/children); killed=$(date +%s)
     status=0; wait $mpi || status=$?
     test $status -ne 0; test $(($(date +%s) - killed)) -le 10; cat err; test -s err; test \"$(ls)\" = err")
  # And what it had saved goes on, with as many processes.
  wordloom_corpus_test(mpi-resumes
    "rm -f *; goes_on='$<TARGET_FILE:word2vec> ${together} --iter 60 --output v --checkpoint state'
     ${job} 2 $goes_on --checkpoint-every 0 2>err & mpi=$!
     until test -s state; do sleep 0.05; done; sleep 0.2
     kill -9 $(cut -d ' ' -f 1 /proc/$mpi/task/$mpi/children); status=0; wait $mpi || status=$?
     test $status -ne 0; test ! -e v
     status=0; ${job} 3 $goes_on --resume 2>err || status=$?
     cat err; test $status -ne 0; grep 'state. is of another number of ranks: 2, not 3' err; test ! -e v
     rm state; status=0
     timeout --signal INT 1 ${job} 2 $goes_on 2>err || status=$?
     cat err; test $status -ne 0; test -s state; test ! -e v
     ${job} 2 $goes_on --resume --json --evaluate-analogy ${corpus}/analogies | tee out
     grep -Eq '\"accuracy\":(1.0|0.[89])' out; test -s v")
  wordloom_corpus_test(mpi-hostfile
    "rm -f *; ${CMAKE_CURRENT_SOURCE_DIR}/cluster/run.sh ${CMAKE_CURRENT_SOURCE_DIR}/cluster/hostfile $<TARGET_FILE:word2vec> --train ${corpus}/text --size 20 --threads 1 --quiet --output v
     test -s v")
  # Over a network of 1 Gbit/s with a delay of 1 ms.
  wordloom_corpus_test(mpi-namespaces
    "rm -f *; status=0
     ${CMAKE_CURRENT_SOURCE_DIR}/cluster/namespaces.sh 3 1000 1 $<TARGET_FILE:word2vec> ${together} --iter 4 --output v --json --evaluate-analogy ${corpus}/analogies >out || status=$?
     test $status -eq 0 || exit $status; grep '\"ranks\":3' out; grep -Eq '\"accuracy\":(1.0|0.[89])' out; test -s v")
  set_tests_properties(example/mpi-namespaces PROPERTIES SKIP_RETURN_CODE 77)
  foreach(name IN ITEMS mpi-trains mpi-bf16 mpi-refuses mpi-killed mpi-resumes mpi-hostfile mpi-namespaces)
    set_tests_properties(example/${name} PROPERTIES LABELS "example;mpi" ENVIRONMENT
                                                    "${WORDLOOM_MPI_TEST_ENVIRONMENT}")
  endforeach()
else()
  wordloom_corpus_test(word2vec-without-mpi
    "status=0
     ${train} --output v --sync mpi 2>err || status=$?
     test $status -eq 1; test $(wc -l <err) -eq 1; grep 'needs a build with MPI' err; test ! -e v")
endif()
wordloom_corpus_test(word2vec-original-flags
  "$<TARGET_FILE:word2vec> -train ${corpus}/text -output v.bin -cbow 0 -size 30 -window 4 -negative 3 -hs 0 -sample 1e-3 -threads 2 -binary 1 -iter 2 -min-count 10 -alpha 0.03 -save-vocab vocab
   head -c 20 v.bin | grep -aq ' 30'; grep -q ' ' vocab
   $<TARGET_FILE:word2vec> -train ${corpus}/text -output v.txt -read-vocab vocab -size 30 -iter 1 -cache ids; test -s ids; head -n 1 v.txt | grep ' 30$'")
foreach(format IN ITEMS word2vec-binary word2vec-text vec glove npy tsv)
  wordloom_corpus_test(word2vec-format-${format}
    "${train} --quiet --stream --output v.tsv --format ${format}; echo france | $<TARGET_FILE:neighbours> --format ${format} v.tsv | grep -E '[a-z]+ +0\\.'")
endforeach()
wordloom_example_test(word2vec-target
  "$<TARGET_FILE:word2vec> --version | grep 'vectors of [a-z]'
   for target in $($<TARGET_FILE:word2vec> --version | sed 's/.* of //'); do
     WORDLOOM_TARGET=$target $<TARGET_FILE:word2vec> --version | grep $target
   done
   status=0; WORDLOOM_TARGET=abacus $<TARGET_FILE:word2vec> --version 2>err || status=$?
   test $status -eq 1; test $(wc -l <err) -eq 1; grep 'WORDLOOM_TARGET is .abacus., this program' err")
wordloom_corpus_test(word2vec-one-thread-repeats
  "for name in a b; do
     $<TARGET_FILE:word2vec> --train ${corpus}/text --size 50 --iter 2 --threads 1 --quiet --output $name
   done; cmp a b")

# Bad input: exit code 1, one line on stderr that says what, and no file left behind.
function(wordloom_refusal_test name arguments message)
  wordloom_corpus_test(refused-${name}
    "rm -rf * && touch in && printf 'a a a a a\\n' > rare && printf 'x y\\n' > pairs
     status=0; $<TARGET_FILE:word2vec> ${arguments} 2>err >out || status=$?
     cat err; test $status -eq 1; test $(wc -l <err) -eq 1; grep -q -e '${message}' err
     rm -f in rare pairs err out; test -z \"$(ls -A)\"")
endfunction()
wordloom_refusal_test(no-arguments "" "--train is required")
wordloom_refusal_test(unknown-option "--train in --vectors 3" "--vectors")
wordloom_refusal_test(not-a-number "--train in --size ten" "size")
wordloom_refusal_test(size "--train in --output v --size 0" "dimension is 0, must be from 1")
wordloom_refusal_test(negative-number "--train in --output v --iter -3" "iter.*-3")
wordloom_refusal_test(sample "--train in --output v --sample 2" "subsample is 2, must be from 0 to 1")
wordloom_refusal_test(minibatch "--train in --output v --minibatch 2000" "minibatch is 2000, must be from 0 to 1000")
wordloom_refusal_test(kernel "--train in --output v --kernel cuda" "kernel")
wordloom_refusal_test(nccl-without-gpu "--train in --output v --sync nccl" "--sync nccl does not go with --kernel fused")
wordloom_refusal_test(bf16-without-mpi "--train in --output v --sync-bf16" "--sync-bf16 is for --sync mpi")
wordloom_refusal_test(format "--train in --output v --format csv" "unknown vector format .csv.")
wordloom_refusal_test(cbow "-train in -output v -cbow 2" "cbow")
wordloom_refusal_test(negatives "--train in --output v --negative 2000" "negatives is 2000, must be from 0 to 1000")
wordloom_refusal_test(no-targets "--train in --output v --negative 0" "--negative is 0: give --hs 1")
wordloom_refusal_test(cbow-sampler "--train in --output v --cbow 1 --sampler grouped" "--cbow 1 does not go with --sampler grouped")
wordloom_refusal_test(hs-sampler "--train in --output v --hs 1 --sampler grouped" "not grouped")
wordloom_refusal_test(sampler "--train in --output v --sampler nothing" "shared-hs")
wordloom_refusal_test(new-words "--train in --output v --new-words" "--new-words needs --load-model")
wordloom_refusal_test(load-model "--train in --output v --load-model pairs" "pairs: byte 0: expected .wordloom model 1.")
wordloom_refusal_test(resume "--train in --output v --resume" "--resume needs the file of --checkpoint")
wordloom_refusal_test(no-checkpoint "--train ${corpus}/text --output v --checkpoint missing --resume" "missing.: No such file")
wordloom_refusal_test(checkpoint-folder "--train ${corpus}/text --output v --checkpoint no/state" "no/state.: No such file")
wordloom_refusal_test(checkpoint-every "--train in --output v --checkpoint-every -1" "--checkpoint-every must be 0 or above")
wordloom_refusal_test(checkpoint-every-unit "--train in --output v --checkpoint-every 3furlongs" "furlongs unit not recognized")
wordloom_refusal_test(no-text "--train missing --output v" "missing.: No such file or directory")
wordloom_refusal_test(folder-as-text "--train . --output v" "is a directory")
wordloom_refusal_test(empty-text "--train in --output v" "in: no words")
wordloom_refusal_test(rare-words "--train pairs --output v" "min_count = 5")
wordloom_refusal_test(one-word "--train rare --output v" "at least 2 words")
wordloom_refusal_test(no-folder "--train ${corpus}/text --output no/v" "no/v.: No such file or directory")
wordloom_refusal_test(folder-as-output "--train ${corpus}/text --output ." "it is a directory")
wordloom_refusal_test(bad-pairs "--train ${corpus}/text --output v --evaluate-similarity pairs" "pairs: line 1: expected two words and a number")
wordloom_refusal_test(bad-vocabulary "--train ${corpus}/text --output v --read-vocab pairs" "pairs: line 1: expected a word, a space and a count")
