#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/algebra.hpp>

#include "algebra/same_bits.hpp"
#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

RowMatrix random_rows(std::size_t rows, std::size_t columns, std::uint64_t seed = 1) {
  RowMatrix result(rows, columns);
  Random random(seed);
  for (std::size_t i = 0; i < rows; ++i)
    for (float& v : result.row(i)) v = static_cast<float>(random.uniform() * 2 - 1);
  return result;
}

/// A matrix with a full row, empty rows, and others of random length.
SparseMatrix random_matrix(std::size_t rows, std::size_t columns, bool has_values) {
  Random random(7);
  std::vector<std::uint64_t> ends;
  std::vector<std::uint32_t> entries;
  std::vector<float> values;
  for (std::size_t i = 0; i < rows; ++i) {
    const double share = i == 1 ? 1 : i % 3 == 2 ? 0 : 0.2;
    for (std::uint32_t j = 0; j < columns; ++j)
      if (random.uniform() < share) {
        entries.push_back(j);
        if (has_values) values.push_back(static_cast<float>(random.uniform() - 0.3));
      }
    ends.push_back(entries.size());
  }
  return SparseMatrix(std::move(ends), std::move(entries), std::move(values), columns);
}

/// Two groups of `size` nodes, each with edges between all, and one edge between the groups.
std::vector<Graph::Edge> two_groups(WordId size) {
  std::vector<Graph::Edge> edges{{0, size, 1}};
  for (WordId group = 0; group < 2; ++group)
    for (WordId i = 0; i < size; ++i)
      for (WordId j = 0; j < i; ++j) edges.push_back({group * size + i, group * size + j, 1});
  return edges;
}

/// The mean cosine of two nodes of one of two_groups minus that of nodes of both.
double separation(const Embeddings& nodes, std::size_t size) {
  double inside = 0, between = 0;
  for (std::size_t i = 1; i < size; ++i)
    for (std::size_t j = 1; j < size; ++j) {
      const auto name = [](std::size_t n) { return std::to_string(n); };
      if (i != j) inside += static_cast<double>(nodes.similarity(name(i), name(j)));
      between += static_cast<double>(nodes.similarity(name(i), name(size + j)));
    }
  const auto count = static_cast<double>(size - 1);
  return inside / (count * (count - 1)) - between / (count * count);
}

/// Calls `use` with each method, of this dimension and number of threads.
template <class Use>
void for_each_method(std::size_t dimension, std::size_t threads, Use&& use) {
  use(ProNE{.dimension = dimension, .threads = threads});
  use(Cleora{.dimension = dimension, .iterations = 10, .threads = threads});
  use(LightNE{.dimension = dimension, .window = 4, .samples = 40000, .threads = threads});
}

}  // namespace

TEST_CASE("a sparse product is that of double precision, with the same bits by any threads") {
  for (const bool has_values : {false, true})
    for (const std::size_t dimension : {1u, 16u, 33u, 144u, 300u}) {
      const auto a = random_matrix(70, 50, has_values);
      const RowMatrix x = random_rows(50, dimension);
      const RowMatrix y = a.multiply(x, 1);
      double largest = 0;
      for (std::size_t i = 0; i < a.rows(); ++i)
        for (std::size_t j = 0; j < dimension; ++j) {
          double sum = 0;
          for (std::size_t k = 0; k < a.row(i).size(); ++k)
            sum += (has_values ? static_cast<double>(a.values(i)[k]) : 1.0) *
                   static_cast<double>(x.row(a.row(i)[k])[j]);
          largest = (std::max)(largest, std::abs(sum - static_cast<double>(y.row(i)[j])));
        }
      CHECK(largest < 2e-5);
      CHECK(has_same_bits(y, a.multiply(x, 3)));
    }
}

TEST_CASE("a matrix transposed twice is the same, and one with wrong arrays is refused") {
  const auto a = random_matrix(30, 20, true);
  const auto b = a.transposed().transposed();
  REQUIRE(b.rows() == 30);
  for (std::size_t i = 0; i < 30; ++i) {
    CHECK(std::ranges::equal(a.row(i), b.row(i)));
    CHECK(std::ranges::equal(a.values(i), b.values(i)));
  }
  CHECK_THROWS_AS(SparseMatrix({1}, {5}, {}, 5), InvalidArgument);
  CHECK_THROWS_AS(SparseMatrix({2, 1}, {0, 1}, {}, 5), InvalidArgument);
  CHECK_THROWS_AS(SparseMatrix({1}, {0, 1}, {}, 5), InvalidArgument);
  CHECK_THROWS_AS(SparseMatrix({1}, {0}, {1, 2}, 5), InvalidArgument);
  CHECK_THROWS_AS(a.multiply(RowMatrix(30, 4)), InvalidArgument);
}

