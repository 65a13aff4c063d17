// Samplers that train several words together: what each pair of words gets in all must be what
// SharedNegative would give it, whatever the blocks look like.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <wordloom/sampler/attraction_repulsion.hpp>
#include <wordloom/sampler/combined_context.hpp>
#include <wordloom/sampler/decoupled_minibatch.hpp>
#include <wordloom/sampler/grouped_window.hpp>
#include <wordloom/sampler/sentence_minibatch.hpp>
#include <wordloom/sampler/shared_negative.hpp>

#include "catch.hpp"
#include "small_models.hpp"

using namespace wordloom;

namespace {

/// Words that all differ, none of which is likely to be drawn as a negative.
std::vector<WordId> sentence_of(std::size_t length) {
  std::vector<WordId> sentence;
  for (std::size_t i = 0; i < length; ++i) sentence.push_back(static_cast<WordId>(1000 + i));
  return sentence;
}

/// All blocks of a sentence, added up.
struct Sum {
  std::map<std::pair<WordId, WordId>, double> attraction;  // of an input and an output
  std::map<WordId, double> repulsion;                      // of an input from all negatives
  std::vector<std::size_t> repulsion_blocks;               // their outputs
  std::size_t blocks = 0;
};

template <class AnySampler>
Sum sum_of(const Hyperparameters& parameters, std::size_t length, std::uint64_t seed = 3) {
  static const Vocabulary vocabulary = zipf_vocabulary(2000);
  auto worker = AnySampler::from(parameters).start(vocabulary).worker();
  Sum sum;
  Random random(seed);
  const Block::Shape most = worker.max_block();
  worker.sample(sentence_of(length), random, [&](const Block& block) {
    ++sum.blocks;
    const std::size_t n = block.inputs.size(), m = block.outputs.size();
    REQUIRE(block.bag_ends.empty());
    REQUIRE(n > 0);
    REQUIRE(m > 0);
    REQUIRE(n <= most.inputs);
    REQUIRE(m <= most.outputs);
    REQUIRE(block.positives <= m);
    if (!block.weights.empty()) REQUIRE(block.weights.values.size() == n * m);
    if (block.positives == 0) sum.repulsion_blocks.push_back(m);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < m; ++j) {
        const double weight = !block.weights.empty()
                                  ? static_cast<double>(block.weights.values[j * n + i])
                              : j < block.positives ? 1.0
                                                    : -1.0;
        if (weight > 0) sum.attraction[{block.inputs[i], block.outputs[j]}] += weight;
        if (weight < 0) sum.repulsion[block.inputs[i]] -= weight;
      }
  });
  return sum;
}

/// What each word of a sentence should get: attraction 1 by each centre within `reach`, repulsion K
/// for each of these.
void check_fixed(const Sum& sum, std::size_t length, std::size_t reach, double negatives,
                 double tolerance) {
  const auto sentence = sentence_of(length);
  std::map<std::pair<WordId, WordId>, double> attraction;
  std::map<WordId, double> repulsion;
  for (std::size_t center = 0; center < length; ++center)
    for (std::size_t i = center - std::min(center, reach); i < length && i <= center + reach; ++i)
      if (i != center) {
        attraction[{sentence[i], sentence[center]}] = 1.0;
        repulsion[sentence[i]] += negatives;
      }
  CHECK(sum.attraction == attraction);
  REQUIRE(sum.repulsion.size() == repulsion.size());
  for (const auto& [word, weight] : repulsion)
    CHECK(sum.repulsion.at(word) == Approx(weight).epsilon(tolerance));
}

const std::vector<std::size_t> lengths{0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 100};

}  // namespace

TEST_CASE("attraction and repulsion follow each other and have the same pairs", "[sampler]") {
  for (const std::size_t length : lengths) {
    using Split = detail::AttractionRepulsion<SharedNegative>;
    const Hyperparameters parameters{.window = 3, .fixed_window = true, .negatives = 4};
    const Sum whole = sum_of<SharedNegative>(parameters, length);
    const Sum split = sum_of<Split>(parameters, length);
    CHECK(split.blocks == 2 * whole.blocks);
    CHECK(split.repulsion_blocks == std::vector<std::size_t>(whole.blocks, 4));
    CHECK(split.attraction == whole.attraction);
    CHECK(split.repulsion == whole.repulsion);
    check_fixed(split, length, 3, 4.0, 1e-6);
  }
}

TEST_CASE("SentenceMinibatch repels each word as often as SharedNegative", "[sampler]") {
  for (const std::size_t length : lengths)
    for (const std::size_t minibatch : {0u, 1u, 3u, 16u, 200u})
      for (const std::size_t shared : {0u, 1u, 7u}) {
        const Hyperparameters parameters{.window = 3,
                                         .fixed_window = true,
                                         .negatives = 4,
                                         .minibatch = minibatch,
                                         .shared_negatives = shared};
        const Sum sum = sum_of<SentenceMinibatch>(parameters, length);
        check_fixed(sum, length, 3, 4.0, 1e-5);
        const std::size_t batch = minibatch == 0 ? 16 : minibatch;
        const std::size_t batches = length < 2 ? 0 : (length + batch - 1) / batch;
        // By the rule: K negatives for each of the 2 x 3 windows of a word.
        CHECK(sum.repulsion_blocks ==
              std::vector<std::size_t>(batches, shared == 0 ? 4 * 6 : shared));
      }
}

