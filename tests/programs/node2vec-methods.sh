# Methods of node2vec that do not walk, propagation, and vectors of new nodes.
printf 'a b\nb c\nc a\nc d\nd e\ne f\nf d\ne g\ng g\n' >graph
for method in prone cleora lightne; do
  node2vec --input graph --output $method.txt --method $method --size 3 --threads 1 2>err
  grep '^graph: 7 nodes, 9 edges$' err
  test "$(head -1 $method.txt)" = '7 3'
  node2vec --input graph --output again.txt --method $method --size 3 --threads 2 --quiet
  cmp $method.txt again.txt
done
node2vec --input graph --output walks.txt --size 3 --propagate --quiet
test "$(head -1 walks.txt)" = '7 3'
node2vec --input graph --method cleora --size 3 --propagate --directed --json --quiet >out 2>err
grep '"method":"cleora".*"dimension":3,' out
test "$(grep -c 'warning: --method cleora follows each edge in both directions' err)" = 1
node2vec --input graph --output walks.txt --size 3 --propagate --directed --quiet 2>err
grep 'warning: --propagate follows each edge in both' err
node2vec --input graph --output walks.txt --size 3 --directed --quiet 2>err
test ! -s err

# Options of the other methods, and graphs that have no such vectors
method='node2vec --input graph --output refused.txt'
refused '.-p has no effect with --method prone' $method --method prone --p 0.5
refused 'alpha has no effect with --method cleora' $method --method cleora --alpha 0.1
refused 'only-walks has no effect with --method prone' $method --method prone --only-walks
refused 'window has no effect with --method cleora' $method --method cleora --window 3
refused 'window-size has no effect with --method cleora' $method --method cleora --window-size 3
refused 'epochs has no effect with --method cleora' $method --method cleora --epochs 3
refused 'sync has no effect with --method cleora' $method --method cleora --sync mpi
node2vec --input graph --output none.txt --method prone --size 3 --threads 1 --sync none --quiet
cmp prone.txt none.txt
refused 'dimensions: must be a whole number' $method --dimensions x
refused 'give --output, --evaluate-links' node2vec --input graph --method prone --size 3
refused 'samples has no effect without --method lightne' $method --samples 5
refused 'propagate has no effect with --method prone' $method --method prone --propagate
refused 'format fasttext is for models' $method --method prone --format fasttext
refused 'propagate changes vectors, which are not written with a model' $method --propagate --save-model model
refused 'method: katz not in' $method --method katz
refused 'dimension is 128, the graph has only 7 nodes' $method --method lightne
printf 'a a\n' >loop
refused 'the graph has no edges' node2vec --input loop --self-loops drop --isolated-nodes --method prone --size 1 --output refused.txt
test ! -e refused.txt

# New nodes
printf 'a b\nb c\nc x\nx y\n' >grown
node2vec --input grown --old-vectors prone.txt --output grown.txt --quiet
test "$(head -1 grown.txt)" = '5 3'
test "$(grep '^a ' grown.txt)" = "$(grep '^a ' prone.txt)"
test "$(grep '^x ' grown.txt | cut -d' ' -f2-)" = "$(grep '^c ' prone.txt | cut -d' ' -f2-)"
refused 'has no effect with --old-vectors' $method --old-vectors prone.txt --seed 3
refused "cannot open 'missing'" $method --old-vectors missing
printf '1 3\na nan 1 1\n' >unknown
refused "the vector of node 'a' contains" node2vec --input grown --old-vectors unknown --output refused.txt
printf 'u v\n' >strange
refused "no node of the graph has a known vector, for example 'u'" node2vec --input strange --old-vectors prone.txt --output refused.txt
