#pragma once
#include <Eigen/Core>

#include <wordloom/core/row_matrix.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

template <class Matrix, class Rows>
Eigen::Map<Matrix, Eigen::Aligned64, Eigen::OuterStride<>> eigen_map(Rows& rows) noexcept {
  const auto index = [](std::size_t n) { return static_cast<Eigen::Index>(n); };
  return {rows.data(), index(rows.rows()), index(rows.columns()),
          Eigen::OuterStride<>(index(rows.stride()))};
}
using EigenMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace detail

/// Returns an Eigen view [rows x columns], row-major, without the padding, which is valid as long
/// as the matrix does not move its rows. In a header of its own, which needs Eigen 3.4 (CMake:
/// Eigen3::Eigen): no other header of the library includes it.
inline auto eigen_view(RowMatrix& rows) noexcept {
  return detail::eigen_map<detail::EigenMatrix>(rows);
}
inline auto eigen_view(const RowMatrix& rows) noexcept {
  return detail::eigen_map<const detail::EigenMatrix>(rows);
}
void eigen_view(const RowMatrix&&) = delete;

}}  // namespace wordloom::WORDLOOM_ABI
