// Minibatches of pairs by the arithmetic of a device, run on the host, against the same in plain
// double precision.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <wordloom/columns.hpp>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/cuda/detail/host_kernel.hpp>
#include <wordloom/cuda/detail/vanilla_kernel.hpp>

#include "catch.hpp"
#include "cuda/vanilla_oracle.hpp"
#include "small_models.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

constexpr std::size_t words = 60;

template <class Optimizer>
using OnMachine = cuda::VanillaKernel<cuda::HostMachine, cuda::HostSorter,
                                      std::integer_sequence<int, 1, 10>, Optimizer>;

const Vocabulary& vocabulary() {
  static const Vocabulary all = zipf_vocabulary(words, 1000);
  return all;
}

/// Sentences of many lengths in some batches, the second of which is the largest. Three words are
/// in most windows, so that a minibatch has a row in several pieces, and a word meets itself.
std::vector<detail::SentenceBatch> some_batches() {
  std::vector<detail::SentenceBatch> batches;
  Random random(3);
  std::uint64_t sentences = 0;
  for (const std::vector<std::size_t>& lengths :
       {std::vector<std::size_t>{40, 0, 1, 2}, {5, 70, 33, 32, 2}, {1}, {64, 3}}) {
    detail::SentenceBatch& batch = batches.emplace_back();
    batch.first_sentence = sentences;
    batch.index = batches.size() - 1;
    for (const std::size_t length : lengths) {
      for (std::size_t i = 0; i < length; ++i)
        batch.words.push_back(static_cast<WordId>(random.below(i % 2 == 0 ? 3 : words)));
      batch.ends.push_back(static_cast<std::uint32_t>(batch.words.size()));
    }
    sentences += batch.ends.size();
  }
  return batches;
}

/// Trains a random model by the run of a kernel; two epochs, of which the minibatches end there.
template <class Kernel, class Sampler>
std::pair<Model, cuda::Trained> train(const Kernel& kernel, const Sampler& sampler,
                                      const Hyperparameters& parameters,
                                      const std::vector<detail::SentenceBatch>& batches,
                                      double last_rate = 0.02) {
  Model model = random_model(vocabulary(), parameters.dimension);
  auto run = kernel.start(sampler, parameters, model);
  cuda::Trained all;
  for (std::size_t epoch = 0; epoch < 2; ++epoch) {
    for (const detail::SentenceBatch& batch : batches) {
      run->submit(batch, epoch, 0.02, last_rate);
      const cuda::Trained trained = run->wait();
      all.loss += trained.loss;
      all.examples += trained.examples;
    }
    run->flush();
  }
  run->download(model);
  return {std::move(model), all};
}

/// Compares a machine with the oracle. Returns the most entries that a row has in a minibatch.
template <class Optimizer, class Sampler>
std::size_t compare(std::size_t dimension, std::size_t batch, const Sampler& sampler,
                    double subsample = 0, const Optimizer& optimizer = {}) {
  CAPTURE(dimension, batch, sampler.window.size, sampler.targets.negatives, subsample);
  const Hyperparameters parameters{.dimension = dimension, .subsample = subsample};
  const auto batches = some_batches();
  const auto [model, trained] = train(OnMachine<Optimizer>{.optimizer = optimizer, .batch = batch},
                                      sampler, parameters, batches, 0.01);
  const Model before = random_model(vocabulary(), dimension);
  vanilla::Oracle<Optimizer> oracle(before, sampler, optimizer, batch, subsample);
  for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
    for (const detail::SentenceBatch& one : batches) oracle.train(one, epoch, 0.02, 0.01);
    oracle.finish();
  }
  for (const std::size_t side : {0u, 1u}) {
    const RowMatrix& got = side == 0 ? model.input : model.output;
    const RowMatrix& start = side == 0 ? before.input : before.output;
    double differences = 0, changes = 0;
    for (std::size_t i = 0; i < got.rows(); ++i)
      for (std::size_t d = 0; d < dimension; ++d) {
        const double expected = oracle.matrices[side][i][d];
        differences += std::pow(static_cast<double>(got.row(i)[d]) - expected, 2);
        changes += std::pow(static_cast<double>(start.row(i)[d]) - expected, 2);
      }
    CHECK(changes > 1e-4);
    CHECK(std::sqrt(differences / changes) < 1e-4);  // false for NaN
  }
  CHECK(trained.examples == oracle.examples);
  CHECK(trained.loss == Approx(oracle.loss).epsilon(1e-5));
  return oracle.most_entries;
}

