#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/sampler/detail/strata.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Some successive pairs of a text, sorted by the strata of their inputs.
struct FoundPairs {
  std::vector<std::uint32_t> ends;     // [P] of the pairs of each input stratum
  std::vector<std::uint32_t> pairs;    // each a StratumPair
  std::vector<std::uint16_t> outputs;  // the stratum of each output

  std::uint32_t begin(std::uint32_t input) const { return input == 0 ? 0 : ends[input - 1]; }
  std::uint32_t count(std::uint32_t input) const { return ends[input] - begin(input); }
};

/// Sorts pairs as they are found. The scratch memory of one thread.
class PairFinder {
 public:
  explicit PairFinder(std::uint32_t strata) : strata_(strata) {}

  /// Adds a pair; a full list goes to `to`.
  void add(Strata::Place input, Strata::Place output, std::vector<FoundPairs>& to) {
    found_.push_back({StratumPair::code(input.place(), output.place()),
                      static_cast<std::uint16_t>(input.stratum()),
                      static_cast<std::uint16_t>(output.stratum())});
    if (found_.size() == most) end(to);
  }
  /// Appends a list of the pairs since the last one, unless there is none.
  void end(std::vector<FoundPairs>& to) {
    if (found_.empty()) return;
    FoundPairs& list = to.emplace_back();
    list.ends.assign(strata_, 0);
    list.pairs.resize(found_.size());
    list.outputs.resize(found_.size());
    for (const Found& pair : found_) ++list.ends[pair.input];
    std::uint32_t sum = 0;
    for (std::uint32_t& n : list.ends) sum += std::exchange(n, sum);
    // Each becomes the end of its stratum when the pairs are in place.
    for (const Found& pair : found_) {
      const std::uint32_t at = list.ends[pair.input]++;
      list.pairs[at] = pair.code;
      list.outputs[at] = pair.output;
    }
    found_.clear();
  }

  static constexpr std::size_t most = 1 << 18;  // pairs of a list

 private:
  struct Found {
    std::uint32_t code;
    std::uint16_t input, output;  // strata
  };

  std::uint32_t strata_;
  std::vector<Found> found_;
};

/// The pairs of an episode whose inputs are in some successive strata, by block; those of a block
/// are in the order of the text.
class PairBlocks {
 public:
  explicit PairBlocks(std::uint32_t strata) : strata_(strata) {}

  /// Makes room for `counts[i]` pairs of input stratum first + i, and forgets all pairs.
  void resize(std::uint32_t first, const std::vector<std::size_t>& counts) {
    first_ = first;
    begins_.assign(1, 0);
    for (const std::size_t count : counts) begins_.push_back(begins_.back() + count);
    ends_.resize(counts.size() * strata_);
    if (size() <= room_) return;
    pairs_.reset();
    pairs_ = std::make_unique_for_overwrite<std::uint32_t[]>(size());
    room_ = size();
  }
  /// Puts the pairs of an input stratum in place. Thread-safe for different strata. `visit(add)`:
  /// calls `add(output stratum, pair)` for each, in the order of the text; called twice.
  template <class Visit>
  void fill(std::uint32_t input, const Visit& visit) {
    std::size_t* const ends = ends_.data() + std::size_t{input - first_} * strata_;
    std::fill_n(ends, strata_, std::size_t{0});
    visit([&](std::uint32_t output, std::uint32_t) { ++ends[output]; });
    std::size_t sum = begins_[input - first_];
    for (std::uint32_t i = 0; i < strata_; ++i) sum += std::exchange(ends[i], sum);
    visit([&](std::uint32_t output, std::uint32_t pair) { pairs_[ends[output]++] = pair; });
  }

  /// Makes room for `counts[i * P + output]` pairs of input stratum first + i with each output, and
  /// forgets all pairs.
  void resize_blocks(std::uint32_t first, const std::vector<std::size_t>& counts) {
    std::vector<std::size_t> of_inputs(counts.size() / strata_);
    for (std::size_t i = 0; i < counts.size(); ++i) of_inputs[i / strata_] += counts[i];
    resize(first, of_inputs);
    std::partial_sum(counts.begin(), counts.end(), ends_.begin());
  }
  /// Puts the pairs of a block in place. Thread-safe for different blocks. `visit(add)`: calls
  /// `add(pair)` for each.
  template <class Visit>
  void fill_block(std::uint32_t input, std::uint32_t output, const Visit& visit) {
    std::uint32_t* at = pairs_.get() + begin(input, output);
    visit([&](std::uint32_t pair) { *at++ = pair; });
  }

  /// Returns the pairs of a block, each a StratumPair.
  std::span<const std::uint32_t> block(std::uint32_t input, std::uint32_t output) const {
    const std::size_t i = std::size_t{input - first_} * strata_ + output;
    return {pairs_.get() + begin(input, output), pairs_.get() + ends_[i]};
  }
  /// Returns the number of pairs of an input stratum.
  std::size_t count(std::uint32_t input) const {
    return begins_[input - first_ + 1] - begins_[input - first_];
  }
  std::size_t size() const { return begins_.back(); }

