#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/sync/combine.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// The numbers in which changes travel, by their bits.
enum class WireFormat : std::uint8_t {
  automatic = 0,
  fp32 = 32,
  bf16 = 16,
  bits8 = 8,
  bits4 = 4,
  bits2 = 2,
  bits1 = 1
};

/// The names of the formats, in programs.
inline constexpr std::array<std::pair<const char*, WireFormat>, 7> wire_formats{
    {{"auto", WireFormat::automatic},
     {"fp32", WireFormat::fp32},
     {"bf16", WireFormat::bf16},
     {"8bit", WireFormat::bits8},
     {"4bit", WireFormat::bits4},
     {"2bit", WireFormat::bits2},
     {"1bit", WireFormat::bits1}}};

}  // namespace detail

/// Options that determine how often replicas synchronise, and how many rows each time.
struct SyncOptions {
  /// A rule that combines changes (combine.hpp), chosen at run time.
  using Rule = detail::AnyRule;
  /// The numbers in which changes travel: `automatic`, which is `bits4` if MpiRanks are on
  /// several machines and CoherentSum combines the rows of models in the memory of the host, except
  /// at `epoch` intervals, else `fp32`; `bf16`, which halves the bytes (up to 256 ranks);
  /// `bits8`, `bits4`, `bits2` and `bits1`, rotated and quantised with a scale for each row, while
  /// the numbers of ranks that changed a row stay exact. A rank sends what quantising left out with
  /// the row's next changes (error feedback). The last exchange, and that of a checkpoint, have 8
  /// bits and leave nothing. Formats other than fp32 are for models in the memory of the host and
  /// ThreadRanks or MpiRanks.
  using Format = detail::WireFormat;
  /// The names of the formats, for programs: "auto", "fp32", "bf16", "8bit" and so on.
  static constexpr auto& formats = detail::wire_formats;

  /// Number of rows (words by descending count) that are exchanged at each synchronisation; twice
  /// as many at each second, four times as many at each fourth, and so on: a row's interval grows
  /// as its word gets rarer (pWord2Vec: Ji et al. 2016, section III-E). All rows are exchanged once
  /// an epoch. 0: automatic; 16 for each rank, but at least 256.
  std::size_t first_rows = 0;
  /// Bytes that a rank may send for each word that it trains; this sets the interval. 0: automatic,
  /// 8 for each rank (as fp32; less in other formats, at the same interval), so that the number of
  /// words that all ranks together train between two synchronisations does not depend on the number
  /// of ranks; up to four times as many for 8 ranks and more, whose changes overlap more often; and
  /// at least 64 synchronisations an epoch, which small corpora need.
  double bytes_per_word = 0;
  /// Mean number of words that a rank trains between two synchronisations: the interval is two
  /// thirds of it at the start, where the learning rate is high, and twice as long at the end. 0:
  /// automatic, by `bytes_per_word`; if that is 0 too, at least enough to keep a kernel on a device
  /// busy (its `min_words`). `epoch`: all rows are exchanged at the end of each epoch, and at no
  /// other time (BlazingText: Gupta and Khare 2017, section 4.3).
  std::uint64_t interval = 0;
  static constexpr std::uint64_t epoch = (std::numeric_limits<std::uint64_t>::max)();
  /// Changes take effect as soon as they have arrived; training continues meanwhile. If
  /// false, they take effect at the next synchronisation (immediately, if `interval` is `epoch`),
  /// and one thread on each rank and one seed give bit-identical runs.
  bool overlap = true;
  Format format = Format::automatic;

  void validate() const {
    if (detail::is_nan(bytes_per_word) || bytes_per_word < 0)
      throw InvalidArgument("bytes_per_word must be 0 or above");
  }
};

}}  // namespace wordloom::WORDLOOM_ABI
