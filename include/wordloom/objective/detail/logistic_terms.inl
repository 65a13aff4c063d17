// The objective, defined once for all machines. Included inside of a namespace where WORDLOOM_TERM
// gives the attributes of its functions: by logistic.inl for the vectors of each target, by
// float_pair.hpp for a float on the host or on a device.

/// A scored pair of rows, or a vector of pairs (Mikolov et al. 2013b, eq. 4). The loss of a pair is
/// -log sigma(score) for label 1, -log sigma(-score) for label 0. With z = -score for label 1 and z
/// = score for label 0,
///
///     loss     = -log sigma(-z) = max(z, 0) + log(1 + e), where e = exp(-|z|),
///     gradient = (label - sigma(score)) * |weight| = sigma(z) * weight,
///
/// which is precise where 1 - sigma(score) would cancel. `weight` is above 0 for label 1, below 0
/// for label 0. `Operations` are those of a machine on its `Value`.
template <class Operations>
struct LogisticPair {
  using Value = typename Operations::Value;
  Value weight, z, e;

  WORDLOOM_TERM LogisticPair(Value score, Value signed_weight)
      : weight(signed_weight),
        z(Operations::negate_positive(score, signed_weight)),
        e(Operations::exp_minus_abs(z)) {}

  /// Returns the gradient times the learning rate.
  WORDLOOM_TERM Value gradient(Value rate) const {
    return Operations::sigmoid_times(Operations::multiply(rate, weight), z, e);
  }
  /// Returns max(z, 0): the loss without log(1 + e), which callers sum up in their own way.
  WORDLOOM_TERM Value linear_loss() const { return Operations::positive_part(z); }
};
