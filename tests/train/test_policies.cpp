// The calls between a trainer and its policies.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <wordloom/kernel/dot_kernel.hpp>
#include <wordloom/kernel/fused_kernel.hpp>
#include <wordloom/sampler/cbow.hpp>
#include <wordloom/sampler/grouped_cbow.hpp>
#include <wordloom/sampler/grouped_window.hpp>
#include <wordloom/sampler/hogwild.hpp>
#include <wordloom/sampler/huffman_path.hpp>
#include <wordloom/sampler/shared_negative.hpp>
#include <wordloom/sampler/subwords.hpp>
#include <wordloom/sampler/uniform_matrix.hpp>
#include <wordloom/train/trainer.hpp>

#include "catch.hpp"
#include "support.hpp"
#include "train/paired_corpus.hpp"
#include "train/watching_policies.hpp"

using namespace wordloom;

TEST_CASE("policies with values of their own are used instead of the hyperparameters",
          "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  const auto fit = [&](auto trainer) { return trainer.fit(corpus, vocabulary); };
  const auto usual = fit(Trainer<SharedNegative, FusedKernel>(small()));

  Trainer narrow(small(), SharedNegative{.window = {3}}, FusedKernel{});
  CHECK(narrow.sampler().window.size == 3);
  CHECK(narrow.hyperparameters().window == 5);
  const auto of_value = fit(narrow);
  CHECK_FALSE(same(of_value, usual));
  auto parameters = small();
  parameters.window = 3;
  CHECK(same(of_value, fit(Trainer<SharedNegative, FusedKernel>(parameters))));

  CHECK_FALSE(same(
      fit(Trainer(small(), SharedNegative{.targets = {.negatives = 2}}, FusedKernel{})), usual));
  CHECK_FALSE(same(fit(Trainer(small(), SharedNegative{.targets = {.exponent = 0}}, FusedKernel{})),
                   usual));
  CHECK(same(fit(Trainer(small(), SharedNegative{}, FusedKernel{})), usual));
  // A kernel may be left to its default, and a schedule be given.
  CHECK(same(fit(Trainer<SharedNegative, FusedKernel>(small(), SharedNegative{})), usual));
  const auto with_schedule = [&](std::optional<LinearDecay> schedule) {
    return fit(Trainer<SharedNegative, FusedKernel>(small(), {}, {}, {}, schedule));
  };
  CHECK(same(with_schedule(std::nullopt), usual));
  CHECK(same(with_schedule(LinearDecay{0.025}), usual));
  CHECK_FALSE(same(with_schedule(LinearDecay{0.05}), usual));
}

