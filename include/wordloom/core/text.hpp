#pragma once
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <ranges>
#include <string_view>

namespace wordloom {

/// The bytes that separate tokens, those of C's isspace: space, \t, \n, \v, \f, \r. All others are
/// part of a token, whatever the encoding.
inline constexpr bool is_white_space(char c) noexcept {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// Whether `text` is one token: not empty and without white space.
inline bool is_word(std::string_view text) noexcept {
  return !text.empty() && std::none_of(text.begin(), text.end(), is_white_space);
}

/// Sentences in memory: a range of ranges of what converts to std::string_view, for example
/// std::vector<std::vector<std::string>>.
template <class Range>
concept SentencesOfWords = std::ranges::input_range<Range> &&
    std::ranges::input_range<std::ranges::range_reference_t<Range>> &&
    std::convertible_to<std::ranges::range_reference_t<std::ranges::range_reference_t<Range>>,
                        std::string_view>;

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
    p = std::find_if(p, end, is_white_space);
    use(std::string_view(first, static_cast<std::size_t>(p - first)));
  }
}

}  // namespace wordloom
