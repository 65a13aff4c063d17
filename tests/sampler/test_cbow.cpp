#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>
#include <wordloom/sampler/cbow.hpp>
#include <wordloom/sampler/grouped_cbow.hpp>
#include <wordloom/sampler/huffman_tree.hpp>
#include <wordloom/testing/oracle.hpp>

#include "catch.hpp"
#include "small_models.hpp"

using namespace wordloom;

namespace {

std::vector<WordId> sentence_of(std::size_t length, std::size_t words) {
  std::vector<WordId> sentence;
  for (std::size_t i = 0; i < length; ++i) sentence.push_back(static_cast<WordId>((7 * i) % words));
  return sentence;
}

/// The context words of a centre, in order.
std::vector<WordId> window_of(const std::vector<WordId>& sentence, std::size_t center,
                              std::size_t reach) {
  std::vector<WordId> result;
  for (std::size_t i = center - std::min(center, reach); i < sentence.size() && i <= center + reach;
       ++i)
    if (i != center) result.push_back(sentence[i]);
  return result;
}

/// A block of which nothing is gone.
struct Taken {
  std::vector<std::vector<WordId>> bags;
  std::vector<RowId> outputs;
  std::size_t positives, examples;
  std::vector<float> weights;
  BagGradient gradient;
};

template <class Run>
std::vector<Taken> blocks_of(const Run& run, const std::vector<WordId>& sentence,
                             std::uint64_t seed) {
  std::vector<Taken> taken;
  Random random(seed);
  auto worker = run.worker();
  const Block::Shape most = worker.max_block();
  worker.sample(sentence, random, [&](const Block& block) {
    REQUIRE(block.has_bags());
    REQUIRE(block.input_count() > 0);
    REQUIRE(block.input_count() <= most.inputs);
    REQUIRE(block.outputs.size() <= most.outputs);
    REQUIRE(block.inputs.size() <= most.members);
    REQUIRE(block.update == Block::Sides::both);
    Taken one{{},
              {block.outputs.begin(), block.outputs.end()},
              block.positives,
              block.examples,
              {block.weights.values.begin(), block.weights.values.end()},
              block.bag_gradient};
    for (std::size_t i = 0; i < block.input_count(); ++i) {
      one.bags.push_back(oracle::bag(block, i));
      REQUIRE(one.bags.back().size() > 0);
    }
    taken.push_back(std::move(one));
  });
  return taken;
}

const std::vector<std::size_t> lengths{0, 1, 2, 3, 4, 5, 6, 8, 9, 11, 16, 17, 100};

}  // namespace

TEST_CASE("Cbow scores one bag for each window against its centre and K negatives", "[sampler]") {
  const auto vocabulary = zipf_vocabulary(50);
  for (const BagGradient gradient : {BagGradient::mean, BagGradient::whole, BagGradient::root}) {
    const auto random =
        Cbow{.window = {4}, .targets = {.negatives = 3}, .gradient = gradient}.start(vocabulary);
    const auto fixed =
        Cbow{.window = Window::fixed(2), .targets = {.negatives = 3}, .gradient = gradient}.start(
            vocabulary);
    CHECK(random.output_rows() == 50);
    for (const std::size_t length : lengths) {
      const auto sentence = sentence_of(length, 50);
      const auto of_random = blocks_of(random, sentence, length),
                 of_fixed = blocks_of(fixed, sentence, length);
      REQUIRE(of_random.size() == (length < 2 ? 0 : length));
      REQUIRE(of_fixed.size() == of_random.size());
      for (std::size_t center = 0; center < of_random.size(); ++center) {
        bool is_a_window = false;
        for (std::size_t reach = 1; reach <= 4; ++reach)
          is_a_window |= of_random[center].bags[0] == window_of(sentence, center, reach);
        CHECK(is_a_window);
        CHECK(of_fixed[center].bags[0] == window_of(sentence, center, 2));
        for (const Taken& block : {of_random[center], of_fixed[center]}) {
          CHECK(block.bags.size() == 1);
          CHECK(block.positives == 1);
          CHECK(block.examples == 1);
          CHECK(block.weights.empty());
          CHECK(block.gradient == gradient);
          REQUIRE(block.outputs.size() == 4);
          CHECK(block.outputs[0] == sentence[center]);
          CHECK(std::count(block.outputs.begin(), block.outputs.end(), sentence[center]) == 1);
        }
      }
    }
  }
}

