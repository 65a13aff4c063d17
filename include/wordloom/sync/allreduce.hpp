#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/concepts.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/model.hpp>
#include <wordloom/sync/collective.hpp>
#include <wordloom/sync/combine.hpp>
#include <wordloom/sync/expected_pairs.hpp>
#include <wordloom/sync/row_changes.hpp>

namespace wordloom {

/// When and how much replicas tell each other.
struct SyncOptions {
  /// Rows (words by falling count) that travel at each synchronisation; twice as many at each
  /// second, four times as many at each fourth, and so on: a row's interval grows as its word gets
  /// rarer (pWord2Vec: Ji et al. 2016, section III-E). All rows as many times as there are epochs.
  std::size_t first_rows = 256;
  /// Bytes that a rank may send for each word that it trains; sets the interval. 0: 8 for each
  /// rank, so that all ranks together train as many words from one synchronisation to the next,
  /// however many they are; up to four times as many for 8 ranks and more, whose changes meet more
  /// often; and at least 64 synchronisations an epoch, which small corpora need.
  double bytes_per_word = 0;
  /// Words that a rank trains from one synchronisation to the next, in the mean: it is two thirds
  /// of that at the start, where the learning rate is high, and twice that at the end; 0 = by
  /// `bytes_per_word`.
  std::uint64_t interval = 0;
  /// Goes on training while changes travel. Without, one thread on each rank and one seed give
  /// bit-identical runs.
  bool overlap = true;

  void validate() const {
    if (first_rows == 0) throw InvalidArgument("first_rows is 0, must be above 0");
    if (!(bytes_per_word >= 0)) throw InvalidArgument("bytes_per_word must be 0 or above");
  }
};

/// Keeps the replicas of several ranks together: what each changed since they last agreed is summed
/// over a Collective, made one change by the rule `Combine` and added to all. Words of ranks are
/// counted, not time, so that all ranks synchronise equally often. Holds a second model, and
/// buffers for some thousand rows.
template <Collective Ranks, class Combine = CoherentSum>
class Allreduce {
 public:
  explicit Allreduce(Ranks ranks, SyncOptions options = {})
      : ranks_(std::move(ranks)), options_(options) {
    options_.validate();
  }

  std::size_t rank() const noexcept { return ranks_.rank(); }
  std::size_t size() const noexcept { return ranks_.size(); }
  /// Bytes of changes that this rank has given away.
  std::uint64_t bytes_sent() const noexcept { return bytes_; }
  std::uint64_t synchronisations() const noexcept { return begun_; }
  /// Of the whole run, but for one that has been stopped.
  std::uint64_t planned_synchronisations() const noexcept { return planned_; }

  /// Throws SyncError, on all ranks, when a number is not the same on all.
  void agree(const char* what, std::uint64_t number) {
    const auto all = ranks_.gather(number);
    for (std::size_t r = 1; r < all.size(); ++r)
      if (all[r] != all[0])
        throw SyncError("rank " + std::to_string(r) + " has another " + what + " than rank 0 (" +
                        std::to_string(all[r]) + ", not " + std::to_string(all[0]) + ")");
  }
  /// That training begins, of so many words on each rank in each epoch; `rate` is the learning rate
  /// of a progress. Throws SyncError, on all ranks, when their models or options do not go
  /// together.
  void begin(Model& model, std::uint64_t words_per_epoch, const Hyperparameters& parameters,
             std::function<double(double)> rate) {
    agree("number of rows", model.rows());
    agree("dimension", model.dimension());
    agree("first_rows", options_.first_rows);
    const double rows = static_cast<double>(std::min(options_.first_rows, model.rows()));
    // The mean of rows_of(): half of the sizes there are, and one.
    const auto sizes = static_cast<double>(std::bit_width(model.rows() / options_.first_rows));
    const double mean = rows * (1 + sizes / 2);
    const double bytes = mean * static_cast<double>(row_floats(model)) * sizeof(float);
    const double budget = options_.bytes_per_word > 0 ? options_.bytes_per_word : default_budget();
    const double interval =
        options_.interval != 0 ? static_cast<double>(options_.interval) : bytes / budget;
    const bool by_default = options_.interval == 0 && options_.bytes_per_word == 0;
    per_epoch_ = static_cast<std::size_t>(
        std::max(by_default ? 64.0 : 1.0, static_cast<double>(words_per_epoch) / interval));
    total_ = per_epoch_ * parameters.epochs;
    planned_ = total_;
    agree("number of synchronisations", total_);
    begun_ = 0;
    bytes_ = 0;
    request_ = 0;
    is_paused_ = is_stopping_ = false;
    words_ = static_cast<double>(words_per_epoch) * static_cast<double>(parameters.epochs);
    rate_ = std::move(rate);
    pairs_ = detail::ExpectedPairs(model.vocabulary, parameters);
    agreed_.assign(model.rows(), 0.0f);
  }

