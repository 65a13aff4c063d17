#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/detail/nothing_to_train.hpp>
#include <wordloom/corpus/subsampling.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/kernel/detail/packed_rows.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/sampler/sentences.hpp>
#include <wordloom/sampler/targets.hpp>
#include <wordloom/train/detail/checkpoint.hpp>
#include <wordloom/train/detail/encoder_rounds.hpp>
#include <wordloom/train/detail/private_rows.hpp>
#include <wordloom/train/detail/rank_run.hpp>
#include <wordloom/train/detail/subword_rows.hpp>
#include <wordloom/train/detail/thread_team.hpp>
#include <wordloom/train/detail/update_sink.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Returns whether threads may have private rows: sampler and kernel must be able to, and the model
/// have two matrices.
template <class Samplers, class Kernels>
constexpr bool has_private_rows() {
  return requires(const Samplers& samplers, const WordRates& rates) {
    samplers.expected_updates(rates);
    requires MapsRows<KernelWorker<Kernels>>;
    requires !uses_one_matrix<Samplers>();
  };
}

/// Returns the private rows of a run of several threads, or null for one thread, for models of one
/// matrix and for samplers and kernels that cannot have them. `pairs`: the argument of PrivateRows,
/// see usual_pairs(); 0: no private rows.
template <class Samplers, class Kernels>
std::unique_ptr<PrivateRows> private_rows(const Samplers& samplers, const Kernels&, Model& model,
                                          const Hyperparameters& parameters, double subsample,
                                          std::size_t threads, double pairs) {
  if constexpr (has_private_rows<Samplers, Kernels>()) {
    const std::size_t count =
        PrivateRows::usual_count(parameters.private_rows, model.input.stride());
    if (threads > 1 && count > 0 && pairs > 0) {
      ExpectedUpdates expected = samplers.expected_updates(WordRates(model.vocabulary, subsample));
      // Words are trained in scratch rows, and n-grams are not sorted by frequency.
      if constexpr (HasSubwords<Samplers>) expected.input.clear();
      if constexpr (HasEncoder<Samplers>)
        if (samplers.end_to_end()) expected.input.clear();
      return std::make_unique<PrivateRows>(model, expected, count, threads, pairs);
    }
  }
  return nullptr;
}

/// Makes the random streams of negative pools differ from those of threads.
inline constexpr std::uint64_t pool_streams = 0x6e65676174697665;

