// LINE from edges to vectors.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <wordloom/graph/edge_samples.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/thread_ranks.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

constexpr std::size_t groups = 4, group_size = 6;

/// Groups of nodes that are all connected, in a ring: one edge leads from each to the next.
Graph ring_of_groups() {
  std::vector<Graph::Edge> edges;
  for (WordId group = 0; group < groups; ++group) {
    const WordId first = group * group_size;
    for (WordId a = 0; a < group_size; ++a)
      for (WordId b = 0; b < a; ++b) edges.push_back({first + a, first + b});
    edges.push_back({first, static_cast<WordId>((first + group_size + 1) % (groups * group_size))});
  }
  return Graph::from_edges(edges, groups * group_size);
}

EdgeSamples small_samples() { return EdgeSamples(ring_of_groups(), {.edges_per_epoch = 4000}); }

Hyperparameters small(std::size_t threads = 1) {
  return {.dimension = 8, .learning_rate = 0.2, .epochs = 8, .threads = threads};
}

bool same(const Embeddings& a, const Embeddings& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!std::equal(a.vector(i).begin(), a.vector(i).end(), b.vector(i).begin())) return false;
  return true;
}

/// The probability that two nodes of one group are more alike than two of different groups.
double separation(const Embeddings& nodes) {
  std::vector<float> within, across;
  for (std::size_t a = 0; a < groups * group_size; ++a)
    for (std::size_t b = 0; b < a; ++b)
      (a / group_size == b / group_size ? within : across)
          .push_back(nodes.similarity(std::to_string(a), std::to_string(b)));
  std::size_t right = 0;
  for (const float x : within)
    for (const float y : across) right += x > y;
  return static_cast<double>(right) / static_cast<double>(within.size() * across.size());
}

}  // namespace

TEMPLATE_TEST_CASE("LINE finds groups of nodes", "[line]", Line<1>, Line<2>,
                   (Trainer<detail::LineFirstOrder, FusedKernel>)) {
  for (const std::size_t threads : {1u, 3u}) {
    TestType trainer(small(threads));
    const auto samples = small_samples();
    const Embeddings nodes = trainer.fit(samples, samples.graph().vocabulary());
    CHECK(separation(nodes) > 0.9);
    CHECK(trainer.report().tokens == 8 * samples.token_count());
    CHECK(trainer.report().epoch_losses.back() < trainer.report().epoch_losses.front());
  }
}

TEST_CASE("vectors of both orders of LINE can be joined", "[line]") {
  const auto samples = small_samples();
  const auto& nodes = samples.graph().vocabulary();
  const Embeddings first = Line<1>(small()).fit(samples, nodes);
  const Embeddings second = Line<2>(small()).fit(samples, nodes);
  const Embeddings both = Embeddings::concatenate(first, second);
  CHECK(both.dimension() == 16);
  CHECK(separation(both) > 0.9);
  CHECK(both.similarity(3, 4) ==
        Approx((first.similarity(3, 4) + second.similarity(3, 4)) / 2).margin(1e-5));
}

TEMPLATE_TEST_CASE("one thread resumes LINE to the same bits", "[line][checkpoint]", Line<1>,
                   Line<2>, (Trainer<detail::LineFirstOrder, FusedKernel>)) {
  const TemporaryFolder folder;
  const auto samples = small_samples();
  const auto& nodes = samples.graph().vocabulary();
  const auto expected = TestType(small()).fit(samples, nodes);
  CHECK(same(TestType(small()).fit(samples, nodes), expected));
  for (const double fraction : {0.1, 0.45, 0.9}) {
    TestType trainer(small());
    trainer.checkpoint_to(folder / "state");
    trainer.on_progress([&](const Progress& progress) { return progress.fraction() < fraction; },
                        0s);
    trainer.fit(samples, nodes);
    REQUIRE(trainer.report().stopped);
    CHECK(detail::Checkpoint::load(folder / "state").matrices.size() ==
          (std::is_same_v<TestType, Line<2>> ? 2 : 1));
    CHECK(same(TestType(small()).resume(samples, nodes, folder / "state"), expected));
  }
  const EdgeSamples others(samples.graph(), {.edges_per_epoch = 4001});
  CHECK_THROWS_AS(TestType(small()).resume(others, nodes, folder / "state"), InvalidArgument);
}

