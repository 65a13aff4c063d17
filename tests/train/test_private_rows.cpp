#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>
#include <wordloom/core/random.hpp>
#include <wordloom/evaluation/word_tests.hpp>
#include <wordloom/kernel/dot_kernel.hpp>
#include <wordloom/kernel/fused_kernel.hpp>
#include <wordloom/sampler/shared_negative.hpp>
#include <wordloom/train/detail/private_rows.hpp>
#include <wordloom/train/trainer.hpp>
#if WORDLOOM_HAS_BLAS
#include <wordloom/kernel/gemm_kernel.hpp>
#endif

#include "catch.hpp"
#include "train/paired_corpus.hpp"

using namespace wordloom;
using detail::PrivateRows;

namespace {

constexpr std::size_t words = 50, dimension = 20, copied = 10;

Model random_model() {
  Model model(small_vocabulary(words), dimension);
  Random random(5);
  for (const auto& [name, matrix] : model.matrices())
    for (std::size_t i = 0; i < matrix->rows(); ++i)
      for (float& x : matrix->row(i)) x = static_cast<float>(random.uniform()) - 0.5f;
  return model;
}

detail::ExpectedUpdates falling() {
  detail::ExpectedUpdates result;
  for (std::size_t i = 0; i < words; ++i) {
    result.input.push_back(1 / static_cast<float>(i + 1));
    result.output.push_back(1 / static_cast<float>(i + 1));
  }
  return result;
}

/// Adds i + 1 + `more` to all floats of row i as a thread has it.
void add(RowMatrix& matrix, std::size_t which, const PrivateRows::Thread& thread, std::size_t i,
         float more) {
  const detail::RowMap& map = which == 0 ? thread.maps().input : thread.maps().output;
  for (std::size_t c = 0; c < dimension; ++c)
    matrix.row_data(map(static_cast<RowId>(i)))[c] += static_cast<float>(i + 1) + more;
}

/// Compares workers that find private rows with workers of which blocks have the ids of these rows.
template <class Kernel>
void check_private_rows() {
  const std::vector<RowId> inputs{0, 9, 10, 49, 9}, outputs{3, 30, 9, 10, 3, 49};
  const std::vector<std::uint32_t> all{5}, ends{2, 5}, left_out{1, 3};
  const auto weights = [] {
    std::vector<float> values(6 * 5);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 3 == 0 ? 1.0f : -0.5f;
    return values;
  }();
  const std::vector<Block> blocks{
      {.inputs = inputs, .outputs = outputs, .positives = 2},
      {.inputs = inputs, .outputs = outputs, .weights = {weights}},
      {.inputs = inputs, .bag_ends = all, .outputs = outputs, .positives = 2},
      {.inputs = inputs, .bag_ends = ends, .outputs = outputs, .positives = 2},
      {.inputs = inputs, .left_out = left_out, .outputs = outputs, .positives = 2},
      {.inputs = inputs, .outputs = outputs, .positives = 2, .update = Block::Sides::inputs}};
  const Block::Shape shape{.inputs = 5, .outputs = 6, .members = 5};
  const auto check = [&](auto maps_rows, auto given_rows, Model& a, Model& b, const Block& block,
                         const PrivateRows::Thread& thread) {
    STATIC_REQUIRE(detail::MapsRows<decltype(maps_rows)>);
    maps_rows.map_rows(thread.maps());
    std::vector<RowId> own_inputs, own_outputs;
    for (const RowId row : inputs) own_inputs.push_back(thread.maps().input(row));
    for (const RowId row : outputs) own_outputs.push_back(thread.maps().output(row));
    Block given = block;
    given.inputs = own_inputs;
    given.outputs = own_outputs;
    for (int i = 0; i < 3; ++i) {
      if constexpr (requires { maps_rows.prefetch(a, inputs, outputs); })
        maps_rows.prefetch(a, inputs, outputs);
      const LossSum loss = maps_rows.template update<true>(a, block, 0.1f);
      const LossSum expected = given_rows.template update<true>(b, given, 0.1f);
      CHECK(loss.value() == expected.value());
    }
  };
  const Model before = random_model();
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    INFO("block " << k);
    Model a = random_model(), b = random_model();
    PrivateRows rows_of_a(a, falling(), copied, 2, 100), rows_of_b(b, falling(), copied, 2, 100);
    const PrivateRows::Thread thread = rows_of_a.thread(1);
    const Kernel kernel;
    if constexpr (requires { kernel.row_worker(a, shape); })
      if (k < 2)
        check(kernel.row_worker(a, shape), kernel.row_worker(b, shape), a, b, blocks[k], thread);
    check(kernel.worker(a, shape), kernel.worker(b, shape), a, b, blocks[k], thread);
    bool same = true;
    for (std::size_t row = 0; row < words + 2 * copied; ++row)
      for (std::size_t c = 0; c < dimension; ++c)
        same = same && a.input.row_data(row)[c] == b.input.row_data(row)[c] &&
               a.output.row_data(row)[c] == b.output.row_data(row)[c];
    CHECK(same);
    CHECK(a.input.row(9)[0] == before.input.row(9)[0]);  // the copy has changed
    CHECK(a.input.row(10)[0] != before.input.row(10)[0]);
  }
}

}  // namespace

