#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "support.hpp"
#include "train/paired_corpus.hpp"
#include "train/watching_policies.hpp"

using namespace wordloom;

TEST_CASE("the callback sees the run and can stop it", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  DefaultTrainer trainer(small(2));
  std::vector<Progress> reports;
  trainer.on_progress(
      [&](const Progress& progress) {
        reports.push_back(progress);
        return true;
      },
      0s);
  trainer.fit(corpus, vocabulary);
  REQUIRE(reports.size() > 3);
  CHECK(std::is_sorted(reports.begin(), reports.end(),
                       [](const auto& a, const auto& b) { return a.tokens < b.tokens; }));
  CHECK(reports.back().fraction() == 1.0);
  CHECK(reports.back().total_tokens == 3 * corpus.token_count());
  CHECK(reports.front().mean_loss > 0);
  CHECK(reports.front().eta_seconds > 0);
  CHECK_FALSE(trainer.report().stopped);

  const std::size_t first_run = reports.size();
  trainer.on_progress([](const Progress& progress) { return progress.fraction() < 0.4; }, 0s);
  trainer.fit(corpus, vocabulary);
  CHECK(reports.size() > first_run);  // both are called
  CHECK(trainer.report().stopped);
  CHECK(trainer.report().tokens < 3 * corpus.token_count());
}

TEST_CASE("callbacks of epochs see the model while no thread trains", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  for (const std::size_t threads : {1u, 3u}) {
    DefaultTrainer trainer(small(threads));
    std::vector<Progress> epochs;
    std::vector<float> last;
    std::size_t seen = 0;
    const auto is_still = [](const Model& model) {
      const std::vector<float> before(model.input.row(0).begin(), model.input.row(0).end());
      std::this_thread::sleep_for(1ms);
      return std::ranges::equal(before, model.input.row(0));
    };
    bool still = true;
    trainer.on_progress(
        [&](const Progress&, const Model& model) {  // returns nothing
          if (++seen % 16 == 1) still = still && is_still(model);
        },
        0s);
    trainer.on_epoch([&](const Progress& progress, const Model& model) {
      epochs.push_back(progress);
      still = still && is_still(model);
      last.assign(model.input.row(0).begin(), model.input.row(0).end());
      return true;
    });
    const Embeddings words = trainer.fit(corpus, vocabulary);
    CHECK(still);
    CHECK(seen > 3);
    REQUIRE(epochs.size() == 3);
    for (std::size_t epoch = 0; epoch < 3; ++epoch) {
      CHECK(epochs[epoch].epoch == epoch);
      CHECK(epochs[epoch].tokens == (epoch + 1) * corpus.token_count());
      CHECK(epochs[epoch].mean_loss == trainer.report().epoch_losses[epoch]);
    }
    CHECK(std::ranges::equal(last, words.vector(std::size_t{0})));

    epochs.clear();
    trainer.clear_callbacks();
    trainer.on_epoch([&](const Progress& progress) {
      epochs.push_back(progress);
      return progress.epoch != 1;
    });
    trainer.fit(corpus, vocabulary);
    CHECK(epochs.size() == 2);
    CHECK(trainer.report().stopped);
    CHECK(trainer.report().tokens == 2 * corpus.token_count());

    trainer.clear_callbacks();
    trainer.on_epoch([](const Progress&) { throw UnknownWord("enough"); });
    CHECK_THROWS_AS(trainer.fit(corpus, vocabulary), UnknownWord);
    trainer.clear_callbacks();
    trainer.on_epoch(std::function<bool(const Progress&)>());  // none
    CHECK_NOTHROW(trainer.fit(corpus, vocabulary));
  }
}

TEST_CASE("a callback stops threads that wait for the end of an epoch", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  for (int run = 0; run < 30; ++run) {
    DefaultTrainer trainer(small(3));
    std::size_t epochs = 0;
    trainer.on_epoch([&](const Progress&) { ++epochs; });
    // At the end of the second epoch, in which one thread or two have nothing left to do.
    trainer.on_progress([](const Progress& progress) { return progress.fraction() < 0.66; }, 0s);
    trainer.fit(corpus, vocabulary);
    CHECK(trainer.report().stopped);
    CHECK(epochs <= 2);
  }
}

TEST_CASE("an exception of a callback or policy in a worker reaches the caller", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  for (const std::size_t threads : {1u, 3u}) {
    DefaultTrainer trainer(small(threads));
    trainer.on_progress([](const Progress&) -> bool { throw UnknownWord("enough"); }, 0s);
    CHECK_THROWS_AS(trainer.fit(corpus, vocabulary), UnknownWord);
    Trainer<RecordingSampler, ThrowingKernel> throwing(small(threads));
    CHECK(message_of<IoError>([&] { throwing.fit(corpus, vocabulary); }) == "word seven");
  }
}

