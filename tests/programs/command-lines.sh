# The command lines of other programs run, or are refused with what to write instead.
cp "$CORPUS/text" text8
head -n 200 text8 >data.txt
i=1
mkdir -p graph emb
while test $i -le 34; do echo "$i $((i % 34 + 1))"; echo "$i $(((i + 5) % 34 + 1))"; i=$((i + 1)); done >graph/karate.edgelist
first() { test "$(head -n 1 "$1" | tr -d '\r')" = "$2"; rm "$1"; }

# word2vec.c: demo-word.sh, and its help.
word2vec -train data.txt -output vectors.bin -cbow 1 -size 20 -window 8 -negative 25 -hs 0 -sample 1e-4 -threads 20 -binary 1 -iter 2 -min-count 1 2>err
head -c 20 vectors.bin | grep -aq ' 20'
word2vec -train data.txt -output vec.txt -size 20 -window 5 -sample 1e-4 -negative 5 -hs 0 -binary 0 -cbow 1 -iter 3 -debug 2 -classes 0 -alpha 0.05 -save-vocab vocab 2>err
word2vec -train data.txt -output vec.txt -read-vocab vocab -size 20 -iter 1 -debug 0 2>err; test ! -s err
word2vec -train data.txt -output classes.txt -classes 3 -size 20 -min-count 1 -threads 1 -save-vocab vocab.all 2>err
test "$(wc -l <classes.txt)" -eq "$(wc -l <vocab.all)"
test "$(awk 'NF != 2 { exit 1 } { print $2 }' classes.txt | sort -un | tr '\n' ' ')" = '0 1 2 '
refused 'classes is 500000, the vocabulary has only' word2vec -train data.txt -output classes.txt -classes 500000 --quiet
refused 'classes writes lines' word2vec -train data.txt -classes 5 -save-vocab vocab
refused 'format has no effect with --classes' word2vec -train data.txt -output classes.txt -classes 3 -format npy

# Two results in one place, or a result in a file named like another.
refused 'output - and --json both write to standard output' word2vec -train data.txt -output - --json
refused 'output - and --evaluate-... both write' word2vec -train data.txt -output - --evaluate-analogy "$CORPUS/analogies"
refused 'output - and --json both write' node2vec --input graph/karate.edgelist --output - --json
refused "read-vocab '-' and --train '-' are one stream" word2vec -train - -read-vocab - -output v <data.txt
refused 'v.npy. is named like another format: give --format npy' word2vec -train data.txt -output v.npy
refused 'v.tsv. is named like another format: give --format tsv' word2vec -train data.txt -output v.tsv
refused 'only-walks trains no vectors' node2vec --input graph/karate.edgelist --only-walks --output walks --json

# gensim.scripts.word2vec_standalone.
word2vec -train text8 -output vec.txt -size 12 -window 2 -sample 1e-4 -hs 0 -negative 5 -threads 2 -iter 1 -min_count 3 -alpha 0.025 -cbow 0 -binary 0 -accuracy "$CORPUS/analogies" >out 2>err
grep -q all out; head -n 1 vec.txt | grep -q ' 12$'
refused '^word2vec: error: --vector_size: write --size' word2vec --train data.txt --output v --vector_size 5
refused 'workers: write --threads' word2vec --train data.txt --output v --workers=5

# fastText.
refused "^word2vec: error: skipgram: this command of fastText is the default here: leave it out, and give --maxn 6" word2vec skipgram -input data.txt -output model
refused "cbow: instead of this command of fastText give --cbow 1" word2vec cbow -input data.txt -output model
refused 'supervised: .*classifiers' word2vec supervised -input data.txt -output model
refused 'nn: .*neighbours' word2vec nn model.bin
refused 'saveOutput: .*--save-model' word2vec -input data.txt -output model -saveOutput
word2vec -input data.txt -output model.bin --format fasttext -dim 16 -ws 5 -epoch 1 -neg 5 -loss ns -minCount 1 -minn 3 -maxn 6 -bucket 2000 -lr 0.05 -t 1e-4 -thread 2 -verbose 2 -lrUpdateRate 100 -wordNgrams 1 2>err
echo france | neighbours model.bin | grep -q '0[.]'
word2vec -input data.txt -output v -dim 16 -minn 0 -maxn 0 -bucket 2000000 -epoch 1 -verbose 0
word2vec -input data.txt -output v -dim 16 -loss hs -neg 5 -epoch 1 -verbose 0 2>err
grep -x 'word2vec: warning: --negative has no effect with --loss hs' err

