#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>
#include <wordloom/corpus/subsampling.hpp>
#include <wordloom/sampler/hogwild.hpp>
#include <wordloom/sampler/negative_sampling.hpp>
#include <wordloom/sampler/shared_negative.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "statistics.hpp"

using namespace wordloom;

namespace {

struct Taken {
  std::vector<WordId> inputs, outputs;
  std::size_t positives;
  bool in_turn;
  friend bool operator==(const Taken&, const Taken&) = default;
};

/// The blocks that a new worker makes of a sentence.
template <class Run>
std::vector<Taken> blocks_of(const Run& run, const std::vector<WordId>& sentence,
                             std::uint64_t seed) {
  std::vector<Taken> taken;
  Random random(seed);
  auto worker = run.worker();
  const Block::Shape most = worker.max_block();
  CHECK(most.members == 0);
  worker.sample(sentence, random, [&](const Block& block) {
    CHECK(block.inputs.size() <= most.inputs);
    CHECK(block.outputs.size() <= most.outputs);
    CHECK(block.bag_ends.empty());
    CHECK(block.weights.empty());
    CHECK(block.examples == block.inputs.size());
    CHECK(block.update == Block::Sides::both);
    taken.push_back({{block.inputs.begin(), block.inputs.end()},
                     {block.outputs.begin(), block.outputs.end()},
                     block.positives,
                     block.in_turn});
  });
  return taken;
}

std::vector<WordId> sentence_of(std::size_t length, std::size_t words = 50) {
  std::vector<WordId> sentence;
  for (std::size_t i = 0; i < length; ++i) sentence.push_back(static_cast<WordId>((7 * i) % words));
  return sentence;
}

const std::vector<std::size_t> lengths{0, 1, 2, 3, 5, 6, 10, 11, 12, 100};

}  // namespace

TEST_CASE("SharedNegative scores each window against its centre and K negatives", "[sampler]") {
  const auto vocabulary = zipf_vocabulary(50);
  const auto run = SharedNegative{.window = {5}, .targets = {.negatives = 4}}.start(vocabulary);
  const auto check = [&](const std::vector<WordId>& sentence) {
    const std::size_t length = sentence.size();
    const auto blocks = blocks_of(run, sentence, length);
    REQUIRE(blocks.size() == (length < 2 ? 0 : length));
    for (std::size_t center = 0; center < blocks.size(); ++center) {
      const Taken& block = blocks[center];
      CHECK(block.positives == 1);
      REQUIRE(block.outputs.size() == 5);
      CHECK(block.outputs[0] == sentence[center]);
      CHECK(std::count(block.outputs.begin() + 1, block.outputs.end(), sentence[center]) == 0);
      // The context words in order, for one of the five reaches.
      bool right = false;
      for (std::size_t reach = 1; reach <= 5; ++reach) {
        std::vector<WordId> expected;
        for (std::size_t i = center - std::min(center, reach); i <= center + reach && i < length;
             ++i)
          if (i != center) expected.push_back(sentence[i]);
        right = right || expected == block.inputs;
      }
      CHECK(right);
    }
  };
  for (const std::size_t length : lengths) {
    check(sentence_of(length));
    check(sentence_of(length, 2));  // words are again in their own windows
  }
}

TEST_CASE("a fixed window has all of its words on both sides", "[sampler]") {
  const auto vocabulary = zipf_vocabulary(50);
  for (const std::size_t reach : {1u, 2u, 5u}) {
    const auto run = SharedNegative{.window = Window::fixed(reach)}.start(vocabulary);
    const auto blocks = blocks_of(run, sentence_of(30), 1);
    REQUIRE(blocks.size() == 30);
    CHECK(blocks[15].inputs.size() == 2 * reach);
    CHECK(blocks[0].inputs.size() == reach);
  }
  Random random(1), untouched(1);
  CHECK(Window::fixed(4).reach(random) == 4);
  CHECK(random() == untouched());  // no number was drawn
}

