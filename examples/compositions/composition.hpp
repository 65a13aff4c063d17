#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/subwords.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/model/embeddings.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/schedule/schedules.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/train/progress.hpp>

#include "cluster.hpp"

/// The method of training that the command line chooses.
struct Composition {
  std::string_view sampler, kernel;  // names of wordloom/registry.hpp
  const wordloom::Hyperparameters& parameters;
  std::optional<wordloom::BagGradient> bag_gradient;  // none: the sampler's
  std::string_view checkpoint;                        // a file; empty: none
  std::chrono::duration<double> checkpoint_interval;
  bool resume;
  std::string_view sync;
  bool sync_bf16;
  const wordloom::SyncOptions& sync_options;
  wordloom::AnyRule sync_rule = {};
  wordloom::SubwordOptions subwords = {.maxn = 0};
  std::size_t char_cnn = 0;  // filters of each width of a character CNN; 0: none
  std::size_t char_cnn_positions = 0;
  bool end_to_end = false;
  const wordloom::Embeddings* pretrained = nullptr;  // start of a new model; null: at random
  std::string_view optimizer = "sgd";                // a name of wordloom/registry.hpp
  wordloom::AnySchedule::Kind schedule = wordloom::AnySchedule::Kind::linear;
  // For samplers that train columns.
  std::size_t context_size = 1024;  // columns of the word-context matrix
  std::string_view contexts = {};   // the file of the matrix; empty: none
};

/// The corpus and the model to train. A missing model is created.
struct Job {
  const Composition& composition;
  const Cluster& cluster;
  const wordloom::AnyCorpus& corpus;
  const wordloom::Vocabulary& vocabulary;
  std::optional<wordloom::Model>& model;
  std::function<bool(const wordloom::Progress&)> callback;
  std::chrono::duration<double> callback_interval;
};

/// True for samplers that WithOptimizer trains: those that make no bags.
template <class Sampler>
inline constexpr bool takes_optimizer = !wordloom::features_used<Sampler>().bags;

/// The sampler of a composition with its parameters.
template <class Sampler>
Sampler make_sampler(const Composition& composition) {
  auto sampler = wordloom::policy_from<Sampler>(composition.parameters);
  if constexpr (requires { sampler.gradient; })
    sampler.gradient = composition.bag_gradient.value_or(sampler.gradient);
  if constexpr (requires { sampler.subwords; }) {
    sampler.sampler = make_sampler<decltype(sampler.sampler)>(composition);
    sampler.subwords = composition.subwords;
  }
  if constexpr (requires { sampler.encoder; }) {
    sampler.encoder.filters = composition.char_cnn;
    sampler.encoder.positions = composition.char_cnn_positions;
    sampler.end_to_end = composition.end_to_end;
  }
  return sampler;
}

/// Trains `corpus`, which is the job's or made from it, with the options of the job.
template <class Trainer, class Corpus>
wordloom::TrainReport train_with(Trainer& trainer, const Corpus& corpus, const Job& job) {
  const Composition& how = job.composition;
  trainer.on_progress(job.callback, job.callback_interval);
  if (!how.checkpoint.empty()) trainer.checkpoint_to(how.checkpoint, how.checkpoint_interval);
  if (!job.model) {
    job.model.emplace(trainer.new_model(job.vocabulary));
    if (how.pretrained != nullptr) job.model->set_vectors(*how.pretrained);
  }
  return how.resume ? trainer.resume_training(corpus, *job.model, how.checkpoint)
                    : trainer.train(corpus, *job.model);
}
