// Training by strata in one process: what it trains, and that any number of threads trains the
// same. Ranks are tested in sync/test_passed_rows.cpp.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>
#include <wordloom/any_trainer.hpp>
#include <wordloom/registry.hpp>
#include <wordloom/sync/row_allgather.hpp>
#include <wordloom/sync/thread_ranks.hpp>
#include <wordloom/train/detail/step_team.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "statistics.hpp"
#include "support.hpp"
#include "train/paired_corpus.hpp"
#include "train/strata_scenario.hpp"

using namespace wordloom;
using namespace strata_scenario;

TEST_CASE("an exception in any thread of a team ends all of them", "[strata]") {
  constexpr std::size_t threads = 3, steps = 4;
  // Step 0 is before the first: a thread fails while it makes its memory.
  for (std::size_t thread = 0; thread < threads; ++thread)
    for (std::size_t step = 0; step <= steps; ++step) {
      detail::StepTeam team(threads, false);
      std::atomic<std::size_t> parts{0};
      std::size_t at = 0;  // the step
      const auto fail = [&](std::size_t in, std::size_t now) {
        if (in == thread && now == step) throw IoError("thread " + std::to_string(in));
      };
      const auto message = message_of<IoError>([&] {
        team.run(
            [&](std::size_t self, const auto& serve) {
              fail(self, 0);
              serve([&, self] {
                fail(self, at);
                ++parts;
              });
            },
            [&] {
              for (at = 1; at <= steps; ++at) team.step();
            });
      });
      CHECK(message == "thread " + std::to_string(thread));
      CHECK(parts <= threads * step);
    }
}

TEST_CASE("each pair of the text is trained once in an epoch, with negatives of its stratum",
          "[strata]") {
  const StrataScenario text;
  auto parameters = StrataScenario::parameters();
  parameters.subsample = 0;
  for (const std::size_t threads : {1u, 2u})
    for (const std::size_t strata : {1u, 7u, 20u}) {
      INFO(strata << " strata");
      parameters.threads = threads;
      auto sampler = StrataScenario::sampler(strata);
      sampler.window = Window::fixed(3);
      sampler.block_contexts = threads == 1 ? 0 : 4;
      const std::size_t most = threads == 1 ? 10 : 4;
      const auto run = sampler.start(text.vocabulary);
      const Strata& of = run.strata();
      CHECK(of.count() == strata);
      PairCounts counts;
      std::size_t largest = 0;
      for (const auto& [inputs, outputs, rate, thread] :
           trained_blocks(text, sampler, parameters)) {
        for (const RowId input : inputs) {
          ++counts[{input, outputs[0]}];
          if (of.at(input).stratum() != of.at(inputs[0]).stratum()) FAIL("inputs of two strata");
        }
        for (std::size_t i = 1; i < outputs.size(); ++i)
          if (outputs[i] == outputs[0] ||
              of.at(outputs[i]).stratum() != of.at(outputs[0]).stratum())
            FAIL("the negative " << outputs[i] << " of the centre " << outputs[0]);
        largest = std::max(largest, inputs.size());
      }
      CHECK(counts == pairs_of(text.corpus, 3, parameters.epochs));
      CHECK(largest <= most);
      if (strata == 1) CHECK(largest == most);
    }
}

