#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/detail/nothing_to_train.hpp>
#include <wordloom/corpus/subsampling.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/detail/strata.hpp>
#include <wordloom/sampler/expected_updates.hpp>
#include <wordloom/sampler/window.hpp>
#include <wordloom/train/detail/pair_lists.hpp>
#include <wordloom/train/detail/step_team.hpp>
#include <wordloom/train/detail/update_sink.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Training of strata by the threads of a rank, see StratifiedPairs. An episode has a step that
/// finds its pairs, in P parts of its words, and P steps that train blocks: in step s, those of
/// input stratum r and output stratum r + s, for each r of this rank. Each part and each block
/// draws its random numbers from a stream of its own, and in a step no two threads change the same
/// row, so that any number of threads and ranks gives the same bits.
/// `Sampler`: the policy, whose blocks are checked or not.
template <class Sampler, bool checked, class Corpus, class Samplers, class Kernels>
class HostStrata {
 public:
  /// `own`: the strata [first, second) of this rank. `episodes`: of an epoch.
  HostStrata(const Corpus& corpus, const Samplers& samplers, const Kernels& kernels, Model& model,
             const Hyperparameters& parameters, double subsample, std::uint64_t episodes,
             std::pair<std::size_t, std::size_t> own)
      : team_((std::min)(resolve_threads(parameters.threads),
                         (std::max<std::size_t>)(1, own.second - own.first)),
              parameters.pin_threads),
        corpus_(corpus),
        samplers_(samplers),
        kernels_(kernels),
        model_(model),
        parameters_(parameters),
        episodes_(episodes),
        subsampling_(model.vocabulary, subsample),
        found_(own.second - own.first),
        has_contexts_(team_.threads()),
        done_(team_.threads()),
        strata_(samplers.strata()),
        pairs_share_(strata_.count),
        first_(static_cast<std::uint32_t>(own.first)),
        last_(static_cast<std::uint32_t>(own.second)) {
    const WordRates rates(model.vocabulary, subsample);
    for (RowId i = 0; i < strata_.rows; ++i)
      pairs_share_[strata_.of(i)] += rates.kept[i] / rates.sum;
  }

  static void download(Model&) noexcept {}

  /// Calls `work()`, which may train episodes, in this thread; rethrows the first exception of any
  /// thread.
  void run(const std::function<void()>& work) {
    team_.run([this](std::size_t thread, const auto& serve) { take_part(thread, serve); }, work);
  }

