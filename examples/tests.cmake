# How CTest runs each program.

# Fails when `command` (a line of sh, run in a folder of its own) fails.
function(wordloom_example_test name command)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/runs/${name})
  file(MAKE_DIRECTORY ${folder})
  add_test(NAME example/${name} COMMAND sh -euc "${command}" WORKING_DIRECTORY ${folder})
  set_tests_properties(example/${name} PROPERTIES LABELS example TIMEOUT 300)
endfunction()

# A small corpus for the programs that need one.
add_executable(write_demo_corpus support/write_demo_corpus.cpp)
target_include_directories(write_demo_corpus PRIVATE support)
target_link_libraries(write_demo_corpus PRIVATE wordloom_own_program)
target_compile_options(write_demo_corpus PRIVATE ${little_optimisation})
target_precompile_headers(write_demo_corpus REUSE_FROM wordloom_own_headers)
set(corpus ${CMAKE_CURRENT_BINARY_DIR}/runs/corpus)
add_test(NAME example/write_demo_corpus
         COMMAND sh -euc "$<TARGET_FILE:write_demo_corpus> ${corpus} 300000
                          $<TARGET_FILE:write_demo_corpus> ${corpus}/short 100000")
set_tests_properties(example/write_demo_corpus PROPERTIES FIXTURES_SETUP demo_corpus)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/runs)

# Lines of sh. `stop_midway SIGNAL SEEN VICTIM PROGRAM ...` runs a program that writes `v` and
# `state`, sends SIGNAL to VICTIM once SEEN is true, and returns the exit status of the program. It
# trains more epochs where the machine is so fast that the program ended first: $epochs in the end.
set(stop_midway "stop_midway() {
       signal=$1; seen=$2; victim=$3; shift 3
       for epochs in 6 60 600 6000; do
         rm -f v state err; \"$@\" --iter $epochs 2>err & pid=$!
         until eval \"$seen\" || test -e v; do sleep 0.02; done
         eval \"kill -$signal $victim\" || true
         stopped=0; wait $pid || stopped=$?
         test -e v || return $stopped
       done
     }")

# The same, given that corpus.
function(wordloom_corpus_test name command)
  wordloom_example_test(${name} "${command}")
  set_tests_properties(example/${name} PROPERTIES FIXTURES_REQUIRED demo_corpus)
endfunction()

wordloom_example_test(demo "$<TARGET_FILE:demo> | tee out; grep -q 'paris : france = rome : *italy' out")
wordloom_corpus_test(quickstart
  "$<TARGET_FILE:quickstart> ${corpus}/text vectors.bin | tee out; grep -q nearest out; test -s vectors.bin")
