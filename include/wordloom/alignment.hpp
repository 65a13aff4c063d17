#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/model/embeddings.hpp>

#if !defined(WORDLOOM_HAS_EIGEN) && (!WORDLOOM_DEFINES_FUNCTIONS || !__has_include(<Eigen/Core>))
#error "alignment.hpp needs Eigen: install it (Debian: libeigen3-dev) and link wordloom::eigen"
#endif
#if WORDLOOM_DEFINES_FUNCTIONS
#include <Eigen/Core>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>

#include <wordloom/algebra/detail/dense_rows.hpp>
#include <wordloom/core/detail/input_file.hpp>
#endif

namespace wordloom { inline namespace WORDLOOM_ABI {

/// The rotation (with or without a reflection) that brings the vectors of one space nearest to
/// those of another: the orthogonal W [D x D] of the smallest sum of |x W - y|^2 over pairs of
/// words, whose vectors x and y are first divided by their lengths (orthogonal Procrustes problem,
/// Schoenemann 1966; for words Xing et al. 2015, for changes of meaning Hamilton et al. 2016). With
/// X^T Y = U S V^T, W = U V^T. Immutable and thread-safe.
///
/// This header is not part of wordloom.hpp; it needs Eigen 3.4 (CMake: wordloom::eigen).
class Alignment {
 public:
  /// Words of the first space and of the second that mean the same, such as a bilingual dictionary.
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  /// Reads a dictionary, plain or .gz: lines 'word<TAB>word'. Throws IoError, and FormatError for
  /// another line and for a file without pairs.
  static Pairs load_pairs(const std::filesystem::path& path);

  struct Options {
    /// Empty: the words that both spaces share. A pair is left out if a word has no vector or
    /// zeros.
    Pairs pairs = {};
    /// The maximum number of shared words, the first ones of `from`, which are the most frequent;
    /// 0: all. Without effect on given pairs.
    std::size_t max_shared = 20'000;
  };

  /// Learns the rotation of `from` to `to`. Throws InvalidArgument for spaces of different
  /// dimensions, vectors that are not finite, and pairs that do not determine the rotation: fewer
  /// than D, or some that span fewer dimensions.
  Alignment(const Embeddings& from, const Embeddings& to) : Alignment(from, to, Options{}) {}
  Alignment(const Embeddings& from, const Embeddings& to, const Options& options);

  /// Returns W [D x D], row-major: a vector of `from` is multiplied by it from the right.
  const RowMatrix& rotation() const& noexcept { return rotation_; }
  void rotation() const&& = delete;
  /// Returns the number of pairs that were used.
  std::size_t pairs() const noexcept { return pairs_; }
  /// Returns the root of the mean of |x W - y|^2 over these pairs, from 0 to 2.
  double residual() const noexcept { return residual_; }

  /// Returns `from` in the other space: same words, counts and lengths. Any number of threads gives
  /// the same bits. Throws InvalidArgument for another dimension.
  [[nodiscard]] Embeddings apply(const Embeddings& from, std::size_t threads = 0) const;
  /// Returns a vector [D] in the other space, such as that of a word made of subwords.
  [[nodiscard]] std::vector<float> apply(std::span<const float> vector) const;

 private:
  void require_dimension(std::size_t dimension) const {
    if (dimension != rotation_.rows())
      throw InvalidArgument{"this alignment is of dimension ", rotation_.rows(),
                            ", the vectors of ", dimension};
  }

