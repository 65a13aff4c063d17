#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hash.hpp>

/// Policies are values. One with parameters of its own lists them once,
///
///     template <class Visit>
///     void visit_parameters(Visit&& visit) const {
///       visit("window", window, 1, 1000);  // name, value, smallest and largest allowed
///     }
///
/// and they are checked, compared between ranks and stored in checkpoints by that list.
namespace wordloom {

namespace detail {

/// Takes any parameter. (nvcc does not take a lambda in its place.)
struct AnyVisit {
  template <class Value, class Min, class Max>
  void operator()(std::string_view, Value, Min, Max) const {}
};

}  // namespace detail

template <class P>
concept ListsParameters = requires(const P& policy) {
  policy.visit_parameters(detail::AnyVisit());
};

namespace detail {

/// Throws InvalidArgument unless `value` lies in [min, max]. NaN lies in no range; a negative
/// number that was given to an unsigned parameter arrives as a huge one.
template <class Value, class Bound>
void check_parameter(std::string_view name, Value value, Bound min, Bound max) {
  if (value >= static_cast<Value>(min) && value <= static_cast<Value>(max)) return;
  std::ostringstream message;
  message << name << " is " << value << ", must be from " << min << " to " << max;
  throw InvalidArgument(message.str());
}

/// Checks all parameters of a policy. Throws InvalidArgument that names the first one outside its
/// bounds, its value and the bounds.
template <class Policy>
void validate(const Policy& policy) {
  if constexpr (ListsParameters<Policy>)
    policy.visit_parameters([](std::string_view name, auto value, auto min, auto max) {
      check_parameter(name, value, min, max);
    });
}

/// Lists the parameters of all `policies`, of those that have some.
template <class Visit, class... Policies>
void visit_all(Visit& visit, const Policies&... policies) {
  const auto one = [&](const auto& policy) {
    if constexpr (requires { policy.visit_parameters(visit); }) policy.visit_parameters(visit);
  };
  (one(policies), ...);
}

/// Adds all parameters of a policy to a fingerprint.
template <class Policy>
void add_parameters(Hash& hash, const Policy& policy) {
  static_assert(ListsParameters<Policy> || std::is_empty_v<Policy>,
                "wordloom: this policy holds values and lacks visit_parameters(visit), by which "
                "ranks and checkpoints tell it from others");
  if constexpr (ListsParameters<Policy>)
    policy.visit_parameters([&](std::string_view, auto value, auto, auto) {
      if constexpr (std::is_floating_point_v<decltype(value)>)
        hash.add(std::bit_cast<std::uint64_t>(static_cast<double>(value)));
      else
        hash.add(static_cast<std::uint64_t>(value));
    });
}

template <class Policy, class... Arguments>
concept MadeFrom = requires(const Arguments&... arguments) {
  Policy::from(arguments...);
};

/// A policy as the hyperparameters of a run describe it: `Policy::from(parameters, more...)` or
/// `Policy::from(parameters)` where the policy has that, else its default.
template <class Policy, class Parameters, class... More>
Policy policy_from(const Parameters& parameters, const More&... more) {
  if constexpr (MadeFrom<Policy, Parameters, More...>)
    return Policy::from(parameters, more...);
  else if constexpr (MadeFrom<Policy, Parameters>)
    return Policy::from(parameters);
  else
    return Policy{};
}

}  // namespace detail
}  // namespace wordloom
