#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <wordloom/core/detail/hash.hpp>
#include <wordloom/core/error.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// Communication between the ranks 0 to size() - 1 that hold replicas of a model. All ranks call
/// the same functions in the same order, one thread of a rank at a time.
/// - `begin_sum(values)`: starts to replace values, on each rank, by their sum over all ranks, with
///   equal bits on all; `values` may not be touched until `done()` has returned true or `wait()`
///   has returned. One sum at a time.
/// - `broadcast(values)`: replaces values by those of rank 0.
/// - `gather(value)`: returns the values of all ranks.
/// - `gather(values)`, optional: returns `values`, a span of equally many numbers on each rank, of
///   rank 0, of rank 1 and so on.
/// - `fail(cause)`: tells the other ranks that this one has failed; their next call, or the one in
///   which they wait, throws a SyncError that names it. Must be called before `values` in flight
///   are destroyed. Does not throw.
/// - `bytes_of_value()`, optional: the number of bytes exchanged for each float; 4 by default.
/// - `any_thread()`, optional: whether other threads than the one that made it may call these
///   functions; false by default. If so, threads share the work of synchronising.
/// - `over_network()`, optional: whether sums cross a network, the answer of all ranks; then
///   Allreduce sends few bits unless its options name a format; false by default.
///
/// `Values` is the type of its arguments: a span on the host, cuda::DeviceValues on a device.
template <class C, class Values = std::span<float>>
concept Collective = requires(C& ranks, Values values, std::uint64_t value,
                              const std::string& cause) {
  { ranks.rank() } -> std::convertible_to<std::size_t>;
  { ranks.size() } -> std::convertible_to<std::size_t>;
  ranks.begin_sum(values);
  { ranks.done() } -> std::convertible_to<bool>;
  ranks.wait();
  ranks.broadcast(values);
  { ranks.gather(value) } -> std::convertible_to<std::vector<std::uint64_t>>;
  ranks.fail(cause);
};

namespace detail {

/// A float without the lower half of its fraction.
struct Bf16 {
  std::uint16_t bits;
};

}  // namespace detail

/// A Collective that also sums Bf16, rounding to nearest: `done` and `wait` refer to either sum.
template <class C>
concept Bf16Collective = Collective<C> && requires(C& ranks, std::span<detail::Bf16> values) {
  ranks.begin_sum(values);
};

/// A Collective that also exchanges text: `exchange(to)`, [size] texts of this rank for each rank,
/// returns the texts of each rank for this one. `begin_exchange(to)` and `end_exchange()`,
/// optional: the same in two parts, between which other functions are called.
template <class C>
concept TextCollective = Collective<C> && requires(C& ranks, std::vector<std::string> to) {
  { ranks.exchange(to) } -> std::convertible_to<std::vector<std::string>>;
};

/// A Collective that also passes bytes on in a ring: `begin_pass(values)` starts to replace the
/// second half of `values`, equally many on each rank, by the first half of the rank behind. Used
/// as begin_sum().
template <class C>
concept PassCollective = Collective<C> && requires(C& ranks, std::span<std::byte> values) {
  ranks.begin_pass(values);
};

/// A Collective that also gathers rows: `gather_rows(rows, row_size, first)` makes `rows`, of
/// `row_size` floats each, equal on all ranks, to the bit. Rows [first[r], first[r + 1]) are those
/// of rank r; `first` has size() + 1 numbers, equal on all ranks, and ends with the number of rows.
template <class C>
concept RowCollective = Collective<C> &&
    requires(C& ranks, std::span<float> rows, std::span<const std::uint64_t> first) {
  ranks.gather_rows(rows, std::size_t{0}, first);
};

