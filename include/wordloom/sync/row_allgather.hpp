#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/detail/hash.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/optimizer/concept.hpp>
#include <wordloom/sync/collective.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/sync/shared_matrix.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Keeps the replicas of several ranks identical, bit for bit, when they train by columns
/// (UniformMatrix): in each step a rank changes only its own range of rows, and then sends these
/// rows to all ranks. N ranks train exactly the model that one rank trains. Each rank needs the
/// whole corpus.
///
/// The state of an optimizer is not sent in each step: until a checkpoint or the end of training, a
/// rank has the current state of its own rows only. `Replica` is a Model, or the Replica of a
/// kernel on a device; ranks exchange its values.
template <class Ranks, class ReplicaType = Model>
class RowAllgather {
 public:
  using Replica = ReplicaType;

  /// Makes trainers refuse a sampler that does not train columns: share_rows() would never be
  /// called, and the replicas would differ.
  static constexpr bool shares_rows = true;

  explicit RowAllgather(Ranks ranks) : ranks_(std::move(ranks)) {}

  std::size_t rank() const noexcept { return ranks_.rank(); }
  std::size_t size() const noexcept { return ranks_.size(); }
  /// Returns the number of bytes of its own rows that this rank has sent, counted once for all
  /// receivers.
  std::uint64_t bytes_sent() const noexcept { return bytes_; }

  /// Throws SyncError, on all ranks, if their runs or models differ, and InvalidArgument, on all
  /// ranks, if the checkpoint was written with another SyncPolicy.
  std::uint64_t start(Replica& replica, RankInfo& run) {
    detail::agree_on_lines(ranks_, "method or set of hyperparameters", run.method);
    for (const auto& [what, number] : run.agreed) detail::agree(ranks_, what, number);
    detail::agree(ranks_, "number of rows", run.input_rows);
    detail::agree(ranks_, "number of output rows", run.output_rows);
    detail::agree(ranks_, "dimension", run.dimension);
    const auto matrices = detail::shared_matrices(replica);
    detail::agree(ranks_, "number of matrices", matrices.size());
    for (const auto& matrix : matrices) ranks_.broadcast(matrix.values);
    if (run.resumes) {
      detail::take_positions_of_first(ranks_, run.positions);
      if (run.positions.resharded_at < 0 && run.positions.sync_state[1] != fingerprint())
        throw InvalidArgument("the checkpoint was written with another SyncPolicy");
    }
    first_ = {};
    bytes_ = 0;
    return (std::numeric_limits<std::uint64_t>::max)();  // there is a tick after each column
  }

  /// Sends rows [first, last) of a side, which this rank has trained, to all ranks, and waits for
  /// theirs. Throws InvalidArgument unless the ranges of all ranks cover the side, in the order of
  /// ranks.
  void share_rows(Replica& replica, Model::Side side, std::size_t first, std::size_t last) {
    const auto place = static_cast<std::size_t>(side);
    const auto matrix = detail::shared_matrices(replica)[place];
    std::vector<std::uint64_t>& all = first_[place];
    all = ranks_.gather(first);
    all.push_back(matrix.rows);
    if (all[0] != 0 || all[rank() + 1] != last || last < first)
      throw InvalidArgument("the rows that ranks share must cover the matrix, in their order");
    gather_rows(matrix, all);
  }

  /// Returns the strongest request of all ranks: stop, then checkpoint, then go_on. All ranks call
  /// it at the same point.
  RankInfo::Signal tick(Replica&, double, RankInfo::Signal request) {
    if (size() == 1) return request;
    const auto requests = ranks_.gather(static_cast<std::uint64_t>(request));
    return static_cast<RankInfo::Signal>(*std::ranges::max_element(requests));
  }

  RankInfo::Positions gather(Replica& replica, std::span<const std::uint64_t> numbers) {
    share_state(replica);
    return {detail::gather_numbers(ranks_, numbers), {0, fingerprint()}};
  }

  RankInfo::Signal finish(Replica& replica) {
    share_state(replica);
    ranks_.gather(0);  // no rank ends training before all have arrived here
    return RankInfo::Signal::go_on;
  }

  void fail(const std::string& cause) noexcept { ranks_.fail(cause); }

 private:
  using Values = decltype(detail::shared_matrices(std::declval<Replica&>()).front().values);
  static_assert(Collective<Ranks, Values>);
  static_assert(RankInfo::Signal::go_on < RankInfo::Signal::checkpoint &&
                RankInfo::Signal::checkpoint < RankInfo::Signal::stop);

  static std::uint64_t fingerprint() { return detail::Hash::of("RowAllgather"); }

  template <class Matrix>
  void gather_rows(const Matrix& matrix, std::span<const std::uint64_t> first) {
    detail::gather_rows(ranks_, matrix.values, matrix.row_size, first);
    bytes_ += (first[rank() + 1] - first[rank()]) * matrix.row_size * sizeof(float);
  }

  /// Makes the state of an optimizer equal on all ranks: a row of it comes from the rank that
  /// trained that row of the model, a matrix with other rows from rank 0.
  void share_state(Replica& replica) {
    for (const auto& matrix : detail::shared_matrices(replica)) {
      if (matrix.name == "input" || matrix.name == "output") continue;
      const bool of_output = matrix.name.starts_with("output.");
      const auto& first = first_[of_output ? 1 : 0];
      if ((of_output || matrix.name.starts_with("input.")) && !first.empty() &&
          first.back() == matrix.rows)
        gather_rows(matrix, first);
      else
        ranks_.broadcast(matrix.values);
    }
  }

  Ranks ranks_;
  std::array<std::vector<std::uint64_t>, 2> first_;  // [size() + 1] rows of each rank in a side
  std::uint64_t bytes_ = 0;
};

}}  // namespace wordloom::WORDLOOM_ABI