namespace {

/// Counts its calls, and those on another thread.
struct Counting {
  std::thread::id own = std::this_thread::get_id();
  std::size_t reports = 0, epochs = 0, elsewhere = 0;

  void on_progress(const Progress&, const Model&) {
    ++reports;
    if (std::this_thread::get_id() != own) ++elsewhere;
  }
  void on_epoch(const Progress&) {
    ++epochs;
    if (std::this_thread::get_id() != own) ++elsewhere;
  }
  std::chrono::seconds interval() const { return 0s; }
};

}  // namespace

TEST_CASE("callbacks are objects, as many as one likes", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  const Embeddings usual = DefaultTrainer(small()).fit(corpus, vocabulary);
  for (const std::size_t threads : {1u, 3u}) {
    DefaultTrainer trainer(small(threads));
    Counting anywhere, here;
    std::size_t functions = 0;
    std::vector<std::size_t> evaluated;
    std::ostringstream bar, losses;
    trainer.add(ProgressBar(bar, 0s));
    trainer.add(PrintLoss(losses));
    trainer.add(std::ref(anywhere));
    trainer.add(OnCallingThread(std::ref(here)));
    trainer.add(OnCallingThread([&](const Progress&) { ++functions; }));
    trainer.add(EvaluateEvery(2, [&](const Progress& progress, const Model& model) {
      evaluated.push_back(progress.epoch);
      CHECK(model.vocabulary.size() == vocabulary.size());
    }));
    const Embeddings words = trainer.fit(corpus, vocabulary);
    if (threads == 1) CHECK(same(words, usual));
    CHECK(anywhere.reports > 3);
    CHECK(anywhere.epochs == 3);
    CHECK(here.reports > 1);
    CHECK(here.epochs == 3);
    CHECK(here.elsewhere == 0);
    CHECK(functions >= 1);
    CHECK(evaluated == std::vector<std::size_t>{1});
    CHECK(contains(bar.str(), "\repoch 1/3"));
    CHECK(contains(bar.str(), "100.0%"));
    CHECK(bar.str().back() == '\n');
    CHECK(losses.str().find("epoch 3: loss ") > losses.str().find("epoch 1: loss "));

    trainer.clear_callbacks();
    trainer.add(OnCallingThread([](const Progress&) { return false; }));
    CHECK_NOTHROW(trainer.fit(corpus, vocabulary));
    CHECK(here.epochs == 3);
  }
  DefaultTrainer trainer(small());
  trainer.add(Checkpoint("one"));
  CHECK(message_of<InvalidArgument>([&] { trainer.add(Checkpoint("two")); }) ==
        "this trainer writes its checkpoints to 'one' already: it has one file of them");
}

TEST_CASE("early stopping ends training when the loss falls no more", "[trainer]") {
  const auto epochs_until_stop = [](EarlyStopping stopping, const std::vector<double>& losses) {
    std::size_t epoch = 0;
    for (const double loss : losses)
      if (!stopping.on_epoch({.epoch = epoch++, .mean_loss = loss})) return epoch;
    return std::size_t{0};
  };
  const std::vector<double> losses{3, 2, 2.1, 1.9, 1.85, 1.9, 1.95, 1.8};
  CHECK(epochs_until_stop(EarlyStopping(), losses) == 3);
  CHECK(epochs_until_stop(EarlyStopping(2), losses) == 7);
  CHECK(epochs_until_stop(EarlyStopping(2, 0.2), losses) == 4);
  CHECK(epochs_until_stop(EarlyStopping(3), losses) == 0);
  CHECK_THROWS_AS(EarlyStopping(0), InvalidArgument);
  CHECK_THROWS_AS(EarlyStopping(1, -0.1), InvalidArgument);
  CHECK_THROWS_AS(EvaluateEvery(0, [](const Progress&, const Model&) {}), InvalidArgument);

  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  auto parameters = small();
  parameters.epochs = 20;
  DefaultTrainer trainer(parameters);
  trainer.add(EarlyStopping(1, 10));  // no loss falls as far
  for (int run = 0; run < 2; ++run) {
    trainer.fit(corpus, vocabulary);
    CHECK(trainer.report().stopped);
    CHECK(trainer.report().tokens == 2 * corpus.token_count());
  }
}
