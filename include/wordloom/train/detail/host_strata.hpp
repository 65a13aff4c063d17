#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <thread>
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
#include <wordloom/sampler/window.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/train/detail/block_order.hpp>
#include <wordloom/train/detail/pair_lists.hpp>
#include <wordloom/train/detail/step_team.hpp>
#include <wordloom/train/detail/update_sink.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The parts of an episode's text that a rank reads: `count` of `all`, from `first` on.
struct TextParts {
  std::uint64_t first, count, all;

  /// `own`: the strata [first, second) of this rank, of `strata`. `is_shared`: whether each rank
  /// holds a part of the corpus alone; then all have equally many parts. Otherwise any number of
  /// ranks reads the parts of its strata, and all together read those of one.
  static TextParts of(std::pair<std::size_t, std::size_t> own, std::size_t rank, std::size_t ranks,
                      std::size_t strata, std::size_t shares, bool is_shared) {
    if (!is_shared) return {own.first * shares, (own.second - own.first) * shares, strata * shares};
    const std::size_t each = (strata + ranks - 1) / ranks * shares;
    return {rank * each, each, ranks * each};
  }
};

/// Training of strata by the threads of a rank, see StratifiedPairs. An episode has a step that
/// finds its pairs, in P parts of its words, and P steps that train blocks: in step s, those of
/// input stratum r and output stratum r + s, for each r of this rank. Each part and each block
/// draws its random numbers from a stream of its own, and threads train blocks in a BlockOrder, so
/// that any number of threads and ranks gives the same bits.
/// `Sampler`: the policy, whose blocks are checked or not.
template <class Sampler, bool checked, class Corpus, class Samplers, class Kernels>
class HostStrata {
 public:
  /// `own`: the strata [first, second) of this rank. `episodes`: of an epoch. `text`: its parts.
  HostStrata(const Corpus& corpus, const Samplers& samplers, const Kernels& kernels, Model& model,
             const Hyperparameters& parameters, double subsample, std::uint64_t episodes,
             std::pair<std::size_t, std::size_t> own, TextParts text)
      : team_((std::min)(resolve_threads(parameters.threads),
                         (std::max<std::size_t>)(1, own.second - own.first) *
                             samplers.policy().block_threads),
              parameters.pin_threads),
        corpus_(corpus),
        samplers_(samplers),
        kernels_(kernels),
        model_(model),
        parameters_(parameters),
        episodes_(episodes),
        subsampling_(model.vocabulary, subsample),
        strata_(samplers.strata()),
        first_(static_cast<std::uint32_t>(own.first)),
        last_(static_cast<std::uint32_t>(own.second)),
        shares_(static_cast<std::uint32_t>(samplers.policy().block_threads)),
        text_(text),
        found_(text.count),
        blocks_(strata_.count()),
        for_ranks_(strata_.count()),
        wire_(strata_.count(), strata_.most_rows()),
        order_(last_ - first_, last_ - first_ == strata_.count(), shares_),
        has_contexts_(team_.threads()),
        done_(team_.threads()) {}

  std::size_t threads() const noexcept { return team_.threads(); }

  static void download(Model&) noexcept {}

  /// Calls `work()`, which may train episodes, in this thread; rethrows the first exception of any
  /// thread.
  void run(const std::function<void()>& work) {
    team_.run([this](std::size_t thread, const auto& serve) { take_part(thread, serve); }, work);
  }

  /// An episode of an epoch.
  struct Episode {
    std::size_t epoch = 0;
    std::uint64_t number = 0;
  };

