// Training of words whose vectors a character CNN computes.
#if WORDLOOM_HAS_BLAS
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/thread_ranks.hpp>

#include "catch.hpp"
#include "encoder/small_encoder.hpp"
#include "small_models.hpp"
#include "support.hpp"
#include "train/column_task.hpp"

using namespace wordloom;
using namespace small_encoder;
using column_task::Task;

namespace {

auto window_trainer(std::size_t threads = 1, std::size_t round = 3) {
  return encoded_trainer<SharedNegative>(parameters(threads), round);
}

}  // namespace

TEST_CASE("any number of threads that train columns gives the same bits, with an encoder too",
          "[encoded][columns]") {
  const Task task(600);
  const auto matrix = task.matrix(5);
  for (const std::size_t round : {3u, 0u}) {
    const Model one = trained(column_trainer(1, round), matrix, task.vocabulary);
    CHECK(is_finite(one));
    CHECK(rows_are_encoded(one));
    for (const std::size_t threads : {2u, 7u})
      CHECK(same_matrices(trained(column_trainer(threads, round), matrix, task.vocabulary), one));
  }
}

TEMPLATE_TEST_CASE("a round trains the encoder's rows, and then the encoder", "[encoded]",
                   UniformMatrix, SharedNegative) {
  const Task task(50);
  const Hyperparameters with =
      std::is_same_v<TestType, UniformMatrix> ? parameters(1, 1) : sentence_parameters(1, 1);
  const auto check = [&](const auto& corpus, double last_rate) {
    // Outputs of zero would leave the inputs of a first column as they are.
    Model expected = random_model(task.vocabulary, dimension), model = copy_of(expected);
    CharCnn::Run run = encoder.start(expected, 1, with.seed);
    run.encode();
    Trainer<TestType, FusedKernel>(with).train(corpus, expected);
    CHECK_FALSE(rows_are_encoded(expected));
    run.learn(encoder.learning_rate / with.learning_rate * last_rate);
    CHECK(rows_are_encoded(expected));
    // One column, or more words than the corpus has.
    constexpr std::size_t round = std::is_same_v<TestType, UniformMatrix> ? 1 : 1000;
    encoded_trainer<TestType>(with, round).train(corpus, model);
    CHECK(same_matrices(model, expected));
  };
  if constexpr (std::is_same_v<TestType, UniformMatrix>)
    check(task.matrix(1), with.learning_rate);
  else
    check(task.corpus, LinearDecay::from(with).rate(1));
}

namespace {

/// Checks that runs that were stopped at any report resume to the bits of one that was not.
template <class AnyTrainer, class Corpus>
void check_interruptions(const AnyTrainer& before, const AnyTrainer& after, const Corpus& corpus,
                         const Vocabulary& vocabulary) {
  const TemporaryFolder folder;
  AnyTrainer whole = before;
  std::size_t reports = 0;
  whole.on_progress([&](const Progress&) { ++reports; }, 0s);
  Model expected = whole.new_model(vocabulary);
  whole.train(corpus, expected);
  REQUIRE(rows_are_encoded(expected));
  --reports;  // the last one is after training
  REQUIRE(reports > 5);
  for (std::size_t last = 1; last <= reports; ++last) {
    INFO("stopped after report " << last << " of " << reports);
    AnyTrainer first = before, rest = after;
    first.checkpoint_to(folder / "state");
    std::size_t calls = 0;
    first.on_progress([&](const Progress&) { return ++calls < last; }, 0s);
    const Model stopped = trained(first, corpus, vocabulary);
    CHECK(rows_are_encoded(stopped));
    Model resumed = rest.new_model(vocabulary);
    rest.resume_training(corpus, resumed, folder / "state");
    CHECK(same_matrices(resumed, expected));
    CHECK(rest.report().tokens == whole.report().tokens);
  }
}

}  // namespace

TEST_CASE("training by columns resumes in the midst of rounds to the same bits",
          "[encoded][columns][checkpoint]") {
  const Task task(300);
  const auto matrix = task.matrix(4);
  check_interruptions(column_trainer(1), column_trainer(3), matrix, task.vocabulary);
  check_interruptions(column_trainer(3), column_trainer(1), matrix, task.vocabulary);
  check_interruptions(column_trainer(1, 0), column_trainer(3, 0), matrix, task.vocabulary);
}

