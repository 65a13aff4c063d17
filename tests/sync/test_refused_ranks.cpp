#include <set>
#include <string>
#include <thread>
#include <vector>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/thread_ranks.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "demo_text.hpp"
#include "small_models.hpp"
#include "sync/sync_run.hpp"

using namespace wordloom;

TEST_CASE("ranks that do not fit each other are refused, on all of them", "[sync]") {
  const auto& text = demo_text();
  const auto refusals = [&](auto change) {
    std::vector<std::string> messages(3);
    ThreadRanks::run(3, [&](ThreadRanks self) {
      using Sync = Allreduce<ThreadRanks>;
      Hyperparameters parameters{.dimension = 8, .epochs = 1, .threads = 1};
      SharedNegative sampler;
      if (self.rank() == 2) change(parameters, sampler);
      Trainer trainer(parameters, sampler, FusedKernel{}, Sync(self));
      try {
        trainer.fit(text.corpus, text.vocabulary);
      } catch (const SyncError& error) {
        messages[self.rank()] = error.what();
      }
    });
    return std::set<std::string>(messages.begin(), messages.end());
  };
  const auto seed = refusals([](Hyperparameters& p, SharedNegative&) { p.seed = 5; });
  const auto window = refusals([](Hyperparameters&, SharedNegative& s) { s.window.size = 4; });
  const std::string refused = "rank 2 has another method or set of hyperparameters than rank 0 (";
  CHECK(seed == std::set{refused + "seed 5, not seed 1)"});
  CHECK(window == std::set{refused + "window 4, not window 5)"});
  CHECK(*refusals([](Hyperparameters&, SharedNegative&) {}).begin() == "");
}

TEST_CASE("ranks with different options are refused, on all of them", "[sync]") {
  const auto refused = [](const SyncOptions& of_first, const SyncOptions& of_second,
                          SyncOptions::Rule rule_of_second = {}) {
    std::vector<std::string> messages(2);
    ThreadRanks::run(2, [&](ThreadRanks self) {
      Model model(zipf_vocabulary(40, 1000), 5);
      const bool is_first = self.rank() == 0;
      Allreduce sync(self, is_first ? of_first : of_second,
                     is_first ? SyncOptions::Rule() : rule_of_second);
      try {
        RankInfo run = sync_run(model, 1000, {}, [](double) { return 1e9; });
        sync.start(model, run);
      } catch (const SyncError& error) {
        messages[self.rank()] = error.what();
      }
    });
    CHECK(messages[0] == messages[1]);
    return messages[0];
  };
  CHECK(refused({.first_rows = 8}, {.first_rows = 9}) ==
        "rank 1 has another first_rows than rank 0 (9, not 8)");
  CHECK(refused({.interval = 100}, {.interval = 200}) ==
        "rank 1 has another number of synchronisations than rank 0 (25, not 50)");
  CHECK(refused({}, {}, {SyncOptions::Rule::Kind::average})
            .starts_with("rank 1 has another rule that combines changes"));
  CHECK(refused({}, {}) == "");
}

TEST_CASE("a rank that fails ends the others", "[sync]") {
  const auto& text = demo_text();
  std::vector<std::string> messages(3);
  CHECK_THROWS_WITH(ThreadRanks::run(3,
                                     [&](ThreadRanks self) {
                                       using Sync = Allreduce<ThreadRanks>;
                                       Trainer<SharedNegative, FusedKernel, Sync> trainer(
                                           {.dimension = 8, .threads = 1},
                                           Sync(self, {.interval = 20'000}));
                                       if (self.rank() == 1)
                                         trainer.on_progress(
                                             [](const Progress& progress) -> bool {
                                               if (progress.fraction() > 0.3)
                                                 throw Error("the disk is full");
                                               return true;
                                             },
                                             0s);
                                       try {
                                         trainer.fit(text.corpus, text.vocabulary);
                                       } catch (const Error& error) {
                                         messages[self.rank()] = error.what();
                                         if (self.rank() == 1) throw;
                                       }
                                     }),
                    "the disk is full");
  CHECK(messages[0] == "rank 1 has failed: the disk is full");
  CHECK(messages[2] == messages[0]);
}

TEST_CASE("the exception of the rank that has failed reaches the caller, not those that follow it",
          "[sync]") {
  CHECK_THROWS_WITH(ThreadRanks::run(2,
                                     [](ThreadRanks self) {
                                       if (self.rank() == 1) {
                                         self.fail("no disk");
                                         std::this_thread::sleep_for(20ms);  // rank 0 is faster
                                         throw Error("no disk");
                                       }
                                       self.gather(1);
                                     }),
                    "no disk");
  // A rank that has caught its own exception has none to give.
  CHECK_THROWS_WITH(ThreadRanks::run(2,
                                     [](ThreadRanks self) {
                                       if (self.rank() == 1)
                                         self.fail("no disk");
                                       else
                                         self.gather(1);
                                     }),
                    "rank 1 has failed: no disk");
}
