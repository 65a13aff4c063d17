#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/graph/graph.hpp>
#include <wordloom/graph/random_walks.hpp>

#include "catch.hpp"
#include "graph/read_edges.hpp"
#include "support.hpp"

using namespace read_edges;
using namespace wordloom;

namespace {

const GraphOptions weighted{.weighted = true};
constexpr auto hint = "--input-format adjacency";

}  // namespace

TEST_CASE("a given delimiter is the only one", "[graph]") {
  CHECK(edges("New York\tLos Angeles\nN,N-x; y\tNew York\n", {.delimiter = '\t'}) ==
        Edges{{{"Los Angeles", "New York"}, 1}, {{"N,N-x; y", "New York"}, 1}});
  CHECK(edges("a b\tc,d\n", {.delimiter = ','}) == Edges{{{"a b\tc", "d"}, 1}});
  CHECK(edges("a b;c\td\n", {.delimiter = ';'}) == Edges{{{"a b", "c\td"}, 1}});
  CHECK(edges("a:b:2\n", {.weighted = true, .delimiter = ':'}) == Edges{{{"a", "b"}, 2}});
  CHECK(edges("  a   b\tc  3 \n", {.weighted = true, .delimiter = ' '}) ==
        Edges{{{"a", "b\tc"}, 3}});
  CHECK(edges("a b\t1\n", {.delimiter = GraphOptions::any_white_space}) == Edges{{{"a", "b"}, 1}});
  CHECK(refusal("a,b\n", {.delimiter = '\t'}) ==
        "line 1, column 4: expected two nodes, separated by tabs, got only 'a,b'");
  CHECK(contains(refusal("a\t\n", {.delimiter = '\t'}), "line 1, column 3: expected a node"));
  CHECK(contains(refusal("a\t\tb\n", {.delimiter = '\t'}),
                 "line 1, column 3: expected a node, got an empty field"));
  CHECK(contains(refusal("\tb\n", {.delimiter = '\t'}), "line 1, column 1: expected a node"));
  for (const char bad : {'\r', '"', '#', '%'})
    CHECK(contains(
        message_of<InvalidArgument>([&] { static_cast<void>(read("a b\n", {.delimiter = bad})); }),
        "delimiter is "));
}

TEST_CASE("a delimiter is detected by the first lines of a file", "[graph]") {
  const auto delimiter_of = [](std::string_view text, const GraphOptions& options = {}) {
    return read(text, options).report().delimiter;
  };
  CHECK(delimiter_of("a b\nb c\n") == GraphOptions::any_white_space);
  CHECK(delimiter_of("a b\nb\tc\n  c \t d\n") == GraphOptions::any_white_space);
  CHECK(delimiter_of("# x\na\tb\nb c\td\n") == '\t');
  CHECK(delimiter_of("a,b\n") == ',');
  CHECK(delimiter_of("1, 2\n2 , 3\n") == ',');
  CHECK(delimiter_of("a;b;1\n", weighted) == ';');
  CHECK(delimiter_of("a|b\nc|d\n") == '|');
  CHECK(delimiter_of("sp|P1|X sp|P2|Y\n") == GraphOptions::any_white_space);
  CHECK(delimiter_of("1,2-ethanediol\twater\n") == '\t');
  CHECK(edges("1, 2\n2 , 3\n") == Edges{{{"1", "2"}, 1}, {{"2", "3"}, 1}});
  CHECK(edges("a  b\t2\n", weighted) == Edges{{{"a", "b"}, 2}});
  // Later lines are not read by another one.
  CHECK(refusal("a,b\nb,c\nc d\n") ==
        "line 3, column 4: expected two nodes, separated by commas as in the first lines, got only "
        "'c d'");
  CHECK(refusal("a b\nc d\nb,c\n") == "line 3, column 4: expected two nodes, got only 'b,c'");
  CHECK(contains(refusal("1 , 2\n2 , 3\n", weighted), "line 1, column 6: expected a weight"));
  // Names with blanks and columns of white space look alike.
  CHECK(contains(refusal("a b\t1\nc d\t2\n"), "tabs or white space may separate them"));
  CHECK(contains(refusal("New York,Boston\n"), "commas or white space may separate them"));
  CHECK(edges("New York,Boston\n", {}, "x.csv") == Edges{{{"Boston", "New York"}, 1}});
  CHECK(edges("New York,Los Angeles\nRome,New York\nRome,Los Angeles\n").size() == 3);
}

