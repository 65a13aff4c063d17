#include <bit>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <wordloom/core/detail/hash.hpp>
#include <wordloom/core/random.hpp>

#include "catch.hpp"

using namespace wordloom;
using detail::Hash;

namespace {

std::string random_bytes(std::size_t size) {
  Random random(1);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

}  // namespace

TEST_CASE("a hash depends on the bytes, not on how they are divided between calls", "[hash]") {
  const std::string bytes = random_bytes(100);
  Random random(2);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const std::uint64_t whole = Hash::of({bytes.data(), size});
    for (const std::uint32_t longest : {2u, 9u, 30u}) {
      Hash hash;
      for (std::size_t at = 0; at < size;) {
        const std::size_t step = std::min<std::size_t>(size - at, random.below(longest));
        hash.add(bytes.data() + at, step);
        at += step;
      }
      REQUIRE(hash.value() == whole);
    }
  }
}

TEST_CASE("a hash depends on every bit, the length and the order", "[hash]") {
  for (const std::size_t size : {1u, 3u, 4u, 7u, 8u, 9u, 16u, 61u}) {
    std::string bytes = random_bytes(size);
    const std::uint64_t original = Hash::of(bytes);
    std::set<std::uint64_t> seen{original, Hash::of(bytes + '\0')};
    for (std::size_t bit = 0; bit < size * 8; ++bit) {
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      const std::uint64_t hash = Hash::of(bytes);
      // 32 +- 4 of 64 bits differ where hashes are independent.
      const int differing = std::popcount(hash ^ original);
      CHECK((differing > 8 && differing < 56));
      seen.insert(hash);
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    }
    CHECK(seen.size() == size * 8 + 2);
  }
  std::set<std::uint64_t> zeros;
  for (std::size_t size = 0; size < 50; ++size) zeros.insert(Hash::of(std::string(size, '\0')));
  CHECK(zeros.size() == 50);
}

TEST_CASE("a hash separates the texts and numbers that are added", "[hash]") {
  const auto of = [](std::string_view a, std::string_view b) {
    Hash hash;
    hash.add(a);
    hash.add(b);
    return hash.value();
  };
  CHECK(of("ab", "c") != of("a", "bc"));
  CHECK(of("ab", "") != of("", "ab"));
  Hash number, bytes;
  number.add(std::uint64_t{0x0807060504030201});
  bytes.add("\1\2\3\4\5\6\7\10", 8);
  CHECK(number.value() == bytes.value());
  number.add(std::uint64_t{1});
  CHECK(number.value() != bytes.value());
}

// Files hold hashes: another value is another format, with another magic or version.
TEST_CASE("hashes are the same in every build", "[hash]") {
  CHECK(Hash::of("") == 0x2bbf230f76bd90b6);
  CHECK(Hash::of("the") == 0x6cc24698b01ec955);
  CHECK(Hash::of("Wordloom, a library") == 0x7ed0836eea4af2b7);
}
