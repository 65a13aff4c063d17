// The schemes of kernels on a device, run by teams of the host, against the same in plain double
// precision.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>
#include <wordloom/cuda/detail/gemm_scheme.hpp>
#include <wordloom/cuda/detail/grouped_warp_scheme.hpp>
#include <wordloom/cuda/detail/published_schemes.hpp>
#include <wordloom/cuda/detail/ring_schemes.hpp>
#include <wordloom/cuda/detail/shared_warp_scheme.hpp>
#include <wordloom/cuda/detail/warp_scheme.hpp>

#include "catch.hpp"
#include "cuda/scheme_oracle.hpp"

using namespace wordloom;
using namespace wordloom::cuda;
using schemes::Case, schemes::Oracle;

namespace {

/// Trains a copy of the model by Scheme and compares with what the oracle says.
template <class Scheme, int R, class Team>
void check(Case task, void (Oracle::*scheme)(), std::size_t ring_reach = 0) {
  REQUIRE(task.dimension == static_cast<std::size_t>(R * Team::width));
  Oracle oracle(task);
  if (ring_reach > 0) oracle.ring_reach = ring_reach;
  (oracle.*scheme)();
  const Sentence sentence{task.sentence.data(), static_cast<std::uint32_t>(task.sentence.size()),
                          task.random, static_cast<float>(Oracle::rate), true};
  std::vector<float> memory(Scheme::floats_of_own(task.sampling, task.dimension));
  const ModelView model{task.input.data(), task.output.data(), task.dimension};
  PairLoss loss;
  Scheme::train(SentenceTask<R, Team>{Team(), model, task.sampling, sentence, memory.data(), loss});
  const auto worst = [&](const std::vector<float>& got, const std::vector<double>& expected) {
    double most = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
      if (const double one = std::abs(static_cast<double>(got[i]) - expected[i]);
          one > most || std::isnan(one))
        most = one;
    return most;
  };
  CAPTURE(task.sentence.size(), task.sampling.max_reach, task.sampling.per_window,
          task.sampling.fixed_window);
  CHECK(worst(task.input, oracle.input) < 1e-4);
  CHECK(worst(task.output, oracle.output) < 1e-4);
  CHECK(static_cast<double>(loss.examples) == oracle.positives);
  CHECK(static_cast<double>(loss.sum) == Approx(oracle.loss).epsilon(1e-4));
}

const std::vector<std::size_t> lengths{0, 1, 2, 3, 5, 6, 7, 10, 11, 12, 33, 100};

template <class Use>
void for_each_case(std::size_t row, Use use) {
  for (const std::size_t length : lengths)
    for (const bool fixed : {false, true})
      for (const auto& [window, negatives] :
           {std::pair{5u, 5u}, std::pair{1u, 1u}, std::pair{3u, 30u}})
        use(Case(length, window, negatives, fixed, row));
  use(Case(1000, 5, 5, false, row));
}

}  // namespace

TEST_CASE("published CUDA schemes equal their oracles", "[cuda]") {
  for_each_case(64, [](const Case& task) {
    check<SentenceScheme, 1, HostTeam<64>>(task, &Oracle::sentence_scheme);
    check<RegisterScheme, 1, HostTeam<64>>(task, &Oracle::register_scheme);
    check<RingBufferScheme, 1, HostTeam<64>>(task, &Oracle::ring_buffer_scheme);
    check<PairRingScheme, 1, HostTeam<64>>(task, &Oracle::pair_ring_scheme);
  });
}

TEST_CASE("WarpScheme equals its oracle", "[cuda]") {
  for_each_case(64, [](const Case& task) {
    check<WarpScheme<11>, 2, HostTeam<32>>(task, &Oracle::warp_scheme, 5);
    check<SharedWarpScheme, 2, HostTeam<32>>(task, &Oracle::shared_warp_scheme);
    // One warp sees its own additions at once, also where a row has not had enough of them.
    check<WarpScheme<11, 9, 3>, 2, HostTeam<32>>(task, &Oracle::warp_scheme, 5);
  });
  for (const std::size_t length : lengths) {
    check<WarpScheme<7>, 4, HostTeam<32>>(Case(length, 5, 5, true, 128), &Oracle::warp_scheme);
    check<WarpScheme<3>, 1, HostTeam<32>>(Case(length, 2, 7, true, 32), &Oracle::warp_scheme);
    check<SharedWarpScheme, 3, HostTeam<32>>(Case(length, 20, 4, false, 96),
                                             &Oracle::shared_warp_scheme);
  }
}

TEST_CASE("GroupedWarpScheme equals its oracle", "[cuda]") {
  bool is_long_first = false, is_short_first = false;
  for (const std::size_t length : lengths)
    for (std::uint64_t sentence = 0; sentence < 6; ++sentence) {
      using Scheme = GroupedWarpScheme<3, 2, 7>;
      Case task(length, 5, 5, true, 64);
      task.random.sentence = sentence;
      is_long_first = is_long_first || Scheme::first_center(task.random) == 0;
      is_short_first = is_short_first || Scheme::first_center(task.random) == -2;
      check<Scheme, 2, HostTeam<32>>(task, &Oracle::grouped_warp_scheme);
    }
  CHECK(is_long_first);
  CHECK(is_short_first);
}

TEST_CASE("GemmScheme equals its oracle", "[cuda]") {
  // Less than a tile, more than one on either side, minibatches that no tile divides.
  for (const auto& [minibatch, shared] :
       {std::pair{16u, 30u}, std::pair{24u, 70u}, std::pair{3u, 20u}, std::pair{1u, 33u}})
    for_each_case(64, [&, minibatch = minibatch, shared = shared](Case task) {
      task.sampling.minibatch = minibatch;
      task.sampling.shared = shared;
      task.sampling.per_window = 1 + shared / 20;  // gradients of weights round 1: more diverge
      check<GemmScheme, 2, HostWarps<4>>(task, &Oracle::gemm_scheme);
      if (minibatch == 16)
        check<MinibatchRingScheme, 1, HostTeam<64>>(task, &Oracle::minibatch_ring_scheme);
    });
  Case wide(50, 20, 5, false, 160);
  wide.sampling.minibatch = 16;
  wide.sampling.shared = 105;
  check<GemmScheme, 5, HostWarps<4>>(wide, &Oracle::gemm_scheme);
}
