# A text or graph on which nothing can be trained is an error that says what was counted and why,
# and no file is written.
train='word2vec --size 8 --min-count 1 --output v --save-model m'
i=1
while test $i -le 200; do echo "w$((i % 20))"; i=$((i + 1)); done >lines
i=1
while test $i -le 50; do echo 'cat dog bird'; i=$((i + 1)); done >text
i=1
while test $i -le 50; do printf 'cat cat cat\ndog dog\n'; i=$((i + 1)); done >same
printf '1 1\n2 2\n' >loops
printf 'a b\nb c\nc a\n' >edges
ls >before
none() { refused "$@"; ls | cmp - before; }
context='nothing to train on: no word of the corpus has a context: each of its'

for how in '' '--sampler hogwild' '--cbow 1' '--hs 1 --negative 0' '--maxn 3' '--sampler grouped' \
           '--sampler minibatch' '--sampler uniform --context-size 8' '--stream' \
           '--threads 1' '--kernel dot'; do
  none "$context 200 sentences (200 words) has one word; is there one word a line?" $train --save-vocab c --train lines --sample 0 $how
  none "$context 150 sentences (150 words) has one word: --max-sentence is 1, give 2 or more" $train --train text --max-sentence 1 $how
  none "$context 100 sentences (250 words) repeats one word; a sentence needs two" $train --train same $how
  none "$context 50 sentences (150 words) has at most one word after subsampling with the threshold 1e-10; use a higher one, or 0" \
    $train --train text --sample 1e-10 $how
done
# Words that the vocabulary lacks leave one word in each sentence.
printf 'cat 50\nmouse 40\nhorse 9\n' >counts; ls >before
none "$context 50 sentences (50 words) has one word;" $train --train text --read-vocab counts
# All words different: none is frequent enough.
seq 300 | tr '\n' ' ' >different; ls >before
none 'none of its 300 words occurs min_count = 5 times' word2vec --train different --output v
# One word in all.
i=1
while test $i -le 9; do echo 'two two'; i=$((i + 1)); done >two; ls >before
none "needs a vocabulary of at least 2 words, got only 'two'; corpus: 18 words, 18 kept, 0 dropped" \
  word2vec --train two --output v
(cat two; echo one) >most; ls >before
none "got only 'two'; corpus: 19 words, 18 kept, 1 dropped as rare (min_count 5): give a lower --min-count" \
  word2vec --train most --output v --hs 1 --negative 0

printf '1 1\n' >alone; ls >before
walk='node2vec --size 8 --threads 1 --output v --save-model m --save-walks w'
none "'alone' has one node: training needs two or more" $walk --input alone
none "$context 30 sentences (30 words) has one word: --walk-length is 1, give 2 or more" $walk --input edges --walk-length 1
none "$context 20 sentences (1600 words) repeats one word: walks stay at one node" $walk --input loops
none 'sample has no effect on walks, which stay whole' $walk --input edges --sample 1e-10
# Directed edges that end at once are pairs all the same.
printf '1 2\n3 2\n' >sinks
node2vec --input sinks --directed --size 8 --output v --quiet; test "$(head -n 1 v)" = '3 8'; rm v
node2vec --input edges --walk-length 1 --save-walks w; test "$(wc -l <w)" -eq 30; rm w

# A loss that is not known is not printed, and the first is known as soon as a pair was trained.
i=1
while test $i -le 400; do
  echo "w$((i % 29)) w$((i * 7 % 29)) w$((i * 3 % 29)) w$((i * 5 % 29)) w$((i * 11 % 29)) w$((i * 13 % 29)) w$((i * 17 % 29)) w$((i * 19 % 29))"
  i=$((i + 1))
done >small
word2vec --train small --size 8 --threads 1 --output v --json >out 2>err
grep 'loss [0-9]' err; grep -i nan err out && exit 1
grep '"loss":[0-9]' out
# The counts of the text come first.
head -n 1 err | grep -x 'Vocabulary: 29 words; corpus: 3200 words, 3200 kept, 0 dropped'
grep '"words_read":3200,"words_dropped":0' out; grep '"vocabulary":29,"tokens":3200' out
(cat small; echo rare rarer) >more
word2vec --train more --size 8 --iter 1 --output v 2>err
head -n 1 err | grep -x 'Vocabulary: 29 words; corpus: 3202 words, 3200 kept, 2 dropped as rare (min_count 5)'
word2vec --train more --size 8 --iter 1 --output v --max-vocabulary 20 2>err
head -n 1 err | grep 'Vocabulary: 20 words; corpus: 3202 words, [0-9]* kept, [0-9]* dropped as rare (min_count 5, max_vocabulary 20)$'
word2vec --train more --save-vocab c 2>err
grep -x 'Vocabulary: 29 words; corpus: 3202 words, 3200 kept, 2 dropped as rare (min_count 5)' err
for how in '' --stream '--cache ids' '--cache ids'; do
  word2vec --train more --read-vocab c --size 8 --iter 1 --output v $how 2>err
  head -n 1 err | grep -x 'Vocabulary: 29 words; corpus: 3202 words, 3200 kept, 2 dropped: not in the vocabulary'
done
word2vec --train more --size 8 --iter 1 --output v --quiet 2>err; test ! -s err
# Longer lines are split, nothing is lost.
tr '\n' ' ' <small >line
word2vec --train line --max-sentence 7 --size 8 --iter 1 --output v --json --quiet | grep '"tokens":3200,.*"words_dropped":0'