TEST_CASE("CombinedContext gives the pairs of the windows it combines, and no others",
          "[sampler]") {
  for (const std::size_t length : lengths)
    for (const std::size_t minibatch : {0u, 1u, 2u, 3u, 8u, 200u})
      for (const std::size_t shared : {0u, 1u, 7u}) {
        const Hyperparameters parameters{.window = 3,
                                         .fixed_window = true,
                                         .negatives = 4,
                                         .minibatch = minibatch,
                                         .shared_negatives = shared};
        const Sum sum = sum_of<CombinedContext>(parameters, length);
        // A negative that is a centre is left out, which is rare here.
        check_fixed(sum, length, 3, 4.0, 0.51);
        const std::size_t group = minibatch == 0 ? 4 : minibatch;
        CHECK(sum.blocks == (length < 2 ? 0 : (length + group - 1) / group));
      }
}

TEMPLATE_TEST_CASE("samplers with random windows make the pairs of SharedNegative equally often",
                   "[sampler]", SplitSharedNegative, SentenceMinibatch, CombinedContext,
                   GroupedWindow) {
  // A group of the window's size: GroupedWindow's distances are then those of random windows.
  const Hyperparameters parameters{
      .window = 5,
      .negatives = 4,
      .minibatch = std::is_same_v<TestType, GroupedWindow> ? std::size_t{5} : std::size_t{0}};
  double got = 0, expected = 0, repelled = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto total = [](const Sum& sum) {
      double pairs = 0;
      for (const auto& [pair, weight] : sum.attraction) pairs += weight;
      return pairs;
    };
    const Sum sum = sum_of<TestType>(parameters, 100, seed);
    got += total(sum);
    for (const auto& [word, weight] : sum.repulsion) repelled += weight;
    expected += total(sum_of<SharedNegative>(parameters, 100, seed + 1000));
  }
  CHECK(got == Approx(expected).epsilon(0.01));
  CHECK(repelled == Approx(4 * expected).epsilon(0.02));
}

TEST_CASE("DecoupledMinibatch attracts pair after pair in word2vec's order", "[sampler]") {
  const std::size_t length = 60, window = 5;
  const Vocabulary vocabulary = zipf_vocabulary(2000);
  const auto sentence = sentence_of(length);
  std::map<std::size_t, std::size_t> reaches;  // of centres far from the ends
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    auto worker =
        DecoupledMinibatch::from({.window = window, .minibatch = 7}).start(vocabulary).worker();
    Random random(seed);
    std::vector<std::pair<WordId, WordId>> pairs;  // centre, context
    bool repels = false;
    worker.sample(sentence, random, [&](const Block& block) {
      repels |= block.positives == 0;
      CHECK((block.positives == 0) == repels);  // all attraction comes before
      if (repels) return;
      REQUIRE(block.inputs.size() * block.outputs.size() == 1);
      pairs.emplace_back(block.outputs[0], block.inputs[0]);
    });
    CHECK(std::is_sorted(pairs.begin(), pairs.end()));
    for (std::size_t center = 0; center < length; ++center) {
      std::vector<WordId> contexts;
      for (const auto& [output, input] : pairs)
        if (output == sentence[center]) contexts.push_back(input);
      const std::size_t before = std::min(center, window),
                        after = std::min(length - 1 - center, window);
      if (before == window && after == window) ++reaches[contexts.size() / 2];
      std::vector<WordId> expected;
      const std::size_t first = contexts.front() - 1000, last = contexts.back() - 1000;
      const std::size_t reach =
          std::max(center - std::min(center, first), last - std::min(center, last));
      for (std::size_t i = center - std::min(center, reach); i < length && i <= center + reach; ++i)
        if (i != center) expected.push_back(sentence[i]);
      CHECK(contexts == expected);
    }
  }
  REQUIRE(reaches.size() == window);
  for (const auto& [reach, count] : reaches)
    CHECK(static_cast<double>(count) == Approx(1000).epsilon(0.15));
}

TEST_CASE("DecoupledMinibatch draws the number of negatives by the place of the first word",
          "[sampler]") {
  const std::size_t length = 100, window = 8, negatives = 5, repetitions = 3000;
  const Vocabulary vocabulary = zipf_vocabulary(2000);
  const auto sentence = sentence_of(length);
  auto worker = DecoupledMinibatch::from({.window = window, .negatives = negatives})
                    .start(vocabulary)
                    .worker();
  CHECK(worker.max_block().inputs == 24);
  CHECK(worker.max_block().outputs == negatives * (2 * window - 1));
  std::map<WordId, std::map<std::size_t, std::size_t>> drawn;  // by first word, C_rep
  Random random(1);
  for (std::size_t i = 0; i < repetitions; ++i)
    worker.sample(sentence, random, [&](const Block& block) {
      if (block.positives > 0) return;
      const std::size_t first = block.inputs[0] - 1000;
      CHECK(block.inputs.size() == std::min<std::size_t>(24, length - first));
      REQUIRE(block.outputs.size() % negatives == 0);
      ++drawn[block.inputs[0]][block.outputs.size() / negatives];
    });
  REQUIRE(drawn.size() == 5);
  for (const auto& [word, counts] : drawn) {
    // Of the minibatches at 0, 24, 48, 72 and 96 the first and the last begin near an end.
    const std::size_t values = word == 1000 || word == 1096 ? window : 2 * window;
    CHECK(counts.size() == values - 1);  // those without negatives are no blocks
    CHECK(counts.rbegin()->first == values - 1);
    const double each = static_cast<double>(repetitions) / static_cast<double>(values);
    for (const auto& [c_rep, count] : counts)
      CHECK(static_cast<double>(count) == Approx(each).margin(5 * std::sqrt(each)));
  }
}

