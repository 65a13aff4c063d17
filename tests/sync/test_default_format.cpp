#include <cstdint>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/thread_ranks.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "sync/sync_run.hpp"

using namespace wordloom;
using Format = SyncOptions::Format;

namespace {

/// Ranks that say that a network lies between them.
struct NetworkRanks : ThreadRanks {
  static bool over_network() { return true; }
};

/// Returns the bytes that rank 0 sends in a short run with these options.
template <class Ranks, class Rule = CoherentSum>
std::uint64_t bytes_of_run(SyncOptions options, Rule rule = {}) {
  std::uint64_t bytes = 0;
  ThreadRanks::run(2, [&](ThreadRanks self) {
    Model model(zipf_vocabulary(40), 16);
    options.first_rows = 8;
    if (options.interval == 0) options.interval = 100;
    Allreduce<Ranks, Rule> sync(Ranks{self}, options, rule);
    RankInfo run = sync_run(model, 1000, {.epochs = 1}, [](double) { return 0.1; });
    sync.start(model, run);
    for (const double progress : {0.3, 0.6, 0.9})
      sync.tick(model, progress, RankInfo::Signal::go_on);
    sync.finish(model);
    if (self.rank() == 0) bytes = sync.bytes_sent();
  });
  return bytes;
}

}  // namespace

TEST_CASE("few bits are the default over a network where they were measured", "[sync]") {
  using Kind = SyncOptions::Rule::Kind;
  const std::uint64_t fp32 = bytes_of_run<NetworkRanks>({.format = Format::fp32}),
                      bits4 = bytes_of_run<NetworkRanks>({.format = Format::bits4});
  REQUIRE(bits4 < fp32);
  CHECK(bytes_of_run<NetworkRanks>({}) == bits4);
  CHECK(bytes_of_run<NetworkRanks>({}, SyncOptions::Rule{Kind::coherent}) == bits4);
  CHECK(bytes_of_run<ThreadRanks>({}) == fp32);
  CHECK(bytes_of_run<NetworkRanks>({}, Average()) == fp32);
  CHECK(bytes_of_run<NetworkRanks>({}, SyncOptions::Rule{Kind::touched}) == fp32);
  CHECK(bytes_of_run<NetworkRanks>({.interval = SyncOptions::epoch}) ==
        bytes_of_run<NetworkRanks>({.interval = SyncOptions::epoch, .format = Format::fp32}));
}
