#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/sampler/grouped_targets.hpp>
#include <wordloom/sampler/huffman_path.hpp>
#include <wordloom/sampler/huffman_tree.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

/// The sum of the counts of all inner nodes, which every Huffman tree has the same and no other
/// tree less: the sum over words of count x length of path.
std::uint64_t least_weighted_length(const std::vector<std::uint64_t>& counts) {
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> left(
      counts.begin(), counts.end());
  std::uint64_t sum = 0;
  while (left.size() > 1) {
    std::uint64_t node = left.top();
    left.pop();
    node += left.top();
    left.pop();
    left.push(node);
    sum += node;
  }
  return sum;
}

/// A path as branches from the root down: nodes and whether the branch carries label 1.
using Branches = std::vector<std::pair<RowId, bool>>;

Branches branches_of(const TargetSet& path) {
  Branches result;
  for (std::size_t i = 0; i < path.outputs.size(); ++i)
    result.emplace_back(path.outputs[i], i < path.positives);
  std::sort(result.begin(), result.end());  // nodes are numbered from the root down
  return result;
}

void check_tree(const std::vector<std::uint64_t>& counts) {
  const Vocabulary vocabulary = vocabulary_of_counts(counts);
  const detail::HuffmanTree tree(vocabulary);
  const std::size_t words = counts.size();
  REQUIRE(tree.node_count() == words - 1);

  // The child of each branch: a node, or a word behind all nodes.
  std::map<std::pair<RowId, bool>, std::size_t> child;
  std::vector<std::uint64_t> count(2 * words - 1);
  std::size_t longest = 0;
  std::uint64_t weighted_length = 0;
  bool every_branch_has_one_child = true, is_from_the_root_down = true;
  for (WordId word = 0; word < words; ++word) {
    const TargetSet path = tree.path(word);
    const auto positives = path.outputs.first(path.positives),
               others = path.outputs.subspan(path.positives);
    is_from_the_root_down &= std::is_sorted(positives.begin(), positives.end()) &&
                             std::is_sorted(others.begin(), others.end());
    const Branches branches = branches_of(path);
    REQUIRE(branches.front().first == 0);
    REQUIRE(branches.back().first < words - 1);
    for (std::size_t i = 0; i < branches.size(); ++i) {
      const std::size_t next =
          i + 1 < branches.size() ? branches[i + 1].first : words - 1 + std::size_t{word};
      const auto [found, is_new] = child.emplace(branches[i], next);
      every_branch_has_one_child &= found->second == next;
      count[branches[i].first] += counts[word];
    }
    count[words - 1 + word] = counts[word];
    weighted_length += counts[word] * path.outputs.size();
    longest = std::max(longest, path.outputs.size());
  }
  CHECK(is_from_the_root_down);
  CHECK(tree.max_path() == longest);
  CHECK(weighted_length == least_weighted_length(counts));

  // Two branches of each node, which lead to all other nodes and all words, to each once: then no
  // word's path continues where another's ends.
  CHECK(every_branch_has_one_child);
  CHECK(child.size() == 2 * (words - 1));
  std::set<std::size_t> children;
  for (const auto& [branch, to] : child) children.insert(to);
  CHECK(children.size() == 2 * (words - 1));
  CHECK(children.count(0) == 0);

  bool numbers_fall = true, smaller_is_positive = true;
  for (std::size_t node = 0; node + 1 < words; ++node) {
    const auto id = static_cast<RowId>(node);
    numbers_fall &= node == 0 || count[node] <= count[node - 1];
    smaller_is_positive &= count[child.at({id, true})] <= count[child.at({id, false})];
  }
  CHECK(numbers_fall);
  CHECK(smaller_is_positive);
}

std::vector<std::uint64_t> falling(std::vector<std::uint64_t> counts) {
  std::sort(counts.rbegin(), counts.rend());
  return counts;
}

}  // namespace

