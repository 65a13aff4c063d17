# Vectors with odd words, from .gz, pipes and standard input, in files that other programs wrote.

v=' 0.5 1 1.5'
printf '3 3\nthe%s\nNew York -0.5 1 1.5\nof%s \n' "$v" "$v" >phrase.vec
gzip -c phrase.vec >phrase.vec.gz
mkfifo pipe

# All ways to read a file give the same answers.
echo the | neighbours phrase.vec >expected
grep 'of  *1.0000' expected
grep 'New York' expected
echo the | neighbours phrase.vec.gz | cmp - expected
cat phrase.vec >pipe &
echo the | neighbours pipe | cmp - expected
cat phrase.vec.gz >pipe &
echo the | neighbours pipe | cmp - expected
printf 'the\tof\t1\nthe\tthe\t3\n' >pairs
printf 'of\tthe\t2\n' >>pairs
evaluate phrase.vec --similarity pairs >scores
evaluate - --similarity pairs <phrase.vec | cmp - scores
cat phrase.vec.gz | evaluate - --similarity pairs | cmp - scores
cat phrase.vec | evaluate /dev/fd/0 --similarity pairs | cmp - scores
cat phrase.vec >pipe &
evaluate pipe --similarity pairs | cmp - scores

# What is missing only in the header is one warning, or refused.
sed 1s/3/4/ phrase.vec >header.vec
evaluate header.vec --similarity pairs 2>err | cmp - scores
test "$(cat err)" = "evaluate: warning: header.vec: the header says 4 words, the file has 3"
refused 'evaluate: error: header.vec: the header says 4 words, the file has 3' \
  evaluate header.vec --similarity pairs --strict
printf '\n' >>header.vec
echo the | neighbours header.vec 2>err | cmp - expected
test "$(wc -l <err)" -eq 1
head -c -8 phrase.vec >cut.vec
refused 'cut.vec: line 4, column 7: expected number 2 of 3 after .of., got the end of the line' \
  evaluate cut.vec --similarity pairs

# The first words only.
echo the | neighbours phrase.vec --limit 2 >first
grep 'New York' first
test "$(wc -l <first)" -eq 1

# Words that a format cannot hold.
printf '3 2\nthe \0\0\0\77\0\0\200\77\nNew York \0\0\0\77\0\0\200\77\nof \0\0\0\77\0\0\200\77\n' >space.bin
refused "space.bin: byte 17: expected a word without a space.*got 'New York'" neighbours space.bin
printf '3 2\nthe \0\0\0\77\0\0\200\77\n\fof \0\0\0\77\0\0\200\77\n \0\0\0\77\0\0\200\77\n' >odd.bin
echo the | neighbours odd.bin | grep 'of  *1.0000'

# A vocabulary as word2vec writes it for a text without a line end, and fastText's dump.
word2vec --train "$CORPUS/text" --size 8 --iter 1 --min-count 5 --save-vocab own --output own.txt --binary 0 --threads 1
{ echo '</s> 0'; cat own; } >theirs
word2vec --train "$CORPUS/text" --size 8 --iter 1 --read-vocab theirs --output v.txt --binary 0 --threads 1
cmp own.txt v.txt
{ wc -l <own | tr -d ' '; sed 's/$/ word/' own; } >dump
gzip dump
word2vec --train "$CORPUS/text" --size 8 --iter 1 --read-vocab dump.gz --output v.txt --binary 0 --threads 1
cmp own.txt v.txt

# Nothing is compressed by its name.
refused "cannot write 'v.vec.gz': nothing is written compressed" \
  word2vec --train "$CORPUS/text" --size 8 --iter 1 --output v.vec.gz