TEST_CASE("blocks that are trained in one step have no stratum in common", "[strata]") {
  constexpr std::uint32_t strata = 5;
  const StrataScenario text;
  const auto sampler = StrataScenario::sampler(strata);
  const auto run = sampler.start(text.vocabulary);
  const Strata& of = run.strata();
  auto parameters = StrataScenario::parameters(2);
  parameters.subsample = 0;
  // A step has a learning rate of its own.
  struct Step {
    std::map<std::uint32_t, std::set<std::uint32_t>> outputs, inputs;  // strata by stratum
    std::map<std::uint32_t, std::set<std::thread::id>> threads;        // by stratum of inputs
  };
  std::map<float, Step, std::greater<>> steps;
  for (const auto& [inputs, outputs, rate, thread] : trained_blocks(text, sampler, parameters)) {
    const std::uint32_t input = of.at(inputs[0]).stratum(), output = of.at(outputs[0]).stratum();
    steps[rate].outputs[input].insert(output);
    steps[rate].inputs[output].insert(input);
    steps[rate].threads[input].insert(thread);
  }
  const std::size_t episodes = (text.corpus.token_count() + 1499) / 1500;
  CHECK(episodes > 1);
  CHECK(steps.size() == parameters.epochs * episodes * strata);
  std::set<std::pair<std::uint32_t, std::uint32_t>> of_episode;
  std::size_t done = 0;
  for (const auto& [rate, step] : steps) {
    CHECK((step.outputs.size() == strata && step.inputs.size() == strata));
    for (std::uint32_t s = 0; s < strata; ++s) {
      CHECK((step.outputs.at(s).size() == 1 && step.inputs.at(s).size() == 1));
      CHECK(step.threads.at(s).size() == 1);
      of_episode.emplace(s, *step.outputs.at(s).begin());
    }
    if (++done % strata == 0) {
      CHECK(of_episode.size() == strata * strata);  // all blocks
      of_episode.clear();
    }
  }
}

TEST_CASE("negatives are as many and as frequent as those of all words", "[strata]") {
  for (const double power : {1.0, 5.0}) {
    const StrataScenario text(300, 2000, power);
    auto parameters = StrataScenario::parameters();
    parameters.subsample = 0;
    auto sampler = StrataScenario::sampler(6);
    sampler.block_contexts = 1;  // draws of different pairs do not depend on each other
    const auto run = sampler.start(text.vocabulary);
    const Strata& of = run.strata();
    const auto words = static_cast<RowId>(text.vocabulary.size());
    std::vector<std::uint64_t> drawn(words);
    std::vector<double> centers(words), of_stratum(6), share(6), expected(words);
    std::uint64_t pairs = 0, negatives = 0;
    for (const auto& block : trained_blocks(text, sampler, parameters)) {
      ++pairs;
      ++centers[block.outputs[0]];
      ++of_stratum[of.at(block.outputs[0]).stratum()];
      negatives += block.outputs.size() - 1;
      for (const RowId row : std::span(block.outputs).subspan(1)) ++drawn[row];
    }
    double weights = 0, all = 0;
    for (RowId i = 0; i < words; ++i) {
      const auto count = static_cast<double>(text.vocabulary.counts()[i]);
      weights += expected[i] = std::pow(count, 0.75);
      share[of.at(i).stratum()] += count / static_cast<double>(text.vocabulary.total_count());
    }
    // A word is drawn for the centres of its stratum other than itself.
    for (RowId i = 0; i < words; ++i)
      all += expected[i] *=
          5 / weights * (of_stratum[of.at(i).stratum()] - centers[i]) / share[of.at(i).stratum()];
    for (double& of_word : expected) of_word /= all;
    CHECK(std::abs(chi_squared_deviation(drawn, expected)) < 4);
    CHECK(static_cast<double>(negatives) == Approx(all).epsilon(0.01));
    if (power == 1)
      CHECK(static_cast<double>(negatives) / static_cast<double>(pairs) == Approx(5).epsilon(0.03));
  }
}

TEST_CASE("threads share blocks if they are asked to", "[strata]") {
  const StrataScenario text;
  for (const std::size_t shares : {2u, 4u}) {
    auto sampler = StrataScenario::sampler(3);
    sampler.block_threads = shares;
    auto parameters = StrataScenario::parameters(shares * 3 + 1);
    parameters.subsample = 0;
    PairCounts counts;
    std::set<std::thread::id> threads;
    sampler.window = Window::fixed(3);
    for (const auto& [inputs, outputs, rate, thread] :
         trained_blocks(text, sampler, parameters, 4)) {
      for (const RowId input : inputs) ++counts[{input, outputs[0]}];
      threads.insert(thread);
    }
    CHECK(counts == pairs_of(text.corpus, 3, parameters.epochs));
    CHECK(threads.size() > 3);
    CHECK(threads.size() <= shares * 3);
    // In one thread, bits repeat.
    const Model once = train_strata(text, 1, sampler);
    CHECK(same_matrices(train_strata(text, 1, sampler), once));
  }
}

