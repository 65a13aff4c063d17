// Parts of training by strata: strata, the blocks of their pairs, the texts in which ranks
// exchange pairs, and the order in which threads train blocks.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/core/error.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/sampler/detail/strata.hpp>
#include <wordloom/train/detail/block_order.hpp>
#include <wordloom/train/detail/pair_lists.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;
using detail::FoundPairs, detail::PairBlocks, detail::PairFinder, detail::PairWire, detail::Strata,
    detail::StratumPair;

namespace {

/// A pair of two strata.
struct Pair {
  std::uint32_t input, output;  // strata
  std::uint32_t code;
};

/// Returns strata of rows that are equally frequent.
Strata even_strata(std::uint32_t count, std::size_t rows) {
  return {count, std::vector<double>(rows, 1)};
}

/// Returns pairs of rows of all strata, the last row of each among them.
std::vector<Pair> random_pairs(const Strata& strata, std::size_t count) {
  Random random(3);
  const auto place = [&](std::uint32_t stratum, bool last) {
    const auto size = static_cast<std::uint32_t>(strata.of(stratum).size());
    return last ? size - 1 : static_cast<std::uint32_t>(random.below(size));
  };
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < count; ++i) {
    const auto input = static_cast<std::uint32_t>(random.below(strata.count())),
               output = static_cast<std::uint32_t>(random.below(strata.count()));
    const std::uint32_t row = place(input, i % 5 == 0), other = place(output, i % 3 == 0);
    pairs.push_back({input, output, StratumPair::code(row, other)});
    if (StratumPair::input(pairs.back().code) != row ||
        StratumPair::output(pairs.back().code) != other)
      FAIL("the code of " << row << " and " << other);
  }
  return pairs;
}

std::vector<FoundPairs> found(std::uint32_t strata, const std::vector<Pair>& pairs) {
  PairFinder finder(strata);
  std::vector<FoundPairs> lists;
  for (const auto& [input, output, code] : pairs)
    finder.add({input, StratumPair::input(code)}, {output, StratumPair::output(code)}, lists);
  finder.end(lists);
  finder.end(lists);  // adds no empty list
  return lists;
}

PairBlocks sorted(std::uint32_t strata, const std::vector<Pair>& pairs) {
  const auto lists = found(strata, pairs);
  std::vector<std::size_t> counts(strata);
  for (const FoundPairs& list : lists)
    for (std::uint32_t i = 0; i < strata; ++i) counts[i] += list.count(i);
  PairBlocks blocks(strata);
  blocks.resize(0, counts);
  for (std::uint32_t i = 0; i < strata; ++i)
    blocks.fill(i, [&](const auto& add) {
      for (const FoundPairs& list : lists)
        for (std::uint32_t k = list.begin(i); k < list.ends[i]; ++k)
          add(list.outputs[k], list.pairs[k]);
    });
  return blocks;
}

using Blocks = std::vector<std::vector<std::uint32_t>>;  // [input - first][output]

Blocks blocks_of(const PairBlocks& pairs, std::uint32_t first, std::uint32_t last,
                 std::uint32_t strata) {
  Blocks blocks;
  for (std::uint32_t input = first; input < last; ++input)
    for (std::uint32_t output = 0; output < strata; ++output) {
      const auto block = pairs.block(input, output);
      blocks.emplace_back(block.begin(), block.end());
    }
  return blocks;
}

/// Returns those of the pairs themselves, in the order of the text.
Blocks blocks_of(const std::vector<Pair>& pairs, std::uint32_t first, std::uint32_t last,
                 std::uint32_t strata) {
  Blocks blocks(std::size_t{last - first} * strata);
  for (const auto& [input, output, code] : pairs)
    if (first <= input && input < last)
      blocks[std::size_t{input - first} * strata + output].push_back(code);
  return blocks;
}

/// Returns what a rank with inputs [first, last) is sent.
std::string text_of(const detail::PairWire& wire, const PairBlocks& blocks, std::uint32_t first,
                    std::uint32_t last) {
  std::size_t pairs = 0;
  for (std::uint32_t i = first; i < last; ++i) pairs += blocks.count(i);
  std::string text(wire.size(last - first, pairs), 'x');
  for (std::uint32_t i = last; i-- > first; pairs -= blocks.count(i))  // in any order
    wire.write(blocks, i, i - first, last - first, pairs - blocks.count(i), text);
  return text;
}

}  // namespace

