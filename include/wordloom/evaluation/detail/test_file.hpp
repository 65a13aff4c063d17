#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/core/detail/text_fields.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/words.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The lines of a test set and their fields. Blank lines and those that begin with '#' are left
/// out; line ends are \n, \r\n and \r.
///
/// Fields are separated by tabs, by commas, by semicolons or by any white space, in the same way in
/// the whole file; white space around a field does not belong to it. With a comma or semicolon, a
/// field that begins with a quotation mark ends at the next one and may contain the separator, two
/// marks stand for one (RFC 4180); with tabs or white space, quotation marks around a whole field
/// are removed. Empty fields at the end of a line are left out.
class TestFile {
 public:
  struct Line {
    std::string_view text;
    std::uint64_t number;  // from 1
  };
  struct Field {
    std::string text;
    std::size_t column;  // in bytes, from 1
  };

  /// Throws IoError, and FormatError for a damaged or foreign file.
  explicit TestFile(const std::filesystem::path& path);

  /// Returns all lines except blank ones and comments.
  const std::vector<Line>& lines() const noexcept { return lines_; }

  /// Separates fields by the first of tab, semicolon and comma that occurs in `line` at least
  /// `count` times outside quotation marks, or by white space if none does.
  void separate_as(const Line& line, std::size_t count);
  /// Returns the separator of fields; a blank: any white space.
  char separator() const noexcept { return separator_; }
  static std::size_t count(std::string_view line, char separator);

  /// Returns the fields of a line. Throws FormatError for a quotation mark without its second.
  std::vector<Field> fields(const Line& line) const;

  [[noreturn]] void refuse(const Line& line, std::size_t column, std::string_view expected,
                           std::string_view got) const {
    throw FormatError::at_line(file_.path(), line.number, column, expected, got);
  }
  [[noreturn]] void refuse_empty(std::string_view expected) const {
    throw FormatError::at_line(file_.path(), 1, expected, "none");
  }
  /// Throws the error for a line with too few or too many fields.
  [[noreturn]] void refuse_count(const Line& line, const std::vector<Field>& fields,
                                 std::string_view expected) const;

 private:
  Field quoted_field(const Line& line, std::size_t& at) const;

  InputFile file_;
  std::vector<Line> lines_;
  char separator_ = ' ';
};

/// Returns the name of a column in lower case, letters and digits only.
std::string column_name(std::string_view field);

/// Returns whether a field is a number, or begins like one.
inline bool is_like_number(std::string_view field) noexcept {
  if (number_in<double>(field)) return true;
  const std::size_t digit = (std::min)(field.find_first_not_of("+-.,"), field.size());
  return digit < (std::min<std::size_t>)(field.size(), 3) && field[digit] >= '0' &&
         field[digit] <= '9';
}

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION TestFile::TestFile(const std::filesystem::path& path)
    : file_(path, Content::text) {
  std::string_view text = file_.text();
  for (std::uint64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = (std::min)(text.find_first_of("\r\n"), text.size());
    const std::string_view line = without_byte_order_mark(text.substr(0, end));
    const std::size_t begin = line.find_first_not_of(white_space);
    if (begin != line.npos && line[begin] != '#') lines_.push_back({line, number});
    const std::size_t size = text.substr(end).starts_with("\r\n") ? 2 : 1;
    text.remove_prefix((std::min)(end + size, text.size()));
  }
}

WORDLOOM_FUNCTION std::size_t TestFile::count(std::string_view line, char separator) {
  std::size_t found = 0;
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '"' && separator != '\t') is_quoted = !is_quoted;
    found += c == separator && !is_quoted;
  }
  return found;
}

WORDLOOM_FUNCTION void TestFile::separate_as(const Line& line, std::size_t at_least) {
  separator_ = ' ';
  for (const char separator : {',', ';', '\t'})
    if (count(line.text, separator) >= at_least) separator_ = separator;
}

WORDLOOM_FUNCTION TestFile::Field TestFile::quoted_field(const Line& line, std::size_t& at) const {
  Field field{"", at + 1};
  for (++at;; ++at) {
    if (at == line.text.size())
      refuse(line, field.column, "a field with a quotation mark at its end", "the end of the line");
    if (line.text[at] == '"' && (++at == line.text.size() || line.text[at] != '"')) break;
    field.text += line.text[at];
  }
  const std::size_t end = (std::min)(line.text.find(separator_, at), line.text.size());
  const std::string_view rest = line.text.substr(at, end - at);
  if (const std::size_t more = rest.find_first_not_of(white_space); more != rest.npos)
    refuse(line, at + more + 1, joined({"a '", std::string(1, separator_), "' after a field"}),
           shown(rest.substr(more)));
  at = end;
  return field;
}

WORDLOOM_FUNCTION std::vector<TestFile::Field> TestFile::fields(const Line& line) const {
  const std::string_view text = line.text;
  std::vector<Field> result;
  const auto add = [&](std::string_view field, std::size_t column) {
    const bool is_quoted = field.size() > 2 && field.starts_with('"') && field.ends_with('"');
    if (is_quoted) field = field.substr(1, field.size() - 2);
    result.push_back({std::string(field), column});
  };
  if (separator_ == ' ') {
    for_each_token(
        text,
        [&](std::string_view token) {
          add(token, static_cast<std::size_t>(token.data() - text.data()) + 1);
        },
        [] {});
    return result;
  }
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const std::size_t end = (std::min)(text.find(separator_, at), text.size());
    const std::size_t begin = (std::min)(text.find_first_not_of(white_space, at), end);
    if (begin < end && text[begin] == '"' && separator_ != '\t') {
      at = begin;
      result.push_back(quoted_field(line, at));
      continue;
    }
    add(trimmed(text.substr(begin, end - begin), is_white_space), begin + 1);
    at = end;
  }
  while (!result.empty() && result.back().text.empty()) result.pop_back();
  return result;
}

WORDLOOM_FUNCTION void TestFile::refuse_count(const Line& line, const std::vector<Field>& fields,
                                              std::string_view expected) const {
  const char* const unit = separator_ == '\t'  ? " separated by tabs"
                           : separator_ == ',' ? " separated by commas"
                           : separator_ == ';' ? " separated by semicolons"
                                               : "";
  const std::size_t column = fields.empty() ? 1 : fields.back().column;
  refuse(line, column, expected,
         joined({fields.size(), fields.size() == 1 ? " field" : " fields", unit}));
}

WORDLOOM_FUNCTION std::string column_name(std::string_view field) {
  std::string name;
  for (const char c : field) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) name += c;
    if (c >= 'A' && c <= 'Z') name += static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
