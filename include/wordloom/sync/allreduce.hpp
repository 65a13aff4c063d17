#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/sync/collective.hpp>
#include <wordloom/sync/combine.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/sync/detail/wire.hpp>
#include <wordloom/sync/replica_rows.hpp>
#include <wordloom/sync/sync_options.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Synchronises the replicas of several ranks: the changes that each has made since the last
/// agreement are summed over a Collective, combined to one change by the rule `Combine` and added
/// on all ranks. The schedule counts words of ranks, not time, so that all ranks synchronise
/// equally often. `Rows` works in the memory that holds the model, `Rows::Replica`: `Ranks::Rows`
/// for ranks on a device.
template <class Ranks, class Combine = CoherentSum,
          class Rows = typename detail::RowsOf<Ranks>::type>
class Allreduce {
  static_assert(Collective<Ranks, typename Rows::Values>,
                "wordloom: this Collective does not sum what these Rows hold, or lacks a function");

 public:
  using Replica = typename Rows::Replica;

  /// Throws InvalidArgument for a negative number of bytes and a format that is not for these
  /// ranks.
  explicit Allreduce(Ranks ranks, SyncOptions options = {}, Combine combine = {})
      : ranks_(std::move(ranks)),
        options_(with_format(options, ranks_, combine)),
        combine_(combine),
        wire_(options_.format) {
    options_.validate();
    // The numbers of ranks that changed a row are summed as bf16, too, which is exact up to 256.
    if (options_.format == SyncOptions::Format::bf16 && size() > 256)
      throw InvalidArgument{"the format bf16 is for up to 256 ranks, these are ", size(),
                            ": use fp32 or 8bit"};
  }

  /// Returns the options with a format in place of `automatic`. Bits were measured with CoherentSum
  /// and frequent exchanges alone.
  static SyncOptions with_format(SyncOptions options, const Ranks& ranks, const Combine& combine) {
    using Format = SyncOptions::Format;
    if (options.format != Format::automatic) return options;
    options.format = Format::fp32;
    if constexpr (std::is_same_v<Rows, detail::HostRows> && detail::QuantisedCollective<Ranks> &&
                  requires { ranks.over_network(); })
      if (ranks.over_network() && options.interval != SyncOptions::epoch && is_coherent(combine))
        options.format = Format::bits4;
    return options;
  }

  std::size_t rank() const noexcept { return ranks_.rank(); }
  std::size_t size() const noexcept { return ranks_.size(); }
  /// Returns the number of bytes of changes that this rank has sent.
  std::uint64_t bytes_sent() const noexcept { return bytes_; }
  std::uint64_t synchronisations() const noexcept { return begun_; }

  /// Throws SyncError, on all ranks, if their runs, models or options do not fit each other, and
  /// InvalidArgument, on all ranks, if a checkpoint was written by ranks that synchronise in
  /// another way.
  std::uint64_t start(Replica& model, RankInfo& run) {
    detail::agree_on_lines(ranks_, "method or set of hyperparameters", run.method);
    for (const auto& [what, number] : run.agreed) detail::agree(ranks_, what, number);
    plan(run);
    make_equal(model);
    if (run.resumes) {
      detail::take_positions_of_first(ranks_, run.positions);
      const auto& [numbers, state, resharded_at] = run.positions;
      if (resharded_at < 0 && state[1] != fingerprint())
        throw InvalidArgument(
            "the checkpoint was written by ranks that synchronise in another way (rule, interval, "
            "bytes for each word, of which the format decides how many sums they allow, first rows "
            "or overlap): resume with the original options, or train from the start");
      begun_ = (std::min)(resharded_at < 0 ? std::size_t{state[0]} : due(resharded_at), total_);
    }
    rows_.remember(model, run, progress());
    wire_.start(rows_);
    if constexpr (requires { ranks_.any_thread(); })
      run.ticks_from_any_thread = ranks_.any_thread();
    // The shortest interval between two synchronisations, in words of one rank.
    return static_cast<std::uint64_t>(words_ / (1.5 * static_cast<double>(total_)));
  }

  /// Synchronises if that is due. Waits only if the previous exchange is unfinished when the next
  /// is due.
  RankInfo::Signal tick(Replica& model, double progress, RankInfo::Signal request) {
    if (request != RankInfo::Signal::go_on)
      request_ = request == RankInfo::Signal::stop ? stop_request : 1;
    const std::size_t due = this->due(progress);
    if (in_flight_ && ranks_.done() && options_.overlap) go_on(model);
    while (signal_ == RankInfo::Signal::go_on &&
           begun_ < (std::min)(due, total_ - 1)) {  // finish(): the last
      wait(model);
      if (signal_ != RankInfo::Signal::go_on) break;
      send_rows(model, rows_of(++begun_));
      if (!options_.overlap && is_by_epoch()) wait(model);
    }
    return signal_;
  }

