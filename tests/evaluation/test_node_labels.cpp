#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/evaluation/node_labels.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

TEST_CASE("node labels are read by line and a bad line is named", "[evaluation]") {
  const TemporaryFolder folder;
  const auto load = [&](std::string_view text) {
    write_file(folder / "l", text);
    return NodeLabels::load(folder / "l");
  };
  const auto data = load("# comment\n\n7 red  blue\r\na-b\tblue\n9 7 red");
  CHECK(data.labels == std::vector<std::string>{"red", "blue", "7"});
  REQUIRE(data.nodes.size() == 3);
  CHECK(data.nodes[0].name == "7");
  CHECK(data.nodes[0].labels == std::vector<std::uint32_t>{0, 1});
  CHECK(data.nodes[1].name == "a-b");
  CHECK(data.nodes[1].labels == std::vector<std::uint32_t>{1});
  CHECK(data.nodes[2].labels == std::vector<std::uint32_t>{2, 0});
  const auto message = [&](std::string_view text) {
    return message_of<FormatError>([&] { static_cast<void>(load(text)); });
  };
  CHECK(contains(message("1 2\n3\n"),
                 "l: line 2, column 1: expected a node and its labels, got 1 field"));
  CHECK(contains(message("1 2\n\n2 2\n1 3\n"),
                 "l: line 4, column 1: expected each node once, got '1' as in line 1"));
  CHECK(contains(message("1 2 3 2\n"),
                 "l: line 1, column 7: expected each label of a node once, got '2' twice"));
  CHECK(contains(message("# nothing\n"), "l: line 1: expected nodes and labels, got none"));
  CHECK_THROWS_AS(NodeLabels::load(folder / "missing"), IoError);
}

TEST_CASE("names of nodes and labels may have blanks", "[evaluation]") {
  const TemporaryFolder folder;
  const auto load = [&](std::string_view text) {
    write_file(folder / "l", text);
    return NodeLabels::load(folder / "l");
  };
  for (const char* const text :
       {"New York\tbig city\tport\nOslo\tport\t\n",
        "\xef\xbb\xbfnode,label\r\nNew York,big city,port\r\nOslo,port\r\n",
        "Node ID;Labels\nNew York;\"big city\";port\nOslo;port",
        "name\tclass\rNew York\tbig city\tport\rOslo\tport"}) {
    const auto data = load(text);
    CHECK(data.labels == std::vector<std::string>{"big city", "port"});
    REQUIRE(data.nodes.size() == 2);
    CHECK(data.nodes[0].name == "New York");
    CHECK(data.nodes[1].labels == std::vector<std::uint32_t>{1});
  }
  const auto message = [&](std::string_view text) {
    return message_of<FormatError>([&] { static_cast<void>(load(text)); });
  };
  CHECK(contains(
      message("Oslo,port\nNew York port\n"),
      "l: line 2, column 1: expected a node and its labels, got 1 field separated by commas"));
  CHECK(contains(message("Oslo\tport\nNew York port\n"), "got 1 field separated by tabs"));
  CHECK(contains(message(",port\n"),
                 "l: line 1, column 1: expected a node and its labels, got an empty field"));
  CHECK(contains(message("node,label\n"), "expected nodes and labels, got none"));
  // Whole numbers with blanks between them are labels of their own, whatever separates the node.
  for (const char* const text : {"1\t7 12\n2\t12\n", "1 7 12\n2 12\n", "1\t7\t12\n2\t12\n"}) {
    const auto data = load(text);
    CHECK(data.labels == std::vector<std::string>{"7", "12"});
    CHECK(data.nodes[0].labels == std::vector<std::uint32_t>{0, 1});
    CHECK(data.nodes[1].labels == std::vector<std::uint32_t>{1});
  }
  CHECK(load("1\tarea 51\n2\tx\n").labels == std::vector<std::string>{"area 51", "x"});
  CHECK(contains(message("1\t7 7\n"), "each label of a node once"));
}

