// Trainers that are chosen by names at run time.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>
#include <wordloom/any_trainer.hpp>
#include <wordloom/registry.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/row_allgather.hpp>
#include <wordloom/sync/thread_ranks.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "support.hpp"
#include "train/paired_corpus.hpp"

using namespace wordloom;

namespace {

std::string refusal(std::string_view sampler, std::string_view kernel,
                    const AnyTrainer::Options& options = {},
                    const Hyperparameters& parameters = {}) {
  return message_of<InvalidArgument>(
      [&] { static_cast<void>(make_trainer(sampler, kernel, parameters, options)); });
}

}  // namespace

TEST_CASE("every sampler and every kernel of the registry has a trainer", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto makes = [&](std::string_view sampler, std::string_view kernel,
                         const AnyTrainer::Options& options = {}) {
    INFO(sampler << " " << kernel << " " << options.optimizer);
    const auto trainer = make_trainer(sampler, kernel, {.dimension = 16}, options);
    CHECK(trainer.new_model(vocabulary).dimension() == 16);
  };
  const SubwordOptions subwords{.minn = 2, .maxn = 3, .buckets = 10};
  Policies::Kernels::for_each([&]<class>(std::string_view kernel) {
    Policies::Samplers::for_each([&]<class>(std::string_view sampler) { makes(sampler, kernel); });
    Policies::SubwordSamplers::for_each(
        [&]<class>(std::string_view sampler) { makes(sampler, kernel, {.subwords = subwords}); });
    Policies::Optimizers::for_each([&]<class>(std::string_view name) {
      makes("uniform", kernel, {.optimizer = std::string(name)});
    });
  });
  Policies::Samplers::for_each([&]<class Sampler>(std::string_view sampler) {
    makes(sampler, "fused", {.optimizer = "row-adagrad"});
    if (!Block::Features::used_by<Sampler>().bags)
      for (const char* optimizer : {"adagrad", "rmsprop", "adam"})
        makes(sampler, "dot", {.optimizer = optimizer});
  });
  Policies::RowSamplers::for_each([&]<class>(std::string_view sampler) { makes(sampler, "bf16"); });
#if WORDLOOM_HAS_BLAS
  Policies::PublishedSamplers::for_each(
      [&]<class>(std::string_view sampler) { makes(sampler, "gemm"); });
  Policies::EncodedSamplers::for_each(
      [&]<class>(std::string_view sampler) { makes(sampler, "fused", {.char_cnn = true}); });
#endif
}

TEST_CASE("a trainer that names choose trains the vectors of the Trainer of these policies",
          "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  const auto parameters = small();
  const auto shared = make_trainer("shared", "fused", parameters).fit(corpus, vocabulary);
  CHECK(same(shared, Trainer<SharedNegative, FusedKernel>(parameters).fit(corpus, vocabulary)));

  auto cbow = make_trainer("cbow", "fused", parameters);
  const auto with_root = cbow.fit(corpus, vocabulary);
  cbow.sampler_parameter("gradient", "whole");
  Trainer<Cbow, FusedKernel> of_types(parameters);
  CHECK(same(with_root, of_types.fit(corpus, vocabulary)));
  of_types.sampler().gradient = BagGradient::whole;
  const auto with_whole = cbow.fit(corpus, vocabulary);
  CHECK(same(with_whole, of_types.fit(corpus, vocabulary)));
  CHECK_FALSE(same(with_whole, with_root));

  const SubwordOptions subwords{.minn = 2, .maxn = 3, .buckets = 50};
  Trainer<Subwords<GroupedWindow>, FusedKernel> with_subwords(parameters);
  with_subwords.sampler().subwords = subwords;
  CHECK(same(
      make_trainer("grouped", "fused", parameters, {.subwords = subwords}).fit(corpus, vocabulary),
      with_subwords.fit(corpus, vocabulary).in_vocabulary()));

  // A trainer of given types behind the same interface.
  AnyTrainer any{Trainer<SharedNegative, FusedKernel>(parameters)};
  CHECK(same(any.fit(AnyCorpus(corpus), vocabulary), shared));
  CHECK(any.report().loss > 0);
  CHECK(any.hyperparameters().dimension == parameters.dimension);
}

