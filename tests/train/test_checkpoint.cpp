#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>
#include <wordloom/any_trainer.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

struct Task {
  Vocabulary vocabulary;
  EncodedCorpus corpus;
  explicit Task(std::size_t words = 50)
      : vocabulary(zipf_vocabulary(words)), corpus(make(vocabulary)) {}

  static EncodedCorpus make(const Vocabulary& vocabulary) {
    std::vector<std::vector<WordId>> sentences(3000);
    Random random(9);
    for (auto& sentence : sentences)
      for (std::size_t i = 0; i < 1 + random.below(20); ++i)
        sentence.push_back(static_cast<WordId>(random.below(vocabulary.size())));
    return EncodedCorpus::from_sentences(sentences, vocabulary);
  }
};

Hyperparameters parameters(std::size_t threads = 1) {
  return {.dimension = 12, .subsample = 0.01, .epochs = 4, .threads = threads};
}

bool same(const Embeddings& a, const Embeddings& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!std::equal(a.vector(i).begin(), a.vector(i).end(), b.vector(i).begin())) return false;
  return true;
}

bool same(const RowMatrix& a, const RowMatrix& b) {
  if (a.rows() != b.rows() || a.columns() != b.columns()) return false;
  for (std::size_t i = 0; i < a.rows(); ++i)
    if (!std::equal(a.row(i).begin(), a.row(i).end(), b.row(i).begin())) return false;
  return true;
}

/// IndexedContext with batches that are small parts of an epoch.
struct IndexedTrainer : Trainer<IndexedContext, FusedKernel> {
  explicit IndexedTrainer(const Hyperparameters& with)
      : Trainer(with, [&] {
          auto sampler = IndexedContext::from(with);
          sampler.words = 3000;
          return sampler;
        }()) {}
};