TEST_CASE("the more threads and ranks, the more often copies are merged", "[threads]") {
  CHECK(PrivateRows::usual_pairs(2, 1, 0.025) == 1024);
  CHECK(PrivateRows::usual_pairs(64, 1, 0.025) == 64);
  CHECK(PrivateRows::usual_pairs(2, 4, 0.05) == 32);
  // 8 ranks of 2 threads diverge with 256.
  CHECK(PrivateRows::usual_pairs(2, 8, 0.025) == 0);
}

TEST_CASE("a private row is merged by the equations", "[private_rows]") {
  for (const std::size_t columns : {1u, 16u, 100u, 333u}) {
    RowMatrix rows(4, columns);  // shared, own, base, direction
    Random random(7);
    for (std::size_t i = 0; i < 4; ++i)
      for (float& x : rows.row(i)) x = static_cast<float>(random.uniform()) - 0.5f;
    float length = 0;
    for (const float x : rows.row(3)) length += x * x;
    for (float& x : rows.row(3)) x /= std::sqrt(length);
    for (const float along : {1.0f, 0.25f}) {
      std::vector<double> expected(columns);
      double sum = 0;
      for (std::size_t c = 0; c < columns; ++c)
        sum += (double{rows.row(1)[c]} - rows.row(2)[c]) * rows.row(3)[c];
      for (std::size_t c = 0; c < columns; ++c)
        expected[c] = double{rows.row(0)[c]} + rows.row(1)[c] - rows.row(2)[c] +
                      (along - 1) * sum * rows.row(3)[c];
      simd::merge_function()({rows.row_data(0), rows.row_data(1), rows.row_data(2)},
                             rows.row_data(3), along, rows.stride());
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t c = 0; c < columns; ++c)
          REQUIRE(rows.row(i)[c] == Approx(expected[c]).margin(1e-6));
      for (float& x : rows.row(1)) x += 0.5f;
    }
  }
}

TEST_CASE("changes of private rows add up, in the model and in copies of it", "[private_rows]") {
  for (const std::size_t threads : {2u, 11u}) {  // 11: some sets have two threads
    Model model = random_model();
    const auto before = model.copy_of_matrices();
    PrivateRows rows(model, falling(), copied, threads, 100);
    for (std::size_t t = 0; t < threads; ++t)
      for (std::size_t i = 0; i < words; ++i) {
        add(model.input, 0, rows.thread(t), i, 0.5f);
        add(model.output, 1, rows.thread(t), i, static_cast<float>(t));
      }
    // No pairs were counted: along the common direction too, changes are added.
    auto copies = model.copy_of_matrices();
    CHECK(copies[0].matrix.row(0)[0] == before[0].matrix.row(0)[0]);
    rows.complete(copies);
    rows.merge_all();
    rows.merge_all();  // nothing more
    for (std::size_t i = 0; i < words; ++i)
      for (std::size_t c = 0; c < dimension; ++c) {
        const auto n = static_cast<float>(threads), each = n * static_cast<float>(i + 1);
        const float input = before[0].matrix.row(i)[c] + each + 0.5f * n;
        const float output = before[1].matrix.row(i)[c] + each + n * (n - 1) / 2;
        REQUIRE(model.input.row(i)[c] == Approx(input).epsilon(1e-5));
        REQUIRE(model.output.row(i)[c] == Approx(output).epsilon(1e-5));
        REQUIRE(copies[0].matrix.row(i)[c] == Approx(input).epsilon(1e-5));
        REQUIRE(copies[1].matrix.row(i)[c] == Approx(output).epsilon(1e-5));
      }
    CHECK(model.input.rows() == words);
  }
}

