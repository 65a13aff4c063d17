#pragma once
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <wordloom/model/model.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// A matrix of a replica whose rows ranks exchange: the input, the output, or the state of an
/// optimizer. `Values` is the type that a Collective takes.
template <class Values>
struct SharedMatrix {
  std::string_view name;
  Values values;  // [rows x row_size]
  std::size_t rows;
  std::size_t row_size;  // floats
};

/// Returns the matrices of a model in the order of Model::matrices(). A replica on a device has a
/// member matrices() instead, which begins with the input and the output.
inline std::vector<SharedMatrix<std::span<float>>> shared_matrices(Model& model) {
  std::vector<SharedMatrix<std::span<float>>> all;
  for (const auto& [name, matrix] : model.matrices())
    all.push_back({name,
                   {matrix->data(), matrix->rows() * matrix->stride()},
                   matrix->rows(),
                   matrix->stride()});
  return all;
}

template <class Replica>
auto shared_matrices(Replica& replica) {
  return replica.matrices();
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
