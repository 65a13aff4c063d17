// Trains columns alone and with all ranks, gathers rows in several pieces, exchanges texts beside
// other operations, and fails on rank 1: exits with 0 where each rank has the bits, and the
// exception, that it should have.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <span>
#include <string>
#include <vector>
#include <wordloom/kernel/with_optimizer.hpp>
#include <wordloom/mpi.hpp>
#include <wordloom/optimizer/adam.hpp>
#include <wordloom/sync/bf16_ranks.hpp>
#include <wordloom/sync/row_allgather.hpp>

#include "sync/column_scenario.hpp"

using namespace wordloom;

namespace {

void require(bool holds, const std::string& what) {
  if (!holds) throw Error(what);
}

template <class Kernel, class Ranks>
void train(const ColumnScenario& scenario, const Ranks& ranks, std::size_t threads) {
  ColumnTrainer<RowAllgather<Ranks>, Kernel> trainer(ColumnScenario::parameters(threads),
                                                     RowAllgather<Ranks>(ranks));
  Model model = trainer.new_model(scenario.vocabulary);
  trainer.train(scenario.matrix, model);
  require(same_matrices(model, train_alone<Kernel>(scenario)), "other bits than one process");
}

/// Rank 0 has more rows than travel at a time, the last rank has three.
void gather_in_pieces(MpiRanks ranks) {
  const std::uint64_t rows = (std::uint64_t{1} << 24) + 8;
  std::vector<std::uint64_t> first(ranks.size() + 1, rows - 3);
  first.front() = 0;
  first.back() = rows;
  const auto value = [](std::uint64_t i) { return static_cast<float>(i % 9973 + 1); };
  std::vector<float> all(rows);
  for (std::uint64_t i = first[ranks.rank()]; i < first[ranks.rank() + 1]; ++i) all[i] = value(i);
  ranks.gather_rows(all, 1, first);
  for (std::uint64_t i = 0; i < rows; ++i) require(all[i] == value(i), "a row is wrong");
}

/// Texts that are longer than MPI sends at once arrive while ranks do something else, and a rank
/// that fails meanwhile takes none of the memory that MPI still uses.
void exchange_beside_others(MpiRanks ranks, bool fails) {
  const std::size_t size = ranks.size(), rank = ranks.rank();
  std::vector<std::string> to;
  for (std::size_t r = 0; r < size; ++r)
    to.emplace_back((std::size_t{1} << 22) + 10 * rank + r, static_cast<char>('a' + rank));
  ranks.begin_exchange(std::move(to));
  if (fails && rank == 1) {
    ranks.fail("mine");
    throw CorpusError("mine");
  }
  for (std::uint64_t i = 0; i < 3; ++i)
    require(ranks.gather(i + rank)[size - 1] == i + size - 1, "another number");
  std::vector<std::byte> passed(2 * 1000, static_cast<std::byte>(rank));
  ranks.begin_pass(passed);
  ranks.wait();
  require(passed.back() == static_cast<std::byte>((rank + 1) % size), "passed on by another");
  const auto from = ranks.end_exchange();
  for (std::size_t r = 0; r < size; ++r)
    require(
        from[r] == std::string((std::size_t{1} << 22) + 10 * r + rank, static_cast<char>('a' + r)),
        "another text");
}

/// Does work in which rank 1 throws CorpusError("mine").
template <class Work>
void fail_on_rank_1(const MpiRanks& ranks, Work work) {
  if (ranks.size() == 1) return;
  try {
    work();
  } catch (const CorpusError&) {
    return require(ranks.rank() == 1, "not the exception of this rank");
  } catch (const SyncError& error) {
    const std::string message = error.what();
    return require(message.starts_with("rank 1 on ") && message.ends_with(" has failed: mine"),
                   message);
  }
  throw Error("no exception");
}

void fail_in_training(const ColumnScenario& scenario, const MpiRanks& ranks) {
  using Sync = RowAllgather<MpiRanks>;
  ColumnTrainer<Sync> trainer(ColumnScenario::parameters(2), Sync(ranks));
  if (ranks.rank() == 1)
    trainer.on_progress(
        [](const Progress& progress) {
          if (progress.fraction() > 0.3) throw CorpusError("mine");
        },
        std::chrono::seconds(0));
  trainer.fit(scenario.matrix, scenario.vocabulary);
}

void run() {
  const ColumnScenario scenario, small(100);
  const MpiRanks ranks;
  train<FusedKernel>(scenario, ranks, 2);
  train<WithOptimizer<FusedKernel, Adam>>(scenario, Bf16Ranks<MpiRanks>(ranks), 1);
  train<FusedKernel>(small, ranks, 1);  // some ranks have nothing to do
  gather_in_pieces(ranks);
  exchange_beside_others(ranks, false);
  fail_on_rank_1(ranks, [&] { fail_in_training(scenario, ranks); });
  const MpiRanks others;
  fail_on_rank_1(others, [&] { exchange_beside_others(others, true); });
}

}  // namespace

int main() {
  const MpiSession session;
  try {
    run();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << std::string(error.what()) + '\n';
    return 1;
  }
}
