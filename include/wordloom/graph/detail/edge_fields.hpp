#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/detail/text_fields.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/graph/graph_options.hpp>

/// The fields of one line of an edge list.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The error in a malformed line.
struct BadLine {
  std::string expected, got;
  std::size_t column = 1;  // in bytes, from 1
};

/// Returns the name of a delimiter for messages, in the plural.
inline std::string name_of_delimiter(char delimiter) {
  GraphReport report;
  report.delimiter = delimiter;
  return report.delimiter_name();
}

/// Returns a field without the white space around it.
inline std::string_view trimmed_field(std::string_view field) noexcept {
  return trimmed(field, is_white_space);
}

/// Returns a text with ASCII letters in lower case.
inline std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return lower;
}

/// is_white_space as a function object, which is called without a pointer.
inline constexpr auto by_white_space = [](char c) { return is_white_space(c); };

/// Calls `use(number, position, field)` for each field of a line; a run of separators counts as
/// one. Returns the number of fields.
template <class Separates, class Use>
std::size_t for_each_run(std::string_view line, Separates separates, Use&& use) {
  std::size_t count = 0;
  for (std::size_t at = 0;;) {
    while (at < line.size() && separates(line[at])) ++at;
    if (at == line.size()) return count;
    const std::size_t first = at;
    while (at < line.size() && !separates(line[at])) ++at;
    use(count++, first, line.substr(first, at - first));
  }
}

/// Calls `use(number, position, field)` for each field of a line, which may be empty: each
/// delimiter separates two fields. White space around a field does not belong to it. Returns the
/// number of fields, 0 for a line of white space.
template <class Use>
std::size_t for_each_cell(std::string_view line, char delimiter, Use&& use) {
  std::size_t count = 0;
  for (std::size_t at = 0;; ++at) {
    while (at < line.size() && is_white_space(line[at]) && line[at] != delimiter) ++at;
    if (count == 0 && at == line.size()) return 0;
    const std::size_t first = at;
    while (at < line.size() && line[at] != delimiter) ++at;
    std::size_t end = at;
    while (end > first && is_white_space(line[end - 1])) --end;
    use(count++, first, line.substr(first, end - first));
    if (at == line.size()) return count;
  }
}

/// Calls `use(number, position, field)` for each field of a line in which a field that begins with
/// a quotation mark ends with one (RFC 4180): the field is the text between them, in which a
/// doubled mark is one mark. `scratch` holds fields as long as it is not changed. Returns the error
/// of a malformed line.
template <class Use>
std::optional<BadLine> for_each_quoted(std::string_view line, char delimiter, std::string& scratch,
                                       Use&& use) {
  const auto separates = [delimiter](char c) {
    return delimiter == GraphOptions::any_white_space ? is_white_space(c) : c == delimiter;
  };
  const bool runs = delimiter == GraphOptions::any_white_space || delimiter == ' ';
  const auto skips = [&](char c) { return separates(c) ? runs : is_white_space(c); };
  scratch.clear();
  scratch.reserve(line.size());  // so that it does not move
  std::size_t count = 0;
  for (std::size_t at = 0;; ++at) {
    while (at < line.size() && skips(line[at])) ++at;
    if (at == line.size() && (runs || count == 0)) return std::nullopt;
    const std::size_t first = at;
    if (at < line.size() && line[at] == '"') {
      const std::size_t kept = scratch.size();
      for (++at; at < line.size() && (line[at] != '"' || line.substr(at + 1).starts_with('"'));)
        scratch += line[at], at += line[at] == '"' ? std::size_t{2} : std::size_t{1};
      if (at == line.size())
        return BadLine{"a closing quotation mark in the same line",
                       "the end of the line (within a name in quotation marks, write a quotation "
                       "mark as \"\")",
                       at + 1};
      for (++at; at < line.size() && !separates(line[at]);)
        if (!is_white_space(line[at++]))
          return BadLine{"the end of a field after its closing quotation mark",
                         shown(line.substr(at - 1)) +
                             " (within a name in quotation marks, write a quotation mark as \"\")",
                         at};
      use(count++, first, std::string_view(scratch).substr(kept));
    } else {
      // The data of an edge in NetworkX's format are one field.
      const bool is_dictionary = count == 2 && at < line.size() && line[at] == '{';
      while (at < line.size() && (is_dictionary || !separates(line[at]))) ++at;
      use(count++, first, trimmed_field(line.substr(first, at - first)));
    }
    if (at == line.size()) return std::nullopt;
  }
}

/// Cuts lines into fields.
class LineCutter {
 public:
  explicit LineCutter(char delimiter) : delimiter_(delimiter) {}