wordloom_corpus_test(tour
  "$<TARGET_FILE:tour> ${corpus}/text | tee out; grep '^queen' out; grep 'match: paris' out
   test -s model; test -s vectors.bin")
# Names with blanks; trained to the end, cancelled, and without data.
wordloom_corpus_test(host_application
  "sed 's/paris/Paris (city)/g; s/ /;/g; s/Paris;(/Paris (/g' ${corpus}/short/text >baskets
   $<TARGET_FILE:host_application> baskets 300 'Paris (city)' 2>log; cat log; grep -q '^loss' log
   grep '^100 %' log; test $(sed -n '/^trained/,$p' log | grep -c ' 0[.]') -eq 5
   $<TARGET_FILE:host_application> baskets 0 'Paris (city)' 2>log; grep '^cancelled' log
   status=0; $<TARGET_FILE:host_application> missing 300 x 2>err || status=$?
   cat err; test $status -eq 1; grep 'cannot open missing' err")
wordloom_corpus_test(run_time_choice
  "$<TARGET_FILE:run_time_choice> ${corpus}/text cbow dot gradient whole | tee out; grep '^epoch 2' out; grep ' vectors' out
   status=0; $<TARGET_FILE:run_time_choice> ${corpus}/text cbow fast 2>err || status=$?
   cat err; test $status -eq 1; grep 'choose one of: fused' err")
wordloom_corpus_test(custom_policy "$<TARGET_FILE:custom_policy> ${corpus}/text | grep 'loss: right'")
wordloom_corpus_test(custom_kernel
  "$<TARGET_FILE:custom_kernel> ${corpus}/text | tee out; grep 'largest error: [0-9.]*e-0[5-9]' out; grep 'loss: ' out")
wordloom_corpus_test(custom_targets "$<TARGET_FILE:custom_targets> ${corpus}/text | grep 'loss: neighbouring ranks'")
wordloom_corpus_test(custom_corpus "$<TARGET_FILE:custom_corpus> ${corpus}/text | grep 'loss: random cuts'")
wordloom_corpus_test(custom_combine "$<TARGET_FILE:custom_combine> ${corpus}/text | grep 'loss of two ranks: clipped sum'")
if(WORDLOOM_ENABLE_BLAS)
  wordloom_corpus_test(char_cnn
    "$<TARGET_FILE:char_cnn> ${corpus}/short/text model france frances | tee out; grep '^france: ' out
     grep '^frances, not in the text:.*france' out; test -s model")
endif()
wordloom_corpus_test(subwords
  "$<TARGET_FILE:subwords> ${corpus}/text model france frances | tee out; grep '^france: ' out
   grep '^frances, not in the text: france ' out; test -s model")
wordloom_corpus_test(continue_training
  "sed 's/dog/hound/g' ${corpus}/text >more
   $<TARGET_FILE:continue_training> ${corpus}/text more model | tee out; grep '1 new words, loss' out; test -s model")
wordloom_corpus_test(train_on_nodes
  "$<TARGET_FILE:train_on_nodes> ${corpus}/text v
   $<TARGET_FILE:evaluate> v --analogy ${corpus}/analogies --json | tee out
   grep -Eq '\"accuracy\":(1.0|0.[89])' out")
wordloom_corpus_test(neighbours
  "$<TARGET_FILE:quickstart> ${corpus}/text v.bin >/dev/null
   printf 'france\\nparis france rome\\nxyzzy\\n' | $<TARGET_FILE:neighbours> v.bin 2>err | tee out
   grep -q italy out; grep -q \"^neighbours: unknown word 'xyzzy'\" err")

# The sentence itself is the nearest of the text.
wordloom_corpus_test(rank_documents
  "$<TARGET_FILE:quickstart> ${corpus}/text v.bin >/dev/null
   head -n 200 ${corpus}/text >documents; asked=$(sed -n 7p documents)
   $<TARGET_FILE:rank_documents> v.bin documents \"$asked\" | tee out; test $(wc -l <out) -eq 4; head -n 1 out | grep -E '^(1|0[.]9999)'
   head -n 1 out | grep -F \"$asked\"
   status=0; $<TARGET_FILE:rank_documents> v.bin missing x 2>err || status=$?; test $status -eq 1; grep \"cannot open 'missing'\" err")

wordloom_corpus_test(evaluate
  "$<TARGET_FILE:quickstart> ${corpus}/text v.bin >/dev/null
   $<TARGET_FILE:evaluate> v.bin --similarity ${corpus}/similarity --analogy ${corpus}/analogies | tee out
   grep -q semantic out
   $<TARGET_FILE:evaluate> v.bin --analogy ${corpus}/analogies --json | grep -E '\"accuracy\":(1.0|0.[5-9])'
   name=$(printf 'analogies\\377'); cp ${corpus}/analogies $name
   $<TARGET_FILE:evaluate> v.bin --analogy $name --json | grep accuracy
   status=0; $<TARGET_FILE:evaluate> missing --analogy ${corpus}/analogies 2>err || status=$?
   test $status -eq 1; test $(wc -l <err) -eq 1; grep missing err")

set(train "$<TARGET_FILE:word2vec> --train ${corpus}/text --size 50 --iter 4 --threads 2")
set(small "$<TARGET_FILE:word2vec> --train ${corpus}/text --size 50 --iter 1 --threads 1")
set(train_longer "$<TARGET_FILE:word2vec> --train ${corpus}/text --size 50 --iter 8 --threads 2")
# The short corpus is too short for good vectors; by chance one analogy of 250 would be right.
set(train_briefly "$<TARGET_FILE:word2vec> --train ${corpus}/short/text --size 32 --iter 12 --threads 2 --json --quiet --evaluate-analogy ${corpus}/short/analogies")
# Every sampler that the program lists, with each kernel; in the tests of each change one of each
# kind, as tests/sampler and tests/kernel try all of them.
if(WORDLOOM_TEST_LONG)
  set(tried_samplers "$samplers")
else()
  set(tried_samplers "uniform shared-fixed cbow-hs")
endif()
foreach(kernel IN ITEMS fused dot gemm)
  if(kernel STREQUAL gemm AND NOT WORDLOOM_ENABLE_BLAS)
    continue()
  endif()
  wordloom_corpus_test(word2vec-all-samplers-${kernel}
    "samplers=$($<TARGET_FILE:word2vec> --list-policies | sed 's/.*samplers//; s/kernels.*//; s/[^a-z-]/ /g')
     test $(echo $samplers | wc -w) -ge 16
     for sampler in ${tried_samplers}; do
       columns=; case $sampler in uniform) columns='--context-size 32';; esac
       ${train_briefly} $columns --sampler $sampler --kernel ${kernel} >out
       grep -o '\"accuracy\":[0-9.]*' out | sed \"s/^/$sampler /\"
       grep -Eq '\"accuracy\":(1.0|0.[1-9])' out
     done")
endforeach()
wordloom_corpus_test(word2vec-row-adagrad
  "for sampler in shared grouped cbow cbow-hs-negative; do
     ${train_briefly} --sampler $sampler --optimizer row-adagrad >out
     grep -o '\"accuracy\":[0-9.]*' out | sed \"s/^/$sampler /\"
     grep -Eq '\"accuracy\":(1.0|0.[1-9])' out
   done")
# Each with another sampler; one thread resumes to the same bits, and with the same optimizer alone.
wordloom_corpus_test(word2vec-optimizers
  "rm -f *; sampler=shared
   for optimizer in adagrad rmsprop adam; do
     ${train_briefly} --sampler $sampler --optimizer $optimizer >out
     grep -o '\"accuracy\":[0-9.]*' out | sed \"s/^/$optimizer $sampler /\"
     grep -Eq '\"accuracy\":(1.0|0.[1-9])' out
     case $sampler in shared) sampler=grouped;; *) sampler=hogwild-hs;; esac
   done
   train='$<TARGET_FILE:word2vec> --train ${corpus}/short/text --size 20 --iter 4 --threads 1 --quiet --output v --checkpoint state'
   $train --optimizer adam --checkpoint-every 0.02; test -s state; mv v whole; $train --optimizer adam --resume; cmp v whole
   status=0; $train --optimizer rmsprop --resume 2>err || status=$?
   cat err; test $status -eq 1; test $(wc -l <err) -eq 1; grep 'another method or set of hyperparameters' err")
wordloom_corpus_test(word2vec-presets
  "for preset in word2vec fast best; do
     ${train_briefly} --preset $preset --negative-pool 0 >out
     grep -o '\"accuracy\":[0-9.]*' out | sed \"s/^/$preset /\"
     grep -Eq '\"accuracy\":(1.0|0.[1-9])' out
   done
   ${train_briefly} --threads 1 --preset word2vec >preset
   ${train_briefly} --threads 1 --sampler hogwild --kernel dot --private-rows 0 --negative-pool 0 >options
   for file in preset options; do grep -o '\"loss\":[0-9.]*' $file >$file.loss; done
   cmp preset.loss options.loss")
# One that is chosen by its sampler, and those with trainers of their own; with different schedules.
set(systems "vuurens")
if(WORDLOOM_ENABLE_BLAS)
  string(APPEND systems " par-word2vec psgnscc")
endif()
wordloom_corpus_test(word2vec-systems
  "schedule=linear
   for system in ${systems}; do
     buckets=; case $system in fasttext) buckets='--bucket 50000';; esac
     ${train_briefly} --system $system --sample 1e-3 $buckets --schedule $schedule >out
     grep -o '\"accuracy\":[0-9.]*' out | sed \"s/^/$system $schedule /\"
     grep -Eq '\"accuracy\":(1.0|0.[1-9])' out
     grep -q '\"system\":\"'$system'\"' out
     schedule=epoch
   done
   ${train_briefly} --threads 1 --system word2vec >system
   ${train_briefly} --threads 1 --preset word2vec >preset
   for file in system preset; do grep -o '\"loss\":[0-9.]*' $file >$file.loss; done
   cmp system.loss preset.loss
   ${train_briefly} --threads 1 --system w2v-cl --context-size 32 --min-count 5 >system
   ${train_briefly} --threads 1 --sampler uniform --optimizer adam --minibatch 1 --alpha 0.001 --schedule constant --window 2 --sample 0 --context-size 32 >options
   for file in system options; do grep -o '\"loss\":[0-9.]*' $file >$file.loss; done
   cmp system.loss options.loss")
# Those that take subwords, with each kernel; in the tests of each change all of them with one, and
# one without and with bags with each.
if(WORDLOOM_TEST_LONG)
  set(with_each_kernel "hogwild shared grouped cbow grouped-cbow")
else()
  set(with_each_kernel "shared cbow")
endif()
wordloom_corpus_test(word2vec-subwords
  "for sampler in hogwild shared grouped cbow grouped-cbow; do
     kernels=fused
     case ' ${with_each_kernel} ' in *\" $sampler \"*)
       kernels=$($<TARGET_FILE:word2vec> --list-policies | sed 's/.*kernels//; s/optimizers.*//; s/bf16//; s/[^a-z]/ /g');;
     esac
     for kernel in $kernels; do
       ${train_briefly} --sampler $sampler --kernel $kernel --maxn 6 --bucket 50000 >out
       grep -o '\"accuracy\":[0-9.]*' out | sed \"s/^/$sampler $kernel /\"
       grep -Eq '\"accuracy\":(1.0|0.[1-9])' out
     done
   done
   train='$<TARGET_FILE:word2vec> --train ${corpus}/short/text --quiet --threads 1 --iter 2'
   $train --size 20 --window 3 --negative 4 --sample 1e-4 --alpha 0.04 --min-count 2 --output plain
   $train --size 20 --window 3 --negative 4 --sample 1e-4 --alpha 0.04 --min-count 2 --maxn 0 --minn 3 --output v; cmp plain v
   $train --size 20 --window 3 --negative 4 --sample 1e-4 --alpha 0.04 --min-count 2 --maxn 5 --minn 2 --buckets 999 --format fasttext --output v.bin --save-model model
   $<TARGET_FILE:word2vec> -input ${corpus}/short/text -output w.bin -dim 20 -ws 3 -neg 4 -t 1e-4 -lr 0.04 -minCount 2 -maxn 5 -minn 2 -bucket 999 -epoch 2 -thread 1 -loss ns -verbose 0 -lrUpdateRate 50 --format fasttext; cmp v.bin w.bin
   echo frances | $<TARGET_FILE:neighbours> v.bin | tee out; test $(wc -l <out) -eq 10
   echo 'frances paris 5' >pairs; echo 'france italy 9' >>pairs
   $<TARGET_FILE:evaluate> v.bin --similarity pairs --json | tee out; grep '\"pairs\":2,\"out_of_vocabulary\":0,\"made_of_subwords\":1' out
   $train --size 20 --load-model model --output on; $train --size 20 --pretrained-vectors v.bin --output from
   $train --size 20 --load-model v.bin --output same; cmp on same
   status=0; $train --size 19 --pretrained-vectors v.bin --output x 2>err || status=$?
   cat err; test $status -eq 1; test $(wc -l <err) -eq 1; grep 'v.bin: the vectors have dimension 20' err
   head -n 1 on | grep ' 20$'; status=0; cmp -s on from || status=$?; test $status -eq 1
   head -c 1000 v.bin >cut; status=0; echo x | $<TARGET_FILE:neighbours> cut 2>err || status=$?
   cat err; test $status -eq 1; test $(wc -l <err) -eq 1; grep 'cut: byte' err")
if(WORDLOOM_ENABLE_BLAS)
  wordloom_corpus_test(word2vec-char-cnn
    "train='$<TARGET_FILE:word2vec> --train ${corpus}/short/text --quiet --size 20 --min-count 2 --char-cnn 32 --iter 2'
     for options in '--sampler uniform --context-size 256' '--threads 1' '--threads 1 --end-to-end --char-cnn-positions 4'; do
       $train $options --save-model model --output v
       echo 'frances paris 5' >pairs; echo 'france italy 9' >>pairs
       $<TARGET_FILE:evaluate> model --similarity pairs --json | tee out; grep '\"pairs\":2,\"out_of_vocabulary\":0,\"made_of_subwords\":1' out
       echo frances | $<TARGET_FILE:neighbours> model | tee out; test $(wc -l <out) -eq 10
       echo italy | $<TARGET_FILE:neighbours> model >out; echo italy | $<TARGET_FILE:neighbours> v | cmp - out
       $<TARGET_FILE:word2vec> --train ${corpus}/short/text --quiet --size 20 --iter 1 $options --load-model model --save-model on
       status=0; cmp -s model on || status=$?; test $status -eq 1
     done
     $train --sampler uniform --context-size 64 --threads 1 --save-model one
     $train --sampler uniform --context-size 64 --threads 3 --save-model three; cmp one three
     status=0; $<TARGET_FILE:word2vec> --train ${corpus}/text --load-model model --sampler hogwild --output x 2>err || status=$?
     cat err; test $status -eq 1; test $(wc -l <err) -eq 1; grep 'char-cnn goes with --sampler' err; test ! -e x
     head -c 1000 model >cut; status=0; echo x | $<TARGET_FILE:neighbours> cut 2>err || status=$?
     cat err; test $status -eq 1; test $(wc -l <err) -eq 1; grep 'cut: byte' err")
endif()
# The original program's options choose among them.
wordloom_corpus_test(word2vec-cbow-and-hs
  "for options in '-cbow 1' '-cbow 1 --cbow-gradient whole' '-cbow 1 --cbow-gradient mean' '-hs 1 -negative 0' '-cbow 1 -hs 1 -negative 0' '-hs 1'; do
     ${train_longer} $options --json --quiet --evaluate-analogy ${corpus}/analogies | tee out
     grep -Eq '\"accuracy\":(1.0|0.[5-9])' out
   done")
# What a stranger types first, and streams in place of files.
wordloom_corpus_test(word2vec-first-words
  "$<TARGET_FILE:word2vec> | tee out; grep -q 'word2vec --train corpus.txt' out
   $<TARGET_FILE:word2vec> --version | grep '^word2vec of Wordloom ${PROJECT_VERSION},'")
wordloom_corpus_test(word2vec-streams
  "rm -f *; train='$<TARGET_FILE:word2vec> --size 50 --iter 2 --threads 1 --quiet'
   $train --train ${corpus}/text --output whole
   $train --train - --output - <${corpus}/text | cmp - whole
   cat ${corpus}/text | $train --train - --output - --stream | cmp - whole
   gzip -c ${corpus}/text | $train --train - --output v; cmp v whole
   tr '\\n' ' ' <${corpus}/short/text | $train --train - --output v
   $train --train ${corpus}/short/text --join-lines --output x; cmp v x
   $<TARGET_FILE:evaluate> - --analogy ${corpus}/analogies <whole | grep all
   cat whole | $<TARGET_FILE:evaluate> - --analogy ${corpus}/analogies | grep all
   cp ${corpus}/text text
   for files in '--train - --output text' '--train - --output v --cache ids'; do
     status=0; $train $files <text 2>err || status=$?
     cat err; test $status -eq 1; test $(wc -l <err) -eq 1; cmp text ${corpus}/text
   done
   status=0; $train --train - --output w <&- 2>err || status=$?
   cat err; test $status -eq 1; test $(wc -l <err) -eq 1; test ! -e w")
# A model is trained on: by another kernel, with new words, and not where it does not fit.
wordloom_corpus_test(word2vec-trains-on
  "rm -f *; ${small} --output v --save-model model --quiet
   sed 's/dog/hound/g' ${corpus}/text >more
   $<TARGET_FILE:word2vec> --train more --load-model model --new-words --size 50 --iter 2 --kernel dot --output w --save-model longer --quiet
   grep -q '^hound ' w; grep -q '^dog ' w; test $(wc -l <w) -gt $(wc -l <v)
   status=0; ${train} --load-model model --hs 1 --negative 0 --output x 2>err || status=$?
   cat err; test $status -eq 1; test $(wc -l <err) -eq 1; grep 'output is' err; test ! -e x
   head -c 1000 model >cut; status=0; ${train} --load-model cut --output x 2>err || status=$?
   cat err; test $status -eq 1; test $(wc -l <err) -eq 1; grep 'cut' err; test ! -e x")
if(WORDLOOM_ENABLE_CUDA)
  foreach(composition IN ITEMS shared-cuda-warp shared-fixed-cuda-warp grouped-cuda-warp shared-cuda-ring hogwild-cuda-ring
                               shared-cuda-register hogwild-cuda-sentence minibatch-cuda-gemm
                               shared-hs-cuda-register hogwild-hs-cuda-sentence
                               uniform-cuda-uniform)
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
  set_tests_properties(example/word2vec-without-gpu PROPERTIES LABELS gpu)
endif()
# Killed or interrupted at any moment, a run resumes; one thread: to the same bits.
wordloom_corpus_test(word2vec-resumes
  "rm -f *; ${stop_midway}
   train='$<TARGET_FILE:word2vec> --train ${corpus}/short/text --size 50 --threads 1 --output v'
   status=0; stop_midway KILL 'test -s state' '$pid' $train --checkpoint state --checkpoint-every 0 || status=$?
   test $status -eq 137; test ! -e v; test -s state
   same_as_whole() {
     $train --quiet --iter $epochs --checkpoint state --resume; mv v resumed
     test -e whole$epochs || { $train --quiet --iter $epochs; mv v whole$epochs; }
     cmp resumed whole$epochs; }
   same_as_whole
   status=0; stop_midway TERM 'grep -q epoch err' '$pid' $train --checkpoint state --checkpoint-every 10min || status=$?
   cat err; test $status -eq 143; test ! -e v; grep 'continue with --resume from state' err
   same_as_whole; train=\"$train --quiet --iter $epochs\"
   head -c 1000 state >damaged; status=0
   $train --checkpoint damaged --resume 2>err || status=$?
   cat err; test $status -eq 1; test $(wc -l <err) -eq 1; grep 'damaged: byte' err; test ! -e v
   status=0; $train --seed 3 --checkpoint state --resume 2>err || status=$?
   test $status -eq 1; grep 'another method or set of hyperparameters: seed 1, not seed 3' err; test ! -e v")
# Training by columns, killed and resumed with another number of threads; the same from a file of
# contexts, and by several processes.
wordloom_corpus_test(word2vec-columns
  "rm -f *; ${stop_midway}
   train='$<TARGET_FILE:word2vec> --train ${corpus}/text --size 50 --sampler uniform --context-size 20 --optimizer adam --output v'
   status=0; stop_midway KILL 'test -s state' '$pid' $train --threads 2 --checkpoint state --checkpoint-every 0 || status=$?
   test $status -eq 137; test ! -e v; test -s state
   $train --quiet --iter $epochs --threads 3 --checkpoint state --resume; mv v resumed
   $train --quiet --iter $epochs --threads 1; cmp resumed v
   once=\"$train --quiet --iter 1\"; $once; mv v virtual
   $once --contexts contexts; cmp virtual v; rm v; $once --contexts contexts; cmp virtual v; cp ${corpus}/text kept
   status=0; $once --contexts kept 2>err || status=$?
   cat err; test $status -eq 1; test $(wc -l <err) -eq 1; grep 'is not a word-context matrix' err; cmp kept ${corpus}/text
   train='$<TARGET_FILE:word2vec> --train ${corpus}/text --size 50 --sampler uniform --quiet'
   $train --iter 10 --context-size 200 --evaluate-analogy ${corpus}/analogies --json >out
   cat out; grep -Eq '\"accuracy\":(1.0|0.[89])' out")
find_program(WORDLOOM_PYTHON3 python3)
if(WORDLOOM_PYTHON3)
  # A few kills here; 10 by `cmake/test.sh long`, 100 over all compositions by `cmake/test.sh full`.
  wordloom_corpus_test(word2vec-killed
    "${WORDLOOM_PYTHON3} ${PROJECT_SOURCE_DIR}/tests/kills/kill_runs.py $<TARGET_FILE:word2vec> ${corpus}/short/text . 4 1")
endif()
if(WORDLOOM_ENABLE_MPI AND NOT WORDLOOM_TEST_BRIEF)
  set(job "${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG}")
  set(alike "--size 50 --threads 1 --sync mpi --quiet")
  set(together "--train ${corpus}/text ${alike}")
  # One process writes; the vectors are better than one process would learn from its part.
  wordloom_corpus_test(mpi-trains
    "rm -f *; ${job} 3 $<TARGET_FILE:word2vec> ${together} --iter 4 --output v --json --evaluate-analogy ${corpus}/analogies | tee out
     test $(wc -l <out) -eq 1; grep '\"ranks\":3' out; grep '\"sync_format\":\"fp32\"' out; grep '\"sync_waited_seconds\":.*\"slowest_rank\":[012]' out; grep -Eq '\"accuracy\":(1.0|0.[89])' out; test \"$(ls)\" = \"$(printf 'out\\nv')\"")
  wordloom_corpus_test(mpi-example
    "rm -f *; ${job} 2 $<TARGET_FILE:train_by_ranks> ${corpus}/text v
     $<TARGET_FILE:evaluate> v --analogy ${corpus}/analogies --json | tee out
     grep -Eq '\"accuracy\":(1.0|0.[89])' out")
  wordloom_corpus_test(mpi-bf16
    "rm -f *; ${job} 2 $<TARGET_FILE:word2vec> ${together} --sync-bf16 --iter 4 --output v --json --evaluate-analogy ${corpus}/analogies | tee out
     grep -Eq '\"accuracy\":(1.0|0.[89])' out; test -s v")
  wordloom_corpus_test(mpi-few-bits
    "rm -f *; ${job} 2 $<TARGET_FILE:word2vec> ${together} --sync-format 4bit --iter 4 --output v --json --evaluate-analogy ${corpus}/analogies | tee out
     grep -Eq '\"accuracy\":(1.0|0.[89])' out; test -s v")
  wordloom_corpus_test(mpi-refuses
    "rm -f *; status=0
     ${job} 1 $<TARGET_FILE:word2vec> ${together} --output v : ${MPIEXEC_NUMPROC_FLAG} 1 $<TARGET_FILE:word2vec> ${together} --output v --seed 2 2>err || status=$?
     cat err; test $status -ne 0; grep 'error: rank 1 has another method or set of hyperparameters' err; test ! -e v
     status=0; ${job} 2 $<TARGET_FILE:word2vec> ${alike} --train missing --output v 2>err || status=$?
     test $status -ne 0; grep 'error: .*missing.: No such file' err; test ! -e v
     cp ${corpus}/text other; echo more >>other; status=0
     ${job} 1 $<TARGET_FILE:word2vec> ${together} --output v : ${MPIEXEC_NUMPROC_FLAG} 1 $<TARGET_FILE:word2vec> ${alike} --train other --output v 2>err || status=$?
     cat err; test $status -ne 0; grep 'error: rank 1 has another text in' err; test ! -e v
     status=0; ${job} 2 $<TARGET_FILE:word2vec> --train ${corpus}/text --output v 2>err || status=$?
     cat err; test $status -ne 0; grep 'has started 2 processes .*give --sync mpi' err; test ! -e v")
  # A process that is killed ends the job.
  wordloom_corpus_test(mpi-killed
    "rm -f *; ${job} 2 $<TARGET_FILE:word2vec> ${together} --iter 100000 --output v --checkpoint state --checkpoint-every 0 2>err & mpi=$!
     until test -s state; do kill -0 $mpi; sleep 0.02; done
     kill -9 $(cut -d ' ' -f 1 /proc/$mpi/task/$mpi/children); killed=$(date +%s)
     status=0; wait $mpi || status=$?
     test $status -ne 0; test $(($(date +%s) - killed)) -le 60; cat err; test -s err; test ! -e v")
  # A launcher's warning stops all with a checkpoint.
  wordloom_corpus_test(mpi-warned
    "rm -f *; ${stop_midway}
     train='$<TARGET_FILE:word2vec> --train ${corpus}/text --size 50 --threads 1 --sync mpi --output v --checkpoint state'
     status=0; stop_midway USR1 'grep -q epoch err' '$pid' ${job} 2 $train || status=$?
     cat err; test $status -eq 138; test ! -e v; test -s state; grep 'continue with --resume from state' err")
  # A process that does not answer ends the job, which names it. Where other work delays a process by more than the
  # timeout, the job ends before it has written a checkpoint.
  wordloom_corpus_test(mpi-stopped
    "rm -f *; ${job} 3 $<TARGET_FILE:word2vec> ${together} --iter 100000 --output v --sync-timeout 6 --checkpoint state --checkpoint-every 0 2>err & mpi=$!
     until test -s state; do kill -0 $mpi || { cat err; exit 1; }; sleep 0.02; done
     set -- $(cat /proc/$mpi/task/$mpi/children); kill -STOP $3; stopped=$(date +%s)
     (sleep 90; kill -9 $3 $mpi) >/dev/null 2>&1 & limit=$!
     status=0; wait $mpi || status=$?
     kill $limit
     cat err; test $status -ne 0; test $(($(date +%s) - stopped)) -le 60; test ! -e v
     grep 'ends the job: no answer for 6 s from rank 2 on' err")
  wordloom_corpus_test(mpi-same-bits
    "rm -f *; for v in a b; do ${job} 2 $<TARGET_FILE:word2vec> ${together} --iter 2 --output $v --sync-overlap 0; done; cmp a b")
  # Each process reads a text of its own; the vocabulary is that of all.
  wordloom_corpus_test(mpi-own-texts
    "rm -f *; split -n l/3 -d -a 1 ${corpus}/text part-; gzip part-?
     ${job} 3 $<TARGET_FILE:word2vec> ${alike} --train part-%r.gz --iter 4 --output v --save-vocab all --json --evaluate-analogy ${corpus}/analogies | tee out
     grep -Eq '\"accuracy\":(1.0|0.[89])' out
     $<TARGET_FILE:word2vec> --train ${corpus}/text --save-vocab whole; cmp all whole
     ${job} 3 $<TARGET_FILE:word2vec> ${alike} --train part-%r.gz --sampler stratified --strata 7 --iter 4 --output v --json --evaluate-analogy ${corpus}/analogies | tee out
     grep -Eq '\"accuracy\":(1.0|0.[89])' out
     cp ${corpus}/text 0; head -c 20000 0 >1; train='$<TARGET_FILE:word2vec> --train %r --size 20 --threads 1 --sync mpi --iter 1 --output v'
     ${job} 2 $train 2>err; cat err; test $(grep -c 'note: one process has [12][.0-9]* times the mean number of words' err) -eq 1
     : >1; status=0; ${job} 2 $train 2>err || status=$?
     cat err; test $status -ne 0; grep 'error: rank 1: 1: no words' err")
  # The checkpoint resumes, with as many processes and with others.
  wordloom_corpus_test(mpi-resumes
    "rm -f *; ${stop_midway}
     one='$(cut -d \" \" -f 1 /proc/$pid/task/$pid/children)'
     goes_on='$<TARGET_FILE:word2vec> ${together} --output v --checkpoint state'
     status=0; stop_midway KILL 'test -s state' \"$one\" ${job} 2 $goes_on --checkpoint-every 0 || status=$?
     test $status -ne 0; test ! -e v
     cp state first; ${job} 3 $<TARGET_FILE:word2vec> --train ${corpus}/text --size 50 --threads 1 --sync mpi --output v --checkpoint first --iter $epochs --resume --json --evaluate-analogy ${corpus}/analogies 2>err >out
     cat err out; grep 'was written by 2 processes of 1 threads, not 3 of 1' err; grep -Eq '\"accuracy\":(1.0|0.[89])' out; rm v
     status=0
     stop_midway TERM 'test -s state' \"$one\" ${job} 2 $goes_on --checkpoint-every 0 || status=$?
     cat err; test $status -ne 0; test -s state; test ! -e v; grep 'continue with --resume from state' err
     goes_on=\"$goes_on --iter $epochs\"
     ${job} 2 $goes_on --resume --json --evaluate-analogy ${corpus}/analogies | tee out
     grep -Eq '\"accuracy\":(1.0|0.[89])' out; test -s v")
  wordloom_corpus_test(mpi-columns
    "rm -f *; train='$<TARGET_FILE:word2vec> --train ${corpus}/text --size 20 --sampler uniform --context-size 50 --iter 1 --threads 1 --quiet'
     $train --output one; ${job} 3 $train --sync mpi --output three; cmp one three")
  # Strata have the bits of one process, also when processes are killed and others go on.
  wordloom_corpus_test(mpi-strata
    "rm -f *; ${stop_midway}
     train='$<TARGET_FILE:word2vec> --train ${corpus}/text --size 50 --sampler stratified --strata 7'
     $train --quiet --threads 2 --iter 1 --output one; ${job} 3 $train --quiet --threads 1 --iter 1 --sync mpi --output three; cmp one three
     one='$(cut -d \" \" -f 1 /proc/$pid/task/$pid/children)'
     status=0; stop_midway KILL 'test -s state' \"$one\" ${job} 3 $train --threads 1 --sync mpi --output v --checkpoint state --checkpoint-every 0 || status=$?
     test $status -ne 0; test ! -e v
     ${job} 2 $train --quiet --threads 2 --sync mpi --output v --checkpoint state --resume --iter $epochs; mv v resumed
     $train --quiet --threads 1 --output v --iter $epochs; cmp resumed v
     ${job} 3 $train --quiet --threads 1 --sync mpi --sync-format 8bit --output v --json --evaluate-analogy ${corpus}/analogies | tee out
     grep '\"sync_format\":\"8bit\"' out; grep -Eq '\"accuracy\":(1.0|0.[89])' out
     status=0; ${job} 8 $train --quiet --sync mpi --output v 2>err || status=$?
     test $status -ne 0; grep 'there are 8 ranks and 7 strata' err")
  wordloom_corpus_test(mpi-hostfile
    "rm -f *; ${CMAKE_CURRENT_SOURCE_DIR}/cluster/run.sh ${CMAKE_CURRENT_SOURCE_DIR}/cluster/hostfile $<TARGET_FILE:word2vec> --train ${corpus}/text --size 20 --threads 1 --quiet --output v
     test -s v")
  # Over a network of 1 Gbit/s with a delay of 1 ms.
  wordloom_corpus_test(mpi-namespaces
    "rm -f *; status=0
     ${CMAKE_CURRENT_SOURCE_DIR}/cluster/namespaces.sh 3 1000 1 $<TARGET_FILE:word2vec> ${together} --iter 4 --output v --json --evaluate-analogy ${corpus}/analogies >out || status=$?
     test $status -eq 0 || exit $status; grep '\"ranks\":3' out; grep -Eq '\"accuracy\":(1.0|0.[89])' out; test -s v
     grep -Eq '\"sync_format\":\"4bit\",\"sync_bytes_per_word\":[0-9]?[0-9][.]' out
     ${CMAKE_CURRENT_SOURCE_DIR}/cluster/namespaces.sh 3 40 0 $<TARGET_FILE:word2vec> --train ${corpus}/text --size 50 --threads 1 --sync mpi --sync-format fp32 --iter 1 --output v 2>err
     cat err; test $(grep -c 'note: this process waits .* try --sync-format 2bit' err) -eq 1
     ${CMAKE_CURRENT_SOURCE_DIR}/cluster/namespaces.sh 3 5 0 $<TARGET_FILE:word2vec> --train ${corpus}/text --size 50 --threads 1 --sampler stratified --strata 9 --sync mpi --iter 5 --output v 2>err
     cat err; test $(grep -c 'note: this process waits .* try a larger --episode' err) -eq 1")
  set_tests_properties(example/mpi-namespaces PROPERTIES SKIP_RETURN_CODE 77)
  foreach(name IN ITEMS trains example bf16 few-bits refuses killed warned stopped same-bits own-texts resumes
                       columns strata hostfile namespaces)
    wordloom_mpi_tests(example/mpi-${name})
  endforeach()
  if(WORDLOOM_ENABLE_BLAS)
    # Ranks that train otherwise are refused: the system has set what the second command says.
    set(system "$<TARGET_FILE:word2vec> --train text ${alike} --iter 1 --system pword2vec --output v")
    wordloom_corpus_test(mpi-pword2vec
      "rm -f *; head -c 200000 ${corpus}/text >text
       ${job} 1 ${system} : ${MPIEXEC_NUMPROC_FLAG} 1 ${system} --sync-rule average --sync-first-rows 1024 --schedule steep
       test -s v")
    wordloom_mpi_tests(example/mpi-pword2vec)
  endif()
elseif(NOT WORDLOOM_ENABLE_MPI)
  wordloom_corpus_test(word2vec-without-mpi
    "status=0
     ${train} --output v --sync mpi 2>err || status=$?
     test $status -eq 1; test $(wc -l <err) -eq 1; grep 'needs a build with MPI' err; test ! -e v")
endif()
# Edges of the system: descriptors, files, signals, disks.
# What is printed reaches no file, whichever standard descriptor is closed. A short corpus does.
set(brief "$<TARGET_FILE:word2vec> --train corpus/text --size 20 --iter 1 --threads 1")
wordloom_corpus_test(closed-descriptors
  "rm -rf *; $<TARGET_FILE:write_demo_corpus> corpus 20000; ${brief} --output whole --save-vocab vocabulary
   for closed in '0<&-' '1>&-' '2>&-'; do
     rm -rf v state ids counts q.bin demo
     eval \"${brief} --output v --save-vocab counts --cache ids --checkpoint state --checkpoint-every 0 $closed\"
     cmp v whole; cmp counts vocabulary; ${brief} --quiet --output v --cache ids --checkpoint state --resume; cmp v whole
     eval \"$<TARGET_FILE:quickstart> corpus/text q.bin $closed\"; echo is | $<TARGET_FILE:neighbours> q.bin | grep '0[.]'
     eval \"$<TARGET_FILE:write_demo_corpus> demo 20000 $closed\"; diff -r demo corpus
     status=0; eval \"$<TARGET_FILE:evaluate> whole --similarity demo/similarity $closed\" || status=$?
     case $closed in 1*) test $status -eq 1;; *) test $status -eq 0;; esac
     status=0; echo is >asked; eval \"$<TARGET_FILE:neighbours> whole <asked $closed\" || status=$?
     case $closed in [01]*) test $status -eq 1;; *) test $status -eq 0;; esac
   done")
wordloom_corpus_test(standard-output
  "rm -rf *; train='${small} --quiet'; $train --output whole
   $train --output /dev/stdout | cmp - whole
   echo keep >f; $train --output /dev/stdout >>f; head -n 1 f | grep keep; tail -n +2 f | cmp - whole
   $train --output /dev/stdout --json >f; head -c $(wc -c <whole) f | cmp - whole; tail -n 1 f | grep words_per_second
   status=0; $train --output /dev/stdout --format npy 2>err >f || status=$?
   cat err; test $status -eq 1; test $(wc -l <err) -eq 1; grep 'choose a format that is one file' err
   for program in '$<TARGET_FILE:word2vec> --list-policies' '$<TARGET_FILE:evaluate> whole --similarity ${corpus}/similarity' '$<TARGET_FILE:neighbours> whole' '$<TARGET_FILE:word2vec> --help' '$<TARGET_FILE:evaluate> --version'; do
     status=0; echo france | $program >/dev/full 2>err || status=$?
     cat err; test $status -eq 1; test $(wc -l <err) -eq 1; grep 'cannot write to standard output' err
   done
   status=0; $<TARGET_FILE:neighbours> whole --count -1 </dev/null 2>err || status=$?
   cat err; test $status -eq 1; grep 'count.*-1' err
   name=$(printf 'pairs\\377'); cp ${corpus}/similarity $name; $train --json --evaluate-similarity $name | grep words_per_second")
# No file is written over another one that the command line names, whatever name it gives it.
wordloom_corpus_test(same-file
  "rm -rf *; cp ${corpus}/text text; ln -s text link; ln text hard
   refused() { status=0; $<TARGET_FILE:word2vec> --train text --size 8 --iter 1 \"$@\" 2>err || status=$?
     cat err; test $status -eq 1; test $(wc -l <err) -eq 1; grep -q 'is the same file as' err; cmp text ${corpus}/text; }
   for option in --output --save-vocab --save-model --cache --checkpoint; do
     for name in text ./text link hard; do refused $option $name; done
   done
   refused --output x --save-vocab ./x; refused --output x --checkpoint x
   refused --output v.npy --format npy --cache v.npy.words.txt
   echo notes >notes; status=0
   $<TARGET_FILE:word2vec> --train text --size 8 --iter 1 --output x --cache notes 2>err || status=$?
   cat err; test $status -eq 1; test $(wc -l <err) -eq 1; test $(cat notes) = notes; test ! -e x
   mkfifo pipe
   for files in '--train pipe' '--train text --cache pipe' '--train text --checkpoint pipe'; do
     status=0; $<TARGET_FILE:word2vec> $files --output x 2>err || status=$?
     cat err; test $status -eq 1; test $(wc -l <err) -eq 1; grep 'pipe.: it is a named pipe\\|needs a regular file, not .pipe' err
   done")
# What cannot be written is known before the text is counted: this one would take minutes.
if(WORDLOOM_ENABLE_ZLIB)
  set(long_text "head -c 100000000 /dev/zero | tr '\\0' '\\n' | gzip -9 >text.gz
     for i in 1 2 3 4 5 6 7 8; do cat text.gz text.gz >more; mv more text.gz; done")
  wordloom_example_test(refused-before-counting
    "rm -rf *; ${long_text}; mkdir v.npy.words.txt v.metadata.tsv
     refused() { status=0; message=$1; shift; timeout 60 env \"$@\" 2>err || status=$?
       cat err; test $status -eq 1; test $(wc -l <err) -eq 1; grep \"$message\" err; }
     train='$<TARGET_FILE:word2vec> --train text.gz --output'
     refused 'words.txt.: it is a directory' $train v.npy --format npy
     refused 'metadata.tsv.: it is a directory' $train v.tsv --format tsv
     refused 'max-sentence is 0' $train v --max-sentence 0
     refused 'WORDLOOM_TARGET is .abacus.' WORDLOOM_TARGET=abacus $train v
     test $(ls | wc -l) -eq 4")
  # A signal ends counting and encoding, and no temporary file stays; those of a killed run go with
  # the next one.
  wordloom_corpus_test(signals
    "rm -rf *; ${long_text}; printf 'a 5\\nb 5\\n' >counts
     for end in HUP:129 TERM:143 KILL:137; do
       signal=\${end%:*}
       for phase in '--save-vocab voc' '--read-vocab counts --cache ids'; do
         $<TARGET_FILE:word2vec> --train text.gz --output v $phase 2>err & pid=$!
         file=\${phase##* }; until ls $file.*.tmp >/dev/null 2>&1; do sleep 0.02; done
         kill -$signal $pid; status=0; wait $pid || status=$?
         cat err; test $status -eq \${end#*:}
         if test $signal = KILL; then test $(ls | grep -c tmp) -ge 2
         else grep 'interrupted, no vectors written' err; test $(ls | grep -c tmp) -eq 0; fi
       done
     done
     rm text.gz; ${small} --output v --save-vocab voc --cache ids; test \"$(echo *)\" = 'counts err ids v voc'")
endif()
# A full disk and a read-only one, where a test may mount them.
wordloom_corpus_test(full-disk
  "rm -rf *; mkdir disk; unshare -rm true || exit 77
   unshare -rm sh -eu <<'end'
     mount -t tmpfs -o size=100k none disk || exit 77
     echo old >disk/v
     for files in 'v' 'w.npy --format npy' 'w.tsv --format tsv' 'w --save-model disk/model' 'w --cache disk/ids'; do
       status=0; ${small} --quiet --output disk/$files 2>err || status=$?
       cat err; test $status -eq 1; test $(wc -l <err) -eq 1; grep 'No space left' err
       test \"$(ls disk)\" = v; grep old disk/v
     done
     ${small} --quiet --output v --checkpoint disk/state --checkpoint-every 0 2>err
     cat err; test -s v; test \"$(ls disk)\" = v; grep 'warning: cannot write checkpoint .*No space left' err; rm v
     mount -o remount,ro disk
     for files in 'disk/v' 'v --save-vocab disk/voc' 'v --cache disk/ids' 'v --checkpoint disk/state' 'v --save-model disk/model'; do
       status=0; ${small} --quiet --output $files 2>err || status=$?
       cat err; test $status -eq 1; test $(wc -l <err) -eq 1; grep 'Read-only' err; test ! -e v
     done
end")
set_tests_properties(example/full-disk PROPERTIES SKIP_RETURN_CODE 77)
wordloom_corpus_test(word2vec-original-flags
  "$<TARGET_FILE:word2vec> -train ${corpus}/text -output v.bin -cbow 0 -size 30 -window 4 -negative 3 -hs 0 -sample 1e-3 -threads 2 -binary 1 -iter 2 -min-count 10 -alpha 0.03 -save-vocab vocab
   head -c 20 v.bin | grep -aq ' 30'; grep -q ' ' vocab
   $<TARGET_FILE:word2vec> -train ${corpus}/text -output v.txt -read-vocab vocab -size 30 -iter 1 -cache ids; test -s ids; head -n 1 v.txt | grep ' 30$'")
foreach(format IN ITEMS word2vec-binary word2vec-text vec glove npy tsv)
  wordloom_corpus_test(word2vec-format-${format}
    "${small} --quiet --stream --output v.tsv --format ${format}; echo france | $<TARGET_FILE:neighbours> --format ${format} v.tsv | grep -E '[a-z]+ +0\\.'")
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

string(REPEAT x 256 long_name)
# Bad input: exit code 1, one line on stderr that says what, and no file left behind.
function(wordloom_refusal_test name arguments message)
  wordloom_corpus_test(refused-${name}
    "rm -rf * && touch in && printf 'a a a a a\\n' > rare && printf 'x y\\n' > pairs
     status=0; $<TARGET_FILE:word2vec> ${arguments} 2>err >out || status=$?
     cat err; test $status -eq 1; test $(wc -l <err) -eq 1; grep -q -e '${message}' err
     rm -f in rare pairs err out; test -z \"$(ls -A)\"")
endfunction()
wordloom_refusal_test(train-is-missing "--size 8" "--train is required")
wordloom_refusal_test(unknown-option "--train in --vectors 3" "--vectors")
wordloom_refusal_test(not-a-number "--train in --size ten" "size")
wordloom_refusal_test(size "--train in --output v --size 0" "dimension is 0, must be from 1")
wordloom_refusal_test(negative-number "--train in --output v --iter -3" "iter.*-3")
wordloom_refusal_test(seed "--train in --output v --seed 18446744073709551616" "seed.*18446744073709551616")
wordloom_refusal_test(long-name "--train in --output ${long_name}" "File name too long")
wordloom_refusal_test(sample "--train in --output v --sample 2" "subsample is 2, must be from 0 to 1")
wordloom_refusal_test(minibatch "--train in --output v --minibatch 2000" "minibatch is 2000, must be from 0 to 1000")
wordloom_refusal_test(kernel "--train in --output v --kernel cuda" "kernel")
wordloom_refusal_test(nccl-without-gpu "--train in --output v --sync nccl" "--sync nccl does not go with --kernel fused")
wordloom_refusal_test(format-without-mpi "--train in --output v --sync-format 4bit" "--sync-format 4bit is for --sync mpi")
wordloom_refusal_test(format-unknown "--train in --output v --sync mpi --sync-format 3bit" "3bit not in {auto,fp32,bf16,8bit,4bit,2bit,1bit}")
wordloom_refusal_test(format-twice "--train in --output v --sync mpi --sync-bf16 --sync-format 4bit" "exclude each other")
wordloom_refusal_test(bf16-without-mpi "--train in --output v --sync-bf16" "--sync-bf16 is for --sync mpi")
wordloom_refusal_test(format "--train in --output v --format csv" "unknown vector format .csv.")
wordloom_refusal_test(cbow "-train in -output v -cbow 2" "cbow")
wordloom_refusal_test(negatives "--train in --output v --negative 2000" "negatives is 2000, must be from 0 to 1000")
wordloom_refusal_test(no-targets "--train in --output v --negative 0" "--negative is 0: give --hs 1")
wordloom_refusal_test(cbow-sampler "--train in --output v --cbow 1 --sampler grouped" "--cbow 1 does not go with --sampler grouped")
wordloom_refusal_test(hs-negatives "--train in --output v --hs 1 --sampler grouped" "--hs 1 with --sampler grouped needs --negative 0")
wordloom_refusal_test(hs-sampler "--train in --output v --hs 1 --sampler split" "--sampler hogwild, shared, cbow or grouped, not split")
wordloom_refusal_test(uniform-device "--train in --output v --sampler uniform --kernel cuda-warp" "does not train --sampler uniform")
if(WORDLOOM_ENABLE_CUDA)
  wordloom_refusal_test(cbow-device "--train in --output v --cbow 1 --kernel cuda-warp" "does not train --sampler cbow, choose cuda-sentence")
  wordloom_refusal_test(columns-device "--train in --output v --kernel cuda-uniform" "--kernel cuda-uniform is for --sampler uniform")
  set_tests_properties(example/refused-cbow-device example/refused-columns-device
                       PROPERTIES LABELS gpu)
else()
  wordloom_refusal_test(no-cuda "--train in --output v --kernel cuda-warp" "--kernel cuda-warp needs a build with CUDA")
endif()
wordloom_refusal_test(strata-effect "--train in --output v --strata 8" "--strata has no effect without --sampler stratified")
wordloom_refusal_test(strata-optimizer "--train in --output v --sampler stratified --optimizer adam" "--optimizer adam does not go with --sampler stratified")
wordloom_refusal_test(strata-many "--train in --output v --sampler stratified --strata 257" "--strata is 257, must be from 0 to 256")
wordloom_refusal_test(strata-threads "--train in --output v --sampler stratified --block-threads 0" "--block-threads is 0, must be from 1 to 256")
wordloom_refusal_test(strata-format "--train in --output v --sampler stratified --sync mpi --sync-format 4bit" "--sync-format 4bit does not go with --sampler stratified")
wordloom_refusal_test(uniform-columns "--train in --output v --sampler uniform --context-size 0" "context-size is 0")
wordloom_refusal_test(optimizer-kernel "--train in --output v --optimizer adam --kernel fused" "--optimizer adam goes with --kernel dot, not fused")
wordloom_refusal_test(optimizer "--train in --output v --optimizer adam --cbow 1" "--optimizer adam does not train CBOW: leave one of them out")
wordloom_refusal_test(preset-sampler "--train in --output v --preset best --sampler shared" "--sampler does not go with --preset best, which chooses the method")
wordloom_refusal_test(system-kernel "--train in --output v --system pword2vec --kernel fused" "--kernel does not go with --system pword2vec, whose method is fixed")
wordloom_refusal_test(system-preset "--train in --output v --system word2vec --preset best" "--preset does not go with --system word2vec")
wordloom_refusal_test(system-loss "--train in --output v --system word2vec --loss hs" "--loss does not go with --system word2vec, whose method is fixed")
wordloom_refusal_test(system-no-negatives "--train in --output v --system psgnscc --negative 0" "--system psgnscc needs 1 to 1000 negatives")
wordloom_refusal_test(system-no-effect "--train in --output v --system psgnscc --shared-negatives 3" "no effect with --system psgnscc")
wordloom_refusal_test(sync-epoch "--train in --output v --sync mpi --sync-interval epoch --sync-bytes-per-word 4" "no effect beside --sync-interval")
wordloom_refusal_test(system-negative "--train in --output v --system word2vec-hs --negative 5" "--system word2vec-hs has no negatives")
wordloom_refusal_test(system-name "--train in --output v --system skipgram" "skipgram not in")
wordloom_refusal_test(schedule-name "--train in --output v --schedule square" "square")
wordloom_refusal_test(sync-rule "--train in --output v --sync-rule mean" "mean not in {coherent,average,touched,sum}")
wordloom_refusal_test(sync-interval "--train in --output v --sync-interval often" "must be a number of words or epoch, not often")
wordloom_refusal_test(private-rows-row-adagrad "--train in --output v --optimizer row-adagrad --private-rows 64" "--private-rows has no effect with --optimizer row-adagrad")
wordloom_refusal_test(preset-name "--train in --output v --preset fastest" "fastest not in")
wordloom_refusal_test(row-adagrad-kernel "--train in --output v --optimizer row-adagrad --kernel dot" "row-adagrad goes with --kernel fused, not dot")
wordloom_refusal_test(row-adagrad-subwords "--train in --output v --optimizer row-adagrad --maxn 6" "row-adagrad goes with --maxn 0")
wordloom_refusal_test(format-model "--train in --output v --format model" "--format model can only be read: --save-model writes models")
wordloom_refusal_test(bf16-sampler "--train in --output v --kernel bf16 --sampler cbow" "--kernel bf16 goes with --sampler shared, combined, grouped, not cbow")
wordloom_refusal_test(bf16-subwords "--train in --output v --kernel bf16 --maxn 6" "--kernel bf16 goes with --maxn 0, not 6")
wordloom_refusal_test(bf16-sync "--train in --output v --kernel bf16 --sync mpi" "--kernel bf16 goes with --sync none, not mpi")
wordloom_refusal_test(subwords-sampler "--train in --output v --maxn 6 --sampler minibatch" "--maxn goes with --sampler hogwild, shared")
if(WORDLOOM_ENABLE_BLAS)
  wordloom_refusal_test(char-cnn-filters "--train in --output v --char-cnn 20" "--char-cnn is 20, must be a multiple of 16")
  wordloom_refusal_test(char-cnn-kernel "--train in --output v --char-cnn 32 --kernel dot" "--char-cnn goes with --kernel fused, not dot")
  wordloom_refusal_test(char-cnn-sampler "--train in --output v --char-cnn 32 --sampler grouped" "--char-cnn goes with --sampler uniform or shared, not grouped")
  wordloom_refusal_test(char-cnn-optimizer "--train in --output v --char-cnn 32 --sampler uniform --optimizer adam" "--char-cnn goes with --optimizer sgd, not adam")
  wordloom_refusal_test(char-cnn-positions "--train in --output v --char-cnn 32 --char-cnn-positions 1" "--char-cnn-positions is 1, must be from 2 to 1000")
  wordloom_refusal_test(char-cnn-alone "--train in --output v --end-to-end" "--end-to-end needs --char-cnn")
  wordloom_refusal_test(char-cnn-subwords "--train in --output v --char-cnn 32 --maxn 3" "--char-cnn goes with --maxn 0")
  wordloom_refusal_test(char-cnn-format "--train in --output v --char-cnn 32 --format fasttext" "--char-cnn goes with formats of vectors")
  wordloom_refusal_test(char-cnn-vectors "--train in --output v --char-cnn 32 --pretrained-vectors w" "--char-cnn goes with vectors that it computes")
else()
  wordloom_refusal_test(char-cnn-blas "--train in --output v --char-cnn 32" "--char-cnn needs a build with CBLAS")
endif()
wordloom_refusal_test(subwords-device "--train in --output v --maxn 6 --kernel cuda-warp" "--maxn does not go with --kernel cuda-warp")
wordloom_refusal_test(subwords-lengths "--train in --output v --maxn 2" "minn is 3, must be from 0 to 2")
wordloom_refusal_test(subwords-buckets "--train in --output v --maxn 6 --bucket 0" "buckets is 0, must be from 1")
wordloom_refusal_test(fasttext-tree "--train in --output v --format fasttext --loss hs" "--format fasttext needs a model without --hs 1")
wordloom_refusal_test(fasttext-ngrams "--train in --output v --wordNgrams 2" "wordNgrams is 2, must be 1")
wordloom_refusal_test(pretrained-missing "--train in --output v --pretrainedVectors missing" "missing.: No such file")
wordloom_refusal_test(pretrained-resume "--train in --output v --pretrained-vectors pairs --resume --checkpoint state" "--pretrained-vectors is for new models")
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
wordloom_refusal_test(bad-pairs "--train ${corpus}/text --output v --evaluate-similarity pairs" "pairs: line 1, column [0-9]*: expected two words and a number")
wordloom_refusal_test(bad-vocabulary "--train ${corpus}/text --output v --read-vocab pairs" "pairs: line 1: expected a word, a space and a count")

# Graphs: a ring of 40 nodes, numbered from 1, with chords and a few hubs.
set(edges "i=1; while test $i -le 40; do
       echo $i $((i % 40 + 1)) 1; echo $i $(((i + 6) % 40 + 1)) 2; echo $i $((i % 4 * 10 + 1)) 0.5
       i=$((i + 1))
     done >edges")
function(wordloom_graph_test name command)
  wordloom_example_test(${name} "rm -rf *; ${edges}\n${command}")
endfunction()
set(node2vec "$<TARGET_FILE:node2vec> --input edges --size 16")
wordloom_example_test(draw_graph
  "$<TARGET_FILE:draw_graph> karate.svg | tee out; grep -E '^3[2-4] of 34 members' out
   test $(grep -c '<circle' karate.svg) -eq 34; test $(grep -c '<line' karate.svg) -eq 78")
wordloom_corpus_test(same_on_any_threads
  "for threads in 1 2; do OMP_NUM_THREADS=$threads $<TARGET_FILE:same_on_any_threads> ${corpus}/short/text v$threads | tee out; done
   grep 'nearest to' out; cmp v1 v2")
wordloom_graph_test(graph_quickstart
  "$<TARGET_FILE:graph_quickstart> edges 7 v | tee out; test $(wc -l <out) -eq 5; head -n 1 v | grep '^40 128'")
wordloom_graph_test(node2vec-first-words
  "$<TARGET_FILE:node2vec> | tee out; grep -q 'node2vec --input edges.txt' out
   $<TARGET_FILE:node2vec> --version | grep '^node2vec of Wordloom ${PROJECT_VERSION},'
   $<TARGET_FILE:node2vec> --list-policies | grep shared-hs
   ${node2vec} --output v 2>err; head -n 1 v | grep '^40 16$'; grep 'M steps/s .*k walks/s .* s left' err")
# One thread and one seed give the same bytes, however the options are spelled; several threads work.
wordloom_graph_test(node2vec-spellings
  "n='$<TARGET_FILE:node2vec>'; one='--threads 1 --quiet'
   $n --input edges --output v $one --size 16 --walk-length 20 --num-walks 5 --window 4 --iter 2 --p 0.5 --q 2 --weighted --directed --seed 3
   same() { \"$n\" \"$@\" --output w --quiet; cmp v w; }
   same --input edges --dimensions 16 --walk-length 20 --num-walks 5 --window-size 4 --epochs 2 --workers 1 --p 0.5 --q 2 --weighted --directed --verbose --random_state 3 --mode PreComp --delimiter ' ' --task pecanpy
   same -i:edges -d:16 -l:20 -r:5 -k:4 -e:2 -p:0.5 -q:2 -v -dr -w -seed 3 -threads 1
   same -input edges -size 16 -walk-length 20 -num-walks 5 -window 4 -iter 2 -p 0.5 -q 2 -weighted -directed -seed 3 -threads 1
   $n -i:edges -o:w -d:16 -l:20 -r:5 -k:4 -e:2 -p:0.5 -q:2 -dr -w -seed 4 -threads 1 -quiet
   status=0; cmp -s v w || status=$?; test $status -eq 1
   $n --input edges --output w --quiet --threads 2 --json | grep '\"threads\":2'; head -n 1 w | grep '^40 128$'
   of_word2vec='--kernel dot --alpha 0.025 --size 8'
   $n --input edges --output v $one $of_word2vec --sampler hogwild --p 2
   same --input edges --threads 1 --size 8 --p 2 --system node2vec
   $n --input edges --output v $one $of_word2vec --sampler hogwild --hs 1 --negative 0 --hs-sample 0 --num-walks 80 --walk-length 40
   same --input edges --threads 1 --size 8 --system deepwalk")
# Walks go to a file, in SNAP's way too; a graph has other files and forms.
wordloom_graph_test(node2vec-graphs
  "train='$<TARGET_FILE:node2vec> --size 16 --threads 1 --quiet'
   $train --input edges --num-walks 3 --walk-length 9 --save-walks walks; test $(wc -l <walks) -eq 120
   test $(awk '{ print NF }' walks | sort -u) -eq 9
   $train -i:edges -o:other -r:3 -l:9 -ow; cmp walks other
   $train --input edges --output v; tr ' ' ',' <edges >commas; $train --input commas --output w; cmp v w
   cat edges | $train --input - --output w; cmp v w
   $train --input edges --cache graph --output w; cmp v w; test -s graph
   $train --input edges --cache graph --output w; cmp v w
   (echo '%%MatrixMarket matrix coordinate real general'; echo 40 40 120; cat edges) >market.mtx
   $train --input market.mtx --output w; cmp v w
   (cat edges; echo 50 50 1) >more
   $train --input more --weighted --output w; head -n 1 w | grep '^41 '
   $train --input more --weighted --self-loops drop --output w; head -n 1 w | grep '^40 '
   $train --input more --weighted --self-loops drop --isolated-nodes --output w; head -n 1 w | grep '^41 '
   (cat edges; cat edges) >twice; $train --input twice --output w; cmp v w
   $train --input twice --duplicate-edges keep --output w; head -n 1 w | grep '^40 '
   $train --input edges --iter 2 --output v; $train --input edges --iter 2 --same-walks --output w
   status=0; cmp -s v w || status=$?; test $status -eq 1
   for format in word2vec-binary word2vec-text vec glove npy tsv; do
     $train --input edges --format $format --output v.tsv; echo 7 | $<TARGET_FILE:neighbours> --format $format v.tsv | grep -E '[0-9]+ +0[.]'
   done
   for how in '--hs 1 --negative 0' '--cbow 1' '--sampler grouped' '--kernel dot'; do
     rm v; $train --input edges --output v $how; test -s v
   done
   $train --input edges --save-model model; $train --input edges --load-model model --output w; head -n 1 w | grep '^40 '")
# Killed or interrupted, a run resumes to the same bits.
wordloom_graph_test(node2vec-resumes
  "${stop_midway}
   train='${node2vec} --threads 1 --output v --num-walks 50 --p 0.5'
   status=0; stop_midway KILL 'test -s state' '$pid' $train --checkpoint state --checkpoint-every 0 || status=$?
   test $status -eq 137; test ! -e v; test -s state
   $train --quiet --iter $epochs --checkpoint state --resume; mv v resumed
   $train --quiet --iter $epochs; cmp resumed v
   status=0; stop_midway TERM 'grep -q epoch err' '$pid' $train --checkpoint state --checkpoint-every 10min || status=$?
   cat err; test $status -eq 143; test ! -e v; grep 'continue with --resume from state' err
   status=0; $train --quiet --iter $epochs --q 2 --checkpoint state --resume 2>err || status=$?
   cat err; test $status -eq 1; grep 'another corpus' err; test ! -e v")
wordloom_graph_test(node2vec-evaluates
  "awk '{ print $1, ($1 % 2 ? \"odd\" : \"even\") }' edges | sort -u >labels
   ${node2vec} --quiet --evaluate-links | tee out; grep 'dot product .* 0[.]' out
   ${node2vec} --quiet --evaluate-links 1 --threads 1 --json | tee a; ${node2vec} --quiet --evaluate-links 2 --threads 1 --json >b
   grep -q '\"links\":{\"auc\":{\"dot product\":0' a
   ${node2vec} --quiet --evaluate-links --threads 1 --json >c; test \"$(grep -o 'auc.*' a)\" = \"$(grep -o 'auc.*' c)\"
   test \"$(grep -o 'auc.*' a)\" != \"$(grep -o 'auc.*' b)\"
   if test ${WORDLOOM_ENABLE_LIBLINEAR} = ON; then
     ${node2vec} --quiet --evaluate-labels labels --evaluate-links | tee out; grep '^0.5000' out; grep Hadamard out
     ${node2vec} --quiet --evaluate-labels labels --json | grep '\"share\":0.5,\"micro_f1\":'
   else
     status=0; ${node2vec} --evaluate-labels labels 2>err || status=$?
     cat err; test $status -eq 1; grep 'needs a build with LIBLINEAR' err
   fi")
# Without options, labels are learnt as well as by the method of the paper, here of a graph with hubs
# in which a third of the edges stay within eight groups. Plain SGD at 0.0125 guesses
# (0.11), the paper's method has 0.22, RowAdaGrad 0.36 at 0.045 and 0.45 at 0.05.
if(WORDLOOM_ENABLE_LIBLINEAR)
  wordloom_example_test(node2vec-defaults
    "rm -rf *
     awk 'function r() { s = s * 16807 % 2147483647; return s / 2147483647 }
          function node() { return int(400 * r() ^ 3) }
          BEGIN { for (s = 1; e < 8000; ++e) { u = node(); v = node(); if (r() < 0.35) v = v - v % 8 + u % 8
                  if (u != v) print u, v } }' >edges
     awk '{ print $1; print $2 }' edges | sort -un | awk '{ print $1, \"g\" $1 % 8 }' >labels
     f1() {
       $<TARGET_FILE:node2vec> --input edges --threads 1 --quiet --size 32 --num-walks 5 --walk-length 40 \"$@\" --evaluate-labels labels --json |
         grep -o '\"share\":0.5,\"micro_f1\":[0-9.]*' | cut -d : -f 3
     }
     f1 | tee ours; f1 --system node2vec | tee theirs
     paste ours theirs | awk '{ exit !($1 > 0.2 && $1 > $2 - 0.01) }'")
endif()
if(WORDLOOM_ENABLE_MPI AND NOT WORDLOOM_TEST_BRIEF)
  wordloom_graph_test(mpi-node2vec
    "train='${node2vec} --threads 1 --sync mpi --quiet'
     ${job} 2 $train --cache graph --output v --json | grep '\"ranks\":2'; head -n 1 v | grep '^40 16$'
     status=0; ${job} 1 $train --output w : ${MPIEXEC_NUMPROC_FLAG} 1 $train --output w --p 2 2>err || status=$?
     cat err; test $status -ne 0; grep 'error: rank 1 has another graph or set of walks' err; test ! -e w")
  wordloom_mpi_tests(example/mpi-node2vec)
endif()
# Bad graphs and options: exit code 1, one line on stderr that says what, and no file left behind.
function(wordloom_graph_refusal_test name arguments message)
  wordloom_example_test(node2vec-refused-${name}
    "rm -rf *; printf 'a b 1\\nb c -2\\n' >negative; printf 'a b\\nc\\n' >short; touch empty
     printf 'a b 1\\nb c 1\\na c 1\\nc d nan\\n' >nan; printf 'x 1\\n' >labels
     status=0; $<TARGET_FILE:node2vec> ${arguments} 2>err >out || status=$?
     cat err; test $status -eq 1; test $(wc -l <err) -eq 1; grep -q -e '${message}' err
     rm negative short empty nan labels err out; test -z \"$(ls -A)\"")
endfunction()
wordloom_graph_refusal_test(no-input "--output v" "--input is required")
wordloom_graph_refusal_test(missing "--input missing --output v" "missing.: No such file")
wordloom_graph_refusal_test(folder "--input . --output v" "is a directory")
wordloom_graph_refusal_test(empty "--input empty --output v" "empty: no edges")
wordloom_graph_refusal_test(short-line "--input short --output v" "short: line 2, column 2: expected two nodes")
wordloom_graph_refusal_test(negative-weight "--input negative --weighted --output v" "line 2, column 5: expected a weight.*-2")
wordloom_graph_refusal_test(nan-weight "--input nan --weighted --output v" "line 4, column 5: expected a weight.*nan")
wordloom_graph_refusal_test(no-weight "--input short --weighted --output v" "line 1, column 4: expected a weight")
wordloom_graph_refusal_test(p "--input nan --output v --p 0" "p is 0, must be from")
wordloom_graph_refusal_test(q "-i:nan -o:v -q:-1" "q is -1, must be from")
wordloom_graph_refusal_test(system-q "--input nan --output v --system deepwalk --q 2" "--system deepwalk walks with p = q = 1")
wordloom_graph_refusal_test(walk-length "--input nan --output v --walk-length 0" "length is 0, must be from 1")
wordloom_graph_refusal_test(num-walks "-i:nan -o:v -r:0" "walks_per_node is 0, must be from 1")
wordloom_graph_refusal_test(unknown-option "--input nan --output v --walks 3" "--walks")
wordloom_graph_refusal_test(not-a-number "-i:nan -o:v -d:ten" "must be a whole number.*ten")
wordloom_graph_refusal_test(size "--input nan --output v --size 0" "dimension is 0, must be from 1")
wordloom_graph_refusal_test(same-file "--input nan --output ./nan" "is the same file as --input")
wordloom_graph_refusal_test(walks-over-input "--input nan --save-walks nan" "is the same file as --input")
wordloom_graph_refusal_test(only-walks "-i:nan -ow" "--only-walks needs --output")
wordloom_graph_refusal_test(no-folder "--input nan --save-walks no/walks" "no/walks.: No such file")
wordloom_graph_refusal_test(task "--input nan --output v --task tocsr" "--task tocsr is not supported")
wordloom_graph_refusal_test(mode "--input nan --output v --mode Fast" "Fast not in")
wordloom_graph_refusal_test(first-order "--input nan --output v --mode PreCompFirstOrder --p 2" "needs p = q = 1")
wordloom_graph_refusal_test(extend "--input nan --output v --extend" "node2vec+. are not supported")
wordloom_graph_refusal_test(npz "--input nan --output v.npz" "neither read nor written")
wordloom_graph_refusal_test(delimiter "--input nan --output v --delimiter xy" "--delimiter is .xy., must be one byte")
wordloom_graph_refusal_test(links-directed "--input nan --directed --evaluate-links" "for undirected graphs")
if(WORDLOOM_ENABLE_LIBLINEAR)
  wordloom_graph_refusal_test(labels "--input nan --evaluate-labels labels" "labels: the graph has none of these nodes")
endif()
wordloom_graph_refusal_test(standard-input "--input - --cache kept --output v" "--cache and --sync need a file as --input, not -")

# What users feed the programs: each tests/programs/NAME.sh, run by sh -eu in an empty folder of its
# own, with the programs in PATH. It skips with exit code 77.
file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/programs/*.sh)
list(REMOVE_ITEM scripts ${PROJECT_SOURCE_DIR}/tests/programs/support.sh)
foreach(script IN LISTS scripts)
  cmake_path(GET script STEM name)
  add_test(NAME programs/${name}
           COMMAND sh -euc "rm -rf programs/${name} && mkdir -p programs/${name} && cd programs/${name} && . ${PROJECT_SOURCE_DIR}/tests/programs/support.sh && . ${script}"
           WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/runs)
  set_tests_properties(programs/${name} PROPERTIES LABELS example TIMEOUT 300 SKIP_RETURN_CODE 77
    ENVIRONMENT "CORPUS=${corpus};INPUTS=${PROJECT_SOURCE_DIR}/tests/programs/inputs"
    ENVIRONMENT_MODIFICATION "PATH=path_list_prepend:${CMAKE_CURRENT_BINARY_DIR}"
    FIXTURES_REQUIRED demo_corpus)
endforeach()
