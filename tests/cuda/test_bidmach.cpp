// BIDMach's two steps by the kernel of a device, run on the host, against the same in plain double
// precision.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>
#include <wordloom/corpus/subsampling.hpp>
#include <wordloom/cuda/detail/bidmach_scheme.hpp>
#include <wordloom/cuda/detail/host_kernel.hpp>
#include <wordloom/sampler/shared_negative.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "statistics.hpp"

using namespace wordloom;
using cuda::SentenceRandom;

namespace {

constexpr std::size_t words = 60, dimension = 64;
constexpr double rate = 0.02;
constexpr std::uint64_t seed = 9;
constexpr std::uint32_t epoch = 4;

using Steps = cuda::HostMethods<
    cuda::HostMethod<cuda::BidMachPositives, 1, cuda::HostTeam<64>, cuda::OneByOne>,
    cuda::HostMethod<cuda::BidMachNegatives, 2, cuda::HostTeam<32>, cuda::OneByOne>>;
using Kernel = cuda::BatchKernel<cuda::HostMachine, Steps, SharedNegative>;
using Row = std::vector<double>;
using Matrix = std::vector<Row>;
using SentenceList = std::vector<std::vector<WordId>>;

/// The loss is measured on the first sentence and the 17th.
SentenceList some_sentences() {
  SentenceList sentences;
  Random random(3);
  for (std::size_t i = 0; i < 20; ++i)
    for (sentences.emplace_back(); sentences[i].size() < (i % 16 == 0 ? 100 : 1 + i % 4);)
      sentences[i].push_back(static_cast<WordId>(random.below(words / 2)));
  return sentences;
}

Matrix copy(const RowMatrix& from) {
  Matrix to;
  for (std::size_t i = 0; i < from.rows(); ++i)
    to.emplace_back(from.row(i).begin(), from.row(i).end());
  return to;
}
void add(Row& to, double factor, const Row& x) {
  for (std::size_t d = 0; d < dimension; ++d) to[d] += factor * x[d];
}

/// The batch in double precision, with the random draws of the kernel.
struct Oracle {
  cuda::Sampling sampling;
  Matrix input, output;
  SentenceList sentences = {};  // after subsampling
  double loss = 0, examples = 0;
  std::size_t pairs = 0;  // of the positives, less those of the negatives
  std::vector<std::uint64_t> negatives =
      std::vector<std::uint64_t>(words);  // how often each is drawn

  /// Returns the gradient of a pair of sentence i.
  double gradient(const Row& x, const Row& y, bool positive, std::size_t i) {
    double score = 0;
    for (std::size_t d = 0; d < dimension; ++d) score += x[d] * y[d];
    if (i % 16 == 0) {
      loss += std::log1p(std::exp(positive ? -score : score));
      examples += positive ? 1 : 0;
    }
    return rate * ((positive ? 1.0 : 0.0) - 1.0 / (1.0 + std::exp(-score)));
  }
  bool is_pair(std::size_t i, std::size_t center, std::size_t context) const {
    const std::size_t size = sentences[i].size();
    if (center >= size || context >= size || context == center) return false;
    return std::max(center, context) - std::min(center, context) <=
           sampling.reach({seed, i, epoch}, static_cast<std::uint32_t>(center));
  }

  /// Each window at once; context rows as they entered the widest window.
  void train_positives(std::size_t i) {
    const std::vector<WordId>& sentence = sentences[i];
    const std::size_t size = sentence.size(), side = sampling.max_reach;
    std::map<std::size_t, std::pair<Row, Row>> rows;  // as loaded, and the change
    const auto leave = [&](std::size_t position) {
      add(input[sentence[position]], 1, rows.at(position).second);
      rows.erase(position);
    };
    for (std::size_t center = 0; center < size; ++center) {
      if (center > side) leave(center - side - 1);
      for (std::size_t p = center == 0 ? 0 : center + side; p < size && p <= center + side; ++p)
        rows[p] = {input[sentence[p]], Row(dimension)};
      const Row y = output[sentence[center]];
      for (auto& [context, row] : rows) {
        if (!is_pair(i, center, context)) continue;
        ++pairs;
        const double g = gradient(row.first, y, true, i);
        add(row.second, std::sqrt(1.0 + sentence[context]) * g, y);
        add(output[sentence[center]], std::sqrt(1.0 + sentence[center]) * g, row.first);
      }
    }
    while (!rows.empty()) leave(rows.begin()->first);
  }

