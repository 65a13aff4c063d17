#include <wordloom/core/detail/abi.hpp>
#if WORDLOOM_HAS_HNSWLIB
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/core/detail/section_file.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/nearest_index.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

/// Words around `clusters` centres; word 5 has a vector of zeros.
Embeddings clustered(std::size_t size, std::size_t dimension, std::size_t clusters,
                     std::uint64_t seed = 1) {
  Random random(seed);
  const auto noise = [&](float scale) {
    return static_cast<float>(random.uniform() + random.uniform() - 1.0) * scale;
  };
  RowMatrix centres(clusters, dimension), vectors(size, dimension);
  for (std::size_t c = 0; c < clusters; ++c)
    for (float& x : centres.row(c)) x = noise(1);
  WordList words;
  for (std::size_t i = 0; i < size; ++i) {
    words.append("w" + std::to_string(i));
    const float length = 1 + noise(0.5f);
    for (std::size_t d = 0; d < dimension; ++d)
      vectors.row(i)[d] = i == 5 ? 0 : length * (centres.row(i % clusters)[d] + noise(0.4f));
  }
  return {std::move(words), std::move(vectors)};
}

/// The k rows of the highest cosines with row `query`, in the plainest code.
std::vector<std::size_t> plain_nearest(const Embeddings& words, std::size_t query, std::size_t k) {
  const auto dot = [](std::span<const float> a, std::span<const float> b) {
    double sum = 0;
    for (std::size_t d = 0; d < a.size(); ++d)
      sum += static_cast<double>(a[d]) * static_cast<double>(b[d]);
    return sum;
  };
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (const double length = dot(words[i], words[i]); i != query && length > 0)
      order.emplace_back(-dot(words[i], words[query]) / std::sqrt(length), i);
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < std::min(k, order.size()); ++i) rows.push_back(order[i].second);
  return rows;
}

void check_equal(const std::vector<Neighbour>& a, const std::vector<Neighbour>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].word == b[i].word);
    CHECK(a[i].score == b[i].score);
  }
}

}  // namespace

TEST_CASE("an index finds nearly all neighbours, with the scores of the exact search", "[index]") {
  const auto words = clustered(3000, 20, 60);
  const NearestIndex index(words, {.threads = 1});
  CHECK(index.size() == 2999);
  std::size_t right = 0, all = 0;
  for (std::size_t query = 0; query < words.size(); query += 101) {
    const auto found = index.most_similar(words.word(query));
    REQUIRE(found.size() == 10);
    for (const std::size_t row : plain_nearest(words, query, 10)) {
      ++all;
      right += std::ranges::any_of(found, [&](auto& n) { return n.word == words.word(row); });
    }
    const auto exact = words.most_similar(words.word(query), 200);
    for (const Neighbour& neighbour : found)
      CHECK(std::ranges::any_of(exact, [&](const Neighbour& other) {
        return other.word == neighbour.word && other.score == neighbour.score;
      }));
    CHECK(std::ranges::is_sorted(found, std::greater(), &Neighbour::score));
  }
  CHECK(static_cast<double>(right) >= 0.97 * static_cast<double>(all));
  CHECK(index.recall() >= 0.97);
  const NearestIndex poor(words, {.connections = 2, .build_search = 1, .threads = 1});
  CHECK(poor.recall(10, 50, 1) < 0.9);
  CHECK(poor.recall(10, 200, 500) > poor.recall(10, 200, 1));
  check_equal(index.most_similar(words["w7"], 5), words.most_similar(words["w7"], 5));
  const auto each = index.most_similar_each({"w1", "w2"}, 4, 0, 2);
  REQUIRE(each.size() == 2);
  check_equal(each[1], index.most_similar("w2", 4));
}

TEST_CASE("one thread builds the same index each time, several build one as good", "[index]") {
  const auto words = clustered(1500, 12, 30);
  const TemporaryFolder folder;
  const auto bytes = [&](const NearestIndex::Options& options) {
    NearestIndex(words, options).save(folder / "index");
    return read_file(folder / "index");
  };
  const std::string first = bytes({.threads = 1});
  CHECK(bytes({.threads = 1}) == first);
  CHECK(bytes({.seed = 2, .threads = 1}) != first);
  CHECK(first.size() < 1500 * (4 * 40 + 8) + 200);  // links, no vectors
  CHECK(NearestIndex(words, {.threads = 3}).recall() >= 0.97);
}

