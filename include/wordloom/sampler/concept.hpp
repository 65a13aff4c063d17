#pragma once
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/subwords.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/sampler/expected_updates.hpp>
#include <wordloom/sampler/sentences.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// A stand-in for the sink that a trainer passes to a sampler.
struct AnySink {
  void operator()(const Block&) const noexcept {}
};

/// A stand-in for the function that a trainer passes to a sampler of many words.
struct AnyPass {
  void operator()(double) const noexcept {}
};

template <class S>
concept StartsRuns = requires(const S& policy, const Vocabulary& vocabulary) {
  policy.start(vocabulary);
};
template <class S>
using RunOf = decltype(std::declval<const S&>().start(std::declval<const Vocabulary&>()));

/// Returns the worker of one thread: `run.worker()` if the run has that, else a copy of the run.
template <class Run>
auto worker_of(const Run& run) {
  if constexpr (requires { run.worker(); })
    return run.worker();
  else
    return run;
}
template <class S>
using WorkerOf = decltype(worker_of(std::declval<const RunOf<S>&>()));

template <class S>
concept BoundsBlocks = requires(const WorkerOf<S>& worker) {
  { worker.max_block() } -> std::convertible_to<Block::Shape>;
};
template <class S>
concept Samples = requires(WorkerOf<S>& worker, std::span<const WordId> sentence, Random& random) {
  worker.sample(sentence, random, AnySink{});
};
/// A worker that takes several sentences at once.
template <class Worker>
concept TakesSentences = requires(Worker& worker, const Sentences& text, Random& random) {
  worker.sample(text, random, AnySink{});
};
/// A worker that takes many sentences at once.
template <class Worker>
concept TakesManyWords = TakesSentences<Worker> && requires(const Worker& worker) {
  { worker.words_at_once() } -> std::convertible_to<std::size_t>;
};
template <class Worker>
using TextOf = std::conditional_t<TakesSentences<Worker>, Sentences, std::span<const WordId>>;
template <class S>
concept ExpectsUpdates = requires(const RunOf<S>& run, const WordRates& rates) {
  { run.expected_updates(rates) } -> std::convertible_to<ExpectedUpdates>;
};

/// Returns the number of rows of Model::output that a run needs.
template <class Run>
std::size_t output_rows(const Run& run, const Vocabulary& vocabulary) {
  if constexpr (requires { run.output_rows(); })
    return run.output_rows();
  else
    return vocabulary.size();
}

/// A run of a sampler whose input words are bags of rows.
template <class Run>
concept HasSubwords = requires(const Run& run) {
  run.subword_table();
};

/// Returns the subwords that a run trains, none for most samplers.
template <class Run>
std::optional<SubwordOptions> subwords_of(const Run& run) {
  if constexpr (HasSubwords<Run>)
    if (run.subword_table().options().maxn > 0) return run.subword_table().options();
  return std::nullopt;
}

/// A run of a sampler whose words have vectors computed by an encoder.
template <class Run>
concept HasEncoder = requires(const Run& run) {
  run.encoder();
};

/// Returns whether a run scores rows of Model::input against each other.
template <class Run>
constexpr bool uses_one_matrix() {
  if constexpr (requires { Run::one_matrix; })
    return Run::one_matrix;
  else
    return false;
}

/// True for a sampler that trains the columns of a WordContextMatrix, in two steps.
template <class S>
inline constexpr bool has_two_steps = requires {
  requires S::two_steps;
};

/// True for a sampler that trains blocks of pairs by strata.
template <class S>
inline constexpr bool is_by_strata = requires {
  requires S::by_strata;
};

/// True for samplers whose ranks change rows of their own, which they give to others.
template <class S>
inline constexpr bool owns_rows = has_two_steps<S> || is_by_strata<S>;

/// Returns whether a run takes sentences of which words were dropped.
template <class Run>
constexpr bool subsamples() {
  if constexpr (requires { Run::subsamples; })
    return Run::subsamples;
  else
    return true;
}

}  // namespace detail

/// The choice of words that are scored against each other: turns a sentence into blocks. A policy,
/// which is a value with parameters of its own (`visit_parameters`, core/hyperparameters.hpp;
/// `static S from(const Hyperparameters&)` fills them), with
/// - `policy.start(vocabulary)`: the data that all threads of a run share, immutable and
///   thread-safe;
/// - `run.worker()`: the scratch memory of one thread; without this function, each thread trains
///   with a copy of the run;
/// - `worker.max_block()`: bounds of its blocks;
/// - `worker.sample(sentence, random, sink)`: calls `sink(block)` for each block of the sentence,
///   in order. It draws from `random` alone, so that a run can be repeated, and should call
///   `announce_rows(sink, inputs, outputs)` one or two words before it makes a block of these rows.
///
/// Optional:
/// - `static constexpr Block::Features uses` of the policy: the parts of Block that it uses; none
/// by
///   default;
/// - `run.output_rows()`: rows of Model::output; one for each word by default;
/// - `run.expected_updates(rates)`: for training by several ranks, and for private rows;
/// - `static constexpr bool subsamples` of the run: false when no word of a sentence may be
///   dropped, whatever the corpus says.
///
/// SentenceSampler, ColumnSampler, SubwordSampler, EncodedSampler and OneMatrixSampler have more.
///
/// Valid: `struct Pairs { auto start(const Vocabulary&) const { return PairsWorker{}; } };` with a
/// copyable PairsWorker that has max_block and sample. Invalid: a start() that keeps a reference to
/// the vocabulary; copy it instead, copies share their words.
///
/// Kernels do not check blocks: a wrong row is memory outside of the model. In debug builds,
/// trainers check those of custom samplers (WORDLOOM_CHECKED).
template <class S>
concept Sampler = std::copy_constructible<S> && detail::StartsRuns<S> && detail::BoundsBlocks<S> &&
    detail::Samples<S>;

