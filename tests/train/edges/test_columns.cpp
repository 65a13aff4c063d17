// Training by the columns of a word-context matrix, each in two steps.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/corpus/word_context_matrix.hpp>
#include <wordloom/kernel/dot_kernel.hpp>
#include <wordloom/kernel/fused_kernel.hpp>
#include <wordloom/kernel/with_optimizer.hpp>
#include <wordloom/optimizer/adam.hpp>
#include <wordloom/optimizer/sgd.hpp>
#include <wordloom/sampler/uniform_matrix.hpp>
#include <wordloom/train/trainer.hpp>

#include "catch.hpp"
#include "kernel/oracle.hpp"
#include "small_models.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

constexpr std::size_t topics = 4;

using Fused = Trainer<UniformMatrix, FusedKernel>;
using Dot = Trainer<UniformMatrix, DotKernel>;
using FusedWithAdam = Trainer<UniformMatrix, WithOptimizer<FusedKernel, Adam>>;

/// Sentences of words of one topic: word i is of topic i % topics.
struct Task {
  Vocabulary vocabulary;
  EncodedCorpus corpus;

  explicit Task(std::size_t words) : vocabulary(zipf_vocabulary(words)), corpus(make(vocabulary)) {}

  static EncodedCorpus make(const Vocabulary& vocabulary) {
    std::vector<std::vector<WordId>> sentences;
    Random random(9);
    for (std::size_t i = 0; i < 40 * vocabulary.size() / topics; ++i) {
      std::vector<WordId> sentence(2 + random.below(8));
      const std::size_t topic = random.below(topics);
      for (WordId& word : sentence)
        word = static_cast<WordId>(
            topic + topics * random.below((vocabulary.size() - topic + topics - 1) / topics));
      sentences.push_back(std::move(sentence));
    }
    return EncodedCorpus::from_sentences(sentences, vocabulary);
  }
  WordContextMatrix matrix(std::size_t columns, const std::filesystem::path& file = {}) const {
    return WordContextMatrix::from(corpus, vocabulary,
                                   {.columns = columns, .window = 2, .threads = 2, .file = file});
  }
};

Hyperparameters parameters(std::size_t threads = 1, std::size_t epochs = 2) {
  return {
      .dimension = 20, .minibatch = 8, .learning_rate = 0.05, .epochs = epochs, .threads = threads};
}

bool same(const Model& a, const Model& b) {
  const auto one = a.matrices(), other = b.matrices();
  return std::ranges::equal(one, other, [](const auto& x, const auto& y) {
    return x.name == y.name && same_matrix(*x.matrix, *y.matrix);
  });
}

/// Trains a new model.
template <class AnyTrainer>
Model trained(AnyTrainer trainer, const WordContextMatrix& matrix, const Vocabulary& vocabulary) {
  Model model = trainer.new_model(vocabulary);
  const TrainReport report = trainer.fit(matrix, model);
  CHECK(report.tokens == trainer.hyperparameters().epochs * matrix.token_count());
  CHECK_FALSE(report.stopped);
  return model;
}

/// The probability that two words of one topic are more alike than two of different topics.
double separation(const Embeddings& words) {
  std::vector<float> within, across;
  for (WordId a = 0; a < words.size(); ++a)
    for (WordId b = 0; b < a; ++b)
      (a % topics == b % topics ? within : across).push_back(words.similarity(a, b));
  std::ranges::sort(across);
  double below = 0;
  for (const float x : within)
    below += static_cast<double>(std::ranges::lower_bound(across, x) - across.begin());
  return below / static_cast<double>(within.size() * across.size());
}

}  // namespace

TEMPLATE_TEST_CASE("any number of threads trains columns to the same bits", "[columns]", Fused, Dot,
                   FusedWithAdam) {
  // Less than one part, exactly one, and several, of which the last is smaller.
  for (const std::size_t words : {41u, 256u, 700u}) {
    const Task task(words);
    const auto matrix = task.matrix(5);
    REQUIRE(matrix.words().size() == words);
    const Model expected = trained(TestType(parameters(1)), matrix, task.vocabulary);
    for (const std::size_t threads : {2u, 5u, 7u}) {
      INFO(words << " words, " << threads << " threads");
      CHECK(same(trained(TestType(parameters(threads)), matrix, task.vocabulary), expected));
    }
    auto other = parameters();
    other.seed = 2;
    CHECK_FALSE(same(trained(TestType(other), matrix, task.vocabulary), expected));
  }
}

