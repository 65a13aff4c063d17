#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/cuda/detail/sentence.hpp>
#include <wordloom/optimizer/ada_grad.hpp>
#include <wordloom/optimizer/adam.hpp>
#include <wordloom/optimizer/detail/optimizer_steps.hpp>
#include <wordloom/optimizer/detail/state_rows.hpp>
#include <wordloom/optimizer/rms_prop.hpp>
#include <wordloom/optimizer/row_ada_grad.hpp>
#include <wordloom/optimizer/sgd.hpp>

/// The optimizers on a device, as functions of a row in the registers of a team.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// The state matrices of one side, in the order of RowStep::state; of the stride of the model,
/// or 1.
struct StateView {
  float* matrix[3];
};

/// Returns 1 / (1 - beta^steps), the bias correction of Adam, from the logarithm of beta; 1 for a
/// beta of 0.
WORDLOOM_BOTH float bias_correction(float log_of_beta, float steps) {
  return -1.0f / std::expm1(log_of_beta * steps);
}

/// RowStep<Optimizer> has `state(optimizer)`, the list of its state matrices. It is constructed
/// from the optimizer and the dimension, and called as step(team, state, row, x, gradient, rate)
/// with a row of the model and its gradient in the registers of a RowTeam. It changes x and the row
/// of the state.
template <class Optimizer>
struct RowStep;

template <>
struct RowStep<Sgd> {
  static std::vector<detail::StateMatrix> state(const Sgd&) { return {}; }
  RowStep(const Sgd&, std::size_t) {}

  template <class Team, std::size_t R, class Lanes>
  WORDLOOM_BOTH void operator()(const Team&, const StateView&, std::uint32_t, Lanes (&x)[R],
                                const Lanes (&gradient)[R], float rate) const {
    add_scaled(x, rate, gradient);
  }
};

template <>
struct RowStep<AdaGrad> {
  static std::vector<detail::StateMatrix> state(const AdaGrad& optimizer) {
    return {optimizer.state()};
  }
  RowStep(const AdaGrad& optimizer, std::size_t dimension)
      : per_column_(1.0f / static_cast<float>(dimension)),
        epsilon_(static_cast<float>(optimizer.epsilon)),
        per_row_(optimizer.per_row) {}

  template <class Team, std::size_t R, class Lanes>
  WORDLOOM_BOTH void operator()(const Team& team, const StateView& state, std::uint32_t row,
                                Lanes (&x)[R], const Lanes (&gradient)[R], float rate) const {
    if (per_row_) {
      float* const at = state.matrix[0] + row;
      const float sum = team.read(at) + team.sum(partial_dot(gradient, gradient)) * per_column_;
      team.write(at, sum);
      add_scaled(x, rate / (std::sqrt(sum) + epsilon_), gradient);
      return;
    }
    float* const at = state.matrix[0] + std::size_t{row} * (Team::width * R);
    Lanes sums[R];
    team.load_own(sums, at);
    WORDLOOM_UNROLL
    for (std::size_t r = 0; r < R; ++r) {
      sums[r] = sums[r] + gradient[r] * gradient[r];
      x[r] = team.each([&](int l) {
        return team.own(x[r], l) +
               rate * team.own(gradient[r], l) / (std::sqrt(team.own(sums[r], l)) + epsilon_);
      });
    }
    team.store_own(at, sums);
  }

 private:
  float per_column_, epsilon_;
  bool per_row_;
};

template <>
struct RowStep<RowAdaGrad> {
  static std::vector<detail::StateMatrix> state(const RowAdaGrad&) { return {RowAdaGrad::state}; }
  RowStep(const RowAdaGrad& optimizer, std::size_t dimension)
      : per_column_(1.0f / static_cast<float>(dimension)),
        start_sum_(static_cast<float>(optimizer.start_sum)) {}

  template <class Team, std::size_t R, class Lanes>
  WORDLOOM_BOTH void operator()(const Team& team, const StateView& state, std::uint32_t row,
                                Lanes (&x)[R], const Lanes (&gradient)[R], float rate) const {
    float* const at = state.matrix[0] + row;
    const float before = team.read(at);
    team.write(at, before + team.sum(partial_dot(gradient, gradient)) * per_column_);
    add_scaled(x, rate / std::sqrt(std::sqrt(before + start_sum_)), gradient);
  }

 private:
  float per_column_, start_sum_;
};

template <>
struct RowStep<RmsProp> {
  static std::vector<detail::StateMatrix> state(const RmsProp&) { return {RmsProp::state}; }
  RowStep(const RmsProp& optimizer, std::size_t) : constants_(optimizer.constants()) {}

  template <class Team, std::size_t R, class Lanes>
  WORDLOOM_BOTH void operator()(const Team& team, const StateView& state, std::uint32_t row,
                                Lanes (&x)[R], const Lanes (&gradient)[R], float rate) const {
    float* const at = state.matrix[0] + std::size_t{row} * (Team::width * R);
    Lanes squares[R];
    team.load_own(squares, at);
    WORDLOOM_UNROLL
    for (std::size_t r = 0; r < R; ++r) {
      squares[r] = constants_.decay * squares[r] + constants_.rest * (gradient[r] * gradient[r]);
      x[r] = team.each([&](int l) {
        return team.own(x[r], l) + rate * team.own(gradient[r], l) /
                                       (std::sqrt(team.own(squares[r], l)) + constants_.epsilon);
      });
    }
    team.store_own(at, squares);
  }

 private:
  simd::RmsPropConstants constants_;
};

template <>
struct RowStep<Adam> {
  static std::vector<detail::StateMatrix> state(const Adam&) {
    return {std::begin(Adam::state), std::end(Adam::state)};
  }
  RowStep(const Adam& optimizer, std::size_t)
      : adam_(optimizer.constants()),
        logs_{static_cast<float>(adam_.log_of1), static_cast<float>(adam_.log_of2)} {
    if (optimizer.dense)
      throw InvalidArgument("a kernel on a device needs an Adam that is not dense");
  }

  template <class Team, std::size_t R, class Lanes>
  WORDLOOM_BOTH void operator()(const Team& team, const StateView& state, std::uint32_t row,
                                Lanes (&x)[R], const Lanes (&gradient)[R], float rate) const {
    constexpr float last = 1 << 24;  // the count stops here, as on the host
    float* const count = state.matrix[2] + row;
    float steps = team.read(count) + 1;
    steps = steps < last ? steps : last;
    team.write(count, steps);
    const float scale = rate * bias_correction(logs_[0], steps);
    const float root_scale = std::sqrt(bias_correction(logs_[1], steps));
    const std::size_t place = std::size_t{row} * (Team::width * R);
    Lanes means[R], squares[R];
    team.load_own(means, state.matrix[0] + place);
    team.load_own(squares, state.matrix[1] + place);
    WORDLOOM_UNROLL
    for (std::size_t r = 0; r < R; ++r) {
      means[r] = adam_.beta1 * means[r] + adam_.rest1 * gradient[r];
      squares[r] = adam_.beta2 * squares[r] + adam_.rest2 * (gradient[r] * gradient[r]);
      x[r] = team.each([&](int l) {
        return team.own(x[r], l) +
               scale * team.own(means[r], l) /
                   (root_scale * std::sqrt(team.own(squares[r], l)) + adam_.epsilon);
      });
    }
    team.store_own(state.matrix[0] + place, means);
    team.store_own(state.matrix[1] + place, squares);
  }

 private:
  simd::AdamConstants adam_;
  float logs_[2];  // logarithms of both betas
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
