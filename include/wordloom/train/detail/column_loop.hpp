#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/parallel.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/optimizer/concept.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/sampler/detail/column_parts.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/train/detail/step_loop.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// A corpus with columns, such as WordContextMatrix.
template <class C>
concept HasColumns = requires(const C& corpus, std::span<WordId> to) {
  { corpus.words() } -> std::convertible_to<std::span<const WordId>>;
  { corpus.columns() } -> std::convertible_to<std::size_t>;
  corpus.contexts(std::uint64_t{0}, std::size_t{0}, to);
  corpus.contexts(std::uint64_t{0}, std::size_t{0}, std::size_t{1}, to);
};

/// Training column by column, each in two steps (see UniformMatrix), by the threads of HostColumns
/// or by a kernel on a device, which has several columns in flight.
///
/// Each of several ranks trains its share of the parts of a column, and the SyncPolicy gives
/// changed rows to all ranks (`share_rows`): any number of ranks gives the same bits.
template <class Corpus, class Engine, class Encoder, class Run>
class ColumnLoop : StepLoop<Engine, Run> {
  using Base = StepLoop<Engine, Run>;
  using Base::engine_, Base::run_, Base::at_, Base::max_in_flight_;
  static constexpr bool on_host = requires { Engine::on_host; };

 public:
  ColumnLoop(const Corpus& corpus, Engine& engine, Encoder& encoder, Run& run)
      : Base(engine, run, 1),
        corpus_(corpus),
        encoder_(encoder),
        words_(corpus.words()),
        parts_{words_.size()},
        own_(detail::part_of(parts_.count(), run.sync.rank(), run.sync.size())),
        own_words_(parts_.first_word(own_.second) - parts_.first_word(own_.first)) {}

  void train() {
    engine_.set_words(words_, own_);
    if constexpr (!on_host) max_in_flight_ = engine_.columns_in_flight();
    if constexpr (requires { engine_.set_contexts(*corpus_.lists()); })
      if (corpus_.lists() != nullptr) engine_.set_contexts(*corpus_.lists());
    run_.synchronise(progress());
    if (ends_epoch()) this->end_epoch();  // in which the run was stopped
    if (number() == 0 || encoder_.end_to_end()) encoder_.begin_rounds();
    const auto train_columns = [this] {
      while (this->goes_on()) train_column();
    };
    if constexpr (on_host)
      engine_.run(train_columns);
    else
      train_columns();
    // A checkpoint of a run that stops in the middle of a round has the rows of that round.
    const bool stopped = run_.state.stopped();
    if (stopped) run_.end();
    if (!ends_round()) encoder_.end_round(run_.schedule.rate(progress()));
    if (!stopped) run_.end();
    run_.download();
  }

 private:
  /// Returns the number of the next column, over all epochs.
  std::uint64_t number() const { return at_.epoch * corpus_.columns() + at_.sentences; }
  /// Returns the fraction of the run that is done, 0 to 1.
  double progress() const {
    return static_cast<double>(number()) /
           (static_cast<double>(run_.parameters.epochs) * static_cast<double>(corpus_.columns()));
  }
  bool ends_epoch() const { return at_.sentences == corpus_.columns(); }
  /// Returns whether a round of an encoder ended with the last column.
  bool ends_round() const { return number() % encoder_.round() == 0; }

  void train_column() {
    const double rate = run_.schedule.rate(progress());
    if constexpr (!on_host)
      if (!engine_.finds_contexts()) {
        contexts_.resize(words_.size());
        corpus_.contexts(number(), parts_.first_word(own_.first),
                         std::span(contexts_).subspan(parts_.first_word(own_.first), own_words_));
      }
    engine_.begin_column(number(), at_.sentences, contexts_);
    engine_.train(Block::Sides::inputs, rate);
    share_rows(Model::Side::input, run_.model.input.rows());
    encoder_.end_inputs(rate);
    engine_.train(Block::Sides::outputs, rate);
    share_rows(Model::Side::output, run_.model.output.rows());
    engine_.end_column();
    ++at_.sentences;
    this->submitted(own_words_, rate);
    if (ends_round()) encoder_.end_round(rate);
    this->end_step(progress());
    if (ends_epoch()) this->end_epoch();
  }

  /// Exchanges, after a step, the rows that each rank has trained, of the `rows` rows of a side.
  void share_rows([[maybe_unused]] Model::Side side, [[maybe_unused]] std::size_t rows) {
    if constexpr (shares_rows<decltype(run_.sync)>) {
      if (run_.sync.size() == 1) return;
      const auto row = [&](std::size_t part) -> std::size_t {
        return part == 0 ? 0 : part == parts_.count() ? rows : words_[parts_.first_word(part)];
      };
      run_.sync.share_rows(run_.replica, side, row(own_.first), row(own_.second));
    }
  }

  const Corpus& corpus_;
  Encoder& encoder_;
  const std::span<const WordId> words_;
  const ColumnParts parts_;
  const std::pair<std::size_t, std::size_t> own_;  // parts of this rank
  const std::uint64_t own_words_;
  std::vector<WordId> contexts_;  // [words] of a column, if a device does not find them
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