namespace detail {

/// Calls gather_rows() of the ranks. If they lack it, uses sums, which exchange size() times as
/// many bytes.
template <class Ranks, class Values>
void gather_rows(Ranks& ranks, Values rows, std::size_t row_size,
                 std::span<const std::uint64_t> first) {
  if constexpr (requires { ranks.gather_rows(rows, row_size, first); }) {
    ranks.gather_rows(rows, row_size, first);
  } else {
    static_assert(
        !requires { ranks.bytes_of_value(); },
        "wordloom: a Collective that may round sums needs gather_rows(rows, row_size, first)");
    // x + -0.0 is x for every x, whereas -0.0 + 0.0 is 0.0.
    std::ranges::fill(rows.first(first[ranks.rank()] * row_size), -0.0f);
    std::ranges::fill(rows.subspan(first[ranks.rank() + 1] * row_size), -0.0f);
    constexpr std::size_t most = std::size_t{1} << 24;  // 64 MiB
    for (; !rows.empty(); rows = rows.subspan((std::min)(rows.size(), most))) {
      ranks.begin_sum(rows.first((std::min)(rows.size(), most)));
      ranks.wait();
    }
  }
}

/// Returns the numbers of rank 0, of rank 1 and so on; all ranks must have equally many.
template <class Ranks>
std::vector<std::uint64_t> gather_numbers(Ranks& ranks, std::span<const std::uint64_t> numbers) {
  if constexpr (requires { ranks.gather(numbers); }) return ranks.gather(numbers);
  std::vector<std::uint64_t> all(ranks.size() * numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto of_ranks = ranks.gather(numbers[i]);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      all[rank * numbers.size() + i] = of_ranks[rank];
  }
  return all;
}

/// Replaces numbers by those of rank 0.
template <class Ranks>
void take_numbers_of_first(Ranks& ranks, std::span<std::uint64_t> numbers) {
  const auto all = gather_numbers(ranks, numbers);
  std::copy_n(all.begin(), numbers.size(), numbers.begin());
}

/// Replaces the positions of a checkpoint, which rank 0 has read, by those of rank 0.
template <class Ranks, class Positions>
void take_positions_of_first(Ranks& ranks, Positions& positions) {
  take_numbers_of_first(ranks, positions.numbers);
  std::array<std::uint64_t, 3> state{positions.sync_state[0], positions.sync_state[1],
                                     std::bit_cast<std::uint64_t>(positions.resharded_at)};
  take_numbers_of_first(ranks, state);
  positions.sync_state = {state[0], state[1]};
  positions.resharded_at = std::bit_cast<double>(state[2]);
}

/// Throws SyncError, on all ranks, if a number is not equal on all.
template <class Ranks>
void agree(Ranks& ranks, const std::string& what, std::uint64_t number) {
  const auto all = ranks.gather(number);
  for (std::size_t r = 1; r < all.size(); ++r)
    if (all[r] != all[0])
      throw SyncError{"rank ", r,        " has another ", what, " than rank 0 (",
                      all[r],  ", not ", all[0],          ")"};
}

/// Returns the first 128 bytes of the text of each rank.
template <class Ranks>
std::vector<std::string> gather_text(Ranks& ranks, std::string_view text) {
  std::array<std::uint64_t, 16> numbers{};
  std::memcpy(numbers.data(), text.data(), (std::min)(text.size(), sizeof numbers));
  const auto all = gather_numbers(ranks, std::span<const std::uint64_t>(numbers));
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto* const begin = reinterpret_cast<const char*>(&all[r * numbers.size()]);
    texts.emplace_back(begin, std::find(begin, begin + sizeof numbers, '\0'));
  }
  return texts;
}

/// Throws SyncError, on all ranks, if their texts differ: the message has the first line that does.
template <class Ranks>
void agree_on_lines(Ranks& ranks, const std::string& what, std::string_view lines) {
  // Returns the first rank whose number is not that of rank 0; size() if there is none.
  const auto first_other = [&](std::uint64_t number) {
    const auto all = ranks.gather(number);
    std::size_t r = 1;
    while (r < all.size() && all[r] == all[0]) ++r;
    return r;
  };
  if (first_other(Hash::of(lines)) == ranks.size()) return;
  for (std::uint64_t left = 1; left > 0;) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix((std::min)(lines.size(), line.size() + 1));
    const std::size_t r = first_other(Hash::of(line));
    if (r < ranks.size()) {
      const auto texts = gather_text(ranks, line);
      throw SyncError{"rank ",  r,        " has another ", what, " than rank 0 (",
                      texts[r], ", not ", texts[0],        ")"};
    }
    left = 0;
    for (const std::uint64_t bytes : ranks.gather(lines.size())) left += bytes;
  }
}

}  // namespace detail

}}  // namespace wordloom::WORDLOOM_ABI
