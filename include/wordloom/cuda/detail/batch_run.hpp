#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/corpus/detail/sentence_batch.hpp>
#include <wordloom/corpus/subsampling.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/cuda/detail/sampling.hpp>
#include <wordloom/cuda/detail/sentence.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/huffman_path.hpp>
#include <wordloom/sampler/negative_sampling.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// The loss of a batch, measured on a part of its pairs.
struct Trained {
  double loss = 0;      // summed over these pairs
  double examples = 0;  // number of pairs with label 1
};

/// Work for one sentence of a batch: subsamples it.
struct SubsampleSentence {
  BatchView batch;
  SubsamplingView table;

  template <class Team>
  WORDLOOM_BOTH void operator()(const Team& team, std::uint32_t i) const {
    batch.subsample_sentence(team, table, i);
  }
};

/// Makes an array larger if it is smaller than `size`.
template <class Array>
void grow(Array& array, std::size_t size) {
  if (array.size() >= size) return;
  array = {};  // first, so that both need not fit
  array = Array(size + size / 8, "a batch");
}

/// Returns the parameters of a sampler, without its tables. Throws InvalidArgument if one is out of
/// the kernels' range.
template <class Sampler>
Sampling checked_sampling_of(const Sampler& sampler) {
  const Sampling sampling = sampling_of(sampler);
  check_parameter("window of a kernel on a device", std::size_t{sampling.max_reach}, 1, 20);
  check_parameter("negatives of a kernel on a device", sampling.per_window,
                  sampling.has_paths ? 0 : 1, 30);
  return sampling;
}

/// Throws InvalidArgument unless the model has an input row for each word and `output_rows`.
inline void require_rows(const Model& model, std::size_t output_rows) {
  const auto require = [](const std::string& name, const RowMatrix& matrix, std::size_t rows) {
    if (matrix.rows() != rows)
      throw InvalidArgument{"this sampler on a device trains ",
                            rows,
                            " rows of the ",
                            name,
                            "; that matrix has ",
                            matrix.rows()};
  };
  require("input", model.input, model.vocabulary.size());
  require("output", model.output, output_rows);
}

/// The common part of the runs of all kernels for batches of sentences: the tables of the sampler,
/// the batches in the memory of the machine, and those in flight. Not thread-safe.
template <class Machine>
class BatchRun {
 public:
  BatchRun(const BatchRun&) = delete;
  BatchRun& operator=(const BatchRun&) = delete;

  /// Returns whether a batch is on the device, so that its words need not be given again.
  bool keeps(std::size_t index) const noexcept { return index < kept_.size(); }
  /// Waits for the first batch in flight.
  Trained wait() {
    auto& slot = slots_[waited_++ % 2];
    slot.wait();
    return slot.trained();
  }

 protected:
  template <class T>
  using Array = typename Machine::template Array<T>;
  using Numbers = typename Machine::Numbers;

  template <class Sampler, class TargetTables>
  BatchRun(const Sampler& sampler, const TargetTables& targets, const Hyperparameters& parameters,
           const Vocabulary& vocabulary)
      : sampling_(sampling_of(sampler)), seed_(parameters.seed) {
    PathLists lists;
    for_each_part(targets, [&](const auto& part) { upload(part, vocabulary.size(), lists); });
    const detail::Subsampling subsampling(vocabulary, parameters.subsample);
    const std::uint32_t all = UINT32_MAX;
    const auto table = subsampling.enabled() ? subsampling.table() : std::span(&all, 1);
    subsampling_ = {upload(highest_kept_, table), static_cast<std::uint32_t>(table.size() - 1)};
    machine_.wait();  // for the table and the lists
  }
  /// A class that adds members must first wait for the work that uses them: machine_.settle().
  ~BatchRun() = default;