 private:
  std::size_t begin(std::uint32_t input, std::uint32_t output) const {
    const std::size_t i = std::size_t{input - first_} * strata_ + output;
    return output == 0 ? begins_[input - first_] : ends_[i - 1];
  }

  std::uint32_t strata_, first_ = 0;
  std::vector<std::size_t> begins_{0};      // [1 + inputs]
  std::vector<std::size_t> ends_;           // [inputs x P]
  std::unique_ptr<std::uint32_t[]> pairs_;  // by block
  std::size_t room_ = 0;
};

/// Pairs as ranks send them to each other, in as many bytes as the places of a stratum's rows need:
/// first the number of pairs of each block, then the pairs of all blocks.
class PairWire {
 public:
  /// `places`: the rows of the largest stratum.
  PairWire(std::uint32_t strata, std::uint32_t places) : strata_(strata) {
    while ((std::uint64_t{1} << bits_) < places) ++bits_;
    bytes_ = (2 * bits_ + 7) / 8;
  }

  /// Returns the bytes of a text of `pairs` pairs whose inputs are in `inputs` strata.
  std::size_t size(std::size_t inputs, std::size_t pairs) const {
    return inputs * strata_ * count_bytes + pairs * bytes_;
  }
  /// Writes the pairs of the `input`-th stratum of `inputs` to a text, after `before` pairs of
  /// those before it. Thread-safe for different strata.
  void write(const PairBlocks& from, std::uint32_t stratum, std::size_t input, std::size_t inputs,
             std::size_t before, std::string& to) const {
    char* count = to.data() + input * strata_ * count_bytes;
    char* at = to.data() + size(inputs, before);
    for (std::uint32_t output = 0; output < strata_; ++output, count += count_bytes) {
      const auto pairs = from.block(stratum, output);
      const auto n = static_cast<std::uint32_t>(pairs.size());
      std::memcpy(count, &n, count_bytes);
      for (const std::uint32_t pair : pairs) {
        const std::uint32_t value = StratumPair::input(pair) << bits_ | StratumPair::output(pair);
        put(value, at);
        at += bytes_;
      }
    }
  }

  /// A text of another rank.
  class Reader {
   public:
    /// Throws SyncError if it is not one of `inputs` strata. `text` must outlive this.
    Reader(const PairWire& wire, const std::string& text, std::size_t inputs)
        : wire_(&wire), text_(&text), before_(1 + inputs * wire.strata_) {
      bool is_whole = text.size() >= (before_.size() - 1) * count_bytes;
      for (std::size_t i = 0; is_whole && i + 1 < before_.size(); ++i) {
        std::uint32_t n;
        std::memcpy(&n, text.data() + i * count_bytes, count_bytes);
        before_[i + 1] = before_[i] + n;
      }
      if (!is_whole || text.size() != wire.size(inputs, before_.back()))
        throw SyncError("the pairs that another rank has sent end too early");
    }

    /// Returns the pairs of the `input`-th stratum with an output stratum.
    std::size_t count(std::size_t input, std::uint32_t output) const {
      const std::size_t i = input * wire_->strata_ + output;
      return before_[i + 1] - before_[i];
    }
    /// Calls `add(pair)` for each of them.
    template <class Add>
    void visit(std::size_t input, std::uint32_t output, const Add& add) const {
      const std::uint32_t mask = (std::uint32_t{1} << wire_->bits_) - 1;
      const std::size_t inputs = (before_.size() - 1) / wire_->strata_;
      const char* at =
          text_->data() + wire_->size(inputs, before_[input * wire_->strata_ + output]);
      for (std::size_t n = count(input, output); n > 0; --n, at += wire_->bytes_) {
        const std::uint32_t value = wire_->get(at);
        add(StratumPair::code(value >> wire_->bits_, value & mask));
      }
    }

   private:
    const PairWire* wire_;
    const std::string* text_;
    std::vector<std::size_t> before_;  // [1 + inputs x P] pairs of the blocks before
  };

 private:
  static constexpr std::size_t count_bytes = sizeof(std::uint32_t);

  // Copies of constant sizes, one of which is made for each pair; little-endian.
  void put(std::uint32_t value, char* to) const {
    if (bytes_ == 4) std::memcpy(to, &value, 4);
    if (bytes_ == 2 || bytes_ == 3) std::memcpy(to, &value, 2);
    if (bytes_ % 2 == 1) to[bytes_ - 1] = static_cast<char>(value >> 8 * (bytes_ - 1));
  }
  std::uint32_t get(const char* from) const {
    std::uint32_t value = 0;
    if (bytes_ == 4) std::memcpy(&value, from, 4);
    if (bytes_ == 2 || bytes_ == 3) std::memcpy(&value, from, 2);
    if (bytes_ % 2 == 1)
      value |= std::uint32_t{static_cast<unsigned char>(from[bytes_ - 1])} << 8 * (bytes_ - 1);
    return value;
  }

  std::uint32_t strata_;
  std::uint32_t bits_ = 0;  // of a place
  std::size_t bytes_ = 0;   // of a pair
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
