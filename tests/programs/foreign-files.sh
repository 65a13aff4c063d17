# Files in formats that are not read are refused by their first bytes, whatever they are given as,
# with the command that would help. inputs/compressed holds the same three lines in each format.
cp "$INPUTS"/compressed/* .
printf 'a b c\nb c a\nc a b\n' >text
printf 'a b\nb c\n' >edges
printf '2 2\na 1 2\nb 3 4\n' >v.vec
printf 'a b 1\n' >pairs
iconv -f UTF-8 -t UTF-16 text >text.utf16 2>/dev/null || printf '\377\376a\0 \0b\0\n\0' >text.utf16
printf 'a\0 \0b\0 \0a\0 \0b\0\n\0a\0 \0b\0\n\0' >text.utf16le
printf '\0a\0 \0b\0 \0a\0 \0b\0\n\0a\0 \0b\0\n' >text.utf16be
printf '%%PDF-1.4\n%%\342\343\317\323\n1 0 obj\n' >text.pdf
cp "$(command -v word2vec)" text.elf
mkdir data
cp "$INPUTS"/compressed/text.parquet data/part
ls >before

# is KIND COMMAND FILE: the file is of that kind, and COMMAND prints it as text.
is() {
  kind=$1 command=$2 file=$3
  for start in 'word2vec --output x --train' 'word2vec --output x -train' \
               'word2vec --output x --input' 'node2vec --output x --input' 'node2vec --output x -i'; do
    option=${start##* }
    refused "^${start%% *}: error: $file: \(line 1, column 1: \)\?this is $kind; .*$command | ${start%% *} $option -\$" $start $file
  done
  refused "this is $kind; .*$command | word2vec --train=-\$" word2vec --output x --train=$file
  refused "this is $kind; .*$command | node2vec -i:-\$" node2vec -o:x -i:$file
  refused "this is $kind; .*$command | word2vec --read-vocab -\$" word2vec --train text --output x --read-vocab $file
  refused "this is $kind; .*$command | word2vec --pretrained-vectors -\$" word2vec --train text --min-count 1 --output x --pretrained-vectors $file
  refused "this is $kind; .*$command | evaluate -\$" evaluate $file --similarity pairs
  refused "this is $kind; .*$command | evaluate --similarity -\$" evaluate v.vec --similarity $file
  refused "this is $kind; .*$command | neighbours -\$" neighbours $file
}
is 'an xz file' 'xz -dc text.xz' text.xz
is 'a bzip2 file' 'bzip2 -dc text.bz2' text.bz2
is 'a Zstandard file' 'zstd -dc text.zst' text.zst
is 'a zip archive' 'unzip -p text.zip' text.zip
is 'a Word document' 'pandoc -f docx -t plain text.docx' text.docx
is 'a PDF file' 'pdftotext text.pdf -' text.pdf
is 'a text in UTF-16' 'iconv -f UTF-16 -t UTF-8 text.utf16' text.utf16
# Without a byte order mark: as text; vectors of other programs may hold zero bytes.
for file in le be; do
  code=UTF-16$(echo $file | tr a-z A-Z)
  refused "a text in UTF-16; .*iconv -f $code -t UTF-8 text.utf16$file | word2vec --train -" \
    word2vec --output x --train text.utf16$file
  refused "a text in UTF-16; .*| node2vec --input -" node2vec --output x --input text.utf16$file
done
# There is no command for these.
for file in text.elf data/part text.h5; do
  case $file in text.elf) kind='a program or object file' ;; *part) kind='a Parquet file' ;;
    *) kind='an HDF5 file' ;; esac
  refused "error: $file: \(line 1, column 1: \)\?this is $kind.*; [a-z]" word2vec --output x --train $file
  refused "error: $file: \(line 1, column 1: \)\?this is $kind.*; [a-z]" node2vec --output x --input $file
  refused "error: $file: \(line 1, column 1: \)\?this is $kind.*; [a-z]" neighbours $file
  refused "error: $file: \(line 1, column 1: \)\?this is $kind.*; [a-z]" evaluate v.vec --similarity $file
done
# The name does not count, and the hint is a word of a shell.
cp text.xz "my text"
refused "xz -dc 'my text' | word2vec --train -\$" word2vec --output x --train 'my text'
rm 'my text'
refused 'this is an xz file; to read it: xz -dc - | word2vec --train -' \
  sh -c 'cat text.xz | word2vec --output x --train -'
refused 'this is a zip archive; to read it: funzip | word2vec --train -' \
  sh -c 'cat text.zip | word2vec --output x --train -'
gzip -c text | gzip -c >twice
refused 'this is a gzip file within another; to read it: gzip -dc twice | gzip -dc | word2vec --train -' \
  word2vec --output x --train twice
rm twice
# The advice is right.
for command in 'xz -dc text.xz' 'bzip2 -dc text.bz2' 'zstd -dc text.zst' 'unzip -p text.zip'; do
  command -v ${command%% *} >/dev/null || continue
  $command | word2vec --train - --min-count 1 --size 8 --iter 1 --sample 0 --threads 1 --output x --quiet
  test "$(head -n 1 x)" = '3 8'
  rm x
done
ls | cmp - before
