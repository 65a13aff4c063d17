#pragma once

/// Trainers that are chosen at run time, by the names of registry.hpp. All of them take two minutes
/// to compile: once, in the CMake target wordloom::any_trainer; without it, in each file that
/// includes this header.
#include <string_view>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/train/any_trainer.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Returns a trainer of this sampler and this kernel, by their names: make_trainer("grouped",
/// "fused", {.dimension = 128}). Samplers are those of Samplers, StratumSamplers, ColumnSamplers
/// (with a corpus of sentences) and, with the kernel gemm, PublishedSamplers; kernels those of
/// Kernels and, for one process and RowSamplers, RowKernels. Kernels for GPUs have no names here.
///
/// Throws InvalidArgument for a name that does not exist, with those that do; for names that do not
/// go together; and as the constructors of Trainer do.
[[nodiscard]] AnyTrainer make_trainer(std::string_view sampler, std::string_view kernel,
                                      const Hyperparameters& parameters = {},
                                      const AnyTrainer::Options& options = {});

}}  // namespace wordloom::WORDLOOM_ABI

// 1 in programs that link wordloom::any_trainer, 0 in that file of it which defines make_trainer.
#if !WORDLOOM_PRECOMPILED_TRAINERS
#include <optional>
#include <string>
#include <type_traits>

#include <wordloom/core/error.hpp>
#include <wordloom/optimizer/detail/any_optimizer.hpp>
#include <wordloom/registry.hpp>
#if !defined(WORDLOOM_PRECOMPILED_TRAINERS)
#include <wordloom/train/detail/composition.hpp>
#endif

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// Throws InvalidArgument for a kernel, optimizer or kind of input vectors that does not go with
/// the other choices of a method.
inline void require_match(const Method& method, std::string_view kernel) {
  const auto& [sampler, parameters, options] = method;
  const bool sgd = options.optimizer == "sgd";
  const auto require = [](bool goes, std::string_view what, std::string_view with,
                          std::string_view got) {
    if (!goes) throw InvalidArgument{what, " goes with ", with, ", not ", got};
  };
  const std::string optimizer = "the optimizer " + options.optimizer;
  if (Policies::PublishedSamplers::contains(sampler)) {
    require(kernel == "gemm", joined({"the sampler ", sampler}), "the kernel gemm", kernel);
    require(sgd, joined({"the sampler ", sampler}), "the optimizer sgd", options.optimizer);
  }
  if (Policies::StratumSamplers::contains(sampler))
    require(sgd, joined({"the sampler ", sampler}), "the optimizer sgd", options.optimizer);
  if (Policies::RowKernels::contains(kernel)) {
    const std::string what = joined({"the kernel ", kernel});
    require(Policies::RowSamplers::contains(sampler), what,
            "the samplers " + Policies::RowSamplers::names(), sampler);
    require(sgd, what, "the optimizer sgd", options.optimizer);
    require(options.subwords.maxn == 0, what, "whole words", "subwords");
    require(options.sync.size() == 1, what, "one process", std::to_string(options.sync.size()));
  }
  if (options.subwords.maxn > 0)
    require(Policies::SubwordSamplers::contains(sampler), "a model with subwords",
            "the samplers " + Policies::SubwordSamplers::names(), sampler);
  if (options.char_cnn) {
#if WORDLOOM_HAS_BLAS
    const std::string_view what = "a character CNN";
    require(Policies::EncodedSamplers::contains(sampler), what,
            "the samplers " + Policies::EncodedSamplers::names(), sampler);
    require(kernel == "fused", what, "the kernel fused", kernel);
    require(sgd, what, "the optimizer sgd", options.optimizer);
    require(options.subwords.maxn == 0, what, "whole words", "subwords");
#else
    throw InvalidArgument("a character CNN needs a build with CBLAS (WORDLOOM_ENABLE_BLAS)");
#endif
  }
  if (sgd || Policies::ColumnSamplers::contains(sampler)) return;
  require(options.subwords.maxn == 0, optimizer, "whole words", "subwords");
  const std::string_view only = options.optimizer == "row-adagrad" ? "fused" : "dot";
  require(kernel == only, optimizer, joined({"the kernel ", only}), kernel);
}

