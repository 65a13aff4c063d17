#include "kernel/block_checks.hpp"

using namespace wordloom;
using namespace wordloom_test;

TEST_CASE("weights scale the gradients of their pairs and not the loss", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    Random random(13);
    for (const std::size_t inputs : {1u, 3u, 4u, 6u, 9u})
      for (const std::size_t outputs : {1u, 6u, 8u, 15u}) {
        OwnedBlock block{.inputs = distinct(inputs, 20, random),
                         .outputs = distinct(outputs, 20, random)};
        for (std::size_t i = 0; i < inputs * outputs; ++i) {
          const auto weight = static_cast<float>(random.uniform() * 3.0);
          block.weights.push_back(i < inputs ? weight : -weight);  // one positive
        }
        check_update<Kernel>(100, block, 20);
      }
  });
}

TEST_CASE("each pair has its own label and weight, and weight 0 is not trained", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    Random random(31);
    for (const std::size_t inputs : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 9u, 14u})
      for (const std::size_t outputs : {1u, 2u, 5u, 6u, 7u, 13u}) {
        OwnedBlock block{.inputs = distinct(inputs, 20, random),
                         .outputs = distinct(outputs, 20, random),
                         .positives = 0,
                         .weights = any_weights(inputs * outputs, random)};
        check_update<Kernel>(100, block, 20);
        if (inputs > 2) block.inputs[2] = block.inputs[0];
        check_update<Kernel>(48, block, 20);
      }
  });
}

TEST_CASE("a kernel keeps weights by their version and address", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    const std::size_t rows = 30, dimension = 40, outputs = 5;
    // Seven inputs: some are in groups of 4, some in a group of 3. Blocks of two are of another
    // shape.
    struct Step {
      std::size_t matrix;  // of two, which lie at the same places throughout
      std::uint64_t version;
      bool is_new;  // has other weights than before
      std::size_t inputs = 7, bag_size = 1;
    };
    const std::vector<Step> steps{
        {0, 1, true},        {0, 1, false},       {1, 1, true},        {0, 1, false},
        {1, 1, false},       {0, 2, true},        {1, 1, false, 7, 3}, {0, 2, false, 7, 3},
        {0, 3, true, 2},     {0, 3, false, 2, 2}, {1, 1, false},       {0, 4, true},
        {0, 0, true},        {0, 0, true},        {0, 5, true},        {1, 2, true, 2},
        {1, 2, false, 2, 3}, {0, 5, false},       {0, 6, true, 7, 2},  {0, 6, false}};
    Random random(41);
    std::vector<float> matrices[2] = {std::vector<float>(7 * outputs),
                                      std::vector<float>(7 * outputs)};
    Model model = random_model(rows, dimension, 5), expected = random_model(rows, dimension, 5);
    const Block::Shape most{7, outputs, 21};
    auto worker = Kernel{}.worker(model, most);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      if (step.is_new) {
        const auto weights = any_weights(step.inputs * outputs, random);
        std::copy(weights.begin(), weights.end(), matrices[step.matrix].begin());
      }
      // A block without weights now and then.
      if (i % 4 == 3) {
        const OwnedBlock plain{.inputs = distinct(7, rows, random),
                               .outputs = distinct(outputs, rows, random)};
        worker.template update<false>(model, plain, 0.1f);
        Kernel{}.worker(expected, most).template update<false>(expected, plain, 0.1f);
      }
      OwnedBlock owned{.inputs = distinct(step.inputs * step.bag_size, rows, random),
                       .outputs = distinct(outputs, rows, random)};
      if (step.bag_size > 1)
        for (std::size_t k = 1; k <= step.inputs; ++k)
          owned.bag_ends.push_back(static_cast<std::uint32_t>(k * step.bag_size));
      Block block = owned;
      block.weights = {std::span(matrices[step.matrix]).first(step.inputs * outputs), step.version};
      const LossSum loss = worker.template update<true>(model, block, 0.1f);
      block.weights.version = 0;
      const LossSum expected_loss =
          Kernel{}.worker(expected, most).template update<true>(expected, block, 0.1f);
      INFO("step " << i);
      REQUIRE(loss.value() == expected_loss.value());
      REQUIRE(same_bits(model, expected));
    }
  });
}
