#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/any_trainer.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "support.hpp"
#include "train/paired_corpus.hpp"
#include "train/watching_policies.hpp"

using namespace wordloom;

TEST_CASE("one thread and one seed give the same bits again", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  const auto check = [&](std::string_view sampler, std::string_view kernel, bool fixed_window) {
    INFO(sampler << ", " << kernel);
    auto parameters = small();
    parameters.fixed_window = fixed_window;
    AnyTrainer trainer = make_trainer(sampler, kernel, parameters);
    const auto first = trainer.fit(corpus, vocabulary);
    CHECK(same(first, trainer.fit(corpus, vocabulary)));
    parameters.seed = 2;
    CHECK_FALSE(same(first, make_trainer(sampler, kernel, parameters).fit(corpus, vocabulary)));
  };
  for (const auto* kernel : {"dot", "fused"})
    Policies::Samplers::for_each([&]<class>(std::string_view name) { check(name, kernel, false); });
  check("hogwild", "fused", true);
}

namespace {

/// FusedKernel without its halves.
struct WholeUpdates {
  static constexpr Block::Features honours = FusedKernel::honours;

  struct Worker {
    FusedKernel::Worker halves;
    template <bool with_loss>
    LossSum update(Model& model, const Block& block, float learning_rate) noexcept {
      return halves.update<with_loss>(model, block, learning_rate);
    }
  };
  Worker worker(const Model& model, Block::Shape most) const {
    return {FusedKernel{}.worker(model, most)};
  }
};

}  // namespace

TEMPLATE_TEST_CASE("updates in two halves give the bits of whole ones", "[trainer]", SharedNegative,
                   GroupedWindow, SplitSharedNegative, Cbow) {
  static_assert(detail::UpdatesInHalves<FusedKernel::Worker> &&
                !detail::UpdatesInHalves<WholeUpdates::Worker>);
  const Vocabulary vocabulary = small_vocabulary();
  const EncodedCorpus corpus = paired_corpus(vocabulary);
  Trainer<TestType, FusedKernel> halves(small());
  Trainer<TestType, WholeUpdates> whole(small());
  CHECK(same(halves.fit(corpus, vocabulary), whole.fit(corpus, vocabulary)));
  CHECK(halves.report().loss == whole.report().loss);
}

TEST_CASE("every sentence is trained once in each epoch, whatever the threads", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary, 57);
  std::vector<std::vector<WordId>> expected;
  for (std::size_t i = 0; i < corpus.sentence_count(); ++i)
    for (int epoch = 0; epoch < 3; ++epoch)
      expected.emplace_back(corpus.sentence(i).begin(), corpus.sentence(i).end());
  std::sort(expected.begin(), expected.end());
  for (const std::size_t threads : {1u, 2u, 5u}) {
    Seen seen;
    Trainer trainer(small(threads), RecordingSampler{&seen}, DotKernel{});
    trainer.fit(corpus, vocabulary);
    std::sort(seen.sentences.begin(), seen.sentences.end());
    CHECK(seen.sentences == expected);
    CHECK(trainer.report().tokens == 3 * corpus.token_count());
  }
}

TEST_CASE("the reported loss is the mean of the kernel's losses over examples", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary, 10);
  Watch watch{.loss = 1.25};
  Trainer trainer(small(), RecordingSampler{}, WatchedKernel{&watch});
  trainer.fit(corpus, vocabulary);
  CHECK(trainer.report().loss == Approx(1.25));
  REQUIRE(trainer.report().epoch_losses.size() == 3);
  CHECK(trainer.report().epoch_losses[0] == Approx(1.25));
}

TEST_CASE("the reported seconds of epochs add up to at most those of training", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  for (const std::size_t threads : {1u, 2u}) {
    Trainer trainer(small(threads), RecordingSampler{}, DotKernel{});
    trainer.fit(paired_corpus(vocabulary, 10), vocabulary);
    const TrainReport& report = trainer.report();
    REQUIRE(report.epoch_seconds.size() == 3);
    for (const double seconds : report.epoch_seconds) CHECK(seconds > 0);
    CHECK(std::accumulate(report.epoch_seconds.begin(), report.epoch_seconds.end(), 0.0) <=
          report.seconds);
    CHECK(report.sentences_in_flight == 0);
  }
}

