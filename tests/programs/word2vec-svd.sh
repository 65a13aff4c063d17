# Words by a factorisation instead of training: --method svd.
i=1
while test $i -le 50; do printf 'cat dog ran\nthe cat sat\nthe dog sat\na b c d\n'; i=$((i + 1)); done >text
svd='word2vec --train text --method svd --size 4'
$svd --output words.txt --threads 1 2>err
grep '^Vocabulary: 9 words; corpus: 650 words, 650 kept' err
test "$(head -1 words.txt)" = '9 4'
$svd --output again.txt --threads 2 --quiet 2>err
test ! -s err
cmp words.txt again.txt
$svd --output whole.txt --sample 0 --quiet
$svd --output again.txt --sample 0 --quiet --stream
cmp whole.txt again.txt
$svd --output power.txt --eig 0 --quiet
if cmp -s words.txt power.txt; then exit 1; fi
$svd --output both.txt --add-contexts --threads 1 --quiet
if cmp -s words.txt both.txt; then exit 1; fi
$svd --output again.txt --add-contexts --threads 2 --quiet
cmp both.txt again.txt
$svd --json --quiet --window 2 --negative 2 --sample 0 --negative-exponent 1 >out
grep '"method":"svd".*"dimension":4,' out

refused 'alpha has no effect with --method svd' $svd --output refused.txt --alpha 0.1
refused 'sampler has no effect with --method svd' $svd --output refused.txt --sampler shared
refused 'save-model has no effect with --method svd' $svd --save-model refused.txt
refused 'eig has no effect without --method svd' word2vec --train text --output refused.txt --eig 0
refused 'add-contexts has no effect without --method svd' word2vec --train text --output refused.txt --add-contexts
refused 'negative is 0, whose logarithm' $svd --output refused.txt --negative 0
refused 'dimension is 10, the vocabulary has only 9 words' word2vec --train text --method svd --output refused.txt --size 10
refused 'power is -1' $svd --output refused.txt --eig -1
refused 'format fasttext is for models' $svd --output refused.txt --format fasttext
test ! -e refused.txt
