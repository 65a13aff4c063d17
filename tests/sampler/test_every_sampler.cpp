// What holds for every sampler of the library.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#include <wordloom/registry.hpp>
#include <wordloom/testing/oracle.hpp>
#include <wordloom/train/detail/block_checks.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

/// Calls `use.template operator()<Policy>(name)` for each sampler of words, also those that go with
/// one kernel.
template <class Use>
void for_each_sampler(Use use) {
  Policies::Samplers::for_each(use);
  Policies::PublishedSamplers::for_each(use);
}

/// Calls `check(block)` for the blocks that one worker makes of many sentences of few words.
template <class Worker, class Check>
void for_each_block(Worker& worker, std::size_t words, Check&& check) {
  Random random(6);
  for (std::size_t length = 0; length < 120; ++length) {
    std::vector<WordId> sentence(length);
    for (WordId& word : sentence) word = static_cast<WordId>(random.below(words));
    worker.sample(sentence, random, check);
  }
}

}  // namespace

TEST_CASE("each kind of sampler is told by its concept", "[registry]") {
  STATIC_REQUIRE((ColumnSampler<UniformMatrix> && !ColumnSampler<Hogwild>));
  STATIC_REQUIRE((SubwordSampler<Subwords<Hogwild>> && !SubwordSampler<Hogwild>));
  STATIC_REQUIRE(
      (OneMatrixSampler<detail::LineFirstOrder> && !OneMatrixSampler<detail::LineSecondOrder>));
  STATIC_REQUIRE((SentenceSampler<SharedNegative> && !SentenceSampler<UniformMatrix>));
#if WORDLOOM_HAS_BLAS
  STATIC_REQUIRE(EncodedSampler<Encoded<SharedNegative, CharCnn>>);
#endif
  STATIC_REQUIRE_FALSE(EncodedSampler<SharedNegative>);
}

TEST_CASE("a policy is found by its name", "[registry]") {
  bool is_cbow = false;
  Policies::Samplers::with("cbow", [&]<class Policy>() { is_cbow = std::is_same_v<Policy, Cbow>; });
  CHECK(is_cbow);
  CHECK(Policies::Samplers::contains("shared-hs"));
  CHECK_FALSE(Policies::Samplers::contains("shared-"));
  CHECK(Policies::Targets::names() == "negative, hs, hs-negative");
  CHECK(Policies::Targets::names("|") == "negative|hs|hs-negative");
  CHECK(message_of<InvalidArgument>([] { Policies::Targets::with("softmax", []<class>() {}); }) ==
        "there is no 'softmax', choose one of: negative, hs, hs-negative");
  std::set<std::string_view> names;
  std::size_t count = 0;
  Policies::Samplers::for_each([&]<class Policy>(std::string_view name) {
    names.insert(name);
    ++count;
    Policies::Samplers::with(name, [&]<class Found>() { CHECK(std::is_same_v<Found, Policy>); });
  });
  CHECK(names.size() == count);
}

namespace {

/// Checks blocks as trainers do those of custom samplers, and their size.
struct CheckedBlocks {
  detail::BlockChecks checks;
  Block::Shape most;
  std::size_t examples = 0;

  void operator()(const Block& block) {
    checks(block);
    REQUIRE(block.input_count() > 0);
    REQUIRE(block.outputs.size() > 0);
    REQUIRE(block.input_count() <= most.inputs);
    REQUIRE(block.outputs.size() <= most.outputs);
    if (block.has_bags()) REQUIRE(block.inputs.size() <= most.members);
    examples += block.examples;
  }
  void prefetch(std::span<const RowId> inputs, std::span<const RowId> outputs) const {
    checks.check_announced(inputs, outputs);
  }
};

}  // namespace

TEST_CASE("blocks are within the bounds and the features that a sampler declares", "[sampler]") {
  const auto vocabulary = zipf_vocabulary(30, 1000);
  const auto check = [&]<class Policy>(std::string_view name) {
    INFO(name);
    STATIC_REQUIRE(detail::is_ours<Policy>);
    constexpr Block::Features uses = Block::Features::used_by<Policy>();
    const auto run = Policy{}.start(vocabulary);
    auto worker = detail::worker_of(run);
    CHECK((worker.max_block().members > 0) == uses.bags);
    const std::size_t rows = detail::output_rows(run, vocabulary);
    CheckedBlocks blocks{{"", uses, {30, rows}, 0}, worker.max_block()};
    for_each_block(worker, 30, blocks);
    CHECK(blocks.examples > 0);
  };
  for_each_sampler(check);
  check.operator()<detail::AttractionRepulsion<GroupedCbow>>("grouped-cbow, split");
}

