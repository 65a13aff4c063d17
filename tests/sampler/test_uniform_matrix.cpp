#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>
#include <wordloom/columns.hpp>
#include <wordloom/kernel/fused_kernel.hpp>
#include <wordloom/sampler/uniform_matrix.hpp>
#include <wordloom/train/trainer.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "statistics.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

constexpr std::size_t words = 50;

/// A block and the memory of its weights.
struct Taken {
  std::vector<RowId> inputs, outputs;
  std::vector<float> weights;
  const float* address;
  std::uint64_t version;
  std::size_t paired, examples;
  Block::Sides update;

  const std::vector<RowId>& moving() const {
    return update == Block::Sides::inputs ? inputs : outputs;
  }
  const std::vector<RowId>& standing() const {
    return update == Block::Sides::inputs ? outputs : inputs;
  }
};

template <class Worker>
std::vector<Taken> blocks_of(Worker& worker, std::span<const WordId> pairs, Random& random) {
  std::vector<Taken> taken;
  const Block::Shape most = worker.max_block();
  CHECK(most.members == 0);
  worker.sample(pairs, random, [&](const Block& block) {
    REQUIRE(block.inputs.size() <= most.inputs);
    REQUIRE(block.outputs.size() <= most.outputs);
    REQUIRE_FALSE(block.has_bags());
    taken.push_back({{block.inputs.begin(), block.inputs.end()},
                     {block.outputs.begin(), block.outputs.end()},
                     {block.weights.values.begin(), block.weights.values.end()},
                     block.weights.values.data(),
                     block.weights.version,
                     block.paired,
                     block.examples,
                     block.update});
  });
  return taken;
}

/// A column: words that all differ, each with some context.
std::vector<WordId> column_of(std::size_t length) {
  std::vector<WordId> pairs;
  for (std::size_t i = 0; i < length; ++i) {
    pairs.push_back(static_cast<WordId>(i));
    pairs.push_back(static_cast<WordId>((7 * i + 3) % words));
  }
  return pairs;
}

auto worker_of(const UniformMatrix& policy, const Vocabulary& vocabulary) {
  return policy.start(vocabulary).worker();
}

const std::vector<std::size_t> lengths{0, 1, 2, 3, 15, 16, 17, 32, 50};

}  // namespace

TEST_CASE("UniformMatrix cuts a column into chunks of words that share negatives", "[sampler]") {
  const auto vocabulary = zipf_vocabulary(words);
  for (const std::size_t minibatch : {0u, 1u, 3u, 16u, 60u})
    for (const std::size_t shared : {0u, 1u, 7u})
      for (const Block::Sides update : {Block::Sides::inputs, Block::Sides::outputs}) {
        const UniformMatrix policy{
            .targets = {.negatives = 4}, .minibatch = minibatch, .shared_negatives = shared};
        const std::size_t batch = minibatch != 0 ? minibatch : 16;
        const std::size_t negatives = shared != 0 ? shared : 4;
        auto worker = worker_of(policy, vocabulary);
        Random random(minibatch + shared);
        for (const std::size_t length : lengths) {
          INFO("B " << minibatch << ", H " << shared << ", " << length << " words");
          const auto pairs = column_of(length);
          worker.begin_step(update);
          const auto blocks = blocks_of(worker, pairs, random);
          REQUIRE(blocks.size() == (length + batch - 1) / batch);
          std::size_t first = 0;
          for (const Taken& block : blocks) {
            const std::size_t size = std::min(batch, length - first);
            CHECK(block.update == update);
            CHECK(block.paired == size);
            CHECK(block.examples == size);
            REQUIRE(block.moving().size() == size);
            REQUIRE(block.standing().size() == size + negatives);
            for (std::size_t i = 0; i < size; ++i) {
              CHECK(block.moving()[i] == pairs[2 * (first + i)]);
              CHECK(block.standing()[i] == pairs[2 * (first + i) + 1]);
            }
            for (const RowId row : block.standing()) CHECK(row < words);
            std::vector<float> weights(size, 1.0f);
            weights.insert(weights.end(), negatives, -4.0f / static_cast<float>(negatives));
            CHECK(block.weights == weights);
            first += size;
          }
          CHECK(first == length);
        }
      }
}

TEST_CASE("weights of UniformMatrix of one version at one address are equal", "[sampler]") {
  const auto vocabulary = zipf_vocabulary(words);
  auto worker = worker_of({.minibatch = 16, .shared_negatives = 3}, vocabulary);
  Random random(1);
  std::map<std::pair<const float*, std::uint64_t>, std::vector<float>> known;
  std::size_t repeats = 0;
  for (int repetition = 0; repetition < 3; ++repetition)
    for (const std::size_t length : lengths)
      for (const Block::Sides update : {Block::Sides::inputs, Block::Sides::outputs}) {
        worker.begin_step(update);
        for (const Taken& block : blocks_of(worker, column_of(length), random)) {
          REQUIRE(block.version != 0);
          const auto [found, is_new] =
              known.emplace(std::pair(block.address, block.version), block.weights);
          repeats += !is_new;
          CHECK(found->second == block.weights);
        }
      }
  CHECK(repeats > 10);
}

