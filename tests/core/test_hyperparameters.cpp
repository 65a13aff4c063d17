#include <cmath>
#include <wordloom/core/hyperparameters.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {
std::string refusal(const Hyperparameters& parameters) {
  return message_of<InvalidArgument>([&] { parameters.validate(); });
}
}  // namespace

TEST_CASE("the presets are valid and what the programs use", "[hyperparameters]") {
  word2vec_defaults().validate();
  fasttext_defaults().validate();
  CHECK(word2vec_defaults().learning_rate == 0.025);
  CHECK(word2vec_defaults().negative_exponent == 0.75);
  CHECK(fasttext_defaults().learning_rate == 0.05);
  CHECK(fasttext_defaults().subsample == 1e-4);
}

TEST_CASE("a hyperparameter out of bounds is refused by name, value and bound",
          "[hyperparameters]") {
  CHECK(refusal({.dimension = 0}) == "dimension is 0, must be from 1 to 65536");
  CHECK(refusal({.window = 1001}) == "window is 1001, must be from 1 to 1000");
  CHECK(contains(refusal({.negatives = 0}), "negatives is 0"));
  CHECK(contains(refusal({.subsample = -0.1}), "subsample is -0.1, must be from 0 to 1"));
  CHECK(contains(refusal({.subsample = 1.5}), "subsample is 1.5"));
  CHECK(contains(refusal({.learning_rate = 0.0}), "learning_rate is 0"));
  CHECK(contains(refusal({.learning_rate = 11.0}), "learning_rate is 11"));
  CHECK(contains(refusal({.learning_rate = std::nan("")}), "learning_rate is nan"));
  CHECK(contains(refusal({.epochs = 0}), "epochs is 0"));
  CHECK(contains(refusal({.threads = 100'000}), "threads is 100000"));
  CHECK(contains(refusal({.negative_exponent = 99}), "negative_exponent is 99"));
}
