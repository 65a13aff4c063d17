#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <wordloom/graph/graph.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

/// The entries of a graph by name: {from, to} -> weights.
std::map<std::pair<std::string, std::string>, std::vector<float>> entries_of(const Graph& graph) {
  std::map<std::pair<std::string, std::string>, std::vector<float>> all;
  const Vocabulary& nodes = graph.vocabulary();
  for (WordId v = 0; v < graph.node_count(); ++v)
    for (std::size_t i = 0; i < graph.neighbours(v).size(); ++i)
      all[{std::string(nodes.word(v)), std::string(nodes.word(graph.neighbours(v)[i]))}].push_back(
          graph.is_weighted() ? graph.weights(v)[i] : 1.0f);
  return all;
}

/// A folder with a file `graph` that holds `text`.
struct GraphFile {
  explicit GraphFile(std::string_view text, const char* name = "graph") : path(folder / name) {
    write_file(path, text);
  }
  TemporaryFolder folder;
  std::filesystem::path path;
};

Graph read(std::string_view text, const GraphOptions& options = {}) {
  return Graph::from_edge_list(GraphFile(text).path, options);
}
std::string refusal(std::string_view text, const GraphOptions& options = {}) {
  const GraphFile file(text);
  const auto message = message_of<FormatError>(
      [&] { static_cast<void>(Graph::from_edge_list(file.path, options)); });
  REQUIRE(message.starts_with(file.path.string() + ": "));
  return message.substr(file.path.string().size() + 2);
}

}  // namespace

TEST_CASE("an edge list may have any white space between its columns", "[graph]") {
  const Graph graph = read("# a comment\n% another\n\n  a b\nb  c 7.5\n\tc\t\xff\xfe\r\na c\n");
  CHECK(graph.node_count() == 4);
  CHECK(graph.edge_count() == 4);
  CHECK(graph.entry_count() == 8);
  CHECK_FALSE(graph.is_directed());
  CHECK_FALSE(graph.is_weighted());
  // By falling number of edges, then by name.
  CHECK(graph.vocabulary().word(0) == "c");
  CHECK(graph.vocabulary().word(1) == "a");
  CHECK(graph.vocabulary().word(2) == "b");
  CHECK(graph.vocabulary().word(3) == "\xff\xfe");
  CHECK(std::ranges::equal(graph.vocabulary().counts(), std::vector{3, 2, 2, 1}));
  CHECK(std::ranges::equal(graph.neighbours(0), std::vector<WordId>{1, 2, 3}));
  CHECK(std::ranges::equal(graph.neighbours(3), std::vector<WordId>{0}));
  CHECK(graph.has_edge(0, 3));
  CHECK_FALSE(graph.has_edge(1, 3));
  CHECK(graph.weights(0).empty());
}

TEST_CASE("a last line without a newline is an edge", "[graph]") {
  const Graph graph = read("a b\nb c");
  CHECK(graph.edge_count() == 2);
  CHECK(graph.node_count() == 3);
}

TEST_CASE("a directed edge has one direction", "[graph]") {
  const Graph graph = read("a b\na c\nb c\n", {.directed = true});
  CHECK(graph.is_directed());
  CHECK(graph.edge_count() == 3);
  CHECK(entries_of(graph).size() == 3);
  // Counts are of edges that lead to a node, at least 1.
  CHECK(graph.vocabulary().word(0) == "c");
  CHECK(graph.vocabulary().count(0) == 2);
  CHECK(graph.vocabulary().count(1) == 1);
  CHECK(graph.neighbours(0).empty());
}

TEST_CASE("duplicate edges are merged or kept", "[graph]") {
  constexpr auto text = "a b 1\nb a 2\na b 0.5\nb b 4\nc b 3\n";
  const auto weighted = read(text, {.weighted = true});
  CHECK(weighted.edge_count() == 3);
  CHECK(entries_of(weighted).at({"a", "b"}) == std::vector{3.5f});
  CHECK(entries_of(weighted).at({"b", "a"}) == std::vector{3.5f});
  CHECK(entries_of(weighted).at({"b", "b"}) == std::vector{4.0f});
  const auto kept = read(
      text,
      {.weighted = true, .duplicate_edges = GraphOptions::Duplicates::keep, .self_loops = false});
  CHECK(kept.edge_count() == 4);
  CHECK(entries_of(kept).at({"a", "b"}) == std::vector{0.5f, 1.0f, 2.0f});
  CHECK_FALSE(entries_of(kept).contains({"b", "b"}));
  const auto directed = read(text, {.directed = true, .weighted = true});
  CHECK(entries_of(directed).at({"a", "b"}) == std::vector{1.5f});
  CHECK(entries_of(directed).at({"b", "a"}) == std::vector{2.0f});
  CHECK(read(text).edge_count() == 3);
  CHECK(read(text, {.duplicate_edges = GraphOptions::Duplicates::keep}).edge_count() == 5);
}

