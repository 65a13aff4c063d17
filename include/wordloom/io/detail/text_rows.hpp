#pragma once
#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/core/detail/text_fields.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/io/load_options.hpp>
#include <wordloom/io/vector_format.hpp>

/// Rows of vectors in a text.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Returns rows and columns if a line is the header of word2vec's files.
inline std::optional<std::pair<std::size_t, std::size_t>> header_in(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const auto columns = number_in<std::size_t>(take_last_field(line));
  const auto rows = number_in<std::size_t>(take_last_field(line));
  if (!rows || !columns || !line.empty()) return std::nullopt;
  return {{*rows, *columns}};
}

/// Reads a row of the usual form, one word and then `row.size()` numbers; returns false for another
/// form.
inline bool read_plain_row(std::string_view line, std::span<float> row, std::string_view* word) {
  const char* p = line.data();
  const char* const end = p + line.size();
  if (word != nullptr) {
    p = std::find_if(p, end, is_blank);
    if (p == line.data()) return false;
    *word = line.substr(0, static_cast<std::size_t>(p - line.data()));
  }
  const auto skip_blanks = [&] {
    while (p != end && is_blank(*p)) ++p;
  };
  for (float& number : row) {
    skip_blanks();
    const auto [stop, error] = read_float(p, end, number);
    if (error != std::errc() || (stop != end && !is_blank(*stop))) return false;
    p = stop;
  }
  skip_blanks();
  return p == end;
}

/// Reads any other row: its last fields are the numbers, and the text before them is the word, if
/// the format has words there. Blanks around a word do not belong to it unless there is nothing
/// else.
inline void read_row_from_end(const LineReader& reader, std::span<float> row,
                              std::string_view* word) {
  const std::string_view line = reader.line();
  const auto place = [&](std::string_view field) {
    return static_cast<std::size_t>(field.data() - line.data());
  };
  std::vector<std::string_view> fields(row.size());  // the last ones
  std::string_view before = line;
  std::size_t missing = row.size();
  while (missing > 0) {
    const auto field = take_last_field(before);
    if (field.empty()) break;
    fields[--missing] = field;
  }
  const auto expect_number = [&](std::size_t at, std::size_t number, const std::string& got) {
    const auto first = trimmed(line).substr(0, trimmed(line).find_first_of(blanks));
    reader.fail(at,
                joined({"number ", number, " of ", row.size(),
                        word == nullptr ? " in the row" : " after " + shown(first)}),
                got);
  };
  if (missing > 0 && !trimmed(line).empty()) {
    const std::size_t numbers = row.size() - missing - (word != nullptr ? 1 : 0);
    expect_number(line.size(), numbers + 1, "the end of the line");
  }
  if (missing > 0)
    reader.fail(0, word != nullptr ? "a word and its numbers" : "a row of numbers",
                "an empty line");
  const auto prefix = line.substr(0, place(fields[0]));
  if (word == nullptr) {
    if (!before.empty())
      reader.fail(place(fields.back()),
                  joined({"the end of the row after ", row.size(), " numbers"}),
                  shown(fields.back()));
  } else if (before.empty() && prefix.empty()) {
    expect_number(line.size(), row.size(), "the end of the line");
  } else {
    *word = before.empty() ? prefix.substr(0, prefix.size() - 1) : before;
    if (holds_fractions(*word))
      reader.fail(0, joined({"a word and ", row.size(), " numbers"}),
                  "more numbers, or two rows in a line: " + shown(*word));
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const char* const end = fields[i].data() + fields[i].size();
    const auto [stop, error] = read_float(fields[i].data(), end, row[i]);
    if (error == std::errc::result_out_of_range && stop == end)
      reader.fail(place(fields[i]), "a number that a float can hold", shown(fields[i]));
    if (error != std::errc() || stop != end)
      expect_number(place(fields[i]), i + 1, shown(fields[i]));
  }
}

/// Reads the rows up to the end of the file, or the limit of the options, and their words, if the
/// format has them there. `promised`: the expected number of rows.
inline RowMatrix read_text_rows(LineReader& reader, std::size_t promised, std::size_t columns,
                                WordList* words, Leniency& leniency) {
  GrowingRows rows((std::min)(promised, leniency.max_rows()), columns);
  std::string_view word;
  while (!leniency.is_full(rows.size()) && reader.next()) {
    if (reader.ends_blank()) {
      leniency.accept("blank lines at the end");
      break;
    }
    const auto row = rows.add([&] { return reader.lines_left() + 1; });
    std::string_view* const found = words != nullptr ? &word : nullptr;
    if (!read_plain_row(reader.line(), row, found)) read_row_from_end(reader, row, found);
    if (words != nullptr) leniency.add(*words, word);
    if (!reader.has_end())
      leniency.accept("the last line does not end: its last number may be cut");
  }
  if (rows.size() == 0) reader.fail(0, "rows of vectors", "the end of the file");
  return std::move(rows).take();
}

/// Returns the number of numbers in each row of a text without a header: the most frequent one at
/// the ends of the first rows. Throws FormatError, which calls the rows `expected`, if it is 0.
inline std::size_t columns_of_rows(LineReader reader, bool with_words, std::string_view expected) {
  LineReader first = reader;
  const std::string got = first.next() ? shown(first.line()) : "an empty file";
  std::vector<std::size_t> numbers;  // of each row
  while (numbers.size() < telling_rows && reader.next()) {
    const std::string_view line = reader.line();
    if (trimmed(line).empty()) continue;
    // The word may be missing: the text before a blank then is an empty word.
    const bool only_numbers = !with_words || is_blank(line.front());
    numbers.push_back(numbers_at_end(only_numbers ? std::string("x ").append(line) : line));
    // A file of one row without a line end may be cut between two numbers.
    if (!reader.has_end() && numbers.size() == 1 && numbers[0] > 0)
      reader.fail(line.size(), "the end of the first line", "the end of the file");
  }
  const std::size_t columns = most_frequent(numbers);
  if (columns == 0) first.fail(0, expected, got);
  return columns;
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
