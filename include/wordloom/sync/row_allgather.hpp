#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <wordloom/core/detail/hash.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/optimizer/concept.hpp>
#include <wordloom/sync/collective.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/sync/detail/passed_rows.hpp>
#include <wordloom/sync/shared_matrix.hpp>
#include <wordloom/sync/sync_options.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Keeps the replicas of several ranks identical, bit for bit, when they train by columns
/// (UniformMatrix): in each step a rank changes only its own range of rows, and then sends these
/// rows to all ranks. N ranks train exactly the model that one rank trains. Each rank needs the
/// whole corpus.
///
/// For samplers that train by strata (StratifiedPairs) it passes rows from rank to rank instead,
/// which have the current values of their own rows only until a checkpoint or the end of training.
/// N ranks train the model of one if rows travel as fp32.
///
/// The state of an optimizer is not sent in each step: until a checkpoint or the end of training, a
/// rank has the current state of its own rows only. `Replica` is a Model, or the Replica of a
/// kernel on a device; ranks exchange its values.
template <class Ranks, class ReplicaType = Model>
class RowAllgather {
 public:
  using Replica = ReplicaType;

  /// Makes trainers refuse a sampler that trains neither columns nor strata: rows would never be
  /// shared, and the replicas would differ.
  static constexpr bool shares_rows = true;

  /// `format`: of rows that are passed on: fp32, bf16 or bits8, rounded at random so that the mean
  /// of the values does not change; automatic is bits8 if ranks are on several machines, else fp32.
  /// Rows of columns travel as fp32. Throws InvalidArgument for another format.
  explicit RowAllgather(Ranks ranks, SyncOptions::Format format = SyncOptions::Format::automatic)
      : ranks_(std::move(ranks)), format_(format) {
    using Format = SyncOptions::Format;
    if (format == Format::automatic) {
      format_ = Format::fp32;
      if constexpr (requires { ranks_.over_network(); })
        if (ranks_.over_network()) format_ = Format::bits8;
    } else if (format != Format::fp32 && format != Format::bf16 && format != Format::bits8) {
      throw InvalidArgument("rows that ranks pass on travel as fp32, bf16 or 8bit");
    }
  }