TEST_CASE("one thread that trains sentences resumes in the midst of rounds to the same bits",
          "[encoded][checkpoint][serial]") {
  const Vocabulary vocabulary = zipf_vocabulary(50);
  const auto corpus = EncodedCorpus::from_sentences(random_sentences(150, 9, 50), vocabulary);
  check_interruptions(window_trainer(), window_trainer(), corpus, vocabulary);
  check_interruptions(window_trainer(1, 0), window_trainer(1, 0), corpus, vocabulary);
  const auto vanilla = encoded_trainer<Hogwild, WithOptimizer<DotKernel, Adam>>(parameters(), 0);
  check_interruptions(vanilla, vanilla, corpus, vocabulary);
}

namespace {

using RankSync = RowAllgather<ThreadRanks>;
using RankTrainer = Trainer<Encoded<UniformMatrix, CharCnn>, FusedKernel, RankSync>;

/// Returns what ranks train, each in a thread of its own: `train(trainer, model)`.
template <class Train>
std::vector<std::optional<Model>> on_ranks(std::size_t ranks, std::size_t threads,
                                           const Vocabulary& vocabulary, Train train,
                                           std::size_t round = 3) {
  std::vector<std::optional<Model>> result(ranks);
  ThreadRanks::run(ranks, [&](ThreadRanks self) {
    RankTrainer trainer =
        encoded_trainer<UniformMatrix, FusedKernel>(parameters(threads), round, RankSync(self));
    Model model = trainer.new_model(vocabulary);
    train(trainer, model);
    result[self.rank()].emplace(std::move(model));
  });
  return result;
}

bool all_same(const std::vector<std::optional<Model>>& ranks, const Model& expected) {
  return std::ranges::all_of(
      ranks, [&](const std::optional<Model>& model) { return same_matrices(*model, expected); });
}

}  // namespace

TEST_CASE("any number of ranks fits an encoder to the bits of one", "[encoded][sync]") {
  const Task task(600);
  const auto matrix = task.matrix(5);
  const Model alone = trained(column_trainer(), matrix, task.vocabulary);
  for (const std::size_t ranks : {1u, 2u, 3u})
    for (const std::size_t threads : {1u, 2u})
      CHECK(all_same(
          on_ranks(ranks, threads, task.vocabulary,
                   [&](RankTrainer& trainer, Model& model) { trainer.train(matrix, model); }),
          alone));
  CHECK(all_same(on_ranks(
                     2, 1, task.vocabulary,
                     [&](RankTrainer& trainer, Model& model) { trainer.train(matrix, model); }, 0),
                 trained(column_trainer(1, 0), matrix, task.vocabulary)));
}

TEST_CASE("ranks resume in the midst of a round to the bits of one",
          "[encoded][sync][checkpoint]") {
  const Task task(600);
  const auto matrix = task.matrix(5);
  const TemporaryFolder folder;
  const Model alone = trained(column_trainer(), matrix, task.vocabulary);
  for (const std::size_t ranks : {2u, 3u}) {
    on_ranks(ranks, 1, task.vocabulary, [&](RankTrainer& trainer, Model& model) {
      trainer.checkpoint_to(folder / "state");
      std::size_t columns = 0;
      if (trainer.sync().rank() == 1)
        trainer.on_progress([&](const Progress&) { return ++columns < 4; }, 0s);
      trainer.train(matrix, model);
      if (!trainer.report().stopped) throw TrainingError("not stopped");
    });
    CHECK(detail::Checkpoint::load(folder / "state").ranks[0].threads[0].sentences == 4);
    CHECK(all_same(on_ranks(ranks, 2, task.vocabulary,
                            [&](RankTrainer& trainer, Model& model) {
                              trainer.resume_training(matrix, model, folder / "state");
                            }),
                   alone));
  }
}