TEST_CASE("F1 predicts as many labels as a node has", "[evaluation]") {
  // Predicted: {0}; {0, 2}; {0}, the first of three with the same score. Label 3 never occurs.
  const std::vector<double> scores{0.9, 0.1, 0.2, 0.0, 0.5, 0.1, 0.4, 0.0, 0.3, 0.3, 0.3, -1.0};
  const std::vector<std::uint8_t> truth{1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0};
  const detail::F1 f1 = detail::top_k_f1(scores, truth, 4, 4);
  CHECK(f1.micro == Approx(0.5));      // 2 of 4 are right
  CHECK(f1.macro == Approx(0.8 / 4));  // label 0: 2 * 2 / (3 + 2), the others 0
  CHECK(detail::top_k_f1(scores, truth, 4, 3).macro == Approx(0.8 / 3));
}

TEST_CASE("a mean has the standard deviation of a sample", "[evaluation]") {
  const auto four = detail::MeanAndDeviation::of(std::vector<double>{1, 2, 3, 4});
  CHECK(four.mean == Approx(2.5));
  CHECK(four.deviation == Approx(std::sqrt(5.0 / 3)));
  const auto one = detail::MeanAndDeviation::of(std::vector<double>{7});
  CHECK(one.mean == Approx(7));
  CHECK(std::isnan(one.deviation));
}

#if WORDLOOM_HAS_LIBLINEAR

namespace {

struct Labelled {
  Embeddings vectors;
  NodeLabels labels;
};

/// Nodes that are named by their number, each with a vector and labels.
Labelled make(const std::vector<std::pair<std::vector<float>, std::vector<std::uint32_t>>>& nodes) {
  NodeLabels labels{{"a", "b", "c"}, {}};
  WordList names;
  RowMatrix vectors(nodes.size(), nodes[0].first.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    labels.nodes.push_back({std::to_string(i), nodes[i].second});
    names.append(labels.nodes.back().name);
    std::copy(nodes[i].first.begin(), nodes[i].first.end(), vectors.row(i).begin());
  }
  return {Embeddings(std::move(names), std::move(vectors)), labels};
}

/// Nodes with label a, b or both; the vector has a direction for each label, of length 1 to 10, and
/// `noise` up to 1.
Labelled planted(std::size_t count, double noise) {
  std::vector<std::pair<std::vector<float>, std::vector<std::uint32_t>>> nodes;
  Random random(5);
  for (std::size_t i = 0; i < count; ++i) {
    const bool a = i % 3 != 0, b = i % 3 != 1;
    const double length = 1 + 9 * random.uniform();
    const auto number = [&](bool has) {
      return static_cast<float>(length * (has + noise * (2 * random.uniform() - 1)));
    };
    std::vector<float> vector{number(a), number(b), number(false)};
    std::vector<std::uint32_t> labels;
    if (b) labels.push_back(1);
    if (a) labels.push_back(0);
    nodes.emplace_back(vector, labels);
  }
  return make(nodes);
}

void check_same(const NodeLabelReport& a, const NodeLabelReport& b) {
  REQUIRE(a.rows.size() == b.rows.size());
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    CHECK(a.rows[i].micro.mean == b.rows[i].micro.mean);
    CHECK(a.rows[i].micro.deviation == b.rows[i].micro.deviation);
    CHECK(a.rows[i].macro.mean == b.rows[i].macro.mean);
    CHECK(a.rows[i].macro.deviation == b.rows[i].macro.deviation);
  }
}

}  // namespace

