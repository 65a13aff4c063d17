// What goes wrong while a trainer runs: numbers, files, other data than a checkpoint is of.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/kernel/dot_kernel.hpp>
#include <wordloom/sampler/attraction_repulsion.hpp>
#include <wordloom/sampler/shared_negative.hpp>
#include <wordloom/train/trainer.hpp>

#include "catch.hpp"
#include "support.hpp"
#include "train/paired_corpus.hpp"

using namespace wordloom;

using DotTrainer = Trainer<SharedNegative, DotKernel>;

namespace {

/// Writes a number to the model, with a loss that is finite.
struct WritingKernel {
  float number = 0;

  template <class Visit>
  void visit_parameters(Visit&&) const {}
  struct Worker {
    float number;
    template <bool>
    double update(Model& model, const Block& block, float) {
      std::atomic_ref<float>(model.output.row(block.outputs[0])[3])
          .store(number, std::memory_order_relaxed);
      return 1.0;
    }
  };
  Worker worker(const Model&, Block::Shape) const { return {number}; }
};

}  // namespace

TEST_CASE("a model that is not finite or has diverged is refused at the end", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  const auto fit = [&](float number, std::size_t threads) {
    Trainer(small(threads), SharedNegative{}, WritingKernel{number}).fit(corpus, vocabulary);
  };
  fit(-100, 2);
  for (const std::size_t threads : {1u, 3u}) {
    for (const float number :
         {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()})
      CHECK_THROWS_AS(fit(number, threads), TrainingError);
    CHECK(contains(message_of<TrainingError>([&] { fit(-1.5e11f, threads); }),
                   "of 'output' holds 1.5e+11; try a lower learning rate"));
  }
}

TEST_CASE("a model that overflows after the last measured loss is refused", "[trainer]") {
  const auto vocabulary = Vocabulary::from_counts(
      std::vector<std::pair<std::string, std::uint64_t>>{{"w0", 40}, {"w1", 26}});
  const std::vector<std::vector<WordId>> text{
      {1, 0, 1, 0, 1, 0, 0, 0},
      {0, 0},
      {0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0},
      {1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0},
      {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0},
      {0, 0, 1, 0, 0, 1, 0, 0}};
  const auto corpus = EncodedCorpus::from_sentences(text, vocabulary);
  DotTrainer trainer(
      {.dimension = 8, .subsample = 1, .learning_rate = 0.3, .epochs = 2, .threads = 1});
  CHECK_THROWS_AS(trainer.fit(corpus, vocabulary), TrainingError);
}

TEST_CASE("a checkpoint that cannot be written is refused before training", "[checkpoint]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary, 1000);
  const TemporaryFolder folder;
  DotTrainer trainer(small());
  std::size_t reports = 0;
  trainer.on_progress([&](const Progress&) { return ++reports != 0; }, 0s);
  trainer.checkpoint_to(folder / "missing" / "state");
  CHECK_THROWS_AS(trainer.fit(corpus, vocabulary), IoError);
  CHECK(reports == 0);
}

TEST_CASE("a checkpoint that cannot be written is tried again and does not end training",
          "[checkpoint]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary, 1000);
  const TemporaryFolder folder;
  const auto there = folder / "there", gone = folder / "gone";
  const auto expected = DotTrainer(small()).fit(corpus, vocabulary);
  struct Case {
    double gone, back, stop;
  };
  for (const Case of : {Case{0.2, 0.5, 2}, Case{0.2, 2, 2}, Case{0.2, 2, 0.5}}) {
    std::filesystem::create_directory(there);
    DotTrainer trainer(small());
    trainer.checkpoint_to(there / "state", 0s);
    bool has_failed = false, has_recovered = false;
    trainer.on_progress(
        [&](const Progress& progress) {
          const auto exists = [](const auto& path) { return std::filesystem::exists(path); };
          if (progress.fraction() > of.gone && exists(there) && !has_failed)
            std::filesystem::rename(there, gone);
          if (progress.fraction() > of.back && exists(gone)) std::filesystem::rename(gone, there);
          has_failed =
              has_failed || contains(progress.checkpoint_failure, "cannot write checkpoint");
          has_recovered = has_failed && progress.checkpoint_failure.empty();
          return progress.fraction() < of.stop;
        },
        0s);
    if (of.stop < 1) {  // what was trained would be lost
      try {
        trainer.fit(corpus, vocabulary);
        FAIL("what was trained is lost");
      } catch (const IoError& error) {
        CHECK(contains(error.what(), "cannot write checkpoint"));
        CHECK(error.path() == there / "state");
      }
      continue;
    }
    CHECK(same(trainer.fit(corpus, vocabulary), expected));
    CHECK(has_failed);
    CHECK(has_recovered == (of.back < 1));
    CHECK(trainer.report().checkpoint_failure.empty() == (of.back < 1));
    if (of.back < 1)
      CHECK(same(DotTrainer(small()).resume(corpus, vocabulary, there / "state"), expected));
    std::filesystem::remove_all(gone);
  }
}

namespace {

/// A corpus that says what it holds.
struct Fingerprinted {
  static constexpr bool repeats = true;
  EncodedCorpus corpus;
  std::uint64_t content;

  std::uint64_t token_count() const { return corpus.token_count(); }
  std::uint64_t fingerprint() const { return content; }
  auto sentences(const Shard& shard) const { return corpus.sentences(shard); }
};

}  // namespace

TEST_CASE("a checkpoint of another corpus of as many words is refused", "[checkpoint]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary, 1000);
  const TemporaryFolder folder;
  DotTrainer trainer(small());
  trainer.checkpoint_to(folder / "state");
  trainer.on_progress([](const Progress& progress) { return progress.fraction() < 0.5; }, 0s);
  trainer.fit(Fingerprinted{corpus, 7}, vocabulary);
  CHECK(detail::Checkpoint::load(folder / "state").corpus == 7);
  DotTrainer rest(small());
  CHECK_THROWS_WITH(rest.resume(Fingerprinted{corpus, 8}, vocabulary, folder / "state"),
                    Catch::Contains("options that make its sentences (fingerprint): 7, not 8"));
  rest.resume(Fingerprinted{corpus, 7}, vocabulary, folder / "state");
  CHECK(rest.report().tokens == 3 * corpus.token_count());
}

TEST_CASE("policies have the same names with each compiler", "[checkpoint]") {
  CHECK(detail::name_of<SharedNegative>() == "BasicSharedNegative<NegativeSampling>");
  CHECK(detail::name_of<SplitSharedNegative>() ==
        "AttractionRepulsion<BasicSharedNegative<NegativeSampling>>");
  CHECK(detail::name_of<HierarchicalSoftmax>() == "BasicSharedNegative<HuffmanPath>");
  CHECK(detail::name_of<WritingKernel>() == "WritingKernel");
}