TEST_CASE("a trainer of columns takes sentences, and any number of threads", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  const auto fit = [&](std::size_t threads, std::size_t window, AnyTrainer::Options options) {
    auto parameters = small(threads);
    parameters.window = window;
    options.context_size = 40;
    return make_trainer("uniform", "fused", parameters, options).fit(corpus, vocabulary);
  };
  const auto adam = fit(1, 2, {.optimizer = "adam"});
  CHECK(same(adam, fit(3, 2, {.optimizer = "adam"})));
  CHECK_FALSE(same(adam, fit(1, 2, {.optimizer = "adam", .schedule = "constant"})));
  CHECK_FALSE(same(adam, fit(1, 2, {})));
  CHECK_FALSE(same(adam, fit(1, 7, {.optimizer = "adam"})));
}

TEST_CASE("names that do not exist are refused with those that do", "[trainer]") {
  CHECK(refusal("skipgram", "fused") ==
        "there is no sampler 'skipgram', choose one of: " + Policies::Samplers::names() + ", " +
            Policies::StratumSamplers::names() + ", " + Policies::ColumnSamplers::names() + ", " +
            Policies::PublishedSamplers::names());
  CHECK(refusal("shared", "fast") ==
        "there is no kernel 'fast', choose one of: " + Policies::Kernels::names() + ", " +
            Policies::RowKernels::names());
  CHECK(refusal("shared", "fused", {.optimizer = "lion"}) ==
        "there is no optimizer 'lion', choose one of: " + Policies::Optimizers::names());
  CHECK(refusal("shared", "fused", {.schedule = "fast"}) ==
        "there is no schedule 'fast', choose one of: linear, epoch, constant, cosine, steep");
}

TEST_CASE("names that do not go together are refused", "[trainer]") {
  const SubwordOptions subwords{.maxn = 6};
  CHECK(refusal("cbow", "bf16") ==
        "the kernel bf16 goes with the samplers shared, combined, grouped, not cbow");
  CHECK(refusal("shared", "bf16", {.subwords = subwords}) ==
        "the kernel bf16 goes with whole words, not subwords");
  CHECK(refusal("shared", "bf16", {.optimizer = "row-adagrad"}) ==
        "the kernel bf16 goes with the optimizer sgd, not row-adagrad");
  CHECK(refusal("decoupled", "fused") ==
        "the sampler decoupled goes with the kernel gemm, not fused");
  CHECK(refusal("minibatch", "fused", {.subwords = subwords}) ==
        "a model with subwords goes with the samplers " + Policies::SubwordSamplers::names() +
            ", not minibatch");
  CHECK(refusal("shared", "fused", {.optimizer = "adam"}) ==
        "the optimizer adam goes with the kernel dot, not fused");
  CHECK(refusal("shared", "fused", {.optimizer = "row-adagrad", .subwords = subwords}) ==
        "the optimizer row-adagrad goes with whole words, not subwords");
  CHECK(refusal("cbow", "dot", {.optimizer = "adam"}) ==
        "the sampler cbow has bags, which the optimizer adam does not train");
#if WORDLOOM_HAS_BLAS
  CHECK(refusal("grouped", "fused", {.char_cnn = true}) ==
        "a character CNN goes with the samplers shared, uniform, not grouped");
  CHECK(refusal("shared", "dot", {.char_cnn = true}) ==
        "a character CNN goes with the kernel fused, not dot");
#else
  CHECK(contains(refusal("shared", "fused", {.char_cnn = true}), "needs a build with CBLAS"));
#endif
  CHECK(contains(refusal("shared", "fused", {}, {.minibatch = 4}), "minibatch is 4"));
}

