#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/parameters.hpp>
#include <wordloom/corpus/word_context_matrix.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/kernel/detail/packed_rows.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/schedule/schedules.hpp>
#include <wordloom/sync/any_sync.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/train/any_trainer.hpp>
#include <wordloom/train/trainer.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Returns the options of the matrix of a sampler that trains columns.
inline WordContextMatrix::Options contexts_of(const Method& method) {
  const Hyperparameters& p = method.parameters;
  return {.columns = method.options.context_size,
          .window = p.window,
          .subsample = p.subsample,
          .seed = p.seed,
          .threads = p.threads,
          .file = method.options.contexts};
}

/// Returns the hyperparameters of a trainer, which reads none of those of the matrix.
template <bool columns>
Hyperparameters read_by_trainer(Hyperparameters parameters) {
  constexpr Hyperparameters defaults;
  if (columns) {
    parameters.window = defaults.window;
    parameters.subsample = defaults.subsample;
  }
  return parameters;
}

/// Returns the trainer of these policies with the method's schedule and ranks.
template <class Sampler, class Kernel>
AnyTrainer trainer_of(const Method& method, const Kernel& kernel) {
  constexpr bool columns = has_two_steps<Sampler>, alone = PacksRows<KernelRun<Kernel>>;
  using Sync = std::conditional_t<alone, NoSync, AnySync<Model, owns_rows<Sampler>>>;
  auto sampler = policy_from<Sampler>(method.parameters);
  if constexpr (requires { sampler.subwords; }) sampler.subwords = method.options.subwords;
  Sync sync;
  if constexpr (!alone) sync = Sync(method.options.sync);
  return AnyTrainer(std::make_unique<ErasedTrainerOf<Sampler, Kernel, Sync, AnySchedule>>(
      contexts_of(method), read_by_trainer<columns>(method.parameters), std::move(sampler), kernel,
      std::move(sync),
      AnySchedule(method.options.schedule, method.parameters,
                  owns_rows<Sampler> ? 1 : method.options.sync.size())));
}

template <class Choices, class Kernel>
AnyTrainer trainer_from(const Method& method, const Kernel& kernel) {
  std::optional<AnyTrainer> trainer;
  Choices::with(method.sampler, [&]<class Sampler>() {
    if constexpr (!Block::Features::used_by<Sampler>().bags || features_honoured<Kernel>().bags)
      trainer = trainer_of<Sampler>(method, kernel);
    else
      throw InvalidArgument{"the sampler ", method.sampler, " has bags, which the optimizer ",
                            method.options.optimizer, " does not train"};
  });
  return std::move(*trainer);
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
