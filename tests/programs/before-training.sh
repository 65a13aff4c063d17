# What can be refused before training is refused before training: one line on standard error, so no
# epoch has begun, and no file.
i=1
while test $i -le 50; do printf 'cat dog ca\0t dog cat\n'; i=$((i + 1)); done >zeros
tr '\0' ' ' <zeros >text
printf 'a b\nb c\nc a\n' >edges
printf '2 8\ncat 1 2 3 4 5 6 7 8\ndog 1 2 3 nan 5 6 7 8\n' >nan.vec
printf '2 8\ncat 1 2 3 4 5 6 7 8\ndog 1 2 3 4 5 6 inf 8\n' >inf.vec
printf '1 3\ncat 1 2 3\n' >three.vec
printf 'cat xyzzy 5\ndog qqq 4\n' >half.tsv
printf 'cat dog xyzzy qqq\n' >half.txt
mkdir folder
word2vec --train text --size 8 --iter 1 --quiet --save-model model --save-vocab counts
word2vec --train text --size 8 --iter 1 --quiet --maxn 3 --bucket 100 --save-model subwords
ls >before
none() { refused "$@"; ls | cmp - before; }
word2vec='word2vec --train text --size 8 --iter 1'
node2vec='node2vec --input edges --size 8'

# Standard input can be read once.
none "read-vocab '-' and --train '-' are one stream, which can be read once" sh -c 'cat text | word2vec --train - --read-vocab - --output v'
none "pretrained-vectors '-' and --train '/dev/fd/0' are one stream" sh -c 'cat text | word2vec --train /dev/fd/0 --pretrained-vectors - --output v'
none "evaluate-labels '/dev/stdin' and --input '-' are one stream" sh -c 'cat edges | node2vec --input - --evaluate-labels /dev/stdin --output v'
# An option that contradicts the sampler.
none 'cbow 0 does not go with --sampler grouped-cbow' $word2vec --output v --cbow 0 --sampler grouped-cbow
none 'hs 0 does not go with --sampler shared-hs' $word2vec --output v --hs 0 --sampler shared-hs

none "fastText's format.*zero byte.*'ca?t'\|fasttext.*zero byte.*'ca?t'\|ca?t.*zero byte" word2vec --train zeros --size 8 --format fasttext --maxn 3 --output v
for format in word2vec-binary word2vec-text vec glove npy tsv fasttext; do
  for run in "$word2vec" "$node2vec"; do
    case $format-$run in vec-node2vec* | glove-node2vec* | npy-node2vec* | fasttext-node2vec*) continue ;; esac
    to="$run --format $format"
    none "no/v.: No such file" $to --output no/v
    none "folder.: it is a directory" $to --output folder
    for option in --save-model --checkpoint --cache; do
      none "no/x.: No such file" $to --output v $option no/x
      none "folder.: it is a directory\|needs a regular file, not 'folder'" $to --output v $option folder
    done
    none "negative is 1000, the vocabulary has only [34] words" $to --output v --negative 1000
    none "same file" $to --output v --save-model ./v
    none "format has no effect without --output" $run --format $format --save-model m
    none "binary has no effect beside --format" $to --output v --binary 1
    none "size is 9, the model in 'model' has vectors of 8" ${to%--size 8*} --format $format --size 9 --output v --load-model model
  done
  none "no/x.: No such file" $word2vec --format $format --output v --save-vocab no/x
  none "no/x.: No such file" $word2vec --sampler uniform --context-size 4 --output v --contexts no/x
  none "nan.vec.*dog\|dog.*nan" $word2vec --format $format --output v --pretrained-vectors nan.vec
  none "inf.vec.*dog\|dog.*inf" $word2vec --format $format --output v --pretrained-vectors inf.vec
  none "three.vec: the vectors have dimension 3" $word2vec --format $format --output v --pretrained-vectors three.vec