TEST_CASE("columns become orthonormal, and those that depend on others zeros") {
  RowMatrix x = random_rows(600, 24);
  for (std::size_t i = 0; i < x.rows(); ++i) {
    x.row(i)[5] = x.row(i)[1] - 2 * x.row(i)[2];
    x.row(i)[9] = x.row(i)[3] + 1e-4f * x.row(i)[9];  // nearly dependent: it stays
  }
  RowMatrix y = x.copy();
  detail::orthonormalise(x, 3, 1);
  detail::orthonormalise(y, 3, 2);
  CHECK(has_same_bits(x, y));
  const auto g = detail::gram(x, 1);
  for (std::size_t i = 0; i < 24; ++i)
    for (std::size_t j = 0; j < 24; ++j)
      CHECK(g(i, j) == Approx(i == j && i != 5 ? 1.0 : 0.0).margin(1e-4));
}

TEST_CASE("singular values of a path are those of the formula, and its vectors satisfy them") {
  const std::size_t nodes = 60, rank = 12;
  std::vector<Graph::Edge> edges;
  for (WordId i = 0; i + 1 < nodes; ++i) edges.push_back({i, i + 1, 1});
  const auto a = SparseMatrix::of(Graph::from_edges(edges, nodes));
  const detail::Product multiply = [&](RowMatrix& y, const RowMatrix& x) {
    a.multiply_into(y, x, 1);
  };
  const auto svd = detail::truncated_svd({nodes, nodes, multiply, multiply},
                                         {.rank = rank, .iterations = 30, .threads = 1});
  for (std::size_t k = 0; k < rank; ++k)  // they come in pairs
    CHECK(
        svd.values[k] ==
        Approx(2 * std::cos(static_cast<double>(k / 2 + 1) * std::numbers::pi / 61)).margin(1e-3));
  const RowMatrix image = a.multiply(a.multiply(svd.left));
  for (std::size_t i = 0; i < nodes; ++i)
    for (std::size_t k = 0; k < rank; ++k)
      CHECK(static_cast<double>(image.row(i)[k]) ==
            Approx(svd.values[k] * svd.values[k] * static_cast<double>(svd.left.row(i)[k]))
                .margin(3e-3));
  CHECK_THROWS_AS(detail::truncated_svd({nodes, 5, multiply, multiply}, {.rank = 6}),
                  InvalidArgument);
}

TEST_CASE("the sampled matrix is that of all walks") {
  const auto graph = Graph::from_edges(
      std::vector<Graph::Edge>{{0, 1, 1}, {0, 2, 3}, {1, 2, 1}, {2, 3, 2}, {3, 3, 1}}, 4,
      {.weighted = true});
  const auto a = SparseMatrix::of(graph);
  const auto degrees = a.row_sums();
  constexpr std::size_t window = 3;
  double exact[4][4] = {}, power[4][4] = {}, volume = 0;
  for (std::size_t i = 0; i < 4; ++i) power[i][i] = 1, volume += degrees[i];
  for (std::size_t r = 0; r < window; ++r) {
    double next[4][4] = {};
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t k = 0; k < a.row(i).size(); ++k)
        for (std::size_t j = 0; j < 4; ++j)
          next[i][j] += static_cast<double>(a.values(i)[k]) / degrees[i] * power[a.row(i)[k]][j];
    std::copy(&next[0][0], &next[0][0] + 16, &power[0][0]);
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 4; ++j) exact[i][j] += power[i][j] / degrees[j] / window;
  }
  const auto sampled = [&](std::size_t threads) {
    return detail::sampled_walk_matrix(
        a, degrees,
        {.window = window, .samples = 2e5, .negatives = 0.25, .seed = 3, .threads = threads}, {});
  };
  const auto matrix = sampled(1), again = sampled(2);
  for (std::size_t i = 0; i < 4; ++i) {
    REQUIRE(matrix.row(i).size() == 4);
    for (std::size_t k = 0; k < 4; ++k)
      CHECK(std::exp(static_cast<double>(matrix.values(i)[k])) ==
            Approx(4 * volume * exact[i][matrix.row(i)[k]]).epsilon(0.03));
    CHECK(std::ranges::equal(matrix.values(i), again.values(i)));
  }
}

