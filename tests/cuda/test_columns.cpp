// Two-step training by the arithmetic of a device, run on the host, against the kernels of the
// host, which draw the same negatives and find the same contexts.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>
#include <wordloom/columns.hpp>
#include <wordloom/cuda/detail/column_kernel.hpp>
#include <wordloom/cuda/detail/host_kernel.hpp>
#include <wordloom/sync/thread_ranks.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "support.hpp"
#include "sync/column_scenario.hpp"

using namespace wordloom;

namespace {

template <class Optimizer>
using OnMachine =
    cuda::ColumnKernel<cuda::HostMachine, std::integer_sequence<int, 1, 10, 20>, Optimizer>;
template <class Optimizer>
using OnHost = std::conditional_t<std::is_same_v<Optimizer, Sgd>, FusedKernel,
                                  WithOptimizer<FusedKernel, Optimizer>>;

const ColumnScenario& scenario() {
  static const ColumnScenario all(700, {.columns = 3, .threads = 1});
  return all;
}

/// What a kernel trains, and the loss that it reports.
struct Trained {
  Model model;
  double loss;
};

template <class Kernel>
Trained train(const Hyperparameters& parameters, const WordContextMatrix& matrix,
              const UniformMatrix& sampler, const Kernel& kernel = {},
              const Vocabulary& vocabulary = scenario().vocabulary) {
  Trainer<UniformMatrix, Kernel> trainer(parameters, sampler, kernel);
  Model model = trainer.new_model(vocabulary);
  const TrainReport report = trainer.train(matrix, model);
  return {std::move(model), report.loss};
}

/// How much two models that began alike differ: the root of the squared differences of a matrix as
/// a share of that of its changes in training, of the worst matrix. NaN for NaN, and where a matrix
/// has not changed.
double difference(const Model& a, const Model& b) {
  const Model before(a.vocabulary, a.dimension());
  const auto all = a.matrices(), others = b.matrices();
  REQUIRE(all.size() == others.size());
  double worst = 0;
  for (std::size_t m = 0; m < all.size(); ++m) {
    REQUIRE(all[m].name == others[m].name);
    double differences = 0, changes = 0;
    for (std::size_t i = 0; i < all[m].matrix->rows(); ++i)
      for (std::size_t d = 0; d < all[m].matrix->columns(); ++d) {
        const double x = all[m].matrix->row(i)[d], start = m == 0 ? before.input.row(i)[d] : 0.0f;
        differences += std::pow(x - static_cast<double>(others[m].matrix->row(i)[d]), 2);
        changes += std::pow(x - start, 2);
      }
    const double share = std::sqrt(differences / changes);
    if (!(share <= worst)) worst = share;
  }
  return worst;
}

/// Compares a device with the host.
template <class Optimizer>
void compare(std::size_t dimension, const UniformMatrix& sampler, const Optimizer& optimizer = {}) {
  CAPTURE(dimension, sampler.words_at_once(), sampler.shared());
  const Hyperparameters parameters{
      .dimension = dimension, .learning_rate = 0.2, .epochs = 2, .threads = 1};
  const Trained host = [&] {
    if constexpr (std::is_same_v<Optimizer, Sgd>)
      return train<FusedKernel>(parameters, scenario().matrix, sampler);
    else
      return train<OnHost<Optimizer>>(parameters, scenario().matrix, sampler,
                                      {.kernel = {}, .optimizer = optimizer});
  }();
  const Trained machine =
      train<OnMachine<Optimizer>>(parameters, scenario().matrix, sampler, {.optimizer = optimizer});
  // Adam takes steps of one size, whatever the gradient: where that is rounding, so is the step.
  CHECK(difference(host.model, machine.model) < (std::is_same_v<Optimizer, Adam> ? 0.02 : 1e-4));
  CHECK(std::abs(host.loss - machine.loss) < 1e-4 * host.loss);
}

}  // namespace

TEST_CASE("columns on a device equal the host's, for any sharing of negatives", "[cuda]") {
  compare<Sgd>(20, {});
  compare<Sgd>(32, {.targets = {.negatives = 7}, .minibatch = 5, .shared_negatives = 11});
  compare<Sgd>(300, {.minibatch = 256, .shared_negatives = 40});
  compare<Sgd>(600, {.minibatch = 300, .shared_negatives = 33});
}

