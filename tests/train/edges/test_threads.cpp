// Threads are the caller's: within a parallel region, too many of them, and callers of their own.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <wordloom/core/detail/processors.hpp>
#include <wordloom/eigen.hpp>
#include <wordloom/kernel/dot_kernel.hpp>
#include <wordloom/sampler/shared_negative.hpp>
#include <wordloom/train/trainer.hpp>

#if WORDLOOM_HAS_OPENMP
#include <wordloom/openmp.hpp>
#endif

#include "catch.hpp"
#include "support.hpp"
#include "train/paired_corpus.hpp"

using namespace wordloom;

namespace {

/// The threads that sampled.
struct Trained {
  std::mutex guard;
  std::set<std::thread::id> threads;
};

struct ThreadSampler {
  Trained* trained = nullptr;

  template <class Visit>
  void visit_parameters(Visit&&) const {}
  struct Worker {
    Trained* trained;
    Block::Shape max_block() const { return {1, 1}; }
    template <class Sink>
    void sample(std::span<const WordId> sentence, Random&, Sink&& sink) {
      const std::lock_guard lock(trained->guard);
      trained->threads.insert(std::this_thread::get_id());
      sink(Block{.inputs = sentence.first(1), .outputs = sentence.last(1), .positives = 1});
    }
  };
  Worker start(const Vocabulary&) const { return {trained}; }
};

}  // namespace

TEST_CASE("each shard has a thread of its own, also in a parallel region", "[trainer][parallel]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  const auto threads = [&] {
    Trained trained;
    Trainer(small(4), ThreadSampler{&trained}, DotKernel{}).fit(corpus, vocabulary);
    return trained.threads.size();
  };
  CHECK(threads() == 4);
#if WORDLOOM_HAS_OPENMP
  std::size_t inside = 0;
#pragma omp parallel num_threads(2)
#pragma omp master
  inside = threads();
  CHECK(inside == 4);
#endif
}

// Thread sanitizers do not see how OpenMP's threads wait for each other.
#if WORDLOOM_HAS_OPENMP && !defined(__SANITIZE_THREAD__)
TEST_CASE("training runs in the host's team of OpenMP where that is whole", "[trainer][parallel]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  const auto threads = [&] {
    Trained trained;
    Trainer(small(4), ThreadSampler{&trained}, DotKernel{}).fit(corpus, vocabulary);
    return trained.threads;
  };
  std::set<std::thread::id> team;
#pragma omp parallel num_threads(4)
#pragma omp critical
  team.insert(std::this_thread::get_id());
  CHECK(threads() != team);
  use_openmp_team();
  CHECK(threads() == team);
  CHECK(resolve_threads(0) == static_cast<std::size_t>(omp_get_max_threads()));
  std::set<std::thread::id> inside;
#pragma omp parallel num_threads(2)
#pragma omp master
  inside = threads();
  CHECK(inside.size() == 4);  // a nested region has one thread: these are the library's own
  CHECK_THROWS_AS(detail::run_threads(3,
                                      [](std::size_t i) {
                                        if (i == 2) throw CorpusError("no");
                                      }),
                  CorpusError);
  detail::host_threads() = nullptr;
}
#endif

TEST_CASE("an absurd number of threads is refused", "[trainer][parallel]") {
  CHECK(message_of<InvalidArgument>([] { resolve_threads(65537); }) ==
        "threads is 65537, must be at most 65536");
  CHECK(resolve_threads(65536) == 65536);
  CHECK(resolve_threads(0) >= 1);
  const char* const was = std::getenv("OMP_NUM_THREADS");
  const std::string before = was != nullptr ? was : "";
  setenv("OMP_NUM_THREADS", " 3 , 2", 1);
  CHECK(resolve_threads(0) == 3);
  setenv("OMP_NUM_THREADS", "many", 1);
  CHECK(resolve_threads(0) == std::max(1u, std::thread::hardware_concurrency()));
  setenv("OMP_NUM_THREADS", "1000000", 1);
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  CHECK(message_of<InvalidArgument>([&] {
          Trainer<SharedNegative, DotKernel>(small(0)).fit(corpus, vocabulary);
        }) == "OMP_NUM_THREADS is 1000000, must be at most 65536");
  was != nullptr ? setenv("OMP_NUM_THREADS", before.c_str(), 1) : unsetenv("OMP_NUM_THREADS");
}

TEST_CASE("more threads than sets of private rows train and are called back",
          "[trainer][parallel]") {
  const auto vocabulary = small_vocabulary();
  Trainer<SharedNegative, DotKernel> trainer(small(11));
  std::size_t calls = 0;
  trainer.on_epoch([&](const Progress&, const Model& model) {
    ++calls;
    CHECK(eigen_view(model.input).allFinite());
  });
  trainer.fit(paired_corpus(vocabulary, 1000), vocabulary);
  CHECK(calls == 3);
}

TEST_CASE("a pinned run does not change its caller's processors", "[trainer][parallel]") {
  const auto vocabulary = small_vocabulary();
  const auto before = detail::allowed_processors();
  Hyperparameters parameters = small(3);
  parameters.pin_threads = true;
  Trainer<SharedNegative, DotKernel> trainer(parameters);
  trainer.fit(paired_corpus(vocabulary), vocabulary);
  CHECK(detail::allowed_processors() == before);
}

TEST_CASE("another thread can stop training, and trainers can run at the same time",
          "[trainer][parallel]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  auto parameters = small(2);
  parameters.epochs = 1'000'000;
  const auto run = [&] {
    std::atomic<bool> goes_on{true}, has_begun{false};
    Trainer<SharedNegative, DotKernel> trainer(parameters);
    trainer.on_progress(
        [&](const Progress&) {
          has_begun = true;
          return goes_on.load();
        },
        0s);
    std::jthread fit([&] { trainer.fit(corpus, vocabulary); });
    while (!has_begun) std::this_thread::yield();
    goes_on = false;
    fit.join();
    return trainer.report().stopped;
  };
  bool beside = false;
  std::jthread other([&] { beside = run(); });
  CHECK(run());
  other.join();
  CHECK(beside);
}
