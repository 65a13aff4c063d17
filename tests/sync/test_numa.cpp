#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/core/detail/processors.hpp>
#include <wordloom/evaluation/word_tests.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/numa.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "demo_text.hpp"
#include "support.hpp"

using namespace wordloom;
using Nodes = std::vector<std::vector<std::size_t>>;

TEST_CASE("processors are found by their NUMA nodes", "[numa]") {
  const TemporaryFolder folder;
  const auto describe = [&](const std::string& node, const std::string& processors) {
    std::filesystem::create_directories(folder / node);
    std::ofstream(folder / node / "cpulist") << processors << '\n';
  };
  const auto nodes = [&](std::vector<std::size_t> processors) {
    return detail::by_node(std::move(processors), folder.path().string());
  };
  CHECK(nodes({}).empty());
  CHECK(nodes({0, 1, 3}) == Nodes{{0, 1, 3}});  // nothing is described
  describe("node0", "0-1,4-5");
  describe("node2", "2,6-7");
  describe("node10", "8");
  describe("node11", "");                                 // memory alone
  describe("nodes", "0-8");                               // no node
  std::filesystem::create_directories(folder / "node3");  // no list
  CHECK(nodes({0, 1, 2, 3, 4, 5, 6, 7, 8}) == Nodes{{0, 1, 4, 5}, {2, 6, 7}, {8}, {3}});
  CHECK(nodes({1, 6}) == Nodes{{1}, {6}});
  CHECK(nodes({7, 8}) == Nodes{{7}, {8}});
  CHECK(detail::by_node({2, 5}, (folder / "none").string()) == Nodes{{2, 5}});
}

#ifdef __linux__

TEST_CASE("each node trains a replica on its own processors", "[numa][quality]") {
  const auto before = detail::allowed_processors();
  std::size_t count = 0;
  for (const auto& node : detail::numa_nodes()) count += node.size();
  CHECK(count == before.size());

  // As if each half of the processors were a node; one processor is both.
  Nodes nodes{
      {before.begin(), before.begin() + static_cast<std::ptrdiff_t>((before.size() + 1) / 2)},
      {before.begin() + static_cast<std::ptrdiff_t>(before.size() / 2), before.end()}};
  const auto& text = demo_text();
  std::vector<std::optional<Embeddings>> words(2);
  Nodes seen(2), of_threads(2);
  std::vector<std::size_t> counts(2);
  run_on_nodes(nodes, [&](ThreadRanks rank, std::size_t threads) {
    const std::size_t r = rank.rank();
    seen[r] = detail::allowed_processors();
    detail::run_threads(2, [&](std::size_t i) {
      if (i == 1) of_threads[r] = detail::allowed_processors();
    });
    counts[r] = threads;
    Trainer<SharedNegative, FusedKernel, Allreduce<ThreadRanks>, RankScaledDecay> trainer(
        {.dimension = 32, .threads = threads}, Allreduce(rank, {.bytes_per_word = 200}));
    words[r] = trainer.fit(text.corpus, text.vocabulary);
  });
  CHECK(counts == std::vector{nodes[0].size(), nodes[1].size()});
  CHECK(seen == nodes);
  CHECK(of_threads == nodes);
  CHECK(detail::allowed_processors() == before);
  for (WordId word = 0; word < words[0]->size(); ++word)
    for (std::size_t c = 0; c < words[0]->dimension(); ++c)
      REQUIRE(words[0]->vector(word)[c] == words[1]->vector(word)[c]);
  CHECK(evaluate_analogies(*words[0], demo::analogies()).total.accuracy() >= 0.9);
}

TEST_CASE("a node whose processors do not exist is refused", "[numa]") {
  CHECK_THROWS_AS(run_on_nodes({{1000}}, [](ThreadRanks, std::size_t) {}), InvalidArgument);
}

#endif
