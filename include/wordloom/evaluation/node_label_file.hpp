#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/evaluation/detail/test_file.hpp>

/// Files of nodes and their labels.
namespace wordloom { inline namespace WORDLOOM_ABI {

/// Nodes and their labels.
struct NodeLabels {
  struct Node {
    std::string name;
    std::vector<std::uint32_t> labels;  // indices of `labels`, without duplicates
  };
  std::vector<std::string> labels;
  std::vector<Node> nodes;

  /// Reads "node label label ..." lines, separated by tabs if the first line has one, by semicolons
  /// or commas if it has one outside of quotation marks, as all other lines then must, or by white
  /// space (see TestFile): names and labels may contain blanks if tabs, semicolons or commas
  /// separate them. Whole numbers with blanks between them are labels of their own, as in files
  /// with a tab after the node and blanks between its labels. The first line is a header if it
  /// contains names of columns, such as node,label. Labels are numbered in the order in which they
  /// occur. Throws IoError, and FormatError with line and column for a node without a label, with a
  /// duplicate label or in two lines.
  [[nodiscard]] static NodeLabels load(const std::filesystem::path& path);
};

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

/// Returns whether the first line of a file of labels names its columns.
inline bool is_label_header(const std::vector<TestFile::Field>& fields) {
  static constexpr std::array<std::string_view, 9> nodes{
      "node", "nodeid", "nodename", "id", "name", "vertex", "vertexid", "user", "userid"};
  static constexpr std::array<std::string_view, 6> labels{"label", "class",    "group",
                                                          "type",  "category", "community"};
  const auto is_name_of_labels = [&](const TestFile::Field& field) {
    const std::string name = column_name(field.text);
    return std::any_of(labels.begin(), labels.end(),
                       [&](std::string_view label) { return name.starts_with(label); });
  };
  return fields.size() > 1 &&
         std::find(nodes.begin(), nodes.end(), column_name(fields[0].text)) != nodes.end() &&
         std::all_of(fields.begin() + 1, fields.end(), is_name_of_labels);
}

}  // namespace detail

WORDLOOM_FUNCTION NodeLabels NodeLabels::load(const std::filesystem::path& path) {
  constexpr auto expected = "a node and its labels";
  detail::TestFile file(path);
  NodeLabels result;
  WordList labels, nodes;
  std::vector<std::uint64_t> line_of;
  std::span<const detail::TestFile::Line> lines = file.lines();
  if (!lines.empty()) {
    file.separate_as(lines[0], 1);
    if (detail::is_label_header(file.fields(lines[0]))) lines = lines.subspan(1);
  }
  if (lines.empty()) file.refuse_empty("nodes and labels");
  for (const auto& line : lines) {
    const auto fields = file.fields(line);
    if (fields.size() < 2) file.refuse_count(line, fields, expected);
    for (const auto& field : fields)
      if (field.text.empty()) file.refuse(line, field.column, expected, "an empty field");
    const auto& [name, column] = fields[0];
    const WordId node = nodes.insert(name);
    if (node < line_of.size())
      file.refuse(line, column, "each node once",
                  detail::joined({detail::shown(name), " as in line ", line_of[node]}));
    line_of.push_back(line.number);
    auto& added = result.nodes.emplace_back(NodeLabels::Node{name, {}}).labels;
    const auto add = [&](std::string_view label, std::size_t at) {
      added.push_back(labels.insert(label));
      if (std::find(added.begin(), added.end() - 1, added.back()) != added.end() - 1)
        file.refuse(line, at, "each label of a node once", detail::shown(label) + " twice");
    };
    for (const auto& label : std::span(fields).subspan(1)) {
      if (label.text.find_first_not_of("0123456789 ") != std::string::npos)
        add(label.text, label.column);
      else  // whole numbers
        for_each_token(
            label.text, [&](std::string_view number) { add(number, label.column); }, [] {});
    }
  }
  for (std::size_t i = 0; i < labels.size(); ++i) result.labels.emplace_back(labels[i]);
  return result;
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