TEST_CASE("parameters of a sampler are set by name", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  auto trainer = make_trainer("shared", "fused", small());
  const auto usual = trainer.fit(corpus, vocabulary);
  trainer.sampler_parameter("window", "2");
  trainer.sampler_parameter("negative_exponent", "0.5");
  Trainer<SharedNegative, FusedKernel> of_types(small());
  of_types.sampler().window.size = 2;
  of_types.sampler().targets.exponent = 0.5;
  CHECK(same(trainer.fit(corpus, vocabulary), of_types.fit(corpus, vocabulary)));

  const auto refused = [](AnyTrainer& of, std::string_view name, std::string_view value) {
    return message_of<InvalidArgument>([&] { of.sampler_parameter(name, value); });
  };
  CHECK(refused(trainer, "gradient", "whole") ==
        "this sampler has no parameter 'gradient', it has: window, negatives, negative_exponent, "
        "negative_pool, block_contexts");
  CHECK(refused(trainer, "window", "0") == "window is 0, must be from 1 to 1000");
  CHECK(refused(trainer, "window", "2.5") ==
        "window is '2.5', must be a whole number, not below 0");
  CHECK(refused(trainer, "negatives", "-1") ==
        "negatives is '-1', must be a whole number, not below 0");
  auto cbow = make_trainer("cbow", "dot", {}, {.subwords = {.maxn = 6}});
  CHECK(refused(cbow, "gradient", "all") == "gradient is 'all', must be mean, root or whole");
  cbow.sampler_parameter("minn", "2");
#if WORDLOOM_HAS_BLAS
  auto encoded = make_trainer("shared", "fused", {}, {.char_cnn = true});
  encoded.sampler_parameter("positions", "12");
  encoded.sampler_parameter("end_to_end", "true");
  CHECK(refused(encoded, "end_to_end", "2") == "end_to_end is '2', must be true or false");
#endif
}

TEST_CASE("a trainer that names choose calls back, and resumes from its checkpoint", "[trainer]") {
  const TemporaryFolder folder;
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  const auto whole = make_trainer("grouped", "dot", small()).fit(corpus, vocabulary);

  auto trainer = make_trainer("grouped", "dot", small());
  std::vector<std::size_t> epochs;
  struct StopsAfterFirst {
    std::vector<std::size_t>& epochs;
    bool on_epoch(const Progress& progress) {
      epochs.push_back(progress.epoch);
      return progress.epoch > 0;
    }
  };
  const auto path = folder.path() / "state";
  trainer.add(StopsAfterFirst{epochs});
  trainer.add(Checkpoint(path));
  CHECK(contains(message_of<InvalidArgument>([&] { trainer.add(Checkpoint(path)); }), "already"));
  Model model = trainer.new_model(vocabulary);
  CHECK(trainer.train(corpus, model).stopped);
  CHECK(epochs == std::vector<std::size_t>{0});

  trainer.clear_callbacks();
  bool ended = false;
  trainer.on_progress([&](const Progress& progress) { ended = progress.ended; });
  CHECK(same(trainer.resume(corpus, vocabulary, path), whole));
  CHECK(ended);
  CHECK_FALSE(trainer.resume_training(corpus, model, path).stopped);
  CHECK(same(model.embeddings(), whole));
}

TEST_CASE("ranks synchronise a trainer that names choose by the policy of its sampler",
          "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  const auto fit = [&](std::string_view sampler, const AnySync<>& sync) {
    return make_trainer(sampler, "fused", small(), {.context_size = 40, .sync = sync})
        .fit(corpus, vocabulary);
  };
  const auto alone = fit("uniform", {});
  ThreadRanks::run(2, [&](ThreadRanks& ranks) {
    const bool equal = same(fit("uniform", RowAllgather(ranks)), alone);
    if (!equal) throw TrainingError("ranks that train columns have other vectors than one");
    static_cast<void>(fit("shared", Allreduce(ranks)));
  });
  const auto refused = [&](std::string_view sampler, auto sync_of) {
    return message_of<InvalidArgument>(
        [&] { ThreadRanks::run(2, [&](ThreadRanks& ranks) { fit(sampler, sync_of(ranks)); }); });
  };
  CHECK(refused("uniform", [](ThreadRanks& ranks) { return Allreduce(ranks); }) ==
        "ranks that train columns or strata need the SyncPolicy RowAllgather");
  CHECK(refused("shared", [](ThreadRanks& ranks) { return RowAllgather(ranks); }) ==
        "the SyncPolicy RowAllgather is for samplers that train columns or strata");
}