TEST_CASE("an encoder that several ranks train needs a sampler of columns", "[encoded][sync]") {
  const Task task(50);
  std::vector<std::string> messages(2);
  ThreadRanks::run(2, [&](ThreadRanks self) {
    auto trainer = encoded_trainer<SharedNegative, FusedKernel, Allreduce<ThreadRanks>>(
        sentence_parameters(), 3, Allreduce<ThreadRanks>(self));
    messages[self.rank()] =
        message_of<InvalidArgument>([&] { trainer.fit(task.corpus, task.vocabulary); });
  });
  for (const std::string& message : messages)
    CHECK(message ==
          "an encoder that several ranks train needs a sampler of columns, as UniformMatrix");
}

namespace {

template <class Sampler, class Kernel>
void check_learning(std::size_t round = 3) {
  const Task task(60);
  constexpr bool has_private_rows = !std::is_same_v<Kernel, WithOptimizer<DotKernel, Adam>>;
  for (const std::size_t threads : {1u, 4u})
    for (std::size_t private_rows = 0; private_rows <= (has_private_rows ? 16u : 0u);
         private_rows += 16) {
      INFO(threads << " threads, " << private_rows << " private rows");
      Hyperparameters with = parameters(threads, 6);
      with.private_rows = private_rows;
      auto trainer = encoded_trainer<Sampler, Kernel>(with, round);
      Model model = trainer.new_model(task.vocabulary);
      trainer.train(task.corpus, model);
      CHECK(is_finite(model));
      CHECK(rows_are_encoded(model));
      CHECK(model.rows() == 60);
      const auto& losses = trainer.report().epoch_losses;
      CHECK(losses.back() < 0.95 * losses.front());
      CHECK(trainer.report().tokens == 6 * task.corpus.token_count());
    }
}

}  // namespace

TEST_CASE("threads that train sentences learn with an encoder", "[encoded]") {
  check_learning<SharedNegative, FusedKernel>();
  check_learning<Hogwild, DotKernel>();
}

TEST_CASE("threads that train sentences learn with an encoder end to end", "[encoded]") {
  check_learning<SharedNegative, FusedKernel>(0);
  check_learning<Hogwild, WithOptimizer<DotKernel, Adam>>(0);
}

TEMPLATE_TEST_CASE("callbacks that take the model and those of epochs go with rounds", "[encoded]",
                   UniformMatrix, SharedNegative) {
  const Task task(60);
  const auto check = [&](const auto& corpus) {
    for (const std::size_t threads : {1u, 3u})
      for (const std::size_t round : {0u, 1u, 5u}) {
        INFO(threads << " threads, rounds of " << round);
        auto trainer = encoded_trainer<TestType>(parameters(threads, 3), round);
        std::size_t calls = 0;
        bool as_expected = true;
        std::vector<std::size_t> epochs;
        trainer.on_progress(
            [&](const Progress&, const Model& model) {
              ++calls;
              as_expected = as_expected && is_finite(model) && !model.state.empty();
            },
            0s);
        trainer.on_epoch([&](const Progress& progress, const Model& model) {
          epochs.push_back(progress.epoch);
          as_expected = as_expected && is_finite(model);
        });
        Model model = trainer.new_model(task.vocabulary);
        CHECK(trainer.train(corpus, model).tokens == 3 * corpus.token_count());
        CHECK(calls > 3);
        CHECK(as_expected);
        CHECK(epochs == std::vector<std::size_t>{0, 1, 2});
        CHECK(rows_are_encoded(model));
        // One that stops training in the midst of it.
        trainer.on_progress([](const Progress& at, const Model&) { return at.fraction() < 0.4; },
                            0s);
        CHECK(trainer.train(corpus, model).stopped);
        CHECK(rows_are_encoded(model));
      }
  };
  if constexpr (std::is_same_v<TestType, UniformMatrix>)
    check(task.matrix(4));
  else
    check(task.corpus);
}

namespace {

/// What an encoder was called for.
struct Calls {
  std::size_t begun = 0;
  std::vector<double> rates;  // of each fitting
  std::atomic<std::size_t> stale{0};
};

/// An encoder that writes how often it was fitted to all rows.
struct CountingEncoder {
  std::shared_ptr<Calls> calls = std::make_shared<Calls>();
  double learning_rate = 0.5;

  template <class Visit>
  void visit_parameters(Visit&&) const {}

