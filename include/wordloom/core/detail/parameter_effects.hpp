#pragma once
#include <array>
#include <cstddef>
#include <sstream>
#include <string_view>
#include <type_traits>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>

/// Refuses hyperparameters that were set and that a composition does not read. To find these, its
/// policies are made from several values of each hyperparameter and their lists are compared.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// A parameter as a policy lists it.
struct ListedParameter {
  std::string_view name;
  double value;

  bool operator==(const ListedParameter&) const = default;
};
using ListedParameters = std::vector<ListedParameter>;
/// Makes the policies of a composition and lists their parameters.
using ListPolicies = ListedParameters (*)(const Hyperparameters&);

/// Returns all parameters of some policies, one policy after the other.
template <class... Policies>
ListedParameters parameters_of(const Policies&... policies) {
  ListedParameters all;
  const auto visit = [&](std::string_view name, auto value, auto, auto) {
    all.push_back({name, static_cast<double>(value)});
  };
  visit_parameters_of(visit, policies...);
  return all;
}

/// Returns those of the policies that a trainer makes of `parameters`. Policies that cannot be made
/// of them read none.
template <class... Policies>
ListedParameters made_parameters(const Hyperparameters& parameters) {
  ListedParameters all;
  const auto add = [&]<class Policy>(std::type_identity<Policy>) {
    if constexpr (MadeFrom<Policy, Hyperparameters>) {
      const ListedParameters own = parameters_of(Policy::from(parameters));
      all.insert(all.end(), own.begin(), own.end());
    }
  };
  (add(std::type_identity<Policies>()), ...);
  return all;
}

/// The hyperparameters that a composition reads without a policy's list.
struct ReadByTrainer {
  bool subsample = false, private_rows = false, negative_pool = false, device = false,
       pin_threads = false;
};

/// Throws InvalidArgument for the first hyperparameter that differs from its default, is above 0
/// (which switches some off) and has no effect: no policy of `list` depends on it.
void require_effects(const Hyperparameters& parameters, ListPolicies list,
                     const ReadByTrainer& reads);

/// Throws InvalidArgument for the first hyperparameter that differs from its default and from what
/// a policy has that was given by value, whose parameters are `given`.
void require_agreement(const Hyperparameters& parameters, ListPolicies list,
                       const ListedParameters& given);

#if WORDLOOM_DEFINES_FUNCTIONS

/// The hyperparameters that policies may read, and values of each that no policy takes for equal.
template <class Use>
void for_each_read_by_policies(Use&& use) {
  using H = Hyperparameters;
  const auto counts = [&](std::string_view name, std::size_t H::*field) {
    use(name, field, std::array<std::size_t, 3>{1, 7, 23});
  };
  counts("window", &H::window);
  use("fixed_window", &H::fixed_window, std::array{false, true});
  counts("negatives", &H::negatives);
  counts("minibatch", &H::minibatch);
  counts("shared_negatives", &H::shared_negatives);
  counts("negative_pool", &H::negative_pool);
  counts("sentences_in_flight", &H::sentences_in_flight);
  use("negative_exponent", &H::negative_exponent, std::array{0.25, 0.5, 1.0});
  use("node_sample", &H::node_sample, std::array{0.0, 0.25, 0.5});
}

/// Returns the places of a list that depend on a hyperparameter.
template <class Field, class Values>
std::vector<std::size_t> places_read(Hyperparameters parameters, ListPolicies list, Field field,
                                     const Values& values) {
  std::vector<ListedParameters> lists;
  for (const auto value : values) {
    parameters.*field = value;
    lists.push_back(list(parameters));
  }
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < lists[0].size(); ++place)
    for (const ListedParameters& other : lists)
      if (other.size() <= place || other[place] != lists[0][place]) {
        places.push_back(place);
        break;
      }
  return places;
}

template <class Value>
[[noreturn]] void refuse_parameter(std::string_view name, Value value, std::string_view why) {
  std::ostringstream message;
  message << name << " is " << value << why;
  throw InvalidArgument(message.str());
}

WORDLOOM_FUNCTION void require_effects(const Hyperparameters& parameters, ListPolicies list,
                                       const ReadByTrainer& reads) {
  constexpr Hyperparameters defaults;
  const auto require_effect = [](std::string_view name, auto value, auto default_value,
                                 const auto& is_read) {
    if (value != default_value && value != decltype(value){} && !is_read())
      refuse_parameter(name, value,
                       ", which has no effect with this sampler and kernel: leave it out");
  };
  for_each_read_by_policies([&](std::string_view name, auto field, const auto& values) {
    require_effect(name, parameters.*field, defaults.*field, [&] {
      return (name != "negative_pool" || reads.negative_pool) &&
             !places_read(parameters, list, field, values).empty();
    });
  });
  require_effect("subsample", parameters.subsample, defaults.subsample,
                 [&] { return reads.subsample; });
  require_effect("private_rows", parameters.private_rows, defaults.private_rows,
                 [&] { return reads.private_rows; });
  require_effect("device", parameters.device, defaults.device, [&] { return reads.device; });
  require_effect("pin_threads", parameters.pin_threads, defaults.pin_threads,
                 [&] { return reads.pin_threads; });
}

/// Returns whether a list has the parameter at a place of another: one of that name and value, as
/// many of that name before it. (A policy may list a parameter only where it has some value.)
inline bool lists_too(const ListedParameters& list, const ListedParameters& other,
                      std::size_t place) {
  std::size_t before = 0;
  for (std::size_t i = 0; i < place; ++i) before += other[i].name == other[place].name;
  for (const ListedParameter& parameter : list)
    if (parameter.name == other[place].name && before-- == 0) return parameter == other[place];
  return false;
}

WORDLOOM_FUNCTION void require_agreement(const Hyperparameters& parameters, ListPolicies list,
                                         const ListedParameters& given) {
  constexpr Hyperparameters defaults;
  const ListedParameters made = list(parameters);
  for_each_read_by_policies([&](std::string_view name, auto field, const auto& values) {
    if (parameters.*field == defaults.*field) return;
    for (const std::size_t place : places_read(parameters, list, field, values))
      if (!lists_too(given, made, place))
        refuse_parameter(name, parameters.*field,
                         " in the hyperparameters, and another value in the policy that was given: "
                         "set it in the policy alone, or change the policy by the trainer's "
                         "sampler() or kernel()");
  });
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
