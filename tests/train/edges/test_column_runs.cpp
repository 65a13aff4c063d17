// Runs of training by columns: how they stop, resume, report and fail.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "train/column_task.hpp"

using namespace column_task;

TEMPLATE_TEST_CASE("training by columns resumes at any of them, with any number of threads",
                   "[columns][checkpoint]", Fused, FusedWithAdam) {
  const Task task(300);
  const TemporaryFolder folder;
  constexpr std::size_t columns = 4, epochs = 3;
  const auto matrix = task.matrix(columns);
  TestType whole(parameters(1, epochs));
  Model expected = whole.new_model(task.vocabulary);
  whole.train(matrix, expected);
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
      rest.resume_training(matrix, resumed, folder / "state");
      CHECK(same_matrices(resumed, expected));
      CHECK(rest.report().tokens == whole.report().tokens);
      // The sums of several threads are added in any order.
      CHECK(rest.report().loss == Approx(whole.report().loss));
      for (std::size_t epoch = 0; epoch < epochs; ++epoch)
        CHECK(rest.report().epoch_losses[epoch] == Approx(whole.report().epoch_losses[epoch]));
      // An epoch that was stopped at its border ends when training resumes.
      CHECK(ended == epochs - (last - 1) / columns);
    }
}

TEST_CASE("training by columns that stopped after an epoch resumes with the next one",
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
    std::vector<std::size_t> epochs, left;
    for (std::size_t epoch = last + 1; epoch < 3; ++epoch) left.push_back(epoch);
    rest.on_epoch([&](const Progress& progress) { epochs.push_back(progress.epoch); });
    Model resumed = rest.new_model(task.vocabulary);
    rest.resume_training(matrix, resumed, folder / "state");
    CHECK(same_matrices(resumed, expected));
    CHECK(epochs == left);
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
  CHECK(same_matrices(trained(trainer, matrix, task.vocabulary), expected));
  REQUIRE(copies > 1);
  for (std::size_t i = 0; i < copies; ++i) {
    Fused rest(parameters(1 + i % 3));
    Model resumed = rest.new_model(task.vocabulary);
    rest.resume_training(matrix, resumed, folder / std::to_string(i));
    CHECK(same_matrices(resumed, expected));
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
    CHECK(same_matrices(trained(trainer, matrix, task.vocabulary), expected));
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

TEST_CASE("an exception of a callback ends all threads that train columns", "[columns]") {
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
    trainer.clear_callbacks();
    trainer.on_progress([](const Progress&, const Model&) { throw std::runtime_error("more"); },
                        0s);
    CHECK(message_of<std::runtime_error>([&] { trainer.fit(matrix, task.vocabulary); }) == "more");
    trainer.clear_callbacks();
    trainer.on_epoch([](const Progress&) { throw std::runtime_error("an epoch"); });
    CHECK(message_of<std::runtime_error>([&] { trainer.fit(matrix, task.vocabulary); }) ==
          "an epoch");
    trainer.clear_callbacks();
    CHECK_NOTHROW(trainer.fit(matrix, task.vocabulary));
  }
}

namespace {

/// A kernel that throws when it updates a word, or when its `failing_worker`-th worker is made.
struct FailingKernel {
  static constexpr Block::Features honours = FusedKernel::honours;

  RowId failing_word = ~RowId{0};
  std::size_t failing_worker = ~std::size_t{0};
  std::shared_ptr<std::atomic<std::size_t>> made = std::make_shared<std::atomic<std::size_t>>(0);

  template <class Visit>
  void visit_parameters(Visit&&) const {}

  struct Worker {
    RowId failing_word;
    template <bool>
    double update(Model&, const Block& block, float) {
      const auto moving = block.update == Block::Sides::inputs ? block.inputs : block.outputs;
      if (std::ranges::find(moving, failing_word) != moving.end()) throw IoError("a word");
      return 0.0;
    }
  };
  Worker worker(const Model&, Block::Shape) const {
    if (++*made == failing_worker) throw IoError("a worker");
    return {failing_word};
  }
};

}  // namespace

TEST_CASE("an exception of a kernel in one thread ends all threads that train columns",
          "[columns]") {
  const Task task(1100);
  const auto matrix = task.matrix(3);
  for (const std::size_t threads : {1u, 2u, 5u}) {
    INFO(threads << " threads");
    const auto failure = [&](FailingKernel kernel) {
      return message_of<IoError>([&] {
        Trainer(parameters(threads), UniformMatrix::from(parameters(threads)), kernel)
            .fit(matrix, task.vocabulary);
      });
    };
    for (const RowId word : {0u, 300u, 1099u}) CHECK(failure({.failing_word = word}) == "a word");
    for (std::size_t worker = 1; worker <= threads; ++worker)
      CHECK(failure({.failing_worker = worker}) == "a worker");
    CHECK_NOTHROW(
        Trainer(parameters(threads), UniformMatrix::from(parameters(threads)), FailingKernel{})
            .fit(matrix, task.vocabulary));
  }
}

TEST_CASE("training by columns that diverges throws TrainingError", "[columns]") {
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
