#pragma once
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include <wordloom/core/error.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// An integer type: no bool and no character, which are neither signed nor unsigned ones.
template <class T>
concept WholeNumber =
    std::integral<T> && !std::same_as<T, bool> && sizeof(T) <= 8 &&
    (std::same_as<T, std::make_signed_t<T>> || std::same_as<T, std::make_unsigned_t<T>>);

/// Sentences of whole numbers instead of words, for example std::vector<std::vector<long>>.
template <class Range>
concept SentencesOfIds = InputRange<Range> && InputRange<ElementOf<Range>> &&
    WholeNumber<std::remove_cvref_t<ElementOf<ElementOf<Range>>>>;

/// The highest id of a host. A higher number was negative before it was converted.
inline constexpr auto max_host_id = (std::numeric_limits<std::int64_t>::max)();

/// Reads sentences once: calls `use(word)` for each word, whose view is valid during the call, and
/// `end_sentence()` after each sentence. A number is the word of its digits. Throws
/// InvalidArgument, with the place, for a word that is empty and for a number that is negative or
/// above 2^63 - 1.
template <class Sentences, class Use, class End>
void read_sentences(Sentences& sentences, const Use& use, const End& end_sentence) {
  std::size_t number = 0;
  for (auto&& sentence : sentences) {
    std::size_t position = 0;
    for (auto&& word : sentence) {
      if constexpr (std::integral<std::remove_cvref_t<decltype(word)>>) {
        const auto id = static_cast<std::remove_cvref_t<decltype(word)>>(word);
        if (std::cmp_less(id, 0) || std::cmp_greater(id, max_host_id))
          throw InvalidArgument{
              "sentences[",           number,     "][", position, "]: the id is ", id,
              ", must be from 0 to ", max_host_id};
        char digits[20];
        const auto end = std::to_chars(digits, digits + sizeof digits, id).ptr;
        use(std::string_view(digits, static_cast<std::size_t>(end - digits)));
      } else {
        const std::string_view text = word;
        if (text.empty())
          throw InvalidArgument{"sentences[", number, "][", position, "]: the word is empty"};
        use(text);
      }
      ++position;
    }
    end_sentence();
    ++number;
  }
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