  /// The context words of all pairs in random order, five at a time. `sizes`: of the sentences
  /// before subsampling.
  void train_negatives(const std::vector<std::size_t>& sizes) {
    const std::uint32_t side = sampling.max_reach, k = sampling.per_window;
    std::vector<std::pair<std::size_t, std::size_t>> all;  // sentences and context words or none
    for (std::size_t i = 0; i < sizes.size(); ++i)
      for (std::size_t center = 0; center < sizes[i]; ++center)
        for (std::size_t at = 0; at <= 2 * side; ++at)
          if (at != side)
            all.emplace_back(i, is_pair(i, center, center + at - side)
                                    ? sentences[i][center + at - side]
                                    : words);
    const SentenceRandom random{seed, 0, epoch};
    const auto places = static_cast<std::uint32_t>(all.size());
    const cuda::RandomOrder order(random(cuda::Purpose::order, 0), places);
    for (std::uint32_t first = 0; first < places; first += 256) {
      std::vector<std::pair<std::size_t, std::size_t>> found;
      for (std::uint32_t place = first; place < std::min(places, first + 256); ++place)
        if (all[order[place]].second < words) found.push_back(all[order[place]]);
      pairs -= found.size();
      for (std::uint32_t tile = 0; tile * 5 < found.size(); ++tile) {
        const Matrix inputs = input, outputs = output;
        for (std::uint32_t n = 0; n < k; ++n) {
          const WordId word = sampling.negative(random, (first + tile) * k + n, cuda::no_word);
          ++negatives[word];
          for (std::size_t c = tile * 5; c < std::min<std::size_t>(found.size(), tile * 5 + 5);
               ++c) {
            const auto [i, context] = found[c];
            const double g = gradient(inputs[context], outputs[word], false, i);
            add(input[context], std::sqrt(1.0 + static_cast<double>(context)) * g, outputs[word]);
            add(output[word], std::sqrt(1.0 + word) * g, inputs[context]);
          }
        }
      }
    }
  }
};

/// Compares what kernel and oracle train of a batch, and the oracle's negatives with `shares`.
void check(const Vocabulary& vocabulary, const SharedNegative& sampler, double subsample,
           const std::vector<double>& shares) {
  const detail::NegativeDistribution noise(vocabulary, 0.75);
  const auto entries = noise.table().entries();
  Model model = random_model(vocabulary, dimension);
  Oracle oracle{.sampling = cuda::sampling_of(sampler),
                .input = copy(model.input),
                .output = copy(model.output)};
  oracle.sampling.negatives = {entries.data(), static_cast<std::uint32_t>(entries.size())};
  const detail::Subsampling subsampling(vocabulary, subsample);
  const cuda::SubsamplingView table{subsampling.table().data(),
                                    static_cast<std::uint32_t>(subsampling.table().size() - 1)};
  detail::SentenceBatch batch;
  std::vector<std::size_t> sizes;
  for (const auto& sentence : some_sentences()) {
    batch.add(sentence, 1000);
    sizes.push_back(sentence.size());
    std::vector<WordId> kept(sentence.size());
    kept.resize(cuda::subsample(cuda::HostTeam<32>(), table, sentence.data(),
                                static_cast<std::uint32_t>(sentence.size()),
                                {seed, oracle.sentences.size(), epoch}, kept.data()));
    oracle.sentences.push_back(kept);
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) oracle.train_positives(i);
  CHECK(oracle.pairs > 100);
  oracle.train_negatives(sizes);
  CHECK(oracle.pairs == 0);  // each pair is in both
  const auto run = Kernel().start(
      sampler, {.dimension = dimension, .subsample = subsample, .seed = seed}, model);
  run->submit(batch, epoch, rate, rate);
  const cuda::Trained trained = run->wait();
  run->download(model);
  double worst = 0;
  for (const auto& [got, expected] :
       {std::pair{copy(model.input), oracle.input}, std::pair{copy(model.output), oracle.output}})
    for (std::size_t i = 0; i < words; ++i)
      for (std::size_t d = 0; d < dimension; ++d)
        if (const double one = std::abs(got[i][d] - expected[i][d]); one > worst || std::isnan(one))
          worst = one;
  CHECK(worst < 1e-5);
  CHECK(trained.examples == oracle.examples);
  CHECK(trained.loss == Approx(oracle.loss).epsilon(1e-5));
  CHECK(chi_squared_deviation(oracle.negatives, shares) < 5);
}

}  // namespace

TEST_CASE("BIDMach's positives, then its negatives are their oracle", "[cuda]") {
  const Vocabulary vocabulary = zipf_vocabulary(words);
  std::vector<double> shares;
  double total = 0;
  for (const std::uint64_t count : vocabulary.counts())
    total += shares.emplace_back(std::pow(static_cast<double>(count), 0.75));
  for (double& share : shares) share /= total;
  for (const double subsample : {1.0, 0.02})  // all words are kept, and some
    for (const auto& [window, negatives] :
         {std::pair{5u, 5u}, std::pair{1u, 1u}, std::pair{18u, 30u}})
      check(vocabulary, {.window = {window}, .targets = {.negatives = negatives}}, subsample,
            shares);
}

TEST_CASE("a random order has each number once, anywhere", "[cuda]") {
  const auto order_of = [](std::uint32_t size, std::uint64_t sentence) {
    const cuda::RandomOrder order(SentenceRandom{1, sentence, 0}(cuda::Purpose::order, 0), size);
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < size; ++i) numbers.push_back(order[i]);
    return numbers;
  };
  for (const std::uint32_t size : {1u, 2u, 5u, 1023u, 1024u, 1025u, 4096u, 4097u}) {
    auto numbers = order_of(size, 0);
    std::ranges::sort(numbers);
    for (std::uint32_t i = 0; i < size; ++i) REQUIRE(numbers[i] == i);
  }
  CHECK(order_of(1000, 0) != order_of(1000, 1));
  // A place and its number, and the numbers of neighbours, are independent.
  constexpr std::uint32_t size = 8000, buckets = 8;
  std::vector<std::uint64_t> of_place(buckets * buckets), of_neighbour(of_place), steps(buckets);
  for (std::uint64_t sentence = 0; sentence < 20; ++sentence) {
    const auto numbers = order_of(size, sentence);
    for (std::uint32_t i = 0; i + 1 < size; ++i) {
      const auto bucket = [&](std::uint32_t number) { return number * buckets / size; };
      ++of_place[bucket(i) * buckets + bucket(numbers[i])];
      ++of_neighbour[bucket(numbers[i]) * buckets + bucket(numbers[i + 1])];
      ++steps[bucket((numbers[i + 1] + size - numbers[i]) % size)];
    }
  }
  const std::vector<double> cells(buckets * buckets, 1.0 / (buckets * buckets));
  CHECK(chi_squared_deviation(of_place, cells) < 5);
  CHECK(chi_squared_deviation(of_neighbour, cells) < 5);
  CHECK(chi_squared_deviation(steps, std::vector<double>(buckets, 1.0 / buckets)) < 5);
}
