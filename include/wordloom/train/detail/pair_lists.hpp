#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/sampler/detail/strata.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Some successive pairs of a text, each a StratumPair, sorted by the strata of their input and
/// then of their output. Holds those of the inputs of strata [first, last) alone.
struct PairList {
  std::uint32_t first = 0, last = 0;
  std::vector<std::uint32_t> ends;   // [(last - first) x P] of the pairs of each block
  std::vector<std::uint32_t> pairs;  // by block

  /// Returns the pairs of a block as [begin, end).
  std::pair<const std::uint32_t*, const std::uint32_t*> block(std::uint32_t input,
                                                              std::uint32_t output,
                                                              std::uint32_t strata) const {
    const std::size_t i = std::size_t{input - first} * strata + output;
    return {pairs.data() + (i == 0 ? 0 : ends[i - 1]), pairs.data() + ends[i]};
  }
};

/// Sorts the pairs of a text into lists. The scratch memory of one thread.
class PairSorter {
 public:
  explicit PairSorter(const Strata& strata)
      : strata_(strata), most_(std::size_t{64} * strata.count * strata.count) {}

  /// Adds a pair; a full list goes to `to`.
  void add(std::uint32_t input_stratum, std::uint32_t input, std::uint32_t output_stratum,
           std::uint32_t output, std::vector<PairList>& to) {
    blocks_.push_back(input_stratum * strata_.count + output_stratum);
    pairs_.push_back(StratumPair::code(input, output));
    if (pairs_.size() == most_) end(to);
  }
  /// Appends a list of the pairs since the last one, unless there is none.
  void end(std::vector<PairList>& to) {
    if (pairs_.empty()) return;
    PairList& list = to.emplace_back();
    list.last = strata_.count;
    list.ends.assign(std::size_t{strata_.count} * strata_.count, 0);
    list.pairs.resize(pairs_.size());
    for (const std::uint32_t block : blocks_) ++list.ends[block];
    std::uint32_t sum = 0;
    for (std::uint32_t& n : list.ends) sum += std::exchange(n, sum);
    // Each becomes the end of its block when the pairs are in place.
    for (std::size_t i = 0; i < pairs_.size(); ++i) list.pairs[list.ends[blocks_[i]]++] = pairs_[i];
    blocks_.clear();
    pairs_.clear();
  }

 private:
  Strata strata_;
  std::size_t most_;  // pairs of a list, 64 for each block on average
  std::vector<std::uint32_t> blocks_, pairs_;
};

/// Pairs as ranks send them to each other: in as many bytes as the places of a stratum's rows need.
class PairWire {
 public:
  explicit PairWire(const Strata& strata) : strata_(strata) {
    while (places_ < (std::uint64_t{strata.rows} + strata.count - 1) / strata.count) {
      places_ *= 2;
      ++bits_;
    }
    bytes_ = (2 * bits_ + 7) / 8;
  }

  /// Appends the part of a list with the inputs of strata [first, last).
  void append(const PairList& list, std::uint32_t first, std::uint32_t last,
              std::string& to) const {
    const std::size_t from = std::size_t{first} * strata_.count,
                      until = std::size_t{last} * strata_.count;
    const std::uint32_t begin = from == 0 ? 0 : list.ends[from - 1],
                        end = until == 0 ? 0 : list.ends[until - 1];
    const std::size_t at = to.size(), word = sizeof(std::uint32_t);
    // A pair is written with the bytes behind it, which the next one replaces.
    to.resize(at + (until - from) * word + (end - begin) * bytes_ + word - bytes_);
    char* place = to.data() + at;
    for (std::size_t i = from; i < until; ++i, place += word) put(list.ends[i] - begin, place);
    for (std::uint32_t i = begin; i < end; ++i, place += bytes_)
      put(StratumPair::input(list.pairs[i]) << bits_ | StratumPair::output(list.pairs[i]), place);
    to.resize(to.size() - (word - bytes_));
  }
  /// Returns the lists of a text of append(), all for the inputs of strata [first, last). Throws
  /// SyncError if it is none.
  std::vector<PairList> lists(const std::string& text, std::uint32_t first,
                              std::uint32_t last) const {
    std::vector<PairList> all;
    const char* at = text.data();
    const char* const end = at + text.size();
    const auto take = [&](std::size_t bytes) {
      if (static_cast<std::size_t>(end - at) < bytes)
        throw SyncError("the pairs that another rank has sent end too early");
      std::uint32_t value = 0;
      if (static_cast<std::size_t>(end - at) >= sizeof value)  // one load, little-endian
        std::memcpy(&value, at, sizeof value);
      else
        std::memcpy(&value, at, bytes);
      at += bytes;
      return bytes == sizeof value ? value : value & ((std::uint32_t{1} << 8 * bytes) - 1);
    };
    while (at != end) {
      PairList& list = all.emplace_back();
      list.first = first;
      list.last = last;
      list.ends.resize(std::size_t{last - first} * strata_.count);
      for (std::uint32_t& n : list.ends) n = take(sizeof n);
      const std::uint32_t count = list.ends.empty() ? 0 : list.ends.back();
      if (!std::ranges::is_sorted(list.ends) || count * bytes_ > static_cast<std::size_t>(end - at))
        throw SyncError("the pairs that another rank has sent end too early");
      const std::uint32_t mask = (std::uint32_t{1} << bits_) - 1;
      list.pairs.resize(count);
      for (std::uint32_t& pair : list.pairs) {
        const std::uint32_t value = take(bytes_);
        pair = StratumPair::code(value >> bits_, value & mask);
      }
    }
    return all;
  }

 private:
  static void put(std::uint32_t value, char* to) { std::memcpy(to, &value, sizeof value); }

  Strata strata_;
  std::uint64_t places_ = 1;
  std::uint32_t bits_ = 0;
  std::size_t bytes_ = 0;  // of a pair
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
