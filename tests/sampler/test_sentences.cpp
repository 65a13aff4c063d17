// Samplers that take several sentences at once.
#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#include <wordloom/registry.hpp>
#include <wordloom/testing/oracle.hpp>

#include "catch.hpp"
#include "small_models.hpp"

using namespace wordloom;

namespace {

/// Sentences of which no two have a word in common: each word is its own place in the text.
struct Text {
  std::vector<WordId> words;
  std::vector<std::size_t> ends, sentence_of;

  explicit Text(std::span<const std::size_t> lengths) {
    for (const std::size_t length : lengths) {
      for (std::size_t i = 0; i < length; ++i) {
        sentence_of.push_back(ends.size());
        words.push_back(static_cast<WordId>(words.size()));
      }
      ends.push_back(words.size());
    }
  }
  Sentences sentences() const { return {words, ends}; }
};

constexpr std::size_t lengths[] = {0, 1, 7, 2, 0, 30, 1, 1, 3, 17, 16, 5, 4, 60, 1, 2, 2, 9, 0};

/// The samplers that take several sentences, and whose outputs are words.
template <class Use>
void for_each_sampler(Use use) {
  std::size_t count = 0;
  Policies::Samplers::for_each([&]<class Policy>(std::string_view name) {
    if constexpr (detail::TakesSentences<detail::WorkerOf<Policy>>) {
      INFO(name);
      ++count;
      if (name.find("hs") == std::string_view::npos) use.template operator()<Policy>(name);
    }
  });
  CHECK(count == 15);  // all of them
}

/// The positives of blocks, (input, output), each as often as it comes.
using Pairs = std::map<std::pair<RowId, RowId>, std::size_t>;
void add_positives(const Block& block, Pairs& pairs) {
  if (block.has_bags()) return;
  for (std::size_t i = 0; i < block.input_count(); ++i)
    for (std::size_t j = 0; j < block.outputs.size(); ++j)
      if (oracle::weight(block, i, j) > 0) ++pairs[{block.inputs[i], block.outputs[j]}];
}

}  // namespace

TEST_CASE("words are paired only within their sentence, except with negatives", "[sampler]") {
  const Text text(lengths);
  const auto vocabulary = zipf_vocabulary(text.words.size());
  for_each_sampler([&]<class Policy>(std::string_view name) {
    auto worker = Policy{}.start(vocabulary).worker();
    Random random(3);
    std::set<RowId> centers;
    worker.sample(text.sentences(), random, [&](const Block& block) {
      const std::size_t sentence = text.sentence_of[block.inputs[0]];
      for (const RowId input : block.inputs) REQUIRE(text.sentence_of[input] == sentence);
      for (std::size_t j = 0; j < block.positives; ++j) {
        REQUIRE(text.sentence_of[block.outputs[j]] == sentence);
        centers.insert(block.outputs[j]);
      }
    });
    INFO(name);
    for (std::size_t i = 0; i < text.ends.size(); ++i)
      for (std::size_t word = text.sentences().begin(i); word < text.ends[i]; ++word)
        CHECK(centers.contains(static_cast<RowId>(word)) == (text.sentences()[i].size() > 1));
  });
}

TEST_CASE("several sentences at once have the pairs of single ones", "[sampler]") {
  const Text text(lengths);
  const auto vocabulary = zipf_vocabulary(text.words.size());
  std::size_t compared = 0;
  for_each_sampler([&]<class Policy>(std::string_view name) {
    // Random windows would be drawn anew.
    if constexpr (requires { Policy{}.window.is_fixed; } &&
                  !Block::Features::used_by<Policy>().bags) {
      INFO(name);
      const auto run = Policy{.window = Window::fixed(3)}.start(vocabulary);
      auto worker = run.worker();
      Random random(3);
      Pairs at_once, alone;
      worker.sample(text.sentences(), random, [&](const Block& b) { add_positives(b, at_once); });
      for (std::size_t i = 0; i < text.ends.size(); ++i)
        worker.sample(text.sentences()[i], random,
                      [&](const Block& b) { add_positives(b, alone); });
      CHECK(at_once == alone);
      CHECK(!alone.empty());
      ++compared;
    }
  });
  CHECK(compared == 4);
}

namespace {

/// Notes which rows have been announced when a block comes.
struct Announcements {
  std::set<RowId> inputs, outputs;
  std::vector<std::size_t> late;  // blocks some of whose rows were not announced

  std::size_t blocks = 0;
  std::set<RowId> inputs_before, outputs_before;  // before the last block

  void prefetch(std::span<const RowId> more_inputs, std::span<const RowId> more_outputs) {
    inputs.insert(more_inputs.begin(), more_inputs.end());
    outputs.insert(more_outputs.begin(), more_outputs.end());
  }
  void operator()(const Block& block) {
    const auto in = [](const std::set<RowId>& rows) {
      return [&](RowId row) { return rows.contains(row); };
    };
    if (!std::all_of(block.inputs.begin(), block.inputs.end(), in(inputs_before)) ||
        !std::all_of(block.outputs.begin(), block.outputs.end(), in(outputs_before)))
      late.push_back(blocks);
    ++blocks;
    inputs_before = inputs;
    outputs_before = outputs;
  }
};

}  // namespace

TEST_CASE("rows are announced a block ahead, those of the next sentence too", "[sampler]") {
  const std::vector<std::size_t> of_nine(40, 9);
  const Text text(of_nine);
  // Many more words than the text has, so that no negative is announced by chance.
  const auto vocabulary = zipf_vocabulary(20'000, 1000);
  const auto check = [&]<class Policy>(std::string_view name) {
    if (name == "split") return;  // both halves of a block have been announced together
    auto worker = Policy{}.start(vocabulary).worker();
    Random random(3);
    Announcements announced;
    worker.sample(text.sentences(), random, announced);
    INFO(name);
    REQUIRE(announced.blocks > 80);
    for (const std::size_t block : announced.late) CHECK(block < 10);  // of the first sentence
  };
  for_each_sampler(check);
  check.operator()<IndexedContext>("indexed");
}