TEST_CASE("planted labels are all found", "[evaluation]") {
  const auto [vectors, labels] = planted(90, 0.05);
  const auto report = evaluate_node_labels(vectors, labels);
  CHECK(report.used == 90);
  CHECK(report.left_out == 0);
  CHECK(report.labels == 2);  // c is no node's
  REQUIRE(report.rows.size() == 9);
  for (std::size_t i = 0; i < 9; ++i)
    CHECK(report.rows[i].share == Approx(0.1 * static_cast<double>(i + 1)));
  const auto& half = report.rows[4];
  CHECK(half.micro.mean == Approx(1.0));
  CHECK(half.macro.mean == Approx(1.0));
  CHECK(half.micro.deviation == Approx(0.0).margin(1e-12));
  std::ostringstream table;
  table << report;
  CHECK(contains(table.str(), "node labels, trained on          micro F1  deviation   macro F1"));
  CHECK(contains(table.str(), "0.5000                             1.0000     0.0000     1.0000"));
  CHECK(contains(table.str(), "2 labels, 90 nodes, 0 without a vector"));
}

TEST_CASE("without information the frequent label is predicted", "[evaluation]") {
  std::vector<std::pair<std::vector<float>, std::vector<std::uint32_t>>> nodes;
  for (std::uint32_t i = 0; i < 40; ++i) nodes.push_back({{1.0f, 1.0f}, {i % 4 == 0 ? 1u : 0u}});
  const auto [vectors, labels] = make(nodes);
  const auto report =
      evaluate_node_labels(vectors, labels, {.shares = {0.5}, .repetitions = 1, .seed = 3});
  // c of t tested nodes have label a, which all are said to have: micro F1 is m = c / t, the F1 of
  // a is 2 c / (t + c) and that of b 0.
  const double m = report.rows[0].micro.mean;
  CHECK(m >= 0.5);
  CHECK(m < 1.0);
  CHECK(m * 20 == Approx(std::round(m * 20)));
  CHECK(report.rows[0].macro.mean == Approx(m / (1 + m)));
  CHECK(std::isnan(report.rows[0].micro.deviation));
}

TEST_CASE("a label of all or no trained nodes is predicted without training", "[evaluation]") {
  std::vector<std::pair<std::vector<float>, std::vector<std::uint32_t>>> nodes;
  for (int i = 0; i < 10; ++i) nodes.push_back({{static_cast<float>(i), 1.0f}, {1}});
  auto same = make(nodes);
  const auto report = evaluate_node_labels(same.vectors, same.labels, {.shares = {0.5}});
  CHECK(report.rows[0].micro.mean == Approx(1.0));
  CHECK(report.rows[0].macro.mean == Approx(1.0));
  // One more label, of a single node: where it is tested it cannot be known.
  same.labels.nodes[4].labels = {2};
  const auto rare =
      evaluate_node_labels(same.vectors, same.labels, {.shares = {0.9}, .repetitions = 30});
  CHECK(rare.rows[0].micro.mean < 1.0);
  CHECK(rare.rows[0].micro.mean > 0.5);
}

TEST_CASE("nodes without a vector are counted, not scored", "[evaluation]") {
  auto [vectors, labels] = planted(60, 0.3);
  const auto before = evaluate_node_labels(vectors, labels, {.shares = {0.5}});
  labels.nodes.push_back({"unknown", {2}});
  labels.nodes.push_back({"stranger", {0, 1}});
  const auto after = evaluate_node_labels(vectors, labels, {.shares = {0.5}});
  CHECK(after.used == 60);
  CHECK(after.left_out == 2);
  CHECK(after.labels == 2);
  check_same(before, after);
}

TEST_CASE("node labels score the same for any number of threads", "[evaluation]") {
  const auto [vectors, labels] = planted(60, 0.9);
  const auto report = [&, &v = vectors, &l = labels](std::size_t threads, std::uint64_t seed) {
    return evaluate_node_labels(
        v, l, {.shares = {0.2, 0.5}, .repetitions = 3, .seed = seed, .threads = threads});
  };
  const auto one = report(1, 1);
  CHECK(one.rows[0].micro.mean < 1.0);
  CHECK(one.rows[0].micro.deviation > 0.0);
  check_same(one, report(3, 1));
  check_same(one, report(16, 1));
  CHECK(report(1, 2).rows[0].micro.mean != one.rows[0].micro.mean);
}