TEST_CASE("a Huffman tree is an optimal code of the words", "[huffman]") {
  for (const std::size_t words : {2u, 3u, 4u, 5u, 8u, 13u, 64u, 100u})
    check_tree(std::vector<std::uint64_t>(words, 7));
  check_tree({1000, 1});
  check_tree({5, 4, 3, 2, 1});
  check_tree({9, 9, 9, 3, 3, 3, 1, 1, 1});
  const auto zipf = zipf_vocabulary(1000);
  check_tree({zipf.counts().begin(), zipf.counts().end()});
  Random random(3);
  for (int repetition = 0; repetition < 50; ++repetition) {
    std::vector<std::uint64_t> counts(2 + random.below(60));
    const std::uint64_t largest = repetition % 2 == 0 ? 5 : 1'000'000;  // many equal, or few
    for (auto& count : counts) count = 1 + random.below(largest);
    check_tree(falling(counts));
  }
}

TEST_CASE("a Huffman tree may be a chain", "[huffman]") {
  std::vector<std::uint64_t> counts;
  for (int i = 60; i >= 0; --i) counts.push_back(std::uint64_t{1} << i);
  check_tree(counts);
  const detail::HuffmanTree tree(vocabulary_of_counts(counts));
  CHECK(tree.max_path() == 60);
  CHECK(tree.path(0).outputs.size() == 1);
  CHECK(tree.path(60).outputs.size() == 60);
}

TEST_CASE("the rarer of two words has label 1 at the only node", "[huffman]") {
  const detail::HuffmanTree tree(vocabulary_of_counts({20, 10}));
  CHECK(tree.node_count() == 1);
  CHECK(branches_of(tree.path(0)) == Branches{{0, false}});
  CHECK(branches_of(tree.path(1)) == Branches{{0, true}});
}

TEST_CASE("a Huffman tree of one word is refused", "[huffman]") {
  const auto one = vocabulary_of_counts({5});
  CHECK(message_of<CorpusError>([&] { detail::HuffmanTree tree(one); }) ==
        "hierarchical softmax needs a vocabulary of at least 2 words, got 1");
  CHECK_THROWS_AS(HuffmanPath{}.start(one), CorpusError);
  CHECK_THROWS_AS(HuffmanPathAndNegatives{}.start(one), CorpusError);
  CHECK_THROWS_AS(detail::HuffmanTree(Vocabulary()), CorpusError);
}

namespace {

std::vector<RowId> rows_of(const TargetSet& set) {
  return {set.outputs.begin(), set.outputs.end()};
}

/// Calls `check(center, set)` with the targets of all words, drawn together and drawn one by one.
template <class Run, class Check>
void for_each_target_set(const Run& run, std::size_t words, Random& random, Check check) {
  auto worker = run.worker(6, 3);
  for (std::size_t first = 0; first + 3 <= words; first += 3) {
    const std::vector<WordId> centers{static_cast<WordId>(first), static_cast<WordId>(first + 2),
                                      static_cast<WordId>(first + 1)};
    worker.begin_draw(centers, random);
    worker.end_draw(centers, 3, random);
    // Other slots are filled meanwhile.
    for (std::size_t slot = 0; slot < 3; ++slot) worker.draw(centers[slot], slot, random);
    for (std::size_t i = 0; i < 3; ++i) {
      check(centers[i], worker.at(i));
      check(centers[i], worker.at(3 + i));
    }
  }
}

}  // namespace

TEST_CASE("the targets of HuffmanPath without node_sample are the path, and nothing is drawn",
          "[huffman]") {
  const auto vocabulary = zipf_vocabulary(100);
  const detail::HuffmanTree tree(vocabulary);
  const auto run = HuffmanPath{.node_sample = 0}.start(vocabulary);
  CHECK(run.output_rows() == 99);
  CHECK(run.max_outputs() == tree.max_path());
  Random random(4);
  const std::uint64_t before = random.state();
  for_each_target_set(run, 100, random, [&](WordId center, const TargetSet& set) {
    REQUIRE(rows_of(set) == rows_of(tree.path(center)));
    REQUIRE(set.positives == tree.path(center).positives);
  });
  CHECK(random.state() == before);
}

