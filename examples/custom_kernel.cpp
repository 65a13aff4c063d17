// A custom kernel: no pair's gradient is larger than `most`, so that none moves far at a high
// learning rate. Any type whose worker() has update() is an UpdateKernel
// (wordloom/kernel/concept.hpp). Usage: custom_kernel TEXT
#include <algorithm>
#include <cmath>
#include <exception>
#include <iostream>
#include <span>
#include <vector>
#include <wordloom/testing/bench.hpp>
#include <wordloom/testing/oracle.hpp>
#include <wordloom/wordloom.hpp>

using namespace wordloom;

/// The policy: a value with its own parameters.
struct ClippedKernel {
  double most = 1;  // which clips nothing

  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("most", most, 0.001, 1.0);
  }

  /// The scratch of one thread.
  struct Worker {
    double most;
    std::vector<float> gradients = {};  // [N x M] of the block at hand
    RowMatrix changes = {};             // [N x D]

    /// All scores are those of the rows before the block. Returns the loss if `with_loss`.
    template <bool with_loss>
    LossSum update(Model& model, const Block& block, float learning_rate) {
      const auto add = [](std::span<float> to, float factor, std::span<const float> row) {
        for (std::size_t c = 0; c < row.size(); ++c) to[c] += factor * row[c];
      };
      const std::size_t n = block.inputs.size(), m = block.outputs.size();
      LossSum loss;
      for (std::size_t i = 0; i < n; ++i) {
        const auto u = model.input.row(block.inputs[i]), change = changes.row(i);
        std::ranges::fill(change, 0.0f);
        for (std::size_t j = 0; j < m; ++j) {
          const auto v = model.output.row(block.outputs[j]);
          double score = 0;
          for (std::size_t c = 0; c < u.size(); ++c) score += double{u[c]} * double{v[c]};
          const double error = (j < block.positives ? 1 : 0) - 1 / (1 + std::exp(-score));
          if constexpr (with_loss) loss += -std::log1p(-std::abs(error));
          gradients[i * m + j] = learning_rate * float(std::clamp(error, -most, most));
          add(change, gradients[i * m + j], v);
        }
      }
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < m; ++j)
          add(model.output.row(block.outputs[j]), gradients[i * m + j],
              model.input.row(block.inputs[i]));
      for (std::size_t i = 0; i < n; ++i) add(model.input.row(block.inputs[i]), 1, changes.row(i));
      return loss;
    }
  };
  Worker worker(const Model& model, Block::Shape of) const {
    return {most, std::vector<float>(of.inputs * of.outputs),
            RowMatrix(of.inputs, model.dimension())};
  }
};

int main(int argc, char** argv) try {
  if (argc != 2) throw InvalidArgument("usage: custom_kernel TEXT");
  std::cout << "largest error: " << oracle::largest_error(ClippedKernel()) << '\n';
  std::cout << "blocks a second: " << bench::KernelSpeed::of(ClippedKernel()).blocks_per_second
            << ", FusedKernel: " << bench::KernelSpeed::of(FusedKernel()).blocks_per_second << '\n';

  const auto vocabulary = Vocabulary::from_text(argv[1]);
  const auto corpus = EncodedCorpus::from_text(argv[1], vocabulary);
  Trainer<SharedNegative, ClippedKernel> trainer({.epochs = 2}, {}, {.most = 0.5});
  trainer.fit(corpus, vocabulary);
  std::cout << "loss: " << trainer.report().loss << '\n';
} catch (const std::exception& error) {
  std::cerr << "custom_kernel: " << error.what() << '\n';
  return 1;
}