TEST_CASE("names of an edge list may be in quotation marks", "[graph]") {
  CHECK(edges("\"Smith, J\",\"Doe, A\"\n\"Doe, A\",\"a \"\"b\"\" c\"\n") ==
        Edges{{{"Doe, A", "Smith, J"}, 1}, {{"Doe, A", "a \"b\" c"}, 1}});
  CHECK(edges("\"a\", \" b \" ,\"1.5\"\n", weighted) == Edges{{{" b ", "a"}, 1.5f}});
  CHECK(edges("\"New York\" \"Boston\" 2\n", weighted) == Edges{{{"Boston", "New York"}, 2}});
  CHECK(edges("5\" disk,a\"b\"\n", {}, "x.csv") == Edges{{{"5\" disk", "a\"b\""}, 1}});
  CHECK(
      contains(refusal("a,b\nb,\"c\nd\"\n"),
               "line 2, column 5: expected a closing quotation mark in the same line, got the end "
               "of the line (within a name in quotation marks, write a quotation mark as \"\")"));
  CHECK(contains(refusal("\"a\"x,b\n"), "line 1, column 4: expected the end of a field"));
  CHECK(contains(refusal("\"\",b\n"), "line 1, column 1: expected a node, got an empty field"));
}

TEST_CASE("names are written in quotation marks if necessary", "[graph]") {
  const std::vector<std::string> names{"a",  "New York", "N,N-x", "\"q\"", "#b",           "%c",
                                       "//", "x;y",      "t\tt",  " d ",   "\xef\xbb\xbfz"};
  std::string text;
  Edges expected;
  for (const std::string& name : names) {
    text += detail::quoted_name(name) + '\t' + detail::quoted_name("hub") + '\n';
    expected[std::minmax<std::string>(name, "hub")] = 1;
  }
  CHECK(detail::quoted_name("hub") == "hub");
  CHECK(edges(text) == expected);
  CHECK_THROWS_AS(detail::quoted_name("a\nb"), InvalidArgument);
}

TEST_CASE("a saved edge list is read back equal", "[graph]") {
  const TemporaryFolder folder;
  const std::vector<Graph::NamedEdge> list{
      {"a b", "c", 0.1f}, {"c", "d"}, {"d", "d", 3}, {"d", "c", 2}};
  for (const bool directed : {false, true})
    for (const bool is_weighted : {false, true}) {
      const GraphOptions options{.directed = directed, .weighted = is_weighted};
      const Graph graph = Graph::from_edges(list, options);
      graph.save_edge_list(folder / "edges");
      CHECK(Graph::from_edge_list(folder / "edges", options).fingerprint() == graph.fingerprint());
    }
  CHECK(contains(read_file(folder / "edges"), "\"a b\"\tc\t0.1\n"));
}

