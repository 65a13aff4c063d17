#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/error.hpp>

#if WORDLOOM_HAS_LIBLINEAR
#include <linear.h>  // declares ::train, ::predict, ::problem, ::parameter and ::model
#endif

/// Linear classifiers, for evaluations that classify vectors: logistic regression and SVM.
/// LIBLINEAR trains it (Fan et al. 2008, "LIBLINEAR: A Library for Large Linear Classification");
/// without that library only the options are available.
namespace wordloom { inline namespace WORDLOOM_ABI {

/// Options of training a linear classifier; the defaults are those of scikit-learn's
/// LogisticRegression with its solver liblinear.
struct LogisticOptions {
  /// The loss of a row with y (w x + b) = m: log(1 + exp(-m)), or max(0, 1 - m)^2, that of a linear
  /// support vector machine, as scikit-learn's LinearSVC has it.
  enum class Loss { logistic, squared_hinge } loss = Loss::logistic;
  /// C, the weight of the loss against the regulariser; above 0.
  double cost = 1;
  /// Training ends when the gradient has fallen to this fraction of its length at the start, times
  /// the share of the rarer class; above 0.
  double tolerance = 1e-4;
  /// True if both classes have the same weight in the loss, however many rows they have: C is
  /// multiplied by n / (2 n_class), as by scikit-learn's class_weight "balanced".
  bool balanced = false;
};

#if WORDLOOM_HAS_LIBLINEAR

namespace detail {

/// Rows of features [n x D] and a constant 1 after each, as LIBLINEAR reads them: 16 (D + 2) bytes
/// a row. Thread-safe while no row is added.
class FeatureRows {
 public:
  /// Throws InvalidArgument for a dimension of 0 or above 2^31 - 3.
  explicit FeatureRows(std::size_t dimension) : dimension_(dimension) {
    if (dimension == 0 || dimension > max_int - 2)
      throw InvalidArgument{"features have a dimension of ", dimension, ", must be 1 to ",
                            max_int - 2};
  }

  std::size_t size() const noexcept { return nodes_.size() / (dimension_ + 2); }
  std::size_t dimension() const noexcept { return dimension_; }

  void reserve(std::size_t rows) { nodes_.reserve(rows * (dimension_ + 2)); }

  /// Adds a row of `features` [D]. Throws InvalidArgument unless there are D of them and all are
  /// finite, and for more than 2^31 - 1 rows.
  void append(std::span<const float> features);

  const feature_node* row(std::size_t i) const& noexcept {
    return nodes_.data() + i * (dimension_ + 2);
  }
  void row(std::size_t i) const&& = delete;

 private:
  static constexpr std::size_t max_int = (std::numeric_limits<int>::max)();

  std::size_t dimension_;
  std::vector<feature_node> nodes_;
};

/// Logistic regression, or a linear SVM, with L2 regularisation: minimises
///   (|w|^2 + b^2) / 2 + C sum over rows of log(1 + exp(-y (w x + b))),   y = 1 or -1,
/// or with the other loss in place of the logarithm, by LIBLINEAR's trust region Newton method
/// (Lin, Weng and Keerthi 2008). Like scikit-learn's solver liblinear, it regularises the bias b
/// too. Immutable; all members are thread-safe.
class LogisticRegression {
 public:
  /// Trains on all rows; `positive[i]` != 0 if row i is in the positive class. Throws as the other
  /// fit().
  [[nodiscard]] static LogisticRegression fit(const FeatureRows& features,
                                              std::span<const std::uint8_t> positive,
                                              const LogisticOptions& options = {}) {
    std::vector<std::uint32_t> all(features.size());
    std::iota(all.begin(), all.end(), 0u);
    return fit(features, all, positive, options);
  }

  /// Trains on the rows `chosen`; `positive[i]` != 0 if row chosen[i] is in the positive class.
  /// Deterministic, and may run in several threads at a time; LIBLINEAR prints nothing from then on
  /// in the whole process. Throws InvalidArgument unless both classes have a row and there are as
  /// many labels as rows, and for options outside their bounds.
  [[nodiscard]] static LogisticRegression fit(const FeatureRows& features,
                                              std::span<const std::uint32_t> chosen,
                                              std::span<const std::uint8_t> positive,
                                              const LogisticOptions& options = {});

  std::size_t dimension() const noexcept { return weights_.size(); }
  /// Returns w [D].
  std::span<const double> weights() const& noexcept { return weights_; }
  void weights() const&& = delete;
  double bias() const noexcept { return bias_; }

  /// Returns w x + b for `features` x [D], above 0 for the positive class.
  [[nodiscard]] double decision(std::span<const float> features) const noexcept {
    double sum = bias_;
    for (std::size_t d = 0; d < weights_.size(); ++d)
      sum += weights_[d] * static_cast<double>(features[d]);
    return sum;
  }