  /// Makes the rows of all ranks agree: with one thread on each rank all models are equal.
  RankInfo::Positions gather(Replica& model, std::span<const std::uint64_t> numbers) {
    const bool stops = std::exchange(signal_, RankInfo::Signal::go_on) == RankInfo::Signal::stop;
    send_rows(model, all_rows_, true);
    wait(model);
    if (stops || signal_ == RankInfo::Signal::stop) total_ = begun_;  // nothing is left to do
    return {detail::gather_numbers(ranks_, numbers), {begun_, fingerprint()}};
  }

  RankInfo::Signal finish(Replica& model) {
    wait(model);
    if (signal_ != RankInfo::Signal::go_on) return signal_;
    request_ = -stop_request * static_cast<float>(size());  // this rank does not agree to a pause
    // Another rank may have begun synchronisations that this one has not reached. The last one has
    // all rows.
    while (begun_ < total_) {
      ++begun_;
      send_rows(model, rows_of(begun_), begun_ == total_);
      wait(model);
    }
    make_equal(model);
    return RankInfo::Signal::go_on;
  }

  void fail(const std::string& cause) noexcept { ranks_.fail(cause); }

 private:
  static constexpr std::size_t max_rows = 8192;  // rows exchanged at a time
  static constexpr float stop_request = 65536;   // above any number of ranks

  static constexpr bool is_coherent([[maybe_unused]] const Combine& combine) {
    if constexpr (std::is_same_v<Combine, SyncOptions::Rule>)
      return combine.kind == SyncOptions::Rule::Kind::coherent;
    else
      return std::is_same_v<Combine, CoherentSum>;
  }

  /// Gives all ranks the model of rank 0. New models, and those after the last synchronisation, are
  /// equal already, which a hash of each matrix tells: then nothing is sent.
  void make_equal(Replica& model) {
    for (const auto values : rows_.all(model)) {
      if constexpr (std::is_same_v<Rows, detail::HostRows>) {
        detail::Hash hash;
        hash.add(values.data(), values.size_bytes());
        const auto all = ranks_.gather(hash.value());
        if (std::count(all.begin(), all.end(), hash.value()) == std::ssize(all)) continue;
      }
      ranks_.broadcast(values);
    }
  }

  /// Plans the synchronisations. Throws SyncError, on all ranks, if their plans differ.
  void plan(const RankInfo& run) {
    const auto ranks = static_cast<double>(size());
    all_rows_ = (std::max)(run.input_rows, run.output_rows);
    first_rows_ =
        options_.first_rows != 0 ? options_.first_rows : (std::max<std::size_t>)(256, 16 * size());
    // The mean of rows_of(): half of the number of sizes, plus one.
    const auto sizes = static_cast<double>(std::bit_width(all_rows_ / first_rows_));
    const double rows = static_cast<double>((std::min)(first_rows_, all_rows_)) * (1 + sizes / 2);
    // Bytes cancel out unless a budget is given: without one the format changes no interval.
    const double row_bytes = options_.bytes_per_word > 0
                                 ? wire_.bytes_of_row(run.dimension, bytes_of_value())
                                 : static_cast<double>(run.dimension * sizeof(float));
    const double bytes = rows * 2 * row_bytes;
    const double budget = options_.bytes_per_word > 0
                              ? options_.bytes_per_word
                              : 2 * (row_bytes / static_cast<double>(run.dimension)) * ranks *
                                    std::clamp(ranks / 2, 1.0, 4.0);
    const auto words_per_epoch = static_cast<double>(run.words_per_epoch);
    double interval =
        options_.interval != 0 ? static_cast<double>(options_.interval) : bytes / budget;
    if (options_.interval == 0 && options_.bytes_per_word == 0)
      interval = (std::max)((std::min)(interval, words_per_epoch / 64),
                            static_cast<double>(run.min_interval));
    per_epoch_ = static_cast<std::size_t>((std::max)(1.0, words_per_epoch / interval));
    total_ = planned_ = per_epoch_ * run.epochs;
    using Agreed = std::pair<const char*, std::uint64_t>;
    for (const auto& [what, number] :
         {Agreed{"number of rows", run.input_rows},
          Agreed{"number of output rows", run.output_rows}, Agreed{"dimension", run.dimension},
          Agreed{"first_rows", first_rows_}, Agreed{"size of a number (bytes)", bytes_of_value()},
          Agreed{"format of changes (bits)", static_cast<std::uint64_t>(options_.format)},
          Agreed{"number of synchronisations", total_}})
      detail::agree(ranks_, what, number);
    if constexpr (!std::is_empty_v<Combine>)
      detail::agree(ranks_, "rule that combines changes (fingerprint)", hash_with_rule({}));
    begun_ = 0;
    bytes_ = 0;
    request_ = 0;
    signal_ = RankInfo::Signal::go_on;
    words_ = words_per_epoch * static_cast<double>(run.epochs);
    rate_ = run.rate;
  }