/// An Adam whose steps depend on gradients, also where these are as small as rounding.
constexpr Adam adam{.beta1 = 0.8, .beta2 = 0.95, .epsilon = 0.01};

const Hogwild fixed{.window = Window::fixed(3)};

}  // namespace

TEST_CASE("minibatches on a device follow the formula of each optimizer", "[cuda][vanilla]") {
  for (const std::size_t batch : {1u, 2u, 5u, 64u, 500u}) {
    compare<Sgd>(20, batch, fixed);
    compare<AdaGrad>(20, batch, fixed);
    compare<Adam>(20, batch, fixed, 0, adam);
  }
  compare<Sgd>(300, 70, fixed);
  compare<Adam>(32, 33, Hogwild{.window = Window::fixed(1), .targets = {.negatives = 1}}, 0, adam);
  compare<AdaGrad>(1, 7, Hogwild{.window = Window::fixed(10), .targets = {.negatives = 30}});
}

TEST_CASE("a row that is in a minibatch hundreds of times takes one step", "[cuda][vanilla]") {
  // More than the entries of a corpus: they are applied at the end of an epoch.
  constexpr std::size_t pieces = 3;
  CHECK(compare<Sgd>(20, 65536, fixed) > pieces * cuda::SortedView::piece_entries);
  CHECK(compare<Adam>(20, 700, fixed, 0, adam) > pieces * cuda::SortedView::piece_entries);
}

TEST_CASE("minibatches on a device draw windows and subsampling themselves", "[cuda][vanilla]") {
  compare<Sgd>(20, 16, Hogwild());
  compare<Adam>(20, 100, Hogwild(), 0.02, adam);
  compare<Sgd>(20, 64, fixed, 0.02);
}

TEST_CASE("minibatches do not depend on the batches of sentences", "[cuda][vanilla]") {
  const auto batches = some_batches();
  detail::SentenceBatch all;
  for (const detail::SentenceBatch& batch : batches) {
    for (const std::uint32_t end : batch.ends)
      all.ends.push_back(static_cast<std::uint32_t>(all.words.size()) + end);
    all.words.insert(all.words.end(), batch.words.begin(), batch.words.end());
  }
  const Hyperparameters parameters{.dimension = 20, .subsample = 0.02};
  for (const std::size_t batch : {1u, 64u, 65536u}) {
    const OnMachine<Adam> kernel{.batch = batch};
    const auto parts = train(kernel, fixed, parameters, batches);
    const auto again = train(kernel, fixed, parameters, batches);
    const auto whole = train(kernel, fixed, parameters, {all});
    CHECK(same_matrices(parts.first, again.first));
    CHECK(same_matrices(parts.first, whole.first));
    CHECK(parts.first.matrices().size() == 8);
  }
}

TEST_CASE("batches without pairs train nothing", "[cuda][vanilla]") {
  detail::SentenceBatch empty, lone;
  empty.ends = {0, 0};
  lone.words = {1, 2};
  lone.ends = {1, 2};
  lone.index = 1;
  const auto trained = train(OnMachine<Sgd>(), Hogwild(), {.dimension = 20}, {empty, lone});
  CHECK(same_matrices(trained.first, random_model(vocabulary(), 20)));
  CHECK(trained.second.examples == 0);
}

TEST_CASE("minibatches on a device refuse unsupported parameters and models", "[cuda][vanilla]") {
  Model model = random_model(vocabulary(), 20);
  const auto start = [&](const OnMachine<Sgd>& kernel, const Hogwild& sampler,
                         std::size_t dimension = 20) {
    return message_of<InvalidArgument>(
        [&] { kernel.start(sampler, {.dimension = dimension}, model); });
  };
  CHECK(start({.batch = 0}, {}) == "batch is 0, must be from 1 to 65536");
  CHECK(start({.batch = 65537}, {}) == "batch is 65537, must be from 1 to 65536");
  CHECK(contains(start({}, {.window = {21}}), "window of a kernel on a device is 21"));
  CHECK(contains(start({}, {.targets = {.negatives = 31}}), "negatives of a kernel on a device"));
  CHECK(contains(start({}, {}, 321), "dimension of a kernel on a device is 321"));
  Model other = random_model(vocabulary(), 20, words + 1);
  CHECK(contains(message_of<InvalidArgument>(
                     [&] { OnMachine<Sgd>().start(Hogwild(), {.dimension = 20}, other); }),
                 "trains 60 rows of the output"));
  CHECK(contains(message_of<InvalidArgument>([] {
                   detail::FixedWindowTrainer<Hogwild, OnMachine<Sgd>>(Hyperparameters(),
                                                                       {.batch = 0});
                 }),
                 "batch is 0"));
}

