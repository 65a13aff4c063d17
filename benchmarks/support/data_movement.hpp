#pragma once
#include <cmath>

/// The data that training moves, by Moon et al. 2019, "Parallel Data-Local Training for Optimizing
/// Word2Vec Embeddings for Word and Graph Embeddings", equations 4 to 7: reads and writes of
/// numbers in word2vec, and in PAR-Word2Vec with a cache. (The paper calls the results bytes.)
/// Windows at the ends of sentences count as whole ones.
struct DataMovement {
  double words;             // S x L, of all sentences
  double dimension = 128;   // K
  double window = 8;        // C
  double left_out = 0;      // C_rand, of the words on each side
  double negatives = 5;     // T
  double minibatch = 24;    // B
  double shared = 80;       // H
  double cache = 35 << 20;  // tau; the paper inserts the bytes of its third-level cache

  double contexts() const { return 2 * (window - left_out); }

  /// Equation 4: skip-gram with negative sampling, pair after pair.
  double word2vec() const {
    return words * (1 + contexts() * (1 + 4 * dimension + 8 * dimension * (negatives + 1)));
  }
  /// Equation 5: the part of the negatives.
  double word2vec_repulsion() const {
    return words * contexts() * (1 + 4 * dimension + 8 * dimension * negatives);
  }
  /// Equation 6: attraction pair after pair, repulsion by matrix products.
  double par_word2vec() const {
    return words * (1 + contexts() * (1 + 8 * dimension)) + par_word2vec_repulsion();
  }
  /// Equation 7: the part of the negatives.
  double par_word2vec_repulsion() const {
    const double products = 6 * shared * minibatch * dimension / std::sqrt(cache);
    return words / minibatch *
           (products + shared + 4 * minibatch * dimension + 4 * shared * dimension +
            2 * shared * minibatch);
  }
};
