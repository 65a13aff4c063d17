#include <array>
#include <cstddef>
#include <functional>
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

  trainer.on_progress([](const Progress& progress) { return progress.fraction() < 0.4; }, 0s);
  trainer.fit(corpus, vocabulary);
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
    trainer.on_epoch([&](const Progress& progress) {
      epochs.push_back(progress);
      return progress.epoch != 1;
    });
    trainer.fit(corpus, vocabulary);
    CHECK(epochs.size() == 2);
    CHECK(trainer.report().stopped);
    CHECK(trainer.report().tokens == 2 * corpus.token_count());

    trainer.on_epoch([](const Progress&) { throw UnknownWord("enough"); });
    CHECK_THROWS_AS(trainer.fit(corpus, vocabulary), UnknownWord);
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