/// Trains until `fraction` is done; the checkpoint is then in `path`.
template <class Trained>
void interrupt_run(Trained trainer, const Task& task, double fraction,
                   const std::filesystem::path& path) {
  trainer.checkpoint_to(path);
  trainer.on_progress([&](const Progress& progress) { return progress.fraction() < fraction; }, 0s);
  trainer.fit(task.corpus, task.vocabulary);
  REQUIRE(trainer.report().stopped);
}
template <class Trained = DefaultTrainer>
void interrupt(const Task& task, const Hyperparameters& with, double fraction,
               const std::filesystem::path& path) {
  interrupt_run(Trained(with), task, fraction, path);
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

TEST_CASE("one thread resumes to the same bits, wherever it was stopped", "[checkpoint]") {
  const Task task(150);
  const TemporaryFolder folder;
  Hyperparameters with = parameters();
  const auto check = [&](auto&& make) {
    auto whole = make(with);
    const auto expected = whole.fit(task.corpus, task.vocabulary);
    for (const double fraction : {0.0, 0.1, 0.25, 0.4, 0.74, 0.999}) {
      interrupt_run(make(with), task, fraction, folder / "state");
      auto rest = make(with);
      CHECK(same(rest.resume(task.corpus, task.vocabulary, folder / "state"), expected));
      CHECK(rest.report().tokens == whole.report().tokens);
      CHECK(rest.report().loss == Approx(whole.report().loss));
      CHECK(rest.report().epoch_losses.front() == Approx(whole.report().epoch_losses.front()));
    }
  };
  const auto check_named = [&](std::string_view sampler) {
    INFO(sampler);
    check([&](const Hyperparameters& of) { return make_trainer(sampler, "fused", of); });
  };
  check_named("shared-hs");
  with.negative_pool = 1;  // for 128 words and more
  for (const auto* sampler : {"shared", "cbow", "grouped", "minibatch"}) check_named(sampler);
  check([](const Hyperparameters& of) { return IndexedTrainer(of); });
}

TEST_CASE("checkpoints written during training are complete", "[checkpoint]") {
  const Task task;
  const TemporaryFolder folder;
  const auto expected = DefaultTrainer(parameters()).fit(task.corpus, task.vocabulary);
  DefaultTrainer trainer(parameters());
  trainer.checkpoint_to(folder / "state", 0s);
  std::size_t copies = 0;
  trainer.on_progress(
      [&](const Progress&) {
        // What a kill at this moment would leave.
        if (std::filesystem::exists(folder / "state") && copies < 20)
          std::filesystem::copy(folder / "state", folder / std::to_string(copies++));
        return true;
      },
      0s);
  CHECK(same(trainer.fit(task.corpus, task.vocabulary), expected));
  REQUIRE(copies > 3);
  for (std::size_t i = 0; i < copies; ++i)
    CHECK(same(DefaultTrainer(parameters())
                   .resume(task.corpus, task.vocabulary, folder / std::to_string(i)),
               expected));
}

TEST_CASE("several threads resume with all sentences that were not trained", "[checkpoint]") {
  const Task task;
  const TemporaryFolder folder;
  interrupt(task, parameters(3), 0.5, folder / "state");
  DefaultTrainer rest(parameters(3));
  rest.resume(task.corpus, task.vocabulary, folder / "state");
  CHECK(rest.report().tokens == 4 * task.corpus.token_count());
}

TEST_CASE("the end of each epoch is reported once when a run stops there and resumes",
          "[checkpoint]") {
  const Task task;
  const TemporaryFolder folder;
  struct Stopping {  // an object with callbacks of epochs, which returns false in one of them
    std::vector<std::size_t>* epochs;
    std::size_t last;
    bool on_epoch(const Progress& progress) {
      epochs->push_back(progress.epoch);
      return progress.epoch != last;
    }
  };
  constexpr std::size_t never = 4;
  for (const std::size_t threads : {1u, 3u})
    for (std::size_t last = 0; last < 4; ++last)
      for (const bool by_progress : {false, true})
        for (const bool on_calling_thread : {false, true}) {
          INFO(threads << " threads, epoch " << last << ", by progress " << by_progress);
          std::vector<std::size_t> epochs;
          DefaultTrainer first(parameters(threads)), rest(parameters(threads));
          first.checkpoint_to(folder / "state");
          const Stopping stopping{&epochs, by_progress ? never : last};
          if (on_calling_thread)
            first.add(OnCallingThread(stopping));
          else
            first.add(stopping);
          if (by_progress)
            first.on_progress(
                [&](const Progress& progress) {
                  return progress.tokens < (last + 1) * task.corpus.token_count();
                },
                0s);
          first.fit(task.corpus, task.vocabulary);
          CHECK(first.report().stopped);
          CHECK(first.report().tokens == (last + 1) * task.corpus.token_count());
          rest.add(Stopping{&epochs, never});
          rest.resume(task.corpus, task.vocabulary, folder / "state");
          CHECK(epochs == std::vector<std::size_t>{0, 1, 2, 3});
        }
}

TEST_CASE("a damaged checkpoint is refused", "[checkpoint]") {
  const Task task;
  const TemporaryFolder folder;
  interrupt(task, parameters(), 0.5, folder / "state");
  const std::string good = content(folder / "state");
  const auto load = [&](const std::string& bytes) {
    write(folder / "damaged", bytes);
    return detail::Checkpoint::load(folder / "damaged");
  };
  REQUIRE(load(good).matrices.size() == 2);
  CHECK(load(good).matrices[0].name == "input");
  CHECK(load(good).matrices[0].matrix.rows() == 50);
  CHECK(load(good).matrices[1].name == "output");
  for (std::size_t size = 0; size < good.size(); size += 97)
    CHECK_THROWS_AS(load(good.substr(0, size)), FormatError);
  CHECK_THROWS_AS(load(good + "x"), FormatError);
  for (std::size_t at = 0; at < good.size(); at += 61) {
    std::string changed = good;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    CHECK_THROWS_AS(load(changed), FormatError);
  }
}

TEST_CASE("a checkpoint of another run is refused", "[checkpoint]") {
  const Task task;
  const TemporaryFolder folder;
  interrupt(task, parameters(), 0.5, folder / "state");
  const auto resume = [&](Hyperparameters with) {
    DefaultTrainer(with).resume(task.corpus, task.vocabulary, folder / "state");
  };
  auto other = parameters();
  other.learning_rate = 0.01;
  CHECK_THROWS_WITH(resume(other), Catch::Contains("another method or set of hyperparameters: "
                                                   "learning_rate 0.025, not learning_rate 0.01"));
  using Other = Trainer<Hogwild, FusedKernel>;
  CHECK_THROWS_WITH(
      Other(parameters()).resume(task.corpus, task.vocabulary, folder / "state"),
      Catch::Contains("SharedNegative<NegativeSampling>, not BasicHogwild<NegativeSampling>"));
  CHECK_THROWS_WITH(Other(other).resume(task.corpus, task.vocabulary, folder / "state"),
                    Catch::Contains("not learning_rate 0.01; BasicSharedNegative<"));
  const auto vocabulary = zipf_vocabulary(51);
  const auto corpus = Task::make(vocabulary);
  CHECK_THROWS_WITH(DefaultTrainer(parameters()).resume(corpus, vocabulary, folder / "state"),
                    Catch::Contains("another vocabulary"));
  CHECK_THROWS_AS(DefaultTrainer(parameters()).resume(task.corpus, task.vocabulary, folder / "no"),
                  IoError);
}

TEST_CASE("another number of threads trains the rest of a run", "[checkpoint]") {
  const Task task;
  const TemporaryFolder folder;
  interrupt(task, parameters(1), 0.6, folder / "state");
  const auto before = detail::Checkpoint::load(folder / "state");
  CHECK(Checkpoint(folder / "state").team().threads == 1);
  const Model model = Checkpoint(folder / "state").model(task.vocabulary);
  CHECK(same(model.input, before.matrices.at(0).matrix));
  CHECK(same(model.output, before.matrices.at(1).matrix));
  CHECK_THROWS_WITH(Checkpoint(folder / "state").model(zipf_vocabulary(51)),
                    Catch::Contains("another vocabulary"));
  std::vector<std::size_t> epochs;
  for (std::size_t e = 0; e < before.ranks[0].threads[0].epoch; ++e) epochs.push_back(e);
  for (const std::size_t threads : {2u, 3u, 5u}) {
    DefaultTrainer trainer(parameters(threads));
    auto called = epochs;
    trainer.on_epoch([&](const Progress& progress) { called.push_back(progress.epoch); });
    trainer.resume(task.corpus, task.vocabulary, folder / "state");
    CHECK(called == std::vector<std::size_t>{0, 1, 2, 3});
    CHECK(static_cast<double>(trainer.report().tokens) ==
          Approx(4.0 * static_cast<double>(task.corpus.token_count())).epsilon(0.01));
    // The first epochs keep their losses.
    for (std::size_t e = 0; e < epochs.size(); ++e)
      CHECK(trainer.report().epoch_losses[e] == Approx(before.ranks[0].losses[e].mean()));
  }
}

TEST_CASE("a checkpoint of a policy with another value is refused", "[checkpoint]") {
  const Task task;
  const TemporaryFolder folder;
  interrupt<Trainer<Cbow, DotKernel>>(task, parameters(), 0.5, folder / "state");
  const auto resume = [&](const Cbow& sampler) {
    return Trainer(parameters(), sampler, DotKernel{})
        .resume(task.corpus, task.vocabulary, folder / "state");
  };
  resume({});
  for (const Cbow& other :
       {Cbow{.window = {3}}, Cbow{.targets = {.negatives = 4}}, Cbow{.targets = {.exponent = 0.5}},
        Cbow{.gradient = BagGradient::mean}})
    CHECK_THROWS_WITH(resume(other), Catch::Contains("another method or set of hyperparameters"));
}

TEST_CASE("a checkpoint is restored into a model of the same shape", "[checkpoint]") {
  const Task task;
  const TemporaryFolder folder;
  using Hierarchical = Trainer<HierarchicalSoftmax, DotKernel>;
  Hierarchical whole(parameters());
  Model expected = whole.new_model(task.vocabulary);
  whole.train(task.corpus, expected);
  interrupt<Hierarchical>(task, parameters(), 0.5, folder / "state");
  CHECK(detail::Checkpoint::load(folder / "state").matrices[1].matrix.rows() == 49);

  Model resumed(task.vocabulary, {.dimension = 12, .output_rows = 49}, 77);
  Hierarchical(parameters()).resume_training(task.corpus, resumed, folder / "state");
  CHECK(same(resumed.input, expected.input));
  CHECK(same(resumed.output, expected.output));
  Model other(task.vocabulary, {.dimension = 12, .output_rows = 50});
  CHECK_THROWS_WITH(
      Hierarchical(parameters()).resume_training(task.corpus, other, folder / "state"),
      Catch::Contains("49 x 12"));
}

namespace {

/// Counts the updates of each input row in the model's state, and learns by them.
struct CountingKernel {
  struct Run {
    RowMatrix* counts;
    struct Worker {
      RowMatrix* counts;
      template <bool>
      double update(Model& model, const Block& block, float rate) {
        for (const RowId i : block.inputs) {
          const float count = counts->row(i)[0] += 1;
          for (float& x : model.input.row(i)) x += rate / count;
        }
        return 1.0;
      }
    };
    Worker worker(const Model&, Block::Shape) const { return {counts}; }
  };
  Run start(Model& model) const { return {&model.state_matrix("input.counts", model.rows(), 1)}; }
};

/// A kernel that changes nothing and returns the same loss for each block.
struct ConstantLoss {
  struct Worker {
    template <bool>
    double update(Model&, const Block&, float) {
      return 1.0;
    }
  };
  Worker worker(const Model&, Block::Shape) const { return {}; }
};

/// Sentences that differ from epoch to epoch.
struct DrawnCorpus {
  static constexpr bool repeats = false;
  std::size_t words;

  std::uint64_t token_count() const { return 4000; }
  std::vector<std::vector<WordId>> sentences(const Shard& shard) const {
    std::vector<std::vector<WordId>> result(400 / shard.count, std::vector<WordId>(10));
    Random random(shard.seed, shard.index, shard.epoch);
    for (auto& sentence : result)
      for (WordId& word : sentence) word = static_cast<WordId>(random.below(words));
    return result;
  }
};

}  // namespace

TEST_CASE("the state that a kernel keeps in the model is restored", "[checkpoint]") {
  const Task task;
  const TemporaryFolder folder;
  using Counting = Trainer<Hogwild, CountingKernel>;
  Counting whole(parameters());
  Model expected = whole.new_model(task.vocabulary);
  whole.train(task.corpus, expected);
  interrupt<Counting>(task, parameters(), 0.5, folder / "state");
  CHECK(detail::Checkpoint::load(folder / "state").matrices[2].name == "input.counts");

  Counting rest(parameters());
  Model resumed = rest.new_model(task.vocabulary);
  rest.resume_training(task.corpus, resumed, folder / "state");
  CHECK(same(resumed.input, expected.input));
  REQUIRE(resumed.state.size() == 1);
  CHECK(same(resumed.state[0].matrix, expected.state[0].matrix));
}

TEST_CASE("losses that threads had not reported are restored", "[checkpoint]") {
  const Task task;
  const TemporaryFolder folder;
  using Constant = Trainer<Hogwild, ConstantLoss>;
  interrupt<Constant>(task, parameters(3), 0.5, folder / "state");
  detail::Checkpoint state = detail::Checkpoint::load(folder / "state");
  // As many as the thread trains in thousands of blocks, so that their loss cannot be overlooked.
  for (detail::Checkpoint::Thread& thread : state.ranks.at(0).threads) {
    CHECK(thread.loss == Approx(static_cast<double>(thread.examples)));
    thread.examples += 5000;
    thread.loss += 5000;
  }
  state.save(folder / "state");
  Constant rest(parameters(3));
  rest.resume(task.corpus, task.vocabulary, folder / "state");
  for (const double loss : rest.report().epoch_losses) CHECK(loss == Approx(1));
}

TEST_CASE("a run on a corpus whose epochs differ resumes to the same bits", "[checkpoint]") {
  const Task task;
  const DrawnCorpus corpus{task.vocabulary.size()};
  const TemporaryFolder folder;
  const auto expected = DefaultTrainer(parameters()).fit(corpus, task.vocabulary);
  for (const double fraction : {0.1, 0.6}) {
    DefaultTrainer trainer(parameters());
    trainer.checkpoint_to(folder / "state");
    trainer.on_progress([&](const Progress& progress) { return progress.fraction() < fraction; },
                        0s);
    trainer.fit(corpus, task.vocabulary);
    REQUIRE(trainer.report().stopped);
    CHECK(same(DefaultTrainer(parameters()).resume(corpus, task.vocabulary, folder / "state"),
               expected));
  }
}
