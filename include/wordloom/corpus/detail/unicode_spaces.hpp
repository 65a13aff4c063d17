#pragma once
#include <cstddef>
#include <string_view>

#include <wordloom/core/words.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Returns the length of the Unicode space at the beginning of `text`, which is not empty, or 0.
/// These are the spaces beyond ASCII's white space at which Python's str.split() cuts: U+001C to
/// U+001F, U+0085, U+00A0, U+1680, U+2000 to U+200A, U+2028, U+2029, U+202F, U+205F and U+3000.
inline std::size_t unicode_space_at(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto begins_with = [&](unsigned first, unsigned second, unsigned third) {
    return byte(0) == first && byte(1) == second && byte(2) == third;
  };
  switch (byte(0)) {
    case 0x1c:
    case 0x1d:
    case 0x1e:
    case 0x1f:
      return 1;
    case 0xc2:
      return byte(1) == 0x85 || byte(1) == 0xa0 ? 2 : 0;
    case 0xe1:
      return begins_with(0xe1, 0x9a, 0x80) ? 3 : 0;
    case 0xe2:
      if (begins_with(0xe2, 0x81, 0x9f)) return 3;
      return byte(1) == 0x80 && ((byte(2) >= 0x80 && byte(2) <= 0x8a) || byte(2) == 0xa8 ||
                                 byte(2) == 0xa9 || byte(2) == 0xaf)
                 ? 3
                 : 0;
    case 0xe3:
      return begins_with(0xe3, 0x80, 0x80) ? 3 : 0;
    default:
      return 0;
  }
}

/// Calls `use(part)` for each part of `token` between Unicode spaces.
template <class Use>
void for_each_part(std::string_view token, Use&& use) {
  std::size_t first = 0, at = 0;
  while (at < token.size()) {
    const std::size_t space = unicode_space_at(token.substr(at));
    if (space > 0 && at > first) use(token.substr(first, at - first));
    at += space > 0 ? space : 1;
    if (space > 0) first = at;
  }
  if (at > first) use(token.substr(first));
}

/// Calls for_each_token; with `unicode_spaces`, Unicode's spaces separate tokens too.
template <class Use, class EndOfLine>
void for_each_word(std::string_view text, bool unicode_spaces, Use&& use, EndOfLine&& end_of_line) {
  if (unicode_spaces)
    for_each_token(
        text, [&](std::string_view token) { for_each_part(token, use); }, end_of_line);
  else
    for_each_token(text, use, end_of_line);
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
