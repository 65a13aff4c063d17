#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>
#include <wordloom/core/random.hpp>

/// Returns one of the samples with one to a few changes. A function of the random stream alone.
inline std::string mutated(const std::vector<std::string>& samples, wordloom::Random& random) {
  using namespace std::string_view_literals;
  static constexpr std::uint64_t numbers[] = {0,
                                              1,
                                              0x7f,
                                              0xff,
                                              0xffff,
                                              0x7fff'ffff,
                                              0xffff'ffff,
                                              0x1'0000'0000,
                                              0x4000'0000'0000'0000,
                                              0x8000'0000'0000'0000,
                                              0xffff'ffff'ffff'ffff};
  static constexpr std::string_view texts[] = {"0",
                                               "-1",
                                               "+1",
                                               "99999999999",
                                               "18446744073709551615",
                                               "18446744073709551616",
                                               "1e50",
                                               "nan",
                                               "-inf",
                                               "0x10",
                                               "1.5",
                                               "\n",
                                               "\r\n",
                                               " ",
                                               "\t",
                                               "\v",
                                               "\f",
                                               "\r",
                                               "\0"sv,
                                               "\xff",
                                               ":",
                                               "#",
                                               "\xef\xbb\xbf",
                                               "\x1f\x8b"};
  const auto sample = [&]() -> const std::string& { return samples[random.below(samples.size())]; };
  std::string bytes = sample();
  do {
    const std::size_t at = random.below(bytes.size() + 1);
    const std::size_t length = 1 + random.below(std::max<std::size_t>(bytes.size() / 2, 1));
    const bool inside = at < bytes.size();
    switch (random.below(8)) {
      case 0:
        if (inside) bytes[at] = static_cast<char>(bytes[at] ^ 1 << random.below(8));
        break;
      case 1:
        if (inside) bytes[at] = static_cast<char>(random.below(256));
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.erase(at, length);
        break;
      case 4:
        bytes.insert(at, bytes.substr(random.below(bytes.size() + 1), length));
        break;
      case 5: {
        const std::uint64_t number = numbers[random.below(std::size(numbers))];
        const std::size_t width = std::min<std::size_t>(bytes.size() - at, 8);
        std::memcpy(bytes.data() + at, &number, width);
        break;
      }
      case 6:
        bytes.insert(at, texts[random.below(std::size(texts))]);
        break;
      default: {
        const std::string& other = sample();
        bytes = bytes.substr(0, at) + other.substr(random.below(other.size() + 1));
      }
    }
  } while (random.below(3) != 0);
  return bytes;
}