TEST_CASE("a hyperparameter that the policies do not read is refused by name", "[trainer]") {
  const auto refusal = []<class Sampler>(Hyperparameters parameters) {
    return message_of<InvalidArgument>([&] { Trainer<Sampler, DotKernel> trainer(parameters); });
  };
  const auto refused = [](const std::string& what) {
    return what + ", which has no effect with this sampler and kernel: leave it out";
  };
  using Tree = BasicSharedNegative<HuffmanPath>;
  CHECK(refusal.operator()<SharedNegative>({.minibatch = 4}) == refused("minibatch is 4"));
  CHECK(refusal.operator()<Cbow>({.shared_negatives = 7}) == refused("shared_negatives is 7"));
  CHECK(refusal.operator()<UniformMatrix>({.window = 6}) == refused("window is 6"));
  CHECK(refusal.operator()<GroupedWindow>({.fixed_window = true}) == refused("fixed_window is 1"));
  CHECK(refusal.operator()<UniformMatrix>({.subsample = 0.5}) == refused("subsample is 0.5"));
  CHECK(refusal.operator()<UniformMatrix>({.negative_pool = 64}) == refused("negative_pool is 64"));
  CHECK(refusal.operator()<UniformMatrix>({.private_rows = 64}) == refused("private_rows is 64"));
  CHECK(refusal.operator()<Hogwild>({.negative_pool = 64}) == refused("negative_pool is 64"));
  CHECK(refusal.operator()<Hogwild>({.device = 1}) == refused("device is 1"));
  CHECK(refusal.operator()<Hogwild>({.sentences_in_flight = 9}) ==
        refused("sentences_in_flight is 9"));
  CHECK(refusal.operator()<Hogwild>({.node_sample = 0.25}) == refused("node_sample is 0.25"));
  CHECK(refusal.operator()<Tree>({.negatives = 3}) == refused("negatives is 3"));
  CHECK(refusal.operator()<Tree>({.negative_exponent = 1}) == refused("negative_exponent is 1"));

  // A zero switches off what is not there anyway; other samplers read the values.
  CHECK_NOTHROW(Trainer<Tree, DotKernel>({.negatives = 0, .private_rows = 0, .node_sample = 0.5}));
  CHECK_NOTHROW(Trainer<Hogwild, DotKernel>(
      {.window = 6, .fixed_window = true, .negatives = 3, .negative_pool = 0, .node_sample = 0}));
  CHECK_NOTHROW(Trainer<SharedNegative, DotKernel>({.pin_threads = true, .negative_pool = 64}));
  CHECK_NOTHROW(Trainer<Subwords<GroupedWindow>, FusedKernel>(
      {.window = 1, .minibatch = 4, .shared_negatives = 9, .negative_exponent = 0}));
}

TEST_CASE("a policy that replaces a hyperparameter by another value is refused", "[trainer]") {
  using OfBags = Trainer<Cbow, FusedKernel>;
  CHECK(message_of<InvalidArgument>(
            [] { OfBags trainer({.window = 10}, Cbow{.gradient = BagGradient::whole}); }) ==
        "window is 10 in the hyperparameters, and another value in the policy that was given: set "
        "it in the policy alone, or change the policy by the trainer's sampler() or kernel()");
  CHECK_THROWS_AS(OfBags({.negative_pool = 0}, Cbow{}), InvalidArgument);
  CHECK_THROWS_AS(OfBags({.fixed_window = true}, Cbow{}), InvalidArgument);
  CHECK_NOTHROW(OfBags({}, Cbow{.window = Window::fixed(3)}));
  CHECK_NOTHROW(OfBags({.window = 10}, Cbow{.window = {10}, .gradient = BagGradient::whole}));

  // A policy may list a parameter only where it has some value.
  const auto list = [](const Hyperparameters& parameters) -> detail::ListedParameters {
    return {{"window", static_cast<double>(parameters.window)}};
  };
  CHECK_NOTHROW(detail::require_agreement({.window = 7}, list, {{"more", 1}, {"window", 7}}));
  CHECK_THROWS_AS(detail::require_agreement({.window = 7}, list, {{"more", 7}, {"window", 5}}),
                  InvalidArgument);

  OfBags trainer({.window = 10});
  trainer.sampler().gradient = BagGradient::whole;
  CHECK(std::as_const(trainer).sampler().window.size == 10);
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  auto parameters = small();
  parameters.window = 3;
  OfBags changed(parameters);
  changed.sampler().gradient = BagGradient::whole;
  CHECK(same(changed.fit(corpus, vocabulary),
             OfBags(small(), Cbow{.window = {3}, .gradient = BagGradient::whole})
                 .fit(corpus, vocabulary)));
  changed.sampler().window.size = 0;
  CHECK_THROWS_AS(changed.fit(corpus, vocabulary), InvalidArgument);
}

TEST_CASE("the published gradients of CBOW are options", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  const auto fit = [&](const Cbow& sampler) {
    Trainer trainer(small(), sampler, DotKernel{});
    auto words = trainer.fit(corpus, vocabulary);
    return std::pair(std::move(words), trainer.report().loss);
  };
  const auto [usual, loss_of_usual] = fit({});
  const auto [mean, loss_of_mean] = fit({.gradient = BagGradient::mean});
  const auto [whole, loss_of_whole] = fit({.gradient = BagGradient::whole});
  CHECK(same(usual, fit({.gradient = BagGradient::root}).first));
  CHECK_FALSE(same(usual, mean));
  CHECK_FALSE(same(usual, whole));
  CHECK(loss_of_whole < loss_of_usual);  // larger steps, in a run as short as this
  CHECK(loss_of_usual < loss_of_mean);
}

