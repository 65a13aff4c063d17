#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/detail/column_parts.hpp>
#include <wordloom/train/detail/encoder_rounds.hpp>
#include <wordloom/train/detail/step_team.hpp>
#include <wordloom/train/detail/update_sink.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Training of columns by threads of the host, with the interface of a kernel on a device (see
/// ColumnLoop). The words of a column are divided into parts. Each thread takes the next free part,
/// and all wait for each other after each step. A part draws its random numbers from a stream of
/// its own and no row changes twice in a step, so that any number of threads gives the same bits.
/// Between two steps only thread 0 works.
/// `Sampler`: the policy, whose blocks are checked or not.
template <class Sampler, bool checked, class Corpus, class Samplers, class Kernels>
class HostColumns {
 public:
  static constexpr bool on_host = true;

  /// `end_to_end`: the gradients of the inputs are left to an encoder, which is trained by them.
  HostColumns(const Corpus& corpus, const Samplers& samplers, const Kernels& kernels,
              bool end_to_end, Model& model, const Hyperparameters& parameters)
      : corpus_(corpus),
        samplers_(samplers),
        kernels_(kernels),
        end_to_end_(end_to_end),
        model_(model),
        parameters_(parameters),
        team_(resolve_threads(parameters.threads), parameters.pin_threads),
        done_(team_.threads()) {}

  /// Sets the words of a column and the parts [first, second) that this rank trains.
  void set_words(std::span<const WordId> words, std::pair<std::size_t, std::size_t> parts) {
    words_ = words;
    parts_ = {words.size()};
    own_ = parts;
    contexts_.resize(columns_at_once * words.size());
  }
  static void download(Model&) noexcept {}

  /// Calls `work()`, which may train columns, in this thread; rethrows the first exception of any
  /// thread.
  void run(const std::function<void()>& work) {
    team_.run([this](std::size_t thread, const auto& serve) { take_part(thread, serve); }, work);
  }

  void begin_column(std::uint64_t number, std::size_t in_epoch, const std::vector<WordId>&) {
    finds_contexts_ = number % columns_at_once == 0 || !has_contexts_;
    has_contexts_ = true;
    number_ = number;
    in_epoch_ = in_epoch;
  }
  void train(Block::Sides step, double rate) {
    step_ = step;
    rate_ = static_cast<float>(rate);
    next_part_ = own_.first;
    team_.step();
  }
  static void end_column() noexcept {}

  /// Returns the work of all threads since the last call.
  TrainedByThread wait() { return TrainedByThread::take(done_); }

 private:
  static constexpr std::size_t part_words = ColumnParts::part_words;
  static constexpr std::size_t columns_at_once = 16;  // whose contexts are found together

  /// Makes the worker of a thread, which takes part in each step.
  template <class Serve>
  void take_part(std::size_t thread, const Serve& serve) {
    std::array<WordId, 2 * part_words> pairs;
    auto sampler = worker_of(samplers_);
    const Block::Shape max = sampler.max_block();
    auto kernel = one_side_worker_of(kernels_, std::as_const(model_), max);
    if (end_to_end_) leave_inputs(kernel, 0, model_.input.rows());
    UpdateSink sink(model_, kernel, max, 0, WorkDone(), {}, NoSubwordRows::Thread(),
                    block_checks<Sampler, checked>(samplers_, model_, thread, team_.threads()));
    const auto train_parts = [&] {
      sampler.begin_step(step_);
      sink.begin_step(step_);
      sink.learning_rate = rate_;
      for (std::size_t part = 0; (part = next_part_++) < own_.second;) {
        const std::size_t first = parts_.first_word(part);
        const std::size_t count = parts_.first_word(part + 1) - first;
        const auto contexts = contexts_of(first, count);
        for (std::size_t i = 0; i < count; ++i) {
          pairs[2 * i] = words_[first + i];
          pairs[2 * i + 1] = contexts[i];
        }
        Random random = ColumnParts::random(parameters_.seed, part, step_, number_);
        sink.with_loss = ColumnParts::has_loss(part, in_epoch_);
        sampler.sample(std::span<const WordId>(pairs).first(2 * count), random, sink);
        sink.end_update();
      }
      flush_worker(kernel, model_, sink.learning_rate);
      done_[thread].add(std::exchange(sink.done, {}));
    };
    serve(train_parts);
  }

  /// Returns the contexts of a part in this column. The contexts of 16 columns are found together,
  /// because they are adjacent in the list of a word (WordContextLists).
  std::span<const WordId> contexts_of(std::size_t first, std::size_t count) {
    const auto from_here = std::span(contexts_)
                               .subspan(columns_at_once * first, columns_at_once * count)
                               .subspan(number_ % columns_at_once * count);
    if (finds_contexts_ && step_ == Block::Sides::inputs)
      corpus_.contexts(number_, first, count, from_here);
    return from_here.first(count);
  }

  const Corpus& corpus_;
  const Samplers& samplers_;
  const Kernels& kernels_;
  const bool end_to_end_;
  Model& model_;
  const Hyperparameters& parameters_;
  StepTeam team_;
  std::span<const WordId> words_;
  ColumnParts parts_{0};
  std::pair<std::size_t, std::size_t> own_;  // parts of this rank
  // Written by thread 0, between two steps.
  std::uint64_t number_ = 0;  // of the column, over all epochs
  std::size_t in_epoch_ = 0;
  Block::Sides step_ = Block::Sides::inputs;
  float rate_ = 0;
  bool has_contexts_ = false, finds_contexts_ = false;
  // For each part [columns_at_once x words of the part]. Both steps of a column use them.
  std::vector<WordId> contexts_;
  std::vector<TrainedByThread> done_;  // [threads]
  std::atomic<std::size_t> next_part_{0};
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