TEST_CASE("HuffmanPath keeps a frequent node with probability sqrt(t / f), the last always",
          "[huffman]") {
  const auto vocabulary = zipf_vocabulary(100);
  const detail::HuffmanTree tree(vocabulary);
  CHECK(tree.share(0) == 1.0);
  for (const double sample : {0.1, 0.01, 1e-9}) {
    const auto run = HuffmanPath{.node_sample = sample}.start(vocabulary);
    Random random(4);
    constexpr int repetitions = 4000;
    for (const WordId center : {0u, 3u, 50u, 99u}) {
      auto worker = run.worker(1, 1);
      const TargetSet path = tree.path(center);
      const auto all = rows_of(path);
      std::map<RowId, int> seen;
      for (int repetition = 0; repetition < repetitions; ++repetition) {
        worker.draw(center, 0, random);
        const TargetSet set = worker.at(0);
        // What is left of the path in its order, with its labels.
        auto at = all.begin();
        for (std::size_t i = 0; i < set.outputs.size(); ++i) {
          at = std::find(at, all.end(), set.outputs[i]);
          REQUIRE(at != all.end());
          REQUIRE((at - all.begin() < static_cast<std::ptrdiff_t>(path.positives)) ==
                  (i < set.positives));
          ++seen[*at++];
        }
      }
      const RowId last = *std::max_element(all.begin(), all.end());
      for (const RowId node : all) {
        const double kept =
            node == last ? 1.0 : std::min(1.0, std::sqrt(sample / tree.share(node)));
        const double expected = kept * repetitions;
        CHECK(std::abs(seen[node] - expected) <= 5 * std::sqrt(expected * (1 - kept)) + 0.1);
      }
    }
  }
}

TEST_CASE("one draw decides for a path: nodes are dropped from the top down", "[huffman]") {
  const auto vocabulary = zipf_vocabulary(100);
  const auto run = HuffmanPath{.node_sample = 0.1}.start(vocabulary);
  auto worker = run.worker(1, 1);
  Random random(5);
  for (int repetition = 0; repetition < 1000; ++repetition) {
    const auto center = static_cast<WordId>(repetition % 100);
    worker.draw(center, 0, random);
    Branches kept = branches_of(worker.at(0)), all = branches_of(run.tree().path(center));
    REQUIRE(kept.size() <= all.size());
    all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(kept.size()));
    REQUIRE(kept == all);
  }
}

TEST_CASE("a group of GroupedHierarchicalSoftmax has the whole path of each of its words",
          "[huffman]") {
  const auto vocabulary = zipf_vocabulary(100);
  const detail::HuffmanTree tree(vocabulary);
  std::vector<WordId> sentence(60);
  for (std::size_t i = 0; i < sentence.size(); ++i)
    sentence[i] = static_cast<WordId>(i * 37 % 100);  // no word twice
  for (const std::size_t group : {1u, 3u, 5u}) {
    const GroupedHierarchicalSoftmax sampler{
        .window = 5, .targets = {.node_sample = 0}, .minibatch = group};
    auto worker = sampler.start(vocabulary).worker();
    for (std::size_t length = 0; length <= sentence.size(); ++length) {
      Random random(length);
      std::size_t center = 0, pairs = 0, examples = 0;
      worker.sample(std::span(sentence).first(length), random, [&](const Block& block) {
        const std::size_t n = block.inputs.size();
        const auto begin = static_cast<std::size_t>(block.inputs.data() - sentence.data());
        REQUIRE(begin == center - std::min(center, sampler.side()));
        std::size_t output = 0, centers = 0;
        for (; output < block.outputs.size(); ++center, ++centers) {
          const TargetSet path = tree.path(sentence[center]);
          for (std::size_t i = 0; i < path.outputs.size(); ++i, ++output) {
            REQUIRE(block.outputs[output] == path.outputs[i]);
            for (std::size_t j = 0; j < n; ++j)
              REQUIRE(block.weights.values[output * n + j] == (begin + j == center  ? 0.0f
                                                               : i < path.positives ? 1.0f
                                                                                    : -1.0f));
          }
        }
        REQUIRE(centers <= group);
        REQUIRE(begin + n == std::min(length, center + sampler.side()));
        pairs += centers * (n - 1);
        examples += block.examples;
      });
      REQUIRE(center == (length < 2 ? 0 : length));  // each word was a centre once
      REQUIRE(examples == pairs);
    }
  }
  CHECK_THROWS_AS((GroupedHierarchicalSoftmax{.window = 5, .minibatch = 6}.start(vocabulary)),
                  InvalidArgument);
}