TEST_CASE("the second step of UniformMatrix exchanges the roles of both sides", "[sampler]") {
  const auto vocabulary = zipf_vocabulary(words);
  for (const std::size_t minibatch : {0u, 1u, 7u}) {
    auto worker = worker_of({.minibatch = minibatch}, vocabulary);
    const auto step = [&](Block::Sides update) {
      Random random(9);
      worker.begin_step(update);
      return blocks_of(worker, column_of(40), random);
    };
    const auto first = step(Block::Sides::inputs), second = step(Block::Sides::outputs);
    REQUIRE(first.size() == second.size());
    for (std::size_t k = 0; k < first.size(); ++k) {
      CHECK(first[k].update == Block::Sides::inputs);
      CHECK(second[k].update == Block::Sides::outputs);
      CHECK(first[k].inputs == second[k].outputs);
      CHECK(first[k].outputs == second[k].inputs);
      CHECK(first[k].weights == second[k].weights);
    }
    // A step lasts until the next one begins.
    Random random(9);
    CHECK(blocks_of(worker, column_of(5), random)[0].update == Block::Sides::outputs);
  }
}

TEST_CASE("a single word of UniformMatrix has negatives other than its context", "[sampler]") {
  const auto vocabulary = vocabulary_of_counts({1000, 100, 50, 10, 1});
  std::vector<WordId> pairs;  // each word as a context of each
  for (WordId word = 0; word < 5; ++word)
    for (WordId context = 0; context < 5; ++context) pairs.insert(pairs.end(), {word, context});
  auto worker =
      worker_of({.targets = {.negatives = 6, .exponent = 0.5}, .minibatch = 1}, vocabulary);
  std::vector<std::vector<std::uint64_t>> counts(5, std::vector<std::uint64_t>(5));
  Random random(4);
  for (int repetition = 0; repetition < 1000; ++repetition)
    for (const Taken& block : blocks_of(worker, pairs, random)) {
      REQUIRE(block.outputs.size() == 7);
      for (std::size_t k = 1; k < 7; ++k) {
        REQUIRE(block.outputs[k] != block.outputs[0]);
        ++counts[block.outputs[0]][block.outputs[k]];
      }
    }
  for (WordId context = 0; context < 5; ++context) {
    std::vector<double> shares(5);
    double total = 0;
    for (WordId word = 0; word < 5; ++word) {
      if (word == context) continue;
      shares[word] = std::sqrt(static_cast<double>(vocabulary.counts()[word]));
      total += shares[word];
    }
    for (double& share : shares) share /= total;
    CHECK(chi_squared_deviation(counts[context], shares) < 5);
  }
}

TEST_CASE("shared negatives are drawn in proportion to count to the power of the exponent",
          "[sampler]") {
  const auto vocabulary = zipf_vocabulary(words);
  for (const double exponent : {0.0, 0.75, 1.0})
    for (const std::size_t shared : {0u, 3u, 40u}) {
      auto worker = worker_of({.targets = {.negatives = 5, .exponent = exponent},
                               .minibatch = 8,
                               .shared_negatives = shared},
                              vocabulary);
      std::vector<std::uint64_t> counts(words);
      std::vector<double> shares(words);
      Random random(5);
      // Columns of several lengths: chunks that are full and chunks that are not.
      for (std::size_t repetition = 0; repetition < 2000; ++repetition) {
        worker.begin_step(repetition % 2 == 0 ? Block::Sides::inputs : Block::Sides::outputs);
        for (const Taken& block : blocks_of(worker, column_of(1 + repetition % 30), random))
          for (std::size_t k = block.paired; k < block.standing().size(); ++k)
            ++counts[block.standing()[k]];
      }
      double total = 0;
      for (std::size_t i = 0; i < words; ++i)
        total += shares[i] = std::pow(static_cast<double>(vocabulary.counts()[i]), exponent);
      for (double& share : shares) share /= total;
      INFO("exponent " << exponent << ", H " << shared);
      CHECK(chi_squared_deviation(counts, shares) < 5);
    }
}

TEST_CASE("each chunk of UniformMatrix has its own negatives", "[sampler]") {
  const auto vocabulary = zipf_vocabulary(2000);
  auto worker = worker_of({.minibatch = 4, .shared_negatives = 30}, vocabulary);
  Random random(6);
  const auto blocks = blocks_of(worker, column_of(40), random);
  REQUIRE(blocks.size() == 10);
  const auto negatives = [&](const Taken& block) {
    return std::vector<RowId>(block.outputs.begin() + 4, block.outputs.end());
  };
  for (std::size_t a = 0; a < blocks.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) CHECK(negatives(blocks[a]) != negatives(blocks[b]));
}

