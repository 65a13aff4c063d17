#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/encoder/detail/max_over_time.hpp>
#include <wordloom/model/model.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Input of the character CNN: the bytes of a word between a begin and an end symbol.
inline constexpr std::uint32_t begin_of_word = 256, end_of_word = 257, symbol_count = 258;

inline void append_symbols(std::string_view word, std::vector<std::uint32_t>& symbols) {
  symbols.push_back(begin_of_word);
  for (const char c : word) symbols.push_back(static_cast<unsigned char>(c));
  symbols.push_back(end_of_word);
}

inline constexpr std::size_t max_filter_width = 32;

/// The sizes of a CharCnn.
struct CharCnnShape {
  std::size_t character_dimension, min_width, max_width, filters;
  std::size_t positions;  // of windows that are flattened; 0: max over time

  bool operator==(const CharCnnShape&) const = default;
  std::string text() const {
    return joined(
        {filters, " filters of each width from ", min_width, " to ", max_width,
         " over bytes of dimension ", character_dimension,
         positions == 0 ? std::string() : joined({", flattened over ", positions, " positions"})});
  }
};

/// The parameters of a CharCnn: names, and matrices that are those of a model's state or copies.
class CharCnnParameters {
 public:
  enum Place : std::size_t { characters, dense, dense_bias, biases, first_filters };

  /// Adds parameters to a model without, drawn from `seed`: embeddings and filters such that sums
  /// of windows have variance 1, and a dense layer such that vectors are as small as word2vec's.
  static void add_to(Model& model, const CharCnnShape& shape, std::uint64_t seed);

  /// Takes the parameters from a list of matrices, where they stay. Throws InvalidArgument when it
  /// has none, or not those of one network for vectors of dimension D.
  CharCnnParameters(std::vector<NamedMatrix>& state, std::size_t dimension);

  static bool are_in(const std::vector<NamedMatrix>& state) {
    for (const NamedMatrix& named : state)
      if (named.name == prefix + "characters") return true;
    return false;
  }

  RowMatrix& matrix(std::size_t place) noexcept { return matrices_[place].matrix; }
  const RowMatrix& matrix(std::size_t place) const noexcept { return matrices_[place].matrix; }
  /// Returns all, in the order of Place, then the filters by width.
  const std::vector<NamedMatrix>& matrices() const noexcept { return matrices_; }
  CharCnnShape shape() const noexcept {
    return {matrix(characters).columns(), width(0), width(widths() - 1), filters(), positions()};
  }
  std::size_t widths() const noexcept { return matrices_.size() - first_filters; }
  std::size_t width(std::size_t i) const noexcept { return min_width_ + i; }
  /// Returns F.
  std::size_t filters() const noexcept { return matrix(biases).columns(); }
  /// Returns the windows that a filter has features of, 0 for the largest alone.
  std::size_t positions() const noexcept {
    const std::size_t windows = features() / (widths() * filters());
    return windows == 1 ? 0 : windows;
  }
  /// Returns H.
  std::size_t features() const noexcept { return matrix(dense).rows(); }

 private:
  inline static const std::string prefix = "char_cnn.";

  static std::string filters_of(std::size_t width) {
    return std::string("filters.").append(std::to_string(width));
  }
  bool take(std::vector<NamedMatrix>& state, const std::string& name);
  [[noreturn]] static void refuse() {
    throw InvalidArgument(
        "the matrices of the model's character CNN do not fit together: the model is damaged");
  }

  std::vector<NamedMatrix> matrices_;
  std::size_t min_width_ = 0;
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void CharCnnParameters::add_to(Model& model, const CharCnnShape& shape,
                                                 std::uint64_t seed) {
  const auto [character_dimension, min_width, max_width, filters, positions] = shape;
  const std::size_t widths = max_width - min_width + 1;
  const std::size_t features = widths * filters * (std::max)(positions, std::size_t{1});
  std::uint64_t stream = ~std::uint64_t{0};  // rows of the model have the first ones
  const auto add = [&](const std::string& name, std::size_t rows, std::size_t columns,
                       double variance) {
    RowMatrix& matrix = model.state_matrix(prefix + name, rows, columns);
    const double most = std::sqrt(3 * variance);
    Random random(seed, stream--, ~std::uint64_t{0});
    for (std::size_t row = 0; row < rows; ++row)
      for (float& x : matrix.row(row)) x = static_cast<float>((2 * random.uniform() - 1) * most);
  };
  const auto inverse = [](std::size_t n) { return 1 / static_cast<double>(n); };
  const double bound = inverse(model.dimension());
  add("characters", symbol_count, character_dimension, 1);
  add("dense", features, model.dimension(), bound * bound * inverse(features));
  add("dense_bias", 1, model.dimension(), 0);
  add("biases", widths, filters, 0);
  for (std::size_t width = min_width; width <= max_width; ++width)
    add(filters_of(width), width * character_dimension, filters,
        inverse(width * character_dimension));
}

WORDLOOM_FUNCTION CharCnnParameters::CharCnnParameters(std::vector<NamedMatrix>& state,
                                                       std::size_t dimension) {
  for (const char* name : {"characters", "dense", "dense_bias", "biases"})
    if (!take(state, name))
      throw InvalidArgument(
          "the model has no character CNN: train it with Encoded<Sampler, CharCnn>");
  const std::size_t widths = matrix(biases).rows(), filters = matrix(biases).columns();
  for (std::size_t next = 1; matrices_.size() < first_filters + widths; ++next) {
    if (take(state, filters_of(next))) {
      if (min_width_ == 0) min_width_ = next;
    } else if (min_width_ != 0 || next > max_filter_width) {
      refuse();
    }
  }
  const std::size_t columns = matrix(characters).columns();
  const auto require_shape = [](const RowMatrix& m, std::size_t rows, std::size_t expected) {
    if (m.rows() != rows || m.columns() != expected) refuse();
  };
  require_shape(matrix(characters), symbol_count, columns);
  if (widths * filters == 0 || features() == 0 || features() % (widths * filters) != 0) refuse();
  require_shape(matrix(dense), features(), dimension);
  require_shape(matrix(dense_bias), 1, dimension);
  for (std::size_t i = 0; i < widths; ++i)
    require_shape(matrix(first_filters + i), width(i) * columns, filters);
  if (columns == 0 || filters % 16 != 0) refuse();
}

WORDLOOM_FUNCTION bool CharCnnParameters::take(std::vector<NamedMatrix>& state,
                                               const std::string& name) {
  for (NamedMatrix& named : state)
    if (named.name == prefix + name) {
      matrices_.push_back({named.name, named.matrix.borrow()});
      return true;
    }
  return false;
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