TEST_CASE("every row has one place in one stratum, and strata have equally many rows", "[strata]") {
  for (const std::uint32_t count : {1u, 2u, 3u, 7u, 32u, 256u})
    for (const std::uint32_t rows : {count, count + 1, 2 * count - 1, 2 * count, 2 * count + 1,
                                     3 * count + count / 2, 1003u}) {
      INFO(rows << " rows in " << count << " strata");
      std::vector<double> weights;
      for (std::uint32_t i = 0; i < rows; ++i) weights.push_back(1.0 / (1 + i));
      const Strata strata(count, weights);
      CHECK((strata.count() == count && strata.rows() == rows));
      std::vector<std::size_t> sizes;
      std::vector<bool> seen(rows);
      for (std::uint32_t s = 0; s < count; ++s) {
        sizes.push_back(strata.of(s).size());
        for (std::uint32_t place = 0; place < sizes.back(); ++place) {
          const RowId row = strata.of(s)[place];
          if (row >= rows || seen[row]) FAIL("row " << row << " in stratum " << s);
          if (strata.at(row).stratum() != s || strata.at(row).place() != place)
            FAIL("back from row " << row);
          seen[row] = true;
        }
      }
      CHECK(std::ranges::count(seen, true) == rows);
      const auto [least, most] = std::ranges::minmax(sizes);
      CHECK(most - least <= 1);
      CHECK(strata.most_rows() == most);
    }
}

TEST_CASE("strata have the same weight unless a row has more", "[strata]") {
  for (const std::uint32_t count : {2u, 7u, 32u, 200u}) {
    INFO(count << " strata");
    std::vector<double> weights;
    for (int i = 0; i < 20'000; ++i) weights.push_back(1.0 / (1 + i));
    const Strata strata(count, weights);
    std::vector<double> of(count);
    for (RowId row = 0; row < weights.size(); ++row) of[strata.at(row).stratum()] += weights[row];
    // Rows that are too frequent for 32 strata are beside the rarest ones.
    const double least = *std::ranges::min_element(of), more = count < 32 ? 1.01 : 1.2;
    for (std::uint32_t s = 0; s < count; ++s)
      CHECK(of[s] <= more * std::max(weights[strata.of(s)[0]], least));
  }
}

TEST_CASE("sorted pairs are found in their blocks, in the order of the text", "[strata]") {
  const Strata strata = even_strata(5, 23);
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1601},
                                  PairFinder::most, 2 * PairFinder::most + 1}) {
    const auto pairs = random_pairs(strata, count);
    CHECK(found(5, pairs).size() == (count + PairFinder::most - 1) / PairFinder::most);
    const PairBlocks blocks = sorted(5, pairs);
    CHECK(blocks.size() == count);
    CHECK(blocks_of(blocks, 0, 5, 5) == blocks_of(pairs, 0, 5, 5));
  }
}

TEST_CASE("ranks receive the pairs of their strata in as few bytes as places need", "[strata]") {
  for (const auto& [places, bytes] : {std::pair{1u, 0u},
                                      {2u, 1u},
                                      {16u, 1u},
                                      {17u, 2u},
                                      {256u, 2u},
                                      {257u, 3u},
                                      {4096u, 3u},
                                      {4097u, 4u},
                                      {65536u, 4u}})
    for (const std::uint32_t missing : {0u, 3u}) {  // rows of the shorter strata
      if (places == 1 && missing > 0) continue;
      INFO(places << " places");
      const Strata strata = even_strata(5, 5 * std::size_t{places} - missing);
      const auto pairs = random_pairs(strata, 4000);
      const PairBlocks blocks = sorted(5, pairs);
      const PairWire wire(5, strata.most_rows());
      for (const auto& [first, last] :
           {std::pair{0u, 2u}, {2u, 4u}, {4u, 5u}, {1u, 1u}, {0u, 5u}}) {
        const std::uint32_t from = first, inputs = last - first;
        const std::string text = text_of(wire, blocks, first, last);
        // Two ranks have found the same pairs.
        const std::vector readers(2, PairWire::Reader(wire, text, inputs));
        std::vector<std::size_t> counts(inputs * 5);
        for (std::uint32_t i = 0; i < inputs * 5; ++i)
          counts[i] = 2 * readers[0].count(i / 5, i % 5);
        PairBlocks received(5);
        received.resize_blocks(first, counts);
        for (std::uint32_t i = 0; i < inputs * 5; ++i)
          received.fill_block(from + i / 5, i % 5, [&](const auto& add) {
            for (const auto& reader : readers) reader.visit(i / 5, i % 5, add);
          });
        Blocks expected = blocks_of(pairs, first, last, 5);
        std::size_t size = std::size_t{inputs} * 5 * 4;
        for (auto& block : expected) {
          size += bytes * block.size();
          block.reserve(2 * block.size());
          block.insert(block.end(), block.begin(), block.begin() + std::ssize(block));
        }
        CHECK(blocks_of(received, first, last, 5) == expected);
        CHECK(text.size() == size);
      }
    }
}

