#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <wordloom/core/hyperparameters.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {
std::string refusal(const Hyperparameters& parameters) {
  return message_of<InvalidArgument>([&] { parameters.validate(); });
}
}  // namespace

TEST_CASE("the defaults are valid and those of word2vec's skip-gram", "[hyperparameters]") {
  const Hyperparameters parameters;
  parameters.validate();
  CHECK(parameters.dimension == 100);
  CHECK(parameters.window == 5);
  CHECK(parameters.negatives == 5);
  CHECK(parameters.learning_rate == 0.025);
  CHECK(parameters.subsample == 1e-3);
  CHECK(parameters.negative_exponent == 0.75);
}

TEST_CASE("the bounds of a hyperparameter are allowed", "[hyperparameters]") {
  const Hyperparameters least{
      .dimension = 1, .window = 1, .negatives = 0, .subsample = 0, .epochs = 1};
  CHECK_NOTHROW(least.validate());
  const Hyperparameters most{.dimension = 65536,
                             .window = 1000,
                             .negatives = 1000,
                             .minibatch = 1000,
                             .shared_negatives = 10'000,
                             .subsample = 1,
                             .learning_rate = 10,
                             .epochs = 1'000'000,
                             .threads = 65536,
                             .seed = ~std::uint64_t{0},
                             .negative_exponent = -10,
                             .device = 1023,
                             .sentences_in_flight = 1 << 20};
  CHECK_NOTHROW(most.validate());
}

TEST_CASE("a hyperparameter out of bounds is refused by name, value and bound",
          "[hyperparameters]") {
  CHECK(refusal({.dimension = 0}) == "dimension is 0, must be from 1 to 65536");
  CHECK(refusal({.window = 1001}) == "window is 1001, must be from 1 to 1000");
  CHECK(refusal({.negatives = 1001}) == "negatives is 1001, must be from 0 to 1000");
  CHECK(contains(refusal({.minibatch = 1001}), "minibatch is 1001"));
  CHECK(contains(refusal({.shared_negatives = 10'001}), "shared_negatives is 10001"));
  CHECK(contains(refusal({.subsample = -0.1}), "subsample is -0.1, must be from 0 to 1"));
  CHECK(contains(refusal({.subsample = 1.5}), "subsample is 1.5"));
  CHECK(contains(refusal({.learning_rate = 0.0}), "learning_rate is 0"));
  CHECK(contains(refusal({.learning_rate = 11.0}), "learning_rate is 11"));
  CHECK(contains(refusal({.learning_rate = std::nan("")}), "learning_rate is nan"));
  CHECK(contains(refusal({.epochs = 0}), "epochs is 0"));
  CHECK(contains(refusal({.threads = 100'000}), "threads is 100000"));
  CHECK(contains(refusal({.negative_exponent = 99}), "negative_exponent is 99"));
  CHECK(contains(refusal({.device = 1024}), "device is 1024"));
  CHECK(contains(refusal({.sentences_in_flight = (1 << 20) + 1}), "sentences_in_flight is"));
  // A negative number that became unsigned is a huge one.
  CHECK(contains(refusal({.window = static_cast<std::size_t>(-1)}), "must be from 1 to 1000"));
}

TEST_CASE("a hyperparameter is set by its name and a text", "[hyperparameters]") {
  Hyperparameters parameters{.fixed_window = true};
  for (const auto* const name : {"threads", "private_rows", "pin_threads", "device"})
    CHECK(parameters.set(name, "1"));
  const Hyperparameters before = parameters;
  before.visit_parameters(
      [&](std::string_view name, auto, auto, auto) { CHECK(parameters.set(name, "1")); });
  parameters.visit_parameters([](std::string_view, auto value, auto, auto) { CHECK(value == 1); });
  CHECK((parameters.threads == 1 && parameters.private_rows == 1 && parameters.device == 1));
  CHECK((parameters.fixed_window && parameters.pin_threads));
  CHECK(parameters.set("fixed_window", "false"));
  CHECK(parameters.set("learning_rate", "2.5e-2"));
  CHECK(parameters.set("seed", "18446744073709551615"));
  CHECK((!parameters.fixed_window && parameters.learning_rate == 0.025));
  CHECK(parameters.seed == ~std::uint64_t{0});
  CHECK_FALSE(parameters.set("dimensions", "8"));

  const auto refused = [&](std::string_view name, std::string_view text) {
    return message_of<InvalidArgument>([&] { parameters.set(name, text); });
  };
  CHECK(refused("window", "-1") == "window is '-1', must be a whole number, not below 0");
  CHECK(refused("window", "2.5") == "window is '2.5', must be a whole number, not below 0");
  CHECK(refused("subsample", "little") == "subsample is 'little', must be a number");
  CHECK(refused("fixed_window", "yes") == "fixed_window is 'yes', must be true or false");
  CHECK((parameters.window == 1 && !parameters.fixed_window));
}
