# Test sets are read as they are published; a file that does not fit is refused.
printf '%s\n' '7 2' 'love 1 0' 'sex 0.9 0.1' 'tiger 0 1' 'cat 0.5 0.9' 'book 1 1' 'paper -1 0.2' \
  'new 0.3 -1' >vectors
expect() {
  evaluate vectors --similarity set >out
  grep "Spearman $1  $2 pairs, $3 out of vocabulary" out
}
# The cosines of these pairs are 0.99, 0.87 and -0.83.
printf 'Word 1,Word 2,Human (mean)\r\nlove,sex,9\r\ntiger,cat,8\r\nbook,paper,7.5\r\n' >set
expect 1.0000 3 0
printf 'Word 1,Word 2,Human (mean),1,2\nlove,sex,9,1,0\ntiger,cat,8,2,0\nbook,paper,7.5,3,0\n' >set
expect 1.0000 3 0
{ printf 'word1\tword2\tPOS\tSimLex999\tconc(w1)\tconc(w2)\tconcQ\tAssoc(USF)\tSimAssoc333\tSD(SimLex)\n'
  printf 'love\tsex\tV\t9\t1\t1\t1\t1\t0\t1\ntiger\tcat\tN\t8\t2\t2\t2\t2\t0\t2\n'
  printf 'book\tpaper\tN\t7.5\t3\t3\t3\t3\t1\t3\n'; } >set
expect 1.0000 3 0
printf 'love\tsex\tV\t9\tSYNONYMS\ntiger\tcat\tN\t8\tNONE\nbook\tpaper\tN\t7.5\tNONE\n' >set
expect 1.0000 3 0
printf 'love-n sex-n 9.000000\ntiger-n cat-n 8.000000\nnew-j paper-n 8.500000\n' >set
expect 0.5000 3 0
printf 'love\tsex\t9\t0\t1\t2\t3\t4\t5\t6\t7\t8\t9\ntiger\tdog\t8\t9\t8\t7\t6\t5\t4\t3\t2\t1\t0\nbook\tpaper\t9.5\t1\n' >set
expect -1.0000 2 1
printf '\357\273\277love;sex;9\n\n# a comment\n"tiger"; cat;8\n' >set
expect 1.0000 2 0
printf 'love\tsex\t9\rtiger\tcat\t8\r' >set
expect 1.0000 2 0
printf '"love" "sex" 9\r"tiger" "cat" 8\r\n"book" "paper" 7\n' >set
expect 1.0000 3 0
printf 'love\tsex\t9\ntiger\tcat\t8\n' >set
gzip -c set >set.gz
evaluate vectors --similarity set.gz | grep 'Spearman 1.0000  2 pairs'
evaluate vectors --similarity - <set | grep 'Spearman 1.0000  2 pairs'

printf 'love\tsex\t9,1\n' >set
refused "set: line 1, column 10: expected two words and a number, got '9,1'; write decimals" \
  evaluate vectors --similarity set
printf 'tiger cat 3\nNew York book 5\n' >set
refused "set: line 2, column 10: expected two words and a number, got 'book'" \
  evaluate vectors --similarity set
printf 'id,first,second,score\n1,love,sex,9\n' >set
refused "set: line 2, column 8: expected two words and a number, got 'sex'" \
  evaluate vectors --similarity set
# No other column is taken in silence.
printf 'word1,word2,score\nlove,sex,9,1\n' >set
refused "set: line 2, column 12: expected at most 3 fields, as the header, got 4 fields" \
  evaluate vectors --similarity set
printf 'word1,word2,Annotator 1,Annotator 2\nlove,sex,9,1\n' >set
refused "set: line 1, column 13: expected a column of scores, .*, got 'Annotator 1'" \
  evaluate vectors --similarity set
printf 'love,sex,NA\ntiger,cat,8\n' >set
refused "set: line 1, column 10: expected two words and a number, got 'NA'" \
  evaluate vectors --similarity set
printf '\376\377\0l\0o' >set
refused 'set: this is a text in UTF-16' evaluate vectors --similarity set

# Vectors of a training that diverged have no scores.
printf '3 2\nlove 1 0\nsex nan 1\ntiger 0 inf\n' >diverged
printf 'love\tsex\t9\ntiger\tcat\t8\n' >set
refused "diverged: the vector of 'sex' holds a number that is not finite" \
  evaluate diverged --similarity set
refused "diverged: the vector of 'sex' holds a number that is not finite" neighbours diverged

