#pragma once
#include <concepts>
#include <cstddef>
#include <sstream>
#include <string_view>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/words.hpp>

/// Policies are values. A policy with parameters of its own lists them once,
///
///     template <class Visit>
///     void visit_parameters(Visit&& visit) const {
///       visit("window", window, 1, 1000);  // name, value, smallest and largest allowed
///     }
///
/// and that list is used to check them, to compare them between ranks and to store them in
/// checkpoints.
namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// Takes any parameter. (nvcc does not take a lambda in its place.)
struct AnyVisit {
  template <class Value, class Min, class Max>
  void operator()(std::string_view, Value, Min, Max) const {}
};

template <class P>
concept ListsParameters = requires(const P& policy) {
  policy.visit_parameters(detail::AnyVisit());
};

template <class Policy, class... Arguments>
concept MadeFrom = requires(const Arguments&... arguments) {
  Policy::from(arguments...);
};

}  // namespace detail

/// Throws InvalidArgument unless `value` is in [min, max]. NaN is in no range; a negative number
/// that was given to an unsigned parameter arrives as a huge one.
template <class Value, class Bound>
void check_parameter(std::string_view name, Value value, Bound min, Bound max) {
  if (!detail::is_nan(value) && value >= static_cast<Value>(min) &&
      value <= static_cast<Value>(max))
    return;
  std::ostringstream message;
  message << name << " is " << value << ", must be from " << min << " to " << max;
  throw InvalidArgument(message.str());
}

#if defined(WORDLOOM_PRECOMPILED)
extern template void check_parameter(std::string_view, double, double, double);
extern template void check_parameter(std::string_view, std::size_t, int, int);
#endif

namespace detail {

/// Sets a parameter to the number in `text`, or to true (1) or false (0). Throws InvalidArgument
/// for another text.
template <class Value>
void parse_parameter(std::string_view name, std::string_view text, Value& value) {
  const auto refuse = [&](const char* expected) {
    throw InvalidArgument{name, " is '", text, "', must be ", expected};
  };
  if constexpr (std::same_as<Value, bool>) {
    const bool is_true = text == "true" || text == "1";
    if (!is_true && text != "false" && text != "0") refuse("true or false");
    value = is_true;
  } else {
    const auto number = number_in<Value>(text);
    if (!number) refuse(std::unsigned_integral<Value> ? "a whole number, not below 0" : "a number");
    value = *number;
  }
}

}  // namespace detail

/// Checks all parameters of a policy. Throws as check_parameter for the first one out of bounds.
template <class Policy>
void validate_parameters(const Policy& policy) {
  if constexpr (detail::ListsParameters<Policy>)
    policy.visit_parameters([](std::string_view name, auto value, auto min, auto max) {
      check_parameter(name, value, min, max);
    });
}

/// Lists the parameters of those `policies` that have parameters.
template <class Visit, class... Policies>
void visit_parameters_of(Visit& visit, const Policies&... policies) {
  const auto one = [&](const auto& policy) {
    if constexpr (requires { policy.visit_parameters(visit); }) policy.visit_parameters(visit);
  };
  (one(policies), ...);
}

/// Makes a policy from the hyperparameters of a run: by `Policy::from(parameters, more...)` or
/// `Policy::from(parameters)` if the policy has one of them, else by its default constructor.
template <class Policy, class Parameters, class... More>
Policy policy_from(const Parameters& parameters, const More&... more) {
  if constexpr (detail::MadeFrom<Policy, Parameters, More...>)
    return Policy::from(parameters, more...);
  else if constexpr (detail::MadeFrom<Policy, Parameters>)
    return Policy::from(parameters);
  else
    return Policy{};
}

}}  // namespace wordloom::WORDLOOM_ABI
