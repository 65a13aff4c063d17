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
  std::function<bool(const Progress&, const Model&)> call = {};
  bool takes_model = false;
  bool each_epoch = false;         // else at most once in each interval
  bool on_calling_thread = false;  // else on any that trains
  double interval = 1;             // in seconds

  template <class F>
  static Callback from(F f) {
    constexpr bool takes_model = std::is_invocable_v<F&, const Progress&, const Model&>;
    static_assert(
        takes_model || std::is_invocable_v<F&, const Progress&>,
        "wordloom: a callback takes (const Progress&) or (const Progress&, const Model&)");
    if constexpr (requires { f == nullptr; })
      if (f == nullptr) return {};  // an empty std::function: no callback
    const auto call = [f = std::move(f)](const Progress& progress, const Model& model) mutable {
      const auto run = [&]() -> decltype(auto) {
        if constexpr (takes_model)
          return f(progress, model);
        else
          return f(progress);
      };
      if constexpr (std::is_void_v<decltype(run())>) {
        run();
        return true;
      } else {
        return static_cast<bool>(run());
      }
    };
    return {call, takes_model};
  }
};

/// The callbacks of a trainer, in the order in which they were added.
struct Callbacks {
  std::vector<Callback> list = {};

  void add(Callback callback, bool each_epoch, double interval, bool on_calling_thread) {
    if (!callback.call) return;
    callback.each_epoch = each_epoch;
    callback.interval = interval;
    callback.on_calling_thread = on_calling_thread;
    list.push_back(std::move(callback));
  }
  /// Returns whether there is one of epochs, and whether there is one of progress that takes the
  /// model.
  bool has_epochs() const noexcept {
    for (const Callback& callback : list)
      if (callback.each_epoch) return true;
    return false;
  }
  bool has_progress_with_model() const noexcept {
    for (const Callback& callback : list)
      if (!callback.each_epoch && callback.takes_model) return true;
    return false;
  }
};

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
template <class C>
inline constexpr bool watches_progress = HasOnProgress<C> || HasOnProgress<C, Model>;
template <class C>
inline constexpr bool watches_epochs = HasOnEpoch<C> || HasOnEpoch<C, Model>;

/// Adds a callback of any form: a function, an object, or a std::reference_wrapper of one.
template <class C>
void add_callback(Callbacks& callbacks, std::shared_ptr<C> object, bool on_calling_thread) {
  double interval = 1;
  if constexpr (requires { object->interval(); })
    interval = std::chrono::duration<double>(object->interval()).count();
  if constexpr (watches_progress<C>)
    callbacks.add(
        Callback::from([object]<class... More>(
            const Progress& progress, const More&... more) requires HasOnProgress<C, More...> {
          return object->on_progress(progress, more...);
        }),
        false, interval, on_calling_thread);
  if constexpr (watches_epochs<C>)
    callbacks.add(
        Callback::from([object]<class... More>(
            const Progress& progress, const More&... more) requires HasOnEpoch<C, More...> {
          return object->on_epoch(progress, more...);
        }),
        true, interval, on_calling_thread);
}
template <class C>
void add_callback(Callbacks& callbacks, C callback, bool on_calling_thread = false) {
  if constexpr (watches_progress<C> || watches_epochs<C>)
    add_callback(callbacks, std::make_shared<C>(std::move(callback)), on_calling_thread);
  else
    callbacks.add(Callback::from(std::move(callback)), false, 1, on_calling_thread);
}
template <class C>
void add_callback(Callbacks& callbacks, std::reference_wrapper<C> callback,
                  bool on_calling_thread = false) {
  if constexpr (watches_progress<C> || watches_epochs<C>)
    add_callback(callbacks, std::shared_ptr<C>(std::shared_ptr<C>(), &callback.get()),
                 on_calling_thread);
  else
    callbacks.add(Callback::from(callback), false, 1, on_calling_thread);
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