  /// Returns a hash of the plan of synchronisations: a run with another plan cannot resume its
  /// checkpoint. One in another format can, since the rows of a checkpoint are whole, unless a
  /// budget of bytes makes another plan of it.
  std::uint64_t fingerprint() const {
    return hash_with_rule(
        {std::size_t{options_.overlap} + 2 * is_by_epoch(), planned_, first_rows_});
  }
  std::uint64_t hash_with_rule(std::initializer_list<std::size_t> numbers) const {
    detail::MethodRecord record;
    for (const std::size_t number : numbers) record.add("", std::uint64_t{number});
    detail::add_parameters(record, combine_);
    return record.hash().value();
  }
  bool is_by_epoch() const noexcept { return options_.interval == SyncOptions::epoch; }

  /// Returns the number of rows that synchronisation i exchanges, counted from 1.
  std::size_t rows_of(std::size_t i) const noexcept {
    if (i % per_epoch_ == 0) return all_rows_;
    const int shift = std::countr_zero(i);
    return first_rows_ > all_rows_ >> shift ? all_rows_ : first_rows_ << shift;
  }
  std::size_t bytes_of_value() const noexcept {
    if (options_.format == SyncOptions::Format::bf16) return sizeof(detail::Bf16);
    if constexpr (requires { ranks_.bytes_of_value(); })
      return ranks_.bytes_of_value();
    else
      return sizeof(float);
  }
  /// Returns the number of synchronisations that are due at a progress.
  std::size_t due(double progress) const noexcept {
    const double share = is_by_epoch() ? progress : progress * (1.5 - progress / 2);
    return static_cast<std::size_t>(share * static_cast<double>(total_));
  }
  /// Returns the progress at which the synchronisation in progress was due.
  double progress() const noexcept {
    const double share = static_cast<double>(begun_) / static_cast<double>(total_);
    return is_by_epoch() ? share : 1.5 - std::sqrt(2.25 - 2 * share);
  }

  /// `is_last`: makes all replicas equal.
  void send_rows(Replica& model, std::size_t rows, bool is_last = false) {
    next_row_ = 0;
    end_row_ = rows;
    is_last_ = is_last;
    send(model);
  }
  /// Sends the changes of the next rows; the last part of a synchronisation also says whether this
  /// rank requests a pause.
  void send(Replica& model) {
    const std::size_t first = next_row_;
    next_row_ = (std::min)(end_row_, first + max_rows);
    const float request =
        next_row_ == end_row_ ? std::exchange(request_, (std::min)(request_, 0.0f)) : 0.0f;
    rows_.choose(model, first, next_row_);
    const std::uint64_t number = begun_ * (all_rows_ / max_rows + 1) + first / max_rows;
    bytes_ += wire_.begin(
        ranks_, rows_, model, request, bytes_of_value(), is_last_, number, [&](auto& taken) {
          const double progress = this->progress();
          return taken.combiner(combine_, size(), progress, words_ * rate_(progress));
        });
    in_flight_ = true;
  }
  /// Waits for the exchange in flight, applies it and sends the next part.
  void go_on(Replica& model) {
    ranks_.wait();
    in_flight_ = false;
    const double progress = this->progress();
    const float requests =
        wire_.end(rows_, model, combine_, size(), progress, words_ * rate_(progress));
    signal_ = requests >= stop_request ? RankInfo::Signal::stop
              : requests > 0           ? RankInfo::Signal::checkpoint
                                       : RankInfo::Signal::go_on;
    if (next_row_ < end_row_) send(model);
  }
  /// Waits for all exchanges in flight, after which all ranks may have to pause.
  void wait(Replica& model) {
    while (in_flight_) go_on(model);
  }

  Ranks ranks_;
  SyncOptions options_;
  Combine combine_;
  Rows rows_;
  detail::Wire<Ranks, Rows> wire_;
  bool is_last_ = false;                                   // that exchange makes all replicas equal
  std::size_t first_rows_ = 1;                             // see SyncOptions
  std::size_t all_rows_ = 0, next_row_ = 0, end_row_ = 0;  // the last two: in progress
  bool in_flight_ = false;
  RankInfo::Signal signal_ = RankInfo::Signal::go_on;  // next step of all ranks
  float request_ = 0;                                  // above 0: for a pause, below: against one
  std::size_t per_epoch_ = 1, planned_ = 0, total_ = 0, begun_ = 0;
  std::uint64_t bytes_ = 0;
  double words_ = 0;  // number of words that this rank trains in all
  std::function<double(double)> rate_;
};

}}  // namespace wordloom::WORDLOOM_ABI
