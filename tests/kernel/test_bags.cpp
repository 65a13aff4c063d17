#include "kernel/block_checks.hpp"

using namespace wordloom;
using namespace wordloom_test;

TEST_CASE("an input that is a bag is the mean of its members", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    Random random(43);
    for (const std::size_t dimension : {1u, 16u, 33u, 100u, 300u})
      for (const std::size_t bags : {1u, 2u, 3u, 4u, 5u, 7u, 12u})
        for (const std::size_t outputs : {1u, 2u, 6u, 7u, 13u})
          for (OwnedBlock block :
               {bags_of(bags, outputs, 6, random), bags_without_one(bags, outputs, 6, random)}) {
            block.bag_gradient = bag_gradients[random.below(3)];
            check_update<Kernel>(dimension, block, 6, 0.1f);
            block.weights = any_weights(block.left_out.empty() ? bags * outputs : outputs, random);
            block.bag_gradient = bag_gradients[random.below(3)];
            check_update<Kernel>(dimension, block, 6, 0.1f);
          }
  });
}

TEST_CASE("a bag of one row is trained like a plain input", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    Random random(47);
    for (const std::size_t inputs : {1u, 3u, 6u}) {
      const OwnedBlock rows{.inputs = distinct(inputs, 20, random),
                            .outputs = distinct(6, 20, random)};
      OwnedBlock bags = rows;
      for (std::size_t i = 1; i <= inputs; ++i)
        bags.bag_ends.push_back(static_cast<std::uint32_t>(i));
      for (const BagGradient gradient : bag_gradients) {
        bags.bag_gradient = gradient;
        check_update<Kernel>(100, bags, 20);
        Model one = random_model(20, 100, 5), other = random_model(20, 100, 5);
        Kernel{}.worker(one, rows.shape()).template update<false>(one, rows, 0.1f);
        Kernel{}.worker(other, bags.shape()).template update<false>(other, bags, 0.1f);
        CHECK(difference(one, oracle::Model(other)) < 4);
      }
    }
  });
}

TEST_CASE("a bag that leaves out a member is the bag of the others", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    Random random(61);
    for (const std::size_t dimension : {7u, 100u})
      for (const BagGradient gradient : bag_gradients) {
        // The last output meets the bag of all members: a bag like others where members receive the
        // mean's gradient, see the test below for the rest.
        const std::size_t outputs = gradient == BagGradient::mean ? 6 : 5;
        OwnedBlock without_one = bags_without_one(5, outputs, 12, random);
        without_one.bag_gradient = gradient;
        OwnedBlock bags = without_one;
        bags.left_out.clear();
        bags.inputs.clear();
        for (std::size_t i = 0; i < outputs; ++i) {
          const auto members = oracle::bag(without_one, i);
          bags.inputs.insert(bags.inputs.end(), members.begin(), members.end());
          bags.bag_ends.push_back(static_cast<std::uint32_t>(bags.inputs.size()));
        }
        for (std::size_t j = 0; j < outputs; ++j)
          for (std::size_t i = 0; i < outputs; ++i)
            bags.weights.push_back(static_cast<float>(oracle::weight(without_one, i, j)));
        Model one = random_model(12, dimension, 5), other = random_model(12, dimension, 5);
        Kernel{}.worker(one, without_one.shape()).template update<false>(one, without_one, 0.1f);
        Kernel{}.worker(other, bags.shape()).template update<false>(other, bags, 0.1f);
        CHECK(difference(one, oracle::Model(other)) < 16);
      }
  });
}

TEST_CASE("a bag of all members changes them as much as the bags without one do together",
          "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    // Outputs of one vector and inputs of 0: all gradients are equal, with the sign of the label,
    // so that the positives' and the negatives' cancel if the bags give as much.
    const OwnedBlock pooled{.inputs = {0, 1, 2, 3},
                            .outputs = {0, 1, 2, 3, 4},
                            .positives = 4,
                            .left_out = {0, 1, 2, 3},
                            .weights = {1, 1, 1, 1, -4}};
    OwnedBlock split = pooled;
    split.left_out.clear();
    split.bag_ends = {4};
    split.outputs = {4};
    split.weights = {-4};
    for (const BagGradient gradient : bag_gradients) {
      const auto changed = [&](Block block) {
        block.bag_gradient = gradient;
        Model model(5, 20, 1);
        for (std::size_t i = 0; i < 5; ++i) {
          std::ranges::fill(model.input.row(i), 0.0f);
          std::ranges::fill(model.output.row(i), 0.5f);
        }
        Kernel{}.worker(model, pooled.shape()).template update<false>(model, block, 0.5f);
        return std::vector<float>(model.input.row(1).begin(), model.input.row(1).end());
      };
      for (const float x : changed(pooled)) CHECK(x == Approx(0).margin(1e-6));
      Block attraction = pooled, repulsion = split;
      attraction.outputs = attraction.outputs.first(4);
      attraction.weights = {attraction.weights.values.first(4)};
      repulsion.stands_for_parts = true;
      const auto attracted = changed(attraction), repelled = changed(repulsion);
      for (std::size_t c = 0; c < attracted.size(); ++c) {
        CHECK(attracted[c] > 0.1f);
        CHECK(repelled[c] == Approx(-attracted[c]));
      }
    }
  });
}

TEST_CASE("the gradients of a bag differ by the factors size and root of the size", "[kernel]") {
  for_each_kernel([]<class Kernel>() {
    OwnedBlock block{.inputs = {3, 5, 3, 1}, .outputs = {2, 4, 0}, .bag_ends = {4}};
    const auto change = [&](BagGradient gradient) {
      Model model = random_model(6, 24, 9);
      block.bag_gradient = gradient;
      Kernel{}.worker(model, block.shape()).template update<false>(model, block, 0.5f);
      const Model start = random_model(6, 24, 9);
      std::vector<float> result;
      for (std::size_t i = 0; i < 6; ++i)
        for (std::size_t c = 0; c < 24; ++c)
          result.push_back(model.input.row(i)[c] - start.input.row(i)[c]);
      return result;
    };
    const auto mean = change(BagGradient::mean), whole = change(BagGradient::whole),
               root = change(BagGradient::root);
    for (std::size_t i = 0; i < mean.size(); ++i) {
      CHECK(whole[i] == Approx(4 * mean[i]).margin(1e-6));
      CHECK(root[i] == Approx(2 * mean[i]).margin(1e-6));
    }
    // Row 3 is a member twice.
    for (std::size_t c = 0; c < 24; ++c)
      CHECK(mean[3 * 24 + c] == Approx(2 * mean[5 * 24 + c]).margin(1e-6));
  });
}