TEST_CASE("a batch of an optimizer ends with each step of a column", "[columns]") {
  const Task task(300);
  const auto matrix = task.matrix(4);
  const auto train = [&](std::size_t threads, std::size_t batch) {
    return trained(
        FusedWithAdam(parameters(threads), UniformMatrix::from(parameters()), {.batch = batch}),
        matrix, task.vocabulary);
  };
  // No row comes twice in a step, so the bits are those of steps for single blocks.
  const Model expected = train(1, 1);
  for (const std::size_t threads : {1u, 2u, 3u}) CHECK(same(train(threads, 100), expected));
}

TEST_CASE("a virtual and a mapped matrix train to the same bits in one epoch", "[columns]") {
  const Task task(300);
  const TemporaryFolder folder;
  const auto mapped = task.matrix(6, folder / "matrix");
  const auto in_memory = task.matrix(6);
  REQUIRE(mapped.is_mapped());
  REQUIRE_FALSE(in_memory.is_mapped());
  const auto train = [&](const auto& matrix, std::size_t threads, std::size_t epochs) {
    return trained(Fused(parameters(threads, epochs)), matrix, task.vocabulary);
  };
  CHECK(same(train(mapped, 2, 1), train(in_memory, 1, 1)));
  // Later epochs of a virtual matrix have new contexts.
  CHECK_FALSE(same(train(mapped, 1, 2), train(in_memory, 1, 2)));
}

TEMPLATE_TEST_CASE("training by columns resumes at any of them, with any number of threads",
                   "[columns][checkpoint]", Fused, FusedWithAdam) {
  const Task task(300);
  const TemporaryFolder folder;
  constexpr std::size_t columns = 4, epochs = 3;
  const auto matrix = task.matrix(columns);
  TestType whole(parameters(1, epochs));
  Model expected = whole.new_model(task.vocabulary);
  whole.fit(matrix, expected);
  for (std::size_t last = 1; last <= columns * epochs; ++last)
    for (const auto& [before, after] : {std::pair{1u, 2u}, {3u, 1u}, {2u, 5u}}) {
      INFO("stopped after column " << last << ", threads " << before << " and " << after);
      TestType first(parameters(before, epochs));
      first.checkpoint_to(folder / "state");
      std::size_t calls = 0;
      first.on_progress([&](const Progress&) { return ++calls < last; }, 0s);
      first.fit(matrix, task.vocabulary);
      CHECK(first.report().stopped);
      CHECK(first.report().tokens == last * matrix.words().size());

      TestType rest(parameters(after, epochs));
      std::size_t ended = 0;
      rest.on_epoch([&](const Progress& progress) {
        CHECK(progress.epoch >= (last - 1) / columns);
        ++ended;
      });
      Model resumed = rest.new_model(task.vocabulary);
      rest.resume(matrix, resumed, folder / "state");
      CHECK(same(resumed, expected));
      CHECK(rest.report().tokens == whole.report().tokens);
      // The sums of several threads are added in any order.
      CHECK(rest.report().loss == Approx(whole.report().loss));
      for (std::size_t epoch = 0; epoch < epochs; ++epoch)
        CHECK(rest.report().epoch_losses[epoch] == Approx(whole.report().epoch_losses[epoch]));
      // An epoch that was stopped at its border ends when training resumes.
      CHECK(ended == epochs - (last - 1) / columns);
    }
}

