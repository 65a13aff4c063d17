#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/train/detail/private_rows.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The scratch rows in which threads train sentences if an encoder is trained end to end (Encoded);
/// none if it is trained in rounds. Like those of SubwordRows, they are stored after the rows of
/// Model::input. The model and the encoder must
/// outlive it.
template <class Encoder>
class EncodedRows {
 public:
  /// `words`: words of a minibatch, 0 for rounds; `most`: the largest block of the sampler; `rate`:
  /// the encoder's learning rate divided by that of the rows. Throws std::bad_alloc, and
  /// InvalidArgument if a RowId cannot number all rows.
  EncodedRows(Model& model, Encoder& encoder, double rate, std::size_t words, Block::Shape most,
              std::size_t threads)
      : model_(model),
        encoder_(encoder),
        rate_(static_cast<float>(rate)),
        ahead_((std::min)(words, encoder.words_at_once())),
        slots_(words == 0 ? 0 : words + most.inputs) {
    const std::size_t rows = model.input.rows() + slots_ * threads;
    if (rows > (std::numeric_limits<RowId>::max)())
      throw InvalidArgument{"the model needs ", rows, " input rows, ", slots_,
                            " of them for each thread: too many, use smaller minibatches"};
    if (slots_ > 0) model.input.reserve(rows);
  }
  EncodedRows(EncodedRows&&) = delete;
  ~EncodedRows() {
    if (slots_ > 0) model_.input.shrink_to_fit();
  }

  class Thread;
  /// Returns the rows of thread `index`, 0 to threads - 1.
  Thread thread(std::size_t index) const { return {*this, index}; }
  PrivateRows::Scratch scratch(std::size_t index) const noexcept {
    return {static_cast<RowId>(model_.input.rows() + index * slots_), static_cast<RowId>(slots_)};
  }

 private:
  Model& model_;
  Encoder& encoder_;
  float rate_;
  std::size_t ahead_;  // words until which a minibatch is read ahead
  std::size_t slots_;  // of a minibatch and the inputs of a block
};

/// The minibatch of one thread. For one thread at a time.
template <class Encoder>
class EncodedRows<Encoder>::Thread {
 public:
  static constexpr bool trains_encoder = true;

  Thread(const EncodedRows& rows, std::size_t index)
      : matrix_(rows.model_.input),
        rate_(rows.rate_),
        first_(rows.scratch(index).first),
        max_ahead_(rows.ahead_),
        words_(rows.slots_),
        read_at_(rows.slots_) {
    if (words_.empty()) return;
    batch_.emplace(rows.encoder_, words_.size());
    slot_of_.resize(rows.model_.vocabulary.size());
  }

  /// Returns whether the encoder is trained end to end.
  bool is_used() const noexcept { return batch_.has_value(); }

  /// Tells which words come next; they must outlive the calls of map that follow.
  void read_ahead(std::span<const WordId> words) noexcept {
    text_ = words;
    next_ = 0;
  }

  /// Returns whether the minibatch at hand has these words, or room for them.
  bool has_room_for(std::span<const WordId> words) const noexcept {
    return filled_ + words.size() <= words_.size() ||
           std::ranges::all_of(words, [&](WordId word) { return has(word); });
  }

  /// Writes the rows that replace `words` to `to` and returns them; they are valid until
  /// flush(). There must be room.
  std::span<const RowId> map(std::span<const WordId> words, RowId* to) {
    const std::size_t before = filled_;
    for (const WordId word : words) add(word);
    if (filled_ > before) {  // more at once: products of matrices are cheap for many
      for (; next_ < text_.size() && filled_ < max_ahead_; ++next_) {
        const std::size_t slot = filled_;
        add(text_[next_]);
        if (filled_ > slot) read_at_[slot] = next_;
      }
      batch_->encode(before, std::span(words_).subspan(before, filled_ - before),
                     matrix_.row_data(first_ + before));
    }
    std::transform(words.begin(), words.end(), to, [&](WordId word) {
      read_at_[slot_of_[word]] = used;
      return first_ + slot_of_[word];
    });
    return {to, words.size()};
  }

  /// No row of Model::input is read.
  static std::span<const RowId> rows_ahead(WordId) noexcept { return {}; }

  /// Takes a step of the encoder with the words at hand, and forgets them. No update may be in
  /// progress. `learning_rate`: that their rows were trained with.
  void flush(float learning_rate) {
    if (filled_ == 0) return;
    // Words that were read and not used are read again.
    const auto first = read_at_.begin(), end = first + static_cast<std::ptrdiff_t>(filled_);
    if (const auto unused = std::find_if(first, end, [](std::size_t at) { return at != used; });
        unused != end)
      next_ = *unused;
    const std::size_t count = std::exchange(filled_, 0);
    if (learning_rate > 0)  // some schedules end at 0
      batch_->learn(count, matrix_.row_data(first_), rate_ * learning_rate, learning_rate);
  }

 private:
  static constexpr std::size_t used = (std::numeric_limits<std::size_t>::max)();

  bool has(WordId word) const noexcept {
    return slot_of_[word] < filled_ && words_[slot_of_[word]] == word;
  }
  void add(WordId word) noexcept {
    if (has(word)) return;
    slot_of_[word] = static_cast<std::uint32_t>(filled_);
    words_[filled_++] = word;
  }

  RowMatrix& matrix_;
  std::optional<typename Encoder::Batch> batch_;  // none in rounds
  float rate_;
  RowId first_;                         // slot s is row first_ + s
  std::size_t max_ahead_;               // words until which the minibatch is read ahead
  std::vector<std::uint32_t> slot_of_;  // [V] where the word is, if `words_` says so too
  std::vector<WordId> words_;           // [slot_count]
  std::vector<std::size_t> read_at_;    // [slot_count] where in the text, `used` of words of blocks
  std::size_t filled_ = 0;              // slot_count in use
  std::span<const WordId> text_;        // words that come next, from next_ on
  std::size_t next_ = 0;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