TEST_CASE("a loaded index gives the answers of the one that was saved", "[index]") {
  const auto words = clustered(2000, 33, 10);
  const TemporaryFolder folder;
  const NearestIndex index(words, {.connections = 5, .search = 20, .threads = 2});
  index.save(folder / "index");
  const auto loaded = NearestIndex::load(folder / "index", words);
  CHECK(loaded.size() == index.size());
  CHECK(loaded.options().connections == 5);
  CHECK(loaded.options().search == 20);
  for (std::size_t i = 0; i < words.size(); i += 97)
    check_equal(loaded.most_similar(words.word(i)), index.most_similar(words.word(i)));
  loaded.save(folder / "again");
  CHECK(read_file(folder / "again") == read_file(folder / "index"));
}

TEST_CASE("an index of other vectors is refused by name", "[index]") {
  const TemporaryFolder folder;
  const std::string path = (folder / "index").string();
  NearestIndex(clustered(50, 6, 3), {.threads = 1}).save(path);
  CHECK(message_of<InvalidArgument>([&] {
          return NearestIndex::load(path, clustered(50, 6, 3, 2));
        }) == "'" + path + "' is the index of other vectors: build an index of these");
  CHECK(message_of<InvalidArgument>([&] {
          return NearestIndex::load(path, clustered(51, 6, 3));
        }) == "'" + path +
                  "' is the index of 50 vectors of dimension 6, these are 51 of dimension 6: build "
                  "an index of these");
  CHECK_THROWS_AS(NearestIndex::load(folder / "none", clustered(50, 6, 3)), IoError);
}

TEST_CASE("a damaged index is refused", "[index]") {
  const auto words = clustered(12, 3, 2);
  const TemporaryFolder folder;
  NearestIndex(words, {.connections = 2, .threads = 1}).save(folder / "index");
  const std::string whole = read_file(folder / "index");
  std::size_t refused = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 4);
    for (const std::string& bytes : {changed, whole.substr(0, i)}) {
      write_file(folder / "damaged", bytes);
      try {
        static_cast<void>(NearestIndex::load(folder / "damaged", words));
      } catch (const FormatError&) {
        ++refused;
      }
    }
  }
  CHECK(refused == 2 * whole.size());
  write_file(folder / "damaged", "wordloom nearest index 2\n");
  CHECK(contains(
      message_of<FormatError>([&] { return NearestIndex::load(folder / "damaged", words); }),
      "newer version"));
  write_file(folder / "damaged", whole + "x");
  CHECK_THROWS_AS(NearestIndex::load(folder / "damaged", words), FormatError);
}

TEST_CASE("links that no index has are refused, whatever their checksums", "[index]") {
  const auto words = clustered(4, 3, 1);
  const TemporaryFolder folder;
  NearestIndex(words, {.connections = 2, .threads = 1}).save(folder / "index");
  detail::SectionReader reader(folder / "index", "wordloom nearest index 1");
  const auto numbers = reader.numbers();
  // Points, levels and links of four points in a ring.
  const auto load = [&](std::uint64_t entry, const std::vector<WordId>& rows,
                        const std::string& levels, const std::string& counts,
                        const std::vector<std::uint32_t>& links) {
    const auto text = [](const auto& list) {
      return std::string_view(reinterpret_cast<const char*>(list.data()), list.size() * 4);
    };
    detail::SectionWriter file(folder / "made", "wordloom nearest index 1");
    file.numbers(numbers);
    file.numbers(std::vector<std::uint64_t>{entry});
    file.text(text(rows));
    file.text(levels);
    file.text(counts);
    file.text(text(links));
    file.commit();
    return NearestIndex::load(folder / "made", words).most_similar("w0", 3).size();
  };
  using namespace std::string_literals;
  const std::vector<WordId> rows{0, 1, 2, 3};
  CHECK(load(0, rows, "\0\0\0\0"s, "\1\1\1\1", {1, 2, 3, 0}) == 3);
  CHECK(load(0, rows, "\1\0\0\1"s, "\1\1\1\1\1\1", {1, 3, 2, 3, 0, 0}) == 3);
  CHECK_THROWS_AS(load(4, rows, "\0\0\0\0"s, "\1\1\1\1", {1, 2, 3, 0}), FormatError);
  CHECK_THROWS_AS(load(0, {0, 1, 2, 4}, "\0\0\0\0"s, "\1\1\1\1", {1, 2, 3, 0}), FormatError);
  CHECK_THROWS_AS(load(0, {0, 1, 2, 2}, "\0\0\0\0"s, "\1\1\1\1", {1, 2, 3, 0}), FormatError);
  CHECK_THROWS_AS(load(0, {0, 1, 2}, "\0\0\0\0"s, "\1\1\1\1", {1, 2, 3, 0}), FormatError);
  CHECK_THROWS_AS(load(0, rows, "\0\0\0"s, "\1\1\1\1", {1, 2, 3, 0}), FormatError);
  CHECK_THROWS_AS(load(0, rows, "\0\0\0\1"s, "\1\1\1\1\1", {1, 2, 3, 0, 0}), FormatError);
  CHECK_THROWS_AS(load(0, rows, "\0\0\0\0"s, "\1\1\1\1", {1, 2, 3, 4}), FormatError);
  CHECK_THROWS_AS(load(0, rows, "\0\0\0\0"s, "\1\1\1\1", {1, 2, 3}), FormatError);
  CHECK_THROWS_AS(load(0, rows, "\0\0\0\0"s, "\1\1\1", {1, 2, 3}), FormatError);
  CHECK_THROWS_AS(load(0, rows, "\0\0\0\0"s, "\1\1\1\1\1", {1, 2, 3, 0, 1}), FormatError);
  CHECK_THROWS_AS(load(0, rows, "\0\0\0\0"s, "\5\1\1\1", {1, 1, 1, 1, 1, 2, 3, 0}), FormatError);
  // A link at a level that its end does not have.
  CHECK_THROWS_AS(load(0, rows, "\1\0\0\1"s, "\1\1\1\1\1\1", {1, 1, 2, 3, 0, 0}), FormatError);
}

