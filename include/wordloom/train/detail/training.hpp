#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include <wordloom/core/detail/parameter_effects.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/detail/nothing_to_train.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/kernel/detail/packed_rows.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/train/detail/batch_loop.hpp>
#include <wordloom/train/detail/checkpoint.hpp>
#include <wordloom/train/detail/column_loop.hpp>
#include <wordloom/train/detail/encoder_rounds.hpp>
#include <wordloom/train/detail/host_columns.hpp>
#include <wordloom/train/detail/host_strata.hpp>
#include <wordloom/train/detail/rank_run.hpp>
#include <wordloom/train/detail/rank_training.hpp>
#include <wordloom/train/detail/resharded_run.hpp>
#include <wordloom/train/detail/strata_loop.hpp>
#include <wordloom/train/detail/thread_loop.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Returns the vectors of a trained model: Run::embeddings() of its sampler, or those of the model.
template <class SamplerRun>
auto embeddings_of(Model&& model) {
  if constexpr (requires { SamplerRun::embeddings(std::move(model)); })
    return SamplerRun::embeddings(std::move(model));
  else
    return std::move(model).embeddings();
}

/// The policies of a trainer; begins and ends runs with them. `checked`: see Trainer.
template <class Sampler, class Kernel, class Sync, class Schedule, bool checked>
struct Training : RankTraining<Sync, Schedule, ReplicaOf<Kernel>> {
  static constexpr bool on_device = OnDevice<Kernel>;
  using Replica = ReplicaOf<Kernel>;
  using SamplerRun = RunOf<Sampler>;
  using Rank = RankTraining<Sync, Schedule, Replica>;
  using RankRun = typename Rank::RankRun;
  using Rank::options, Rank::schedule, Rank::sync;
  static_assert(!shares_rows<Sync> || owns_rows<Sampler>,
                "wordloom: RowAllgather is for samplers that train columns or strata, as "
                "UniformMatrix or StratifiedPairs");
  static_assert(!is_by_strata<Sampler> || (!on_device && KeepsNothingByRow<KernelRun<Kernel>>),
                "wordloom: a sampler of strata needs an UpdateKernel of the host that keeps "
                "nothing by row, as an optimizer does");
  static_assert(!PacksRows<KernelRun<Kernel>> || std::is_same_v<Sync, NoSync>,
                "wordloom: this UpdateKernel packs the rows of the model while it trains, and goes "
                "with NoSync alone");

  Sampler sampler;
  Kernel kernel;

  /// Returns which hyperparameters have an effect though no policy lists them.
  static constexpr ReadByTrainer reads() {
    ReadByTrainer result{
        .subsample = !has_two_steps<Sampler>, .device = on_device, .pin_threads = !on_device};
    if constexpr (!on_device && !owns_rows<Sampler>) {
      result.private_rows = has_private_rows<SamplerRun, KernelRun<Kernel>>();
      result.negative_pool = picks_negatives<WorkerOf<Sampler>>;
    }
    return result;
  }

  Model new_model(const Vocabulary& vocabulary, const SamplerRun& samplers) const {
    return Model(vocabulary, shape(vocabulary, samplers), options.parameters.seed);
  }

