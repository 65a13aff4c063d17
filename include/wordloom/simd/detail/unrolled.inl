#undef WORDLOOM_INLINED
#define WORDLOOM_INLINED HWY_ATTR __attribute__((always_inline))

HWY_BEFORE_NAMESPACE();
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {

/// Indices as a pack (UpTo: 0 to N - 1), for loops that are unrolled as folds. GCC keeps an array
/// in registers only if all of its indices are constants before its optimiser begins: a loop, even
/// if unrolled, is not enough.
template <std::size_t... k>
using Indices = std::index_sequence<k...>;
template <std::size_t N>
using UpTo = std::make_index_sequence<N>;

/// Calls `use` with 0 .. N - 1 as integral constants. Shorter to write than folds, but longer to
/// compile: for functions with few sizes.
template <std::size_t N, class Use>
HWY_INLINE void unrolled(Use&& use) {
  [&]<std::size_t... k>(Indices<k...>) WORDLOOM_INLINED {
    (use(std::integral_constant<std::size_t, k>()), ...);
  }
  (UpTo<N>());
}

}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
