#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <type_traits>
#include <vector>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/kernel/dot_kernel.hpp>
#include <wordloom/kernel/with_optimizer.hpp>
#include <wordloom/optimizer/ada_grad.hpp>
#include <wordloom/optimizer/adam.hpp>
#include <wordloom/optimizer/row_ada_grad.hpp>
#include <wordloom/optimizer/sgd.hpp>
#include <wordloom/sampler/hogwild.hpp>
#include <wordloom/train/detail/checkpoint.hpp>
#include <wordloom/train/trainer.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

struct Task {
  Vocabulary vocabulary = zipf_vocabulary(50);
  EncodedCorpus corpus = EncodedCorpus::from_sentences(neighbouring_words(2000, 50), vocabulary);
};

Hyperparameters parameters(std::size_t threads = 1) {
  return {
      .dimension = 20, .subsample = 0.0, .learning_rate = 0.01, .epochs = 3, .threads = threads};
}

template <class Policy>
using Optimized = Trainer<Hogwild, WithOptimizer<DotKernel, Policy>>;

}  // namespace

TEMPLATE_TEST_CASE("an optimizer resumes from a checkpoint to the same bits",
                   "[optimizer][training]", Adam, AdaGrad, RowAdaGrad, Sgd) {
  const Task task;
  const TemporaryFolder folder;
  using AnyTrainer = Optimized<TestType>;
  AnyTrainer trainer(parameters());
  Model whole = trainer.new_model(task.vocabulary);
  trainer.train(task.corpus, whole);
  CHECK((whole.state.size() > 0) == !std::is_same_v<TestType, Sgd>);
  for (const double fraction : {0.1, 0.5, 0.8}) {
    AnyTrainer first(parameters());
    first.checkpoint_to(folder / "state");
    first.on_progress([&](const Progress& progress) { return progress.fraction() < fraction; }, 0s);
    first.fit(task.corpus, task.vocabulary);
    REQUIRE(first.report().stopped);
    CHECK(detail::Checkpoint::load(folder / "state").matrices.size() == whole.matrices().size());
    AnyTrainer rest(parameters());
    Model resumed = rest.new_model(task.vocabulary);
    rest.resume_training(task.corpus, resumed, folder / "state");
    CHECK(same_matrices(resumed, whole));
  }
}

TEMPLATE_TEST_CASE("optimizers learn, on one thread and on several", "[optimizer][training]", Adam,
                   AdaGrad, RowAdaGrad, Sgd) {
  const Task task;
  for (const std::size_t threads : {1u, 3u})
    for (const std::size_t batch : {1u, 16u}) {
      Optimized<TestType> trainer(parameters(threads), Hogwild{}, {.batch = batch});
      trainer.fit(task.corpus, task.vocabulary);
      const auto& losses = trainer.report().epoch_losses;
      CHECK(losses.back() < losses.front());
    }
}

TEST_CASE("a batch in progress is applied at the end of an epoch and when training stops",
          "[optimizer][training]") {
  Task task;
  const std::vector<std::vector<WordId>> few(300, {1, 2, 3, 4, 5, 6, 7});
  task.corpus = EncodedCorpus::from_sentences(few, task.vocabulary);
  const auto is_zero = [](const RowMatrix& matrix) {
    return std::all_of(matrix.data(), matrix.data() + matrix.bytes() / sizeof(float),
                       [](float x) { return x == 0; });
  };
  for (const bool stops : {false, true}) {
    Hyperparameters with = parameters();
    with.epochs = 1;
    Optimized<Sgd> trainer(with, Hogwild{}, {.batch = 65536});  // more than the corpus has
    if (stops) trainer.on_progress([](const Progress&) { return false; }, 0s);
    Model model = trainer.new_model(task.vocabulary);
    REQUIRE(is_zero(model.output));
    trainer.train(task.corpus, model);
    CHECK(trainer.report().stopped == stops);
    CHECK_FALSE(is_zero(model.output));
  }
}

TEST_CASE("parameters out of bounds are refused by name", "[optimizer][training]") {
  const auto refusal = [](auto kernel, Hyperparameters with = parameters()) {
    return message_of<InvalidArgument>([&] { Trainer(with, Hogwild{}, kernel); });
  };
  using WithAdam = WithOptimizer<DotKernel, Adam>;
  using WithAdaGrad = WithOptimizer<DotKernel, AdaGrad>;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(contains(refusal(WithAdam{.optimizer = {.beta1 = 1.0}}), "beta1 is 1, must be from 0"));
  CHECK(contains(refusal(WithAdam{.optimizer = {.beta1 = -0.1}}), "beta1"));
  CHECK(contains(refusal(WithAdam{.optimizer = {.beta2 = nan}}), "beta2"));
  CHECK(contains(refusal(WithAdam{.optimizer = {.epsilon = 0}}), "epsilon is 0"));
  CHECK(contains(refusal(WithAdaGrad{.optimizer = {.epsilon = 0}}), "epsilon is 0"));
  CHECK(contains(refusal(WithAdam{.batch = 0}), "batch is 0, must be from 1 to 65536"));
  CHECK(contains(refusal(WithAdam{.batch = 65537}), "batch is 65537"));
  Hyperparameters with = parameters();
  with.learning_rate = 11;
  CHECK(contains(refusal(WithAdam{}, with), "learning_rate is 11"));
}

TEST_CASE("a checkpoint of another optimizer is refused", "[optimizer][training]") {
  const Task task;
  const TemporaryFolder folder;
  Optimized<Adam> first(parameters());
  first.checkpoint_to(folder / "state");
  first.on_progress([](const Progress&) { return false; }, 0s);
  first.fit(task.corpus, task.vocabulary);
  const auto refusal = [&](auto kernel) {
    return message_of<InvalidArgument>([&] {
      Trainer(parameters(), Hogwild::from(parameters()), kernel)
          .resume(task.corpus, task.vocabulary, folder / "state");
    });
  };
  using WithAdam = WithOptimizer<DotKernel, Adam>;
  CHECK(contains(refusal(WithAdam{.optimizer = {.beta2 = 0.99}}), "another method"));
  CHECK(contains(refusal(WithAdam{.batch = 2}), "another method"));
  CHECK(contains(refusal(WithOptimizer<DotKernel, AdaGrad>{}), "another method"));
}