  /// Trains the model that `model_for(samplers)` returns: checks that everything fits, makes the
  /// ranks start equally, runs the loop of the kernel, and tells other ranks if it fails. `from`:
  /// the checkpoint that the run resumes, or null.
  template <class Corpus>
  void train(const Corpus& corpus, const Vocabulary& vocabulary, const std::filesystem::path* from,
             const std::function<Model&(const SamplerRun&)>& model_for) {
    static_assert(require_corpus<Corpus>());
    static_assert(!has_two_steps<Sampler> || HasColumns<Corpus>,
                  "wordloom: this Sampler trains the columns of a WordContextMatrix, and this "
                  "Corpus has none: WordContextMatrix::from(corpus, vocabulary) makes one");
    // Outlives a failure: other ranks are notified before the memory of a device is freed.
    [[maybe_unused]] std::unique_ptr<DeviceRun<Kernel>> device;
    try {
      const SamplerRun samplers = sampler.start(vocabulary);
      if constexpr (!on_device) require_end_to_end<KernelRun<Kernel>>(samplers);
      Model& model = model_for(samplers);
      const double subsample =
          subsamples<SamplerRun>() && drops_words(corpus) ? options.parameters.subsample : 0;
      const auto traits = traits_of(corpus, samplers, model.vocabulary, subsample);
      Checkpoint start = Rank::starting_position(model, traits, from);
      const bool resumes = from != nullptr;
      if constexpr (on_device) {
        static_assert(!HasEncoder<SamplerRun>,
                      "wordloom: an encoder needs an UpdateKernel of the host");
        Hyperparameters parameters = options.parameters;
        parameters.subsample = subsample;
        device = kernel.start(sampler, parameters, model);
        auto replica = device->replica();
        Rank::run(model, replica, traits, resumes, start, [&](RankRun& run) {
          NoEncoderRounds none;
          if constexpr (has_two_steps<Sampler>)
            ColumnLoop(corpus, *device, none, run).train();
          else
            BatchLoop(corpus, *device, run).train();
        });
      } else {
        static_assert(!HasSubwords<SamplerRun> || KeepsNothingByRow<KernelRun<Kernel>>,
                      "wordloom: this UpdateKernel keeps data by row, as an optimizer does, or "
                      "packs rows, and cannot train the scratch rows of Subwords");
        const auto kernels = start_kernel(kernel, model);
        EncoderRoundsOf<SamplerRun> encoder(samplers, model, options.parameters);
        Rank::run(model, model, traits, resumes, start, [&](RankRun& run) {
          if constexpr (has_two_steps<Sampler>) {
            HostColumns<Sampler, checked, Corpus, SamplerRun, KernelRun<Kernel>> threads(
                corpus, samplers, kernels, encoder.end_to_end(), model, options.parameters);
            ColumnLoop(corpus, threads, encoder, run).train();
          } else if constexpr (is_by_strata<Sampler>) {
            if (!splits(corpus) && !holds_sentences(corpus))
              throw InvalidArgument(
                  "training by strata reads a corpus in many parts: it needs one that splits or "
                  "holds its sentences (concept Corpus), such as EncodedCorpus");
            const auto episodes = episodes_of(corpus.token_count(), options.parameters.epochs,
                                              model.vocabulary.size(), samplers.policy().episode);
            // The strata of `samplers` divide all words, these the words that are kept.
            const SamplerRun balanced(samplers.policy(), model.vocabulary,
                                      WordRates(model.vocabulary, subsample));
            const std::size_t strata = balanced.strata().count();
            const auto own = part_of(strata, sync.rank(), sync.size());
            HostStrata<Sampler, checked, Corpus, SamplerRun, KernelRun<Kernel>> threads(
                corpus, balanced, kernels, model, options.parameters, subsample, episodes, own,
                TextParts::of(own, sync.rank(), sync.size(), strata,
                              samplers.policy().block_threads, ranks_of(corpus) > 1));
            StrataLoop(threads, balanced, run, episodes).train();
          } else {
            train_by_threads<Sampler, checked>(corpus, samplers, kernels, encoder, run, subsample);
          }
        });
      }
    } catch (const std::exception& error) {
      sync.fail(error.what());
      throw;
    } catch (...) {
      sync.fail("an exception that is not a std::exception");
      throw;
    }
  }

 private:
  Model::Shape shape(const Vocabulary& vocabulary, const SamplerRun& samplers) const {
    return {.dimension = options.parameters.dimension,
            .output_rows = output_rows(samplers, vocabulary),
            .one_matrix = uses_one_matrix<SamplerRun>(),
            .subwords = subwords_of(samplers)};
  }

  /// `vocabulary`: the model's, which must outlive the result, as must corpus and samplers.
  /// `subsample`: the threshold above which words are dropped, 0 for none.
  template <class Corpus>
  typename Rank::Traits traits_of(const Corpus& corpus, const SamplerRun& samplers,
                                  const Vocabulary& vocabulary, double subsample) const {
    typename Rank::Traits traits{.shape = shape(vocabulary, samplers),
                                 .method = method_of(options.parameters, sampler, kernel, schedule),
                                 .corpus_tokens = corpus.token_count(),
                                 .in_parts = !shares_rows<Sync> || ranks_of(corpus) > 1};
    if constexpr (requires { corpus.vocabulary_fingerprint(); })
      traits.corpus_vocabulary = corpus.vocabulary_fingerprint();
    if constexpr (requires { corpus.fingerprint(); })
      traits.corpus_fingerprint = [&corpus] { return corpus.fingerprint(); };
    if constexpr (!owns_rows<Sampler>)
      traits.sentences_of = ReshardedRun::sentences_of(
          corpus, on_device ? longest_piece(traits.corpus_tokens / sync.size()) : 0);
    if constexpr (!on_device && !owns_rows<Sampler>)
      traits.threads = resolve_threads(options.parameters.threads);
    if constexpr (on_device && !has_two_steps<Sampler>) traits.min_interval = Kernel::min_words;
    const auto refused = [](const char* why) {
      return [why]() -> ExpectedUpdates { throw InvalidArgument(why); };
    };
    if constexpr (owns_rows<Sampler> && !shares_rows<Sync>)
      traits.expected = refused(
          "ranks that train columns or strata need the SyncPolicy RowAllgather: this one has no "
          "share_rows(replica, side, first, last)");
    else if constexpr (HasEncoder<SamplerRun> && !has_two_steps<Sampler>)
      traits.expected = refused(
          "an encoder that several ranks train needs a sampler of columns, as UniformMatrix");
    else if constexpr (ExpectsUpdates<Sampler>)
      traits.expected = [&samplers, &vocabulary, subsample] {
        return samplers.expected_updates(WordRates(vocabulary, subsample));
      };
    else
      traits.expected = refused(
          "this Sampler lacks expected_updates(rates), which training by several ranks needs");
    traits.nothing_trained = [this, &corpus, subsample] {
      return nothing_trained(corpus, subsample, options.parameters.seed);
    };
    return traits;
  }
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
