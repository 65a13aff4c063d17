// The formulas of PAR-Word2Vec's paper, against its own numbers and against counted accesses.
#include <cstddef>

#include "../../benchmarks/support/data_movement.hpp"
#include "catch.hpp"

namespace {

/// Counts what algorithm 1 (`repels`) or its attraction alone reads and writes for so many words.
double counted(std::size_t words, std::size_t k, std::size_t contexts, std::size_t negatives,
               bool repels) {
  double moved = 0;
  const auto of_row = [&](std::size_t times) { moved += static_cast<double>(times * k); };
  for (std::size_t word = 0; word < words; ++word) {
    moved += 1;  // the centre
    for (std::size_t context = 0; context < contexts; ++context) {
      moved += 1;             // the input word
      if (repels) of_row(1);  // temp = 0
      for (std::size_t target = 0; target < (repels ? negatives + 1 : 1); ++target) {
        of_row(2);      // both rows for the score
        of_row(4 + 2);  // temp += g x output, output += g x input
      }
      if (repels) of_row(2 + 1);  // input += temp
    }
  }
  return moved;
}

/// Counts what the minibatches of algorithm 4 move outside the matrix products.
double counted_repulsion(std::size_t batches, std::size_t k, std::size_t b, std::size_t h) {
  double moved = 0;
  for (std::size_t batch = 0; batch < batches; ++batch) {
    moved += static_cast<double>(h);                    // shared_ns
    moved += static_cast<double>(2 * (k * b + k * h));  // copies of the rows
    moved += static_cast<double>(2 * h * b);            // gradients
    moved += static_cast<double>(2 * (k * b + k * h));  // changes added to the rows
  }
  return moved;
}

}  // namespace

TEST_CASE("the data movement of the 1 Billion Word Benchmark equals the paper's", "[sampler]") {
  const DataMovement paper{.words = 804'269'958};
  CHECK(paper.word2vec() == Approx(85'665'204e6).epsilon(1e-6));
  CHECK(paper.word2vec_repulsion() == Approx(72'487'241e6).epsilon(1e-3));
  CHECK(paper.par_word2vec_repulsion() == Approx(19'239'278e5).epsilon(1e-5));
  CHECK(paper.par_word2vec() == Approx(15'109'321e6).epsilon(1e-3));
  CHECK(paper.word2vec() / paper.par_word2vec() == Approx(5.67).margin(0.005));
  // Attraction moves as much in both, except one read of each context word.
  CHECK(paper.word2vec() - paper.word2vec_repulsion() ==
        Approx(paper.par_word2vec() - paper.par_word2vec_repulsion()).epsilon(1e-3));
}

TEST_CASE("data movement counts the reads and writes of the loops", "[sampler]") {
  const DataMovement small{.words = 48,
                           .dimension = 16,
                           .window = 3,
                           .left_out = 1,
                           .negatives = 4,
                           .minibatch = 8,
                           .shared = 12,
                           .cache = 1e30};
  CHECK(small.word2vec() == counted(48, 16, 4, 4, true));
  CHECK(small.par_word2vec_repulsion() == Approx(counted_repulsion(6, 16, 8, 12)));
  CHECK(small.par_word2vec() ==
        Approx(counted(48, 16, 4, 4, false) + counted_repulsion(6, 16, 8, 12)));
}
