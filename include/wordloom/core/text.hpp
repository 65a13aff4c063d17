#pragma once
#include <cstddef>
#include <string_view>

namespace wordloom {

/// The bytes that separate tokens, those of C's isspace: space, \t, \n, \v, \f, \r. All others are
/// part of a token, whatever the encoding.
inline constexpr bool is_white_space(char c) noexcept {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// Calls `use(token)` for each token of `text` and `end_of_line()` for each \n.
template <class Use, class EndOfLine>
void for_each_token(std::string_view text, Use&& use, EndOfLine&& end_of_line) {
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p != end) {
    if (is_white_space(*p)) {
      if (*p++ == '\n') end_of_line();
      continue;
    }
    const char* const first = p;
    do ++p;
    while (p != end && !is_white_space(*p));
    use(std::string_view(first, static_cast<std::size_t>(p - first)));
  }
}

}  // namespace wordloom