TEST_CASE("vectors are classified unchanged, or with length 1", "[evaluation]") {
  const auto [vectors, labels] = planted(90, 0.9);
  const auto raw = evaluate_node_labels(vectors, labels, {.repetitions = 3});
  const auto unit = evaluate_node_labels(vectors, labels, {.repetitions = 3, .normalize = true});
  check_same(unit, evaluate_node_labels(vectors.normalized(), labels, {.repetitions = 3}));
  CHECK(raw.rows[4].micro.mean != unit.rows[4].micro.mean);
}

TEST_CASE("unusable node labels are refused with the reason", "[evaluation]") {
  auto [vectors, labels] = planted(12, 0.1);
  const auto message = [&, &v = vectors, &l = labels](const NodeLabelReport::Options& options) {
    return message_of<InvalidArgument>(
        [&] { static_cast<void>(evaluate_node_labels(v, l, options)); });
  };
  for (const double share : {0.0, 1.0, -1.0, std::numeric_limits<double>::quiet_NaN()})
    CHECK(contains(message({.shares = {0.5, share}}), "must be above 0 and below 1"));
  CHECK(contains(message({.shares = {0.01}}), "of 12 nodes leaves none to train on"));
  CHECK(contains(message({.shares = {0.99}}), "none to test"));
  CHECK(contains(message({.repetitions = 0}), "repetitions is 0"));
  CHECK(contains(message({.classifier = {.cost = -1}}), "cost is -1"));
  labels.nodes[2].labels.push_back(3);
  CHECK(contains(message({}), "node '2' has label 3 of 3"));
  for (auto& node : labels.nodes) node.name += "x";
  CHECK(contains(message({}), "none of the 12 nodes has a label and a vector"));
  RowMatrix broken = vectors.vectors().copy();
  broken.row(1)[0] = std::numeric_limits<float>::infinity();
  vectors = Embeddings(vectors.words(), std::move(broken));
  labels.nodes = {{"0", {0}}, {"1", {1}}};
  CHECK(contains(message({}), "the vector of node '1' is not finite"));
}

TEST_CASE("cross-validation tests each node once", "[evaluation]") {
  // Two groups that a line parts, and one node on the wrong side.
  NodeLabels data;
  data.labels = {"a", "b"};
  WordList names;
  RowMatrix rows(21, 2);
  for (std::uint32_t i = 0; i < 21; ++i) {
    names.append("n" + std::to_string(i));
    data.nodes.push_back({"n" + std::to_string(i), {i == 20 ? 1 : i % 2}});
    rows.row(i)[0] = i % 2 == 0 ? 9.0f : -9.0f;
    rows.row(i)[1] = static_cast<float>(i);
  }
  const Embeddings nodes(std::move(names), std::move(rows));
  const auto report = evaluate_node_labels(nodes, data, {.folds = 21, .repetitions = 2});
  REQUIRE(report.rows.size() == 1);
  CHECK(report.rows[0].share == Approx(20.0 / 21));
  CHECK(report.rows[0].micro.mean == Approx(20.0 / 21));
  CHECK(report.rows[0].micro.deviation > 0);
  const auto ten = evaluate_node_labels(nodes, data, {.folds = 10, .threads = 1});
  CHECK(ten.rows[0].micro.mean > 0.9);
  CHECK(ten.rows[0].micro.mean ==
        evaluate_node_labels(nodes, data, {.folds = 10, .threads = 3}).rows[0].micro.mean);
  CHECK_THROWS_AS(evaluate_node_labels(nodes, data, {.folds = 1}), InvalidArgument);
  CHECK_THROWS_AS(evaluate_node_labels(nodes, data, {.folds = 22}), InvalidArgument);
}
#endif