# Labels of nodes, where the programs can learn them.
printf 'node,label\r\nlove,warm heart\r\nsex,"warm heart"\r\ntiger,beast\r\ncat,beast\r\nghost,beast\r\n' >labels
if evaluate vectors --labels labels --label-share 0.5 >out 2>err; then
  grep '^2 labels, 4 nodes, 1 without a vector$' out
  evaluate vectors --labels labels --label-folds 4 --json >out
  grep '"folds":4,"shares":.{"share":0.75,"micro_f1":' out
  refused 'folds is 5\|needs as many nodes' evaluate vectors --labels labels --label-folds 5
  refused 'label-share excludes --label-folds' evaluate vectors --labels labels --label-folds 4 --label-share 0.5
  for i in $(seq 34); do echo "$i $((i % 34 + 1))"; echo "$i $(((i + 5) % 34 + 1))"; done >graph
  { echo '34 2'; for i in $(seq 34); do echo "$i $((i % 7)) $((i / 7))"; done; } >nodes
  evaluate nodes --links graph --link-svm | grep '^concatenation  *[01][.]'
  evaluate nodes --links graph --link-svm --json | grep '"micro_f1":{"concatenation":'
  printf 'node,label\nghost,beast\n' >labels
  refused "labels: none of its 1 nodes has a vector, for example 'ghost'" evaluate vectors --labels labels
else
  grep LIBLINEAR err
fi

# A folder of sets, with several seeds.
mkdir -p suite/similarity suite/categorization suite/classification suite/analogy
printf 'love\tsex\t9\ntiger\tcat\t8\nbook\tpaper\t7.5\n' >suite/similarity/small.tsv
printf 'ghost\tspirit\t9\nspirit\tdemon\t8\n' >suite/similarity/unknown.tsv
printf 'love\thuman\nsex\thuman\ntiger\tbeast\ncat\tbeast\nghost\tbeast\n' >suite/categorization/c.tsv
printf ': gram\nlove sex tiger cat\nlove sex ghost cat\n' >suite/analogy/questions-words.txt
only='--only similarity cos-add cos-mul categorization'
cp vectors again
refused "'vectors' is given twice" evaluate vectors again vectors --suite suite
evaluate vectors again --suite suite $only --floor >out
cat out
grep '^similarity/small [*]  *Spearman  *1.0000  *0.0000  *2  *3  *0  *-*[01][.]' out
grep '^similarity/unknown [*]  *Spearman  *-  *-  *2  *0  *2 .*no item of which all words can be looked up' out
grep '^purity/c [*]  *purity  *1.0000  *0.0000  *2  *4  *1 ' out
grep '^3CosAdd/google [*]  *accuracy .* 2  *1  *1 ' out
grep '^[*] fewer than 100 items' out
evaluate vectors --suite suite $only --protocol hyperwords --json >out
grep '"protocol":"hyperwords","vectors":.{"path":"vectors","words":7,"dimension":2}' out
grep '"similarity, unknown 0/unknown":{"measure":"Spearman","values":.null.' out
grep '"hyperwords 3CosAdd/google":.*"asked":2,"known":1,"skipped":1,' out
evaluate vectors again --suite suite $only --against vectors again | tee out
grep '^similarity/small  *0.0000 .* 0.0000 .. 0.0000 .* too few items$' out
grep '^similarity/unknown .* not compared$' out
grep '^Is VECTORS worse .* Of 5 tests, yes: 0, no: 0, open: 0 .*, not compared or too few items: 5$' out
mkdir -p large/similarity
for i in $(seq 40); do cat suite/similarity/small.tsv; done >large/similarity/large.tsv
evaluate vectors again --suite large --against vectors again | tee out
grep '^similarity/large  *0.0000 .* not worse by more than 0.01$' out
grep '^Is VECTORS worse .* Of 1 tests, yes: 0, no: 1, open: 0 .*, not compared or too few items: 0$' out
gzip <large/similarity/large.tsv >large/similarity/large.tsv.gz
refused "two sets are named 'large'" evaluate vectors --suite large
refused '--suite: the value is empty: give one, or leave the option out' evaluate vectors --suite ''
refused 'suite: no test set' evaluate vectors --suite suite --only mean
refused '[-]-similarity does not go with --suite' evaluate vectors --suite suite --similarity set
refused 'one file of vectors at a time, except with --suite' evaluate vectors vectors --similarity set
refused '[-]-only requires --suite' evaluate vectors --similarity set --only lrcos
printf 'love\thuman\nsex\n' >suite/categorization/c.tsv
refused 'c.tsv: line 2, column 1: expected a word and its category' evaluate vectors --suite suite
printf '1\tlove\nx\tsex\n' >suite/classification/s.txt
refused 's.txt: line 2, column 1: expected a label' evaluate vectors --suite suite --only mean