TEST_CASE("training by columns that stopped with an epoch resumes with the next one",
          "[columns][checkpoint]") {
  const Task task(50);
  const TemporaryFolder folder;
  const auto matrix = task.matrix(3);
  const Model expected = trained(Fused(parameters(1, 3)), matrix, task.vocabulary);
  for (const std::size_t last : {0u, 1u, 2u}) {
    Fused first(parameters(2, 3));
    first.checkpoint_to(folder / "state");
    first.on_epoch([&](const Progress& progress) { return progress.epoch < last; });
    first.fit(matrix, task.vocabulary);
    CHECK(first.report().stopped);
    CHECK(first.report().tokens == (last + 1) * matrix.token_count());
    Fused rest(parameters(3, 3));
    std::vector<std::size_t> epochs;
    rest.on_epoch([&](const Progress& progress) { epochs.push_back(progress.epoch); });
    Model resumed = rest.new_model(task.vocabulary);
    rest.resume(matrix, resumed, folder / "state");
    CHECK(same(resumed, expected));
    if (last < 2) CHECK(epochs.front() == last + 1);
  }
}

TEST_CASE("checkpoints written while columns are trained are complete", "[columns][checkpoint]") {
  const Task task(300);
  const TemporaryFolder folder;
  const auto matrix = task.matrix(30);
  const Model expected = trained(Fused(parameters()), matrix, task.vocabulary);
  Fused trainer(parameters(2));
  trainer.checkpoint_to(folder / "state", 0s);
  std::size_t copies = 0;
  trainer.on_progress(
      [&](const Progress&) {
        // The state that a kill at this moment would leave.
        if (std::filesystem::exists(folder / "state") && copies < 10)
          std::filesystem::copy(folder / "state", folder / std::to_string(copies++));
      },
      0s);
  CHECK(same(trained(trainer, matrix, task.vocabulary), expected));
  REQUIRE(copies > 1);
  for (std::size_t i = 0; i < copies; ++i) {
    Fused rest(parameters(1 + i % 3));
    Model resumed = rest.new_model(task.vocabulary);
    rest.resume(matrix, resumed, folder / std::to_string(i));
    CHECK(same(resumed, expected));
  }
}

TEST_CASE("a checkpoint of another matrix is refused", "[columns][checkpoint]") {
  const Task task(50);
  const TemporaryFolder folder;
  Fused first(parameters());
  first.checkpoint_to(folder / "state");
  first.on_progress([](const Progress&) { return false; }, 0s);
  first.fit(task.matrix(4), task.vocabulary);
  const auto resume = [&](const WordContextMatrix& matrix) {
    Fused(parameters()).resume(matrix, task.vocabulary, folder / "state");
  };
  CHECK_NOTHROW(resume(task.matrix(4)));
  CHECK_THROWS_AS(resume(task.matrix(5)), InvalidArgument);
  CHECK_THROWS_AS(
      resume(WordContextMatrix::from(task.corpus, task.vocabulary, {.columns = 4, .window = 3})),
      InvalidArgument);
}

TEST_CASE("callbacks see training by columns while no thread trains", "[columns]") {
  const Task task(600);
  constexpr std::size_t columns = 16;
  const auto matrix = task.matrix(columns);
  const std::uint64_t of_column = matrix.words().size();
  const Model expected = trained(Fused(parameters()), matrix, task.vocabulary);
  for (const std::size_t threads : {1u, 3u}) {
    Fused trainer(parameters(threads));
    bool still = true;
    const auto watch = [&](const Model& model) {
      const RowMatrix input = model.input.copy(), output = model.output.copy();
      std::this_thread::sleep_for(1ms);
      still = still && same_matrix(input, model.input) && same_matrix(output, model.output);
    };
    std::vector<Progress> reports, epochs;
    trainer.on_progress(
        [&](const Progress& progress, const Model& model) {  // returns nothing
          reports.push_back(progress);
          watch(model);
        },
        0s);
    trainer.on_epoch([&](const Progress& progress, const Model& model) {
      epochs.push_back(progress);
      watch(model);
      return true;
    });
    CHECK(same(trained(trainer, matrix, task.vocabulary), expected));
    CHECK(still);
    // One report a column, and the last.
    REQUIRE(reports.size() == 2 * columns + 1);
    for (std::size_t k = 0; k < 2 * columns; ++k) {
      CHECK(reports[k].tokens == (k + 1) * of_column);
      CHECK(reports[k].total_tokens == 2 * matrix.token_count());
      CHECK(reports[k].epoch == k / columns);
      CHECK(reports[k].epochs == 2);
      CHECK(reports[k].learning_rate ==
            Approx(0.05 * (1 - static_cast<double>(k) / (2.0 * columns))));
    }
    CHECK(reports.back().fraction() == 1.0);
    REQUIRE(epochs.size() == 2);
    for (std::size_t epoch = 0; epoch < 2; ++epoch) {
      CHECK(epochs[epoch].epoch == epoch);
      CHECK(epochs[epoch].tokens == (epoch + 1) * matrix.token_count());
      CHECK(epochs[epoch].mean_loss > 0);
    }
  }
}

