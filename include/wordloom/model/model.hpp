#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom {

/// The two matrices of word2vec, `input` and `output`, each [V x D] row-major with rows on 64-byte
/// boundaries (RowMatrix). Starts as word2vec's does: input uniform in [-0.5/D, 0.5/D), output
/// zero; the same for any number of threads. During training all threads read and write rows
/// without locks (Hogwild, Recht et al. 2011); at any other time a model is an ordinary value.
struct Model {
  Vocabulary vocabulary;  // whose row is which; empty for a model without words
  RowMatrix input;
  RowMatrix output;

  /// One row for each word. Throws std::bad_alloc when the model does not fit memory.
  Model(Vocabulary words, std::size_t dimension, std::uint64_t seed = 1)
      : Model(words.size(), dimension, seed) {
    vocabulary = std::move(words);
  }

  /// A model without words, for the use of kernels alone: a trainer refuses it.
  Model(std::size_t rows, std::size_t dimension, std::uint64_t seed = 1)
      : input(rows, dimension), output(rows, dimension) {
    const std::size_t threads = input.bytes() > (std::size_t{1} << 24) ? resolve_threads(0) : 1;
    run_threads(threads, [&](std::size_t thread) {
      const auto [first, last] = part_of(rows, thread, threads);
      for (std::size_t i = first; i < last; ++i) {
        Random random(seed, i, init_stream);
        for (float& x : input.row(i))
          x = static_cast<float>((random.uniform() - 0.5) / static_cast<double>(dimension));
      }
    });
  }

  std::size_t rows() const noexcept { return input.rows(); }
  std::size_t dimension() const noexcept { return input.columns(); }

  /// A copy of the input vectors with their words.
  Embeddings embeddings() const { return Embeddings(vocabulary.words(), input.copy()); }

 private:
  // An "epoch" that no training reaches, so that these streams are never drawn from again.
  static constexpr std::uint64_t init_stream = ~std::uint64_t{0};
};

}  // namespace wordloom
