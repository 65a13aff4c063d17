#undef WORDLOOM_INLINED
#define WORDLOOM_INLINED HWY_ATTR __attribute__((always_inline))

HWY_BEFORE_NAMESPACE();
namespace wordloom::inline WORDLOOM_ABI::simd::HWY_NAMESPACE {

/// Calls `use` with 0 .. N - 1 as integral constants. GCC keeps an array in registers only when all
/// of its indices are constants before its optimiser begins: a loop, even if unrolled, is not
/// enough.
template <std::size_t N, class Use>
HWY_INLINE void unrolled(Use&& use) {
  [&]<std::size_t... k>(std::index_sequence<k...>) WORDLOOM_INLINED {
    (use(std::integral_constant<std::size_t, k>()), ...);
  }
  (std::make_index_sequence<N>());
}

}  // namespace wordloom::inline WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