TEST_CASE("a callback of epochs stops training by columns", "[columns]") {
  const Task task(50);
  const auto matrix = task.matrix(3);
  for (const std::size_t threads : {1u, 3u}) {
    Fused trainer(parameters(threads, 4));
    std::vector<double> losses;
    trainer.on_epoch([&](const Progress& progress) {
      losses.push_back(progress.mean_loss);
      return progress.epoch != 1;
    });
    trainer.fit(matrix, task.vocabulary);
    CHECK(trainer.report().stopped);
    CHECK(trainer.report().tokens == 2 * matrix.token_count());
    REQUIRE(losses.size() == 2);
    CHECK(losses[0] == trainer.report().epoch_losses[0]);
    CHECK(losses[1] == trainer.report().epoch_losses[1]);
    CHECK(std::isnan(trainer.report().epoch_losses[2]));
  }
}

TEST_CASE("what a callback throws ends all threads that train columns", "[columns]") {
  const Task task(600);
  const auto matrix = task.matrix(5);
  for (const std::size_t threads : {1u, 3u}) {
    Fused trainer(parameters(threads));
    std::size_t calls = 0;
    trainer.on_progress(
        [&](const Progress&) {
          if (++calls == 7) throw std::runtime_error("enough");
        },
        0s);
    CHECK(message_of<std::runtime_error>([&] { trainer.fit(matrix, task.vocabulary); }) ==
          "enough");
    CHECK(calls == 7);
    trainer.on_progress([](const Progress&, const Model&) { throw std::runtime_error("more"); },
                        0s);
    CHECK(message_of<std::runtime_error>([&] { trainer.fit(matrix, task.vocabulary); }) == "more");
    trainer.on_progress([](const Progress&) {});
    trainer.on_epoch([](const Progress&) { throw std::runtime_error("an epoch"); });
    CHECK(message_of<std::runtime_error>([&] { trainer.fit(matrix, task.vocabulary); }) ==
          "an epoch");
    trainer.on_epoch([](const Progress&) {});
    CHECK_NOTHROW(trainer.fit(matrix, task.vocabulary));
  }
}

namespace {

/// A kernel that throws when it updates a word, or when its `failing_worker`-th worker is made.
struct FailingKernel {
  static constexpr BlockFeatures honours = FusedKernel::honours;

  RowId failing_word = ~RowId{0};
  std::size_t failing_worker = ~std::size_t{0};
  std::shared_ptr<std::atomic<std::size_t>> made = std::make_shared<std::atomic<std::size_t>>(0);

  template <class Visit>
  void visit_parameters(Visit&&) const {}

  struct Worker {
    RowId failing_word;
    template <bool>
    double update(Model&, const Block& block, float) {
      const auto moving = block.update == Sides::inputs ? block.inputs : block.outputs;
      if (std::ranges::find(moving, failing_word) != moving.end()) throw IoError("a word");
      return 0.0;
    }
  };
  Worker worker(const Model&, BlockShape) const {
    if (++*made == failing_worker) throw IoError("a worker");
    return {failing_word};
  }
};

}  // namespace

TEST_CASE("what a kernel throws in one thread ends all that train columns", "[columns]") {
  const Task task(1100);
  const auto matrix = task.matrix(3);
  for (const std::size_t threads : {1u, 2u, 5u}) {
    INFO(threads << " threads");
    const auto failure = [&](FailingKernel kernel) {
      return message_of<IoError>([&] {
        Trainer(parameters(threads), UniformMatrix{}, kernel).fit(matrix, task.vocabulary);
      });
    };
    for (const RowId word : {0u, 300u, 1099u}) CHECK(failure({.failing_word = word}) == "a word");
    for (std::size_t worker = 1; worker <= threads; ++worker)
      CHECK(failure({.failing_worker = worker}) == "a worker");
    CHECK_NOTHROW(Trainer(parameters(threads), UniformMatrix{}, FailingKernel{})
                      .fit(matrix, task.vocabulary));
  }
}

