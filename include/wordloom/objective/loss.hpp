#pragma once
#include <cmath>

#include <wordloom/core/detail/abi.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// A sum of negative-sampling losses, -log sigma(score) of positives and -log sigma(-score) of
/// negatives (Mikolov et al. 2013b, eq. 4), kept as sum + log(product): a pair then costs a
/// multiplication and only a fold costs a logarithm. Natural logarithms.
class LossSum {
 public:
  constexpr LossSum() = default;
  constexpr LossSum(double sum, double product = 1.0) : sum_(sum), product_(product) {}

  /// `product` of both: at least 1 and below 2^500.
  LossSum& operator+=(const LossSum& other) {
    sum_ += other.sum_;
    product_ *= other.product_;
    if (!(product_ < 0x1p500)) {  // written so that NaN is folded and stays visible
      sum_ += std::log(product_);
      product_ = 1.0;
    }
    return *this;
  }

  double value() const { return sum_ + std::log(product_); }

 private:
  double sum_ = 0.0;
  double product_ = 1.0;
};

}}  // namespace wordloom::WORDLOOM_ABI