namespace {

/// Takes some steps with a row of 64 floats, and compares it with `oracle(d, gradients)`, by how
/// much element d changes in steps with these gradients.
template <class Optimizer, class Oracle>
void compare_steps(const Optimizer& optimizer, Oracle oracle) {
  constexpr std::size_t size = 64, row = 1, count = 7;
  const cuda::RowStep<Optimizer> step(optimizer, size);
  const cuda::RowTeam<cuda::HostTeam<32>> team;
  std::vector<float> state[3];
  cuda::StateView view{};
  for (std::size_t i = 0; i < 3; ++i) {
    state[i].resize(2 * size);
    view.matrix[i] = state[i].data();
  }
  std::vector<float> x(size, 0.5f);
  std::vector<std::vector<double>> gradients(size);  // of each element
  Random random(5);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<float> gradient;
    for (std::size_t d = 0; d < size; ++d) {
      gradient.push_back(d == 3 ? 0.0f : static_cast<float>(random.uniform() - 0.4));
      gradients[d].push_back(static_cast<double>(gradient[d]));
    }
    decltype(team)::Lanes registers[2], change[2];
    team.load_own(registers, x.data());
    team.load_own(change, gradient.data());
    step(team, view, row, registers, change, 0.1f);
    team.store_own(x.data(), registers);
  }
  for (std::size_t d = 0; d < size; ++d)
    CHECK(static_cast<double>(x[d]) == Approx(0.5 + oracle(d, gradients)).epsilon(1e-5));
  for (const auto& matrix : state)
    CHECK(std::all_of(matrix.begin(), matrix.begin() + 1, [](float f) { return f == 0; }));
}

}  // namespace

TEST_CASE("a step of an optimizer on a device follows its formula", "[cuda]") {
  using Gradients = std::vector<std::vector<double>>;
  compare_steps(Sgd(), [](std::size_t d, const Gradients& gradients) {
    double change = 0;
    for (const double g : gradients[d]) change += 0.1 * g;
    return change;
  });
  compare_steps(AdaGrad(), [](std::size_t d, const Gradients& gradients) {
    double sum = 0, change = 0;
    for (const double g : gradients[d]) change += 0.1 * g / (std::sqrt(sum += g * g) + 1e-10);
    return change;
  });
  compare_steps(AdaGrad{.per_row = true}, [](std::size_t d, const Gradients& gradients) {
    double sum = 0, change = 0;
    for (std::size_t i = 0; i < gradients[d].size(); ++i) {
      for (const auto& of_element : gradients)
        sum += of_element[i] * of_element[i] / static_cast<double>(gradients.size());
      change += 0.1 * gradients[d][i] / (std::sqrt(sum) + 1e-10);
    }
    return change;
  });
  compare_steps(RowAdaGrad(), [](std::size_t d, const Gradients& gradients) {
    double sum = 0, change = 0;
    for (std::size_t i = 0; i < gradients[d].size(); ++i) {
      change += 0.1 * gradients[d][i] / std::sqrt(std::sqrt(sum + 0.1));
      for (const auto& of_element : gradients)
        sum += of_element[i] * of_element[i] / static_cast<double>(gradients.size());
    }
    return change;
  });
  const RmsProp rms_prop{.decay = 0.8, .epsilon = 0.01};
  compare_steps(rms_prop, [&](std::size_t d, const Gradients& gradients) {
    double square = 0, change = 0;
    for (const double g : gradients[d]) {
      square = rms_prop.decay * square + (1 - rms_prop.decay) * g * g;
      change += 0.1 * g / (std::sqrt(square) + rms_prop.epsilon);
    }
    return change;
  });
  const Adam adam{.beta1 = 0.7, .beta2 = 0.95, .epsilon = 0.01};
  compare_steps(adam, [&](std::size_t d, const Gradients& gradients) {
    double mean = 0, square = 0, change = 0, steps = 0;
    for (const double g : gradients[d]) {
      ++steps;
      mean = adam.beta1 * mean + (1 - adam.beta1) * g;
      square = adam.beta2 * square + (1 - adam.beta2) * g * g;
      change += 0.1 * mean / (1 - std::pow(adam.beta1, steps)) /
                (std::sqrt(square / (1 - std::pow(adam.beta2, steps))) + adam.epsilon);
    }
    return change;
  });
}

TEST_CASE("optimizers on a device equal the host's", "[cuda]") {
  compare<Adam>(1, {});
  compare<Adam>(20, {});
  compare<Adam>(300, {.minibatch = 32}, {.beta1 = 0.8, .beta2 = 0.99});
  compare<AdaGrad>(20, {});
  compare<AdaGrad>(600, {.minibatch = 32}, {.per_row = true});
  compare<RowAdaGrad>(100, {});
}

TEST_CASE("a single pair's negatives on a device are never its context", "[cuda]") {
  // Two words: every other draw is the context.
  const Vocabulary vocabulary = vocabulary_of_counts({10, 10});
  const auto sampler = UniformMatrix{.targets = {.negatives = 3}, .minibatch = 1};
  const auto table = sampler.targets.start(vocabulary).distribution().table();
  const std::vector<WordId> contexts{1, 0};
  const cuda::ColumnView column{.contexts = contexts.data(),
                                .word_count = 2,
                                .negatives = {table.entries().data(), 2},
                                .at_once = 1,
                                .shared = 3};
  std::size_t drawn = 0, left_out = 0;
  for (std::uint64_t number = 0; number < 1000; ++number) {
    cuda::ColumnView of_number = column;
    of_number.column = number;
    for (std::uint32_t item = 0; item < 2; ++item)
      for (std::uint32_t h = 0; h < 3; ++h) {
        const WordId word = of_number.negative(of_number.group<4>(item), h);
        CHECK(word != contexts[item]);
        ++drawn;
        left_out += word == cuda::no_word;
      }
  }
  CHECK(left_out < drawn / 100);
}

