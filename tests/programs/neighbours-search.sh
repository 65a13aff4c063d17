# An index is built once, then loaded; one of other vectors, or none, is refused.
{ printf '6 2\n'; printf 'paris 1 0\nrome 0 1\nmilan 0.1 1\nlyon 0.9 0.1\nzero 0 0\noslo -1 0.2\n'; } >vectors
printf 'paris\nxyzzy\nparis lyon milan\n' >lines
if neighbours vectors --index none/index <lines 2>err; then exit 1; fi
if ! grep 'needs a build with hnswlib' err; then
  grep 'cannot ' err
  neighbours vectors --index index --count 2 <lines >out 2>err
  grep 'neighbours: built index in .* s, recall of ten neighbours 1.000' err
  grep "neighbours: unknown word 'xyzzy'" err
  test "$(wc -l <out)" -eq 4
  neighbours vectors --count 2 <lines 2>/dev/null | cmp - out
  neighbours vectors --index index --search 50 --count 2 <lines 2>err | cmp - out
  test "$(wc -l <err)" -eq 1
  sed 's/0.9/0.8/' vectors >other
  refused "'index' is the index of other vectors: build an index of these" neighbours other --index index
  refused "'index' is the index of 6 vectors of dimension 2, these are 5" neighbours vectors --limit 5 --index index
  head -c 100 index >cut
  refused 'cut: byte ' neighbours vectors --index cut
  refused 'vectors: byte 0: ' neighbours vectors --index vectors
fi
refused '.-search requires .-index' neighbours vectors --search 5
# An empty value, as of an empty variable, is not an option that is left out.
for option in --index --align --sentences --output --format; do
  refused ".-${option#--}: the value is empty" neighbours vectors $option ''
done
refused 'the value is empty' neighbours ''

# Sentences near a line.
printf 'paris and lyon\n\nrome milan Milan\nnothing here\noslo zero\n' >documents
printf 'lyon paris\n \nmilan\nxyzzy of\n' | neighbours vectors --sentences documents --count 1 >out 2>err
printf '  paris and lyon           1.0000\n  rome milan Milan         0.9995\n' >expected
sed 's/0.999[0-9]/0.9995/' out | cmp - expected
grep 'neighbours: 1 of 4 sentences have no word with a vector' err
grep "neighbours: no word of 'xyzzy of' has a vector" err
refused 'sif needs the counts of words, which these vectors do not have' neighbours vectors --sentences documents --sif
printf 'paris 9\nmilan 3\nnone 100\n' >counts
echo milan | neighbours vectors --sentences documents --sif --counts counts --count 4 >out 2>/dev/null
test "$(wc -l <out)" -eq 3
echo milan | neighbours vectors --sentences documents --sif --zipf >out 2>/dev/null
test "$(wc -l <out)" -eq 3
# As a .gz with a byte order mark and other line ends; the answers have none.
{ printf '\357\273\277'; sed 's/$/\r/' documents; } | gzip >documents.gz
printf 'lyon paris\n' | neighbours vectors --sentences documents.gz --count 1 2>/dev/null >out
head -n 1 expected | cmp - out
printf 'xyzzy\n' >unknown
refused 'unknown: no word of it has a vector' neighbours vectors --sentences unknown
refused 'is a folder\|cannot read\|directory' neighbours vectors --sentences .
refused 'cannot open .*none' neighbours vectors --sentences none
: >empty
refused 'empty: line 1, column 1: .*a sentence' neighbours vectors --sentences empty
refused '.-zipf requires .-sif' neighbours vectors --sentences documents --zipf
refused '.-sif requires .-sentences' neighbours vectors --sif
refused 'excludes' neighbours vectors --sentences documents --index index

# Other vectors, rotated to these: a quarter turn.
{ printf '4 2\n'; printf 'paris 0 1\nrome -1 0\nlyon -0.1 0.9\nroma -1 0.1\n'; } >turned
printf 'roma\n' | neighbours vectors --align turned --count 1 >out 2>err
grep 'neighbours: aligned 3 of 3 pairs of words, residual 0.00' err
grep '^  milan  *1.0000$' out || grep '^  milan  *0.999' out
printf 'paris\tlyon\nroma\tmilan\nxyzzy\tmilan\n' >dictionary
printf 'rome\nroma rome lyon\n' | neighbours vectors --align turned --dictionary dictionary --count 2 >out 2>err
grep 'aligned 2 of 3 pairs' err
grep 'give one word of the other vectors' err
test "$(wc -l <out)" -eq 2
# --case holds for dictionaries, too.
printf 'PARIS\tLyon\nRoma\tMILAN\n' >dictionary
echo rome | neighbours vectors --align turned --dictionary dictionary --count 2 >out 2>err
grep 'aligned 2 of 2 pairs' err
refused 'got 0' neighbours vectors --align turned --dictionary dictionary --case exact
printf 'paris lyon\n' >dictionary
refused 'dictionary: line 1.*a word, a tab and a word' neighbours vectors --align turned --dictionary dictionary
printf 'paris\tlyon\n' >dictionary
refused 'an alignment of dimension 2 needs at least' neighbours vectors --align turned --dictionary dictionary
refused 'empty: line 1, column 1: .*no pairs' neighbours vectors --align turned --dictionary empty
{ printf '1 3\n'; printf 'paris 0 1 2\n'; } >longer
refused 'cannot align vectors of dimension 3 and 2' neighbours vectors --align longer

# Words that a model of subwords has never seen are rotated, too.
printf 'paris lyon rome milan oslo\nlyon paris milan rome oslo\n' >text
word2vec --train text --output model.bin --format fasttext --minn 4 --maxn 4 --bucket 50 --size 2 --min-count 1 \
  --iter 3 --threads 1 --sample 0 --quiet
echo pariser | neighbours model.bin --count 3 >expected
echo pariser | neighbours model.bin --align model.bin --count 3 2>err | cut -c1-24 >out
cut -c1-24 expected | cmp - out
echo x | neighbours model.bin --align model.bin 2>err >out && exit 1
grep "unknown word 'x'" err

# Similarity of sentences; sif only where words have counts.
printf '5\tparis\tlyon\n1\tparis lyon\toslo\n2\tparis\trome milan\n0\txyzzy\tparis\n' >sts
evaluate vectors --sentence-similarity sts >out
grep '^sentence similarity, mean  Pearson 0[.][0-9]*  Spearman 1  3 pairs, 1 without known words' out
if grep sif out; then exit 1; fi
evaluate vectors --sentence-similarity sts --zipf --json >out
grep '"sif":{"pearson":' out
printf '5\tparis lyon\n' >sts
refused 'sts: line 1, column 1: .*a score, a tab, a sentence, a tab and a sentence' evaluate vectors --sentence-similarity sts
printf '5\tparis\tlyon\n' >sts
evaluate vectors --sentence-similarity sts >out
grep '^sentence similarity, mean  not defined for fewer than 2 pairs  1 pair, 0 without known words$' out
printf '5\tparis\tlyon\n5\tparis\toslo\n' >sts
evaluate vectors --sentence-similarity sts | grep 'mean  not defined where all scores or cosines are equal  2 pairs'
printf '5\txyzzy\tparis\n' >sts
refused 'sts: no pair has words with vectors on both sides' evaluate vectors --sentence-similarity sts
refused '.-zipf requires .-sentence-similarity' evaluate vectors --zipf
