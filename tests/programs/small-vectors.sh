# Vectors in a smaller form: made by neighbours, read by all programs.
{ printf '6 3\n'; printf 'paris 127 0 10\nNew York 90 9 127\nrome 0 127 64\nmilan 10 127 0\n'
  printf 'king 1 0.5 0.25\nqueen 0 -1 1\n'; } >vectors
printf 'paris\nNew York\nparis\trome\tmilan\n' >lines
neighbours vectors <lines >expected
for form in float32 float16 int8 product; do
  neighbours vectors --compress $form --output small
  neighbours small <lines | cut -c1-26 >out
  cut -c1-26 expected | cmp - out
  neighbours vectors --compress $form <lines | cut -c1-26 | cmp - out
done
printf 'paris\trome\t1\nmilan\trome\t3\nking\tqueen\t2\n' >pairs
evaluate vectors --similarity pairs | sed 1d >scores
evaluate small --similarity pairs | sed 1d | cmp - scores
neighbours small --limit 3 <lines 2>err | grep -c . | grep -x 4
gzip -c small >small.gz
neighbours small.gz <lines | cut -c1-26 | cmp - out

# Fewer dimensions and words.
neighbours vectors --limit 5 --remove-top 1 --pca 2 --compress int8 --output small
echo paris | neighbours small >out
test "$(wc -l <out)" -eq 4
echo paris | neighbours vectors --limit 5 --remove-top 1 --pca 2 --compress int8 | cmp - out

# All that is wrong is named.
head -c 500 small >cut
refused 'neighbours: error: cut: byte .*incomplete' neighbours cut
refused 'evaluate: error: cut: byte .*incomplete' evaluate cut --similarity pairs
cp small damaged
printf 'XY' | dd of=damaged bs=1 seek=300 conv=notrunc 2>dd
refused 'damaged: byte 128: .*the file is damaged' neighbours damaged
refused 'damaged: byte 128: .*the file is damaged' evaluate damaged --similarity pairs
cp small newer
printf '\2' | dd of=newer bs=1 seek=16 conv=notrunc 2>dd
refused 'version 2, written by a newer version of Wordloom' neighbours newer
refused '--output needs --compress' neighbours vectors --output x
refused '--bytes is for --compress product' neighbours vectors --bytes 2
refused 'bytes is for product quantisation' neighbours vectors --compress int8 --bytes 2
refused 'bytes is 4, must be from 0 to 3' neighbours vectors --compress product --bytes 4
refused '--pca 4: at most 3, as vectors have 3 dimensions' neighbours vectors --pca 4
refused '--remove-top 3: at most 2, as vectors have 3 dimensions' neighbours vectors --remove-top 3
cp vectors kept
refused 'is the same file as' neighbours vectors --compress int8 --output ./vectors
cmp vectors kept
refused 'with --output nothing is answered' neighbours vectors --compress int8 --output x --sentences pairs
# Numbers whose squares or lengths are no floats.
{ printf '3 2\n'; printf 'paris 3e38 3e38\nrome 1 1\nlyon 0 1\n'; } >long
{ printf '3 2\n'; printf 'paris 2e38 0\nrome 1 1\nlyon 0 1\n'; } >large
refused "long: the vector of 'paris' is longer than 3e38" neighbours long --compress product --output x
refused "long: the vector of 'paris' is longer than 3e38" evaluate long --similarity pairs
refused 'must be from 1e-15 to 1e15' neighbours large --pca 1
refused 'must be from 1e-15 to 1e15' neighbours large --remove-top 1
{ printf '2 2\n'; printf 'paris 1e-8 0\nrome 1 1\n'; } >little
refused "all numbers of the vector of 'paris' 0: .*; use int8" neighbours little --compress float16 --output x
refused 'pca and --remove-top would change one' neighbours vectors --align vectors --pca 2
# The questions come from standard input.
refused "vectors '-' is standard input" neighbours -
refused "index '-' is standard input" neighbours vectors --index -