TEST_CASE("the true mean loss starts at log 2 for each target: all scores of a new model are 0",
          "[trainer]") {
  const auto vocabulary = small_vocabulary();
  auto parameters = small();
  parameters.epochs = 1;
  parameters.learning_rate = 1e-9;
  const auto loss = [&](auto trainer) {
    trainer.fit(paired_corpus(vocabulary), vocabulary);
    return trainer.report().loss;
  };
  // An example is a context word for skip-gram, a centre for CBOW: 1 + K targets.
  CHECK(loss(Trainer<SharedNegative, DotKernel>(parameters)) ==
        Approx(6 * std::log(2.0)).epsilon(1e-4));
  CHECK(loss(Trainer<Cbow, DotKernel>(parameters)) == Approx(6 * std::log(2.0)).epsilon(1e-4));
  // Twelve of 20 words, all about as frequent, have 4 nodes on their path, the others 5.
  parameters.node_sample = 0;
  CHECK(loss(Trainer<HierarchicalSoftmax, DotKernel>(parameters)) ==
        Approx(4.4 * std::log(2.0)).epsilon(0.02));
}

TEST_CASE("the learning rate falls from its start to nearly zero", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  Watch watch;
  Trainer(small(), RecordingSampler{}, WatchedKernel{&watch})
      .fit(paired_corpus(vocabulary), vocabulary);
  const auto& rates = watch.rates;
  CHECK(rates.front() == Approx(0.025));
  CHECK(rates.back() < 0.0003);
  CHECK(rates.size() > 50);
  CHECK(std::is_sorted(rates.rbegin(), rates.rend()));
  const LinearDecay schedule{.start = 0.1};
  CHECK(schedule.rate(0.0) == Approx(0.1));
  CHECK(schedule.rate(0.25) == Approx(0.075));
  CHECK(schedule.rate(1.0) == Approx(1e-5));
}

TEST_CASE("each schedule follows its formula", "[trainer]") {
  const Hyperparameters parameters{.learning_rate = 0.1, .epochs = 4};
  const EpochDecay epoch = EpochDecay::from(parameters);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(epoch.rate(static_cast<double>(i) / 4) == Approx(0.1 - 0.025 * static_cast<double>(i)));
    CHECK(epoch.rate((static_cast<double>(i) + 0.99) / 4) ==
          epoch.rate(static_cast<double>(i) / 4));
  }
  CHECK(epoch.rate(1.0) == Approx(0.025));
  CHECK(ConstantRate::from(parameters).rate(0.9) == 0.1);
  const CosineDecay cosine = CosineDecay::from(parameters);
  CHECK(cosine.rate(0.0) == Approx(0.1));
  CHECK(cosine.rate(0.5) == Approx(0.05));
  CHECK(cosine.rate(1.0) == Approx(1e-5));
  // More ranks begin higher and end lower.
  const auto one = SteepDecay::from(parameters), many = SteepDecay::from(parameters, 16);
  CHECK(one.rate(0.25) == LinearDecay::from(parameters).rate(0.25));
  CHECK(many.rate(0.0) == Approx(0.4));
  CHECK(many.rate(0.5) == Approx(many.rate(0) / 4));
  using Kind = AnySchedule::Kind;
  for (const double at : {0.0, 0.3, 1.0}) {
    CHECK(AnySchedule::from(parameters, 8).rate(at) ==
          RankScaledDecay::from(parameters, 8).rate(at));
    CHECK(AnySchedule(Kind::epoch, parameters).rate(at) == epoch.rate(at));
    CHECK(AnySchedule(Kind::constant, parameters).rate(at) == 0.1);
    CHECK(AnySchedule(Kind::cosine, parameters).rate(at) == cosine.rate(at));
    CHECK(AnySchedule(Kind::steep, parameters, 16).rate(at) == many.rate(at));
  }
}

TEST_CASE("published systems have none of our own additions", "[trainer]") {
  const Hyperparameters parameters{.private_rows = 512, .negative_pool = 2048, .node_sample = 1e-3};
  const auto check = [](const auto& trainer) {
    CHECK(trainer.hyperparameters().private_rows == 0);
    CHECK(trainer.hyperparameters().negative_pool == 0);
    CHECK(trainer.hyperparameters().node_sample == 0);
  };
  const Word2Vec word2vec(parameters);
  check(word2vec);
  CHECK(word2vec.sampler().targets.pool == 0);
  const Word2VecCbow cbow(parameters);
  check(cbow);
  CHECK(cbow.sampler().gradient == BagGradient::whole);
  const DeepWalk tree(parameters);
  check(tree);
  CHECK(tree.sampler().targets.node_sample == 0);
  const CachedHierarchicalSoftmax cached(parameters);
  CHECK(cached.hyperparameters().private_rows == 31);
  CHECK(cached.sampler().targets.node_sample == 0);
  check(BidMach(parameters));
#if WORDLOOM_HAS_BLAS
  check(PSgnsCc(parameters));
  check(Published<HierarchicalSoftmax, GemmKernel>(parameters));
#endif
  check(Word2Vec(parameters, Hogwild{}));
}

