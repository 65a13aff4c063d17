// Checks of blocks: a wrong one is refused before a kernel sees it.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/corpus/word_context_matrix.hpp>
#include <wordloom/sampler/subwords.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "support.hpp"
#include "train/paired_corpus.hpp"

using namespace wordloom;

namespace {

/// Makes one block of 4 x 6 for each sentence. The third of each thread is spoiled.
struct Faulty {
  static constexpr Block::Features uses = {
      .bags = true, .weights = true, .one_side = true, .pairs = true};
  /// The rows that are announced before a block, and the block.
  struct Made {
    std::vector<RowId> inputs{0, 1, 2, 3}, outputs{0, 1, 2, 3, 4, 5}, inputs_ahead, outputs_ahead;
    Block block{.inputs = inputs, .outputs = outputs, .positives = 2, .examples = 4};
  };
  std::function<void(Made&)> spoil;

  template <class Visit>
  void visit_parameters(Visit&&) const {}

  struct Worker {
    std::function<void(Made&)> spoil;
    int made = 0;
    Block::Shape max_block() const { return {4, 6, 4}; }
    template <class Sink>
    void sample(std::span<const WordId>, Random&, Sink&& sink) {
      Made next;
      if (++made == 3) spoil(next);
      announce_rows(sink, next.inputs_ahead, next.outputs_ahead);
      sink(next.block);
    }
  };
  Worker start(const Vocabulary&) const { return {spoil}; }
};

template <class SamplerPolicy>
using Checked = Trainer<SamplerPolicy, DotKernel, NoSync, LinearDecay, true>;

template <class T>
auto first(std::size_t count, std::initializer_list<T> all) {
  static std::list<std::vector<T>> kept;  // spans refer to it
  return std::span<const T>(kept.emplace_back(all)).first(count);
}

}  // namespace

