HWY_BEFORE_NAMESPACE();
namespace wordloom { inline namespace WORDLOOM_ABI { namespace simd { namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_ATTR inline void sgd_step(float* row, const float* gradient, std::size_t stride,
                              float rate) noexcept {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto scale = hn::Set(d, rate);
  for_columns<4>(stride, [&]<std::size_t V>(std::size_t first) WORDLOOM_INLINED {
    unrolled<V>([&](auto v) WORDLOOM_INLINED {
      const std::size_t c = first + v * lanes;
      store_row(d, hn::MulAdd(scale, hn::Load(d, gradient + c), load_row(d, row + c)), row + c);
    });
  });
}

HWY_ATTR inline void ada_grad_step(float* row, float* sums, const float* gradient,
                                   std::size_t stride, float rate, float epsilon) noexcept {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto scale = hn::Set(d, rate), tiny = hn::Set(d, epsilon);
  for_columns<4>(stride, [&]<std::size_t V>(std::size_t first) WORDLOOM_INLINED {
    unrolled<V>([&](auto v) WORDLOOM_INLINED {
      const std::size_t c = first + v * lanes;
      const auto g = hn::Load(d, gradient + c);
      const auto sum = hn::MulAdd(g, g, load_row(d, sums + c));
      store_row(d, sum, sums + c);
      const auto change = hn::Div(hn::Mul(scale, g), hn::Add(hn::Sqrt(sum), tiny));
      store_row(d, hn::Add(load_row(d, row + c), change), row + c);
    });
  });
}

/// Adds to the single float of a row's state and returns the sum.
HWY_INLINE float add_to_float(float* at, float more) {
  const hn::CappedTag<float, 1> one;
  const auto sum = hn::Add(load_row(one, at), hn::Set(one, more));
  store_row(one, sum, at);
  return hn::GetLane(sum);
}

/// Returns the squared length of a gradient.
HWY_INLINE float squared_length(const float* gradient, std::size_t stride) {
  const RowTag d;
  auto squares = hn::Zero(d);
  for (std::size_t c = 0; c < stride; c += hn::Lanes(d)) {
    const auto g = hn::Load(d, gradient + c);
    squares = hn::MulAdd(g, g, squares);
  }
  return hn::GetLane(hn::SumOfLanes(d, squares));
}

HWY_ATTR inline void ada_grad_by_row_step(float* row, float* sum, const float* gradient,
                                          std::size_t stride, float rate, float epsilon,
                                          float per_column) noexcept {
  const float all = add_to_float(sum, squared_length(gradient, stride) * per_column);
  sgd_step(row, gradient, stride, rate / (std::sqrt(all) + epsilon));
}

HWY_ATTR inline void row_ada_grad_step(float* row, float* sum, const float* gradient,
                                       std::size_t stride, float rate, float start_sum,
                                       float per_column) noexcept {
  const float before = hn::GetLane(load_row(hn::CappedTag<float, 1>(), sum));
  add_to_float(sum, squared_length(gradient, stride) * per_column);
  sgd_step(row, gradient, stride, rate / std::sqrt(std::sqrt(before + start_sum)));
}

HWY_ATTR inline void rms_prop_step(float* row, float* squares, const float* gradient,
                                   std::size_t stride, float rate,
                                   const RmsPropConstants& constants) noexcept {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto scale = hn::Set(d, rate), epsilon = hn::Set(d, constants.epsilon);
  const auto decay = hn::Set(d, constants.decay), rest = hn::Set(d, constants.rest);
  for_columns<4>(stride, [&]<std::size_t V>(std::size_t first) WORDLOOM_INLINED {
    unrolled<V>([&](auto v) WORDLOOM_INLINED {
      const std::size_t c = first + v * lanes;
      const auto g = hn::Load(d, gradient + c);
      const auto square = hn::MulAdd(decay, load_row(d, squares + c), hn::Mul(hn::Mul(rest, g), g));
      store_row(d, square, squares + c);
      const auto change = hn::Div(hn::Mul(scale, g), hn::Add(hn::Sqrt(square), epsilon));
      store_row(d, hn::Add(load_row(d, row + c), change), row + c);
    });
  });
}

/// Returns 1 / (1 - beta^steps).
HWY_INLINE float bias_correction(double log_of_beta, float steps) {
  const double exponent = log_of_beta * static_cast<double>(steps);
  // As a float, the result is 1 from here on, and frequent rows get here soon.
  if (exponent < -18.0) return 1.0f;
  return static_cast<float>(1.0 / (1.0 - std::exp(exponent)));
}

HWY_ATTR inline void adam_step(float* row, const AdamState& state, const float* gradient,
                               std::size_t stride, float rate, const AdamConstants& adam) noexcept {
  const RowTag d;
  const std::size_t lanes = hn::Lanes(d);
  // The count stops at 2^24, where both corrections have long been 1.
  const float steps = add_to_float(state.steps, 1.0f);
  // rate x (mean x a) / (sqrt(square x b) + epsilon), with both corrections taken out of the loop.
  const auto scale = hn::Set(d, rate * bias_correction(adam.log_of1, steps));
  const auto root_scale = hn::Set(d, std::sqrt(bias_correction(adam.log_of2, steps)));
  const auto beta1 = hn::Set(d, adam.beta1), rest1 = hn::Set(d, adam.rest1);
  const auto beta2 = hn::Set(d, adam.beta2), rest2 = hn::Set(d, adam.rest2);
  const auto epsilon = hn::Set(d, adam.epsilon);
  float *const means = state.mean, *const squares = state.square;
  for_columns<4>(stride, [&]<std::size_t V>(std::size_t first) WORDLOOM_INLINED {
    unrolled<V>([&](auto v) WORDLOOM_INLINED {
      const std::size_t c = first + v * lanes;
      const auto g = hn::Load(d, gradient + c);
      const auto mean = hn::MulAdd(beta1, load_row(d, means + c), hn::Mul(rest1, g));
      const auto square =
          hn::MulAdd(beta2, load_row(d, squares + c), hn::Mul(hn::Mul(rest2, g), g));
      store_row(d, mean, means + c);
      store_row(d, square, squares + c);
      const auto change =
          hn::Div(hn::Mul(scale, mean), hn::MulAdd(root_scale, hn::Sqrt(square), epsilon));
      store_row(d, hn::Add(load_row(d, row + c), change), row + c);
    });
  });
}

inline OptimizerFunctions optimizer_table() noexcept {
  return {sgd_step,          ada_grad_step, ada_grad_by_row_step,
          row_ada_grad_step, rms_prop_step, adam_step};
}

}}}}  // namespace wordloom::WORDLOOM_ABI::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