  void broadcast(Model& model) {
    for (RowMatrix* matrix : {&model.input, &model.output})
      ranks_.broadcast({matrix->data(), matrix->rows() * matrix->stride()});
    base_input_ = model.input.copy();
    base_output_ = model.output.copy();
  }

  /// Never waits, but where changes take longer to travel than until the next are due.
  void tick(Model& model, double progress) {
    const auto due =
        static_cast<std::size_t>(progress * (1.5 - progress / 2) * static_cast<double>(total_));
    if (in_flight_ && (!options_.overlap || ranks_.done())) go_on(model);
    while (!is_paused_ && begun_ < std::min(due, total_ - 1)) {  // finish() begins the last
      wait(model);
      if (is_paused_) break;
      ++begun_;
      start(model, rows_of(begun_, model.rows()));
      if (!options_.overlap) wait(model);
    }
  }

  /// Asks all ranks to come to a place where all have done the same synchronisations: `tick` then
  /// returns there, on each rank, with `paused()`, and all have to call `settle`; `stopping()` then
  /// says whether one of them asked `to_stop`. In vain when a rank has come to its end.
  void ask_for_pause(bool to_stop) noexcept { request_ = to_stop ? stop_request : 1; }
  bool paused() const noexcept { return is_paused_; }
  bool stopping() const noexcept { return is_stopping_; }
  /// Waits for what is in flight, after which `paused()` may be true.
  void wait(Model& model) {
    while (in_flight_) go_on(model);
  }
  /// Makes all rows agree. With one thread on each rank all models are the same afterwards.
  void settle(Model& model) {
    is_paused_ = false;
    start(model, model.rows());
    wait(model);
    if (is_stopping_) total_ = begun_;  // nothing is left to do
  }
  std::vector<std::uint64_t> gather(std::uint64_t number) { return ranks_.gather(number); }
  /// After `broadcast`: so many synchronisations are over, all rows have been agreed on.
  void go_on_after(std::size_t synchronisations) {
    begun_ = std::min(synchronisations, total_);
    std::fill(agreed_.begin(), agreed_.end(), static_cast<float>(progress()));
  }

  /// All ranks have the same model afterwards.
  void finish(Model& model) {
    request_ = -stop_request * static_cast<float>(size());  // no pause for this one
    wait(model);
    // Another rank may have begun what this one has not come to. The last are all rows.
    while (begun_ < total_) {
      ++begun_;
      start(model, rows_of(begun_, model.rows()));
      wait(model);
    }
    for (RowMatrix* matrix : {&model.input, &model.output})
      ranks_.broadcast({matrix->data(), matrix->rows() * matrix->stride()});
  }

  void fail(const std::string& cause) noexcept { ranks_.fail(cause); }

 private:
  static constexpr std::size_t most_rows = 8192;  // that travel at a time
  static constexpr float stop_request = 65536;    // above any number of ranks

  /// Of synchronisation i, counted from 1.
  std::size_t rows_of(std::size_t i, std::size_t all) const noexcept {
    if (i % per_epoch_ == 0) return all;
    const int shift = std::countr_zero(i);
    return options_.first_rows > all >> shift ? all : options_.first_rows << shift;
  }
  double default_budget() const noexcept {
    const auto ranks = static_cast<double>(size());
    return 8 * ranks * std::clamp(ranks / 2, 1.0, 4.0);
  }
  /// At which the synchronisation is due that has begun.
  double progress() const noexcept {
    return 1.5 - std::sqrt(2.25 - 2 * static_cast<double>(begun_) / static_cast<double>(total_));
  }
  static std::size_t row_floats(const Model& model) noexcept { return 2 * model.dimension(); }

