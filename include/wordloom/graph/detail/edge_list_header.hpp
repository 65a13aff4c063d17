#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/graph/detail/edge_fields.hpp>

/// The header of an edge list: a first line with the names of its columns.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The content of a column. `type`, as in Gephi's tables: whether the edge is directed.
enum class ColumnRole : unsigned char { source, target, weight, type, other };

/// The fields of the first lines of a file, for each line.
using EdgeRows = std::vector<std::vector<std::string>>;

/// Returns whether the first row holds the names of the columns, and not an edge. `is_table`: the
/// file has a separator other than white space, or quotes in its first line.
bool is_header(const EdgeRows& rows, bool is_table);

/// The content of each column, or the reason why the header is not enough.
struct ColumnRoles {
  std::vector<ColumnRole> of_columns;
  const char* missing = nullptr;  // names the missing columns; null: none
  const char* help = "";          // on what is missing, in brackets
  std::string by_place = {};      // GraphReport::assumed_columns
};

/// Returns the content of each column by its name. Nodes, weights and types are recognized by usual
/// names, in any order. If no names of nodes are recognized and two columns with other names are
/// left, these are the nodes; of three columns with other names, the third is the weight.
ColumnRoles column_roles(const std::vector<std::string>& names, bool weighted);

#if WORDLOOM_DEFINES_FUNCTIONS

/// Usual names of the two columns of nodes. The last four pairs may also be nodes of a graph of
/// words, so that is_header() accepts them only in a table or above lines of numbers.
// clang-format off
inline constexpr std::array<std::string_view, 2> node_columns[] = {
    {"source", "target"}, {"src", "dst"}, {"src", "dest"}, {"source_id", "target_id"},
    {"sourceid", "targetid"}, {"source id", "target id"}, {"node1", "node2"}, {"node_1", "node_2"},
    {"node 1", "node 2"}, {"id1", "id2"}, {"id_1", "id_2"}, {"id 1", "id 2"},
    {"protein1", "protein2"}, {"gene1", "gene2"}, {"user1", "user2"}, {"from_id", "to_id"},
    {"fromid", "toid"}, {"from_node", "to_node"}, {"fromnodeid", "tonodeid"},
    {"fromnode", "tonode"}, {"from node", "to node"}, {"nodea", "nodeb"}, {"node_a", "node_b"},
    {"node a", "node b"}, {"node_id_1", "node_id_2"}, {"gene_a", "gene_b"},
    {"protein_a", "protein_b"}, {"interactora", "interactorb"}, {"interactor_a", "interactor_b"},
    {"vertex1", "vertex2"}, {"follower", "followee"}, {"sender", "receiver"}, {"from", "to"},
    {"head", "tail"}, {"start", "end"}, {"parent", "child"}
};
// clang-format on
inline constexpr std::size_t sure_node_columns = std::size(node_columns) - 4;

/// Returns the two columns of `names` that hold the nodes, by the first `pairs` of node_columns or
/// a longer form of them; nothing if no names fit.
inline std::optional<std::pair<std::size_t, std::size_t>> find_node_columns(
    const std::vector<std::string>& names, std::size_t pairs) {
  std::vector<std::string> lower;
  for (const std::string& name : names) lower.push_back(in_lower_case(name));
  const auto place = [&](std::string_view name) {
    return static_cast<std::size_t>(std::find(lower.begin(), lower.end(), name) - lower.begin());
  };
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::pair at(place(node_columns[i][0]), place(node_columns[i][1]));
    if ((std::max)(at.first, at.second) < lower.size()) return at;
  }
  // Longer names with one of these beginnings and equal endings, such as from_node_id, to_node_id.
  constexpr std::array<std::string_view, 2> beginnings[] = {
      {"source", "target"}, {"src", "dst"}, {"from", "to"}};
  for (const auto& [source, target] : beginnings)
    for (std::size_t i = 0; i < lower.size(); ++i) {
      if (!lower[i].starts_with(source) || lower[i].size() == source.size()) continue;
      const std::size_t other = place(std::string(target) + lower[i].substr(source.size()));
      if (other < lower.size()) return std::pair(i, other);
    }
  return std::nullopt;
}