TEST_CASE("training by columns that diverges says so", "[columns]") {
  const Task task(300);
  const auto matrix = task.matrix(60);
  auto steep = parameters(2, 1);
  steep.learning_rate = 10;
  steep.negatives = 1000;
  CHECK(contains(message_of<TrainingError>([&] { Fused(steep).fit(matrix, task.vocabulary); }),
                 "training diverged"));
}

TEST_CASE("a matrix of another vocabulary is not trained on", "[columns]") {
  const Task task(50);
  CHECK_THROWS_AS(Fused(parameters()).fit(task.matrix(3), zipf_vocabulary(51)), CorpusError);
}

TEMPLATE_TEST_CASE("training by columns learns which words are of one topic", "[columns]", Fused,
                   Dot, FusedWithAdam) {
  const Task task(80);
  const auto matrix = task.matrix(150);
  for (const std::size_t minibatch : {0u, 1u})
    for (const std::size_t threads : {1u, 3u}) {
      auto with = parameters(threads, 3);
      with.minibatch = minibatch;
      with.learning_rate = std::is_same_v<TestType, FusedWithAdam> ? 0.01 : 0.2;
      TestType trainer(with);
      const Embeddings words = trainer.fit(matrix, task.vocabulary);
      CHECK(trainer.report().epoch_losses.back() < trainer.report().epoch_losses.front());
      CHECK(separation(words) > 0.97);
    }
}

TEST_CASE("the loss of columns starts at log 2 for each target", "[columns]") {
  const Task task(600);
  auto with = parameters(2, 1);
  with.learning_rate = 1e-9;
  with.negatives = 4;
  Fused trainer(with);
  trainer.fit(task.matrix(9), task.vocabulary);
  CHECK(trainer.report().loss == Approx(5 * std::log(2.0)).epsilon(1e-4));
}

namespace {

/// A block of a step, and the learning rate that it was trained with.
struct Recorded {
  std::vector<RowId> inputs, outputs;
  std::vector<float> weights;
  std::size_t paired;
  Sides update;
  float rate;
};

/// Records the blocks that it is given, and trains none. For one thread.
struct RecordingKernel {
  static constexpr BlockFeatures honours = FusedKernel::honours;
  std::vector<Recorded>* blocks = nullptr;

  template <class Visit>
  void visit_parameters(Visit&&) const {}

  struct Worker {
    std::vector<Recorded>* blocks;
    template <bool>
    double update(Model&, const Block& block, float rate) {
      blocks->push_back({{block.inputs.begin(), block.inputs.end()},
                         {block.outputs.begin(), block.outputs.end()},
                         {block.weights.values.begin(), block.weights.values.end()},
                         block.paired,
                         block.update,
                         rate});
      return 0.0;
    }
  };
  Worker worker(const Model&, BlockShape) const { return {blocks}; }
};

/// Cuts the blocks of a run into those of single steps.
std::vector<std::vector<Recorded>> steps_of(const std::vector<Recorded>& blocks) {
  std::vector<std::vector<Recorded>> steps;
  for (const Recorded& block : blocks) {
    if (steps.empty() || steps.back().front().update != block.update) steps.emplace_back();
    steps.back().push_back(block);
  }
  return steps;
}

/// A step in the plainest code: `own` is the matrix that changes, `other` the one that stands
/// still.
void train_step(const std::vector<Recorded>& step, oracle::Matrix& own,
                const oracle::Matrix& other) {
  for (const Recorded& block : step) {
    const auto& moving = block.update == Sides::inputs ? block.inputs : block.outputs;
    const auto& standing = block.update == Sides::inputs ? block.outputs : block.inputs;
    for (std::size_t i = 0; i < moving.size(); ++i) {
      std::vector<double> change(own.columns);
      for (std::size_t j = 0; j < standing.size(); ++j) {
        if (j < block.paired && j != i) continue;  // the context of another word
        const double weight = static_cast<double>(block.weights[j]);
        double score = 0;
        for (std::size_t c = 0; c < own.columns; ++c)
          score += own.at(moving[i], c) * other.at(standing[j], c);
        const double label = weight > 0 ? 1.0 : 0.0;
        const double g = (label - 1 / (1 + std::exp(-score))) * std::abs(weight) *
                         static_cast<double>(block.rate);
        for (std::size_t c = 0; c < own.columns; ++c) change[c] += g * other.at(standing[j], c);
      }
      for (std::size_t c = 0; c < own.columns; ++c) own.at(moving[i], c) += change[c];
    }
  }
}

}  // namespace