namespace {

/// Remembers the rows that were announced.
struct AnnouncedRows {
  std::vector<std::vector<RowId>> inputs, outputs;
  std::size_t blocks = 0;

  void prefetch(std::span<const RowId> of_inputs, std::span<const RowId> of_outputs) {
    inputs.emplace_back(of_inputs.begin(), of_inputs.end());
    outputs.emplace_back(of_outputs.begin(), of_outputs.end());
  }
  void operator()(const Block& block) {
    REQUIRE(blocks < inputs.size());  // announced before
    const auto& announced = block.update == Block::Sides::inputs ? outputs[blocks] : inputs[blocks];
    CHECK(std::ranges::equal(announced,
                             block.update == Block::Sides::inputs ? block.outputs : block.inputs));
    ++blocks;
  }
};

}  // namespace

TEST_CASE("UniformMatrix announces the rows that it only reads a chunk ahead", "[sampler]") {
  const auto vocabulary = zipf_vocabulary(words);
  for (const Block::Sides update : {Block::Sides::inputs, Block::Sides::outputs}) {
    auto worker = worker_of({}, vocabulary);
    worker.begin_step(update);
    AnnouncedRows sink;
    Random random(2);
    worker.sample(column_of(50), random, sink);
    CHECK(sink.blocks == 4);
    CHECK(sink.inputs.size() == 4);
  }
}

TEST_CASE("UniformMatrix shares K negatives by default", "[sampler]") {
  CHECK(UniformMatrix{}.shared() == 5);
  CHECK(UniformMatrix{.targets = {.negatives = 9}}.shared() == 9);
  CHECK(UniformMatrix{.targets = {.negatives = 9}, .shared_negatives = 2}.shared() == 2);
  CHECK(UniformMatrix{}.words_at_once() == 16);
  CHECK(UniformMatrix{.minibatch = 3}.words_at_once() == 3);
  // As published, each pair has negatives of its own.
  CHECK(W2vCl({.negatives = 7}).sampler().words_at_once() == 1);
  CHECK(W2vCl({.negatives = 7}).sampler().shared() == 7);
  CHECK(W2vCl({.minibatch = 20}).sampler().words_at_once() == 20);
  const auto from = UniformMatrix::from(
      {.negatives = 7, .minibatch = 20, .shared_negatives = 30, .negative_exponent = 0.5});
  CHECK(from.targets.negatives == 7);
  CHECK(from.targets.exponent == 0.5);
  CHECK(from.words_at_once() == 20);
  CHECK(from.shared() == 30);
}

TEST_CASE("UniformMatrix refuses parameters out of bounds by name", "[sampler]") {
  const auto refusal = [](const UniformMatrix& sampler) {
    return message_of<InvalidArgument>(
        [&] { Trainer<UniformMatrix, FusedKernel> trainer(Hyperparameters{}, sampler); });
  };
  CHECK(refusal({.targets = {.negatives = 0}}) == "negatives is 0, must be from 1 to 1000");
  CHECK(refusal({.targets = {.negatives = 1001}}) == "negatives is 1001, must be from 1 to 1000");
  CHECK(contains(refusal({.targets = {.exponent = 11}}), "negative_exponent is 11"));
  CHECK(refusal({.minibatch = 1001}) == "minibatch is 1001, must be from 0 to 1000");
  CHECK(refusal({.shared_negatives = 10'001}) ==
        "shared_negatives is 10001, must be from 0 to 10000");
  CHECK_THROWS_AS(UniformMatrix{}.start(vocabulary_of_counts({3})), CorpusError);
}

TEST_CASE("workers of UniformMatrix make equal blocks from equal random numbers", "[sampler]") {
  const auto vocabulary = zipf_vocabulary(words);
  const auto run = UniformMatrix{}.start(vocabulary);
  CHECK(run.output_rows() == words);
  auto one = run.worker(), other = run.worker();
  Random before(8);
  blocks_of(other, column_of(37), before);  // leaves no trace
  Random a(3), b(3);
  const auto first = blocks_of(one, column_of(50), a), second = blocks_of(other, column_of(50), b);
  REQUIRE(first.size() == second.size());
  for (std::size_t k = 0; k < first.size(); ++k) CHECK(first[k].outputs == second[k].outputs);
}

TEST_CASE("UniformMatrix expects equally many updates of each word", "[sampler]") {
  const auto vocabulary = zipf_vocabulary(words);
  const auto expected = UniformMatrix{.targets = {.negatives = 4}}
                            .start(vocabulary)
                            .expected_updates(WordRates(vocabulary, 0));
  for (const auto& side : {expected.input, expected.output}) {
    REQUIRE(side.size() == words);
    for (const float rate : side) CHECK(static_cast<double>(rate) == Approx(5.0 / words));
  }
}
