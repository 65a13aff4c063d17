# BATS: any answer to a word is right, and the sections are grouped by folder.
printf '%s\n' '9 4' 'france 1 0 0 0' 'paris 1 0 0 1' 'italy 0 1 0 0' 'rome 0 1 0 0.9' \
  'roma 0 1 0 1' 'spain 0 0 1 0' 'madrid 0 0 1 0.8' 'Cat 1 1 0 0' 'up 0 0 0 1' >vectors
mkdir -p bats/1_Inflectional_morphology bats/3_Encyclopedic_semantics
printf 'france\tparis\nItaly\trome/ROMA\nspain\tmadrid\natlantis\tpolis\n' >'bats/3_Encyclopedic_semantics/E01 [country - capital].txt'
printf 'cat\tcats\ndog\tdogs\r\n' >'bats/1_Inflectional_morphology/I01 [noun - plural_reg].txt'
echo '{}' >bats/metadata.json

evaluate vectors --analogy bats >out
cat out
grep '^I01 \[noun - plural_reg\]  *-  *0  *0  *2$' out
grep '^E01 \[country - capital\]  *1.0000  *6  *6  *6$' out
grep '^1_Inflectional_morphology  *-  *0  *0  *2$' out
grep '^3_Encyclopedic_semantics  *1.0000  *6  *6  *6$' out
grep '^syntactic  *-  *0  *0  *2$' out
grep '^all  *1.0000  *6  *6  *8$' out
evaluate vectors --analogy bats/ --json >out
grep '"asked":6,"skipped":8,"groups":{"1_Inflectional_morphology":null,"3_Encyclopedic_semantics":1.0}' out
# One file alone; exact looks for neither Italy nor ROMA.
evaluate vectors --analogy 'bats/3_Encyclopedic_semantics/E01 [country - capital].txt' --case exact |
  grep '^all  *1.0000  *2  *2  *10$'
evaluate vectors --analogy bats --restrict-vocabulary 4 | grep '^all  *1.0000  *2  *2  *12$'
refused 'all 2 questions are skipped: none of their words is among the vectors' \
  evaluate vectors --analogy bats/1_Inflectional_morphology --case exact
# Files *.TXT and folders that are links are read as well.
mkdir links
ln -s ../bats/3_Encyclopedic_semantics links/3_Encyclopedic_semantics
printf 'france\tparis\nspain\tmadrid\n' >links/E02.TXT
evaluate vectors --analogy links >out
grep '^E02  *1.0000  *2  *2  *0$' out
grep '^3_Encyclopedic_semantics  *1.0000  *6  *6  *6$' out
mkdir empty
refused 'empty: expected files \*.txt of questions, got none' evaluate vectors --analogy empty
printf 'a\tb\nc\n' >bats/bad.txt
refused 'bad.txt: line 2, column 1: expected a word, a tab and its answers' \
  evaluate vectors --analogy bats
# A link to a folder that it is in adds nothing.
rm bats/bad.txt
ln -s .. bats/3_Encyclopedic_semantics/up
ln -s ../bats bats/around
ln -s ../.. bats/3_Encyclopedic_semantics/outer
evaluate vectors --analogy bats | grep '^all  *1.0000  *6  *6  *8$'
