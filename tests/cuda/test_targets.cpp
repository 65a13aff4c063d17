// Bags, paths in the Huffman tree and Wombat's tiles by kernels on a device, run on the host,
// against the same in plain double precision.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <type_traits>
#include <vector>
#include <wordloom/cuda/detail/host_kernel.hpp>
#include <wordloom/cuda/detail/published_schemes.hpp>
#include <wordloom/cuda/detail/wombat_scheme.hpp>
#include <wordloom/sampler/cbow.hpp>
#include <wordloom/sampler/hogwild.hpp>
#include <wordloom/sampler/shared_negative.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "support.hpp"

using namespace wordloom;
using cuda::SentenceRandom;

namespace {

constexpr std::size_t words = 60, dimension = 64;
constexpr double rate = 0.1;

using PathHogwild = BasicHogwild<HuffmanPath>;
using BothHogwild = BasicHogwild<HuffmanPathAndNegatives>;
using BothShared = BasicSharedNegative<HuffmanPathAndNegatives>;
using BothCbow = BasicCbow<HuffmanPathAndNegatives>;

template <class Scheme, class Sampler>
using KernelOf = cuda::HostKernel<Scheme, 2, cuda::HostTeam<32>, cuda::OneByOne, Sampler>;

/// The first sentence is long: the loss is measured there.
std::vector<std::vector<WordId>> some_sentences() {
  std::vector<std::vector<WordId>> sentences;
  Random random(3);
  for (const std::size_t length : {100u, 1u, 2u, 3u, 12u})
    for (sentences.emplace_back(); sentences.back().size() < length;)
      sentences.back().push_back(static_cast<WordId>(random.below(words / 2)));
  return sentences;
}

struct Target {
  RowId row;
  bool positive;
};

/// Training in double precision with the random draws of the kernels.
template <class Sampler>
struct Oracle {
  using Row = std::vector<double>;
  using Matrix = std::vector<Row>;

  const Sampler& sampler;
  detail::HuffmanTree tree;
  double node_sample = 0;
  detail::NegativeDistribution noise;
  cuda::Sampling sampling;
  Matrix input, output;
  double loss = 0, examples = 0;
  bool in_tiles = false;  // of 4 targets and 8 context words where there are as many

  Oracle(const Sampler& given, const Model& model)
      : sampler(given), tree(model.vocabulary), noise(model.vocabulary, 0.75) {
    const auto copy = [](const RowMatrix& from) {
      Matrix to;
      for (std::size_t i = 0; i < from.rows(); ++i)
        to.emplace_back(from.row(i).begin(), from.row(i).end());
      return to;
    };
    input = copy(model.input);
    output = copy(model.output);
    sampling = cuda::sampling_of(sampler);
    const auto entries = noise.table().entries();
    sampling.negatives = {entries.data(), static_cast<std::uint32_t>(entries.size())};
    cuda::for_each_part(sampler.targets, [&](const auto& part) {
      if constexpr (requires { part.node_sample; }) node_sample = part.node_sample;
    });
  }

  /// Of the centre of the `window`-th window of a sentence.
  std::vector<Target> targets(const SentenceRandom& random, WordId center, std::uint32_t window) {
    std::vector<Target> result;
    const std::uint32_t k = sampling.per_window;
    const bool both = k > 0 && sampling.has_paths;
    if (k > 0) result.push_back({both ? 2 * center : center, true});
    for (std::uint32_t i = 0; i < k; ++i)
      if (const WordId word = sampling.negative(random, window * k + i, center);
          word != cuda::no_word)
        result.push_back({both ? 2 * word : word, false});
    if (!sampling.has_paths) return result;
    const TargetSet path = tree.path(center);
    const RowId last = *std::max_element(path.outputs.begin(), path.outputs.end());
    const auto calls = static_cast<std::uint32_t>((tree.max_path() + 3) / 4);
    for (std::uint32_t i = 0; i < path.outputs.size(); ++i) {
      const RowId node = path.outputs[i];
      const std::uint32_t drawn = random(cuda::Purpose::node, window * calls + i / 4).x[i % 4];
      const double draw = (drawn >> 16) / 65536.0;
      const double kept = node_sample > 0 ? std::sqrt(node_sample / tree.share(node)) : 1.0;
      if (node == last || draw < kept)
        result.push_back({both ? 2 * node + 1 : node, i < path.positives});
    }
    return result;
  }

