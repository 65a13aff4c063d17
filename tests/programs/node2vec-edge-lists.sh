# Edge lists as people have them: the right graph, or an error with file, line and column.
walk="node2vec --num-walks 1 --walk-length 2 --only-walks --output walks"
nodes() { cut -d' ' -f1 walks | sort | tr '\n' ' '; }

# Names with blanks and commas, quoted fields
printf 'New York\tLos Angeles\n1,2-ethanediol\tNew York\n' >tab
refused "walks separate nodes by blanks and cannot hold the node 'New York'" $walk --input tab
test ! -e walks
for delimiter in '\t' tab "$(printf '\t')"; do
  node2vec --input tab --delimiter "$delimiter" --size 4 --json >out 2>err
  grep '"edges":2,"merged_edges":0' out
  grep '^tab: 3 nodes, 2 edges$' err
done
printf '"Smith,J","Doe,A"\n"Doe,A","Roe,R"\n' >quoted.csv
$walk --input quoted.csv --verbose 2>err
grep '^quoted.csv: columns are separated by commas$' err
test "$(nodes)" = 'Doe,A Roe,R Smith,J '
printf 'a;b;1\nb;c;+1.5\n' >semicolon
for delimiter in ';' semicolon; do $walk --input semicolon --delimiter "$delimiter" --weighted --quiet 2>err; test ! -s err; done
test "$(nodes)" = 'a b c '
refused "semicolon: line 1, column 6: expected two nodes, separated by commas, got only 'a;b;1'" $walk --input semicolon --delimiter ,
refused "delimiter is 'xy', must be one byte" $walk --input semicolon --delimiter xy
refused 'delimiter is .*must be one byte' $walk --input semicolon --delimiter '#'

# Adjacency lists, and walks given as a graph
printf '1 2 3 4\n2 1 3\n3 1 2\n4 1\n' >adjacency
refused 'adjacency: line 1, column 7: .*--input-format adjacency' $walk --input adjacency
$walk --input adjacency --input-format adjacency 2>err
grep '^adjacency: 4 nodes, 4 edges (4 merged)$' err
test "$(nodes)" = '1 2 3 4 '
node2vec --input adjacency --input-format adjacency --num-walks 1 --walk-length 6 --save-walks other --quiet
refused 'other: line 1, column .*--input-format adjacency' $walk --input other
refused 'weighted does not go with --input-format adjacency' $walk --input adjacency --input-format adjacency --weighted
refused 'input-format' $walk --input adjacency --input-format list
printf ' %%%%matrixmarket matrix coordinate real general\n3 3 1\n1 2 5\n' >market
$walk --input market 2>err
grep '^market: 2 nodes, 1 edge, ' err
refused "input-format adjacency has no effect on 'market', a Matrix Market file" $walk --input market --input-format adjacency

# Tables
printf 'source,target\na,b\nb,c\n' >table.csv
refused "table.csv: line 1, column 1: .*the header 'source,target' (--header" $walk --input table.csv
$walk --input table.csv --header 2>err
grep '^table.csv: 3 nodes, 2 edges, 1 line without an edge$' err
$walk --input table.csv --no-header 2>err
grep '^table.csv: 5 nodes, 3 edges$' err
printf '\357\273\277Source;Target;Type;Id;Label;Weight\r\n1;2;Undirected;0;;1.5\r\n2;3;Directed;1;;2.0\r\n' >gephi.csv
refused 'gephi.csv: line 1, column 1: .*--header' $walk --input gephi.csv --weighted
$walk --input gephi.csv --weighted --directed --header 2>err
grep '^gephi.csv: 3 nodes, 3 edges, 1 line without an edge$' err
$walk --input gephi.csv --weighted --header 2>err
grep '^gephi.csv: 3 nodes, 2 edges, 1 line without an edge; directed edges lead both ways without --directed$' err
printf 'weight,foo,bar\n5,1,2\n' >places.csv
$walk --input places.csv --weighted --header 2>err
grep "^places.csv: 2 nodes, 1 edge, 1 line without an edge; columns 'foo' and 'bar' are taken as the nodes$" err
test "$(nodes)" = '1 2 '
printf '10 20\n20 30\n' >numbers
refused "numbers: line 1, column 1: .*got '10 20' (.*leave --header out" $walk --input numbers --header

# Counts
printf '# x\n\na b 1\nb a 2\nc c 1\nd e 0\n' >counted
$walk --input counted --weighted --self-loops drop 2>err
grep '^counted: 2 nodes, 1 edge (1 merged), 2 lines without an edge, 1 edge of weight 0 dropped, 1 self-loop dropped, 3 nodes without an edge dropped$' err
$walk --input counted 2>err
grep '^counted: 5 nodes, 3 edges (1 merged), 2 lines without an edge; the third column is not read without --weighted$' err
node2vec --input counted --weighted --self-loops drop --size 4 --json --cache kept --quiet >out
grep '"edges":1,"merged_edges":1,"lines_without_edge":2,"zero_weight_edges":1,"dropped_self_loops":1,"dropped_nodes":3' out
$walk --input counted --weighted --self-loops drop --cache kept 2>again
grep '^counted: 2 nodes, 1 edge (1 merged), 2 lines' again

# Bad files
bad() { # MESSAGE TEXT [OPTION...]
  message=$1
  printf "$2" >bad
  shift 2
  rm -f walks
  refused "bad: $message" $walk --input bad "$@"
  test ! -e walks
}
bad 'line 1, column 5: .*1,5.*the decimal sign is a point' 'a b 1,5\nb c 2\n' --weighted
bad 'line 1, column 5: .*1,5.*the decimal sign is a point' 'a b 1,5\nb c 2,5\n'
bad 'line 1, column 3: expected a node, got an empty field' 'a,,1\nb,c,2\n'
bad 'line 1, column 5: expected a weight that a float can hold.*1e-46' '1 2 1e-46\n' --weighted
bad "the weights of the duplicate edges between '1' and '2' add up" '1 2 3e38\n1 2 3e38\n' --weighted
bad "line 1, column 1: .*the header '// hi' (comments begin with # or %" '// hi\n1 2\n2 3\n'
bad 'line 1, column 4: .*tr ' '1 2\r2 3\r3 1\r'
bad 'line 3, column 4: .*separated by commas as in the first lines' 'a,b\nb,c\nc d\n'
bad 'line 1, column 1: .*in GraphML.*nx.read_graphml' '<?xml version="1.0"?>\n<graphml></graphml>\n'
bad 'line 1, column 1: .*in RDF' '<http://e/a> <http://e/b> <http://e/c> .\n'
bad 'line 1, column 1: .*in JSON' '{"nodes": []}\n'
bad 'line 1, column 1: this is a text in UTF-16' '\377\3761\0 \0002\0\n\0'
bad 'line 1, column 1: this is an xz file' '\3757zXZ\0\0'
bad 'line 1, column 1: this is a program' '\177ELF\2\1\1\0'
bad 'no edges: all its 2 lines are blank or comments' '# a\n# b\n'