TEST_CASE("nodes without edges are kept on request", "[graph]") {
  constexpr auto text = "a b\nc c\n";
  CHECK(read(text).node_count() == 3);
  CHECK(read(text, {.self_loops = false}).node_count() == 2);
  const auto kept = read(text, {.self_loops = false, .isolated_nodes = true});
  CHECK(kept.node_count() == 3);
  CHECK(kept.neighbours(2).empty());
  CHECK(kept.vocabulary().count(2) == 1);
  constexpr auto no_weight = "a b 0\nb c 1\n";  // a and b have no edge
  CHECK(read(no_weight, {.weighted = true}).node_count() == 2);
  CHECK(read(no_weight, {.weighted = true, .isolated_nodes = true}).node_count() == 3);
}

TEST_CASE("counts of a weighted graph are in proportion to its weights", "[graph]") {
  const Graph graph = read("a b 1e-3\nb c 3e-3\n", {.weighted = true});
  const Vocabulary& nodes = graph.vocabulary();
  REQUIRE(nodes.word(0) == "b");
  REQUIRE(nodes.word(1) == "c");
  const auto count = [&](WordId v) { return static_cast<double>(nodes.count(v)); };
  CHECK(count(0) / count(1) == Approx(4.0 / 3).epsilon(1e-5));
  CHECK(count(1) / count(2) == Approx(3).epsilon(1e-5));
}

TEST_CASE("a line of a graph that cannot be read is named with its column", "[graph]") {
  CHECK(refusal("a b\nlonely\n") == "line 2, column 7: expected two nodes, got only 'lonely'");
  const GraphOptions weighted{.weighted = true};
  const std::string number = "expected a weight, a number from 0 on, got ";
  CHECK(refusal("a b\n", weighted) == "line 1, column 4: " + number + "the end of the line");
  CHECK(refusal("# x\na b -1\n", weighted) == "line 2, column 5: " + number + "'-1'");
  CHECK(refusal("a b nan\n", weighted) == "line 1, column 5: " + number + "'nan'");
  CHECK(refusal("a b inf\n", weighted) == "line 1, column 5: " + number + "'inf'");
  CHECK(
      refusal("a  b\t1e99\n", weighted) ==
      "line 1, column 6: expected a weight that a float can hold, 0 or from 1.4e-45 to 3.4e38, got "
      "'1e99'");
  CHECK(refusal("a b heavy\n", weighted) == "line 1, column 5: " + number + "'heavy'");
  CHECK(contains(message_of<CorpusError>([&] {
                   static_cast<void>(
                       read("a b 0\na a 1\nb c 0\n", {.weighted = true, .self_loops = false}));
                 }),
                 ": no edges: of 3 that it names, 2 have weight 0 and 1 join a node to itself"));
  for (const auto text : {"", "# nothing\n", "a b 0\n"})
    CHECK(contains(message_of<CorpusError>([&] { static_cast<void>(read(text, weighted)); }),
                   ": no edges"));
  CHECK(contains(
      message_of<IoError>([] { static_cast<void>(Graph::from_edge_list("/nowhere/graph")); }),
      "cannot open '/nowhere/graph'"));
}