  /// Removes the \r of a line end. Returns the error of a line that contains others.
  static std::optional<BadLine> end(std::string_view& line) {
    while (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t at = line.find('\r');
    if (at == line.npos) return std::nullopt;
    return BadLine{"a line that ends with \\n or \\r\\n",
                   "\\r within it (convert the line ends of an old Mac: tr '\\r' '\\n' <FILE)",
                   at + 1};
  }

  /// Calls `use(number, position, field)` for each field of a line without its end. Returns the
  /// error of a malformed line.
  template <class Use>
  std::optional<BadLine> cut(std::string_view line, Use&& use) {
    if (line.find('"') != line.npos) return for_each_quoted(line, delimiter_, scratch_, use);
    if (delimiter_ == GraphOptions::any_white_space)
      for_each_run(line, by_white_space, use);
    else if (delimiter_ == ' ')
      for_each_run(
          line, [](char c) { return c == ' '; },
          [&](std::size_t i, std::size_t at, auto field) { use(i, at, trimmed_field(field)); });
    else
      for_each_cell(line, delimiter_, use);
    return std::nullopt;
  }

  /// Returns whether a line holds no edge: it is a comment, empty or white space.
  bool is_skipped(std::string_view line) const noexcept {
    for (const char c : line) {
      if (c == '#' || c == '%') return true;
      if (!is_white_space(c) || (c == delimiter_ && c != ' ')) return false;
    }
    return true;
  }

 private:
  char delimiter_;
  std::string scratch_;
};

/// The first fields of a line.
struct Fields {
  static constexpr std::size_t max_count = 4;
  static constexpr std::size_t type = 3;  // its index if a header names it

  /// Sets the fields of a line. A dictionary in NetworkX's format is one field.
  std::optional<BadLine> cut(LineCutter& cutter, std::string_view line) {
    count = 0;
    last = 0;
    auto bad = cutter.cut(line, [&](std::size_t i, std::size_t at, std::string_view field) {
      if (i < max_count) fields[i] = field, columns[i] = at + 1;
      if (!field.empty()) last = i + 1;
      count = i + 1;
    });
    if (!bad && count > 2) join_dictionary(line);
    return bad;
  }

  void join_dictionary(std::string_view line) {
    if (!fields[2].starts_with('{')) return;
    fields[2] = trimmed_field(line.substr(columns[2] - 1));
    count = last = 3;
  }

  /// Returns the number in the third field, if there is one.
  std::optional<double> weight() const;

  std::array<std::string_view, max_count> fields;
  std::array<std::size_t, max_count> columns{};  // in bytes, from 1
  std::size_t count = 0, last = 0;               // of all fields; up to the last that is not empty
};

/// Returns a name as a field of an edge list, in quotation marks where it would otherwise be cut or
/// read as something else. Throws InvalidArgument for a name that no line can hold.
inline std::string quoted_name(std::string_view name) {
  if (name.find_first_of("\r\n") != name.npos)
    throw InvalidArgument{"an edge list cannot hold the node ", shown(name),
                          ": replace the line end in its name"};
  if (name.find_first_of(" \t\v\f,;|\"#%") == name.npos && !name.starts_with("//") &&
      !name.starts_with(byte_order_mark))
    return std::string(name);
  std::string quoted = "\"";
  for (const char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

/// Parses all of `text` as a number, which may begin with a plus sign.
inline std::optional<double> weight_in(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return number_in<double>(text);
}

/// Returns the text of the weight in a third field: all of it, or the value in the data of an edge
/// in NetworkX's format, {'weight': 1.5, ...}, empty if there is none.
inline std::string_view weight_text(std::string_view field) {
  if (!field.starts_with('{')) return field;
  for (const std::string_view key : {"'weight':", "\"weight\":"})
    if (const std::size_t at = field.find(key); at != field.npos) {
      field.remove_prefix(at + key.size());
      return trimmed_field(field.substr(0, field.find_first_of(",}")));
    }
  return {};
}

inline std::optional<double> Fields::weight() const {
  return count < 3 ? std::nullopt : weight_in(weight_text(fields[2]));
}

/// Returns whether a number is a weight that a float holds; one that would become 0 is not.
inline bool is_weight(double number) noexcept {
  const float weight = static_cast<float>(number);
  return number >= 0 && is_finite(weight) &&
         (magnitude_bits(weight) != 0 || magnitude_bits(number) == 0);
}

/// Returns whether a field is a number with a decimal comma, such as 1,5.
inline bool has_decimal_comma(std::string_view field) {
  const std::size_t comma = field.find(',');
  if (comma == field.npos) return false;
  std::string number(field);
  number[comma] = '.';
  return weight_in(number).has_value();
}

inline bool is_whole_number(std::string_view field) noexcept {
  return !field.empty() &&
         std::all_of(field.begin(), field.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Returns whether the third column of an unweighted edge may be left unread: a number or
/// NetworkX's data.
inline bool is_like_weight(std::string_view field) {
  // Most consist of digits, some of them after a point.
  const char* at = field.data();
  const char* const end = at + field.size();
  while (at != end && *at >= '0' && *at <= '9') ++at;
  if (at != field.data()) {
    if (at != end && *at == '.') ++at;
    while (at != end && *at >= '0' && *at <= '9') ++at;
    if (at == end) return true;
  }
  return weight_in(field).has_value() || (field.starts_with('{') && field.ends_with('}'));
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
