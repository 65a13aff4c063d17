#pragma once
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <vector>

#include <wordloom/core/detail/abi.hpp>

/// Fields of a row of a text, separated by blanks and tabs, even if words may hold other white
/// space.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

inline constexpr std::string_view blanks = " \t";
inline constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

/// Returns `text` without blanks, or other white space, at both ends.
inline constexpr std::string_view trimmed(std::string_view text,
                                          bool (*is_space)(char) noexcept = is_blank) noexcept {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Takes the last field and the blanks around it from a text, which is empty afterwards if it was
/// the only one.
inline constexpr std::string_view take_last_field(std::string_view& text) noexcept {
  text = trimmed(text);
  const std::size_t begin = text.find_last_of(blanks) + 1;  // 0: none
  const std::string_view field = text.substr(begin);
  text = trimmed(text.substr(0, begin));
  return field;
}

/// Reads a float at the beginning of [digits, end) as from_chars does, and also one with a plus
/// sign or too small for a float. Returns where it stops.
inline std::from_chars_result read_float(const char* digits, const char* end, float& number) {
  if (end - digits > 1 && digits[0] == '+' && digits[1] != '+' && digits[1] != '-') ++digits;
  auto result = std::from_chars(digits, end, number);
  double wide = 0;
  if (result.ec == std::errc::result_out_of_range &&
      std::from_chars(digits, end, wide).ec == std::errc() && wide > -1 && wide < 1) {
    number = static_cast<float>(wide);
    result.ec = std::errc();
  }
  return result;
}

/// Returns whether a field is a number, also one that no float can hold.
inline bool is_number(std::string_view field) {
  float number = 0;
  const char* const end = field.data() + field.size();
  const auto [stop, error] = read_float(field.data(), end, number);
  return stop == end && error != std::errc::invalid_argument;
}

/// Returns whether a number has no fraction.
inline bool is_whole(float number) noexcept { return number == std::trunc(number); }

/// Returns how many fields at the end of a text are numbers; the first field does not count.
inline std::size_t numbers_at_end(std::string_view text) {
  std::size_t numbers = 0;
  while (is_number(take_last_field(text)) && !text.empty()) ++numbers;
  return numbers;
}

/// Returns whether a field is a number with a fraction or an exponent.
inline bool is_fraction(std::string_view field) {
  return field.find_first_of(".eE") != field.npos && is_number(field);
}

/// Returns whether a text, without its first field, holds a fraction of four decimals, a number
/// such as 1e-5 or two fractions in a row, as it does where a word holds a part of a vector.
inline bool holds_fractions(std::string_view text) {
  bool follows_one = false;
  while (true) {
    const auto field = take_last_field(text);
    if (text.empty()) return false;
    const bool is_one = is_fraction(field);
    // Without a point, npos + 4 is 3.
    if (is_one && (follows_one || field.size() > field.find('.') + 4)) return true;
    follows_one = is_one;
  }
}

/// Returns whether the last field of several is a number with a fraction or an exponent, as in
/// vectors and rarely in names.
inline bool ends_in_fraction(std::string_view text) {
  const std::string_view last = take_last_field(text);
  return !text.empty() && is_fraction(last);
}

/// Returns the most frequent of some values, the first one if several are equally frequent.
inline std::size_t most_frequent(const std::vector<std::size_t>& values) {
  std::size_t most = 0, result = 0;
  for (const std::size_t value : values) {
    const auto count = static_cast<std::size_t>(std::count(values.begin(), values.end(), value));
    if (count > most) most = count, result = value;
  }
  return result;
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