/// Calls `use.operator()<Kernel>(kernel)` with a kernel by its name and the optimizer of a method.
template <class Use>
void with_kernel_of(const Method& method, std::string_view kernel, Use&& use) {
  Policies::Kernels::with(kernel, [&]<class Kernel>() {
    Policies::Optimizers::with(method.options.optimizer, [&]<class Optimizer>() {
      if constexpr (std::is_same_v<Optimizer, Sgd>)
        use(Kernel());
      else if constexpr (std::is_same_v<Optimizer, RowAdaGrad>)
        use(WithOptimizer<Kernel, RowAdaGrad>());
      else
        use(WithOptimizer<Kernel, AnyOptimizer>{.kernel = {},
                                                .optimizer = AnyOptimizer(Optimizer())});
    });
  });
}

}  // namespace detail

inline AnyTrainer make_trainer(std::string_view sampler, std::string_view kernel,
                               const Hyperparameters& parameters,
                               const AnyTrainer::Options& options) {
  const auto require_name = [](bool exists, const char* kind, std::string_view name,
                               const std::string& names) {
    if (!exists)
      throw InvalidArgument{"there is no ", kind, " '", name, "', choose one of: ", names};
  };
#if !WORDLOOM_HAS_BLAS
  for (const std::string_view name : {"gemm", "indexed", "decoupled"})
    if (sampler == name || kernel == name)
      throw InvalidArgument{name, " needs a build with CBLAS (WORDLOOM_ENABLE_BLAS)"};
#endif
  const bool columns = Policies::ColumnSamplers::contains(sampler),
             strata = Policies::StratumSamplers::contains(sampler);
  require_name(columns || strata || Policies::Samplers::contains(sampler) ||
                   Policies::PublishedSamplers::contains(sampler),
               "sampler", sampler,
               Policies::Samplers::names() + ", " + Policies::StratumSamplers::names() + ", " +
                   Policies::ColumnSamplers::names() + ", " + Policies::PublishedSamplers::names());
  require_name(Policies::Kernels::contains(kernel) || Policies::RowKernels::contains(kernel),
               "kernel", kernel, Policies::Kernels::names() + ", " + Policies::RowKernels::names());
  require_name(Policies::Optimizers::contains(options.optimizer), "optimizer", options.optimizer,
               Policies::Optimizers::names());
  const detail::Method method{sampler, parameters, options};
  detail::require_match(method, kernel);

  using detail::trainer_from;
  if (Policies::RowKernels::contains(kernel))
    return trainer_from<Policies::RowSamplers>(method, Bf16Kernel());
#if WORDLOOM_HAS_BLAS
  if (sampler == "indexed")
    return trainer_from<Registry<Named<"indexed", IndexedContext>>>(method, GemmKernel());
  if (sampler == "decoupled")
    return trainer_from<Registry<Named<"decoupled", DecoupledMinibatch>>>(method,
                                                                          PairsApart<GemmKernel>());
  if (options.char_cnn) return trainer_from<Policies::EncodedSamplers>(method, FusedKernel());
#endif
  std::optional<AnyTrainer> trainer;
  detail::with_kernel_of(method, kernel, [&]<class Kernel>(const Kernel& chosen) {
    constexpr bool is_plain = !requires { chosen.optimizer; };
    constexpr bool trains_rows =
        is_plain || std::is_same_v<Kernel, WithOptimizer<FusedKernel, RowAdaGrad>> ||
        std::is_same_v<Kernel, WithOptimizer<DotKernel, detail::AnyOptimizer>>;
    if (columns) {
      trainer = trainer_from<Policies::ColumnSamplers>(method, chosen);
      return;
    }
    if constexpr (is_plain) {
      if (strata) {
        trainer = trainer_from<Policies::StratumSamplers>(method, chosen);
        return;
      }
      if (options.subwords.maxn > 0) {
        trainer = trainer_from<Policies::SubwordSamplers>(method, chosen);
        return;
      }
    }
    if constexpr (trains_rows) trainer = trainer_from<Policies::Samplers>(method, chosen);
  });
  return std::move(*trainer);
}

}}  // namespace wordloom::WORDLOOM_ABI
#endif