TEST_CASE("pairs that another rank has sent and that are cut off are refused", "[strata]") {
  const PairBlocks blocks = sorted(3, random_pairs(even_strata(3, 3000), 30));
  const PairWire wire(3, 1000);
  const std::string text = text_of(wire, blocks, 1, 3);
  const PairWire::Reader whole(wire, text, 2);
  CHECK(whole.count(1, 0) + whole.count(1, 1) + whole.count(1, 2) == blocks.count(2));
  std::size_t refused = 0;
  for (std::size_t size = 0; size < text.size(); ++size)
    refused += message_of<SyncError>([&] { PairWire::Reader(wire, text.substr(0, size), 2); }) ==
               "the pairs that another rank has sent end too early";
  CHECK(refused == text.size());
}

TEST_CASE("blocks with a row in common are trained after each other, in the order of steps",
          "[strata]") {
  using Order = detail::BlockOrder;
  constexpr std::uint32_t inputs = 6, steps = 9;
  Random random(1);
  for (const bool is_ring : {true, false})
    for (std::size_t round = 0; round < 100; ++round) {
      const std::size_t threads = 1 + round % 7;
      const std::uint32_t shares = round % 2 == 0 ? 1 : 3;
      INFO((is_ring ? "ring, " : "") << threads << " threads, " << shares << " shares");
      Order order(inputs, is_ring, shares);
      order.begin(steps);
      // Without a ring, outputs of a rank behind follow those of this rank.
      const auto output_of = [&](Order::Share of) {
        return is_ring ? (of.input + of.step) % inputs : of.input + of.step;
      };
      std::vector<Order::Share> taken;
      std::vector<std::uint32_t> of_input(inputs), of_output(inputs + steps);  // shares taken
      std::uint32_t arrived = 0;
      std::size_t trained = 0, largest = 0;
      while (!order.is_over()) {
        bool is_idle = false;
        while (taken.size() < threads) {
          const auto share = order.take(is_idle);
          if (!share) break;
          for (const Order::Share other : taken)
            if ((other.input == share->input) != (output_of(other) == output_of(*share)) ||
                (other.input == share->input && other.step != share->step))
              FAIL("two blocks with a row in common are trained at a time");
          const std::uint32_t number = share->step * shares + share->number;
          if (number != of_input[share->input]++) FAIL("a share of an input is left out");
          const std::uint32_t output = output_of(*share);
          const std::uint32_t before = output < inputs ? 0 : output - inputs + 1;  // elsewhere
          if (number != before * shares + of_output[output]++)
            FAIL("a share of an output is left out");
          if (before > arrived) FAIL("outputs that have not arrived");
          taken.push_back(*share);
          largest = std::max(largest, taken.size());
        }
        CHECK((taken.size() == threads || is_idle == taken.empty()));
        if (!taken.empty()) {
          const auto at = taken.begin() + static_cast<std::ptrdiff_t>(random.below(taken.size()));
          order.trained(*at);
          taken.erase(at);
          ++trained;
        }
        if (!is_ring && arrived < steps && (taken.empty() || random.below(4) == 0))
          order.arrived(++arrived);
      }
      CHECK((is_ring || arrived == steps));
      CHECK(taken.empty());
      CHECK(trained == inputs * steps * shares);
      CHECK(largest == (std::min<std::size_t>)(threads, inputs * shares));
    }
}
