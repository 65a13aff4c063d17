#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/encoder/detail/char_cnn_parameters.hpp>
#include <wordloom/encoder/detail/max_over_time.hpp>
#include <wordloom/model/any_word_embeddings.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/optimizer/detail/optimizer_steps.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// A character CNN that computes the vector of any word. Copies share the network. Thread-safe.
class CharCnnComposer {
 public:
  /// Moves the parameters out of the model. Throws InvalidArgument if it has no character CNN.
  explicit CharCnnComposer(Model& model)
      : network_(std::make_shared<const Network>(model.state, model.dimension())) {}

  bool has_vector(std::string_view) const noexcept { return true; }

  /// Writes the vector [D] of a word.
  void compose(std::string_view word, std::span<float> vector) const;

 private:
  struct Network {
    Network(std::vector<NamedMatrix>& state, std::size_t dimension);

    std::vector<NamedMatrix> matrices;
    CharCnnParameters parameters;
    std::vector<RowMatrix> tables;  // one for each filter width: see ConvolutionTable
  };

  std::shared_ptr<const Network> network_;
};

}  // namespace detail

/// The vectors of a model that was trained with a CharCnn. Words of the vocabulary have their
/// trained vectors; the network computes those of all other strings, even of the empty one.
class CharCnnEmbeddings : public detail::AnyWordEmbeddings<detail::CharCnnComposer> {
 public:
  /// Moves the vectors of the words and the network out of the model. Throws InvalidArgument for a
  /// model without words or without a character CNN.
  explicit CharCnnEmbeddings(Model&& model)
      : CharCnnEmbeddings(detail::CharCnnComposer(model), std::move(model)) {}

  /// Returns whether a model has a character CNN.
  [[nodiscard]] static bool are_in(const Model& model) {
    return detail::CharCnnParameters::are_in(model.state);
  }

 private:
  CharCnnEmbeddings(detail::CharCnnComposer composer, Model&& model)
      : AnyWordEmbeddings(std::move(model).embeddings(), std::move(composer)) {}
};

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

WORDLOOM_FUNCTION void CharCnnComposer::compose(std::string_view word,
                                                std::span<float> vector) const {
  const CharCnnParameters& parameters = network_->parameters;
  std::vector<std::uint32_t> symbols;
  append_symbols(word, symbols);
  const std::size_t filters = parameters.filters(), positions = parameters.positions();
  RowMatrix hidden(1, parameters.features()), sum(1, vector.size());
  std::vector<std::int32_t> places(filters);
  const simd::ConvolutionFunctions functions = simd::convolution_functions();
  for (std::size_t i = 0; i < parameters.widths(); ++i) {
    const simd::ConvolutionTable table{network_->tables[i].data(), symbol_count,
                                       parameters.width(i), filters};
    const float* const bias = parameters.matrix(CharCnnParameters::biases).row_data(i);
    float* const to = hidden.data() + i * (hidden.columns() / parameters.widths());
    if (positions > 0)
      functions.all_windows(table, symbols.data(), symbols.size(), bias, positions, to);
    else
      functions.max_over_time(table, symbols.data(), symbols.size(), bias, to, places.data());
  }
  const auto add = simd::optimizer_functions().sgd;
  add(sum.data(), parameters.matrix(CharCnnParameters::dense_bias).data(), sum.stride(), 1.0f);
  for (std::size_t h = 0; h < hidden.columns(); ++h)
    add(sum.data(), parameters.matrix(CharCnnParameters::dense).row_data(h), sum.stride(),
        hidden.row(0)[h]);
  std::ranges::copy(sum.row(0), vector.begin());
}

WORDLOOM_FUNCTION CharCnnComposer::Network::Network(std::vector<NamedMatrix>& state,
                                                    std::size_t dimension)
    : matrices(std::exchange(state, {})), parameters(matrices, dimension) {
  const RowMatrix& characters = parameters.matrix(CharCnnParameters::characters);
  const auto add = simd::optimizer_functions().sgd;
  for (std::size_t i = 0; i < parameters.widths(); ++i) {
    const RowMatrix& filters = parameters.matrix(CharCnnParameters::first_filters + i);
    RowMatrix& table = tables.emplace_back(parameters.width(i) * symbol_count, filters.columns());
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const std::span<const float> from = characters.row(row % symbol_count);
      for (std::size_t c = 0; c < from.size(); ++c)
        add(table.row_data(row), filters.row_data(row / symbol_count * from.size() + c),
            table.stride(), from[c]);
    }
  }
}

}  // namespace detail

#endif

}}  // namespace wordloom::WORDLOOM_ABI