/// A sampler whose workers take several sentences at once, `worker.sample(const Sentences&, random,
/// sink)`: some hundred words, so that it can announce rows of the next sentence. With
/// `worker.words_at_once()`, optional, sample() gets at least this many words, after subsampling,
/// except at the end of an epoch; it then takes a fourth argument, and calls `pass(part)` before
/// each block with the part of the text that came before it, 0 to 1: the learning rate falls by
/// that. See IndexedContext.
template <class S>
concept SentenceSampler = Sampler<S> && detail::TakesSentences<detail::WorkerOf<S>>;

/// A sampler that trains the columns of a WordContextMatrix, in two steps: `static constexpr bool
/// two_steps = true` of the policy. A trainer gives it parts of a column, as word, context, word,
/// context, ..., and calls `worker.begin_step(Block::Sides)` before it samples some of them. No row
/// may be changed twice in a step. See UniformMatrix.
template <class S>
concept ColumnSampler = Sampler<S> && detail::has_two_steps<S> &&
    requires(detail::WorkerOf<S>& worker, Block::Sides step) {
  worker.begin_step(step);
};

/// A sampler whose input words are bags of rows: `run.subword_table()` returns the SubwordTable.
/// Inputs of its blocks are words; the trainer puts their bags in place. See Subwords.
template <class S>
concept SubwordSampler = Sampler<S> && detail::HasSubwords<detail::RunOf<S>>;

/// A sampler whose words have vectors that an encoder computes: `run.encoder()` returns it and
/// `run.round()` how many words, as a multiple of the vocabulary, or columns are trained before it
/// is fitted. `Run::embeddings(Model&&)`, static, makes the result of Trainer::fit, which is
/// Model::embeddings() by default. See Encoded.
template <class S>
concept EncodedSampler = Sampler<S> && detail::HasEncoder<detail::RunOf<S>> &&
    requires(const detail::RunOf<S>& run) {
  { run.round() } -> std::convertible_to<std::size_t>;
};

/// A sampler whose outputs are rows of Model::input too (Model::Shape::one_matrix): `static
/// constexpr bool one_matrix = true` of the run. No row of a block is both an input and an output
/// of it, and all expected updates are of the input. See LineFirstOrder.
template <class S>
concept OneMatrixSampler = Sampler<S> && detail::uses_one_matrix<detail::RunOf<S>>();

/// The run of a sampler in this library: its policy and the tables of its targets. A policy without
/// expected_updates(rates, tables) is skip-gram with all words of its window.
template <class Policy, class Tables>
class SamplerRun {
 public:
  SamplerRun(const Policy& policy, Tables tables) : policy_(policy), tables_(std::move(tables)) {}

  auto worker() const { return typename Policy::Worker(policy_, tables_); }
  std::size_t output_rows() const noexcept { return tables_.output_rows(); }
  detail::ExpectedUpdates expected_updates(const WordRates& rates) const {
    if constexpr (requires { policy_.expected_updates(rates, tables_); })
      return policy_.expected_updates(rates, tables_);
    else
      return detail::expected_of_skip_gram(
          rates, static_cast<double>(policy_.window.mean_context()), tables_);
  }

 private:
  Policy policy_;
  Tables tables_;
};

namespace detail {

// The compiler's note names the policy ("required from ... require_sampler<Name>"), the message
// says what it lacks.
template <class S>
constexpr bool require_sampler() {
  static_assert(std::copy_constructible<S>, "wordloom: this Sampler cannot be copied");
  static_assert(StartsRuns<S>,
                "wordloom: this Sampler lacks 'auto start(const Vocabulary&) const', which returns "
                "what the threads of a run share");
  if constexpr (StartsRuns<S>) {
    static_assert(BoundsBlocks<S>,
                  "wordloom: the worker of this Sampler lacks 'Block::Shape max_block() const'");
    static_assert(Samples<S>,
                  "wordloom: the worker of this Sampler lacks 'void "
                  "sample(std::span<const WordId> sentence, Random&, Sink&& sink)'");
  }
  if constexpr (Sampler<S>) {
    static_assert(!has_two_steps<S> || ColumnSampler<S>,
                  "wordloom: this Sampler has two_steps, and its worker lacks 'void "
                  "begin_step(Block::Sides)': see ColumnSampler");
    static_assert(!HasEncoder<RunOf<S>> || EncodedSampler<S>,
                  "wordloom: the run of this Sampler has an encoder and lacks 'std::size_t round() "
                  "const': see EncodedSampler");
  }
  return Sampler<S>;
}

}  // namespace detail
}}  // namespace wordloom::WORDLOOM_ABI