TEST_CASE("an index answers from few words, zeros and equal vectors", "[index]") {
  const auto words = clustered(30, 4, 3);
  const NearestIndex index(words, {.threads = 1});
  CHECK(index.most_similar("w0", 100).size() == 28);  // without itself and the word of zeros
  CHECK(index.most_similar("w0", 0).empty());
  check_equal(index.most_similar("w5", 3), words.most_similar("w5", 3));
  const std::vector<float> zeros(4);
  check_equal(index.most_similar(zeros, 3), words.most_similar(zeros, 3));
  CHECK_THROWS_AS(index.most_similar("w30"), UnknownWord);
  CHECK_THROWS_AS(index.most_similar(std::vector<float>(5), 3), InvalidArgument);
  CHECK_THROWS_AS(index.recall(0), InvalidArgument);

  const TemporaryFolder folder;
  const auto made = [&](std::size_t size, float value) {
    RowMatrix vectors(size, 2);
    WordList list;
    for (std::size_t i = 0; i < size; ++i) {
      list.append("w" + std::to_string(i));
      vectors.row(i)[0] = value;
    }
    const Embeddings same(std::move(list), std::move(vectors));
    NearestIndex(same, {.threads = 1}).save(folder / "index");
    return NearestIndex::load(folder / "index", same);
  };
  // Rows of one word are asked as rows, also where the first has zeros.
  const Embeddings some = clustered(400, 8, 20);
  WordList repeated;
  for (std::size_t i = 0; i < 400; ++i) repeated.append("w" + std::to_string(i % 40));
  const NearestIndex twice(Embeddings(repeated, some.vectors().copy(400)), {.threads = 1});
  CHECK(twice.recall(10, 400, 400) == NearestIndex(some, {.threads = 1}).recall(10, 400, 400));
  CHECK(twice.recall(10, 400, 400) > 0.99);
  CHECK(made(1, 1).most_similar("w0").empty());
  CHECK(made(300, 1).most_similar("w0").size() == 10);
  CHECK(made(3, 0).size() == 0);
  CHECK(made(3, 0).most_similar(std::vector<float>{1, 2}).empty());
  CHECK_THROWS_AS(made(3, 0).recall(), InvalidArgument);
  CHECK(contains(
      message_of<InvalidArgument>([&] { made(2, std::numeric_limits<float>::quiet_NaN()); }),
      "the vector of 'w0' contains a number that is not finite"));
  CHECK_THROWS_AS(made(2, std::numeric_limits<float>::infinity()), InvalidArgument);
  CHECK_THROWS_AS(made(2, 1e-42f), InvalidArgument);
  CHECK(contains(message_of<InvalidArgument>([&] { NearestIndex(words, {.connections = 1}); }),
                 "connections is 1, must be from 2 to 100"));
  CHECK_THROWS_AS(NearestIndex(words, {.search = 0}), InvalidArgument);
}
#endif