  /// Starts to train a batch by `train(view, words, slot)`, which starts the work for the sentences
  /// that subsampling leaves of `words` words. The slot is that of the batch. The batch may be
  /// changed afterwards. At most two batches may be in flight.
  template <class Train>
  void submit_by(const detail::SentenceBatch& given, std::size_t epoch, double first_rate,
                 double last_rate, Train train) {
    machine_.make_current();
    const std::size_t place = submitted_++ % 2;
    if (!given.keep || !keeps(given.index)) copy(given, place);
    const Batch& batch = given.keep && keeps(given.index) ? kept_[given.index] : transient_[place];
    const auto sentences = static_cast<std::uint32_t>(batch.sentences);
    BatchView view{.words = batch.numbers.data(),
                   .ends = batch.numbers.data() + batch.words,
                   .sentences = sentences,
                   .first_sentence = given.first_sentence,
                   .seed = seed_,
                   .epoch = static_cast<std::uint32_t>(epoch),
                   .first_rate = static_cast<float>(first_rate),
                   .last_rate = static_cast<float>(last_rate),
                   .kept = subsampled_.data(),
                   .kept_sizes = subsampled_.data() + batch.words};
    slots_[place].begin(view, machine_);
    machine_.run(sentences, SubsampleSentence{view, subsampling_});
    train(std::as_const(view), batch.words, slots_[place]);
    slots_[place].end(machine_);
  }

  typename Machine::Queue machine_;
  Sampling sampling_;

 private:
  /// The words of a batch, then the ends of its sentences.
  struct Batch {
    Numbers numbers;
    std::size_t words = 0, sentences = 0;
  };

  template <class AnyArray, class Range>
  auto* upload(AnyArray& to, const Range& from) {
    to = AnyArray(from.size(), "a table");
    machine_.begin_copy(to.data(), from.data(), from.size());
    return to.data();
  }

  /// The arrays of a PathView while they are copied.
  struct PathLists {
    std::vector<std::uint32_t> ends, positives;
    std::vector<RowId> nodes;
  };

  void upload(const NegativeSampling::Run& negatives, std::size_t, PathLists&) {
    const auto entries = negatives.distribution().table().entries();
    sampling_.negatives = {upload(negatives_, entries), static_cast<std::uint32_t>(entries.size())};
  }
  void upload(const HuffmanPath::Run& paths, std::size_t words, PathLists& lists) {
    auto& [ends, positives, nodes] = lists;
    for (std::size_t word = 0; word < words; ++word) {
      const TargetSet path = paths.tree().path(static_cast<WordId>(word));
      nodes.insert(nodes.end(), path.outputs.begin(), path.outputs.end());
      ends.push_back(static_cast<std::uint32_t>(nodes.size()));
      positives.push_back(static_cast<std::uint32_t>(path.positives));
    }
    sampling_.paths = {upload(paths_[0], ends),
                       upload(paths_[1], nodes),
                       upload(paths_[2], positives),
                       upload(paths_[3], paths.kept()),
                       static_cast<std::uint32_t>(paths.kept().size() - 1),
                       static_cast<std::uint32_t>(paths.max_outputs())};
  }

  /// Copies a batch to the device while the one before is trained: permanently if every epoch has
  /// it and there is room, else to `place`.
  void copy(const detail::SentenceBatch& batch, std::size_t place) {
    const std::size_t size = batch.word_count() + batch.ends.size();
    Batch* to = &transient_[place];
    if (batch.keep && batch.index == kept_.size() &&
        machine_.has_room(2 * size * sizeof(std::uint32_t), kept_.size()))
      to = &kept_.emplace_back(Batch{Numbers(size, "the corpus")});
    grow(to->numbers, size);
    to->words = batch.word_count();
    to->sentences = batch.ends.size();
    if (subsampled_.size() < size) machine_.wait();  // the batch before uses it
    grow(subsampled_, size);
    slots_[place].copy(batch, to->numbers.data(), machine_);
  }

  std::uint64_t seed_;
  Array<detail::AliasTable::Entry> negatives_;
  Numbers paths_[4];      // see PathView
  Numbers highest_kept_;  // see SubsamplingView
  SubsamplingView subsampling_{};
  Numbers subsampled_;  // of a batch: words that are kept, then their number in each sentence
  std::vector<Batch> kept_;
  Batch transient_[2];  // batches that do not stay
  std::size_t submitted_ = 0, waited_ = 0;

 protected:
  typename Machine::Slot slots_[2];  // of the batches in flight
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
