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

/// The steps of an optimizer with a row, in double precision.
struct RowState {
  std::vector<double> mean, square;
  double steps = 0;
};
void step(const Sgd&, RowState&, std::vector<double>& x, const std::vector<double>& g,
          double rate) {
  for (std::size_t d = 0; d < x.size(); ++d) x[d] += rate * g[d];
}
void step(const AdaGrad& optimizer, RowState& state, std::vector<double>& x,
          const std::vector<double>& g, double rate) {
  state.square.resize(x.size());
  for (std::size_t d = 0; d < x.size(); ++d) {
    state.square[d] += g[d] * g[d];
    x[d] += rate * g[d] / (std::sqrt(state.square[d]) + optimizer.epsilon);
  }
}
void step(const Adam& adam, RowState& state, std::vector<double>& x, const std::vector<double>& g,
          double rate) {
  state.mean.resize(x.size());
  state.square.resize(x.size());
  ++state.steps;
  for (std::size_t d = 0; d < x.size(); ++d) {
    state.mean[d] = adam.beta1 * state.mean[d] + (1 - adam.beta1) * g[d];
    state.square[d] = adam.beta2 * state.square[d] + (1 - adam.beta2) * g[d] * g[d];
    x[d] += rate * state.mean[d] / (1 - std::pow(adam.beta1, state.steps)) /
            (std::sqrt(state.square[d] / (1 - std::pow(adam.beta2, state.steps))) + adam.epsilon);
  }
}

/// Trains minibatches in double precision, as VanillaKernel says.
template <class Optimizer>
class Oracle {
 public:
  using Row = std::vector<double>;

  template <class Sampler>
  Oracle(const Model& model, const Sampler& sampler, const Optimizer& optimizer, std::size_t batch,
         double subsample)
      : optimizer_(optimizer),
        batch_(batch),
        targets_(sampler.targets.start(model.vocabulary)),
        subsampling_(model.vocabulary, subsample),
        sampling_(cuda::sampling_of(sampler)) {
    const auto entries = targets_.distribution().table().entries();
    sampling_.negatives = {entries.data(), static_cast<std::uint32_t>(entries.size())};
    for (const RowMatrix* matrix : {&model.input, &model.output}) {
      auto& rows = matrix == &model.input ? matrices[0] : matrices[1];
      for (std::size_t i = 0; i < matrix->rows(); ++i)
        rows.emplace_back(matrix->row(i).begin(), matrix->row(i).end());
    }
  }

  void train(const detail::SentenceBatch& batch, std::uint32_t epoch, double first_rate,
             double last_rate) {
    struct Pair {
      WordId center, context;
      cuda::SentenceRandom random;
      std::uint32_t number;
      bool with_loss;
    };
    std::vector<Pair> pairs;
    std::uint32_t begin = 0;
    for (std::uint32_t s = 0; s < batch.ends.size(); begin = batch.ends[s++]) {
      const cuda::SentenceRandom random{1, batch.first_sentence + s, epoch};
      std::vector<WordId> kept;
      for (std::uint32_t i = begin; i < batch.ends[s]; ++i)
        if (keeps(batch.words[i], random(cuda::Purpose::subsample, i - begin).x[0]))
          kept.push_back(batch.words[i]);
      const auto size = static_cast<std::uint32_t>(kept.size()), most = sampling_.max_reach;
      for (std::uint32_t center = 0; center < size; ++center) {
        const std::uint32_t reach = sampling_.reach(random, center);
        for (std::uint32_t i = center - std::min(center, reach); i < size && i <= center + reach;
             ++i)
          if (i != center)
            pairs.push_back({kept[center], kept[i], random,
                             center * (2 * most + 1) + (i + most - center), s % 16 == 0});
      }
    }
    for (std::size_t done = 0; done < pairs.size();) {
      const Pair& pair = pairs[done++];
      score({0, pair.context}, {1, pair.center}, true, pair.with_loss);
      for (std::uint32_t k = 0; k < sampling_.per_window; ++k) {
        const WordId word =
            sampling_.negative(pair.random, pair.number * sampling_.per_window + k, pair.center);
        if (word != cuda::no_word) score({0, pair.context}, {1, word}, false, pair.with_loss);
      }
      rate_ = first_rate + (last_rate - first_rate) * static_cast<double>(done) /
                               static_cast<double>(pairs.size());
      if (++filled_ == batch_) finish();
    }
  }

  void finish() {
    for (const auto& [place, gradient] : sums_) {
      most_entries = std::max(most_entries, entries_[place]);
      step(optimizer_, states_[place], matrices[place.first][place.second], gradient, rate_);
    }
    sums_.clear();
    entries_.clear();
    filled_ = 0;
  }

  std::vector<Row> matrices[2];
  double loss = 0, examples = 0;
  std::size_t most_entries = 0;  // of a row in a minibatch

 private:
  using Place = std::pair<std::size_t, WordId>;  // side and row

  bool keeps(WordId word, std::uint32_t draw) const {
    if (!subsampling_.enabled()) return true;
    const auto table = subsampling_.table();
    return draw <= table[std::min<std::size_t>(word, table.size() - 1)];
  }
  void score(const Place& input, const Place& output, bool positive, bool with_loss) {
    const Row& x = matrices[0][input.second];
    const Row& y = matrices[1][output.second];
    double score = 0;
    for (std::size_t d = 0; d < x.size(); ++d) score += x[d] * y[d];
    const double gradient = (positive ? 1.0 : 0.0) - 1.0 / (1.0 + std::exp(-score));
    if (with_loss) loss += std::log1p(std::exp(positive ? -score : score));
    examples += positive && with_loss ? 1 : 0;
    add(input, gradient, y, positive);
    add(output, gradient, x, true);
  }
  void add(const Place& place, double factor, const Row& row, bool counts) {
    Row& sum = sums_[place];
    sum.resize(row.size());
    for (std::size_t d = 0; d < row.size(); ++d) sum[d] += factor * row[d];
    entries_[place] += counts ? 1 : 0;
  }

  Optimizer optimizer_;
  std::size_t batch_, filled_ = 0;
  NegativeSampling::Run targets_;
  detail::Subsampling subsampling_;
  cuda::Sampling sampling_;
  double rate_ = 0;
  std::map<Place, Row> sums_;
  std::map<Place, std::size_t> entries_;
  std::map<Place, RowState> states_;
};

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
  Oracle<Optimizer> oracle(before, sampler, optimizer, batch, subsample);
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
