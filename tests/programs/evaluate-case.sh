# Words of test sets are looked up as they are written, and where that is missing in lower case.
printf '%s\n' '10 3' 'France 1 0 0' 'Paris 1 0 1' 'Italy 0 1 0' 'Rome 0 1 1' 'Spain 1 1 0' \
  'Madrid 1 1 1' 'österreich 1 -1 0' 'wien 1 -1 1' 'франция -1 0 0' 'париж -1 0 1' >cased
# In lower case the pairs are mixed up.
{ sed '1s/10/16/' cased; printf '%s\n' 'france 1 0 0' 'rome 1 0 1' 'italy 0 1 0' 'paris 0 1 1' \
  'spain 1 1 0' 'madrid 1 1 1'; } >both
tr A-Z a-z <cased >lower
printf '%s\n' ': capital' 'France Paris Italy Rome' 'France Paris Spain Madrid' \
  'Italy Rome Spain Madrid' >questions
printf '%s\n' ': capital' 'Österreich Wien Франция Париж' 'ФРАНЦИЯ ПАРИЖ ÖSTERREICH WIEN' >unicode
printf 'France\tParis\t1\nFrance\tRome\t0\n' >pairs

for vectors in cased both lower; do
  evaluate $vectors --analogy questions | grep '^all  *1.0000  *3  *3  *0$'
  evaluate $vectors --analogy unicode | grep '^all  *1.0000  *2  *2  *0$'
  evaluate $vectors --similarity pairs | grep 'Spearman 1.0000  2 pairs, 0 out of vocabulary'
done
evaluate both --analogy questions --case exact | grep '^all  *1.0000  *3  *3'
evaluate both --analogy questions --case lower | grep '^all  *0.0000  *0  *3'
evaluate both --similarity pairs --case lower | grep 'Spearman -1.0000  2 pairs'
evaluate cased --analogy unicode --case lower | grep '^all  *1.0000  *2'
evaluate lower --analogy questions --analogy unicode --case fallback --json >out
test "$(grep -o '"accuracy":1.0' out | wc -l)" -eq 2

# All are skipped: one line says why, the scores of other sets are printed.
refused "questions: all 3 questions are skipped: none of their words is among the vectors with --case exact, with --case fallback 12 would be" \
  evaluate lower --analogy questions --case exact
refused "pairs: all 2 pairs are skipped: none .* with --case lower, with --case fallback 4 would be" \
  evaluate cased --similarity pairs --case lower
printf 'france\tparis\t1\n' >small
refused "small: all 1 pairs are skipped: none of their words is among the vectors, for example 'france'; the vectors are of words such as 'France'" \
  evaluate cased --similarity small
printf 'мир\tвойна\t1\nmir\tFrance\t1\n' >unknown
refused "unknown: all 2 pairs are skipped: each has a word that is not among the vectors (1 of their 4 words are)" \
  evaluate cased --similarity unknown
status=0
evaluate cased --similarity small --similarity pairs --analogy questions >out 2>err || status=$?
test $status -eq 1
test "$(wc -l <err)" -eq 1
grep '^pairs$' out
grep '^all  *1.0000' out
if grep -e small -e nan out; then exit 1; fi
status=0
evaluate cased --similarity small --json >out 2>err || status=$?
test $status -eq 1
grep '"spearman":null,"pairs":0,"out_of_vocabulary":1' out
grep 'small: all 1 pairs' err
# A single pair has no rank correlation, which is no error.
head -n 1 pairs >one
evaluate cased --similarity one | grep 'Spearman -  1 pairs, 0 out of vocabulary; a rank correlation'

# Questions are asked of the most frequent words.
evaluate cased --analogy questions --restrict-vocabulary 4 | grep '^all  *1.0000  *1  *1  *2$'
evaluate cased --analogy questions --restrict-vocabulary 0 | grep '^all  *1.0000  *3  *3  *0$'
refused 'each has a word that is not among the first 3 (--restrict-vocabulary 0: all are asked)' \
  evaluate cased --analogy questions --restrict-vocabulary 3
refused '[-]-case: .*not in' evaluate cased --analogy questions --case upper
refused '[-]-restrict-vocabulary' evaluate cased --analogy questions --restrict-vocabulary -1
refused '[-]-case has no effect without --similarity or --analogy' evaluate cased --case lower
refused '[-]-restrict-vocabulary has no effect without --analogy' \
  evaluate cased --similarity pairs --restrict-vocabulary 3

# The trainer looks words up alike, and refuses before it trains what it could not score.
train='word2vec --train '$CORPUS'/text --size 8 --iter 1 --threads 1 --quiet --min-count 1'
printf 'France\tPARIS\t1\nfrance\trome\t2\n' >pairs
$train --evaluate-similarity pairs --json | grep '"pairs":2,"out_of_vocabulary":0'
$train --evaluate-similarity pairs --case exact --json | grep '"pairs":1,"out_of_vocabulary":1'
printf ': capital\nParis France Rome Italy\n' >questions
$train --evaluate-analogy questions --restrict-vocabulary 0 --json | grep '"asked":1,"skipped":0'
refused 'questions: all 1 questions are skipped: .* --case fallback 4 would be' \
  $train --output v --evaluate-analogy questions --case exact
test ! -e v
refused '[-]-restrict-vocabulary has no effect without --evaluate-analogy' \
  $train --output v --restrict-vocabulary 0