TEST_CASE("any number of threads trains the same model by strata", "[strata]") {
  const StrataScenario text;
  std::vector<Model> models;
  for (const std::size_t strata : {1u, 5u, 7u, 20u}) {
    INFO(strata << " strata");
    const auto sampler = StrataScenario::sampler(strata);
    models.push_back(train_strata(text, 1, sampler));
    for (const std::size_t threads : {2u, 3u, 5u})
      if (strata == 7 || threads == 2 || (strata == 1 && threads == 3))
        CHECK(same_matrices(train_strata(text, threads, sampler), models.back()));
  }
  for (std::size_t i = 1; i < models.size(); ++i)
    CHECK_FALSE(same_matrices(models[i], models[i - 1]));
  // A stratum has 16 words or more, and 512 by default.
  CHECK(text.vocabulary.size() / 16 == 20);
  CHECK(same_matrices(train_strata(text, 2, StrataScenario::sampler(256)), models[3]));
  CHECK(same_matrices(train_strata(text, 2, StrataScenario::sampler(0)), models[0]));
  CHECK_FALSE(same_matrices(
      models[1], StrataTrainer<>(StrataScenario::parameters()).new_model(text.vocabulary)));
}

TEST_CASE("a callback sees the words and the loss of each step of strata", "[strata]") {
  const StrataScenario text;
  StrataTrainer<> trainer(StrataScenario::parameters(2), StrataScenario::sampler());
  std::vector<std::uint64_t> tokens;
  std::size_t models = 0;
  trainer.on_progress([&](const Progress& progress) { tokens.push_back(progress.tokens); }, 0s);
  trainer.on_progress([&](const Progress&, const Model&) { ++models; }, 0s);
  trainer.fit(text.corpus, text.vocabulary);
  const std::size_t episodes = (text.corpus.token_count() + 1499) / 1500;
  CHECK(tokens.size() == 2 * 7 * episodes + 1);
  CHECK(models == tokens.size());
  CHECK(tokens.back() == 2 * text.corpus.token_count());
  CHECK(trainer.report().tokens == tokens.back());
  // A positive and 5 negatives of a model that knows nothing.
  auto parameters = StrataScenario::parameters();
  parameters.learning_rate = 1e-6;
  StrataTrainer<> fresh(parameters, StrataScenario::sampler(6));
  fresh.fit(text.corpus, text.vocabulary);
  for (const double loss : fresh.report().epoch_losses)
    CHECK(loss == Approx(6 * std::log(2)).epsilon(0.04));
}