TEST_CASE("a device receives the contexts of a matrix in a file", "[cuda]") {
  const TemporaryFolder folder;
  const Hyperparameters parameters{.dimension = 20, .epochs = 2, .threads = 1};
  const ColumnScenario mapped(700, {.columns = 3, .threads = 1, .file = folder / "contexts"});
  REQUIRE(mapped.matrix.is_mapped());
  const Trained host = train<FusedKernel>(parameters, mapped.matrix, {});
  const Trained machine = train<OnMachine<Sgd>>(parameters, mapped.matrix, {});
  CHECK(difference(host.model, machine.model) < 1e-4);
}

TEST_CASE("a device finds contexts of 4 bytes", "[cuda]") {
  const Hyperparameters parameters{.dimension = 5, .learning_rate = 0.2, .epochs = 2, .threads = 1};
  const ColumnScenario large(70'000, {.columns = 1, .threads = 1});
  REQUIRE(large.matrix.lists()->short_ids().empty());
  const Trained host = train<FusedKernel>(parameters, large.matrix, {}, {}, large.vocabulary);
  const Trained machine = train<OnMachine<Sgd>>(parameters, large.matrix, {}, {}, large.vocabulary);
  CHECK(difference(host.model, machine.model) < 1e-4);
}

TEST_CASE("columns on a device stop and resume with the same bits", "[cuda]") {
  const TemporaryFolder folder;
  const Hyperparameters parameters{.dimension = 20, .epochs = 2, .threads = 1};
  const Trained whole = train<OnMachine<Adam>>(parameters, scenario().matrix, {});
  for (const std::size_t stop_after : {1u, 3u, 4u}) {
    Trainer<UniformMatrix, OnMachine<Adam>> trainer(parameters);
    std::size_t calls = 0;
    std::vector<std::size_t> epochs;
    const auto count = [&](const Progress& progress) { epochs.push_back(progress.epoch); };
    trainer.checkpoint_to(folder / "checkpoint");
    trainer.on_epoch(count);
    trainer.on_progress([&](const Progress&) { return ++calls < stop_after; },
                        std::chrono::seconds(0));
    Model model = trainer.new_model(scenario().vocabulary);
    CHECK(trainer.train(scenario().matrix, model).stopped);
    trainer.clear_callbacks();
    trainer.on_epoch(count);
    trainer.on_progress([](const Progress&, const Model&) {}, std::chrono::seconds(0));
    trainer.resume_training(scenario().matrix, model, folder / "checkpoint");
    CHECK(same_matrices(model, whole.model));
    CHECK(epochs == std::vector<std::size_t>{0, 1});
  }
}

TEST_CASE("callbacks at the end of an epoch see the training of the device", "[cuda]") {
  Trainer<UniformMatrix, OnMachine<Sgd>> trainer({.dimension = 20, .epochs = 3});
  std::vector<float> first;  // of a vector after each epoch
  trainer.on_epoch([&](const Progress& progress, const Model& model) {
    CHECK(progress.epoch == first.size());
    CHECK(std::isfinite(progress.mean_loss));
    first.push_back(model.input.row(1)[0]);
  });
  const auto vectors = trainer.fit(scenario().matrix, scenario().vocabulary);
  REQUIRE(first.size() == 3);
  CHECK(first[0] != first[1]);
  CHECK(first[1] != first[2]);
  CHECK(vectors.vector(1)[0] == first[2]);
}

TEST_CASE("ranks with columns on devices train the model of a single one", "[cuda]") {
  const Hyperparameters parameters{.dimension = 20, .epochs = 2, .threads = 1};
  const Trained alone = train<OnMachine<Adam>>(parameters, scenario().matrix, {});
  for (const std::size_t size : {2u, 3u, 8u}) {
    std::vector<std::optional<Model>> of_ranks(size);
    ThreadRanks::run(size, [&](ThreadRanks self) {
      using Sync = RowAllgather<ThreadRanks, OnMachine<Adam>::Replica>;
      Trainer<UniformMatrix, OnMachine<Adam>, Sync, LinearDecay> trainer(parameters, Sync(self));
      Model model = trainer.new_model(scenario().vocabulary);
      trainer.train(scenario().matrix, model);
      of_ranks[self.rank()].emplace(std::move(model));
    });
    for (const auto& model : of_ranks) CHECK(same_matrices(*model, alone.model));
  }
}