TEST_CASE("a window in blocks of a few contexts has each of them once, with negatives of its own",
          "[sampler]") {
  const auto vocabulary = zipf_vocabulary(50);
  const auto check = [&](auto whole_windows) {
    whole_windows.window = Window::fixed(5);
    auto in_parts = whole_windows;
    in_parts.block_contexts = 3;
    CHECK(in_parts.start(vocabulary).worker().max_block().inputs == 3);
    auto parts = blocks_of(in_parts.start(vocabulary), sentence_of(30), 1);
    std::set<std::vector<RowId>> targets;
    for (const Taken& window : blocks_of(whole_windows.start(vocabulary), sentence_of(30), 1)) {
      std::vector<RowId> inputs;
      while (inputs.size() < window.inputs.size()) {
        REQUIRE_FALSE(parts.empty());
        const Taken& part = parts.front();
        CHECK(part.inputs.size() <= 3);
        CHECK(part.in_turn);
        CHECK(part.outputs[0] == window.outputs[0]);
        CHECK(std::count(part.outputs.begin(), part.outputs.end(), part.outputs[0]) == 1);
        CHECK(part.positives == window.positives);
        CHECK_FALSE(window.in_turn);
        targets.insert(part.outputs);
        inputs.insert(inputs.end(), part.inputs.begin(), part.inputs.end());
        parts.erase(parts.begin());
      }
      CHECK(inputs == window.inputs);
    }
    CHECK(parts.empty());
    return targets.size();
  };
  const std::size_t windows = 30;
  CHECK(check(SharedNegative{}) == 4 * windows - 2 * (2 + 2 + 1 + 1 + 1));  // shorter at the ends
  CHECK(check(BasicSharedNegative<HuffmanPathAndNegatives>{
            .targets = {.path = {.node_sample = 0}}}) > 3 * windows);
  CHECK(check(HierarchicalSoftmax{.targets = {.node_sample = 0}}) <= windows);  // always the same
}

TEST_CASE("the fixed windows of FULL-W2V have ceil(w / 2) words on each side", "[sampler]") {
  for (const auto& [window, reach] :
       std::vector<std::pair<std::size_t, std::size_t>>{{1, 1}, {2, 1}, {3, 2}, {5, 3}, {8, 4}}) {
    const Hyperparameters fixed = Hyperparameters{.window = window}.with_fixed_window();
    CHECK(fixed.window == reach);
    CHECK(fixed.fixed_window);
    CHECK(fixed.with_fixed_window().window == reach);
  }
}

TEST_CASE("Hogwild makes a block of each pair of a word and a context word", "[sampler]") {
  const auto vocabulary = zipf_vocabulary(50);
  const auto run =
      Hogwild{.window = Window::fixed(2), .targets = {.negatives = 3}}.start(vocabulary);
  const auto check = [&](const std::vector<WordId>& sentence) {
    const std::size_t length = sentence.size();
    const auto pairs = blocks_of(run, sentence, 3);
    std::vector<std::pair<WordId, WordId>> expected, got;
    for (std::size_t center = 0; center < length; ++center)
      for (std::size_t i = center - std::min<std::size_t>(center, 2); i <= center + 2 && i < length;
           ++i)
        if (i != center) expected.emplace_back(sentence[i], sentence[center]);
    for (const Taken& block : pairs) {
      REQUIRE(block.inputs.size() == 1);
      REQUIRE(block.outputs.size() == 4);
      CHECK(block.positives == 1);
      CHECK(std::count(block.outputs.begin() + 1, block.outputs.end(), block.outputs[0]) == 0);
      got.emplace_back(block.inputs[0], block.outputs[0]);
    }
    CHECK(got == expected);
  };
  for (const std::size_t length : lengths) {
    check(sentence_of(length));
    check(sentence_of(length, 2));  // words are again in their own windows
  }
}