TEST_CASE("an adjacency list is read on request and refused otherwise", "[graph]") {
  const GraphOptions adjacency{.format = GraphOptions::Format::adjacency};
  const Graph graph = read("# x\n1 2 3 4\n2 1 3\n3 1 2\n4 1\n", adjacency);
  CHECK(edges_of(graph) ==
        Edges{{{"1", "2"}, 1}, {{"1", "3"}, 1}, {{"1", "4"}, 1}, {{"2", "3"}, 1}});
  CHECK(graph.report().edges == 8);
  CHECK(graph.report().merged_edges == 4);
  CHECK(graph.report().lines_without_edge == 1);
  const Graph directed =
      read("a b c\nb\nlone\nc a\n",
           {.directed = true, .format = GraphOptions::Format::adjacency, .isolated_nodes = true});
  CHECK(edges_of(directed) == Edges{{{"a", "b"}, 1}, {{"a", "c"}, 1}, {{"c", "a"}, 1}});
  CHECK(directed.node_count() == 4);
  CHECK(directed.report().lines_without_edge == 2);
  CHECK(read("a b\nlone\n", adjacency).report().dropped_nodes == 1);
  CHECK(edges("New York\tRome\tLos Angeles\nRome\n", adjacency).size() == 2);
  CHECK(edges("a, b, \"c, d\"\n", adjacency) == Edges{{{"a", "b"}, 1}, {{"a", "c, d"}, 1}});
  CHECK(refusal("a,,b\n", adjacency) == "line 1, column 3: expected a node, got an empty field");
  CHECK(contains(refusal("5 5\n2 5\n1 3\n2 4\n3 5\n1 4\n", adjacency), "in METIS"));
  CHECK_THROWS_AS(read("a b\n", {.weighted = true, .format = GraphOptions::Format::adjacency}),
                  InvalidArgument);
  for (const auto text :
       {"1 2 3 4\n2 1 3\n", "2 1 3\n4 1\n", "4 1\n2 1 3\n", "a b c\n", "a,b\nb,c,d\n"})
    CHECK(contains(refusal(text), hint));
  CHECK(refusal("4 1\n2 1 3\n").starts_with("line 2, column 5: expected 2 columns, as line 1 has"));
  CHECK(contains(refusal("3 1 3 1 3 1\n2 1 2 1 2 1\n", weighted), hint));
}

TEST_CASE("edge lists of other programs are read", "[graph]") {
  const Edges abc{{{"a", "b"}, 1.5f}, {{"b", "c"}, 2}};
  const Edges abc_without{{{"a", "b"}, 1}, {{"b", "c"}, 1}};
  // NetworkX, PecanPy, igraph's ncol, pandas without a header
  for (const auto text : {"a b {'weight': 1.5}\nb c {'weight': 2, 'x': 'y, z'}\n",
                          "a b 1.5\nb c 2.0\n", "a\tb\t1.5\nb\tc\t2\n", "a,b,1.5\r\nb,c,2\r\n",
                          "a,b,{'x': 1, 'weight': 1.5}\nb,c,{'weight': 2}\n",
                          "\xef\xbb\xbf"
                          "a;b;+1.5\nb;c;2.\n"}) {
    CHECK(edges(text, weighted) == abc);
    CHECK(edges(text) == abc_without);
    CHECK(read(text).report().has_unread_columns);
    CHECK_FALSE(read(text, weighted).report().has_unread_columns);
  }
  CHECK(edges("a b {}\nb c {}\n") == abc_without);
  CHECK(contains(refusal("a b {}\n", weighted), "line 1, column 5: expected a weight"));
  // SNAP: comments, tabs; times
  CHECK(edges("# Directed graph\r\n# FromNodeId\tToNodeId\r\n0\t1\r\n1\t2\r\n",
              {.directed = true}) == Edges{{{"0", "1"}, 1}, {{"1", "2"}, 1}});
  CHECK(edges("1 2 1082040961\n2 1 1082155839\n").size() == 1);
  CHECK(contains(refusal("1 2 1 1082040961\n", weighted), "line 1, column 7: expected the end"));
  // KONECT: weights and times
  CHECK(edges("% sym weighted\n% 2 4 4\n1 2 3 1082040961\n2 3 1 1082155839\n", weighted) ==
        Edges{{{"1", "2"}, 3}, {{"2", "3"}, 1}});
  CHECK(contains(refusal("% bip unweighted\n1 1\n"), "both kinds are numbered from 1"));
}