TEST_CASE("a row is not both a positive and a negative of an input", "[sampler]") {
  const auto vocabulary = zipf_vocabulary(6);
  for_each_sampler([&]<class Policy>(std::string_view name) {
    INFO(name);
    // A node may be a positive for one centre of a group and a negative for another.
    if (std::is_same_v<Policy, GroupedHierarchicalSoftmax>) return;
    auto worker = Policy{}.start(vocabulary).worker();
    std::size_t negatives = 0;
    for_each_block(worker, 6, [&](const Block& block) {
      for (std::size_t i = 0; i < block.input_count(); ++i)
        for (std::size_t j = 0; j < block.outputs.size(); ++j) {
          if (oracle::weight(block, i, j) >= 0) continue;
          ++negatives;
          for (std::size_t p = 0; p < block.outputs.size(); ++p)
            if (block.outputs[p] == block.outputs[j])
              REQUIRE_FALSE(oracle::weight(block, i, p) > 0);
        }
    });
    CHECK(negatives > 0);
  });
}

TEST_CASE("weights of one version at one address are equal", "[sampler]") {
  const auto check = [](auto worker, std::size_t words, std::size_t fewest_repeats) {
    std::map<std::pair<std::uint64_t, const float*>, std::pair<std::size_t, std::vector<float>>>
        known;
    std::size_t repeats = 0;
    for_each_block(worker, words, [&](const Block& block) {
      if (block.weights.version == 0) return;
      const auto [values, version] = block.weights;
      const std::pair now{block.input_count(), std::vector<float>(values.begin(), values.end())};
      const auto [found, is_new] = known.emplace(std::pair(version, values.data()), now);
      repeats += !is_new;
      REQUIRE(found->second == now);
    });
    CHECK(repeats >= fewest_repeats);
  };
  for (const std::size_t words : {6u, 2000u}) {
    const auto vocabulary = zipf_vocabulary(words);
    for_each_sampler([&]<class Policy>(std::string_view name) {
      INFO(name);
      if constexpr (Block::Features::used_by<Policy>().weights)
        check(Policy{}.start(vocabulary).worker(), words, 0);
    });
    // Of many words, few negatives are centres, and weights come again.
    const std::size_t fewest = words == 6 ? 0 : 500;
    check(GroupedWindow{}.start(vocabulary).worker(), words, fewest);
    check(CombinedContext{.window = Window::fixed(3)}.start(vocabulary).worker(), words, fewest);
    check(detail::AttractionRepulsion<GroupedWindow>{}.start(vocabulary).worker(), words,
          2 * fewest);
  }
}

TEST_CASE("workers of a run make equal blocks from equal random numbers", "[sampler]") {
  const auto vocabulary = zipf_vocabulary(30, 1000);
  for_each_sampler([&]<class Policy>(std::string_view name) {
    INFO(name);
    const auto run = Policy{}.start(vocabulary);
    const auto rows_of = [](auto worker) {
      std::vector<RowId> rows;
      for_each_block(worker, 30, [&](const Block& block) {
        rows.insert(rows.end(), block.inputs.begin(), block.inputs.end());
        rows.insert(rows.end(), block.outputs.begin(), block.outputs.end());
      });
      return rows;
    };
    const auto copy = run;
    CHECK(rows_of(run.worker()) == rows_of(copy.worker()));
  });
}

namespace {

/// Sums of a row's numbers over equal parts of a corpus.
class Tally {
 public:
  Tally(std::size_t rows) : part_(rows), sum_(rows), square_(rows) {}
  void add(RowId row, double x) { part_[row] += x; }
  void end_part() {
    for (std::size_t i = 0; i < part_.size(); ++i) {
      sum_[i] += part_[i];
      square_[i] += part_[i] * part_[i];
      part_[i] = 0;
    }
    ++parts_;
  }
  std::size_t rows() const { return sum_.size(); }
  double sum(std::size_t row) const { return sum_[row]; }
  /// The standard deviation of the sum, by the spread between parts.
  double deviation(std::size_t row) const {
    const double mean = sum_[row] / parts_;
    return std::sqrt(std::max(0.0, square_[row] - parts_ * mean * mean) * parts_ / (parts_ - 1));
  }

