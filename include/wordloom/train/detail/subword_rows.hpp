#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/subwords.hpp>
#include <wordloom/kernel/detail/staging.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/train/detail/encoder_rounds.hpp>
#include <wordloom/train/detail/private_rows.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The scratch rows in which threads train words whose vectors are means of bags (Subwords). They
/// are stored after the rows of Model::input (RowMatrix::reserve), so that kernels need no other
/// code for them: `slot_count` rows for each thread. The model must outlive it.
class SubwordRows {
 public:
  /// `most`: bounds of the sampler's blocks. Throws std::bad_alloc, and InvalidArgument if there
  /// are no numbers left for the rows.
  SubwordRows(Model& model, const SubwordTable& table, Block::Shape most, std::size_t threads);
  SubwordRows(SubwordRows&&) = delete;
  ~SubwordRows() { model_.input.shrink_to_fit(); }

  class Thread;
  /// Returns the rows of thread `index`, 0 to threads - 1.
  Thread thread(std::size_t index) const;
  PrivateRows::Scratch scratch(std::size_t index) const noexcept {
    return {static_cast<RowId>(model_.input.rows() + index * slots_), static_cast<RowId>(slots_)};
  }

 private:
  static constexpr std::size_t min_slots = 64, max_slots = std::size_t{1} << 16;

  Model& model_;
  SubwordTable table_;
  std::size_t slots_;  // a power of 2, at least twice the inputs of a block
};

/// The scratch rows of one thread: the words that it used last, each once. For one thread at a
/// time.
class SubwordRows::Thread {
 public:
  Thread(const SubwordRows& rows, std::size_t index)
      : matrix_(rows.model_.input),
        table_(rows.table_),
        slots_(rows.slots_),
        first_(rows.scratch(index).first),
        slot_of_(table_.words()),
        words_(slots_, none),
        used_(slots_, 0),
        before_(slots_, matrix_.columns()),
        members_(table_.longest()) {}

  static constexpr bool is_used() noexcept { return true; }

  /// Writes the rows that replace `words` to `to` and returns them: a word's own row if its bag has
  /// no other. They are valid until the next call. No update may be in progress.
  std::span<const RowId> map(std::span<const WordId> words, RowId* to) {
    ++time_;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::size_t slot = slot_of_[words[i]];
      if (words_[slot] == words[i]) {
        used_[slot] = time_;
        to[i] = first_ + static_cast<RowId>(slot);
      } else {
        const auto bag = table_[words[i]];
        to[i] = bag.size() == 1 ? bag[0] : compose(words[i], bag);
      }
    }
    return {to, words.size()};
  }

  /// Returns the rows that composing a word reads: empty if its mean has already been composed.
  std::span<const RowId> rows_ahead(WordId word) const noexcept {
    return words_[slot_of_[word]] == word ? std::span<const RowId>() : table_[word];
  }

  /// Adds all changes to the bags and forgets the words. No update may be in progress.
  void flush() noexcept {
    for (std::size_t slot = 0; slot < filled_; ++slot) scatter(slot);
    next_ = filled_ = 0;
  }

 private:
  static constexpr WordId none = (std::numeric_limits<WordId>::max)();

  float* scratch(std::size_t slot) noexcept { return matrix_.row_data(first_ + slot); }

  /// Points `members_` at the rows of a bag.
  void point_at(std::span<const RowId> bag) noexcept {
    std::transform(bag.begin(), bag.end(), members_.begin(),
                   [&](RowId row) { return matrix_.row_data(row); });
  }

  /// Writes the mean of a bag to the next slot in turn that the current block does not use.
  RowId compose(WordId word, std::span<const RowId> bag) noexcept {
    while (used_[next_] == time_) next_ = (next_ + 1) & (slots_ - 1);
    const std::size_t slot = next_;
    if (words_[slot] != none) scatter(slot);
    words_[slot] = word;
    slot_of_[word] = static_cast<std::uint16_t>(slot);
    used_[slot] = time_;
    next_ = (slot + 1) & (slots_ - 1);
    filled_ = (std::max)(filled_, slot + 1);
    point_at(bag);
    functions_.mean_of_rows(members_.data(), bag.size(), matrix_.stride(), scratch(slot));
    std::copy_n(scratch(slot), matrix_.stride(), before_.row_data(slot));
    return first_ + static_cast<RowId>(slot);
  }

  void scatter(std::size_t slot) noexcept {
    const auto bag = table_[std::exchange(words_[slot], none)];
    point_at(bag);
    functions_.add_to_rows(members_.data(), members_.data() + bag.size(), 1.0f, scratch(slot),
                           before_.row_data(slot), matrix_.stride());
  }

  RowMatrix& matrix_;
  SubwordTable table_;
  std::size_t slots_;
  RowId first_;                         // slot s is row first_ + s
  std::vector<std::uint16_t> slot_of_;  // [V] the slot of a word, if `words_` agrees
  std::vector<WordId> words_;           // [slot_count]
  std::vector<std::uint64_t> used_;     // [slot_count] the last call of map() that used it
  std::uint64_t time_ = 0;              // calls of map()
  std::size_t next_ = 0, filled_ = 0;   // slot_count from `filled_` on are free
  RowMatrix before_;                    // [slot_count x D] the means as they were
  std::vector<float*> members_;         // of one bag
  simd::StagingFunctions functions_ = simd::staging_functions();
};

inline SubwordRows::Thread SubwordRows::thread(std::size_t index) const { return {*this, index}; }

/// The place of SubwordRows in runs whose words have rows of their own.
struct NoSubwordRows {
  struct Thread {};
  Thread thread(std::size_t) const noexcept { return {}; }
  PrivateRows::Scratch scratch(std::size_t) const noexcept { return {}; }
};

/// Makes the scratch rows of a run: SubwordRows, EncodedRows or NoSubwordRows. Throws as they do.
template <class Samplers, class Kernels>
auto scratch_rows(const Samplers& samplers, [[maybe_unused]] const Kernels& kernels,
                  [[maybe_unused]] EncoderRoundsOf<Samplers>& encoder, Model& model,
                  std::size_t threads) {
  if constexpr (HasSubwords<Samplers>)
    return SubwordRows(model, samplers.subword_table(), worker_of(samplers).max_block(), threads);
  else if constexpr (may_train_minibatches<Samplers>)
    return encoder.rows(model, pairs_of_batch(kernels), worker_of(samplers).max_block(), threads);
  else
    return NoSubwordRows();
}

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION SubwordRows::SubwordRows(Model& model, const SubwordTable& table,
                                           Block::Shape most, std::size_t threads)
    : model_(model),
      table_(table),
      slots_(std::bit_ceil(2 * (std::max)({most.inputs, most.members, min_slots / 2}))) {
  const std::size_t rows = model.input.rows() + slots_ * threads;
  if (rows > (std::numeric_limits<RowId>::max)() || slots_ > max_slots)
    throw InvalidArgument{"the model needs ",
                          rows,
                          " input rows, ",
                          slots_,
                          " of them for each thread: too many, use fewer buckets, threads or ",
                          "words in a minibatch"};
  model.input.reserve(rows);
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