TEST_CASE("a bad field of an edge list is named with its column", "[graph]") {
  const std::string comma = " (the decimal sign is a point: 1.5)";
  CHECK(refusal("a b 1,5\n", weighted) ==
        "line 1, column 5: expected a weight, a number from 0 on, got '1,5'" + comma);
  for (const auto text : {"a b 1,5\nb c 2,5\n", "a;b;1,5\nb;c;2\n"}) {
    CHECK(contains(refusal(text), "line 1, column 5: expected"));
    CHECK(contains(refusal(text, weighted), "got '1,5'" + comma));
  }
  CHECK(contains(refusal("a,b,1,5\nb,c,2,5\n", weighted), "line 1, column 7: expected the end"));
  CHECK(contains(refusal("a,b,1,5\n", weighted), comma));
  CHECK(refusal("a,,1\nb,c,2\n") == "line 1, column 3: expected a node, got an empty field");
  CHECK(refusal("a,b,\n", weighted) ==
        "line 1, column 5: expected a weight, a number from 0 on, got an empty field");
  CHECK(edges("a,b,\nb,c,,\n").size() == 2);
  CHECK(contains(refusal("1 2\r2 3\r3 1\r"), "line 1, column 4: expected a line that ends with"));
  CHECK(contains(refusal("# c\r1 2\r"), "line 1, column 4: expected a line that ends with"));
  CHECK(contains(refusal("a,b\nb,c\rc,d\n"), "line 2, column 4: expected a line that ends with"));
  CHECK(contains(refusal("a b\n// c\n"), "line 2, column 1: expected a node, got '//'"));
  CHECK(edges("a b +1.5\nb c 1.\nc d .5\nd e 1e-3\n", weighted) ==
        Edges{{{"a", "b"}, 1.5f}, {{"b", "c"}, 1}, {{"c", "d"}, .5f}, {{"d", "e"}, 1e-3f}});
  for (const auto bad : {"+-1", "++1", "+", "1.2.3", "0x1", "1 000x"})
    CHECK(contains(refusal(std::string("a b ") + bad + "\n", weighted), "line 1, column"));
  // Weights that a float cannot hold, some of which would be infinite or 0
  for (const std::string bad :
       {"1e-46", "1e-320", "+1e308", "1e400", "1e-400", "{'weight': 3.5e38}"})
    CHECK(refusal("a b 1\na b " + bad + "\n", weighted) ==
          "line 2, column 5: expected a weight that a float can hold, 0 or from 1.4e-45 to 3.4e38, "
          "got '" +
              bad + "'");
  CHECK(
      contains(refusal("a b 1\na b -1e400\n", weighted), "expected a weight, a number from 0 on"));
  CHECK(edges("a b 1.5e-45\nb c 3.4e38\n", weighted).size() == 2);
  CHECK(contains(
      message_of<InvalidArgument>(
          [&] { static_cast<void>(read("a b 3e38\nb a 3e38\n", weighted)); }),
      "graph: the weights of the duplicate edges between 'a' and 'b' add up to more than"));
  for (const auto bad : {"0x1", "1.5kg", "1e400", ".5.", "+-1"})  // and no header
    CHECK(contains(refusal(std::string("a b ") + bad + "\nb c 1\n", weighted),
                   "line 1, column 5: expected a weight"));
  CHECK(contains(refusal("a b c\n"), "line 1, column 5: expected the end of the line"));
  CHECK(contains(message_of<CorpusError>([&] { static_cast<void>(read("#a b\n\n")); }),
                 "all its 2 lines are blank or comments"));
}

