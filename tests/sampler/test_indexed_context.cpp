// Windows that an inverse index finds, against a search through the whole batch.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>
#include <wordloom/sampler/indexed_context.hpp>

#include "catch.hpp"
#include "small_models.hpp"

using namespace wordloom;

namespace {

/// Sentences of 0 to 29 words of a vocabulary.
struct Text {
  std::vector<WordId> words;
  std::vector<std::size_t> ends;

  Text(const Vocabulary& vocabulary, std::size_t sentences, Random& random) {
    const detail::AliasTable table(
        std::vector<double>(vocabulary.counts().begin(), vocabulary.counts().end()));
    for (std::size_t i = 0; i < sentences; ++i) {
      for (std::size_t length = random.below(30); length > 0; --length)
        words.push_back(table.draw(random));
      ends.push_back(words.size());
    }
  }
  Sentences sentences() const { return {words, ends}; }
};

/// Makes the blocks of a batch by looking through all of its words for each window.
class PlainSearch {
 public:
  PlainSearch(const Sentences& text, std::size_t reach)
      : text_(text), reach_(reach), had_(text.words().size()) {}

  /// The inputs of a block, and the output that each is a positive of.
  struct Inputs {
    std::vector<RowId> rows;
    std::vector<std::size_t> centers;
  };

  Inputs next(std::span<const RowId> outputs, std::size_t windows) {
    Inputs inputs;
    std::size_t first = 0;
    while (had_.at(first) || context(first).empty()) had_[first++] = true;
    REQUIRE(outputs[0] == text_.words()[first]);
    add(inputs, first, 0);
    std::size_t count = 1;
    for (bool found = true; found;) {
      found = false;
      for (std::size_t j = 0; j < outputs.size(); ++j)
        for (std::size_t place = 0; place < had_.size() && count < windows; ++place)
          if (!had_[place] && text_.words()[place] == outputs[j]) {
            add(inputs, place, j);
            found = true;
            ++count;
            break;
          }
    }
    return inputs;
  }

  /// Returns whether only words without a context are left.
  bool is_done() const {
    for (std::size_t place = 0; place < had_.size(); ++place)
      if (!had_[place] && !context(place).empty()) return false;
    return true;
  }

 private:
  std::vector<RowId> context(std::size_t place) const {
    std::size_t sentence = 0;
    while (place >= text_.end(sentence)) ++sentence;
    std::vector<RowId> rows;
    for (std::size_t i = text_.begin(sentence); i < text_.end(sentence); ++i)
      if (i != place && i + reach_ >= place && i <= place + reach_)
        rows.push_back(text_.words()[i]);
    return rows;
  }
  void add(Inputs& inputs, std::size_t place, std::size_t center) {
    had_[place] = true;
    for (const RowId row : context(place)) {
      inputs.rows.push_back(row);
      inputs.centers.push_back(center);
    }
  }

  Sentences text_;
  std::size_t reach_;
  std::vector<bool> had_;  // that were centres
};

}  // namespace

TEST_CASE("IndexedContext combines the windows whose centres are outputs", "[sampler]") {
  const auto vocabulary = zipf_vocabulary(60, 1000);
  constexpr std::size_t negatives = 4;
  Random random(2);
  for (const std::size_t windows : {1u, 2u, 8u, 300u}) {
    INFO("C " << windows);
    auto worker =
        IndexedContext::from(
            {.window = 3, .fixed_window = true, .negatives = negatives, .minibatch = windows})
            .start(vocabulary)
            .worker();
    CHECK(worker.words_at_once() == 500'000);
    for (std::size_t batch = 0; batch < 2; ++batch) {
      const Text text(vocabulary, 60, random);
      PlainSearch plain(text.sentences(), 3);
      std::size_t repeated = 0;
      double passed = 0;
      worker.sample(
          text.sentences(), random,
          [&](const Block& block) {
            const std::size_t n = block.inputs.size(), m = block.outputs.size();
            const auto expected = plain.next(block.outputs, windows);
            REQUIRE(std::vector(block.inputs.begin(), block.inputs.end()) == expected.rows);
            REQUIRE(block.weights.values.size() == n * m);
            REQUIRE(block.examples == n);
            float drawn = 0;
            for (std::size_t j = 0; j < m; ++j) {
              const float times = std::abs(block.weights.values[j * n]);
              REQUIRE(times == std::round(times));
              drawn += times;
              repeated += times > 1;
              for (std::size_t i = 0; i < n; ++i)
                REQUIRE(block.weights.values[j * n + i] ==
                        (expected.centers[i] == j ? times : -times));
            }
            REQUIRE(std::abs(block.weights.values[0]) == 1);
            REQUIRE(drawn <= 1 + negatives);
          },
          [&](double part) {
            CHECK(part >= passed);
            passed = part;
          });
      CHECK(plain.is_done());
      CHECK(repeated > 0);
      CHECK(passed < 1);
      CHECK(passed > 0.6);
    }
  }
}

TEST_CASE("IndexedContext draws windows and negatives as word2vec does", "[sampler]") {
  const auto vocabulary = zipf_vocabulary(200, 1000);
  constexpr std::size_t words = 40'000, window = 5, negatives = 5;
  const detail::AliasTable table(
      std::vector<double>(vocabulary.counts().begin(), vocabulary.counts().end()));
  Random random(4);
  std::vector<WordId> sentence(words);
  for (WordId& word : sentence) word = table.draw(random);
  std::vector<double> shares;
  for (const auto count : vocabulary.counts())
    shares.push_back(std::pow(static_cast<double>(count), 0.75));
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<double> drawn(shares.size()), expected(shares.size());
  std::size_t blocks = 0, inputs = 0;
  auto worker =
      IndexedContext::from({.window = window, .negatives = negatives}).start(vocabulary).worker();
  worker.sample(sentence, random, [&](const Block& block) {
    ++blocks;
    inputs += block.inputs.size();
    for (std::size_t w = 0; w < shares.size(); ++w)
      if (w != block.outputs[0]) expected[w] += negatives * shares[w] / all;
    for (std::size_t j = 1; j < block.outputs.size(); ++j)
      drawn[block.outputs[j]] +=
          std::abs(static_cast<double>(block.weights.values[j * block.inputs.size()]));
  });
  // Most blocks are full.
  CHECK(blocks < words / 7);
  CHECK(blocks >= words / 8);
  CHECK(static_cast<double>(inputs) == Approx(words * (window + 1)).epsilon(0.01));
  for (std::size_t w = 0; w < shares.size(); ++w)
    CHECK(drawn[w] == Approx(expected[w]).margin(5 * std::sqrt(expected[w])));
}
