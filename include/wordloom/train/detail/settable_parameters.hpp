#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/parameters.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/sampler/block.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// A parameter of a policy that can be set by its name, at run time.
struct SettableParameter {
  std::string_view name;
  void* place;  // the policy's member
  void (*set)(const SettableParameter& parameter, std::string_view value);
  double min, max;
};
using SettableParameters = std::vector<SettableParameter>;

template <class Number>
void set_number(const SettableParameter& parameter, std::string_view value) {
  Number number{};
  parse_parameter(parameter.name, value, number);
  check_parameter(parameter.name, number, static_cast<Number>(parameter.min),
                  static_cast<Number>(parameter.max));
  *static_cast<Number*>(parameter.place) = number;
}

void set_flag(const SettableParameter& parameter, std::string_view value);
void set_bag_gradient(const SettableParameter& parameter, std::string_view value);

/// Sets one of the parameters. Throws InvalidArgument for a name that is not among them, which it
/// lists, and for a value that is malformed or out of bounds.
void set_parameter(const SettableParameters& parameters, std::string_view name,
                   std::string_view value);

/// Returns the gradient of a sampler of bags, which may be in another sampler; null without.
template <class Sampler>
BagGradient* bag_gradient_of(Sampler& sampler) {
  if constexpr (requires { sampler.gradient; })
    return &sampler.gradient;
  else if constexpr (requires { sampler.sampler; })
    return bag_gradient_of(sampler.sampler);
  else
    return nullptr;
}

/// Returns the parameters of a sampler that can be set: the numbers that are members of it and that
/// it lists, and those of which it lists no number.
template <class Sampler>
SettableParameters settable_parameters(Sampler& sampler) {
  SettableParameters all;
  if (BagGradient* const gradient = bag_gradient_of(sampler))
    all.push_back({"gradient", gradient, set_bag_gradient, 0, 0});
  if constexpr (requires { sampler.end_to_end; })
    all.push_back({"end_to_end", &sampler.end_to_end, set_flag, 0, 1});
  if constexpr (requires { sampler.encoder.positions; })  // listed unless it is 0
    all.push_back({"positions", &sampler.encoder.positions, set_number<std::size_t>, 0, 1000});
  if constexpr (ListsParameters<Sampler>) {
    const Sampler& listed = sampler;
    listed.visit_parameters([&](std::string_view name, const auto& value, auto min, auto max) {
      using Number = std::remove_cvref_t<decltype(value)>;
      static_assert(std::is_arithmetic_v<Number> && !std::is_same_v<Number, bool>,
                    "wordloom: visit_parameters lists numbers");
      // A policy may also list a number that it computes, which is outside of it.
      const void *const place = &value, *const begin = &sampler, *const end = &sampler + 1;
      if (std::less<>()(place, begin) || !std::less<>()(place, end)) return;
      for (const SettableParameter& other : all)
        if (other.place == place) return;
      all.push_back({name, const_cast<Number*>(&value), set_number<Number>,
                     static_cast<double>(min), static_cast<double>(max)});
    });
  }
  return all;
}

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void set_flag(const SettableParameter& parameter, std::string_view value) {
  parse_parameter(parameter.name, value, *static_cast<bool*>(parameter.place));
}

WORDLOOM_FUNCTION void set_bag_gradient(const SettableParameter& parameter,
                                        std::string_view value) {
  auto& gradient = *static_cast<BagGradient*>(parameter.place);
  if (value == "mean")
    gradient = BagGradient::mean;
  else if (value == "root")
    gradient = BagGradient::root;
  else if (value == "whole")
    gradient = BagGradient::whole;
  else
    throw InvalidArgument{parameter.name, " is '", value, "', must be mean, root or whole"};
}

WORDLOOM_FUNCTION void set_parameter(const SettableParameters& parameters, std::string_view name,
                                     std::string_view value) {
  std::string names;
  for (const SettableParameter& parameter : parameters) {
    if (parameter.name == name) return parameter.set(parameter, value);
    names.append(names.empty() ? "" : ", ").append(parameter.name);
  }
  throw InvalidArgument{"this sampler has no parameter '", name, "', it has: ", names};
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