TEST_CASE("each column is trained in two steps, each word once in both", "[columns]") {
  const Task task(600);
  constexpr std::size_t columns = 3;
  const auto matrix = task.matrix(columns);
  std::vector<Recorded> blocks;
  Trainer(parameters(), UniformMatrix::from(parameters()), RecordingKernel{&blocks})
      .fit(matrix, task.vocabulary);
  const auto steps = steps_of(blocks);
  REQUIRE(steps.size() == 2 * 2 * columns);  // of two epochs
  std::set<std::vector<RowId>> all_negatives;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const std::size_t column = k / 2;
    std::vector<RowId> words, contexts;
    for (const Recorded& block : steps[k]) {
      CHECK(block.update == (k % 2 == 0 ? Sides::inputs : Sides::outputs));
      CHECK(static_cast<double>(block.rate) ==
            Approx(0.05 * (1 - static_cast<double>(column) / (2.0 * columns))));
      const auto& moving = k % 2 == 0 ? block.inputs : block.outputs;
      const auto& standing = k % 2 == 0 ? block.outputs : block.inputs;
      words.insert(words.end(), moving.begin(), moving.end());
      const auto partners = static_cast<std::ptrdiff_t>(block.paired);
      contexts.insert(contexts.end(), standing.begin(), standing.begin() + partners);
      all_negatives.emplace(standing.begin() + partners, standing.end());
    }
    CHECK(std::ranges::equal(words, matrix.words()));
    std::vector<WordId> expected(words.size());
    matrix.contexts(column, 0, expected);
    CHECK(contexts == expected);
  }
  // Five of 600 words: rarely twice the same in the same order.
  CHECK(all_negatives.size() > blocks.size() * 99 / 100);
}

TEMPLATE_TEST_CASE("columns are trained as two plain steps in double precision would", "[columns]",
                   Fused, Dot, (Trainer<UniformMatrix, WithOptimizer<FusedKernel, Sgd>>)) {
  for (const std::size_t words : {41u, 600u})
    for (const std::size_t minibatch : {1u, 16u, 200u}) {
      INFO(words << " words, B " << minibatch);
      const Task task(words);
      const auto matrix = task.matrix(3);
      auto with = parameters(2);
      with.minibatch = minibatch;
      with.shared_negatives = minibatch == 16 ? 9 : 0;
      with.learning_rate = 2;

      std::vector<Recorded> blocks;
      auto alone = with;
      alone.threads = 1;
      Trainer(alone, UniformMatrix::from(with), RecordingKernel{&blocks})
          .fit(matrix, task.vocabulary);
      TestType trainer(with);
      Model model = trainer.new_model(task.vocabulary);
      oracle::Model expected(model);
      for (const auto& step : steps_of(blocks))
        if (step.front().update == Sides::inputs)
          train_step(step, expected.input, expected.output);
        else
          train_step(step, expected.output, expected.input);
      trainer.fit(matrix, model);

      double worst = 0, largest = 0;
      const auto compare = [&](const RowMatrix& got, const oracle::Matrix& want) {
        for (std::size_t i = 0; i < got.rows(); ++i)
          for (std::size_t c = 0; c < got.columns(); ++c) {
            worst = std::max(worst, std::abs(static_cast<double>(got.row(i)[c]) - want.at(i, c)));
            largest = std::max(largest, std::abs(want.at(i, c)));
          }
      };
      compare(model.input, expected.input);
      compare(model.output, expected.output);
      CHECK(largest > 0.1);  // it has learnt
      CHECK(worst < 1e-5 * largest);
    }
}
