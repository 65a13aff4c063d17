#include <wordloom/core/hyperparameters.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

struct Window {
  std::size_t size = 5;
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("window", size, 1, 1000);
  }
};
struct Rate {
  double rate = 0.5;
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("rate", rate, 0.0, 1.0);
  }
};
struct Empty {};
struct Whole {
  Window window = {};
  Empty empty = {};
  Rate rate = {};
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit_parameters_of(visit, window, empty, rate);
  }
};

/// Holds a value that it does not list.
struct Silent {
  int value = 0;
};

template <class Policy>
std::string refusal(const Policy& policy) {
  return message_of<InvalidArgument>([&] { validate_parameters(policy); });
}
template <class... Policies>
std::uint64_t fingerprint(const Policies&... policies) {
  detail::MethodRecord record;
  (detail::add_parameters(record, policies), ...);
  return record.hash().value();
}

}  // namespace

TEST_CASE("a policy says whether it lists parameters", "[parameters]") {
  STATIC_REQUIRE(detail::ListsParameters<Window>);
  STATIC_REQUIRE(detail::ListsParameters<Whole>);
  STATIC_REQUIRE_FALSE(detail::ListsParameters<Empty>);
  STATIC_REQUIRE_FALSE(detail::ListsParameters<Silent>);
}

TEST_CASE("parameters of all members of a policy are listed in order", "[parameters]") {
  std::vector<std::string> names;
  Whole{}.visit_parameters(
      [&](std::string_view name, auto, auto, auto) { names.emplace_back(name); });
  CHECK(names == std::vector<std::string>{"window", "rate"});
}

TEST_CASE("a parameter out of bounds is refused by name, value and bounds", "[parameters]") {
  validate_parameters(Whole{});
  validate_parameters(Whole{.window = {1}, .rate = {0}});
  validate_parameters(Whole{.window = {1000}, .rate = {1}});
  validate_parameters(Empty{});
  CHECK(refusal(Window{0}) == "window is 0, must be from 1 to 1000");
  CHECK(refusal(Whole{.window = {1001}}) == "window is 1001, must be from 1 to 1000");
  CHECK(refusal(Whole{.rate = {1.5}}) == "rate is 1.5, must be from 0 to 1");
  CHECK(refusal(Rate{-0.25}) == "rate is -0.25, must be from 0 to 1");
  CHECK(contains(refusal(Rate{std::nan("")}), "rate is nan"));
  CHECK(contains(refusal(Window{static_cast<std::size_t>(-1)}), "must be from 1 to 1000"));
}

TEST_CASE("policies have equal fingerprints if all parameters are equal", "[parameters]") {
  const auto whole = fingerprint(Whole{});
  CHECK(fingerprint(Whole{}) == whole);
  CHECK(fingerprint(Whole{.window = {6}}) != whole);
  CHECK(fingerprint(Whole{.rate = {std::nextafter(0.5, 1.0)}}) != whole);
  CHECK(fingerprint(Window{1}, Window{2}) != fingerprint(Window{2}, Window{1}));
  CHECK(fingerprint(Empty{}, Window{}) == fingerprint(Window{}));
}

namespace {

struct Settings {
  std::size_t window = 7;
};
struct FromSettings : Window {
  static FromSettings from(const Settings& settings) { return {{settings.window}}; }
};
struct FromSettingsAndMore : Window {
  static FromSettingsAndMore from(const Settings& settings, std::size_t ranks) {
    return {{settings.window * ranks}};
  }
};

}  // namespace

TEST_CASE("a policy is made from settings, by its own from() if it has one", "[parameters]") {
  CHECK(policy_from<FromSettings>(Settings{}).size == 7);
  CHECK(policy_from<FromSettings>(Settings{}, std::size_t{3}).size == 7);
  CHECK(policy_from<FromSettingsAndMore>(Settings{}, std::size_t{3}).size == 21);
  CHECK(policy_from<Window>(Settings{}).size == 5);
}
