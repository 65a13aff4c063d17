#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/algebra.hpp>
#include <wordloom/corpus/encoded_corpus.hpp>

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

bool has_same_bits(const RowMatrix& a, const RowMatrix& b);
bool has_same_bits(const Embeddings& a, const Embeddings& b) {
  return has_same_bits(a.vectors(), b.vectors());
}
bool has_same_bits(const RowMatrix& a, const RowMatrix& b) {
  bool same = a.rows() == b.rows() && a.columns() == b.columns();
  for (std::size_t i = 0; same && i < a.rows(); ++i)
    same = std::ranges::equal(a.row(i), b.row(i), [](float x, float y) {
      return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
    });
  return same;
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

TEST_CASE("graphs whose matrix has few directions have finite vectors, also with extreme weights") {
  std::vector<Graph::Edge> star, loops;
  for (WordId i = 1; i < 60; ++i) star.push_back({0, i, 1});
  for (WordId i = 0; i < 30; ++i)
    for (WordId j = 0; j <= i; ++j) loops.push_back({i, j, 1});
  for (const auto& edges : {star, loops, two_groups(12)})
    for (const float weight : {1.0f, 1e-42f, 3e38f}) {
      auto weighted = edges;
      for (Graph::Edge& edge : weighted) edge.weight = weight;
      const auto graph = Graph::from_edges(weighted,
                                           edges.size() == 133  ? 24
                                           : edges.size() == 59 ? 60
                                                                : 30,
                                           {.weighted = true});
      for_each_method(16, 1, [&](const auto& method) {
        const Embeddings nodes = method.fit(graph);
        bool finite = true;
        for (std::size_t i = 0; i < nodes.size(); ++i)
          for (const float v : nodes.vector(i)) finite = finite && std::isfinite(v);
        CHECK(finite);
        if (edges.size() == 133) CHECK(separation(nodes, 12) > 0.03);
      });
    }
  // As many random signs may span fewer directions.
  const auto pair = Graph::from_edges(std::vector<Graph::Edge>{{0, 1, 1}}, 2);
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

namespace {

/// Sentences of random words, of which word 0 is the most frequent; words 8 and 9 follow each
/// other, and no other word is near them.
std::vector<std::vector<WordId>> random_sentences() {
  Random random(5);
  std::vector<std::vector<WordId>> sentences{{0}, {8, 9, 8, 9}};
  for (int i = 0; i < 300; ++i) {
    auto& sentence = sentences.emplace_back();
    for (std::uint64_t n = 2 + random.below(9); n > 0; --n)
      sentence.push_back(static_cast<WordId>(random.below(1 + random.below(8))));
  }
  return sentences;
}

std::vector<std::vector<std::string>> words_of(const std::vector<std::vector<WordId>>& ids) {
  std::vector<std::vector<std::string>> sentences;
  for (const auto& sentence : ids) {
    auto& words = sentences.emplace_back();
    for (const WordId id : sentence) words.push_back(std::to_string(id));
  }
  return sentences;
}

}  // namespace

TEST_CASE("shifted mutual information is that of all windows, with the same bits by any threads") {
  const auto sentences = words_of(random_sentences());
  const auto vocabulary = Vocabulary::from_sentences(sentences, {.min_count = 1});
  const auto corpus = EncodedCorpus::from_sentences(sentences, vocabulary);
  for (const bool fixed : {false, true})
    for (const double smoothing : {1.0, 0.75}) {
      PmiSvd svd{.dimension = 4,
                 .window = 3,
                 .fixed_window = fixed,
                 .subsample = 0,
                 .smoothing = smoothing,
                 .shift = 1.2,
                 .threads = 1};
      double counts[10][10] = {}, sums[10] = {}, total = 0;
      for (const auto& sentence : sentences)
        for (std::size_t i = 0; i < sentence.size(); ++i)
          for (std::size_t j = 0; j < sentence.size(); ++j) {
            const std::size_t distance = i < j ? j - i : i - j;
            if (distance == 0 || distance > svd.window) continue;
            const double weight = fixed ? 1.0 : static_cast<double>(4 - distance) / 3;
            const WordId a = *vocabulary.find(sentence[i]), b = *vocabulary.find(sentence[j]);
            counts[a][b] += weight;
            sums[a] += weight;
          }
      for (const double sum : sums) total += std::pow(sum, smoothing);
      const auto matrix = svd.matrix(corpus, vocabulary);
      REQUIRE(matrix.rows() == 10);
      for (std::size_t a = 0; a < 10; ++a) {
        double row[10] = {};
        for (std::size_t k = 0; k < matrix.row(a).size(); ++k) {
          CHECK(matrix.values(a)[k] > 0);
          row[matrix.row(a)[k]] = static_cast<double>(matrix.values(a)[k]);
        }
        for (std::size_t b = 0; b < 10; ++b) {
          const double pmi =
              std::log(counts[a][b] * total / sums[a] / std::pow(sums[b], smoothing) / 1.2);
          CHECK(row[b] == Approx((std::max)(0.0, pmi)).margin(1e-5));
        }
      }
      svd.subsample = 0.05;
      const Embeddings words = svd.fit(corpus, vocabulary);
      svd.threads = 2;
      CHECK(has_same_bits(words, svd.fit(corpus, vocabulary)));
    }
}

TEST_CASE("counts of pairs do not depend on the size of the buffers") {
  const auto ids = random_sentences();
  const auto sums_of = [&](std::size_t buffer, std::size_t threads) {
    detail::KeptWords kept;
    for (std::size_t i = 1; i < ids.size(); ++i) {
      auto& part = kept.parts[i % detail::KeptWords::part_count];
      part.insert(part.end(), ids[i].begin(), ids[i].end());
      part.back() |= detail::KeptWords::end_mark;
    }
    const detail::PairCounts counts(std::move(kept), 10, 3, false, threads, {}, buffer);
    std::vector<std::pair<std::uint32_t, std::uint64_t>> all;
    detail::PairCounts::Row row(10);
    for (std::size_t i = 0; i < 10; ++i) {
      counts.add_row(i, row);
      row.take(true, [&](std::uint32_t j, std::uint64_t sum) { all.emplace_back(j, sum); });
    }
    return all;
  };
  const auto all = sums_of(1 << 20, 1);
  CHECK(all.size() > 60);
  CHECK(all == sums_of(1, 1));
  CHECK(all == sums_of(1, 3));
}

TEST_CASE("factors times their transposed are the matrix, and the power is that of its values") {
  const auto sentences = words_of(random_sentences());
  const auto vocabulary = Vocabulary::from_sentences(sentences, {.min_count = 1});
  const auto corpus = EncodedCorpus::from_sentences(sentences, vocabulary);
  PmiSvd svd{.dimension = 10, .smoothing = 1, .power = 1, .threads = 1};
  const auto matrix = svd.matrix(corpus, vocabulary);
  const Embeddings words = svd.fit(corpus, vocabulary);
  // (U S)(U S)^T = M M^T for all singular values.
  for (std::size_t a = 0; a < 10; ++a)
    for (std::size_t b = 0; b < 10; ++b) {
      double of_matrix = 0, of_words = 0;
      for (std::size_t k = 0; k < matrix.row(a).size(); ++k)
        for (std::size_t l = 0; l < matrix.row(b).size(); ++l)
          if (matrix.row(a)[k] == matrix.row(b)[l])
            of_matrix +=
                static_cast<double>(matrix.values(a)[k]) * static_cast<double>(matrix.values(b)[l]);
      for (std::size_t j = 0; j < 10; ++j)
        of_words +=
            static_cast<double>(words.vector(a)[j]) * static_cast<double>(words.vector(b)[j]);
      CHECK(of_words == Approx(of_matrix).margin(1e-3));
    }
}

TEST_CASE("mutual information of wrong corpora and options is refused") {
  const auto sentences = words_of(random_sentences());
  const auto vocabulary = Vocabulary::from_sentences(sentences, {.min_count = 1});
  const auto corpus = EncodedCorpus::from_sentences(sentences, vocabulary);
  PmiSvd svd{.dimension = 11, .threads = 1};
  CHECK_THROWS_WITH(svd.fit(corpus, vocabulary), Catch::Contains("vocabulary has only 10 words"));
  svd.dimension = 2;
  svd.shift = 1e6;
  CHECK_THROWS_WITH(svd.fit(corpus, vocabulary), Catch::Contains("shift is"));
  svd.shift = 1;
  const auto other = Vocabulary::from_sentences(
      std::vector<std::vector<std::string>>{{"x", "y", "z"}}, {.min_count = 1});
  CHECK_THROWS_AS(svd.fit(corpus, other), CorpusError);
  const auto alone = EncodedCorpus::from_sentences(
      std::vector<std::vector<std::string>>{{"1"}, {"2"}}, vocabulary);
  CHECK_THROWS_AS(svd.fit(alone, vocabulary), CorpusError);
  svd.progress = [](double) { throw std::runtime_error("cancelled"); };
  CHECK_THROWS_WITH(svd.fit(corpus, vocabulary), "cancelled");
  svd.smoothing = -1;
  CHECK_THROWS_AS(svd.fit(corpus, vocabulary), InvalidArgument);
}
