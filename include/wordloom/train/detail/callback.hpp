#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <wordloom/model/model.hpp>
#include <wordloom/train/progress.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// A callback of any form: with or without the model, returning whether to continue, or nothing.
struct Callback {
  bool each_epoch = false;         // else at most once in each interval
  double interval = 1;             // in seconds
  bool on_calling_thread = false;  // else on any that trains
  bool takes_model = false;
  std::function<bool(const Progress&, const Model&)> call = {};
};

/// Adds a function to callbacks, by which `as` says when to call it. An empty std::function adds
/// none.
template <class F>
void add_function(std::vector<Callback>& callbacks, F f, Callback as) {
  constexpr bool takes_model = std::is_invocable_v<F&, const Progress&, const Model&>;
  static_assert(takes_model || std::is_invocable_v<F&, const Progress&>,
                "wordloom: a callback takes (const Progress&) or (const Progress&, const Model&)");
  if constexpr (requires { f == nullptr; })
    if (f == nullptr) return;
  as.takes_model = takes_model;
  as.call = [f = std::move(f)](const Progress& progress, const Model& model) mutable {
    const auto run = [&]() -> decltype(auto) {
      if constexpr (takes_model)
        return f(progress, model);
      else
        return f(progress);
    };
    if constexpr (std::is_void_v<decltype(run())>)
      return run(), true;
    else
      return static_cast<bool>(run());
  };
  callbacks.push_back(std::move(as));
}

/// Objects with these members are called by progress, or after each epoch, with or without the
/// model.
template <class C, class... More>
concept HasOnProgress = requires(C& callback, const Progress& progress, const More&... more) {
  callback.on_progress(progress, more...);
};
template <class C, class... More>
concept HasOnEpoch = requires(C& callback, const Progress& progress, const More&... more) {
  callback.on_epoch(progress, more...);
};

/// Adds a callback of any form: a function, an object, or a std::reference_wrapper of one.
template <class C>
void add_callback(std::vector<Callback>& callbacks, C callback, bool on_calling_thread = false) {
  using Object = std::unwrap_reference_t<C>;
  constexpr bool watches_progress = HasOnProgress<Object> || HasOnProgress<Object, Model>;
  constexpr bool watches_epochs = HasOnEpoch<Object> || HasOnEpoch<Object, Model>;
  if constexpr (!watches_progress && !watches_epochs) {
    add_function(callbacks, std::move(callback), {.on_calling_thread = on_calling_thread});
  } else {
    // Both functions share the object.
    const auto held = std::make_shared<C>(std::move(callback));
    double interval = 1;
    if constexpr (requires(Object & object) { object.interval(); })
      interval = std::chrono::duration<double>(static_cast<Object&>(*held).interval()).count();
    if constexpr (watches_progress)
      add_function(callbacks,
                   [held]<class... More>(const Progress& progress, const More&... more) requires(
                       HasOnProgress<Object, More...>) {
                     return static_cast<Object&>(*held).on_progress(progress, more...);
                   },
                   {.interval = interval, .on_calling_thread = on_calling_thread});
    if constexpr (watches_epochs)
      add_function(callbacks,
                   [held]<class... More>(const Progress& progress, const More&... more) requires(
                       HasOnEpoch<Object, More...>) {
                     return static_cast<Object&>(*held).on_epoch(progress, more...);
                   },
                   {.each_epoch = true, .on_calling_thread = on_calling_thread});
  }
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