TEST_CASE("the first bad line of a long file is named, however many threads read", "[graph]") {
  std::string text;
  for (int i = 0; i < 700'000; ++i) text += std::to_string(i) + " " + std::to_string(i * 7) + "\n";
  const auto bad_line = [&](std::size_t at) {
    const std::size_t begin = text.find('\n', at) + 1;
    text.replace(begin, text.find('\n', begin) - begin, "oops");
    return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
  };
  const auto second = bad_line(text.size() - 5000), first = bad_line(5'000'000);
  REQUIRE(first < second);
  for (const std::size_t threads : {1u, 3u})
    CHECK(refusal(text, {.threads = threads}).starts_with("line " + std::to_string(first) + ", "));
}

TEST_CASE("a graph does not depend on threads, order of edges or compression", "[graph]") {
  std::vector<std::string> lines;
  Random random(5);
  for (int i = 0; i < 300'000; ++i)
    lines.push_back("node" + std::to_string(random.below(20'000)) + " node" +
                    std::to_string(random.below(random.below(20'000) + 1)) + " 0." +
                    std::to_string(random.below(1000)) + "\n");
  const auto joined = [&] {
    std::string all;
    for (const auto& line : lines) all += line;
    return all;
  };
  const std::string text = joined();
  REQUIRE(text.size() > detail::TextPieces::default_piece_bytes);
  const TemporaryFolder folder;
  const auto path = folder / "graph.gz";
  const gzFile file = gzopen(path.c_str(), "wb1");
  REQUIRE(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) ==
          static_cast<int>(text.size()));
  gzclose(file);
  for (const bool both : {false, true}) {
    const GraphOptions options{.directed = both, .weighted = both, .threads = 1};
    const Graph one = read(text, options);
    GraphOptions many = options;
    many.threads = 4;
    CHECK(read(text, many).fingerprint() == one.fingerprint());
    if (both) continue;
    CHECK(Graph::from_edge_list(path, many).fingerprint() == one.fingerprint());
    std::reverse(lines.begin(), lines.end());
    CHECK(read(joined(), many).fingerprint() == one.fingerprint());
  }
}

TEST_CASE("a Matrix Market file is read as a graph", "[graph]") {
  constexpr auto symmetric =
      "%%MatrixMarket matrix coordinate real symmetric\n% comment\n4 4 3\n2 1 0.5\n3 2 1.5\n3 3 "
      "2\n";
  const Graph graph = read(symmetric, {.weighted = true});
  CHECK(graph.node_count() == 3);
  CHECK(entries_of(graph).at({"1", "2"}) == std::vector{0.5f});
  CHECK(entries_of(graph).at({"3", "3"}) == std::vector{2.0f});
  CHECK(graph.edge_count() == 3);
  const Graph directed = read(symmetric, {.directed = true, .isolated_nodes = true});
  CHECK(directed.node_count() == 4);
  CHECK(directed.edge_count() == 5);
  const auto general = "%%MatrixMarket MATRIX coordinate pattern general\n2 2 1\n2 1\n";
  CHECK(entries_of(read(general, {.directed = true})).size() == 1);
  for (const auto banner : {"%%matrixmarket matrix", " \t%%MATRIXMARKET matrix",
                            "\n%%matrixMarket matrix", "\xef\xbb\xbf %%MatrixMarket matrix"}) {
    const Graph any = read(std::string(banner) + " coordinate real general\n %\n3 3 1\n1 2 5\n",
                           {.weighted = true});
    CHECK(entries_of(any).at({"1", "2"}) == std::vector{5.0f});
    CHECK(any.edge_count() == 1);
  }
  CHECK(contains(refusal(general, {.weighted = true}), "line 1: expected weights"));
  CHECK(contains(refusal("%%MatrixMarket matrix array real general\n2 2\n"), "line 1: expected"));
  CHECK(contains(refusal("%%MatrixMarket matrix coordinate real general\n2 3 1\n1 2 1\n"),
                 "line 2: expected rows and as many columns"));
  CHECK(contains(refusal("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1\n"),
                 "line 3, column 3: expected a number from 1 to 2, got '3'"));
  CHECK(contains(refusal("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n"),
                 "line 2: expected as many edges as the file has, got 2 and not 1"));
  CHECK(contains(refusal("%%MatrixMarket matrix coordinate real general\n"), "got none"));
}

TEST_CASE("a graph can be made of edges in memory", "[graph]") {
  const std::vector<Graph::Edge> edges{{0, 1}, {1, 2}, {4, 1}};
  const Graph graph = Graph::from_edges(edges, 5);
  CHECK(graph.node_count() == 4);
  CHECK(graph.vocabulary().word(0) == "1");
  CHECK(Graph::from_edges(edges, 5, {.isolated_nodes = true}).node_count() == 5);
  const std::vector<Graph::NamedEdge> named{{"0", "1"}, {"1", "2"}, {"4", "1"}};
  CHECK(Graph::from_edges(named).fingerprint() == graph.fingerprint());
  CHECK(message_of<InvalidArgument>([&] { static_cast<void>(Graph::from_edges(edges, 4)); }) ==
        "edges[2] has node 4, must be below 4");
  const std::vector<Graph::Edge> negative{{0, 1, -2}};
  CHECK(contains(message_of<InvalidArgument>([&] {
                   static_cast<void>(Graph::from_edges(negative, 2, {.weighted = true}));
                 }),
                 "edges[0] has a weight of -2"));
  const std::vector<Graph::NamedEdge> nameless{{"a b", "c"}, {"a b", ""}};
  CHECK(message_of<InvalidArgument>([&] { static_cast<void>(Graph::from_edges(nameless)); }) ==
        "edges[1] has a node without a name");
  const std::vector<Graph::Edge> heavy{{0, 1, 3e38f}, {1, 0, 3e38f}};
  CHECK(contains(message_of<InvalidArgument>(
                     [&] { static_cast<void>(Graph::from_edges(heavy, 2, {.weighted = true})); }),
                 "the list of edges: the weights of the duplicate edges between '0' and '1' add up "
                 "to more than a float can hold"));
}

TEST_CASE("edges can be taken out of a graph", "[graph]") {
  for (const bool weighted : {false, true}) {
    const Graph graph = read("a b 1\nb c 2\nc a 3\nc d 4\n", {.weighted = weighted});
    const auto id = [&](const char* name) { return graph.vocabulary().words().at(name); };
    const std::vector<Graph::Edge> gone{{id("b"), id("a")}, {id("c"), id("d")}};
    const Graph rest = graph.without(gone);
    CHECK(rest.node_count() == 4);
    CHECK(rest.edge_count() == 2);
    CHECK(rest.neighbours(id("d")).empty());
    CHECK(rest.vocabulary().fingerprint() == graph.vocabulary().fingerprint());
    CHECK(entries_of(rest).at({"c", "a"}) == std::vector{weighted ? 3.0f : 1.0f});
    CHECK(rest.fingerprint() != graph.fingerprint());
    CHECK(graph.without({}).fingerprint() == graph.fingerprint());
  }
}

TEST_CASE("a neighbour is drawn by weight", "[graph]") {
  const Graph graph = read("a b 1\na c 3\na d 0.25\n", {.weighted = true});
  const auto& words = graph.vocabulary().words();
  Random random(3);
  std::vector<double> drawn(4);
  for (int i = 0; i < 100'000; ++i) drawn[graph.draw_neighbour(words.at("a"), random)] += 1e-5;
  CHECK(drawn[words.at("b")] == Approx(1 / 4.25).margin(0.005));
  CHECK(drawn[words.at("c")] == Approx(3 / 4.25).margin(0.005));
  CHECK(drawn[words.at("d")] == Approx(0.25 / 4.25).margin(0.005));
}

TEST_CASE("a graph is saved and mapped", "[graph]") {
  TemporaryFolder folder;
  const auto path = folder / "saved";
  for (const bool weighted : {false, true})
    for (const bool directed : {false, true}) {
      const Graph graph =
          read("a b 1\nb c 2\nc a 3\nc d 4\na a 2\n", {.directed = directed, .weighted = weighted});
      graph.save(path);
      const Graph loaded = Graph::load(path);
      CHECK(loaded.fingerprint() == graph.fingerprint());
      CHECK(loaded.edge_count() == graph.edge_count());
      CHECK(loaded.is_directed() == directed);
      CHECK(loaded.is_weighted() == weighted);
      CHECK(entries_of(loaded) == entries_of(graph));
      CHECK(std::ranges::equal(loaded.vocabulary().counts(), graph.vocabulary().counts()));
      Random one(1), other(1);
      CHECK(loaded.draw_neighbour(0, one) == graph.draw_neighbour(0, other));
    }
  // Each byte matters.
  const std::string good = read_file(path);
  for (std::size_t at = 0; at < good.size(); at += 3) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x41);
    write_file(path, bad);
    CHECK_THROWS_AS(Graph::load(path), FormatError);
    write_file(path, good.substr(0, at));
    CHECK_THROWS_AS(Graph::load(path), FormatError);
  }
}

TEST_CASE("a cached graph is used while its edge list is the same", "[graph]") {
  GraphFile file("a b\nb c\n");
  const auto cache = file.folder / "cache";
  int pieces = 0;
  GraphOptions options{.cache = cache, .before_piece = [&] { ++pieces; }};
  const auto fingerprint = Graph::from_edge_list(file.path, options).fingerprint();
  REQUIRE(pieces > 0);
  pieces = 0;
  CHECK(Graph::from_edge_list(file.path, options).fingerprint() == fingerprint);
  CHECK(pieces == 0);
  options.directed = true;
  CHECK(Graph::from_edge_list(file.path, options).is_directed());
  CHECK(pieces > 0);
  options.directed = false;
  write_file(file.path, "a b\nb d\n");
  const auto has_d = [&] {
    const Graph graph = Graph::from_edge_list(file.path, options);
    return graph.vocabulary().find("d").has_value();
  };
  CHECK(has_d());
  std::string damaged = read_file(cache);
  damaged[damaged.size() / 2] ^= 1;
  write_file(cache, damaged);
  pieces = 0;
  CHECK(has_d());
  CHECK(pieces > 0);
  write_file(cache, "precious");
  CHECK(contains(message_of<FormatError>(
                     [&] { static_cast<void>(Graph::from_edge_list(file.path, options)); }),
                 "is not a graph and was not overwritten"));
  CHECK(read_file(cache) == "precious");
}