  void start(Model& model, std::size_t rows) {
    next_row_ = 0;
    end_row_ = rows;
    send(model);
  }

  /// Sends the changes of the next rows: [rows][2][D] of both matrices, then [rows][2][2] whether
  /// each was changed and the squared norm of its change, and whether this rank asks for a pause.
  void send(Model& model) {
    first_row_ = next_row_;
    next_row_ = std::min(end_row_, first_row_ + most_rows);
    const std::size_t rows = next_row_ - first_row_, d = model.dimension();
    changes_.resize(rows * 2 * (d + 2) + 1);
    own_.resize(rows * 2 * d);
    float* change = changes_.data();
    float* own = own_.data();
    float* number = change + rows * 2 * d;
    for_each_row(model, [&](const float* row, const float* base) {
      const float square = functions_.take_change(row, base, change, own, d);
      *number++ = square > 0 ? 1.0f : 0.0f;
      *number++ = square;
      change += d;
      own += d;
    });
    *number = next_row_ == end_row_ ? std::exchange(request_, std::min(request_, 0.0f)) : 0.0f;
    bytes_ += changes_.size() * sizeof(float);
    ranks_.begin_sum(changes_);
    in_flight_ = true;
  }

  /// Waits for what is in flight, applies it and sends what comes next.
  void go_on(Model& model) {
    ranks_.wait();
    in_flight_ = false;
    const std::size_t d = model.dimension();
    if (size() > 1) combine(d);
    const float* change = changes_.data();
    const float* own = own_.data();
    for_each_row(model, [&](float* row, float* base) {
      functions_.put_change(row, base, change, own, d);
      change += d;
      own += d;
    });
    is_paused_ = changes_.back() > 0;
    is_stopping_ = is_stopping_ || changes_.back() >= stop_request;
    if (next_row_ < end_row_) send(model);
  }

  /// Makes of the sums of what is in flight what all ranks add.
  void combine(std::size_t d) {
    const std::size_t rows = next_row_ - first_row_;
    const float* numbers = changes_.data() + rows * 2 * d;
    const std::array partners{detail::common_direction(base_output_, pairs_.output),
                              detail::common_direction(base_input_, pairs_.input)};
    const double progress = this->progress(), weight = words_ * rate_(progress);
    for (const std::size_t matrix : {std::size_t{0}, std::size_t{1}}) {
      const std::vector<float>& pairs = matrix == 0 ? pairs_.input : pairs_.output;
      steps_.resize(rows);
      for (std::size_t i = 0; i < rows; ++i)
        steps_[i] = static_cast<float>(weight * (progress - agreed_[first_row_ + i]) *
                                       pairs[first_row_ + i]);
      Combine::combine(RowChanges(changes_.data() + matrix * d, rows, d, 2 * d,
                                  numbers + matrix * 2, steps_.data(), partners[matrix]),
                       size());
    }
    std::fill(agreed_.begin() + static_cast<std::ptrdiff_t>(first_row_),
              agreed_.begin() + static_cast<std::ptrdiff_t>(next_row_),
              static_cast<float>(progress));
  }

  template <class Use>
  void for_each_row(Model& model, Use use) {
    for (std::size_t i = first_row_; i < next_row_; ++i) {
      use(model.input.row_data(i), base_input_.row_data(i));
      use(model.output.row_data(i), base_output_.row_data(i));
    }
  }

  Ranks ranks_;
  SyncOptions options_;
  simd::RowChangeFunctions functions_;
  RowMatrix base_input_, base_output_;                      // what all ranks agree on
  std::vector<float> changes_, own_;                        // in flight, and as they were sent
  std::size_t first_row_ = 0, next_row_ = 0, end_row_ = 0;  // in flight, and of the synchronisation
  bool in_flight_ = false, is_paused_ = false, is_stopping_ = false;
  float request_ = 0;  // above 0: for a pause, below: for none
  std::size_t per_epoch_ = 1, planned_ = 0, total_ = 0, begun_ = 0;
  std::uint64_t bytes_ = 0;
  double words_ = 0;  // that this rank trains in all
  std::function<double(double)> rate_;
  detail::ExpectedPairs pairs_;
  std::vector<float> agreed_;  // progress at which each row was agreed on last
  std::vector<float> steps_;   // of the rows in flight
};

}  // namespace wordloom
