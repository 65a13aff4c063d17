#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <wordloom/columns.hpp>
#include <wordloom/sync/collective.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/sync/shared_matrix.hpp>

/// Vanilla on several ranks as Li et al. 2019 (section 3.3) have it, "for fair comparison": each
/// rank has an equal part of every minibatch, the gradients of all parts are averaged, and all
/// ranks take the same step. Gradients are those of all rows, as Chainer's are, so that each
/// minibatch moves a whole model between ranks; Adam should be dense. An UpdateKernel that goes
/// with AlikeRanks, one thread a rank, samplers of pairs and models of two matrices. The models of
/// all ranks have the same bits.
template <class OptimizerPolicy, class Ranks>
struct AveragedGradients {
  Ranks ranks;
  OptimizerPolicy optimizer = {};
  /// Pairs of a minibatch, of all ranks together; 1 to 65536.
  std::size_t batch = 1024;

  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("batch", batch, 1, 65536);
    wordloom::visit_parameters_of(visit, optimizer);
  }

  class Worker;
  struct Run {
    wordloom::detail::OptimizerRun<OptimizerPolicy> optimizer;
    Ranks ranks;
    std::size_t batch;
    Worker worker(const wordloom::Model& model, wordloom::Block::Shape most) const {
      return {*this, model, most};
    }
  };
  Run start(wordloom::Model& model) const { return {optimizer.start(model), ranks, batch}; }
};

/// The scratch of a rank.
template <class OptimizerPolicy, class Ranks>
class AveragedGradients<OptimizerPolicy, Ranks>::Worker {
  using Model = wordloom::Model;

 public:
  Worker(const Run& run, const Model& model, wordloom::Block::Shape most)
      : run_(run),
        worker_(model, most),
        part_(std::max<std::size_t>(1, run.batch / run.ranks.size())),
        inputs_(most.inputs, model.dimension()),
        outputs_(most.outputs, model.dimension()),
        sums_(model.input.rows() + model.output.rows() + 1, model.dimension()) {}

  template <bool with_loss>
  wordloom::LossSum update(Model& model, const wordloom::Block& block, float learning_rate) {
    const auto loss = worker_.template gradients<with_loss>(model, block, inputs_, outputs_);
    add(0, block.inputs, inputs_);
    add(model.input.rows(), block.outputs, outputs_);
    examples_ += block.examples;
    if (examples_ >= part_) step(model, learning_rate);
    return loss;
  }

  /// Applies the part in progress, and those that other ranks still have.
  void flush(Model& model, float learning_rate) {
    while (step(model, learning_rate)) continue;
  }

 private:
  void add(std::size_t first, std::span<const wordloom::RowId> rows,
           const wordloom::RowMatrix& gradients) {
    for (std::size_t k = 0; k < rows.size(); ++k)
      functions_.sgd(sums_.row_data(first + rows[k]), gradients.row_data(k), gradients.stride(),
                     1.0f);
  }

  /// Takes a step with all rows by the mean of what all ranks have. Returns whether they had pairs.
  bool step(Model& model, float learning_rate) {
    // The ranks are not equally far, and must take one rate. A row has room for 16 floats.
    float* const last = sums_.row_data(sums_.rows() - 1);
    last[0] = static_cast<float>(std::exchange(examples_, 0));
    last[1] = learning_rate;
    const std::span<float> all(sums_.data(), sums_.rows() * sums_.stride());
    run_.ranks.begin_sum(all);
    run_.ranks.wait();
    const bool had_pairs = last[0] > 0;
    const float share = 1 / static_cast<float>(run_.ranks.size()), rate = last[1] * share;
    if (had_pairs)
      for (const Model::Side side : {Model::Side::input, Model::Side::output}) {
        wordloom::RowMatrix& matrix = side == Model::Side::input ? model.input : model.output;
        const std::size_t first = side == Model::Side::input ? 0 : model.input.rows();
        for (wordloom::RowId row = 0; row < matrix.rows(); ++row) {
          float* const gradient = sums_.row_data(first + row);
          for (std::size_t c = 0; c < matrix.stride(); ++c) gradient[c] *= share;
          run_.optimizer.step(side, row, matrix.row_data(row), gradient, rate);
        }
      }
    std::ranges::fill(all, 0.0f);
    return had_pairs;
  }

  Run run_;
  wordloom::DotKernel::Worker worker_;
  std::size_t part_;                      // pairs of this rank in a minibatch
  std::size_t examples_ = 0;              // of the part in progress
  wordloom::RowMatrix inputs_, outputs_;  // gradients of the block at hand
  wordloom::RowMatrix sums_;              // [rows of both sides, then pairs and learning rate]
  wordloom::simd::OptimizerFunctions functions_ = wordloom::simd::optimizer_functions();
};

/// The SyncPolicy of AveragedGradients, whose ranks are alike all the time. Without checkpoints and
/// callbacks that stop.
template <class Ranks>
class AlikeRanks {
 public:
  explicit AlikeRanks(Ranks ranks) : ranks_(std::move(ranks)) {}

  std::size_t rank() const noexcept { return ranks_.rank(); }
  std::size_t size() const noexcept { return ranks_.size(); }
  std::uint64_t start(wordloom::Model& model, wordloom::RankInfo& run) {
    for (const auto& [what, number] : run.agreed) wordloom::detail::agree(ranks_, what, number);
    for (const auto& matrix : wordloom::detail::shared_matrices(model)) ranks_.broadcast(matrix.values);
    return std::numeric_limits<std::uint64_t>::max();
  }
  wordloom::RankInfo::Signal tick(wordloom::Model&, double,
                                  wordloom::RankInfo::Signal request) const {
    if (request != wordloom::RankInfo::Signal::go_on)
      throw wordloom::InvalidArgument("ranks that average gradients neither stop nor pause");
    return request;
  }
  wordloom::RankInfo::Positions gather(wordloom::Model&, std::span<const std::uint64_t>) const {
    throw wordloom::InvalidArgument("ranks that average gradients write no checkpoints");
  }
  wordloom::RankInfo::Signal finish(wordloom::Model&) {
    ranks_.gather(0);
    return wordloom::RankInfo::Signal::go_on;
  }
  void fail(const std::string& cause) noexcept { ranks_.fail(cause); }

 private:
  Ranks ranks_;
};