done
none "no/x.: No such file" $node2vec --output v --save-walks no/x
none "folder.: it is a directory" $node2vec --output v --save-walks folder
mkdir v.npy.words.txt v.metadata.tsv; ls >before
none "words.txt.: it is a directory" $word2vec --output v.npy --format npy
none "metadata.tsv.: it is a directory" $node2vec --output v.tsv --format tsv

# No result.
none 'nothing would be written: give --output, --save-model, .*--save-vocab' word2vec --train text
none 'nothing would be written: give --output, --save-model, .*--save-walks' node2vec --input edges
none 'checkpoint has no effect without a result of training: give --output' word2vec --train text --save-vocab x --checkpoint y
none 'load-model has no effect without a result' node2vec --input edges --save-walks x --load-model model

# Options without effect, by their names.
useless() { option=$1; none "^word2vec: error: $option \(has no effect\|and\|is\|needs\)" $word2vec --output v "$@"; }
useless --context-size 8
useless --contexts x
useless --cbow-gradient whole
useless --cbow-gradient mean
useless --cbow-gradient root
useless --hs-sample 0
useless --negative-exponent 0.5 --hs 1 --negative 0
useless --negative-pool 64 --sampler hogwild
useless --negative-pool 64 --sampler shared-hs
useless --negative 3 --sampler shared-hs
useless --minibatch 2
useless --shared-negatives 5
useless --shared-negatives 5 --sampler grouped-hs --negative 0
useless --minibatch 2 --cbow 1
useless --private-rows 5 --sampler uniform
useless --device 1
useless --in-flight 1
useless --sync-bytes-per-word 3
useless --sync-interval 3
useless --sync-first-rows 3
useless --sync-rule average
useless --sync-timeout 3
useless --sync-overlap 0
useless --sync-bf16
useless --minn 2
useless --bucket 100
useless --checkpoint-every 10min
useless --binary 0 --format vec
useless --resume
useless --new-words
useless --min-count 1 --load-model model
useless --max-vocabulary 10 --load-model model
useless --maxn 3 --load-model model
useless --maxn 4 --load-model subwords
useless --bucket 99 --load-model subwords
useless --minn 2 --load-model subwords
none 'loss ns and --hs 1 exclude each other' $word2vec --output v --loss ns --hs 1
for option in '--context-size 8' '--minibatch 2' '--hs-sample 0' '--checkpoint-every 3' '--device 1'; do
  none "^node2vec: error: ${option% *} has no effect" $node2vec --output v $option
done
# A test set of which nothing could be scored.
none 'half.tsv: all 2 pairs are skipped' $word2vec --output v --evaluate-similarity half.tsv
none 'half.txt: all 1 questions are skipped' $word2vec --output v --evaluate-analogy half.txt
# Those with an effect are no fault, nor is what other programs' command lines say.
for options in '--sampler grouped --minibatch 2 --shared-negatives 5' '--cbow 1 --cbow-gradient whole' \
               '--hs 1 --hs-sample 0' '--sampler uniform --context-size 8 --contexts contexts' \
               '--minn 0 --maxn 0' '--minn 3 --maxn 6 --bucket 100' '--checkpoint c --checkpoint-every 10min' \
               '--sampler grouped-cbow --shared-negatives 5' '--hs 0 --cbow 0 --binary 0 --classes 0' \
               '--load-model model --new-words --min-count 1' '--load-model subwords --maxn 3 --bucket 100'; do
  $word2vec --output v --quiet $options >out 2>err
  test ! -s err; test -s v; rm v
done
# A name that is too long for the system, as what is read and as what is written.
long=$(printf '%0300d' 0)
refused "'$long': File name too long" word2vec --train $long --output v
refused "'$long': File name too long" word2vec --train text --output $long
for option in --save-model --save-vocab --cache --checkpoint --load-model --read-vocab \
              --pretrained-vectors --evaluate-similarity --evaluate-analogy; do
  refused "'$long': File name too long" word2vec --train text --size 8 --output v $option $long
done