namespace {

EncodedCorpus corpus() {
  return EncodedCorpus::from_sentences(random_sentences(50, 20, words), vocabulary());
}
template <class Kernel>
using TrainerOf = detail::FixedWindowTrainer<Hogwild, Kernel>;

}  // namespace

TEST_CASE("a minibatch on a device ends with its epoch", "[cuda][vanilla]") {
  TrainerOf<OnMachine<Sgd>> trainer({.dimension = 20, .epochs = 3}, {.batch = 65536});
  std::vector<float> first;  // of an output vector after each epoch
  trainer.on_epoch([&](const Progress& progress, const Model& model) {
    CHECK(std::isfinite(progress.mean_loss));
    first.push_back(model.output.row(1)[0]);
  });
  Model model = trainer.new_model(vocabulary());
  trainer.train(corpus(), model);
  REQUIRE(first.size() == 3);
  CHECK(first[0] != 0);
  CHECK(first[1] != first[0]);
  CHECK(first[2] != first[1]);
  CHECK(model.output.row(1)[0] == first[2]);
}

TEST_CASE("a device tells at the end of an epoch that a run has diverged", "[cuda][vanilla]") {
  TrainerOf<OnMachine<Sgd>> trainer({.dimension = 20, .epochs = 3}, {.batch = 64});
  std::size_t epochs = 0;
  trainer.on_epoch([&](const Progress&, const Model&) { ++epochs; });
  Model model = trainer.new_model(vocabulary());
  const float before = model.input.row(7)[3];
  model.input.row(7)[3] = -3000;
  CHECK(contains(message_of<TrainingError>([&] { trainer.train(corpus(), model); }),
                 "training diverged: the matrix 'input' holds "));
  CHECK(epochs == 0);
  model = trainer.new_model(vocabulary());
  model.input.row(7)[3] = before;
  trainer.train(corpus(), model);
  CHECK(epochs == 3);
}

TEST_CASE("minibatches on a device stop and resume with the same bits", "[cuda][vanilla]") {
  const TemporaryFolder folder;
  const Hyperparameters parameters{.dimension = 20, .epochs = 3};
  const auto make = [&] { return TrainerOf<OnMachine<Adam>>(parameters, {.batch = 64}); };
  auto uninterrupted = make();
  Model whole = uninterrupted.new_model(vocabulary());
  uninterrupted.train(corpus(), whole);
  // After reports, or at the ends of epochs.
  for (const auto& [reports, ends] :
       {std::pair{1u, 9u}, std::pair{2u, 9u}, std::pair{9u, 1u}, std::pair{9u, 3u}}) {
    auto trainer = make();
    std::size_t calls = 0;
    std::vector<std::size_t> epochs;
    trainer.checkpoint_to(folder / "checkpoint");
    trainer.on_progress([&, most = reports](const Progress&) { return ++calls < most; }, 0s);
    trainer.on_epoch([&, most = ends](const Progress& progress) {
      epochs.push_back(progress.epoch);
      return epochs.size() < most;
    });
    Model model = trainer.new_model(vocabulary());
    CHECK(trainer.train(corpus(), model).stopped);
    trainer.clear_callbacks();
    trainer.on_progress([](const Progress&, const Model&) {}, 0s);
    trainer.on_epoch([&](const Progress& progress) { epochs.push_back(progress.epoch); });
    trainer.resume_training(corpus(), model, folder / "checkpoint");
    CHECK(same_matrices(model, whole));
    CHECK(epochs == std::vector<std::size_t>{0, 1, 2});
  }
}

TEST_CASE("a device and the host keep the same state", "[cuda][vanilla]") {
  const Hyperparameters parameters{.dimension = 20, .epochs = 1, .threads = 1};
  Vanilla<Adam> on_host(parameters, {.batch = 64});
  Model model = on_host.new_model(vocabulary());
  on_host.train(corpus(), model);
  std::vector<std::string> names;
  for (const auto& matrix : model.matrices()) names.emplace_back(matrix.name);
  const float steps = model.state_matrix("input.adam_steps", words, 1).row(0)[0];
  CHECK(steps > 0);
  TrainerOf<OnMachine<Adam>>(parameters, {.batch = 64}).train(corpus(), model);
  std::vector<std::string> others;
  for (const auto& matrix : model.matrices()) others.emplace_back(matrix.name);
  CHECK(names == others);
  CHECK(model.state_matrix("input.adam_steps", words, 1).row(0)[0] > steps);
}
