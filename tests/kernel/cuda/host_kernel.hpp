#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>
#include <wordloom/core/model.hpp>
#include <wordloom/core/sentence_batch.hpp>
#include <wordloom/corpus/subsampling.hpp>
#include <wordloom/kernel/cuda/arithmetic.hpp>
#include <wordloom/sampler/negative_distribution.hpp>
#include <wordloom/sampler/shared_negative.hpp>

/// A CudaKernel whose device is the host: the scheme's arithmetic by HostTeam, one sentence after
/// the other. Rows are R x width floats.
template <class Scheme, int R, int width>
class HostKernel {
 public:
  using Consumes = wordloom::SentenceBatch;
  template <class Sampler>
  static constexpr bool trains = true;

  template <class Sampler>
  static HostKernel make(const wordloom::Hyperparameters& parameters,
                         const wordloom::Model& model) {
    return HostKernel(parameters, model,
                      std::is_same_v<typename Sampler::WindowPolicy, wordloom::FixedWindow>);
  }

  std::size_t batch_words() const { return 50'000; }
  /// Keeps the first two batches, as a device does when memory ends.
  bool keeps(std::size_t index) const { return index < kept_.size(); }

  struct Trained {
    double loss = 0, positives = 0;
  };
  Trained train(const wordloom::SentenceBatch& given, std::size_t epoch, double first_rate,
                double last_rate) {
    if (given.index == kept_.size() && kept_.size() < 2) kept_.push_back(given);
    const wordloom::SentenceBatch& batch = keeps(given.index) ? kept_[given.index] : given;
    wordloom::cuda::PairLoss loss;
    std::vector<wordloom::WordId> kept;
    for (std::uint32_t i = 0, begin = 0; i < batch.ends.size(); begin = batch.ends[i++]) {
      const wordloom::cuda::SentenceRandom random{parameters_.seed, batch.first_sentence + i,
                                                  static_cast<std::uint32_t>(epoch)};
      kept.resize(batch.ends[i] - begin + 1);
      const std::uint32_t size = wordloom::cuda::subsample(
          wordloom::cuda::HostTeam<32>(), highest_kept_.data(),
          static_cast<std::uint32_t>(highest_kept_.size() - 1), batch.words.data() + begin,
          batch.ends[i] - begin, random, kept.data());
      const double done = static_cast<double>(i) / static_cast<double>(batch.ends.size());
      const wordloom::cuda::Sentence sentence{
          kept.data(), size, random,
          static_cast<float>(first_rate + (last_rate - first_rate) * done), i % 16 == 0};
      Scheme::template train<R>(wordloom::cuda::HostTeam<width>(), view_, sampling_, sentence,
                                memory_.data(), loss);
    }
    return {static_cast<double>(loss.sum), static_cast<double>(loss.positives)};
  }

  void finish(wordloom::Model& model) {
    for_each_row(model, [](auto& value, float& place) { value = place; });
  }

 private:
  HostKernel(const wordloom::Hyperparameters& parameters, const wordloom::Model& model, bool fixed)
      : parameters_(parameters),
        negatives_(model.vocabulary, parameters.negative_exponent),
        highest_kept_{UINT32_MAX},
        floats_(2 * model.rows() * R * width),
        view_{floats_.data(), floats_.data() + model.rows() * R * width, R * width},
        sampling_{{negatives_.table().entries().data(), static_cast<std::uint32_t>(model.rows())},
                  static_cast<std::uint32_t>(parameters.window),
                  static_cast<std::uint32_t>(parameters.negatives),
                  fixed},
        memory_(Scheme::rows_of_own(sampling_.largest_reach()) * R * width) {
    const wordloom::Subsampling subsampling(model.vocabulary, parameters.subsample);
    if (subsampling.enabled())
      highest_kept_.assign(subsampling.table().begin(), subsampling.table().end());
    for_each_row(model, [](const float& value, float& place) { place = value; });
  }

  template <class AnyModel, class Use>
  void for_each_row(AnyModel& model, Use use) {
    for (std::size_t i = 0; i < model.rows(); ++i) {
      const auto word = static_cast<wordloom::WordId>(i);
      for (std::size_t d = 0; d < model.dimension(); ++d) {
        use(model.input.row(i)[d], view_.input_row(word)[d]);
        use(model.output.row(i)[d], view_.output_row(word)[d]);
      }
    }
  }

  wordloom::Hyperparameters parameters_;
  wordloom::NegativeDistribution negatives_;
  std::vector<std::uint32_t> highest_kept_;
  std::vector<float> floats_;
  wordloom::cuda::ModelView view_;
  wordloom::cuda::Sampling sampling_;
  std::vector<float> memory_;
  std::vector<wordloom::SentenceBatch> kept_;
};
