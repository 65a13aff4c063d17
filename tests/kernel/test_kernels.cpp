#include "kernel/block_checks.hpp"
#include "support.hpp"

using namespace wordloom;
using namespace wordloom_test;

TEST_CASE("an update equals the oracle's for every block shape and dimension", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    Random random(7);
    for (const std::size_t dimension : {1u, 7u, 16u, 17u, 32u, 48u, 100u, 128u, 300u})
      for (std::size_t inputs = 1; inputs <= 20; ++inputs)
        for (const std::size_t outputs :
             {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 11u, 12u, 13u, 18u, 21u}) {
          if (leaves_out(random)) continue;
          const std::size_t rows = 48;
          check_update<Kernel>(dimension,
                               {.inputs = distinct(inputs, rows, random),
                                .outputs = distinct(outputs, rows, random),
                                .positives = static_cast<std::size_t>(random.below(outputs + 1))},
                               rows);
        }
  });
}

TEST_CASE("duplicate rows of a block get every change", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    Random random(11);
    for (const std::size_t dimension : {1u, 7u, 100u, 128u, 300u})
      for (int repetition = 0; repetition < 40; ++repetition) {
        const std::size_t rows = 4;  // so few that nearly every block repeats rows
        OwnedBlock block{
            .inputs = any_rows(1 + static_cast<std::size_t>(random.below(12)), rows, random),
            .outputs = any_rows(1 + static_cast<std::size_t>(random.below(14)), rows, random)};
        block.positives = static_cast<std::size_t>(random.below(block.outputs.size() + 1));
        check_update<Kernel>(dimension, block, rows, 0.1f);
      }
  });
}

TEST_CASE("a block that updates one side changes no bit of the other", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    Random random(53);
    for (const Block::Sides sides : {Block::Sides::inputs, Block::Sides::outputs})
      for (const std::size_t dimension : {1u, 17u, 100u})
        for (const std::size_t inputs : {1u, 2u, 4u, 7u})
          for (const std::size_t outputs : {1u, 5u, 13u}) {
            // Rows repeat, in the side that is updated and in the other.
            OwnedBlock block{.inputs = any_rows(inputs, 6, random),
                             .outputs = any_rows(outputs, 6, random),
                             .update = sides};
            check_update<Kernel>(dimension, block, 6, 0.1f);
            block.weights = any_weights(inputs * outputs, random);
            check_update<Kernel>(dimension, block, 6, 0.1f);
            for (OwnedBlock bags : {bags_of(inputs, outputs, 6, random),
                                    bags_without_one(inputs, outputs, 6, random)}) {
              bags.update = sides;
              check_update<Kernel>(dimension, bags, 6, 0.1f);
              bags.bag_gradient = bag_gradients[1 + random.below(2)];
              check_update<Kernel>(dimension, bags, 6, 0.1f);
            }
          }
  });
}

TEST_CASE("the change of a model is the negative gradient of the loss", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    const OwnedBlock rows{.inputs = {1, 4, 1}, .outputs = {2, 3, 5, 3}};
    OwnedBlock weighted = rows;
    weighted.weights = {1.0f, 0.5f, 2.0f, -1.0f, -0.5f, -2.0f, -1.0f, 0.0f, 0.25f, -1.5f, -1, -1};
    // Bags of one, two and five rows: row 1 is in all of them and twice in the last.
    const OwnedBlock bags{
        .inputs = {1, 4, 1, 0, 1, 5, 1, 2}, .outputs = {2, 3, 5, 3}, .bag_ends = {1, 3, 8}};
    OwnedBlock weighted_bags = bags;
    weighted_bags.weights = weighted.weights;
    // Bags of four of five rows, of which row 1 is two, and of all five.
    OwnedBlock without_one{
        .inputs = {1, 4, 1, 0, 5}, .outputs = {2, 3, 5, 3, 1, 3}, .left_out = {2, 4, 2}};
    without_one.weights = {1.0f, 0.5f, 2.0f, -1.0f, 0.0f, -1.5f};
    for (const OwnedBlock& block : {rows, weighted, bags, weighted_bags, without_one})
      check_gradient<Kernel>(block);
  });
}

TEST_CASE("measuring the loss changes no bit of the model", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    Random random(17);
    const OwnedBlock rows{.inputs = distinct(6, 20, random), .outputs = distinct(6, 20, random)};
    for (const OwnedBlock& block :
         {rows, bags_of(6, 6, 20, random), bags_without_one(6, 6, 20, random)}) {
      Model with = random_model(20, 100, 5), without = random_model(20, 100, 5);
      auto worker = Kernel{}.worker(with, block.shape());
      worker.template update<true>(with, block, 0.1f);
      worker.template update<false>(without, block, 0.1f);
      CHECK(same_bits(with, without));
    }
  });
}

