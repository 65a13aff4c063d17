#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <wordloom/core/mapped_file.hpp>
#include <wordloom/core/text.hpp>

/// What the readers of test sets share.
namespace wordloom::detail {

inline std::string lower_case(std::string word) {
  for (char& c : word)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return word;
}

/// Calls `use(fields, line)` for each line of a file that is neither blank nor begins with '#';
/// fields are separated by white space, lines count from 1.
template <class Use>
void for_each_line(const std::filesystem::path& path, Use&& use) {
  const MappedFile file(path);
  std::uint64_t line = 1;
  std::vector<std::string> fields;
  const auto end = [&] {
    if (!fields.empty() && !fields[0].starts_with('#')) use(fields, line);
    fields.clear();
    ++line;
  };
  for_each_token(
      file.text(), [&](std::string_view token) { fields.emplace_back(token); }, end);
  end();
}

}  // namespace wordloom::detail
