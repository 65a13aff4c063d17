#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/evaluation/detail/test_file.hpp>
#include <wordloom/evaluation/letter_case.hpp>

/// The columns of words and scores in a file of word pairs.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

#if WORDLOOM_DEFINES_FUNCTIONS

/// The columns of a file of word pairs, from 0.
struct PairColumns {
  std::size_t first = 0, second = 1, score = 2;
  std::optional<std::size_t> part_of_speech = {};

  std::size_t count() const noexcept {
    return (std::max)({first, second, score, part_of_speech.value_or(0)}) + 1;
  }
};

using TestFields = std::vector<TestFile::Field>;

inline std::optional<std::size_t> column_named(const TestFields& header,
                                               std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    for (std::size_t i = 0; i < header.size(); ++i)
      if (column_name(header[i].text) == name) return i;
  return std::nullopt;
}

/// Parses all of `field` as a number, with or without a plus sign.
inline std::optional<double> score_in(std::string_view field) {
  if (field.starts_with('+') && !field.starts_with("+-")) field.remove_prefix(1);
  const auto score = number_in<double>(field);
  return score && is_finite(*score) ? score : std::nullopt;
}

inline bool is_part_of_speech(std::string_view field) {
  static constexpr std::array<std::string_view, 16> tags{"n",    "v",    "a",     "j",   "r",  "s",
                                                         "noun", "verb", "adj",   "adv", "nn", "vb",
                                                         "jj",   "rb",   "propn", "x"};
  return std::find(tags.begin(), tags.end(), lower_case(field)) != tags.end();
}

/// Returns whether a field marks a missing score, such as NA and ?.
inline bool is_placeholder(std::string_view field) {
  const std::string name = column_name(field);
  if (name.empty())
    return std::all_of(field.begin(), field.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  return name == "na" || name == "nan" || name == "null" || name == "none" || name == "missing";
}

/// Returns whether the first line of a file of word pairs names its columns.
inline bool is_pair_header(const TestFields& fields) {
  if (fields.size() < 3) return false;
  if (column_named(fields, {"word1"}) && column_named(fields, {"word2"})) return true;
  return !is_placeholder(fields[2].text) &&
         std::none_of(fields.begin(), fields.end(),
                      [](const auto& field) { return is_like_number(field.text); });
}

/// Returns the only column from `begin` on with one of these words in its name, or nothing.
inline std::optional<std::size_t> only_column_with(const TestFields& header, std::size_t begin,
                                                   std::initializer_list<std::string_view> words) {
  std::optional<std::size_t> found;
  for (std::size_t i = begin; i < header.size(); ++i) {
    const std::string name = column_name(header[i].text);
    if (std::none_of(words.begin(), words.end(),
                     [&](std::string_view word) { return name.find(word) != name.npos; }))
      continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

/// Returns whether `column` is the first of several with numbers, such as scores of single people.
inline bool is_first_of_several(const TestFields& header, std::size_t column) {
  std::string name = column < header.size() ? column_name(header[column].text) : "";
  if (!name.ends_with('1')) return false;
  name.back() = '2';
  return std::any_of(header.begin(), header.end(),
                     [&](const auto& field) { return column_name(field.text) == name; });
}

/// Returns the columns of words and scores, by the header and the first line after it.
inline PairColumns pair_columns(const TestFields* header, const TestFields& fields) {
  PairColumns columns;
  const auto holds_score = [&](std::size_t column) {
    return column < fields.size() && score_in(fields[column].text);
  };
  bool has_names = false;
  if (header) {
    const auto first = column_named(*header, {"word1"}), second = column_named(*header, {"word2"});
    has_names = first && second;
    if (has_names) columns = {*first, *second, (std::max)(*first, *second) + 1};
  }
  const std::size_t after = columns.score;
  if (!holds_score(after) && holds_score(after + 1) && is_part_of_speech(fields[after].text))
    columns.part_of_speech = columns.score++;
  if (!header) return columns;
  auto named = column_named(*header, {"score", "similarity", "relatedness", "rating", "humanmean",
                                      "simlex999", "mean", "average", "averagescore", "avg"});
  if (!named) named = only_column_with(*header, after, {"mean", "average", "avg"});
  if (!named)
    named = only_column_with(*header, after, {"score", "similarity", "relatedness", "rating"});
  // Without names of words, a number after the first two columns shows that these are words.
  if (named && (has_names || holds_score(columns.score))) columns.score = *named;
  return columns;
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