TEST_CASE("rows are merged when their pairs are due, frequent ones first", "[private_rows]") {
  Model model = random_model();
  const auto before = model.copy_of_matrices();
  PrivateRows rows(model, falling(), copied, 2, 4000);
  PrivateRows::Thread thread = rows.thread(0), other = rows.thread(1);
  for (int i = 0; i < 10'000; ++i) thread.count(100, 0.025f);  // at first, all are due often
  const auto merged = [&](std::size_t i) {
    return std::abs(model.input.row(i)[0] - before[0].matrix.row(i)[0]) > 0.1f;
  };
  double pairs = 0, at[2] = {0, 0};  // of rows 0 and 9, in different chunks
  while (pairs < 1e6 && (at[0] == 0 || at[1] == 0)) {
    for (const std::size_t i : {0u, 9u})
      if (at[i != 0] == 0) {
        if (merged(i)) at[i != 0] = pairs;
        model.input.row_data(thread.maps().input(static_cast<RowId>(i)))[0] += 1.0f;
      }
    thread.count(500, 0.025f);
    other.count(500, 0.025f);
    pairs += 500;
  }
  INFO("row 0 after " << at[0] << " pairs, row 9 after " << at[1]);
  CHECK(at[0] > 0);
  CHECK(at[1] > at[0]);
}

TEST_CASE("private rows take at most half of the second-level cache", "[private_rows]") {
  CHECK(PrivateRows::usual_count(0, 128) == 0);
  CHECK(PrivateRows::usual_count(3, 16) == 3);
  const std::size_t cache = detail::second_level_cache_bytes(), wanted = 1 << 30;
  for (const std::size_t stride : {16u, 128u, 304u}) {
    const std::size_t count = PrivateRows::usual_count(wanted, stride), row = 4 * stride;
    if (cache == 0) {
      CHECK(count == wanted);
    } else {  // copies and old values of the rows of two matrices
      CHECK(2 * 2 * count * row <= cache / 2);
      CHECK(2 * 2 * (count + 1) * row > cache / 2);
    }
  }
}

TEST_CASE("rows without a private copy, and all rows of one thread, are the model's",
          "[private_rows]") {
  Model model = random_model();
  PrivateRows rows(model, falling(), copied, 3, 100);
  const detail::RowMap map = rows.thread(2).maps().output;
  CHECK(map(0) == words + 2 * copied);
  CHECK(map(9) == words + 2 * copied + 9);
  CHECK(map(10) == 10);
  CHECK(map(49) == 49);
  const PrivateRows::Thread none;
  CHECK_FALSE(none);
  CHECK(none.maps().output(0) == 0);
}

TEST_CASE("workers train private rows like rows of the model", "[private_rows]") {
  check_private_rows<DotKernel>();
  check_private_rows<FusedKernel>();
#if WORDLOOM_HAS_BLAS
  check_private_rows<GemmKernel>();
#endif
}

TEMPLATE_TEST_CASE("threads learn as much with private rows as without", "[private_rows]",
                   DotKernel, FusedKernel) {
  const auto vocabulary = small_vocabulary(200);
  const auto corpus = paired_corpus(vocabulary, 20'000);
  double losses[2];
  for (const std::size_t rows : {0u, 64u}) {
    Hyperparameters parameters = small(4);
    parameters.private_rows = rows;
    Trainer<SharedNegative, TestType> trainer(parameters);
    std::size_t calls = 0;
    trainer.on_epoch([&](const Progress&, const Model& model) {
      ++calls;
      CHECK(model.input.rows() == 200);
    });
    const Embeddings vectors = trainer.fit(corpus, vocabulary);
    CHECK(calls == parameters.epochs);
    losses[rows != 0] = trainer.report().loss;
    std::size_t found = 0;
    for (std::size_t i = 0; i < 200; ++i)
      found += vectors.most_similar(vocabulary.word(static_cast<WordId>(i)), 1)[0].word ==
               vocabulary.word(static_cast<WordId>(i ^ 1));
    CHECK(found > 190);
  }
  INFO("loss without " << losses[0] << ", with " << losses[1]);
  CHECK(std::abs(losses[1] - losses[0]) < 0.03 * losses[0]);
}