  static void add(Row& to, double factor, const Row& x) {
    for (std::size_t d = 0; d < dimension; ++d) to[d] += factor * x[d];
  }
  double gradient(const Row& x, const Row& y, bool positive, bool counts) {
    double score = 0;
    for (std::size_t d = 0; d < dimension; ++d) score += x[d] * y[d];
    loss += std::log1p(std::exp(positive ? -score : score));
    examples += counts ? 1 : 0;
    return rate * ((positive ? 1.0 : 0.0) - 1.0 / (1.0 + std::exp(-score)));
  }
  /// Returns the gradient of x.
  Row score(const Row& x, const std::vector<Target>& of) {
    Row change(dimension);
    for (std::size_t j = 0; j < of.size(); ++j) {
      Row& y = output[of[j].row];
      const double g = gradient(x, y, of[j].positive, j == 0);
      add(change, g, y);
      add(y, g, x);
    }
    return change;
  }

  void train_tiles(const std::vector<WordId>& sentence, const std::vector<std::uint32_t>& contexts,
                   const std::vector<Target>& of) {
    const auto pair = [&](const Matrix& inputs, const Matrix& outputs, std::uint32_t i,
                          std::size_t j) {
      const Row x = inputs[sentence[i]], y = outputs[of[j].row];
      const double g = gradient(x, y, of[j].positive, j == 0);
      add(input[sentence[i]], g, y);
      add(output[of[j].row], g, x);
    };
    for (std::size_t first = 0; first < of.size(); first += 4) {
      const std::size_t end = std::min(of.size(), first + 4);
      std::size_t c = 0;
      for (; end - first == 4 && contexts.size() - c >= 8; c += 8) {
        const Matrix inputs = input, outputs = output;
        for (std::size_t i = c; i < c + 8; ++i)
          for (std::size_t j = first; j < end; ++j) pair(inputs, outputs, contexts[i], j);
      }
      for (; c < contexts.size(); ++c)
        for (std::size_t j = first; j < end; ++j) pair(input, output, contexts[c], j);
    }
  }

  void train(const std::vector<WordId>& sentence, const SentenceRandom& random) {
    for (std::uint32_t center = 0; center < sentence.size(); ++center) {
      const std::uint32_t side = sampling.max_reach, reach = sampling.reach(random, center);
      std::vector<std::uint32_t> contexts;
      for (std::uint32_t i = center - std::min(center, reach);
           i < sentence.size() && i <= center + reach; ++i)
        if (i != center) contexts.push_back(i);
      if (contexts.empty()) continue;
      if constexpr (requires { sampler.gradient; }) {
        const auto n = static_cast<double>(contexts.size());
        Row mean(dimension);
        for (const std::uint32_t i : contexts) add(mean, 1 / n, input[sentence[i]]);
        const Row change = score(mean, targets(random, sentence[center], center));
        const double share = sampler.gradient == BagGradient::whole  ? 1
                             : sampler.gradient == BagGradient::mean ? 1 / n
                                                                     : 1 / std::sqrt(n);
        for (const std::uint32_t i : contexts) add(input[sentence[i]], share, change);
      } else if constexpr (std::is_same_v<Sampler, PathHogwild> ||
                           std::is_same_v<Sampler, BothHogwild>) {
        for (const std::uint32_t i : contexts) {
          const std::uint32_t pair = center * (2 * side + 1) + (i + side - center);
          const Row x = input[sentence[i]];
          add(input[sentence[i]], 1, score(x, targets(random, sentence[center], pair)));
        }
      } else if (in_tiles) {
        train_tiles(sentence, contexts, targets(random, sentence[center], center));
      } else {
        const auto of = targets(random, sentence[center], center);
        for (std::size_t j = 0; j < of.size(); ++j)
          for (const std::uint32_t i : contexts) {
            Row &x = input[sentence[i]], &y = output[of[j].row];
            const double g = gradient(x, y, of[j].positive, j == 0);
            const Row before = x;
            add(x, g, y);
            add(y, g, before);
          }
      }
    }
  }
};

template <class Scheme, class Sampler>
void check(const Sampler& sampler, bool in_tiles = false) {
  const Vocabulary vocabulary = zipf_vocabulary(words);
  const std::size_t outputs = sampler.targets.start(vocabulary).output_rows();
  Model model = random_model(vocabulary, dimension, outputs);
  Oracle<Sampler> oracle(sampler, model);
  oracle.in_tiles = in_tiles;
  const Hyperparameters parameters{.dimension = dimension, .subsample = 0, .seed = 9};
  const auto run = KernelOf<Scheme, Sampler>().start(sampler, parameters, model);
  detail::SentenceBatch batch;
  double loss = 0, examples = 0;
  const auto sentences = some_sentences();
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    batch.add(sentences[i], 1000);
    oracle.train(sentences[i], {parameters.seed, i, 4});
    if (i > 0) continue;
    loss = oracle.loss;
    examples = oracle.examples;
  }
  run->submit(batch, 4, rate, rate);
  const cuda::Trained trained = run->wait();
  run->download(model);
  double worst = 0;
  const auto compare = [&](const RowMatrix& got, const auto& expected) {
    REQUIRE(got.rows() == expected.size());
    for (std::size_t i = 0; i < got.rows(); ++i)
      for (std::size_t d = 0; d < dimension; ++d)
        if (const double one = std::abs(static_cast<double>(got.row(i)[d]) - expected[i][d]);
            one > worst || std::isnan(one))
          worst = one;
  };
  compare(model.input, oracle.input);
  compare(model.output, oracle.output);
  CHECK(worst < 1e-5);
  CHECK(trained.examples == examples);
  CHECK(trained.loss == Approx(loss).epsilon(1e-5));
}

}  // namespace

