#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/thread_ranks.hpp>

#include "small_models.hpp"
#include "sync/sync_run.hpp"

/// Three ranks that change their models as training might, and synchronise: on the host and, to
/// compare with that, elsewhere.
namespace row_scenario {

using namespace wordloom;

inline constexpr std::size_t ranks = 3;
inline constexpr std::size_t words = 1500;  // more than those that give the common direction
inline constexpr std::size_t columns = 20;  // which a device pads
inline const SyncOptions options{.first_rows = 40, .interval = 300, .overlap = false};

inline void change(Model& model, std::size_t rank, std::size_t step) {
  Random random(rank + 1, step, 0);
  for (std::size_t i = 0; i < words; ++i) {
    if (i % 4 == rank && i > 20) continue;  // words that a rank has not seen
    for (RowMatrix* matrix : {&model.input, &model.output})
      for (float& x : matrix->row(i)) x += static_cast<float>(random.uniform() - 0.3);
  }
}

/// `get()` brings the replica's rows to the model, `put()` the model's to the replica.
template <class Sync, class Replica, class Get, class Put>
void run_rank(Sync& sync, Model& model, Replica& replica, Get get, Put put) {
  RankInfo run = sync_run(model, 1000, {.window = 2, .subsample = 1e-3, .epochs = 1},
                          [](double) { return 0.01; });
  sync.start(replica, run);
  for (std::size_t step = 0; step < 3; ++step) {
    get();
    change(model, sync.rank(), step);
    put();
    sync.tick(replica, static_cast<double>(step) / 3 + 0.2, RankInfo::Signal::go_on);
  }
  sync.finish(replica);
  get();
}

/// Calls `rank(self, model)` for each rank with the model that it starts with; returns their models
/// as they are in the end.
template <class Rank>
std::vector<std::optional<Model>> run(Rank rank) {
  std::vector<std::optional<Model>> models(ranks);
  const auto vocabulary = zipf_vocabulary(words, 100'000);
  ThreadRanks::run(ranks, [&](ThreadRanks self) {
    Model model = random_model(vocabulary, columns);
    rank(self, model);
    models[self.rank()].emplace(std::move(model));
  });
  return models;
}

template <class Combine>
std::vector<std::optional<Model>> run_on_host() {
  return run([](ThreadRanks self, Model& model) {
    Allreduce<ThreadRanks, Combine> sync(self, options);
    run_rank(
        sync, model, model, [] {}, [] {});
  });
}

/// By how much two models differ at most, of all ranks.
inline double difference(const std::vector<std::optional<Model>>& a,
                         const std::vector<std::optional<Model>>& b) {
  double worst = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    for (const auto matrix : {&Model::input, &Model::output})
      for (std::size_t i = 0; i < words; ++i)
        for (std::size_t d = 0; d < columns; ++d)
          worst = std::max<double>(
              worst, std::abs(((*a[rank]).*matrix).row(i)[d] - ((*b[rank]).*matrix).row(i)[d]));
  return worst;
}

}  // namespace row_scenario