TEST_CASE("each method tells two groups apart, with the same bits by one thread and by two") {
  constexpr WordId size = 12;
  auto edges = two_groups(size);
  edges.push_back({1, 1, 1});                                                    // a self-loop
  for (const WordId other : {24u, 26u}) edges.push_back({other, other + 1, 1});  // other parts
  for (const bool directed : {false, true})
    for (const bool weighted : {false, true}) {
      const auto graph = Graph::from_edges(
          edges, 30, {.directed = directed, .weighted = weighted, .isolated_nodes = true});
      for_each_method(4, 1, [&](auto method) {
        const Embeddings nodes = method.fit(graph);
        CHECK(separation(nodes, size) > 0.5);
        for (std::size_t i = 0; i < nodes.size(); ++i)
          CHECK(std::ranges::all_of(nodes.vector(i), [](float v) { return std::isfinite(v); }));
        method.threads = 2;
        CHECK(has_same_bits(nodes, method.fit(graph)));
      });
    }
}

TEST_CASE("a step of Cleora is that of pycleora's matrix") {
  struct Case {
    std::vector<Graph::Edge> edges;
    double matrix[3][3];  // pycleora 3.2.1, SparseMatrix.to_sparse_csr("left")
  };
  const Case cases[]{
      {{{0, 1, 1}, {0, 2, 1}}, {{.5, .25, .25}, {.5, .5, 0}, {.5, 0, .5}}},
      {{{0, 1, 1}, {0, 2, 1}, {0, 0, 1}}, {{.75, .125, .125}, {.5, .5, 0}, {.5, 0, .5}}},
      {{{0, 1, 1}, {0, 2, 2}, {2, 2, 1}}, {{.5, 1. / 6, 1. / 3}, {.5, .5, 0}, {.25, 0, .75}}}};
  for (const Case& c : cases) {
    const auto graph = Graph::from_edges(c.edges, 3, {.weighted = true});
    const Embeddings nodes =
        Cleora{.dimension = 3, .iterations = 1, .whitens = false, .seed = 4}.fit(graph);
    RowMatrix start(3, 3);
    detail::fill_signs(start, 4, 1);
    for (std::size_t i = 0; i < 3; ++i) {
      double step[3] = {}, length = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        for (std::size_t j = 0; j < 3; ++j)
          step[k] +=
              c.matrix[i][j] *
              static_cast<double>(start.row(graph.vocabulary().find(std::to_string(j)).value())[k]);
        length += step[k] * step[k];
      }
      for (std::size_t k = 0; k < 3; ++k)
        CHECK(nodes[std::to_string(i)][k] == Approx(step[k] / std::sqrt(length)).margin(1e-6));
    }
  }
}

TEST_CASE("nodes without an edge have zeros and do not change what others get") {
  const auto edges = two_groups(8);
  const auto all = Graph::from_edges(edges, 16);
  const auto more = Graph::from_edges(edges, 40, {.isolated_nodes = true});
  const Cleora cleora{.dimension = 6, .iterations = 5};
  const Embeddings expected = cleora.fit(all), nodes = cleora.fit(more);
  for (std::size_t i = 0; i < 40; ++i) {
    const auto vector = nodes[std::to_string(i)];
    if (i < 16)
      CHECK(std::ranges::equal(vector, expected[std::to_string(i)]));
    else
      CHECK(std::ranges::all_of(vector, [](float v) { return v == 0; }));
  }
}