TEST_CASE("training by strata that cannot be done is refused", "[strata]") {
  const auto vocabulary = small_vocabulary(60);
  const auto refusal = [&](const std::vector<std::vector<WordId>>& sentences, std::size_t threads,
                           double subsample = 0) {
    Hyperparameters parameters = small(threads);
    parameters.subsample = subsample;
    StrataTrainer<> trainer(parameters, StrataScenario::sampler());
    const auto corpus = EncodedCorpus::from_sentences(sentences, vocabulary);
    return message_of<CorpusError>([&] { trainer.fit(corpus, vocabulary); });
  };
  const std::string no_context =
      "nothing to train on: no word of the corpus has a context: each of its ";
  for (const std::size_t threads : {1u, 3u}) {
    CHECK(refusal({30, {3}}, threads) ==
          no_context +
              "30 sentences (30 words) has one word; is there one word a line? A line is "
              "a sentence");
    CHECK(refusal({{0, 0, 0}, {1, 1}}, threads) ==
          no_context +
              "2 sentences (5 words) repeats one word; a sentence needs two different "
              "ones");
    CHECK(message_of<IoError>([&] {
            StrataTrainer<ThrowingAtSeven>(small(threads), StrataScenario::sampler())
                .fit(paired_corpus(vocabulary), vocabulary);
          }) == "word seven");
  }
  auto sampler = StrataScenario::sampler(1);
  const auto start = [&](std::size_t words) -> Strata {
    std::vector<std::pair<std::string, std::uint64_t>> counts;
    for (std::size_t i = 0; i < words; ++i) counts.emplace_back(std::to_string(i), 5);
    return sampler.start(Vocabulary::from_counts(counts)).strata();
  };
  CHECK(message_of<CorpusError>([&] { start(1); }) ==
        "negative sampling needs a vocabulary of at least 2 words, got 1");
  CHECK(start(65'536).of(0).size() == 65'536);
  CHECK(message_of<InvalidArgument>([&] { start(65'537); }) ==
        "strata is 1, must be at least 2 for a vocabulary of 65537 words");
  sampler.strata = 7;
  CHECK(start(100).count() == 6);
  sampler.strata = 0;
  for (const std::size_t words : {2u, 1023u, 1024u, 16'383u, 16'384u, 65'537u})
    CHECK(start(words).count() == std::clamp<std::size_t>(words / 512, 1, 32));
  for (const std::size_t threads : {1u, 3u})
    CHECK(refusal({40, {0, 1, 2, 3}}, threads, 1e-12) ==
          no_context +
              "40 sentences (160 words) has at most one word after subsampling with the "
              "threshold 1e-12; use a higher one, or 0 to keep all words");
}

TEST_CASE("names choose a trainer of strata", "[strata]") {
  const StrataScenario text;
  const auto parameters = StrataScenario::parameters(2);
  const auto fit = [&]<class Kernel>(Kernel kernel, std::size_t strata) {
    StratifiedPairs sampler;
    sampler.strata = strata;
    return StrataTrainer<Kernel>(parameters, sampler, kernel).fit(text.corpus, text.vocabulary);
  };
  const auto check = [&]<class Kernel>(std::string_view name, Kernel kernel) {
    INFO(name);
    auto trainer = make_trainer("stratified", name, parameters);
    const auto usual = trainer.fit(text.corpus, text.vocabulary);
    CHECK(same(usual, fit(kernel, 0)));
    trainer.sampler_parameter("strata", "7");
    const auto seven = trainer.fit(text.corpus, text.vocabulary);
    CHECK(same(seven, fit(kernel, 7)));
    CHECK_FALSE(same(seven, usual));
    return seven;
  };
  const auto fused = check("fused", FusedKernel{});
  check("dot", DotKernel{});
#if WORDLOOM_HAS_BLAS
  check("gemm", GemmKernel{});
#endif
  ThreadRanks::run(2, [&](ThreadRanks& ranks) {
    auto trainer = make_trainer("stratified", "fused", parameters, {.sync = RowAllgather(ranks)});
    trainer.sampler_parameter("strata", "7");
    if (!same(trainer.fit(text.corpus, text.vocabulary), fused))
      throw TrainingError("ranks have other vectors than one");
  });
  const auto refusal = [&](std::string_view kernel, const AnyTrainer::Options& options) {
    return message_of<InvalidArgument>(
        [&] { static_cast<void>(make_trainer("stratified", kernel, parameters, options)); });
  };
  CHECK(refusal("dot", {.optimizer = "adam"}) ==
        "the sampler stratified goes with the optimizer sgd, not adam");
  CHECK(refusal("fused", {.optimizer = "row-adagrad"}) ==
        "the sampler stratified goes with the optimizer sgd, not row-adagrad");
  CHECK(refusal("bf16", {}) ==
        "the kernel bf16 goes with the samplers shared, combined, grouped, not stratified");
  CHECK(refusal("fused", {.subwords = {.maxn = 4}}) ==
        "a model with subwords goes with the samplers " + Policies::SubwordSamplers::names() +
            ", not stratified");
  auto trainer = make_trainer("stratified", "fused", parameters);
  CHECK(message_of<InvalidArgument>([&] { trainer.sampler_parameter("gradient", "whole"); }) ==
        "this sampler has no parameter 'gradient', it has: window, negatives, negative_exponent, "
        "negative_pool, block_contexts, strata, episode, block_threads");
  CHECK(message_of<InvalidArgument>([&] { trainer.sampler_parameter("strata", "257"); }) ==
        "strata is 257, must be from 0 to 256");
}