  std::size_t rank() const noexcept { return ranks_.rank(); }
  std::size_t size() const noexcept { return ranks_.size(); }
  /// Returns the format of rows that are passed on, which is not automatic.
  SyncOptions::Format format() const noexcept { return format_; }
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
    detail::agree(ranks_, "format of rows", static_cast<std::uint64_t>(format_));
    first_ = {};
    bytes_ = 0;
    // So that a run which resumes rounds rows as if it had not stopped.
    passed_ = run.resumes && run.positions.resharded_at < 0 ? run.positions.sync_state[0] : 0;
    rows_.reset();
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
    gather_range(matrix, all);
  }

  /// For training by strata: begins to send a text to each rank, and to take one of each, while
  /// rows are passed on; if the ranks cannot, exchanges them now. One exchange at a time. Throws
  /// InvalidArgument if the ranks exchange no text.
  void begin_exchange(std::vector<std::string> to) {
    for (std::size_t r = 0; r < to.size(); ++r)
      if (r != rank()) bytes_ += to[r].size();
    if constexpr (requires { ranks_.begin_exchange(std::move(to)); })
      ranks_.begin_exchange(std::move(to));
    else if constexpr (TextCollective<Ranks>)
      texts_ = ranks_.exchange(std::move(to));
    else
      throw InvalidArgument(
          "these ranks cannot exchange text, which training by strata needs: use MpiRanks or "
          "ThreadRanks");
  }
  /// Waits for the texts of all ranks, and returns them.
  std::vector<std::string> end_exchange() {
    if constexpr (requires { ranks_.end_exchange(); }) return ranks_.end_exchange();
    return std::move(texts_);
  }
  /// Begins to give rows of a side to the rank before, and to take others from the rank behind; the
  /// first and the last rank are neighbours. `most`: the largest number of rows that a rank gives.
  /// `team` writes them. Throws InvalidArgument if the ranks cannot, and SyncError.
  void begin_pass(Replica& replica, Model::Side side, std::span<const RowId> given,
                  std::size_t most, const detail::RankTeam& team) {
    if constexpr (std::is_same_v<Replica, Model> && PassCollective<Ranks>) {
      RowMatrix& matrix = side == Model::Side::input ? replica.input : replica.output;
      if (!rows_) rows_.emplace(format_, matrix.columns());
      const detail::PassedRows& rows = *rows_;
      const std::size_t half = most * rows.bytes();
      bytes_in_flight_.resize(2 * half);
      team(parts_of(given.size()), [&](std::size_t part) {
        Random random(passed_, rank(), part);
        std::vector<float> scratch;
        for (std::size_t i = part * rows_of_part; i < end_of(part, given.size()); ++i)
          rows.write(matrix.row_data(given[i]), random, scratch,
                     bytes_in_flight_.data() + i * rows.bytes());
      });
      ++passed_;
      bytes_ += half;
      ranks_.begin_pass(std::span<std::byte>(bytes_in_flight_));
    } else {
      throw InvalidArgument(
          "these ranks cannot pass rows on, which training by strata needs: use MpiRanks or "
          "ThreadRanks");
    }
  }
  /// Returns whether the rows in flight have arrived. Throws SyncError.
  bool has_passed() { return ranks_.done(); }
  /// Waits for the rows in flight, and lets `team` put them in their place. Throws SyncError.
  void end_pass(Replica& replica, Model::Side side, std::span<const RowId> taken,
                const detail::RankTeam& team) {
    ranks_.wait();
    if constexpr (std::is_same_v<Replica, Model>) {
      RowMatrix& matrix = side == Model::Side::input ? replica.input : replica.output;
      const detail::PassedRows& rows = *rows_;
      const std::byte* const from = bytes_in_flight_.data() + bytes_in_flight_.size() / 2;
      team(parts_of(taken.size()), [&](std::size_t part) {
        for (std::size_t i = part * rows_of_part; i < end_of(part, taken.size()); ++i)
          rows.read(from + i * rows.bytes(), matrix.row_data(taken[i]));
      });
    }
  }
  /// Gives all ranks the rows of each: rows[first[r]] to rows[first[r + 1] - 1] of a side are those
  /// of rank r.
  void gather_rows(Replica& replica, Model::Side side, std::span<const RowId> rows,
                   std::span<const std::uint64_t> first) {
    if constexpr (std::is_same_v<Replica, Model>) {
      RowMatrix& matrix = side == Model::Side::input ? replica.input : replica.output;
      const std::size_t size = matrix.columns();
      std::vector<float> packed(rows.size() * size);
      for (std::uint64_t i = first[rank()]; i < first[rank() + 1]; ++i)
        std::copy_n(matrix.row_data(rows[i]), size, packed.data() + i * size);
      detail::gather_rows(ranks_, std::span<float>(packed), size, first);
      for (std::size_t i = 0; i < rows.size(); ++i)
        std::copy_n(packed.data() + i * size, size, matrix.row_data(rows[i]));
      bytes_ += (first[rank() + 1] - first[rank()]) * size * sizeof(float);
    }
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
    return {detail::gather_numbers(ranks_, numbers), {passed_, fingerprint()}};
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

  /// Rows that a thread writes or reads at a time, with random numbers of their own.
  static constexpr std::size_t rows_of_part = 64;
  static std::size_t parts_of(std::size_t rows) { return (rows + rows_of_part - 1) / rows_of_part; }
  static std::size_t end_of(std::size_t part, std::size_t rows) {
    return (std::min)((part + 1) * rows_of_part, rows);
  }

  static std::uint64_t fingerprint() { return detail::Hash::of("RowAllgather"); }

  template <class Matrix>
  void gather_range(const Matrix& matrix, std::span<const std::uint64_t> first) {
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
        gather_range(matrix, first);
      else
        ranks_.broadcast(matrix.values);
    }
  }

  Ranks ranks_;
  SyncOptions::Format format_;
  std::uint64_t passed_ = 0;                // calls of begin_pass()
  std::optional<detail::PassedRows> rows_;  // from the first pass of a run
  std::vector<std::byte> bytes_in_flight_;  // rows that this rank gives, then those that it takes
  std::array<std::vector<std::uint64_t>, 2> first_;  // [size() + 1] rows of each rank in a side
  std::vector<std::string> texts_;                   // of ranks that exchange them at once
  std::uint64_t bytes_ = 0;
};

}}  // namespace wordloom::WORDLOOM_ABI