TEST_CASE("graphs in other formats are refused by name", "[graph]") {
  const std::pair<const char*, const char*> files[] = {
      {"<?xml version=\"1.0\"?>\n<graphml><graph>\n", "GraphML"},
      {"<?xml version=\"1.0\"?>\n<gexf>\n", "GEXF"},
      {"<!DOCTYPE x>\n<x/>\n", "XML"},
      {"graph [\n  node [ id 1 ]\n]\n", "GML"},
      {"{\"nodes\": [], \"links\": []}\n", "JSON"},
      {"[\n  {\"source\": \"a\"}\n]\n", "JSON"},
      {"# c\n<http://x/a> <http://x/b> <http://x/c> .\n", "RDF"},
      {"@prefix ex: <http://x/> .\nex:a ex:b ex:c .\n", "RDF"},
      {"*Vertices 2\n1 \"a\"\n", "Pajek"},
      {"graph {\n a -- b\n}\n", "Graphviz"},
      {"digraph G\n{\n a -> b;\n}\n", "Graphviz"},
      {"p edge 3 2\ne 1 2\n", "DIMACS"},
      {"nodedef>name VARCHAR\n", "GDF"},
      {"dl n=3 format=edgelist1\n", "UCINET"},
      {"1 -- 2\n2 -- 3\n", "lines with arrows"},
      {"a -> b\n", "lines with arrows"},
      {"(1, 2)\n(2, 3)\n", "tuples of Python"},
      {"[('a', 'b'), ('b', 'c')]\n", "tuples of Python"},
      {"#\na 2\nb {}\nc {}\nb 0\nc 1\na {}\n", "NetworkX's multi-line adjacency lists"},
      {"a,1\nb,{'x': 1}\nb,0\n", "NetworkX's multi-line adjacency lists"},
      {"#\na;2\nb;{}\nc;{}\n", "NetworkX's multi-line adjacency lists"},
      {"# a\nb 1.0\nc 2\n# b\nc 3\n", "LGL"},
      {"Id,Label\n1,a\n", "Gephi's table of nodes"}};
  for (const auto& [text, format] : files) {
    const std::string line = text[0] == '#' ? "line 2" : "line 1";
    CHECK(contains(refusal(text), line + ", column 1: expected an edge 'node node'"));
    CHECK(contains(refusal(text), std::string("this is a graph in ") + format));
  }
  CHECK(contains(refusal("1 first\n2 second\n#\n1 2\n", {}, "x.tgf"), "Trivial Graph Format"));
  CHECK(contains(refusal("\x1f\x8b"), "gzip"));
  CHECK(contains(refusal(std::string("\xfd"
                                     "7zXZ\0xx",
                                     8)),
                 "line 1, column 1: this is an xz file"));
  CHECK(contains(refusal(std::string("\xff\xfe"
                                     "1\0 \0"
                                     "2\0",
                                     8)),
                 "line 1, column 1: this is a text"));
  // Names that only look like them
  CHECK(edges("<unk> the\n[CLS] a\n{x} y\ngraph theory\n@base @x\nprefix b\n").size() == 6);
  CHECK(edges("(R)-x (S)-y\n(a) (b)\n").size() == 2);
  CHECK(edges("# a\n1 2\n# b\n3 4\n").size() == 2);
  CHECK(edges("a -> 1\na b 1\n").size() == 2);
  // Excel's own line is no edge, whatever comes behind it.
  CHECK(contains(
      refusal("sep=;\r\nSource;Target\r\na;b\r\n", {.header = GraphOptions::Header::present}),
      "line 1, column 1: expected an edge or a header, got 'sep=;'"));
}

TEST_CASE("a comma between names that white space separates is refused", "[graph]") {
  for (const auto text : {"3, 4\n5 6\n7 8\n", "3 ,4\n5 6\n7 8\n", "3; 4\n5 6\n7 8\n"})
    CHECK(contains(refusal(text), "line 1, column 1: expected nodes separated by white space"));
  std::string late;
  for (int i = 0; i < 200; ++i) late += "1 " + std::to_string(i) + "\n";
  CHECK(contains(refusal(late + "7, 8\n"), "line 201, column 1: expected nodes separated by"));
  CHECK(edges("1 2\n3, 4\n", {.delimiter = GraphOptions::any_white_space}) ==
        Edges{{{"1", "2"}, 1}, {{"3,", "4"}, 1}});
  CHECK(edges("\"a,\" b\nb c\n") == Edges{{{"a,", "b"}, 1}, {{"b", "c"}, 1}});
  CHECK(edges("a, b\nc ,d\n") == Edges{{{"a", "b"}, 1}, {{"c", "d"}, 1}});
}