TEST_CASE("a model of one matrix is saved, loaded and trained on", "[line]") {
  const TemporaryFolder folder;
  const auto samples = small_samples();
  Line<1> trainer(small());
  Model model = trainer.new_model(samples.graph().vocabulary());
  CHECK(model.has_one_matrix());
  trainer.train(samples, model);
  CHECK(model.has_one_matrix());
  CHECK(model.output.data() == model.input.data());
  model.save(folder / "model");
  Model loaded = Model::load(folder / "model");
  trainer.train(samples, model);
  trainer.train(samples, loaded);
  CHECK(same(loaded.embeddings(), model.embeddings()));

  const Graph more = Graph::from_edges(std::vector<Graph::NamedEdge>{{"new", "3"}, {"new", "4"}});
  loaded.extend(more.vocabulary());
  std::vector<Graph::Edge> edges;  // the nodes of both graphs, by their new ids
  for (WordId a = 0; a < loaded.vocabulary.size(); ++a) edges.push_back({a, 0});
  std::vector<std::vector<WordId>> sentences{{}};
  for (const Graph::Edge& edge : edges)
    sentences[0].insert(sentences[0].end(), {edge.from, edge.to});
  trainer.train(EncodedCorpus::from_sentences(sentences, loaded.vocabulary), loaded);
  CHECK(loaded.has_one_matrix());
  CHECK(loaded.rows() == groups * group_size + 1);
}

TEST_CASE("a model of the other number of matrices is refused", "[line]") {
  const auto samples = small_samples();
  const auto& nodes = samples.graph().vocabulary();
  Model one = Line<1>(small()).new_model(nodes), two = Line<2>(small()).new_model(nodes);
  CHECK_FALSE(two.has_one_matrix());
  CHECK(contains(message_of<InvalidArgument>([&] { Line<1>(small()).train(samples, two); }),
                 "the model has two matrices, this sampler needs one"));
  CHECK(contains(message_of<InvalidArgument>([&] { Line<2>(small()).train(samples, one); }),
                 "the model has one matrix for both sides, this sampler needs two"));
}

TEST_CASE("nodes of edges are not subsampled", "[line]") {
  const auto samples = small_samples();
  const auto& nodes = samples.graph().vocabulary();
  auto dropping = small(), keeping = small();
  dropping.subsample = 1e-5;
  keeping.subsample = 0;
  CHECK(same(Line<2>(dropping).fit(samples, nodes), Line<2>(keeping).fit(samples, nodes)));
  CHECK(same(Line<1>(dropping).fit(samples, nodes), Line<1>(keeping).fit(samples, nodes)));
  // Nor are private rows made by other rates.
  dropping.threads = keeping.threads = 2;
  CHECK(separation(Line<2>(dropping).fit(samples, nodes)) > 0.9);
}

TEMPLATE_TEST_CASE("ranks train LINE together", "[line][sync]", detail::LineFirstOrder,
                   detail::LineSecondOrder) {
  const auto samples = small_samples();
  const auto& nodes = samples.graph().vocabulary();
  using RankTrainer = Trainer<TestType, FusedKernel, Allreduce<ThreadRanks>>;
  const auto train = [&](std::size_t ranks) {
    std::vector<std::optional<Embeddings>> all(ranks);
    ThreadRanks::run(ranks, [&](ThreadRanks self) {
      RankTrainer trainer(small(), Allreduce<ThreadRanks>(self, {.overlap = false}));
      all[self.rank()].emplace(trainer.fit(samples, nodes));
    });
    return all;
  };
  const auto alone = Trainer<TestType, FusedKernel>(small()).fit(samples, nodes);
  CHECK(same(*train(1)[0], alone));
  for (const std::size_t ranks : {2u, 3u}) {
    const auto all = train(ranks), again = train(ranks);
    for (const auto& one : all) CHECK(same(*one, *all[0]));
    CHECK(same(*again[0], *all[0]));
    CHECK(separation(*all[0]) > 0.9);
    // As long as those of one rank: what ranks add up neither grows nor is lost. Changes take
    // effect one exchange late, so that vectors are somewhat shorter after so few.
    double lengths = 0, lengths_alone = 0;
    for (std::size_t i = 0; i < alone.size(); ++i) {
      lengths += 1 / static_cast<double>(all[0]->inverse_lengths()[i]);
      lengths_alone += 1 / static_cast<double>(alone.inverse_lengths()[i]);
    }
    CHECK(lengths <= 1.05 * lengths_alone);
    CHECK(lengths >= 0.9 * lengths_alone);
  }
}
