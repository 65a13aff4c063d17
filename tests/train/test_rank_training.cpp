#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "support.hpp"
#include "train/paired_corpus.hpp"
#include "train/watching_policies.hpp"

using namespace wordloom;

namespace {

/// The calls of a sync policy, of which the repeated ticks are one, and the run it is told of.
struct SyncLog {
  std::vector<std::string> calls;
  std::string cause;
  RankInfo run;
};
class LoggingSync {
 public:
  explicit LoggingSync(SyncLog* log = nullptr) : log_(log) {}
  std::size_t rank() const { return 1; }
  std::size_t size() const { return 2; }
  std::uint64_t start(Model&, RankInfo& run) {
    log_->calls.emplace_back("start");
    log_->run = run;
    return 1000;
  }
  RankInfo::Signal tick(Model&, double, RankInfo::Signal request) {
    if (log_->calls.back() != "tick") log_->calls.emplace_back("tick");
    return request;
  }
  RankInfo::Positions gather(Model&, std::span<const std::uint64_t>) {
    log_->calls.emplace_back("gather");
    return {};
  }
  RankInfo::Signal finish(Model&) {
    log_->calls.emplace_back("finish");
    return RankInfo::Signal::go_on;
  }
  void fail(const std::string& cause) {
    log_->calls.emplace_back("fail");
    log_->cause = cause;
  }

 private:
  SyncLog* log_;
};

}  // namespace

TEST_CASE("a rank trains its own part and synchronises from start to end", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary, 100);
  SyncLog log;
  Trainer<SharedNegative, DotKernel, LoggingSync> trainer(small(2), LoggingSync(&log));
  trainer.fit(corpus, vocabulary);
  CHECK(log.calls == std::vector<std::string>{"start", "tick", "finish"});
  CHECK(trainer.report().tokens == 3 * corpus.token_count() / 2);
  CHECK(log.run.input_rows == 20);
  CHECK(log.run.output_rows == 20);
  CHECK(log.run.dimension == 16);
  CHECK(log.run.words_per_epoch == corpus.token_count() / 2);
  CHECK(log.run.epochs == 3);
  CHECK(log.run.rate(0.5) == Approx(0.0125));
  CHECK_FALSE(log.run.resumes);
  CHECK(log.run.expected.input.size() == 20);
  CHECK(log.run.expected.output.size() == 20);
}

namespace {

/// No sentences, of any shard; records which shards were read.
struct EmptyShards {
  static constexpr bool repeats = false;
  std::vector<Shard>* asked;
  std::uint64_t token_count() const { return 100; }
  std::vector<std::span<const WordId>> sentences(const Shard& shard) const {
    asked->push_back(shard);
    return {};
  }
};

}  // namespace

TEST_CASE("each thread of a rank has its shard among those of all ranks", "[trainer]") {
  SyncLog log;
  std::vector<Shard> asked;
  auto parameters = small();
  parameters.seed = 8;
  Trainer<SharedNegative, DotKernel, LoggingSync> trainer(parameters, LoggingSync(&log));
  trainer.fit(EmptyShards{&asked}, small_vocabulary());
  REQUIRE(asked.size() == 3);
  for (std::size_t epoch = 0; epoch < 3; ++epoch) {
    CHECK(asked[epoch].index == 1);
    CHECK(asked[epoch].count == 2);
    CHECK(asked[epoch].epoch == epoch);
    CHECK(asked[epoch].seed == 8);
  }
}

TEST_CASE("a sync policy receives the rows of the sampler, and the failure", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary, 100);
  SyncLog log;
  Trainer<HierarchicalSoftmax, DotKernel, LoggingSync> trainer(small(), LoggingSync(&log));
  trainer.on_progress([](const Progress&) -> bool { throw UnknownWord("enough"); }, 0s);
  CHECK_THROWS_AS(trainer.fit(corpus, vocabulary), UnknownWord);
  CHECK(log.calls.back() == "fail");
  CHECK(contains(log.cause, "enough"));
  CHECK(log.run.input_rows == 20);
  CHECK(log.run.output_rows == 19);
  CHECK(log.run.expected.input.size() == 20);
  CHECK(log.run.expected.output.size() == 19);
}

namespace {

/// Cannot start.
struct NeverStarts {
  RecordingSampler::Worker start(const Vocabulary&) const {
    throw InvalidArgument("not with these words");
  }
};

}  // namespace

TEST_CASE("other ranks are notified if a sampler cannot start", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  SyncLog log;
  Trainer<NeverStarts, DotKernel, LoggingSync> trainer(small(), LoggingSync(&log));
  CHECK_THROWS_AS(trainer.fit(paired_corpus(vocabulary), vocabulary), InvalidArgument);
  CHECK(log.cause == "not with these words");
}