/// Trains by threads of the host: each takes its shard of the corpus, subsamples each sentence,
/// lets the sampler make blocks of it and the kernel apply their gradients to the one model.
/// `samplers`, `kernels`: the runs whose workers threads train with, of the policy `Sampler`, whose
/// blocks are checked or not; `encoder`: of `samplers`; `subsample`: the threshold, 0 for none.
template <class Sampler, bool checked, class Corpus, class Samplers, class Kernels, class Run>
void train_by_threads(const Corpus& corpus, const Samplers& samplers, const Kernels& kernels,
                      EncoderRoundsOf<Samplers>& encoder, Run& run, double subsample) {
  Model& model = run.model;
  const Hyperparameters& parameters = run.parameters;
  const std::size_t threads = run.start.threads.size();
  ThreadTeam team(
      run, subsample,
      private_rows(samplers, kernels, model, parameters, subsample, threads,
                   PrivateRows::usual_pairs(threads, run.sync.size(), parameters.learning_rate)));
  PackedRows packed(kernels, model, team.threads);
  if constexpr (PacksRows<Kernels>) {
    static_assert(!MapsRows<KernelWorker<Kernels>> && !HasEncoder<Samplers>,
                  "wordloom: an UpdateKernel that packs rows has no private rows and no encoder");
    run.state.before_callbacks = [&] { packed.unpack(); };
    run.state.after_callbacks = [&] { packed.pack(); };
    run.complete = [&](std::vector<NamedMatrix>& copies) { packed.unpack(copies); };
  }
  const auto scratch = scratch_rows(samplers, kernels, encoder, model, team.threads);
  if constexpr (HasEncoder<Samplers>) {
    if (run.start.tokens == 0 || encoder.end_to_end()) encoder.encode();
    run.download = [&] { encoder.download(); };
    if (encoder.end_to_end()) {
      run.state.before_callbacks = [&] {
        if (team.rows) team.rows->merge_all();
        encoder.encode();
      };
    } else {
      run.state.round_words = encoder.round() * model.vocabulary.size();
      run.state.end_round = [&](double rate) {
        if (team.rows) team.rows->merge_all();
        encoder.end_round(rate);
        if (team.rows) team.rows->merge_all();  // so that threads copy the new rows
      };
    }
  }

  const auto train_thread = [&](std::size_t thread) {
    const std::size_t stream = run.sync.rank() * team.threads + thread;
    const std::size_t streams = run.sync.size() * team.threads;
    auto sampler = worker_of(samplers);
    const Block::Shape max = sampler.max_block();
    auto kernel =
        block_worker_of<Block::Features::used_by<Sampler>()>(kernels, std::as_const(model), max);
    auto words = scratch.thread(thread);
    const auto own_rows = scratch.scratch(thread);
    if constexpr (may_train_minibatches<Samplers>)
      if (encoder.end_to_end()) leave_inputs(kernel, own_rows.first, own_rows.count);
    const Checkpoint::Thread start = run.start.threads[thread];
    std::vector<WordId> kept;
    SentenceBuffer batch;
    std::uint64_t ticked = start.tokens;  // of those that are not reported
    double rate = team.first_rate;
    bool contexts = false;  // whether a word of a sentence has a context
    UpdateSink sink(model, kernel, max, rate,
                    WorkDone{start.tokens, start.examples, LossSum(start.loss), start.examples},
                    team.rows ? team.rows->thread(thread, own_rows) : PrivateRows::Thread(),
                    std::move(words),
                    block_checks<Sampler, checked>(samplers, model, thread, team.threads));

    for (std::size_t epoch = start.epoch; epoch < parameters.epochs; ++epoch) {
      run.state.begin_epoch(epoch, model);
      Random random(parameters.seed, stream, epoch);
      std::uint64_t sentences = 0, skipped = 0, picks = 0;
      if (epoch == start.epoch && start.sentences > 0) {
        random = Random::from_state(start.random_state, start.random_gamma);
        skipped = start.sentences;
        picks = start.picks;
      }
      begin_epoch_of(sampler, Random(parameters.seed ^ pool_streams, stream, epoch), picks);
      const auto position = [&]() -> Checkpoint::Thread {
        const WorkDone& done = sink.done;
        return {epoch,       sentences,     random.state(),   random.gamma(), picks_of(sampler),
                done.tokens, done.examples, done.loss.value()};
      };
      const auto report = [&] {
        sink.end_minibatch();
        const WorkDone done = std::exchange(sink.done, {});
        team.report(thread, done, position(), rate);
        sink.learning_rate = static_cast<float>(rate);
        ticked = 0;
      };
      // A sampler may take several sentences at once, so that rows of the next one are announced
      // while one is trained. Runs stop and resume between such batches.
      std::uint64_t batch_tokens = 0, batch_sentences = 0;
      const auto train_batch = [&](const TextOf<decltype(sampler)>& text) {
        // Sentences in which subsampling leaves nothing to measure do not count.
        sink.with_loss = sink.done.tokens <= team.measured || sink.done.blocks == 0;
        sink.begin_words(Sentences(text).words());
        if constexpr (TakesManyWords<decltype(sampler)>) {
          const double before = run.state.fraction(sink.done.tokens * team.threads);
          const double after = run.state.fraction((sink.done.tokens + batch_tokens) * team.threads);
          sampler.sample(text, random, sink, [&](double part) {
            const double now = before + part * (after - before);
            sink.learning_rate = static_cast<float>(run.schedule.rate(now));
          });
        } else {
          sampler.sample(text, random, sink);
        }
        sink.end_sentences();
        batch.clear();
        sink.done.tokens += std::exchange(batch_tokens, 0);
        sentences += std::exchange(batch_sentences, 0);
        if (sink.done.tokens >= team.interval) {
          report();
        } else if (team.ticks(thread) && sink.done.tokens - ticked >= team.tick_interval) {
          ticked = sink.done.tokens;
          team.tick(thread, position());
        }
      };
      [[maybe_unused]] const auto is_full = [&] {
        if constexpr (TakesManyWords<decltype(sampler)>)
          return batch.words() >= sampler.words_at_once();
        else
          return batch_tokens >= team.at_once;
      };
      for (const std::span<const WordId> sentence :
           corpus.sentences(Shard{stream, streams, epoch, parameters.seed})) {
        if (!contexts) contexts = has_contexts(sentence);
        if (sentences < skipped) {
          ++sentences;
          continue;
        }
        if (batch_sentences == 0 && run.state.stopped()) {
          flush_worker(kernel, model, sink.learning_rate);
          sink.end_minibatch();
          run.state.set_position(thread, position());
          return;
        }
        batch_tokens += sentence.size();
        ++batch_sentences;
        if constexpr (TakesSentences<decltype(sampler)>) {
          batch.add(team.subsampling(sentence, random, kept));
          if (is_full()) train_batch(batch.sentences());
        } else {
          train_batch(team.subsampling(sentence, random, kept));
        }
      }
      if constexpr (TakesSentences<decltype(sampler)>)
        if (batch_sentences > 0) train_batch(batch.sentences());
      flush_worker(kernel, model, sink.learning_rate);
      report();
      run.state.end_epoch(thread, epoch, contexts, model);
    }
    run.state.leave();
  };

  team.train(std::cref(train_thread));
  packed.unpack_for_good();
  const bool stopped = run.state.stopped();
  if (stopped) run.end();
  if constexpr (HasEncoder<Samplers>) {
    encoder.end_round(run.schedule.rate(run.state.fraction()));
    if (encoder.end_to_end()) encoder.encode();
  }
  if (!stopped) run.end();
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
