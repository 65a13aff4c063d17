#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>
#include <wordloom/columns.hpp>
#include <wordloom/cuda/detail/vanilla_kernel.hpp>

namespace vanilla {

using namespace wordloom;

/// The steps of an optimizer with a row, in double precision.
struct RowState {
  std::vector<double> mean, square;
  double steps = 0;
};
inline void step(const Sgd&, RowState&, std::vector<double>& x, const std::vector<double>& g,
                 double rate) {
  for (std::size_t d = 0; d < x.size(); ++d) x[d] += rate * g[d];
}
inline void step(const AdaGrad& optimizer, RowState& state, std::vector<double>& x,
                 const std::vector<double>& g, double rate) {
  state.square.resize(x.size());
  for (std::size_t d = 0; d < x.size(); ++d) {
    state.square[d] += g[d] * g[d];
    x[d] += rate * g[d] / (std::sqrt(state.square[d]) + optimizer.epsilon);
  }
}
inline void step(const Adam& adam, RowState& state, std::vector<double>& x,
                 const std::vector<double>& g, double rate) {
  state.mean.resize(x.size());
  state.square.resize(x.size());
  ++state.steps;
  for (std::size_t d = 0; d < x.size(); ++d) {
    state.mean[d] = adam.beta1 * state.mean[d] + (1 - adam.beta1) * g[d];
    state.square[d] = adam.beta2 * state.square[d] + (1 - adam.beta2) * g[d] * g[d];
    x[d] += rate * state.mean[d] / (1 - std::pow(adam.beta1, state.steps)) /
            (std::sqrt(state.square[d] / (1 - std::pow(adam.beta2, state.steps))) + adam.epsilon);
  }
}

/// Trains minibatches in double precision, as VanillaKernel says.
template <class Optimizer>
class Oracle {
 public:
  using Row = std::vector<double>;

  template <class Sampler>
  Oracle(const Model& model, const Sampler& sampler, const Optimizer& optimizer, std::size_t batch,
         double subsample)
      : optimizer_(optimizer),
        batch_(batch),
        targets_(sampler.targets.start(model.vocabulary)),
        subsampling_(model.vocabulary, subsample),
        sampling_(cuda::sampling_of(sampler)) {
    const auto entries = targets_.distribution().table().entries();
    sampling_.negatives = {entries.data(), static_cast<std::uint32_t>(entries.size())};
    for (const RowMatrix* matrix : {&model.input, &model.output}) {
      auto& rows = matrix == &model.input ? matrices[0] : matrices[1];
      for (std::size_t i = 0; i < matrix->rows(); ++i)
        rows.emplace_back(matrix->row(i).begin(), matrix->row(i).end());
    }
  }

  void train(const detail::SentenceBatch& batch, std::uint32_t epoch, double first_rate,
             double last_rate) {
    struct Pair {
      WordId center, context;
      cuda::SentenceRandom random;
      std::uint32_t number;
      bool with_loss;
    };
    std::vector<Pair> pairs;
    std::uint32_t begin = 0;
    for (std::uint32_t s = 0; s < batch.ends.size(); begin = batch.ends[s++]) {
      const cuda::SentenceRandom random{1, batch.first_sentence + s, epoch};
      std::vector<WordId> kept;
      for (std::uint32_t i = begin; i < batch.ends[s]; ++i)
        if (keeps(batch.words[i], random(cuda::Purpose::subsample, i - begin).x[0]))
          kept.push_back(batch.words[i]);
      const auto size = static_cast<std::uint32_t>(kept.size()), most = sampling_.max_reach;
      for (std::uint32_t center = 0; center < size; ++center) {
        const std::uint32_t reach = sampling_.reach(random, center);
        for (std::uint32_t i = center - std::min(center, reach); i < size && i <= center + reach;
             ++i)
          if (i != center)
            pairs.push_back({kept[center], kept[i], random,
                             center * (2 * most + 1) + (i + most - center), s % 16 == 0});
      }
    }
    for (std::size_t done = 0; done < pairs.size();) {
      const Pair& pair = pairs[done++];
      score({0, pair.context}, {1, pair.center}, true, pair.with_loss);
      for (std::uint32_t k = 0; k < sampling_.per_window; ++k) {
        const WordId word =
            sampling_.negative(pair.random, pair.number * sampling_.per_window + k, pair.center);
        if (word != cuda::no_word) score({0, pair.context}, {1, word}, false, pair.with_loss);
      }
      rate_ = first_rate + (last_rate - first_rate) * static_cast<double>(done) /
                               static_cast<double>(pairs.size());
      if (++filled_ == batch_) finish();
    }
  }

  void finish() {
    for (const auto& [place, gradient] : sums_) {
      most_entries = std::max(most_entries, entries_[place]);
      step(optimizer_, states_[place], matrices[place.first][place.second], gradient, rate_);
    }
    sums_.clear();
    entries_.clear();
    filled_ = 0;
  }

  std::vector<Row> matrices[2];
  double loss = 0, examples = 0;
  std::size_t most_entries = 0;  // of a row in a minibatch

 private:
  using Place = std::pair<std::size_t, WordId>;  // side and row

  bool keeps(WordId word, std::uint32_t draw) const {
    if (!subsampling_.enabled()) return true;
    const auto table = subsampling_.table();
    return draw <= table[std::min<std::size_t>(word, table.size() - 1)];
  }
  void score(const Place& input, const Place& output, bool positive, bool with_loss) {
    const Row& x = matrices[0][input.second];
    const Row& y = matrices[1][output.second];
    double score = 0;
    for (std::size_t d = 0; d < x.size(); ++d) score += x[d] * y[d];
    const double gradient = (positive ? 1.0 : 0.0) - 1.0 / (1.0 + std::exp(-score));
    if (with_loss) loss += std::log1p(std::exp(positive ? -score : score));
    examples += positive && with_loss ? 1 : 0;
    add(input, gradient, y, positive);
    add(output, gradient, x, true);
  }
  void add(const Place& place, double factor, const Row& row, bool counts) {
    Row& sum = sums_[place];
    sum.resize(row.size());
    for (std::size_t d = 0; d < row.size(); ++d) sum[d] += factor * row[d];
    entries_[place] += counts ? 1 : 0;
  }

  Optimizer optimizer_;
  std::size_t batch_, filled_ = 0;
  NegativeSampling::Run targets_;
  detail::Subsampling subsampling_;
  cuda::Sampling sampling_;
  double rate_ = 0;
  std::map<Place, Row> sums_;
  std::map<Place, std::size_t> entries_;
  std::map<Place, RowState> states_;
};

}  // namespace vanilla