TEST_CASE("CbowScheme equals its oracle", "[cuda][cbow]") {
  for (const BagGradient gradient : {BagGradient::mean, BagGradient::whole, BagGradient::root}) {
    check<cuda::CbowScheme>(Cbow{.window = {5}, .gradient = gradient});
    check<cuda::CbowScheme>(BasicCbow<HuffmanPath>{.window = {2}, .gradient = gradient});
    check<cuda::CbowScheme>(BothCbow{.window = {5}, .gradient = gradient});
  }
}

TEST_CASE("schemes with paths in the Huffman tree equal their oracles", "[cuda][huffman]") {
  using PairScheme = cuda::BasicSentenceScheme<cuda::AnyTargets>;
  using SharedScheme = cuda::BasicRegisterScheme<cuda::AnyTargets>;
  for (const double node_sample : {0.0, 1e-3, 0.05}) {
    check<PairScheme>(PathHogwild{.targets = {node_sample}});
    check<PairScheme>(BothHogwild{.targets = {.path = {node_sample}}});
    check<SharedScheme>(HierarchicalSoftmax{.targets = {node_sample}});
    check<SharedScheme>(BothShared{.targets = {.path = {node_sample}}});
  }
}

TEST_CASE("WombatScheme equals its oracle", "[cuda][huffman]") {
  using cuda::WombatScheme;
  for (const std::size_t window : {2u, 5u, 18u}) {
    check<WombatScheme<cuda::WordTargets>>(SharedNegative{.window = {window}}, true);
    check<WombatScheme<cuda::AnyTargets>>(HierarchicalSoftmax{.window = {window}}, true);
  }
}

TEST_CASE("nodes of paths are kept on a device as often as on the host", "[cuda][huffman]") {
  const Vocabulary vocabulary = vocabulary_of_counts(std::vector<std::uint64_t>(words, 1));
  const HuffmanPath targets{0.01};
  const auto run = targets.start(vocabulary);
  std::map<RowId, double> seen;
  constexpr std::uint32_t windows = 4000;
  for (WordId word = 0; word < words; ++word) {
    const TargetSet path = run.tree().path(word);
    const auto size = static_cast<std::uint32_t>(path.outputs.size());
    const auto positives = static_cast<std::uint32_t>(path.positives);
    // In place of that of the first word.
    const cuda::PathView view{&size,
                              path.outputs.data(),
                              &positives,
                              run.kept().data(),
                              static_cast<std::uint32_t>(run.kept().size() - 1),
                              static_cast<std::uint32_t>(run.max_outputs())};
    for (std::uint32_t window = 0; window < windows; ++window)
      cuda::for_each_node(view, SentenceRandom{word, 7, 1}, 0, window,
                          [&](RowId node, bool) { seen[node] += 1.0 / windows; });
  }
  auto expected = run.expected_outputs(WordRates(vocabulary, 0));  // for each word of a corpus
  for (double& one : expected) one *= words;
  for (RowId node = 0; node < expected.size(); ++node) {
    // Each is a sum of Bernoulli variables: 5 standard deviations.
    INFO("node " << node);
    CHECK(std::abs(seen[node] - expected[node]) <=
          5 * std::sqrt((expected[node] + 0.01) / windows));
  }
}

TEST_CASE("a kernel on a device refuses a model with the output rows of other targets",
          "[cuda][huffman]") {
  const Vocabulary vocabulary = zipf_vocabulary(words);
  const Model model = random_model(vocabulary, dimension);
  const KernelOf<cuda::CbowScheme, BasicCbow<HuffmanPath>> kernel;
  CHECK(contains(message_of<InvalidArgument>([&] {
                   kernel.start(BasicCbow<HuffmanPath>(), {.dimension = dimension}, model);
                 }),
                 "59 rows of the output"));
  CHECK(contains(message_of<InvalidArgument>([&] {
                   const KernelOf<cuda::WarpScheme<11>, SharedNegative> whole_windows;
                   whole_windows.start(SharedNegative{.block_contexts = 3},
                                       {.dimension = dimension}, model);
                 }),
                 "block_contexts is 3, and kernels for a GPU train whole windows"));
}