 private:
  std::vector<double> part_, sum_, square_;
  double parts_ = 0;
};

/// Samples random sentences of words as the vocabulary counts them, and compares how often each row
/// is scored with what the sampler expects: pairs by their weight and, for bags, by what a score
/// moves when a member does and by what the member receives of the gradient.
template <class Policy>
void check_expected_updates(const Policy& policy, const Vocabulary& vocabulary, double subsample) {
  constexpr std::size_t parts = 40, length = 10'000;  // long: ends of sentences do not count
  const detail::AliasTable words(
      std::vector<double>(vocabulary.counts().begin(), vocabulary.counts().end()));
  const detail::Subsampling subsampling(vocabulary, subsample);
  const auto run = policy.start(vocabulary);
  auto worker = run.worker();
  Tally input(vocabulary.size()), output(detail::output_rows(run, vocabulary));
  Random random(7);
  std::vector<WordId> sentence(length), kept;
  for (std::size_t part = 0; part < parts; ++part) {
    for (WordId& word : sentence) word = words.draw(random);
    worker.sample(subsampling(sentence, random, kept), random, [&](const Block& block) {
      for (std::size_t i = 0; i < block.input_count(); ++i) {
        const auto bag = oracle::bag(block, i);
        const double share = 1 / static_cast<double>(bag.size());
        const double received = oracle::member_share(block, bag.size());
        double of_input = 0;
        for (std::size_t j = 0; j < block.outputs.size(); ++j) {
          const double pairs = std::abs(oracle::weight(block, i, j));
          output.add(block.outputs[j], pairs);
          of_input += pairs;
        }
        for (const RowId member : bag) input.add(member, of_input * share * received);
      }
    });
    input.end_part();
    output.end_part();
  }
  const detail::ExpectedUpdates expected = run.expected_updates(WordRates(vocabulary, subsample));
  const auto compare = [&](const Tally& tally, const std::vector<float>& of_word) {
    REQUIRE(of_word.size() == tally.rows());
    double sum = 0, expected_sum = 0;
    std::size_t wrong = 0;
    for (std::size_t row = 0; row < tally.rows(); ++row) {
      const double wanted = static_cast<double>(of_word[row]) * parts * length;
      // A hundredth: negatives that are positives are drawn again, or left out.
      wrong += std::abs(tally.sum(row) - wanted) > 5 * tally.deviation(row) + 0.01 * wanted;
      sum += tally.sum(row);
      expected_sum += wanted;
    }
    CHECK(wrong == 0);
    CHECK(sum == Approx(expected_sum).epsilon(0.01));
  };
  compare(input, expected.input);
  compare(output, expected.output);
}

}  // namespace

TEST_CASE("rows are scored as often as expected_updates says", "[sampler]") {
  // No word is so frequent that it is often drawn for its own negative.
  std::vector<std::uint64_t> counts;
  for (std::size_t i = 0; i < 500; ++i) counts.push_back(3000 - 5 * i);
  const auto vocabulary = vocabulary_of_counts(counts);
  const Hyperparameters parameters{.window = 4, .negatives = 3};
  for_each_sampler([&]<class Policy>(std::string_view name) {
    INFO(name);
    if constexpr (detail::ExpectsUpdates<Policy>)
      check_expected_updates(Policy::from(parameters), vocabulary, 1e-3);
    else
      CHECK(name == "indexed");
  });
  for (const BagGradient gradient : {BagGradient::mean, BagGradient::whole}) {
    check_expected_updates(Cbow{.window = {4}, .gradient = gradient}, vocabulary, 0);
    check_expected_updates(GroupedCbow{{.window = 4}, gradient}, vocabulary, 0);
  }
  check_expected_updates(GroupedWindow{.window = 4, .minibatch = 4}, vocabulary, 1e-3);
  const Window fixed = Window::fixed(2);
  check_expected_updates(Hogwild{.window = fixed}, vocabulary, 1e-3);
  check_expected_updates(SentenceMinibatch{.window = fixed}, vocabulary, 1e-3);
  check_expected_updates(CombinedContext{.window = fixed}, vocabulary, 1e-3);
  check_expected_updates(Cbow{.window = fixed}, vocabulary, 1e-3);
}