TEST_CASE("a report counts the edges and nodes that were read and left out", "[graph]") {
  const Graph::Report all = read("# x\n\na b 1\nb a 2\na b 1\nc c 1\nd e 0\nd b 1\n",
                                 {.weighted = true, .self_loops = false})
                                .report();
  CHECK(all.edges == 6);
  CHECK(all.merged_edges == 2);
  CHECK(all.zero_weights == 1);
  CHECK(all.dropped_self_loops == 1);
  CHECK(all.dropped_nodes == 2);
  CHECK(all.lines_without_edge == 2);
  const auto market = read("%%MatrixMarket matrix coordinate pattern symmetric\n4 4 2\n2 1\n2 2\n",
                           {.directed = true});
  CHECK(market.report().edges == 3);
  CHECK(market.report().merged_edges == 0);
  CHECK(market.report().dropped_nodes == 2);
  CHECK(market.report().delimiter == '\0');
  const std::vector<Graph::NamedEdge> named{
      {"New York", "a\nb"}, {"a\nb", "\xef\xbb\xbfx"}, {"x", "x"}};
  const Graph graph = Graph::from_edges(named);
  CHECK(graph.report().edges == 3);
  CHECK(graph.report().merged_edges == 0);
  CHECK_THROWS_AS(Graph::from_edges(std::vector<Graph::NamedEdge>{{"", "a"}}), InvalidArgument);
  // A file holds all names and the report; walks cannot hold them.
  TemporaryFolder folder;
  graph.save(folder / "saved");
  const Graph loaded = Graph::load(folder / "saved");
  CHECK(edges_of(loaded) == edges_of(graph));
  CHECK(loaded.fingerprint() == graph.fingerprint());
  CHECK(loaded.report().edges == 3);
  CHECK(
      contains(message_of<InvalidArgument>([&] { RandomWalks(graph, {}).save(folder / "walks"); }),
               "cannot hold the node "));
  CHECK_FALSE(std::filesystem::exists(folder / "walks"));
}

TEST_CASE("a cached graph keeps its report and depends on the delimiter", "[graph]") {
  TemporaryFolder folder;
  write_file(folder / "edges", "New York\tRome\nNew York\tRome\nBoston\tRome\n");
  GraphOptions options{.delimiter = '\t', .cache = folder / "cache"};
  for (int i = 0; i < 2; ++i) {
    const Graph graph = Graph::from_edge_list(folder / "edges", options);
    CHECK(edges_of(graph) == Edges{{{"New York", "Rome"}, 1}, {{"Boston", "Rome"}, 1}});
    CHECK(graph.report().merged_edges == 1);
    CHECK(graph.report().delimiter == '\t');
  }
  options.header = GraphOptions::Header::present;
  CHECK(Graph::from_edge_list(folder / "edges", options).report().edges == 2);
}

TEST_CASE("a graph read from a table does not depend on the number of threads", "[graph]") {
  std::string text = "Source,Target,Type,Weight\n";
  for (int i = 0; i < 160'000; ++i)
    text += "\"n, " + std::to_string(i % 977) + "\",m " + std::to_string(i % 1009) +
            (i % 3 == 0 ? ",Directed," : ",Undirected,") + std::to_string(i % 7) + "\n";
  REQUIRE(text.size() > detail::TextPieces::default_piece_bytes);
  GraphOptions options{
      .directed = true, .weighted = true, .header = GraphOptions::Header::present, .threads = 1};
  const auto one = read(text, options).fingerprint();
  options.threads = 4;
  CHECK(read(text, options).fingerprint() == one);
}