TEST_CASE("GroupedWindow pairs words at each distance with the documented probability",
          "[sampler]") {
  const std::size_t length = 40;
  // Window and group; a group of the window's size is word2vec's random window.
  for (const auto& [window, minibatch] :
       {std::pair<std::size_t, std::size_t>{1, 0}, {2, 0}, {5, 5}, {5, 0}, {5, 1}, {8, 3}}) {
    const double repetitions = 500;
    const std::size_t group = minibatch != 0 ? minibatch : window > 2 ? window - 2 : 1;
    const std::size_t farthest = group + (window + 3 - group) / 2 - 1;
    std::map<std::size_t, double> at_distance;
    for (std::uint64_t seed = 0; seed < 500; ++seed)
      for (const auto& [pair, weight] :
           sum_of<GroupedWindow>({.window = window, .minibatch = minibatch}, length, seed)
               .attraction) {
        CHECK(weight == 1.0);
        at_distance[std::max(pair.first, pair.second) - std::min(pair.first, pair.second)] += 1.0;
      }
    CHECK(at_distance.size() == farthest);
    for (const auto& [distance, pairs] : at_distance) {
      const double windows = static_cast<double>(2 * (length - distance)) * repetitions;
      const double share =
          static_cast<double>(farthest + 1 - distance) / static_cast<double>(group);
      CHECK(pairs / windows == Approx(std::min(1.0, share)).margin(0.02));
    }
  }
  CHECK_THROWS_AS(sum_of<GroupedWindow>({.window = 3, .minibatch = 4}, 10), InvalidArgument);
  // Groups of one word are fixed windows.
  const Hyperparameters fixed{.window = 5, .minibatch = 1};
  CHECK(sum_of<GroupedWindow>(fixed, length).attraction ==
        sum_of<SharedNegative>({.window = 3, .fixed_window = true}, length).attraction);
}

TEST_CASE("GroupedWindow covers sentences of any length in blocks of its largest shape",
          "[sampler]") {
  for (const std::size_t length : lengths)
    for (const std::size_t shared : {0u, 1u, 7u})
      for (const std::uint64_t seed : {1u, 2u, 3u}) {
        const Hyperparameters parameters{
            .window = 5, .negatives = 4, .minibatch = 5, .shared_negatives = shared};
        const Sum sum = sum_of<GroupedWindow>(parameters, length, seed);
        CHECK(sum.repulsion.size() == (length < 2 ? 0 : length));
        if (length >= 2) {
          CHECK(sum.blocks >= (length + 4) / 5);
          CHECK(sum.blocks <= (length + 4) / 5 + 1);
        }
        double pairs = 0, repelled = 0;
        for (const auto& [pair, weight] : sum.attraction) pairs += weight;
        for (const auto& [word, weight] : sum.repulsion) repelled += weight;
        // A negative that is a centre is left out, which is rare here.
        CHECK(repelled == Approx(4 * pairs).epsilon(0.02));
      }
}

TEMPLATE_TEST_CASE("a negative that is a centre has weight 0 for the words of its window",
                   "[sampler]", CombinedContext, GroupedWindow) {
  const Vocabulary vocabulary = zipf_vocabulary(6);  // so few that centres are drawn all the time
  const Hyperparameters parameters{
      .window = std::is_same_v<TestType, GroupedWindow> ? std::size_t{4} : std::size_t{1},
      .fixed_window = true,
      .negatives = 5,
      .minibatch = 4};
  auto worker = TestType::from(parameters).start(vocabulary).worker();
  Random random(1);
  std::size_t conflicts = 0;
  for (int repetition = 0; repetition < 50; ++repetition)
    worker.sample(std::vector<WordId>{0, 1, 2, 3, 4, 5, 0, 1}, random, [&](const Block& block) {
      const std::size_t n = block.inputs.size();
      for (std::size_t j = block.positives; j < block.outputs.size(); ++j)
        for (std::size_t p = 0; p < block.positives; ++p)
          for (std::size_t i = 0; i < n; ++i)
            if (block.outputs[p] == block.outputs[j] && block.weights.values[p * n + i] > 0) {
              ++conflicts;
              CHECK(block.weights.values[j * n + i] == 0.0f);
            }
    });
  CHECK(conflicts > 100);
}