TEST_CASE("HuffmanPathAndNegatives has nodes in odd rows and words in even ones", "[huffman]") {
  const auto vocabulary = zipf_vocabulary(100);
  const detail::HuffmanTree tree(vocabulary);
  const HuffmanPathAndNegatives targets{.path = {.node_sample = 0}, .sampling = {.negatives = 4}};
  const auto run = targets.start(vocabulary);
  CHECK(run.output_rows() == 2 * 100 - 1);
  CHECK(run.max_outputs() == tree.max_path() + 5);
  Random random(4);
  std::set<RowId> negatives;
  for (int repetition = 0; repetition < 20; ++repetition)
    for_each_target_set(run, 100, random, [&](WordId center, const TargetSet& set) {
      const TargetSet path = tree.path(center);
      std::vector<RowId> expected, got = rows_of(set);
      for (std::size_t i = 0; i < path.positives; ++i) expected.push_back(2 * path.outputs[i] + 1);
      expected.push_back(2 * center);
      REQUIRE(set.positives == expected.size());
      for (std::size_t i = path.positives; i < path.outputs.size(); ++i)
        expected.push_back(2 * path.outputs[i] + 1);
      REQUIRE(got.size() == expected.size() + 4);
      for (std::size_t i = expected.size(); i < got.size(); ++i) {
        REQUIRE(got[i] % 2 == 0);
        REQUIRE(got[i] < 200);
        REQUIRE(got[i] != 2 * center);
        negatives.insert(got[i]);
      }
      got.resize(expected.size());
      REQUIRE(got == expected);
    });
  CHECK(negatives.size() > 80);
}

TEST_CASE("a negative is never the centre, even if the centre is very frequent", "[negatives]") {
  for (const std::vector<std::uint64_t>& counts :
       {std::vector<std::uint64_t>{1'000'000'000, 2, 1}, {7, 6, 5, 4, 3, 2}, {3, 3, 3}}) {
    const auto vocabulary = vocabulary_of_counts(counts);
    const NegativeSampling words{.negatives = 5, .exponent = 1.0};
    const auto run = words.start(vocabulary);
    CHECK(run.output_rows() == counts.size());
    CHECK(run.max_outputs() == 6);
    const auto both = HuffmanPathAndNegatives{.sampling = words}.start(vocabulary);
    Random random(8);
    for (int repetition = 0; repetition < 300; ++repetition) {
      for_each_target_set(run, counts.size(), random, [&](WordId center, const TargetSet& set) {
        const auto rows = rows_of(set);
        REQUIRE(rows.size() == 6);
        REQUIRE(set.positives == 1);
        REQUIRE(rows[0] == center);
        REQUIRE(std::count(rows.begin(), rows.end(), center) == 1);
      });
      for_each_target_set(both, counts.size(), random, [&](WordId center, const TargetSet& set) {
        const auto rows = rows_of(set);
        REQUIRE(std::count(rows.begin(), rows.end(), 2 * center) == 1);
      });
    }
  }
}