TEST_CASE("a loss that is not finite stops training with its position", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  Watch watch{.loss = std::numeric_limits<double>::quiet_NaN()};
  Trainer trainer(small(), RecordingSampler{}, WatchedKernel{&watch});
  const auto message = message_of<TrainingError>([&] { trainer.fit(corpus, vocabulary); });
  CHECK(contains(message, "loss is nan in epoch 1 of 3"));
  CHECK(contains(message, "of 12000"));
  CHECK(contains(message, "learning rate 0.025"));

  // A real divergence: vectors that are already enormous.
  DefaultTrainer real(small());
  Model model = real.new_model(vocabulary);
  for (std::size_t i = 0; i < model.rows(); ++i) {
    std::fill(model.input.row(i).begin(), model.input.row(i).end(), 1e30f);
    std::fill(model.output.row(i).begin(), model.output.row(i).end(), 1e30f);
  }
  CHECK_THROWS_AS(real.train(corpus, model), TrainingError);
}

TEST_CASE("a corpus, model and vocabulary that do not fit each other are refused", "[trainer]") {
  const auto vocabulary = small_vocabulary(), other = small_vocabulary(30);
  const auto corpus = paired_corpus(vocabulary);
  DefaultTrainer trainer(small());
  CHECK_THROWS_AS(trainer.fit(corpus, other), CorpusError);
  Model narrow(vocabulary, 8);
  CHECK(message_of<InvalidArgument>([&] { trainer.train(corpus, narrow); }) ==
        "the model's input is 20 x 8, its vocabulary, this sampler and the hyperparameters need "
        "20 x 16");
  Model nameless(20, 16);
  CHECK_THROWS_AS(trainer.train(corpus, nameless), Error);
  CHECK_THROWS_AS(trainer.fit(EncodedCorpus::from_sentences({}, vocabulary), vocabulary),
                  CorpusError);
  CHECK_THROWS_AS(DefaultTrainer({.dimension = 0}), InvalidArgument);
}

namespace {

/// Makes blocks that are larger than it says.
struct TooLarge {
  Block::Shape most = {1, 1};
  bool makes_bags = false;

  template <class Visit>
  void visit_parameters(Visit&&) const {}

  struct Worker {
    Block::Shape most;
    bool makes_bags;
    Block::Shape max_block() const { return most; }
    template <class Sink>
    void sample(std::span<const WordId> sentence, Random&, Sink&& sink) {
      const std::array ends{static_cast<std::uint32_t>(sentence.size())};
      Block block{.inputs = sentence, .outputs = sentence, .positives = 1, .examples = 1};
      if (makes_bags) block.bag_ends = ends;
      sink(block);
    }
  };
  Worker start(const Vocabulary&) const { return {most, makes_bags}; }
};

}  // namespace

TEST_CASE("a block larger than promised is refused before a kernel sees it", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto refusal = [&](const TooLarge& sampler) {
    return message_of<InvalidArgument>(
        [&] { Trainer(small(), sampler, DotKernel{}).fit(paired_corpus(vocabulary), vocabulary); });
  };
  CHECK(refusal({}) == "the sampler made a block of 10 x 10, more than its max_block() of 1 x 1");
  CHECK(refusal({.most = {10, 9}}) ==
        "the sampler made a block of 10 x 10, more than its max_block() of 10 x 9");
  CHECK(refusal({.most = {1, 10, 9}, .makes_bags = true}) ==
        "the sampler made a block of 1 x 10 with 10 members of bags, more than its max_block() of "
        "1 x 10 with 9 members of bags");
}

TEST_CASE("a text corpus trains to the bits of the encoded one", "[trainer]") {
  const TemporaryFolder folder;
  std::string text;
  Random random(1);
  for (int i = 0; i < 500; ++i) {
    for (int k = 0; k < 9; ++k) text += "w" + std::to_string(random.below(12)) + " ";
    text += "\n";
  }
  write_file(folder / "text", text);
  const auto vocabulary = Vocabulary::from_text(folder / "text");
  DefaultTrainer trainer(small());
  const auto encoded =
      trainer.fit(EncodedCorpus::from_text(folder / "text", vocabulary), vocabulary);
  const TextCorpus read(folder / "text", vocabulary);
  CHECK(same(trainer.fit(read, vocabulary), encoded));
  CHECK(same(trainer.fit(AnyCorpus(read), vocabulary), encoded));
}
