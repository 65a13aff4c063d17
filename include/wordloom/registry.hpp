#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <wordloom/columns.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/encoders.hpp>
#include <wordloom/kernel/bf16_kernel.hpp>
#include <wordloom/sampler/decoupled_minibatch.hpp>
#include <wordloom/sampler/grouped_cbow.hpp>
#include <wordloom/sampler/grouped_targets.hpp>
#include <wordloom/sampler/grouped_window.hpp>
#include <wordloom/sampler/huffman_path.hpp>
#include <wordloom/sampler/indexed_context.hpp>
#include <wordloom/sampler/negative_sampling.hpp>
#include <wordloom/sampler/stratified_pairs.hpp>
#include <wordloom/sampler/subwords.hpp>
#include <wordloom/systems.hpp>  // the kernels and the other samplers

/// The policies of this library by name, for programs that choose them at run time, and for tests
/// and benchmarks of all of them.
namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// A text as a template argument.
template <std::size_t N>
struct FixedString {
  char text[N] = {};
  constexpr FixedString(const char (&from)[N]) { std::copy_n(from, N, text); }
  constexpr std::string_view view() const { return {text, N - 1}; }
};

}  // namespace detail

/// A policy and its name on the command line.
template <detail::FixedString name_, class Policy>
struct Named {
  static constexpr std::string_view name = name_.view();
  using type = Policy;
};

/// A list of policies by name.
template <class... Entries>
struct Registry {
  /// Calls `use.template operator()<Policy>(name)` for each policy.
  template <class Use>
  static void for_each(Use&& use) {
    (use.template operator()<typename Entries::type>(Entries::name), ...);
  }

  /// Calls `use.template operator()<Policy>()` with the policy of that name. Throws
  /// InvalidArgument, which lists the names, if there is none.
  template <class Use>
  static void with(std::string_view name, Use&& use) {
    const bool found =
        ((name == Entries::name ? (use.template operator()<typename Entries::type>(), true)
                                : false) ||
         ...);
    if (!found) throw InvalidArgument{"there is no '", name, "', choose one of: ", names()};
  }

  /// Returns all names, with `separator` between them.
  static std::string names(std::string_view separator = ", ") {
    std::string all;
    ((all.append(all.empty() ? "" : separator).append(Entries::name)), ...);
    return all;
  }
  static constexpr bool contains(std::string_view name) { return ((name == Entries::name) || ...); }
};

/// Lists of the policies of this library, by kind.
struct Policies {
  /// Samplers of sentences, for all kernels of Kernels.
  using Samplers = Registry<
      Named<"hogwild", Hogwild>, Named<"shared", SharedNegative>,
      Named<"split", SplitSharedNegative>, Named<"minibatch", SentenceMinibatch>,
      Named<"combined", CombinedContext>, Named<"grouped", GroupedWindow>, Named<"cbow", Cbow>,
      Named<"grouped-cbow", GroupedCbow>, Named<"hogwild-hs", BasicHogwild<HuffmanPath>>,
      Named<"shared-hs", HierarchicalSoftmax>, Named<"grouped-hs", GroupedHierarchicalSoftmax>,
      Named<"cbow-hs", BasicCbow<HuffmanPath>>,
      Named<"hogwild-hs-negative", BasicHogwild<HuffmanPathAndNegatives>>,
      Named<"shared-hs-negative", BasicSharedNegative<HuffmanPathAndNegatives>>,
      Named<"cbow-hs-negative", BasicCbow<HuffmanPathAndNegatives>>>;

  /// Samplers of published systems that are used with the kernel of these systems; see systems.hpp.
  using PublishedSamplers =
      Registry<Named<"decoupled", DecoupledMinibatch>, Named<"indexed", IndexedContext>>;

  /// Samplers whose input words have subwords.
  using SubwordSamplers =
      Registry<Named<"hogwild", Subwords<Hogwild>>, Named<"shared", Subwords<SharedNegative>>,
               Named<"grouped", Subwords<GroupedWindow>>, Named<"cbow", Subwords<Cbow>>,
               Named<"grouped-cbow", Subwords<GroupedCbow>>>;

#if WORDLOOM_HAS_BLAS
  /// Samplers whose words have vectors that a character CNN computes.
  using EncodedSamplers = Registry<Named<"shared", Encoded<SharedNegative, CharCnn>>,
                                   Named<"uniform", Encoded<UniformMatrix, CharCnn>>>;
#endif

  /// Samplers that train the columns of a WordContextMatrix.
  using ColumnSamplers = Registry<Named<"uniform", UniformMatrix>>;

  /// Samplers that train by strata, for all kernels of Kernels.
  using StratumSamplers = Registry<Named<"stratified", StratifiedPairs>>;

  /// Optimizers of WithOptimizer; `sgd` is equivalent to kernels without it.
  using Optimizers =
      Registry<Named<"sgd", Sgd>, Named<"adagrad", AdaGrad>, Named<"row-adagrad", RowAdaGrad>,
               Named<"rmsprop", RmsProp>, Named<"adam", Adam>>;

  /// The targets of the centres of `hogwild`, `shared` and `cbow`. Their names are these with "-"
  /// and one of the names below; without it for "negative".
  using Targets = Registry<Named<"negative", NegativeSampling>, Named<"hs", HuffmanPath>,
                           Named<"hs-negative", HuffmanPathAndNegatives>>;

  /// Kernels on the CPU for all samplers.
  using Kernels = Registry<Named<"fused", FusedKernel>,
#if WORDLOOM_HAS_BLAS
                           Named<"gemm", GemmKernel>,
#endif
                           Named<"dot", DotKernel>>;

  /// Kernels for blocks of rows and one process only, and the samplers that programs train with
  /// them.
  using RowKernels = Registry<Named<"bf16", Bf16Kernel>>;
  using RowSamplers = Registry<Named<"shared", SharedNegative>, Named<"combined", CombinedContext>,
                               Named<"grouped", GroupedWindow>>;
};

}}  // namespace wordloom::WORDLOOM_ABI
