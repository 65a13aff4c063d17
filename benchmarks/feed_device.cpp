// How fast the host feeds a device: training with a device that does nothing, so that all time is
// spent on reading sentences, cutting them into batches and staging these for the copies. Prints
// million words/s of the first epoch and of the fastest, and million words for each second of
// processor time.
#include <algorithm>
#include <cstddef>
#include <ctime>
#include <exception>
#include <functional>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>
#include <wordloom/cuda/detail/host_kernel.hpp>
#include <wordloom/graph.hpp>
#include <wordloom/wordloom.hpp>

#include "support/arguments.hpp"
#include "support/demo_text.hpp"

using namespace wordloom;

namespace {

/// A device that does nothing. Batches are copied to memory from which a GPU would read them, in
/// pieces, as CudaMachine does.
struct IdleMachine : cuda::HostMachine {
  using Queue = IdleMachine;
  struct Slot : HostMachine::Slot {
    void copy(const detail::SentenceBatch& batch, std::uint32_t*, const IdleMachine&) {
      staged.resize(std::size_t{1} << 20);
      const auto stage = [&](std::span<const std::uint32_t> part) {
        for (std::size_t at = 0; at < part.size(); at += staged.size())
          std::copy_n(part.data() + at, std::min(staged.size(), part.size() - at), staged.data());
      };
      batch.for_each_part(stage);
      stage(batch.ends);
    }
    std::vector<std::uint32_t> staged;
  };
  template <class Work>
  void run(std::size_t, const Work&) const {}
  static bool has_room(std::size_t, std::size_t) { return false; }
};

struct IdleMethod {
  using RowSizes = std::integer_sequence<int, 1>;
  static constexpr std::size_t min_words = std::size_t{1} << 20;
  static constexpr std::size_t batch_words = std::size_t{1} << 22;  // as on a GPU
  static void check(const cuda::Sampling&, IdleMachine::Device) {}
  static std::size_t run(const cuda::ModelView&, const cuda::Sampling&, const cuda::BatchView&,
                         std::size_t in_flight, IdleMachine::Device, const IdleMachine&) {
    return in_flight;
  }
  template <int, class Use>
  static void with_launch(const cuda::Sampling&, Use use) {
    use(IdleMethod());
  }
};

void measure(const std::string& name, const AnyCorpus& corpus, const Vocabulary& vocabulary,
             std::size_t threads, std::size_t epochs) {
  Trainer<SharedNegative, cuda::BatchKernel<IdleMachine, IdleMethod>> trainer{
      {.dimension = 8, .epochs = epochs, .threads = threads}};
  const std::clock_t begin = std::clock();  // of all threads
  trainer.fit(corpus, vocabulary);
  const double clocks = static_cast<double>(std::clock() - begin);
  const auto& seconds = trainer.report().epoch_seconds;
  const double millions = static_cast<double>(corpus.token_count()) * 1e-6;
  std::cout << std::left << std::setw(24) << name << std::right << std::setw(8) << threads
            << std::fixed << std::setprecision(0) << std::setw(10) << millions / seconds.front()
            << std::setw(10) << millions / *std::ranges::min_element(seconds) << std::setw(14)
            << millions * static_cast<double>(epochs) * CLOCKS_PER_SEC / clocks << std::endl;
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Speed at which the host feeds a device");
  std::string text;
  std::size_t nodes = 100'000, epochs = 3;
  std::vector<std::size_t> threads{1, 2};
  app.add_option("--corpus", text, "Text to read, plain or .gz; default: the demo corpus");
  app.add_option("--nodes", nodes, "Nodes of a random graph with ten edges for each")
      ->check(CLI::Range(2, 100'000'000));
  app.add_option("--epochs", epochs, "Epochs of each run")->check(CLI::Range(1, 1000));
  app.add_option("--threads", threads, "Numbers of host threads");
  parse_arguments(app, argc, argv);

  const BenchmarkText file(text, 500'000);
  const auto vocabulary = Vocabulary::from_text(file.path());
  const auto encoded = EncodedCorpus::from_text(file.path(), vocabulary);
  std::vector<Graph::Edge> edges;
  Random random(1);
  for (std::size_t i = 0; i < 10 * nodes; ++i)
    edges.push_back(
        {static_cast<WordId>(random.below(nodes)), static_cast<WordId>(random.below(nodes))});
  const auto graph = Graph::from_edges(edges, nodes);
  std::cout << "corpus                   threads     first   fastest  a CPU second\n";
  for (const std::size_t count : threads) {
    measure("encoded", AnyCorpus(encoded), vocabulary, count, epochs);
    measure("text, streamed", AnyCorpus(TextCorpus(file.path(), vocabulary)), vocabulary, count,
            epochs);
    measure("walks", AnyCorpus(RandomWalks(graph)), graph.vocabulary(), count, epochs);
    measure("walks, p = q = 0.5", AnyCorpus(RandomWalks(graph, {.p = 0.5, .q = 0.5})),
            graph.vocabulary(), count, epochs);
    measure("edges", AnyCorpus(EdgeSamples(graph, {.edges_per_epoch = 20 * nodes})),
            graph.vocabulary(), count, epochs);
  }
} catch (const std::exception& error) {
  std::cerr << "feed_device: " << error.what() << '\n';
  return 1;
}