  /// Finds the pairs of this rank's parts of an episode.
  void find_pairs(std::size_t epoch, std::uint64_t episode) {
    epoch_ = epoch;
    episode_ = episode;
    for (auto& lists : found_) lists.clear();
    next_ = first_;
    finds_ = true;
    team_.step();
    lists_.clear();
    for (auto& lists : found_)
      for (PairList& list : lists) lists_.push_back(std::move(list));
  }
  /// Gives each rank the pairs of its inputs. `strata_of(rank)`: its strata; `exchange`: see
  /// TextCollective.
  template <class StrataOf, class Exchange>
  void exchange_pairs(std::size_t ranks, const StrataOf& strata_of, const Exchange& exchange) {
    const PairWire wire(strata_);
    std::vector<std::string> to(ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
      const auto [first, last] = strata_of(r);
      for (const PairList& list : lists_)
        wire.append(list, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last),
                    to[r]);
    }
    lists_.clear();
    for (const std::string& text : exchange(std::move(to)))
      for (PairList& list : wire.lists(text, first_, last_)) lists_.push_back(std::move(list));
  }
  /// Notes what is to be trained in the episode, once all its pairs are there.
  void begin_episode() {
    std::size_t pairs = 0;
    for (const PairList& list : lists_) pairs += list.pairs.size();
    is_small_ = pairs < 100'000;
  }
  /// Trains step `step` of the episode. `between`: called in this thread between its blocks, with
  /// whether the first block has been trained; returns whether the outputs of the last one are
  /// there, for which a thread waits that trains it. `waits`: whether it should wait for them.
  using Between = std::function<bool(bool first_is_trained, bool waits)>;
  void train(std::uint32_t step, double rate, const Between& between) {
    step_ = step;
    rate_ = static_cast<float>(rate);
    between_ = &between;
    next_ = first_;
    finds_ = false;
    first_is_trained_ = false;
    last_is_there_ = between(false, false);
    team_.step();
  }
  /// Returns whether there was a pair so far, in a sentence of two different words.
  bool has_contexts() const {
    return std::ranges::any_of(has_contexts_, [](const Flag& of_thread) { return of_thread.is; });
  }

  /// Returns the work of all threads since the last call.
  TrainedByThread wait() { return TrainedByThread::take(done_); }

 private:
  struct alignas(64) Flag {
    bool is = false;
  };
  // Make the streams of parts and of blocks differ from each other.
  static constexpr std::uint64_t part_streams = 0x70616972, block_streams = 0x626c6f636b;

  template <class Serve>
  void take_part(std::size_t thread, const Serve& serve) {
    PairSorter sorter(strata_);
    std::vector<WordId> kept;
    std::vector<std::uint32_t> strata, places, pairs;
    auto sampler = worker_of(samplers_);
    const Block::Shape max = sampler.max_block();
    auto kernel =
        block_worker_of<Block::Features::used_by<Sampler>()>(kernels_, std::as_const(model_), max);
    UpdateSink sink(model_, kernel, max, 0, WorkDone(), {}, NoSubwordRows::Thread(),
                    block_checks<Sampler, checked>(samplers_, model_, thread, team_.threads()));
    const auto find_part = [&](std::uint32_t part) {
      // The parts of a rank are next to each other in the text, and those of an episode all over
      // it.
      const std::uint64_t stream = part * episodes_ + episode_;
      Random random(parameters_.seed ^ part_streams, stream, epoch_);
      for (const std::span<const WordId> sentence :
           corpus_.sentences(Shard{stream, episodes_ * strata_.count, epoch_, parameters_.seed})) {
        const auto words = subsampling_(sentence, random, kept);
        bool& contexts = has_contexts_[thread].is;
        if (!contexts && words.size() > 1) contexts = detail::has_contexts(sentence);
        strata.resize(words.size());
        places.resize(words.size());
        for (std::size_t i = 0; i < words.size(); ++i) {
          strata[i] = strata_.of(words[i]);
          places[i] = strata_.place(words[i]);
        }
        for (std::size_t center = 0; center < words.size(); ++center) {
          const WindowRange<std::size_t> window(center, samplers_.policy().window.reach(random),
                                                words.size());
          for (std::size_t i = window.first; i < window.end; ++i)
            if (i != center)
              sorter.add(strata[i], places[i], strata[center], places[center],
                         found_[part - first_]);
        }
      }
      sorter.end(found_[part - first_]);
    };
    const auto train_block = [&](std::uint32_t input) {
      const std::uint32_t output = (input + step_) % strata_.count;
      pairs.clear();
      for (const PairList& list : lists_) {
        const auto [begin, end] = list.block(input, output, strata_.count);
        pairs.insert(pairs.end(), begin, end);
      }
      Random random(parameters_.seed ^ block_streams, std::uint64_t{input} * strata_.count + output,
                    epoch_ * episodes_ + episode_);
      // One block in eight, different ones in each episode; all if there are few pairs.
      sink.with_loss =
          is_small_ || (input + output + episode_) % (std::min)(8u, strata_.count) == 0;
      sampler.begin_block(input, output, pairs_share_[output]);
      sampler.sample(std::span<const std::uint32_t>(pairs), random, sink);
      sink.end_update();
    };
    const auto do_blocks = [&] {
      for (std::uint32_t i = 0; (i = next_++) < last_;) {
        if (finds_) {
          find_part(i);
          continue;
        }
        if (i + 1 == last_) wait_for_last(thread);
        train_block(i);
        if (i == first_) first_is_trained_.store(true, std::memory_order_release);
        if (thread == 0) look_between(false);
      }
      if (thread == 0 && !finds_) look_between(true);
    };
    const auto part = [&] {
      sink.learning_rate = rate_;
      try {
        do_blocks();
      } catch (...) {
        tell_others();  // which would wait for ever
        throw;
      }
      flush_worker(kernel, model_, sink.learning_rate);
      done_[thread].add(std::exchange(sink.done, {}));
    };
    serve(part);
  }

  /// Looks for the outputs of the last block, or waits for them. For thread 0.
  void look_between(bool waits) {
    if ((*between_)(first_is_trained_.load(std::memory_order_acquire), waits)) tell_others();
  }
  void tell_others() {
    last_is_there_.store(true, std::memory_order_release);
    last_is_there_.notify_all();
  }
  void wait_for_last(std::size_t thread) {
    if (last_is_there_.load(std::memory_order_acquire)) return;
    if (thread == 0)
      look_between(true);
    else
      last_is_there_.wait(false, std::memory_order_acquire);
  }

  StepTeam team_;
  const Corpus& corpus_;
  const Samplers& samplers_;
  const Kernels& kernels_;
  Model& model_;
  const Hyperparameters& parameters_;
  const std::uint64_t episodes_;
  // Numbers of the step, and its rate below, are written by thread 0 between two steps.
  std::size_t epoch_ = 0;
  std::uint64_t episode_ = 0;
  const Between* between_ = nullptr;
  const Subsampling subsampling_;
  std::vector<std::vector<PairList>> found_;  // [parts of this rank]
  std::vector<PairList> lists_;        // all pairs of this rank's inputs, in the order of the text
  std::vector<Flag> has_contexts_;     // [threads]
  std::vector<TrainedByThread> done_;  // [threads]
  const Strata strata_;
  std::vector<double> pairs_share_;  // [strata] of the pairs with an output in it
  const std::uint32_t first_, last_;
  std::uint32_t step_ = 0;
  float rate_ = 0;
  std::atomic<std::uint32_t> next_{0};
  bool finds_ = false, is_small_ = false;
  std::atomic<bool> first_is_trained_{false}, last_is_there_{true};
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