TEST_CASE("a parameter of a policy that is out of bounds is refused by name", "[trainer]") {
  const auto refusal = [](auto sampler) {
    return message_of<InvalidArgument>([&] { Trainer trainer(small(), sampler, DotKernel{}); });
  };
  CHECK(refusal(SharedNegative{.window = {0}}) == "window is 0, must be from 1 to 1000");
  CHECK(refusal(SharedNegative{.window = {1001}}) == "window is 1001, must be from 1 to 1000");
  CHECK(refusal(SharedNegative{.targets = {.negatives = 0}}) ==
        "negatives is 0, must be from 1 to 1000");
  CHECK(contains(refusal(SharedNegative{.targets = {.exponent = std::nan("")}}),
                 "negative_exponent is nan"));
  CHECK(contains(refusal(GroupedWindow{.minibatch = 1001}), "minibatch is 1001"));
  CHECK(contains(refusal(GroupedWindow{.shared_negatives = 10'001}), "shared_negatives is 10001"));
  CHECK(contains(refusal(GroupedCbow{.groups = {.window = 0}}), "window is 0"));
  CHECK(contains(refusal(Cbow{.gradient = static_cast<BagGradient>(3)}),
                 "bag_gradient is 3, must be from 0 to 2"));
  CHECK(contains(message_of<InvalidArgument>([] {
                   Trainer<SharedNegative, DotKernel> trainer(small(), {}, {}, {}, LinearDecay{11});
                 }),
                 "learning_rate is 11"));

  auto none = small();
  none.negatives = 0;
  CHECK(message_of<InvalidArgument>([&] { Trainer<SharedNegative, DotKernel> trainer(none); }) ==
        "negatives is 0, must be from 1 to 1000");
  Trainer<HierarchicalSoftmax, DotKernel> needs_none(none);
  CHECK(needs_none.hyperparameters().negatives == 0);

  // What concerns two parameters is refused when training starts.
  const auto vocabulary = small_vocabulary();
  Trainer wide(small(), GroupedWindow{.window = 3, .minibatch = 4}, DotKernel{});
  CHECK(message_of<InvalidArgument>([&] { wide.fit(paired_corpus(vocabulary), vocabulary); }) ==
        "minibatch is 4, GroupedWindow takes up to the window of 3");
}

namespace {

/// Reports what it is made of, by the hyperparameters and by a value.
struct Gain {
  float gain = 1;

  static Gain from(const Hyperparameters& parameters) {
    return {static_cast<float>(parameters.window)};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("gain", gain, 0.0f, 100.0f);
  }
  struct Worker {
    float gain;
    template <bool>
    double update(Model& model, const Block& block, float) {
      for (const RowId i : block.inputs) model.input.row(i)[0] = gain;
      return 1.0;
    }
  };
  Worker worker(const Model&, Block::Shape) const { return {gain}; }
};

}  // namespace

TEST_CASE("a kernel may have parameters of its own", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  const auto first_number = [&](auto trainer) {
    const Embeddings words = trainer.fit(corpus, vocabulary);
    return words.vector(0)[0];
  };
  CHECK(first_number(Trainer<SharedNegative, Gain>(small())) == 5.0f);
  CHECK(first_number(Trainer(small(), SharedNegative{}, Gain{})) == 1.0f);
  CHECK(first_number(Trainer(small(), SharedNegative{}, Gain{7})) == 7.0f);
  CHECK(message_of<InvalidArgument>([] { Trainer trainer(small(), SharedNegative{}, Gain{-1}); }) ==
        "gain is -1, must be from 0 to 100");
}

namespace {

/// The shards read of a corpus: index, count, epoch, seed.
struct Asked {
  std::mutex guard;
  std::vector<std::tuple<std::size_t, std::size_t, std::size_t, std::uint64_t>> shards;
};

/// Each word of a shard's sentences says which shard it is of.
struct ShardCorpus {
  static constexpr bool repeats = false;
  Asked* asked;

  std::uint64_t token_count() const { return 12; }
  static std::vector<WordId> sentence(const Shard& shard) {
    return {static_cast<WordId>(shard.index), static_cast<WordId>(10 + shard.epoch),
            static_cast<WordId>(shard.count + shard.seed)};
  }
  std::vector<std::vector<WordId>> sentences(const Shard& shard) const {
    const std::lock_guard lock(asked->guard);
    asked->shards.emplace_back(shard.index, shard.count, shard.epoch, shard.seed);
    return {sentence(shard)};
  }
};

}  // namespace

TEST_CASE("each shard of each epoch is read once, with the given seed", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  for (const std::size_t threads : {1u, 4u}) {
    Asked asked;
    Seen seen;
    auto parameters = small(threads);
    parameters.seed = 3;
    Trainer trainer(parameters, RecordingSampler{&seen}, DotKernel{});
    trainer.fit(ShardCorpus{&asked}, vocabulary);
    std::vector<std::tuple<std::size_t, std::size_t, std::size_t, std::uint64_t>> expected;
    std::vector<std::vector<WordId>> sentences;
    for (std::size_t index = 0; index < threads; ++index)
      for (std::size_t epoch = 0; epoch < 3; ++epoch) {
        expected.emplace_back(index, threads, epoch, 3);
        sentences.push_back(ShardCorpus::sentence({index, threads, epoch, 3}));
      }
    std::sort(asked.shards.begin(), asked.shards.end());
    CHECK(asked.shards == expected);
    std::sort(seen.sentences.begin(), seen.sentences.end());
    std::sort(sentences.begin(), sentences.end());
    CHECK(seen.sentences == sentences);
    CHECK(trainer.report().tokens == 3 * 3 * threads);
  }
}

namespace {

/// Says at one and three quarters of each text what it was given.
struct ManyWords {
  std::vector<std::size_t>* texts;  // their words

  template <class Visit>
  void visit_parameters(Visit&&) const {}

  struct Worker {
    std::vector<std::size_t>* texts;
    Block::Shape max_block() const { return {1, 1}; }
    std::size_t words_at_once() const { return 130; }
    template <class Sink, class Pass = detail::AnyPass>
    void sample(const Sentences& text, Random&, Sink&& sink, Pass pass = {}) {
      texts->push_back(text.words().size());
      for (const double part : {0.25, 0.75}) {
        pass(part);
        sink(Block{
            .inputs = text.words().first(1), .outputs = text.words().first(1), .examples = 1});
      }
    }
  };
  Worker start(const Vocabulary&) const { return {texts}; }
};

}  // namespace

TEST_CASE("a sampler gets the number of words that it requests, and the rate falls between batches",
          "[trainer]") {
  // 4,000 words in sentences of 10, in batches of 130.
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  std::vector<std::size_t> texts;
  Watch watch;
  Trainer trainer(small(), ManyWords{&texts}, WatchedKernel{&watch});
  trainer.fit(corpus, vocabulary);
  REQUIRE(texts.size() == 3 * 31);
  REQUIRE(watch.rates.size() == 2 * texts.size());
  double before = 0;  // words
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CHECK(texts[i] == (i % 31 == 30 ? 100 : 130));
    for (const std::size_t half : {0u, 1u}) {
      const double now = before + (half == 0 ? 0.25 : 0.75) * static_cast<double>(texts[i]);
      CHECK(watch.rates[2 * i + half] == Approx(0.025 * (1 - now / 12'000)).margin(1e-6));
    }
    before += static_cast<double>(texts[i]);
  }
}
