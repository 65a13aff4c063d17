// Sums and broadcasts of MpiRanks: their values, equal bits on all ranks, and the bytes that a rank
// sends. Run it over TCP (--mca btl tcp,self), whose bytes the system counts.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include <wordloom/mpi.hpp>

using namespace wordloom;

namespace {

/// Returns the bytes that this process has written to files and sockets.
std::uint64_t bytes_written() {
  std::ifstream io("/proc/self/io");
  for (std::string name; io >> name;) {
    std::uint64_t value = 0;
    io >> value;
    if (name == "wchar:") return value;
  }
  throw IoError("/proc/self/io has no line 'wchar:'");
}

void require(bool holds, const std::string& rule) {
  if (!holds) throw TrainingError{"not so: ", rule};
}

/// Returns a hash of the bits, which is small enough to be compared as a number.
template <class Value>
std::uint64_t bits_of(const std::vector<Value>& values) {
  detail::Hash hash;
  hash.add(values.data(), values.size() * sizeof(Value));
  return hash.value();
}

template <class Value>
void require_equal_bits(MpiRanks& ranks, const std::vector<Value>& values) {
  for (const std::uint64_t bits : ranks.gather(bits_of(values)))
    require(bits == bits_of(values), "all ranks have equal bits");
}

/// The value of a rank at a place: whole and small, so that sums and bf16 are exact.
float value(std::size_t rank, std::size_t i) {
  return static_cast<float>((rank + 1) * (i % 7 + 1));
}

void check_values(MpiRanks& ranks, std::size_t count) {
  std::vector<float> values(count), expected(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = value(ranks.rank(), i);
    for (std::size_t r = 0; r < ranks.size(); ++r) expected[i] += value(r, i);
  }
  std::vector<detail::Bf16> rounded(count);
  const auto functions = simd::row_change_functions();
  functions.pack_bf16(values.data(), &rounded.data()->bits, count);
  ranks.begin_sum(values);
  ranks.wait();
  require(values == expected, "a sum has the values of all ranks");
  ranks.begin_sum(std::span(rounded));
  ranks.wait();
  std::vector<detail::Bf16> nearest(count);
  functions.pack_bf16(expected.data(), &nearest.data()->bits, count);
  require(std::memcmp(rounded.data(), nearest.data(), count * sizeof(rounded[0])) == 0,
          "a sum of bf16 is the nearest one");
  for (float& x : values) x = 1.0f / 3 * static_cast<float>(ranks.rank() + 1);
  ranks.begin_sum(values);
  ranks.wait();
  require_equal_bits(ranks, values);
  for (std::size_t i = 0; i < count; ++i) values[i] = value(ranks.rank(), i);
  ranks.broadcast(values);
  for (std::size_t i = 0; i < count; ++i)
    require(values[i] == value(0, i), "a broadcast has the values of rank 0");
}

/// Sums rows of 4 bits; all ranks must have equal ones. Returns their bytes.
std::size_t sum_quantised(MpiRanks& ranks, std::size_t count) {
  constexpr std::size_t columns = 64;
  std::vector<float> values(columns), sent(columns), errors((count / ranks.size() + 1) * columns);
  const auto signs = detail::QuantisedRows::random_signs(columns, 1);
  detail::QuantisedRows rows{nullptr, count, columns, 4, signs.data(), errors.data()};
  std::vector<std::byte> bytes(rows.size_bytes());
  rows.data = bytes.data();
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t c = 0; c < columns; ++c) values[c] = value(ranks.rank(), i + c);
    const float square = rows.functions.dot(values.data(), values.data(), columns);
    rows.encode(rows.data + i * rows.bytes_of_row(), values.data(), square, 1, sent.data());
  }
  detail::QuantisedRows::write_flag(rows.data + (count - 1) * rows.bytes_of_row(), 1);
  ranks.begin_sum(rows);
  ranks.wait();
  require_equal_bits(ranks, bytes);
  require(detail::QuantisedRows::read_flag(rows.data + (count - 1) * rows.bytes_of_row()) ==
              static_cast<float>(ranks.size()),
          "the flag is summed");
  if (count > 1) {
    require(detail::QuantisedRows::changed(rows.data) == static_cast<float>(ranks.size()),
            "counts are exact");
    rows.decode(rows.data, sent.data());
    float sum = 0;
    for (std::size_t r = 0; r < ranks.size(); ++r) sum += value(r, 6);
    require(sent[6] > 0.7f * sum && sent[6] < 1.3f * sum, "a sum has about the values of all");
  }
  return bytes.size();
}

/// `work` must send at most 2 (N - 1) / N times the bytes of `count` floats, and 2 % for headers.
template <class Work>
void check_bytes(const MpiRanks& ranks, std::size_t count, const char* what, Work&& work) {
  const std::uint64_t before = bytes_written();
  work();
  const double share =
      static_cast<double>(bytes_written() - before) / 4 / static_cast<double>(count);
  const auto n = static_cast<double>(ranks.size());
  std::cout << what << ": rank " << ranks.rank() << " sent " << share << " times the bytes\n";
  require(share <= 2.04 * (n - 1) / n, "a rank sends at most 2 (N - 1) / N times the bytes");
}

}  // namespace

int main() try {
  const MpiSession session;
  MpiRanks ranks;
  try {
    for (const std::size_t count : {1u, 2u, 7u, 100u, 100'003u}) check_values(ranks, count);
    for (const std::size_t count : {1u, 2u, 7u, 1001u}) sum_quantised(ranks, count);
    std::vector<float> values(1 << 20);
    check_bytes(ranks, values.size(), "sum", [&] {
      ranks.begin_sum(values);
      ranks.wait();
    });
    // Rows of 38 bytes.
    check_bytes(ranks, 20'000 * 38 / 4, "quantised sum", [&] { sum_quantised(ranks, 20'000); });
    check_bytes(ranks, values.size(), "broadcast", [&] { ranks.broadcast(values); });
  } catch (const std::exception& error) {
    ranks.fail(error.what());
    throw;
  }
} catch (const std::exception& error) {
  std::cerr << "mpi_sums: " << error.what() << '\n';
  return 1;
}
