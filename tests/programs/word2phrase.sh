# Phrases: word2phrase with the options of the original program, and word2vec --phrases.
cat >text <<'end'
new york is big and new york is old
new york city is in new york
los angeles is far from new york city

the bank of america is in los angeles
the bank of america and the bank of england
end
word2phrase -train text -output joined -min-count 1 -threshold 3 -debug 2 2>err
grep -x 'Text: 41 words, 17 different' err
grep -x 'Phrases: 7' err
head -1 joined | grep '^new_york is'
test "$(wc -l <joined)" -eq 6
sed -n 4p joined | grep -x ''
word2phrase -train text -output again -min-count 1 -threshold 3 -debug 0 --threads 1 --stream 2>err
test ! -s err
cmp joined again
# Learned once, joined in another text; in a pipe; in compressed text.
word2phrase --train text --save-phrases phrases --min-count 1 --threshold 3 --quiet
head -1 phrases | grep -x 'wordloom-phrases 2 _'
word2phrase --train text --read-phrases phrases --output again --quiet
cmp joined again
word2phrase --train - --read-phrases phrases --output - --quiet <text | cmp joined -
if gzip -kc text >text.gz && word2phrase --train text.gz --read-phrases phrases --output again --quiet 2>err; then
  cmp joined again
else
  grep zlib err
fi
# Two passes are two runs; gensim's scores, and words inside of phrases.
word2phrase -train joined -output twice -min-count 1 -threshold 3 -debug 0
word2phrase -train text -output again -min-count 1 -threshold 3 -debug 0 --passes 2
cmp twice again
word2phrase --train text --output again --scoring gensim --min-count 1 --threshold 1.2 --quiet \
  --connectors 'of the' --delimiter +
grep '^the bank+of+america is' again
word2phrase --train text --output again --scoring npmi --min-count 1 --quiet
grep 'los_angeles$' again
word2phrase --train text --save-phrases - --max-pairs 16 --quiet --scoring gensim 2>err >out
grep 'warning: more than --max-pairs 16' err
word2phrase | grep -e --threshold

refused 'train is required' word2phrase --output refused.txt
refused 'give --output or --save-phrases' word2phrase --train text
refused "output 'text' is the same file as --train 'text'" word2phrase --train text --output text
refused 'is the same file' word2phrase --train text --output phrases --read-phrases phrases
refused 'min-count is 0' word2phrase --train text --output refused.txt -min-count 0
refused 'threshold is -1, must be at least 0' word2phrase --train text --output refused.txt -threshold -1
refused 'threshold is inf' word2phrase --train text --output refused.txt -threshold 1e400
refused 'threshold is 2, must be from -1 to 1' word2phrase --train text --output refused.txt --scoring npmi -threshold 2
refused 'passes is 0' word2phrase --train text --output refused.txt --passes 0
refused 'the delimiter is' word2phrase --train text --output refused.txt --delimiter ' '
refused 'threshold has no effect with --read-phrases' word2phrase --train text --output refused.txt --read-phrases phrases --threshold 5
refused 'write --connectors' word2phrase --train text --output refused.txt --connector-words of
refused 'workers.*write --threads' word2phrase --train text --output refused.txt -workers 4
refused 'cannot open .*missing' word2phrase --train missing --output refused.txt
: >empty
refused 'no words' word2phrase --train empty --output refused.txt
sed '3s/ [^ ]*$/ x/' phrases >damaged
refused 'damaged: line 3: expected two words and their score' word2phrase --train text --output refused.txt --read-phrases damaged
head -c 60 phrases >cut
refused 'cut: line [0-9]*: expected' word2phrase --train text --output refused.txt --read-phrases cut
refused "line 1: expected 'wordloom-phrases 2'" word2phrase --train text --output refused.txt --read-phrases text

# Trained at once: the vectors of the joined text.
w2v='word2vec --size 8 --iter 2 --threads 1 --quiet --min-count 1 --sample 0'
$w2v --train joined --output expected.txt
$w2v --train text --phrases 1 --phrase-threshold 3 --output words.txt --save-phrases again --save-vocab vocabulary
cmp expected.txt words.txt
cmp phrases again
grep '^new_york 5$' vocabulary
$w2v --train text --phrases 1 --phrase-threshold 3 --output words.txt --stream
cmp expected.txt words.txt
$w2v --train text --phrases 2 --phrase-threshold 3 --output words.txt --cache kept
$w2v --train text --phrases 2 --phrase-threshold 3 --output more.txt --cache kept
cmp words.txt more.txt
$w2v --train twice --output more.txt
cmp words.txt more.txt
$w2v --train text --phrases 1 --phrase-threshold 3 --save-phrases again
cmp phrases again
refused 'phrase-threshold has no effect without --phrases' $w2v --train text --output refused.txt --phrase-threshold 3
refused 'phrases makes a vocabulary' $w2v --train text --output refused.txt --phrases 1 --read-vocab vocabulary
refused 'phrase-threshold is -3' $w2v --train text --output refused.txt --phrases 1 --phrase-threshold -3
refused 'phrase-threshold is inf' $w2v --train text --output refused.txt --phrases 1 --phrase-threshold inf
refused 'is the same file' $w2v --train text --output refused.txt --phrases 1 --save-phrases text
test ! -e refused.txt
# A value may begin with a dash.
word2phrase -train text -output -joined.txt -min-count 1
test -s ./-joined.txt