WORDLOOM_FUNCTION bool is_header(const EdgeRows& rows, bool is_table) {
  if (rows.empty() || rows[0].size() < 2) return false;
  const auto& names = rows[0];
  const auto is_number = [](const std::string& field) { return weight_in(field).has_value(); };
  std::size_t others = 0, numbers = 0, weights = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].size() < 2) continue;
    ++others;
    numbers += is_number(rows[i][0]) && is_number(rows[i][1]);
    weights += rows[i].size() > 2 && is_number(rows[i][2]);
  }
  const bool has_numbers = others > 0 && numbers == others;
  if (const auto nodes = find_node_columns(
          names, is_table || has_numbers ? std::size(node_columns) : sure_node_columns)) {
    // A name that occurs in another line too is a node. So is node1 if another line has node3.
    const std::string& name = names[nodes->first];
    const std::string_view stem = std::string_view(name).substr(0, name.find_last_not_of("12") + 1);
    const bool is_numbered = stem.size() < name.size();
    for (std::size_t i = 1; i < rows.size(); ++i)
      for (const std::string& field : rows[i])
        if (field == name || field == names[nodes->second] ||
            (is_numbered && field.starts_with(stem)))
          return false;
    return !is_numbered || others > 0;
  }
  if (std::any_of(names.begin(), names.end(), is_number)) return false;
  if (names.size() > 2 && others > 0 && weights == others)  // unless it is a malformed weight
    return !names[2].empty() &&
           std::string_view("{+-.0123456789").find(names[2][0]) == std::string_view::npos;
  return has_numbers && others > 1;
}

/// Returns whether a name is a usual one of the column of sources (end 0) or targets (end 1).
inline bool is_node_column(const std::string& name, std::size_t end) {
  return std::any_of(std::begin(node_columns), std::end(node_columns),
                     [&, lower = in_lower_case(name)](auto& pair) { return pair[end] == lower; });
}

/// Returns the nodes among the columns without a usual name for both of them, if it is clear which
/// they are. `others`: the columns that are neither weights nor types and have names.
inline std::optional<std::pair<std::size_t, std::size_t>> node_columns_by_place(
    const std::vector<std::string>& names, const std::vector<std::size_t>& others) {
  const auto is_end = [&](std::size_t i, std::size_t end) {
    return is_node_column(names[others[i]], end);
  };
  if (others.size() < 2 || others.size() > 3) return std::nullopt;
  if (others.size() == 3 && (is_end(1, 0) || is_end(2, 0) || is_end(2, 1))) return std::nullopt;
  if ((is_end(0, 1) && !is_end(1, 1)) || (is_end(1, 0) && !is_end(0, 0)))
    return std::pair(others[1], others[0]);
  return std::pair(others[0], others[1]);
}

WORDLOOM_FUNCTION ColumnRoles column_roles(const std::vector<std::string>& names, bool weighted) {
  ColumnRoles result{std::vector(names.size(), ColumnRole::other)};
  constexpr std::string_view weight_names[] = {"weight", "weights",        "w",
                                               "value",  "combined_score", "score"};
  auto& roles = result.of_columns;
  auto nodes = find_node_columns(names, std::size(node_columns));
  const bool is_known = nodes.has_value();
  std::optional<std::size_t> weight;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (nodes && (i == nodes->first || i == nodes->second)) continue;
    const std::string name = in_lower_case(names[i]);
    const bool is_weight = std::find(std::begin(weight_names), std::end(weight_names), name) !=
                               std::end(weight_names) &&
                           (names.size() > 2 || name != "w");  // v, w: two nodes
    if (is_weight)
      weight = weight.value_or(i);
    else if (name == "type")
      roles[i] = ColumnRole::type;
    else if (!name.empty())
      others.push_back(i);
  }
  const auto is_datum = [](const std::string& name) {
    return weight_in(name).has_value() || name.starts_with('{');
  };
  if (!nodes && std::any_of(names.begin(), names.end(), is_datum)) {
    result.missing = "a header, the names of the columns";
    result.help =
        " (it looks like an edge: if it is one, leave --header out; GraphOptions::header)";
    return result;
  }
  if (!nodes && (others.size() < 3 || names.size() == 3))
    nodes = node_columns_by_place(names, others);
  if (!nodes) {
    result.missing = "a header with the columns source and target, or from and to";
    return result;
  }
  if (!is_known) {
    result.by_place = joined({"columns ", shown(names[nodes->first]), " and ",
                              shown(names[nodes->second]), " are taken as the nodes"});
    if (others.size() == 3) {
      weight = others[2];
      if (weighted) result.by_place += joined({", ", shown(names[*weight]), " as the weight"});
    }
  }
  roles[nodes->first] = ColumnRole::source;
  roles[nodes->second] = ColumnRole::target;
  if (weight) roles[*weight] = ColumnRole::weight;
  if (weighted && !weight) result.missing = "a column weight in the header";
  return result;
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