# SNAP's node2vec, and its author's.
node2vec -i:graph/karate.edgelist -o:emb/karate.emb -l:3 -d:24 -p:0.3 -dr -v 2>err; first emb/karate.emb '34 24'
node2vec -i:graph/karate.edgelist -o:emb/karate.emb -d:16 -l:8 -r:2 -k:4 -e:1 -p:1 -q:0.5 -v 2>err; first emb/karate.emb '34 16'
node2vec -i:graph/karate.edgelist -o:walks -l:8 -r:2 -ow; test "$(wc -l <walks)" -eq 68
node2vec --input graph/karate.edgelist --output emb/karate.emd --dimensions 16 --walk-length 8 --num-walks 2 --window-size 4 --iter 1 --workers 8 --p 1 --q 1 --unweighted --undirected 2>err; first emb/karate.emd '34 16'
# PecanPy.
for mode in SparseOTF DenseOTF PreComp PreCompFirstOrder FirstOrderUnweighted; do
  node2vec --input graph/karate.edgelist --output emb/karate.emb --mode $mode --dimensions 16 --walk-length 8 --num-walks 2 --window-size 4 --epochs 1 --workers 4 --delimiter ' ' --random_state 3 --task pecanpy --verbose 2>err
  first emb/karate.emb '34 16'
done
# DeepWalk.
refused 'number-walks: write --num-walks' node2vec --input graph/karate.edgelist --output v --number-walks 3
refused 'representation-size: write --dimensions' node2vec --input graph/karate.edgelist --output v --representation-size 3

# Published systems.
refused 'sync mpi does not go with --system psgnscc, which trains in one process' word2vec --train data.txt --output v --system psgnscc --sync mpi

# The last of several values counts, with a warning.
word2vec -train data.txt -output v -size 20 -size 30 -iter 1 2>err; first v "$(wc -l <v | awk '{ print $1 - 1 }') 30"
grep -x 'word2vec: warning: --size is given twice: the last, 30, is taken' err
word2vec -train data.txt -output v -size 20 -dim 40 -size 30 -iter 9 -iter 1 -quiet -quiet 2>err; first v "$(wc -l <v | awk '{ print $1 - 1 }') 30"
printf 'word2vec: warning: --%s, is taken\n' 'iter is given twice: the last, 1' 'size is given 3 times: the last, 30' | sort >expected
sort err | cmp - expected
node2vec -i:graph/karate.edgelist -o:v -d:8 -d:16 --seed 1 --seed 2 2>err; first v '34 16'
grep -x 'node2vec: warning: --size is given twice: the last, 16, is taken' err
echo france | neighbours --count 3 --count 2 model.bin >out 2>err; test "$(wc -l <out)" -eq 2
grep -x 'neighbours: warning: --count is given twice: the last, 2, is taken' err
# Not of options that take lists.
cp "$CORPUS/similarity" one; cp one two
word2vec -train text8 -size 8 -iter 1 --quiet --evaluate-similarity one --evaluate-similarity two --json 2>err | grep -o '"pairs"' | wc -l | grep -x 2
test ! -s err

# A model has its own dimension.
word2vec -train data.txt -size 12 -iter 1 -quiet --save-model model
word2vec -train data.txt --load-model model -iter 1 -quiet -output v; head -n 1 v | grep ' 12$'
word2vec -train data.txt --load-model model -size 12 -iter 1 -quiet -output v; head -n 1 v | grep ' 12$'
rm v
refused "size is 100, the model in 'model' has vectors of 12: leave --size out" word2vec -train data.txt --load-model model -size 100 -output v
node2vec --input graph/karate.edgelist --size 16 --quiet --save-model model
node2vec --input graph/karate.edgelist --load-model model --quiet --output v; first v '34 16'
refused "size is 8, the model in 'model' has vectors of 16" node2vec --input graph/karate.edgelist --load-model model -d 8 --output v

# Pretrained vectors: how many words they have.
printf '3 8\n%s 1 2 3 4 5 6 7 8\nxyzzy 1 2 3 4 5 6 7 8\nplugh 1 2 3 4 5 6 7 8\n' "$(cut -d ' ' -f 1 vocab | head -n 1)" >some.vec
tail -n 2 some.vec | (echo 2 8; cat) >none.vec
word2vec -train data.txt -size 8 -iter 1 -output v --pretrained-vectors some.vec 2>err
grep "^Pretrained vectors: 1 of the $(($(wc -l <v) - 1)) words of the vocabulary found\$" err; grep warning err && exit 1
word2vec -train data.txt -size 8 -iter 1 -output v --pretrained-vectors none.vec 2>err
grep "^word2vec: warning: 'none.vec' has 0 of the $(($(wc -l <v) - 1)) words of the vocabulary: all begin at random\$" err

# Unicode's spaces.
printf 'a\302\240b a\343\200\200b\302\205a\342\200\250b\342\200\211a b\na b\n' >spaces
word2vec --train spaces --save-vocab counts --min-count 1 --quiet; test "$(wc -l <counts)" -eq 4
word2vec --train spaces --save-vocab counts --min-count 1 --quiet --unicode-spaces
sed 's/ [0-9]*//' counts | sort | tr '\n' ' ' | grep -x 'a b '
awk '{ n += $2 } END { exit n != 10 }' counts
for how in '' --stream '--cache ids' '--cache ids'; do
  word2vec --train spaces --min-count 1 --sample 0 --size 8 --iter 1 --unicode-spaces --output v --json --quiet $how | grep '"tokens":10,'
done
# The file of --cache is not used for the other way.
word2vec --train spaces --read-vocab counts --min-count 1 --sample 0 --size 8 --iter 1 --output v --json --quiet --cache ids | grep '"tokens":3,'