TEST_CASE("graphs whose matrix has few directions have finite vectors, also with extreme weights") {
  std::vector<Graph::Edge> star, loops;
  for (WordId i = 1; i < 60; ++i) star.push_back({0, i, 1});
  for (WordId i = 0; i < 30; ++i)
    for (WordId j = 0; j <= i; ++j) loops.push_back({i, j, 1});
  for (const auto& edges : {star, two_groups(12)})
    for (const float weight : {1.0f, 1e-42f, 3e38f}) {
      auto weighted = edges;
      for (Graph::Edge& edge : weighted) edge.weight = weight;
      const auto graph =
          Graph::from_edges(weighted, edges.size() == 133 ? 24 : 60, {.weighted = true});
      for_each_method(16, 1, [&](const auto& method) {
        const Embeddings nodes = method.fit(graph);
        bool finite = true;
        for (std::size_t i = 0; i < nodes.size(); ++i)
          for (const float v : nodes.vector(i)) finite = finite && std::isfinite(v);
        CHECK(finite);
        if (edges.size() == 133) CHECK(separation(nodes, 12) > 0.03);
      });
    }
  // Where all have the same neighbours, ProNE's matrix is 0; Cleora keeps half of the own vector.
  CHECK_THROWS_WITH(ProNE{.dimension = 16}.fit(Graph::from_edges(loops, 30)),
                    Catch::Contains("factorisation: all vectors are the same"));
  const Embeddings same = Cleora{.dimension = 16}.fit(Graph::from_edges(loops, 30));
  for (std::size_t i = 0; i < 30; ++i)
    CHECK(std::ranges::any_of(same.vector(i), [](float v) { return std::abs(v) > 0.01f; }));
  // As many random signs may span fewer directions.
  const auto pair = Graph::from_edges(std::vector<Graph::Edge>{{0, 1, 1}}, 2);
  CHECK_THROWS_AS(Cleora{.dimension = 2}.fit(pair), CorpusError);
  CHECK(ProNE{.dimension = 2}.fit(pair).similarity("0", "1") > 0.99f);
}

TEST_CASE("graphs without edges and dimensions above the number of nodes are refused") {
  const auto empty = Graph::from_edges(std::vector<Graph::Edge>{}, 5, {.isolated_nodes = true});
  const auto small = Graph::from_edges(two_groups(3), 6);
  for_each_method(4, 1, [&](auto method) {
    CHECK_THROWS_AS(method.fit(empty), CorpusError);
    method.dimension = 7;
    CHECK_THROWS_WITH(method.fit(small),
                      Catch::Contains("dimension is 7") && Catch::Contains("only 6 nodes"));
    method.dimension = 6;
    CHECK(method.fit(small).dimension() == 6);
    method.progress = [](double) { throw std::runtime_error("cancelled"); };
    CHECK_THROWS_WITH(method.fit(small), "cancelled");
  });
  CHECK_THROWS_AS((LightNE{.dimension = 4, .samples = 1000, .memory = 1000}.fit(small)),
                  InvalidArgument);
}

TEST_CASE("propagation brings the vectors of neighbours together") {
  const auto graph = Graph::from_edges(two_groups(12), 24);
  const Embeddings random(graph.vocabulary().words(), random_rows(24, 8));
  const Embeddings nodes = propagate(graph, random);
  CHECK(separation(nodes, 12) > separation(random, 12) + 0.3);
  CHECK(has_same_bits(nodes, propagate(graph, random, {.threads = 2})));
  const Embeddings few(WordList::from(std::vector<std::string>{"1", "2"}), random_rows(2, 8));
  CHECK_THROWS_WITH(propagate(graph, few), Catch::Contains("has no vector"));
  RowMatrix broken = random_rows(24, 8);
  broken.row(5)[3] = NAN;
  const Embeddings unknown(graph.vocabulary().words(), std::move(broken));
  CHECK_THROWS_WITH(propagate(graph, unknown), Catch::Contains("contains nan"));
  CHECK_THROWS_WITH(extend(graph, unknown), Catch::Contains("not finite"));
}

TEST_CASE("new nodes get the vectors of their neighbours, also through other new nodes") {
  const auto graph = Graph::from_edges(
      std::vector<Graph::Edge>{{0, 1, 1}, {0, 2, 3}, {2, 3, 1}, {3, 4, 1}, {5, 6, 1}}, 7,
      {.directed = true, .weighted = true});
  RowMatrix old(2, 2);
  old.row(0)[0] = 2;
  old.row(1)[1] = 4;
  const Embeddings known(WordList::from(std::vector<std::string>{"1", "2"}), std::move(old));
  const Embeddings nodes = extend(graph, known);
  // (1 * (2, 0) + 3 * (0, 4)) / 4, scaled from its length to (1 * 2 + 3 * 4) / 4.
  const double length = std::hypot(0.5, 3.0);
  CHECK(nodes["0"][0] == Approx(0.5 * 3.5 / length));
  CHECK(nodes["0"][1] == Approx(3.0 * 3.5 / length));
  CHECK(nodes["2"][1] == 4);
  CHECK(nodes["4"][1] > 3.9f);
  CHECK(nodes["5"][0] == 0);
  CHECK(has_same_bits(nodes, extend(graph, known, 5, 2)));
  CHECK_THROWS_AS(
      extend(graph, Embeddings(WordList::from(std::vector<std::string>{"x"}), RowMatrix(1, 2))),
      CorpusError);
}