  struct Embeddings : wordloom::Embeddings {
    explicit Embeddings(Model&& model) : wordloom::Embeddings(std::move(model).embeddings()) {}
  };
  struct Run {
    Model& model;
    Calls& calls;
    void encode() {
      ++calls.begun;
      write();
    }
    void learn(double rate) {
      calls.rates.push_back(rate);
      write();
    }
    void write() const {
      for (std::size_t i = 0; i < model.rows(); ++i)
        std::ranges::fill(model.input.row(i), static_cast<float>(calls.rates.size()));
    }
  };
  Run start(Model& model, std::size_t, std::uint64_t) const { return {model, *calls}; }
};

/// Counts the input rows that are not those of the encoder's last call, and changes none.
struct ReadingKernel {
  static constexpr bool keeps_nothing_by_row = true;
  static constexpr Block::Features honours = FusedKernel::honours;
  std::shared_ptr<Calls> calls;

  template <class Visit>
  void visit_parameters(Visit&&) const {}

  struct Worker {
    Calls& calls;
    template <bool>
    double update(Model& model, const Block& block, float) {
      for (const RowId row : block.inputs)
        if (model.input.row_data(row)[0] != static_cast<float>(calls.rates.size())) ++calls.stale;
      return 1.0;
    }
  };
  Worker worker(const Model&, Block::Shape) const { return {*calls}; }
};

template <class Sampler>
auto counting_trainer(const Hyperparameters& with, const std::shared_ptr<Calls>& calls,
                      std::size_t round) {
  return Trainer<Encoded<Sampler, CountingEncoder>, ReadingKernel>(
      with, {Sampler::from(with), {calls}, round}, ReadingKernel{calls});
}

}  // namespace

TEST_CASE("an encoder without gradients is refused end to end", "[encoded]") {
  const Task task(50);
  CHECK(message_of<InvalidArgument>([&] {
          Trainer<Encoded<SharedNegative, CountingEncoder>, ReadingKernel>(
              sentence_parameters(), {SharedNegative::from(sentence_parameters()), {}, 1, true},
              ReadingKernel{})
              .fit(task.corpus, task.vocabulary);
        }) == "this encoder is trained in rounds, not end to end");
}

TEST_CASE("rounds of columns end after so many columns, and with training", "[encoded][columns]") {
  const Task task(300);
  const auto matrix = task.matrix(5);
  for (const std::size_t threads : {1u, 3u})
    for (const std::size_t round : {1u, 3u, 5u, 100u}) {
      INFO(threads << " threads, rounds of " << round);
      const auto calls = std::make_shared<Calls>();
      counting_trainer<UniformMatrix>(parameters(threads), calls, round)
          .fit(matrix, task.vocabulary);
      CHECK(calls->begun == 1);
      CHECK(calls->stale == 0);
      // The encoder's learning rate falls as that of the rows does.
      std::vector<double> expected;
      for (std::size_t column = 1; column <= 10; ++column)
        if (column % round == 0)
          expected.push_back(0.5 * (1 - static_cast<double>(column - 1) / 10));
      if (10 % round != 0) expected.push_back(0.5 * LinearDecay::from(parameters()).rate(1) / 0.05);
      REQUIRE(calls->rates.size() == expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i)
        CHECK(calls->rates[i] == Approx(expected[i]).margin(1e-12));
    }
}

TEST_CASE("rounds of sentences end after so many words, and threads then read the new rows",
          "[encoded]") {
  const Vocabulary vocabulary = zipf_vocabulary(50);
  const auto corpus = EncodedCorpus::from_sentences(random_sentences(600, 9, 50), vocabulary);
  for (const std::size_t threads : {1u, 3u}) {
    INFO(threads << " threads");
    const Hyperparameters with = sentence_parameters(threads);
    const auto calls = std::make_shared<Calls>();
    counting_trainer<SharedNegative>(with, calls, 10).fit(corpus, vocabulary);
    CHECK(calls->begun == 1);
    CHECK(calls->stale == 0);
    // 10,800 words in rounds of 500; threads may report two rounds' words at once.
    CHECK(calls->rates.size() <= 22);
    CHECK(calls->rates.size() >= (threads == 1 ? 22 : 11));
    // The rate of each round is that of the thread that reported last.
    if (threads == 1) CHECK(std::ranges::is_sorted(calls->rates, std::greater<>()));
  }
}
#endif