  RowMatrix rotation_;
  std::size_t pairs_ = 0;
  double residual_ = 0;
};

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

/// Returns the numbers of the words of each pair that has vectors.
inline std::vector<std::pair<WordId, WordId>> aligned_ids(const Embeddings& from,
                                                          const Embeddings& to,
                                                          const Alignment::Options& options) {
  std::vector<std::pair<WordId, WordId>> ids;
  const auto add = [&](std::string_view a, std::string_view b) {
    const auto i = from.find(a), j = to.find(b);
    if (!i || !j) return;
    const float x = from.inverse_lengths()[*i], y = to.inverse_lengths()[*j];
    if (x != 0 && y != 0) ids.emplace_back(*i, *j);
  };
  for (const auto& [a, b] : options.pairs) add(a, b);
  for (std::size_t i = 0; options.pairs.empty() && i < from.size(); ++i) {
    if (options.max_shared != 0 && ids.size() == options.max_shared) break;
    add(from.word(i), from.word(i));
  }
  return ids;
}

}  // namespace detail

WORDLOOM_FUNCTION Alignment::Pairs Alignment::load_pairs(const std::filesystem::path& path) {
  constexpr std::string_view expected = "a word, a tab and a word";
  const detail::InputFile file(path, detail::Content::text);
  Pairs pairs;
  for (detail::LineReader reader(file); reader.next();) {
    if (detail::trimmed(reader.line()).empty()) continue;
    const std::string_view line = reader.line();
    const std::size_t tab = line.find('\t');
    if (tab == line.npos) reader.fail(0, expected, "no tab");
    const std::string_view first = detail::trimmed(line.substr(0, tab)),
                           rest = line.substr(tab + 1);
    const std::string_view second = detail::trimmed(rest);
    if (second.find('\t') != second.npos) reader.fail(0, expected, "more columns");
    if (first.empty() || second.empty()) reader.fail(0, expected, "one word");
    pairs.emplace_back(first, second);
  }
  if (pairs.empty()) throw FormatError::at_line(path, 1, 1, expected, "no pairs");
  return pairs;
}

WORDLOOM_FUNCTION Alignment::Alignment(const Embeddings& from, const Embeddings& to,
                                       const Options& options)
    : rotation_(from.dimension(), from.dimension()) {
  const auto d = static_cast<Eigen::Index>(from.dimension());
  if (from.dimension() != to.dimension())
    throw InvalidArgument{"cannot align vectors of dimension ", from.dimension(), " and ",
                          to.dimension(), ": reduce the larger one (Embeddings::reduced)"};
  const auto ids = detail::aligned_ids(from, to, options);
  pairs_ = ids.size();
  if (pairs_ < from.dimension())
    throw InvalidArgument{"an alignment of dimension ",
                          from.dimension(),
                          " needs at least as many ",
                          "pairs of words with vectors, got ",
                          pairs_,
                          ": give more pairs or reduce the dimension"};
  const auto unit = [d](const Embeddings& space, WordId id) {
    const Eigen::VectorXd v =
        Eigen::Map<const Eigen::VectorXf>(space.vectors().row_data(id), d).cast<double>();
    return Eigen::VectorXd(v / v.norm());
  };
  Eigen::MatrixXd product = Eigen::MatrixXd::Zero(d, d);
  constexpr std::size_t block = 256;
  Eigen::MatrixXd x(d, block), y(d, block);
  for (std::size_t first = 0; first < ids.size(); first += block) {
    const std::size_t size = (std::min)(block, ids.size() - first);
    for (std::size_t i = 0; i < size; ++i) {
      x.col(static_cast<Eigen::Index>(i)) = unit(from, ids[first + i].first);
      y.col(static_cast<Eigen::Index>(i)) = unit(to, ids[first + i].second);
    }
    const auto n = static_cast<Eigen::Index>(size);
    product.noalias() += x.leftCols(n) * y.leftCols(n).transpose();
  }
  if (!product.allFinite()) throw InvalidArgument("an alignment needs vectors that are finite");
  // BDCSVD is faster for large matrices, and takes 40 s to compile.
  const Eigen::JacobiSVD<Eigen::MatrixXd, Eigen::NoQRPreconditioner> svd(
      product, Eigen::ComputeFullU | Eigen::ComputeFullV);
  const auto& values = svd.singularValues();
  const auto spanned = (values.array() > 1e-10 * values(0)).count();
  if (spanned < d)
    throw InvalidArgument{"the vectors of ",
                          pairs_,
                          " pairs span only ",
                          static_cast<std::uint64_t>(spanned),
                          " of ",
                          from.dimension(),
                          " dimensions: give more different pairs or reduce the dimension"};
  const Eigen::MatrixXd w = svd.matrixU() * svd.matrixV().transpose();
  for (Eigen::Index i = 0; i < d; ++i)
    for (Eigen::Index j = 0; j < d; ++j)
      rotation_.row_data(static_cast<std::size_t>(i))[j] = static_cast<float>(w(i, j));
  // Both have length 1: |x W - y|^2 = 2 - 2 x W y, and the sum of x W y is that of S.
  const double mean = values.sum() / static_cast<double>(pairs_);
  residual_ = std::sqrt((std::max)(0.0, 2 - 2 * mean));
}

WORDLOOM_FUNCTION Embeddings Alignment::apply(const Embeddings& from, std::size_t threads) const {
  require_dimension(from.dimension());
  RowMatrix rotated(from.size(), from.dimension());
  detail::multiply_rows(from.vectors(), rotation_, rotated, threads);
  return {from.words(), std::move(rotated), from.counts()};
}

WORDLOOM_FUNCTION std::vector<float> Alignment::apply(std::span<const float> vector) const {
  require_dimension(vector.size());
  RowMatrix row(1, vector.size());
  std::ranges::copy(vector, row.row_data(0));
  detail::multiply_rows(row, rotation_, row, 1);
  return {row.row(0).begin(), row.row(0).end()};
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