  /// Returns the probability of the positive class in a logistic regression, 1 / (1 +
  /// exp(-decision)).
  [[nodiscard]] double probability(std::span<const float> features) const noexcept {
    return 1 / (1 + std::exp(-decision(features)));
  }

 private:
  LogisticRegression() = default;

  /// LIBLINEAR has this option from version 2.40 on; before, it always regularised the bias.
  template <class Settings>
  static void regularize_bias(Settings& settings) {
    if constexpr (requires { settings.regularize_bias; }) settings.regularize_bias = 1;
  }

  static void check_classes(const FeatureRows& features, std::span<const std::uint32_t> chosen,
                            std::span<const std::uint8_t> positive, const LogisticOptions& options);

  std::vector<double> weights_;
  double bias_ = 0;
};

inline void FeatureRows::append(std::span<const float> features) {
  if (features.size() != dimension_)
    throw InvalidArgument{"a row of features has ", features.size(), " numbers, the others ",
                          dimension_};
  if (!detail::all_finite(features))
    throw InvalidArgument{"row ", size(), " of the features is not finite"};
  if (size() == max_int)
    throw InvalidArgument{"there are more than ", max_int, " rows of features"};
  int index = 0;
  for (const float x : features) nodes_.push_back({++index, static_cast<double>(x)});
  nodes_.push_back({++index, 1.0});
  nodes_.push_back({-1, 0.0});  // marks the end of a row
}

inline LogisticRegression LogisticRegression::fit(const FeatureRows& features,
                                                  std::span<const std::uint32_t> chosen,
                                                  std::span<const std::uint8_t> positive,
                                                  const LogisticOptions& options) {
  static const bool silenced = (set_print_string_function([](const char*) {}), true);
  static_cast<void>(silenced);
  check_classes(features, chosen, positive, options);
  std::vector<double> classes(chosen.size());
  std::vector<feature_node*> rows(chosen.size());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    classes[i] = positive[i] != 0 ? 1.0 : -1.0;
    // LIBLINEAR only reads them.
    rows[i] = const_cast<feature_node*>(features.row(chosen[i]));
  }
  problem task{};
  task.l = static_cast<int>(chosen.size());
  task.n = static_cast<int>(features.dimension() + 1);
  task.y = classes.data();
  task.x = rows.data();
  task.bias = 1;
  parameter settings{};
  const bool is_logistic = options.loss == LogisticOptions::Loss::logistic;
  settings.solver_type = is_logistic ? L2R_LR : L2R_L2LOSS_SVC;
  settings.eps = options.tolerance;
  settings.C = options.cost;
  regularize_bias(settings);
  int labels[] = {1, -1};
  const auto positives = static_cast<double>(std::count(classes.begin(), classes.end(), 1.0));
  const double half = static_cast<double>(classes.size()) / 2;
  double weights[] = {half / positives, half / (2 * half - positives)};
  if (options.balanced) {
    settings.nr_weight = 2;
    settings.weight_label = labels;
    settings.weight = weights;
  }
  if (const char* const error = ::check_parameter(&task, &settings))
    throw InvalidArgument{"LIBLINEAR refuses its parameters: ", error};
  struct Free {
    void operator()(model* trained) const noexcept { free_and_destroy_model(&trained); }
  };
  const std::unique_ptr<model, Free> trained(::train(&task, &settings));
  LogisticRegression result;
  // The weights are those of class 1, whichever class comes first.
  result.weights_.assign(trained->w, trained->w + task.n);
  result.bias_ = result.weights_.back();
  result.weights_.pop_back();
  return result;
}

inline void LogisticRegression::check_classes(const FeatureRows& features,
                                              std::span<const std::uint32_t> chosen,
                                              std::span<const std::uint8_t> positive,
                                              const LogisticOptions& options) {
  for (const auto& [name, value] :
       {std::pair{"cost", options.cost}, std::pair{"tolerance", options.tolerance}})
    if (!(value > 0) || !detail::is_finite(value))
      throw InvalidArgument{name, " is ", value, ", must be finite and above 0"};
  if (chosen.size() != positive.size())
    throw InvalidArgument{"logistic regression needs one label for each row, got ", chosen.size(),
                          " rows and ", positive.size(), " labels"};
  for (const std::uint32_t row : chosen)
    if (row >= features.size())
      throw InvalidArgument{"row ", row, " is chosen of ", features.size(), " rows of features"};
  const auto negatives = std::count(positive.begin(), positive.end(), std::uint8_t{0});
  if (negatives == 0 || static_cast<std::size_t>(negatives) == positive.size())
    throw InvalidArgument{"logistic regression needs rows of both classes, got ", negatives,
                          " negative ones of ", positive.size()};
}

}  // namespace detail

#endif
}}  // namespace wordloom::WORDLOOM_ABI