TEST_CASE("a wrong block is refused with its sampler, its number and the bound", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  const std::initializer_list<std::uint32_t> ends{1, 2, 3, 4};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::pair<std::string, std::function<void(Faulty::Made&)>> faults[] = {
      {"input 20 of 20 rows", [](auto& made) { made.inputs[3] = 20; }},
      {"output 4000000000 of 20 rows", [](auto& made) { made.outputs[5] = 4'000'000'000; }},
      {"99 positives of 6 outputs", [](auto& made) { made.block.positives = 99; }},
      {"18446744073709551615 examples of 24 pairs",
       [](auto& made) { made.block.examples = static_cast<std::size_t>(-1); }},
      {"bag_ends[1] is 1, and the bag begins at 1",
       [](auto& made) {
         made.block.bag_ends = first<std::uint32_t>(4, {1, 1, 3, 4});
       }},
      {"the last bag ends at 9 of 4 inputs",
       [](auto& made) {
         made.block.bag_ends = first<std::uint32_t>(4, {1, 2, 3, 9});
       }},
      {"the last bag ends at 2 of 4 inputs",
       [&](auto& made) { made.block.bag_ends = first<std::uint32_t>(2, ends); }},
      {"bag_ends and left_out are set",
       [&](auto& made) {
         made.block.bag_ends = first<std::uint32_t>(4, ends);
         made.block.left_out = first<std::uint32_t>(1, ends);
       }},
      {"left_out[3] is 4 of 4 inputs",
       [&](auto& made) { made.block.left_out = first<std::uint32_t>(4, ends); }},
      {"4 of left_out for 3 outputs",
       [&](auto& made) {
         made.block.left_out = first<std::uint32_t>(4, ends);
         made.block.outputs = made.block.outputs.first(3);
       }},
      {"1 inputs, at least 2 are needed to leave one out",
       [&](auto& made) {
         made.block.inputs = made.block.inputs.first(1);
         made.block.left_out = first<std::uint32_t>(1, {0});
       }},
      {"paired is 3, and must be 0 or 4", [](auto& made) { made.block.paired = 3; }},
      {"2 weights, and 24 are needed",
       [](auto& made) {
         made.block.weights.values = first<float>(2, {1, 1});
       }},
      {"6 weights, and 2 are needed",
       [&](auto& made) {
         made.block.outputs = made.block.outputs.first(2);
         made.block.left_out = first<std::uint32_t>(1, ends);
         made.block.weights.values = first<float>(6, {1, 1, 1, 1, 1, 1});
       }},
      {"4 weights, and 6 are needed",
       [](auto& made) {
         made.block.paired = 4;
         made.block.weights.values = first<float>(4, {1, 1, 1, 1});
       }},
      {"weight 5 is nan",
       [&](auto& made) {
         made.block.paired = 4;
         made.block.weights.values = first<float>(6, {1, 1, 1, 1, 1, nan});
       }},
  };
  for (const auto& [what, spoil] : faults) {
    INFO(what);
    const auto message = message_of<InvalidArgument>(
        [&] { Checked<Faulty>(small(), Faulty{spoil}).fit(corpus, vocabulary); });
    CHECK(message == "sampler Faulty: block 3: " + what);
  }
  for (const auto& [what, spoil] : faults) {
    const auto message = message_of<InvalidArgument>(
        [&] { Checked<Faulty>(small(3), Faulty{spoil}).fit(corpus, vocabulary); });
    CHECK(contains(message, "sampler Faulty: block 3 of thread "));
    CHECK(contains(message, ": " + what));
  }
}

TEST_CASE("a wrong row is refused where it is announced, and as a word with subwords",
          "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  const auto refusal = [&]<class SamplerPolicy>(SamplerPolicy sampler) {
    return message_of<InvalidArgument>(
        [&] { Checked<SamplerPolicy>(small(), sampler).fit(corpus, vocabulary); });
  };
  const Faulty input{[](auto& made) { made.inputs[0] = 20; }};
  const Faulty output_ahead{[](auto& made) { made.outputs_ahead = {19, 20}; }};
  const Faulty input_ahead{[](auto& made) { made.inputs_ahead = {20}; }};
  const std::string ahead = "Faulty: rows announced after block 2: ";
  CHECK(refusal(output_ahead) == "sampler " + ahead + "output 20 of 20 rows");
  CHECK(refusal(input_ahead) == "sampler " + ahead + "input 20 of 20 rows");
  // The model has more rows than words, and bags are looked up by words.
  const SubwordOptions subwords{.buckets = 100};
  CHECK(refusal(Subwords<Faulty>{input, subwords}) ==
        "sampler Subwords<Faulty>: block 3: input 20 of 20 rows");
  CHECK(refusal(Subwords<Faulty>{input_ahead, subwords}) ==
        "sampler Subwords<Faulty>: rows announced after block 2: input 20 of 20 rows");
}

namespace {

/// Makes a block of each pair of a column; the third of each thread changes the other side.
struct WrongSide {
  static constexpr bool two_steps = true;
  static constexpr Block::Features uses = {.one_side = true};

  struct Worker {
    Block::Sides step = Block::Sides::both;
    int made = 0;
    Block::Shape max_block() const { return {1, 1}; }
    void begin_step(Block::Sides next) { step = next; }
    template <class Sink>
    void sample(std::span<const WordId> pairs, Random&, Sink&& sink) {
      for (std::size_t i = 0; i < pairs.size(); i += 2) {
        const bool inputs = (step == Block::Sides::inputs) != (++made == 3);
        sink(Block{.inputs = pairs.subspan(i, 1),
                   .outputs = pairs.subspan(i + 1, 1),
                   .positives = 1,
                   .examples = 1,
                   .update = inputs ? Block::Sides::inputs : Block::Sides::outputs});
      }
    }
  };
  Worker start(const Vocabulary&) const { return {}; }
};

}  // namespace

TEST_CASE("a block that changes the other side than its step is refused", "[columns]") {
  const auto vocabulary = small_vocabulary();
  const auto matrix =
      WordContextMatrix::from(paired_corpus(vocabulary), vocabulary, {.columns = 2, .window = 2});
  for (const std::size_t threads : {1u, 3u}) {
    const auto message = message_of<InvalidArgument>(
        [&] { Checked<WrongSide>(small(threads)).fit(matrix, vocabulary); });
    CHECK(contains(message, "sampler WrongSide: block 3"));
    CHECK(contains(message, ": update is not Block::Sides::inputs, the side of the step"));
  }
}

TEST_CASE("custom samplers are checked by default in debug builds, ours never", "[trainer]") {
  STATIC_REQUIRE(detail::checks_blocks<Faulty> == (WORDLOOM_CHECKED == 1));
  STATIC_REQUIRE(detail::checks_blocks<Subwords<Faulty>> == (WORDLOOM_CHECKED == 1));
  STATIC_REQUIRE_FALSE(detail::is_ours<BasicHogwild<Faulty>>);  // as if it were targets
  STATIC_REQUIRE(detail::is_ours<Subwords<SplitSharedNegative>>);
#ifdef NDEBUG
  STATIC_REQUIRE_FALSE(WORDLOOM_CHECKED);
#endif
}

TEST_CASE("parts of a block that a sampler does not declare are refused", "[trainer]") {
  const std::vector<RowId> inputs{0, 1}, outputs{2, 3};
  const Block block{.inputs = inputs, .outputs = outputs};
  const auto refusal = [&](auto change, std::optional<Block::Sides> step = std::nullopt) {
    detail::BlockChecks checks("Mine", {}, {20, 20, true}, 0);
    if (step) checks.begin_step(*step);
    Block changed = block;
    change(changed);
    return message_of<InvalidArgument>([&] { checks(changed); });
  };
  const std::string mine = "sampler Mine: block 1: ",
                    undeclared = " set, which its Block::Features";
  CHECK(refusal([&](Block& b) { b.outputs = inputs; }) == mine + "row 0 is an input and an output");
  CHECK(contains(refusal([](Block& b) {
                   b.bag_ends = first<std::uint32_t>(2, {1, 2});
                 }),
                 mine + "bag_ends or left_out is" + undeclared));
  CHECK(contains(refusal([](Block& b) {
                   b.weights.values = first<float>(4, {1, 1, 1, 1});
                 }),
                 mine + "weights are" + undeclared));
  CHECK(contains(refusal([](Block& b) { b.update = Block::Sides::inputs; }),
                 mine + "update is" + undeclared));
  CHECK(contains(refusal([](Block& b) { b.paired = 2; }), mine + "paired is" + undeclared));
  const std::string in_turn = "in_turn is set together with bags, weights, paired or a single side";
  detail::BlockChecks paired("Mine", {.pairs = true}, {20, 20, true}, 0);
  CHECK(message_of<InvalidArgument>([&] {
          paired({.inputs = inputs, .outputs = outputs, .paired = 2, .in_turn = true});
        }) == mine + in_turn);
  CHECK(refusal([](Block&) {}, Block::Sides::outputs) ==
        mine + "update is not Block::Sides::outputs, the side of the step");
}