TEST_CASE("a random window's reach is uniform from 1 to w", "[sampler]") {
  Random random(5);
  const Window window{6};
  std::vector<std::uint64_t> counts(6);
  for (int i = 0; i < 60'000; ++i) ++counts.at(window.reach(random) - 1);
  CHECK(chi_squared_deviation(counts, std::vector<double>(6, 1.0 / 6)) < 5);
}

TEST_CASE("workers of a run make equal blocks from equal random streams", "[sampler]") {
  const auto vocabulary = zipf_vocabulary(50);
  const auto run = SharedNegative{}.start(vocabulary);
  const auto copy = run;
  CHECK(blocks_of(run, sentence_of(40), 9) == blocks_of(copy, sentence_of(40), 9));
  CHECK_FALSE(blocks_of(run, sentence_of(40), 9) == blocks_of(copy, sentence_of(40), 10));
}

TEST_CASE("a run stays valid without the vocabulary", "[sampler]") {
  const auto run = [] {
    const auto vocabulary = zipf_vocabulary(50);
    return SharedNegative{}.start(vocabulary);
  }();
  CHECK(blocks_of(run, sentence_of(40), 9) ==
        blocks_of(SharedNegative{}.start(zipf_vocabulary(50)), sentence_of(40), 9));
}

TEST_CASE("negatives follow count^exponent without the positive word", "[negatives]") {
  const auto deviation = [](const std::vector<std::uint64_t>& counts, double exponent,
                            WordId positive) {
    const auto vocabulary = vocabulary_of_counts(counts);
    const detail::NegativeDistribution negatives(vocabulary, exponent);
    std::vector<double> shares;
    double total = 0;
    for (std::size_t i = 0; i < vocabulary.size(); ++i) {
      shares.push_back(
          i == positive ? 0.0 : std::pow(static_cast<double>(vocabulary.counts()[i]), exponent));
      total += shares.back();
    }
    for (double& share : shares) share /= total;
    Random random(positive + 1);
    std::vector<std::uint64_t> drawn(vocabulary.size());
    for (int i = 0; i < 100'000; ++i) ++drawn.at(negatives.draw(random, positive));
    return chi_squared_deviation(drawn, shares);
  };
  for (const WordId positive : {0u, 1u, 4u}) {
    CHECK(deviation({1000, 300, 200, 100, 50}, 0.75, positive) < 5);
    CHECK(deviation({1000, 300, 200, 100, 50}, 0.0, positive) < 5);
    // One word has all but a millionth of the weight: the exact way out of redrawing.
    CHECK(deviation({1'000'000'000, 3, 2, 1, 1}, 1.0, positive) < 5);
  }
  CHECK(deviation({5, 1}, 0.75, 0) < 5);
}

TEST_CASE("negative sampling from one word is refused", "[negatives]") {
  CHECK_THROWS_AS(detail::NegativeDistribution(vocabulary_of_counts({5}), 0.75), CorpusError);
}

TEST_CASE("subsampling keeps words by word2vec's formula", "[subsampling]") {
  const auto vocabulary = vocabulary_of_counts({500'000, 20'000, 1000, 10});
  const double t = 1e-3, total = 521'010;
  const detail::Subsampling subsampling(vocabulary, t);
  std::vector<WordId> sentence, kept;
  for (int i = 0; i < 200'000; ++i) sentence.push_back(static_cast<WordId>(i % 4));
  Random random(2);
  std::vector<double> count(4);
  for (const WordId id : subsampling(sentence, random, kept)) count[id] += 1;
  for (WordId id = 0; id < 4; ++id) {
    // word2vec.c: (sqrt(cn / (sample * train_words)) + 1) * (sample * train_words) / cn
    const double cn = static_cast<double>(vocabulary.count(id));
    const double keep = std::min(1.0, (std::sqrt(cn / (t * total)) + 1) * (t * total) / cn);
    CHECK(subsampling.keep_probability(id) == Approx(keep).margin(1e-9));
    const double spread = std::sqrt(50'000 * keep * (1 - keep));
    CHECK(std::abs(count[id] - 50'000 * keep) <= 5 * spread);
  }
}

TEST_CASE("subsampling keeps the order, and everything at threshold 0", "[subsampling]") {
  const auto vocabulary = vocabulary_of_counts({500'000, 20'000, 1000, 10});
  Random random(2);
  std::vector<WordId> kept;
  const std::vector<WordId> sentence{3, 2, 1, 0, 1, 2, 3, 3};
  const auto all = detail::Subsampling(vocabulary, 0.0)(sentence, random, kept);
  CHECK(std::vector<WordId>(all.begin(), all.end()) == sentence);
  const auto rare =
      detail::Subsampling(vocabulary, 1e-9)(std::vector<WordId>(10'000, 0), random, kept);
  CHECK(rare.size() < 20);
}
