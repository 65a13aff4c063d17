#include <string>
#include <wordloom/graph/graph.hpp>

#include "catch.hpp"
#include "graph/read_edges.hpp"
#include "support.hpp"

using namespace read_edges;
using namespace wordloom;

TEST_CASE("a header is refused, read or taken as an edge, by option", "[graph]") {
  const GraphOptions header{.header = GraphOptions::Header::present};
  for (const auto text :
       {"source,target\na,b\n", "Source;Target;Type;Id;Label;Weight\n1;2;Undirected;0;;1\n",
        "\"from\" \"to\" \"weight\"\n\"a\" \"b\" 1\n", "x,y\n1,2\n2,3\n", "x y\n1 2\n2 3\n",
        "protein1 protein2 combined_score\nE1 E2 900\n", ",source,target\n0,a,b\n",
        "source target\nalice bob\n", "node1\tnode2\nx\ty\n", "from_node_id,to_node_id\na,b\n",
        "SourceName\tTargetName\nx\ty\n", "InteractorA\tInteractorB\nx\ty\n"})
    CHECK(contains(refusal(text), "line 1, column 1: expected an edge, got the header"));
  CHECK(contains(refusal("# c\na,b,w\na,b,1\n", {.weighted = true}),
                 "line 2, column 1: expected an edge"));
  CHECK(
      contains(refusal("// hi\n1 2\n2 3\n"), "the header '// hi' (comments begin with # or %; --"));
  for (const auto text : {"node1 node2\nnode2 node3\n", "node1 node2\n", "from to\nto see\n",
                          "source a\nsource target\n", "a,b\n1,2\n"})
    CHECK(edges(text).size() >= 1);
  CHECK(edges("source,target\na,b\n", {.header = GraphOptions::Header::absent}).size() == 2);
  CHECK(edges("source,target\na,b\n", header) == Edges{{{"a", "b"}, 1}});
  CHECK(read("source,target\na,b\n", header).report().lines_without_edge == 1);
  CHECK_FALSE(read("source,target\na,b\n", header).report().has_unread_columns);
  CHECK(read("source,target,weight\na,b,2\n", header).report().has_unread_columns);
  CHECK(edges("id,to_node_id,from_node_id\n0,a,b\n", {.directed = true, .header = header.header}) ==
        Edges{{{"b", "a"}, 1}});
  // Gephi: an undirected edge leads both ways in a directed graph.
  constexpr auto gephi =
      "\xef\xbb\xbfSource;Target;Type;Id;Label;Weight\r\n1;2;Undirected;0;;1.5\r\n"
      "2;\"3;x\";Directed;1;y;2.0\r\n";
  GraphOptions table{.directed = true, .weighted = true, .header = GraphOptions::Header::present};
  CHECK(edges(gephi, table) == Edges{{{"1", "2"}, 1.5f}, {{"2", "1"}, 1.5f}, {{"2", "3;x"}, 2}});
  CHECK(edges(gephi, header) == Edges{{{"1", "2"}, 1}, {{"2", "3;x"}, 1}});
  table.directed = false;
  // Columns in another order, R's names of rows, pandas' index
  CHECK(edges("weight,to,from\n3,b,a\n", table) == Edges{{{"a", "b"}, 3}});
  CHECK(edges("\"from\" \"to\" \"weight\"\n\"1\" \"a\" \"b c\" 3\n", table) ==
        Edges{{{"a", "b c"}, 3}});
  CHECK(edges(",source,target,color,weight\n0,a,b,\"x, y\",3\n", table) == Edges{{{"a", "b"}, 3}});
  CHECK(contains(refusal("source,target\na,b\n", table), "expected a column weight in the header"));
  CHECK(contains(refusal("a,b,c,d\n1,2,3,4\n", table), "a header with the columns source"));
  CHECK(contains(refusal("source,target,weight\na,b\n", table), "line 2, column 4: expected 3"));
  CHECK(contains(refusal("source,target\na,b\na,b,c\n", header), "line 3, column 5: expected 2"));
  CHECK(contains(refusal("source,target\na,\n", header), "line 2, column 3: expected a node"));
}

TEST_CASE("columns without usual names are nodes if no others can be", "[graph]") {
  const GraphOptions table{
      .directed = true, .weighted = true, .header = GraphOptions::Header::present};
  GraphOptions plain = table;
  plain.weighted = false;
  const auto assumed = [](std::string_view text, const GraphOptions& options) {
    return read(text, options).report().assumed_columns;
  };
  CHECK(assumed("foo,bar\n1,2\n", plain) == "columns 'foo' and 'bar' are taken as the nodes");
  CHECK(assumed("a,b,c\n1,2,5\n", plain) == "columns 'a' and 'b' are taken as the nodes");
  CHECK(assumed("a,b,c\n1,2,5\n", table) ==
        "columns 'a' and 'b' are taken as the nodes, 'c' as the weight");
  CHECK(assumed("source,target,weight\n1,2,5\n", table).empty());
  CHECK(assumed("1,2\n", {}).empty());
  // A usual name is respected wherever it is.
  for (const auto text :
       {"weight,a,b\n5,1,2\n", "a,Weight,b\n1,5,2\n", "a,b,c\n1,2,5\n", ",a,b,score\n0,1,2,5\n",
        "target,weight,a\n2,5,1\n", "a,source,weight\n2,1,5\n", "type,a,b,w\nDirected,1,2,5\n"})
    CHECK(edges(text, table) == Edges{{{"1", "2"}, 5}});
  CHECK(edges("v,w\n1,2\n", plain) == Edges{{{"1", "2"}, 1}});
  for (const auto text : {"a,weight\n1,2\n", "weight,score,a\n1,2,3\n", "id,source,b\n0,1,2\n",
                          "x,y,target\n1,2,3\n", "a,b,c,weight\n1,2,3,4\n"})
    CHECK(contains(refusal(text, plain), "expected a header with the columns source and target"));
  // An edge is no header.
  CHECK(refusal("# c\n10 20\n20 30\n10 30\n", plain) ==
        "line 2, column 1: expected a header, the names of the columns, got '10 20' (it looks "
        "like an edge: if it is one, leave --header out; GraphOptions::header)");
  for (const auto text : {"a b 0.5\nb c 1\n", "a,1\nb,2\n", "a b {'weight': 1}\nb c {}\n"})
    CHECK(contains(refusal(text, plain), "leave --header out"));
}

TEST_CASE("a file of a graph keeps the columns that were taken as the nodes", "[graph]") {
  const TemporaryFolder folder;
  write_file(folder / "edges", "foo,bar\n1,2\n");
  const GraphOptions options{.header = GraphOptions::Header::present, .cache = folder / "cache"};
  for (int i = 0; i < 2; ++i)
    CHECK(Graph::from_edge_list(folder / "edges", options).report().assumed_columns ==
          "columns 'foo' and 'bar' are taken as the nodes");
  CHECK(Graph::load(folder / "cache").edge_count() == 1);
}