TEST_CASE("BasicCbow<HuffmanPath> scores a bag against the path of its centre", "[sampler]") {
  const auto vocabulary = zipf_vocabulary(50);
  const detail::HuffmanTree tree(vocabulary);
  const auto run = BasicCbow<HuffmanPath>{.targets = {.node_sample = 0}}.start(vocabulary);
  CHECK(run.output_rows() == 49);
  const auto sentence = sentence_of(40, 50);
  const auto blocks = blocks_of(run, sentence, 5);
  REQUIRE(blocks.size() == 40);
  for (std::size_t center = 0; center < 40; ++center) {
    const TargetSet path = tree.path(sentence[center]);
    CHECK(blocks[center].outputs == std::vector<RowId>(path.outputs.begin(), path.outputs.end()));
    CHECK(blocks[center].positives == path.positives);
  }
}

TEST_CASE("GroupedCbow pools the groups of GroupedWindow, each centre once", "[sampler]") {
  struct Case {
    std::size_t words, window, minibatch, shared;
  };
  // Of five words, negatives are centres all the time.
  for (const auto& [words, window, minibatch, shared] :
       {Case{50, 5, 0, 0}, Case{50, 5, 5, 3}, Case{50, 5, 1, 2}, Case{50, 1, 0, 9},
        Case{50, 8, 3, 0}, Case{5, 5, 4, 0}}) {
    const auto vocabulary = zipf_vocabulary(words);
    const GroupedWindow groups{.window = window,
                               .targets = {.negatives = 4},
                               .minibatch = minibatch,
                               .shared_negatives = shared};
    const auto of_words = groups.start(vocabulary);
    for (const BagGradient gradient : {BagGradient::mean, BagGradient::whole, BagGradient::root}) {
      const auto run = GroupedCbow{groups, gradient}.start(vocabulary);
      CHECK(run.output_rows() == words);
      const std::size_t negatives = groups.shared();
      const float weight = -4.0f / static_cast<float>(negatives);
      std::size_t left_out = 0;
      for (const std::size_t length : lengths) {
        const auto sentence = sentence_of(length, words);
        // The same random numbers: the same groups, the same negatives.
        std::vector<std::vector<RowId>> inputs, outputs;
        Random random(length);
        of_words.worker().sample(sentence, random, [&](const Block& block) {
          inputs.emplace_back(block.inputs.begin(), block.inputs.end());
          outputs.emplace_back(block.outputs.begin(), block.outputs.end());
        });
        const auto blocks = blocks_of(run, sentence, length);
        REQUIRE(blocks.size() == inputs.size());
        std::size_t center = 0;
        for (std::size_t b = 0; b < blocks.size(); ++b) {
          const Taken& block = blocks[b];
          const std::size_t n = block.bags.size() - 1, first = center;
          CHECK(block.outputs == outputs[b]);
          CHECK(block.positives == n);
          CHECK(block.examples == n);
          CHECK(block.gradient == gradient);
          REQUIRE(block.outputs.size() == n + negatives);
          REQUIRE(block.weights.size() == n + negatives);
          // The words around the group and the centres, each centre left out of its own bag.
          const std::size_t before = std::min(first, groups.side());
          const std::vector<WordId> context(
              sentence.begin() + static_cast<std::ptrdiff_t>(first - before),
              sentence.begin() +
                  static_cast<std::ptrdiff_t>(std::min(length, first + n + groups.side())));
          CHECK(context == inputs[b]);
          CHECK(block.bags[n] == context);
          for (std::size_t i = 0; i < n; ++i, ++center) {
            auto others = context;
            others.erase(others.begin() + static_cast<std::ptrdiff_t>(before + i));
            CHECK(block.bags[i] == others);
            CHECK(block.outputs[i] == sentence[center]);
            CHECK(block.weights[i] == 1.0f);
          }
          for (std::size_t h = n; h < n + negatives; ++h) {
            const auto last = block.outputs.begin() + static_cast<std::ptrdiff_t>(n);
            const bool is_center = std::find(block.outputs.begin(), last, block.outputs[h]) != last;
            left_out += is_center;
            CHECK(block.weights[h] == (is_center ? 0.0f : weight * static_cast<float>(n)));
          }
        }
        CHECK(center == (length < 2 ? 0 : length));
      }
      if (words == 5) CHECK(left_out > 100);
    }
  }
  CHECK_THROWS_AS((GroupedCbow{{.window = 3, .minibatch = 4}}.start(zipf_vocabulary(50))),
                  InvalidArgument);
}