TEST_CASE("a kernel is right for scores far from zero", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    const OwnedBlock block{.inputs = {0}, .outputs = {0, 1}};
    const auto loss_of = [&](float score) {
      Model model(2, 16);
      std::fill(model.input.row(0).begin(), model.input.row(0).end(), 1.0f);
      model.output.row(0)[0] = score;   // positive
      model.output.row(1)[0] = -score;  // negative
      return Kernel{}
          .worker(model, block.shape())
          .template update<true>(model, block, 0.0f)
          .value();
    };
    CHECK(loss_of(20.0f) == Approx(2 * std::log1p(std::exp(-20.0))).margin(2e-7));
    CHECK(loss_of(-20.0f) == Approx(40.0));
    CHECK(loss_of(-1e4f) == Approx(2e4));
    CHECK(loss_of(1e4f) == Approx(0.0).margin(1e-6));
    CHECK(loss_of(-std::numeric_limits<float>::infinity()) ==
          std::numeric_limits<double>::infinity());
    CHECK(std::isnan(loss_of(std::numeric_limits<float>::quiet_NaN())));
  });
}

TEST_CASE("earlier blocks of a worker change no bit of an update", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    Random random(23);
    const Model any(30, 33);
    const Block::Shape most{14, 25, 65};  // 13 bags, or 13 left out of one
    auto used = Kernel{}.worker(any, most);
    for (int repetition = 0; repetition < 300; ++repetition) {
      const auto n = 1 + static_cast<std::size_t>(random.below(13));
      const auto m = 1 + static_cast<std::size_t>(random.below(25));
      OwnedBlock block{.inputs = distinct(n, 30, random),
                       .outputs = distinct(m, 30, random),
                       .positives = static_cast<std::size_t>(random.below(m + 1))};
      // Blocks of all kinds, one after the other.
      if (random.below(4) == 0) block = bags_of(n, m, 30, random);
      if (random.below(4) == 0) block = bags_without_one(n, m, 30, random);
      if (random.below(3) == 0) block.weights = any_weights(n * m, random);
      if (random.below(3) == 0)
        block.update = random.below(2) == 0 ? Block::Sides::inputs : Block::Sides::outputs;
      block.bag_gradient = bag_gradients[random.below(3)];
      Model one = random_model(30, 33, 5), other = random_model(30, 33, 5);
      auto fresh = Kernel{}.worker(any, most);
      REQUIRE(LossSum(used.template update<true>(one, block, 0.1f)).value() ==
              LossSum(fresh.template update<true>(other, block, 0.1f)).value());
      REQUIRE(same_bits(one, other));
    }
  });
}

TEST_CASE("prefetched rows change no bit of FusedKernel's results", "[kernel]") {
  Random random(37);
  const OwnedBlock block{.inputs = distinct(6, 20, random), .outputs = distinct(9, 20, random)};
  Model told = random_model(20, 100, 5), untold = random_model(20, 100, 5);
  auto one = FusedKernel{}.worker(told, block.shape());
  auto other = FusedKernel{}.worker(untold, block.shape());
  std::vector<RowId> all(20);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<RowId>(i);
  for (int repetition = 0; repetition < 3; ++repetition) {
    one.prefetch(told, all, all);  // more than it has room for
    one.prefetch(told, all, all);
    one.update<false>(told, block, 0.1f);
    other.update<false>(untold, block, 0.1f);
  }
  CHECK(same_bits(told, untold));
}

TEST_CASE("an update in two halves equals a whole one, bit for bit", "[kernel]") {
  Random random(59);
  OwnedBlock one_sided{.inputs = any_rows(5, 20, random),
                       .outputs = any_rows(6, 20, random),
                       .update = Block::Sides::inputs};
  for (OwnedBlock block :
       {OwnedBlock{.inputs = any_rows(7, 20, random), .outputs = any_rows(9, 20, random)},
        bags_of(5, 7, 20, random), bags_without_one(5, 7, 20, random), one_sided}) {
    Model whole = random_model(20, 100, 5), halves = random_model(20, 100, 5);
    const Block::Shape most = block.shape();
    FusedKernel{}.worker(whole, most).update<false>(whole, block, 0.1f);
    auto worker = FusedKernel{}.worker(halves, most);
    {
      OwnedBlock gone = std::move(block);
      worker.score(halves, gone, 0.1f);
      // The block may be gone in the second half, its memory used again.
      std::fill(gone.inputs.begin(), gone.inputs.end(), RowId{0});
      std::fill(gone.outputs.begin(), gone.outputs.end(), RowId{0});
      std::fill(gone.bag_ends.begin(), gone.bag_ends.end(), 0u);
      std::fill(gone.left_out.begin(), gone.left_out.end(), 0u);
    }
    CHECK(same_bits(halves, random_model(20, 100, 5)));
    worker.apply<false>(halves);
    CHECK(same_bits(whole, halves));
    worker.apply<false>(halves);  // nothing is scored
    CHECK(same_bits(whole, halves));
  }
}

#if WORDLOOM_HAS_BLAS
TEST_CASE("OneBlasThread restores the host's number of threads", "[kernel]") {
  using detail::OneBlasThread;
  if (openblas_get_num_threads == nullptr) return skip("the CBLAS is not OpenBLAS");
  const int before = openblas_get_num_threads();
  openblas_set_num_threads(2);
  {
    OneBlasThread first;
    CHECK(openblas_get_num_threads() == 1);
    {
      OneBlasThread second = first;
      CHECK(openblas_get_num_threads() == 1);
    }
    CHECK(openblas_get_num_threads() == 1);
  }
  CHECK(openblas_get_num_threads() == 2);
  openblas_set_num_threads(before);
}
#endif