  /// Finds the pairs of an episode, for a single rank.
  void find_pairs(Episode episode) {
    find(episode, blocks_);
    begin_episode(episode);
  }
  /// Finds the pairs of an episode in this rank's parts, and returns those of each rank's inputs:
  /// the texts that ranks exchange. `strata_of(rank)`: its strata.
  template <class StrataOf>
  std::vector<std::string> find_for_ranks(Episode episode, std::size_t ranks,
                                          const StrataOf& strata_of) {
    find(episode, for_ranks_);
    std::vector<std::string> to(ranks);
    sent_.resize(strata_.count());
    for (std::size_t r = 0; r < ranks; ++r) {
      const auto [first, last] = strata_of(r);
      std::size_t pairs = 0;
      for (std::size_t i = first; i < last; ++i) {
        sent_[i] = {&to[r], static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last),
                    pairs};
        pairs += for_ranks_.count(static_cast<std::uint32_t>(i));
      }
      to[r].resize(wire_.size(last - first, pairs));
    }
    do_each(Work::write, strata_.count());
    return to;
  }
  /// Takes the pairs that all ranks have found for this one.
  void take_pairs(Episode episode, const std::vector<std::string>& texts) {
    received_.clear();
    for (const std::string& text : texts) received_.emplace_back(wire_, text, last_ - first_);
    std::vector<std::size_t> counts(std::size_t{last_ - first_} * strata_.count());
    for (std::size_t i = 0; i < counts.size(); ++i)
      for (const PairWire::Reader& text : received_)
        counts[i] +=
            text.count(i / strata_.count(), static_cast<std::uint32_t>(i % strata_.count()));
    blocks_.resize_blocks(first_, counts);
    do_each(Work::read, static_cast<std::uint32_t>(counts.size()));
    received_.clear();
    begin_episode(episode);
  }

  /// Passes outputs on to other ranks. Called in thread 0 between its blocks, with the number of
  /// steps whose first block has been trained; returns that of the last step whose last block may
  /// be trained. `waits`: whether it should wait for outputs in flight.
  using Pass = std::function<std::uint32_t(std::uint32_t trained, bool waits)>;
  /// Trains steps first, first + 1 ... of the episode, each with its rate.
  void train(std::uint32_t first, std::vector<double> rates, const Pass& pass) {
    step_ = first;
    rates_ = std::move(rates);
    pass_ = &pass;
    order_.begin(static_cast<std::uint32_t>(rates_.size()));
    order_.arrived(pass(0, false));
    work_ = Work::train;
    team_.step();
  }
  /// Returns a team of the threads that wait for a block, and of thread 0, which must call it.
  const RankTeam& row_team() const { return row_team_; }
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
  struct Sent {
    std::string* to;
    std::uint32_t first, last;  // strata of the receiver
    std::size_t before;         // pairs of its strata before this one
  };
  struct Counted {
    std::atomic<std::uint64_t>& ended;
    ~Counted() { ended.fetch_add(1, std::memory_order_release); }
  };
  enum class Work { find, sort, write, read, train };
  // Make the streams of parts and of blocks differ from each other.
  static constexpr std::uint64_t part_streams = 0x70616972, block_streams = 0x626c6f636b;

  /// Finds the pairs of an episode in this rank's parts, and sorts them into `to`.
  void find(Episode episode, PairBlocks& to) {
    found_of_ = episode;
    do_each(Work::find, static_cast<std::uint32_t>(found_.size()));
    std::vector<std::size_t> counts(strata_.count());
    for (std::uint32_t i = 0; i < counts.size(); ++i)
      for (const auto& lists : found_)
        for (const FoundPairs& list : lists) counts[i] += list.count(i);
    to.resize(0, counts);
    sorted_ = &to;
    do_each(Work::sort, strata_.count());
    for (auto& lists : found_) lists.clear();
  }
  void begin_episode(Episode episode) {
    episode_ = episode;
    is_small_ = blocks_.size() < 100'000;
  }

  /// Lets the threads do `work` for numbers 0 to count - 1.
  void do_each(Work work, std::uint32_t count) {
    work_ = work;
    next_ = 0;
    count_ = count;
    team_.step();
  }

  template <class Serve>
  void take_part(std::size_t thread, const Serve& serve) {
    PairFinder finder(strata_.count());
    std::vector<WordId> kept;
    std::vector<Strata::Place> places;
    auto sampler = worker_of(samplers_);
    const Block::Shape max = sampler.max_block();
    auto kernel =
        block_worker_of<Block::Features::used_by<Sampler>()>(kernels_, std::as_const(model_), max);
    UpdateSink sink(model_, kernel, max, 0, WorkDone(), {}, NoSubwordRows::Thread(),
                    block_checks<Sampler, checked>(samplers_, model_, thread, team_.threads()));
    const auto find_part = [&](std::uint32_t i) {
      // The parts of a rank are next to each other in the text, and those of an episode all over
      // it.
      const std::uint64_t stream = (text_.first + i) * episodes_ + found_of_.number;
      Random random(parameters_.seed ^ part_streams, stream, found_of_.epoch);
      for (const std::span<const WordId> sentence : corpus_.sentences(
               Shard{stream, episodes_ * text_.all, found_of_.epoch, parameters_.seed})) {
        const auto words = subsampling_(sentence, random, kept);
        bool& contexts = has_contexts_[thread].is;
        if (!contexts && words.size() > 1) contexts = detail::has_contexts(sentence);
        places.resize(words.size());
        for (std::size_t k = 0; k < words.size(); ++k) places[k] = strata_.at(words[k]);
        for (std::size_t center = 0; center < words.size(); ++center) {
          const WindowRange<std::size_t> window(center, samplers_.policy().window.reach(random),
                                                words.size());
          for (std::size_t k = window.first; k < window.end; ++k)
            if (k != center) finder.add(places[k], places[center], found_[i]);
        }
      }
      finder.end(found_[i]);
    };
    const auto train_share = [&](BlockOrder::Share share) {
      const std::uint32_t input = first_ + share.input, step = step_ + share.step,
                          output = (input + step) % strata_.count();
      const auto pairs = blocks_.block(input, output);
      const auto [from, until] = part_of(pairs.size(), share.number, shares_);
      Random random(parameters_.seed ^ block_streams,
                    (std::uint64_t{input} * strata_.count() + output) * shares_ + share.number,
                    episode_.epoch * episodes_ + episode_.number);
      // One block in eight, different ones in each episode; all if there are few pairs.
      sink.with_loss =
          is_small_ || (input + output + episode_.number) % (std::min)(8u, strata_.count()) == 0;
      sink.learning_rate = static_cast<float>(rates_[share.step]);
      sampler.begin_block(input, output);
      sampler.sample(pairs.subspan(from, until - from), random, sink);
      sink.end_update();
      flush_worker(kernel, model_, sink.learning_rate);
      order_.trained(share);
    };
    const auto part = [&] {
      try {
        if (work_ == Work::train) {
          train_blocks(thread, train_share);
          done_[thread].add(std::exchange(sink.done, {}));
        } else {
          for (std::uint32_t i = 0; (i = next_++) < count_;)
            work_ == Work::find ? find_part(i) : move_pairs(i);
        }
      } catch (...) {
        has_failed_ = true;
        order_.changed();  // for those that wait
        throw;
      }
    };
    serve(part);
  }

  /// Sorts the pairs of an input stratum, writes them for another rank, or takes those of a block.
  void move_pairs(std::uint32_t i) {
    if (work_ == Work::sort)
      sorted_->fill(i, [&](const auto& add) {
        for (const auto& lists : found_)
          for (const FoundPairs& list : lists)
            for (std::uint32_t k = list.begin(i); k < list.ends[i]; ++k)
              add(list.outputs[k], list.pairs[k]);
      });
    else if (work_ == Work::write)
      wire_.write(for_ranks_, i, i - sent_[i].first, sent_[i].last - sent_[i].first,
                  sent_[i].before, *sent_[i].to);
    else
      blocks_.fill_block(first_ + i / strata_.count(), i % strata_.count(), [&](const auto& add) {
        for (const PairWire::Reader& text : received_)
          text.visit(i / strata_.count(), i % strata_.count(), add);
      });
  }

  /// Does work in thread 0 and in threads that wait for a block. For thread 0.
  void do_together(std::size_t parts, const std::function<void(std::size_t)>& work) {
    std::exception_ptr failure;
    const std::uint64_t number = (shared_.load(std::memory_order_relaxed) >> 32) + 1;
    shared_work_ = &work;
    shared_ended_.store(0, std::memory_order_relaxed);
    shared_.store(number << 32 | parts, std::memory_order_release);
    if (parts > 1 && team_.threads() > 1) order_.changed();
    try {
      help();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::uint64_t left = shared_.exchange(number << 32) & 0xffffffff;
    while (shared_ended_.load(std::memory_order_acquire) < parts - left) std::this_thread::yield();
    if (failure) std::rethrow_exception(failure);
  }
  /// Does parts of the work of do_together() while there are any.
  void help() {
    for (std::uint64_t now; ((now = shared_.load(std::memory_order_acquire)) & 0xffffffff) != 0;)
      if (shared_.compare_exchange_weak(now, now - 1, std::memory_order_acq_rel)) {
        const Counted ended{shared_ended_};
        (*shared_work_)((now & 0xffffffff) - 1);
      }
  }

  /// Trains blocks until there are none, or a thread has failed.
  template <class Train>
  void train_blocks(std::size_t thread, const Train& train_share) {
    const bool has_others = last_ - first_ < strata_.count();
    for (;;) {
      const std::uint32_t changes = order_.changes();  // before all that may change
      if (has_failed_) break;
      if (thread == 0)
        order_.arrived((*pass_)(order_.trained(0u), false));
      else
        help();
      bool is_idle = false;
      if (const auto share = order_.take(is_idle))
        train_share(*share);
      else if (order_.is_over())
        break;
      else if (thread != 0 || !has_others)
        order_.wait_for_change(changes);
      else if (is_idle)  // for outputs alone
        order_.arrived((*pass_)(order_.trained(0u), true));
      else
        std::this_thread::yield();
    }
  }

  StepTeam team_;
  const Corpus& corpus_;
  const Samplers& samplers_;
  const Kernels& kernels_;
  Model& model_;
  const Hyperparameters& parameters_;
  const std::uint64_t episodes_;
  const Subsampling subsampling_;
  const Strata& strata_;
  const std::uint32_t first_, last_, shares_;  // shares: of a block
  const TextParts text_;
  std::vector<std::vector<FoundPairs>> found_;  // [parts of this rank]
  PairBlocks blocks_;                           // that are trained
  PairBlocks for_ranks_;                        // found for all ranks
  const PairWire wire_;
  std::vector<Sent> sent_;  // [strata]
  std::vector<PairWire::Reader> received_;
  BlockOrder order_;
  std::vector<Flag> has_contexts_;     // [threads]
  std::vector<TrainedByThread> done_;  // [threads]
  // Written by thread 0 while the others wait.
  Work work_ = Work::find;
  std::uint32_t count_ = 0, step_ = 0;
  Episode episode_, found_of_;    // that is trained, and whose pairs are found
  PairBlocks* sorted_ = nullptr;  // into which they are sorted
  std::vector<double> rates_;
  const Pass* pass_ = nullptr;
  bool is_small_ = false;
  std::atomic<std::uint32_t> next_{0};
  // Work that threads do together: its number x 2^32 + the parts that none has begun.
  std::atomic<std::uint64_t> shared_{0}, shared_ended_{0};
  const std::function<void(std::size_t)>* shared_work_ = nullptr;
  const RankTeam row_team_ = [this](std::size_t parts, const auto& work) {
    do_together(parts, work);
  };
  std::atomic<bool> has_failed_{false};
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