# Two methods with other words are compared on the words of both; files that are not read are named.
rm suite/categorization/c.tsv suite/classification/s.txt
rm -r large/similarity
mkdir -p large/similarity large/analogy/more large/categorization
for i in $(seq 40); do cat suite/similarity/small.tsv; echo "new	paper	$i"; done >large/similarity/large.tsv
echo notes >large/similarity/notes.md
printf 'Word\tCategory\nlove\thuman\ntiger\tbeast\n' >large/categorization/c.tsv
printf 'new\tclass\nlove\thuman\ntiger\tbeast\n' >large/categorization/header.tsv
printf 'new\tclass\nlove\thuman\ntiger\tclass\n' >large/categorization/no-header.tsv
cp large/similarity/large.tsv large/misplaced.tsv
grep -v '^new' vectors | sed '1s/7/6/' >fewer
evaluate vectors fewer --suite large --against vectors fewer 2>err | tee out
cat err
grep -c '^evaluate: warning: large/.* is not read' err | grep '^3$'
grep 'warning: large/misplaced.tsv is not read' err
grep 'warning: large/analogy/more is not read' err
grep 'warning: large/similarity/notes.md is not read' err
grep 'warning: the vectors have different words: all are scored with the 6 words that all have' err
grep '^similarity/large .* 2  *120  *40 ' out
grep '^similarity/large  *0.0000 .* not worse by more than 0.01$' out
grep '^purity/c [*] .* 2  *2  *0 ' out
grep '^purity/header [*] .* 2  *2  *0 ' out
grep '^purity/no-header [*] .* 2  *2  *1 ' out
evaluate vectors --suite large --against fewer --json 2>/dev/null | grep '"difference":0.0,.*"common_items":120,"scored_items":120'
refused '[-]-restrict-vocabulary has no effect with --protocol vecto' \
  evaluate vectors --suite large --protocol vecto --restrict-vocabulary 5
mkfifo pipe
cat vectors >pipe &
refused "'pipe' must be read twice" evaluate pipe --suite large --against fewer
mkdir -p all/analogy/BATS/all
printf 'love\tsex\ntiger\tcat\n' >all/analogy/BATS/all/one.txt
printf ': empty\n' >large/analogy/empty.txt
refused 'empty.txt: .*questions' evaluate vectors --suite large
mkdir -p loop/similarity
ln -s loop.tsv loop/similarity/loop.tsv
refused "'loop/similarity/loop.tsv': cannot be read: " evaluate vectors --suite loop
refused "all/analogy: a folder of relations is named 'all'" evaluate vectors --suite all
refused 'nothing to score: give --similarity' evaluate vectors

# A part of a set alone is no set.
mkdir -p parts/classification
for i in $(seq 20); do printf '1\tlove sex\n0\ttiger cat\n'; done >parts/classification/pets.train.txt
refused "'parts/classification/pets.train.txt' is a part of 'pets': its test file is not beside it" \
  evaluate vectors --suite parts --only mean
mv parts/classification/pets.train.txt parts/classification/semeval.test.tsv
refused "'parts/classification/semeval.test.tsv' is a part of 'semeval': its train file is not" \
  evaluate vectors --suite parts --only relations

# Networks that classify.
mkdir -p nets/classification
for i in $(seq 20); do printf '1\tlove sex\n0\ttiger cat\n'; done >nets/classification/pets.txt
for i in $(seq 20); do
  printf '1\tA(e1,e2)\tthe <e1>love</e1> of <e2>sex</e2>\n2\tOther\t<e1>tiger</e1> and <e2>cat</e2>\n'
done | tee nets/classification/semeval-x.train.tsv >nets/classification/semeval-x.test.tsv
if evaluate vectors again --suite nets --only cnn cnn-trained lstm relations >out 2>err; then
  cat out
  test ! -s err
  grep '^CNN/pets [*]  *accuracy  *[01][.][0-9]*  *0.0000  *2  *40  *0 ' out
  grep '^CNN trained/pets [*]  *accuracy  *[01][.][0-9]*  *0.0000  *2  *40  *0 ' out
  grep '^LSTM/pets [*]  *accuracy  *[01][.][0-9]*  *0.0000  *2  *40  *0 ' out
  grep '^relations/semeval-x [*]  *macro F1  *1.0000  *0.0000  *2  *40  *0 ' out
  for i in 1 2 3; do cat nets/classification/semeval-x.train.tsv; done >nets/classification/semeval-x.test.tsv
  evaluate vectors again --suite nets --only relations --against vectors again >out
  grep '^relations/semeval-x  *0.0000 .* not worse by more than 0.01$' out
else
  grep WORDLOOM_ENABLE_BLAS err
fi

printf 'a b\nb c\nc d\nd a\na c\nb d\n' >links
cp links kept
refused 'is the same file as --links' evaluate --links links --write-training-graph ./links
cmp links kept
refused 'write-training-graph excludes --labels' evaluate --links links --write-training-graph half --labels kept
test ! -e half
