#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/graph/detail/edge_fields.hpp>
#include <wordloom/graph/detail/edge_list_header.hpp>
#include <wordloom/graph/detail/foreign_graph.hpp>
#include <wordloom/graph/graph_options.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The columns of an edge list, determined once for all of its lines.
struct EdgeListLayout {
  char delimiter = GraphOptions::any_white_space;
  std::uint64_t header = 0;        // its line; 0: no header
  std::vector<ColumnRole> roles;   // [columns of the header]
  std::string by_place;            // GraphReport::assumed_columns
  std::uint64_t first = 1;         // the line of the first edge
  std::size_t first_columns = 0;   // of the first edge
  bool has_whole_third = false;    // whether its third column is a whole number
  std::size_t weight_columns = 1;  // 2: weights and times, as in KONECT's files
  /// The number of nodes and edges if the file may be in METIS's format, which begins with them.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> metis;
};

/// Determines the layout of a file from its first lines, `begin`. Throws FormatError with line and
/// column for a file of another format, for a header unless the options allow one, and if it is not
/// clear from the lines what separates columns.
EdgeListLayout edge_list_layout(const std::filesystem::path& path, std::string_view begin,
                                const GraphOptions& options);

#if WORDLOOM_DEFINES_FUNCTIONS

/// The first lines that may hold edges, and the layout that they show.
class FirstLines {
 public:
  FirstLines(const std::filesystem::path& path, std::string_view begin,
             const GraphOptions& options);

  EdgeListLayout layout() const;

 private:
  static constexpr std::size_t max_lines = 100;
  static constexpr std::array<char, 5> delimiters{'\t', ',', ';', '|',
                                                  GraphOptions::any_white_space};

  struct Line {
    std::string_view text;
    std::uint64_t number;
  };
  /// The lines as they would be if a given delimiter separated their columns.
  struct Candidate {
    EdgeRows rows;              // [lines]
    std::size_t edges = 0;      // lines that are edges
    std::size_t several = 0;    // lines with several columns
    std::size_t with_data = 0;  // lines whose third column contains a comma
  };

  [[noreturn]] void refuse(const Line& line, const BadLine& bad) const {
    throw FormatError::at_line(path_, line.number, bad.column, bad.expected, bad.got);
  }
  std::vector<std::string> cut(const Line& line, char delimiter) const;
  EdgeRows cut(char delimiter) const {
    EdgeRows rows;
    for (const Line& line : lines_) rows.push_back(cut(line, delimiter));
    return rows;
  }
  bool is_edge(const std::vector<std::string>& fields, char delimiter) const;
  static bool is_delimiter(const std::string& field) {
    return field.size() == 1 &&
           std::find(delimiters.begin(), delimiters.end(), field[0]) != delimiters.end();
  }
  Candidate candidate(char delimiter) const;
  char find_delimiter() const;
  /// Returns whether two readings of the lines differ and neither is the likely one.
  bool is_doubtful(char delimiter, const EdgeRows& rows, char other, const EdgeRows& others) const;
  void refuse_foreign_graph() const;
  /// Returns whether lists of neighbours and weights follow lines '# node', as in LGL's format.
  bool is_lgl() const;

  const std::filesystem::path& path_;
  const GraphOptions& options_;
  std::vector<Line> lines_;
  bool is_of_konect_ = false;
  std::vector<std::string_view> headings_;  // the words of comments '# word'
};

WORDLOOM_FUNCTION FirstLines::FirstLines(const std::filesystem::path& path, std::string_view begin,
                                         const GraphOptions& options)
    : path_(path), options_(options) {
  const LineCutter cutter(options.delimiter == '\0' ? GraphOptions::any_white_space
                                                    : options.delimiter);
  begin = without_byte_order_mark(begin);
  is_of_konect_ = begin.starts_with("% sym") || begin.starts_with("% asym");
  if (begin.starts_with("% bip"))
    refuse({begin, 1}, {"a graph of one kind of nodes",
                        "'% bip', where the nodes of both kinds are numbered from 1 (put a letter "
                        "before the numbers of one kind and remove this line)"});
  for_each_line(begin, [&](std::string_view text, std::uint64_t number) {
    if (lines_.size() == max_lines) return;
    Line line{text, number};
    if (const auto bad = cutter.end(line.text)) refuse(line, *bad);
    if (!cutter.is_skipped(line.text))
      lines_.push_back(line);
    else if (line.text.starts_with("# "))
      headings_.push_back(trimmed_field(line.text.substr(2)));
  });
}

WORDLOOM_FUNCTION std::vector<std::string> FirstLines::cut(const Line& line, char delimiter) const {
  std::vector<std::string> fields;
  const auto bad = LineCutter(delimiter).cut(
      line.text, [&](std::size_t, std::size_t, auto field) { fields.emplace_back(field); });
  if (bad) return {};
  if (options_.header == GraphOptions::Header::present) return fields;
  while (!fields.empty() && fields.back().empty()) fields.pop_back();
  if (fields.size() > 2 && fields[2].starts_with('{')) {
    fields.resize(3);
    fields[2] = line.text.substr(line.text.rfind('{'));
  }
  return fields;
}

WORDLOOM_FUNCTION bool FirstLines::is_edge(const std::vector<std::string>& fields,
                                           char delimiter) const {
  const std::size_t count = fields.size();
  if (options_.format == GraphOptions::Format::adjacency)
    return count > 1 || (count == 1 && (delimiter == GraphOptions::any_white_space ||
                                        fields[0].find_first_of(white_space) == std::string::npos));
  if (count < 2 || fields[0].empty() || fields[1].empty()) return false;
  if (delimiter == GraphOptions::any_white_space &&
      (is_delimiter(fields[0]) || is_delimiter(fields[1])))
    return false;
  if (count == 2) return !options_.weighted;
  return (count == 3 || (count == 4 && is_of_konect_)) &&
         (is_like_weight(fields[2]) || has_decimal_comma(fields[2]));
}

WORDLOOM_FUNCTION FirstLines::Candidate FirstLines::candidate(char delimiter) const {
  Candidate result{cut(delimiter)};
  std::size_t pairs = 0, whole_thirds = 0;
  for (const auto& fields : result.rows) {
    result.several += fields.size() > 1;
    if (options_.header == GraphOptions::Header::present) {
      result.edges += fields.size() > 1 && fields.size() >= result.rows[0].size();
      continue;
    }
    result.edges += is_edge(fields, delimiter);
    pairs += fields.size() == 2;
    if (fields.size() != 3) continue;
    whole_thirds += is_whole_number(fields[2]);
    result.with_data += has_decimal_comma(fields[2]) || fields[2].starts_with('{');
  }
  // If some lines have two numbers and others three, they are an adjacency list.
  if (options_.format == GraphOptions::Format::edges && !options_.weighted)
    result.edges -= (std::min)({result.edges, pairs, whole_thirds});
  if (result.several == 0) result.edges = 0;
  return result;
}

WORDLOOM_FUNCTION char FirstLines::find_delimiter() const {
  std::array<Candidate, delimiters.size()> candidates;
  for (std::size_t d = 0; d < delimiters.size(); ++d) candidates[d] = candidate(delimiters[d]);
  // Takes the first delimiter that makes edges of most lines; if that is few, the one that
  // separates columns in most.
  const auto best_by = [&](auto number) {
    const auto less = [&](const Candidate& a, const Candidate& b) { return a.*number < b.*number; };
    return static_cast<std::size_t>(std::max_element(candidates.begin(), candidates.end(), less) -
                                    candidates.begin());
  };
  std::size_t best = best_by(&Candidate::edges);
  if (2 * candidates[best].edges < lines_.size()) {
    best = best_by(&Candidate::several);
    return candidates[best].several == 0 ? GraphOptions::any_white_space : delimiters[best];
  }
  for (std::size_t d = 0; d < delimiters.size(); ++d) {
    if (d == best || candidates[d].edges == 0) continue;
    const bool adjacency_of_names =
        delimiters[d] == '\t' && d < best && options_.format == GraphOptions::Format::adjacency;
    if (candidates[d].edges < candidates[best].edges && !adjacency_of_names) continue;
    // In 'a b 1,5', 'a;b;1,5' and "a b {'x': 1, 'y': 2}" the comma is part of the third column.
    if (delimiters[best] == ',' && candidates[d].with_data == lines_.size()) {
      best = d;
      continue;
    }
    if (adjacency_of_names ? candidates[d].rows == candidates[best].rows
                           : !is_doubtful(delimiters[best], candidates[best].rows, delimiters[d],
                                          candidates[d].rows))
      continue;
    refuse(lines_[0],
           {"columns separated by one delimiter",
            joined({shown(lines_[0].text), ", where ", name_of_delimiter(delimiters[best]), " or ",
                    name_of_delimiter(delimiters[d]),
                    " may separate them (say which by --delimiter, GraphOptions::delimiter)"})});
  }
  return delimiters[best];
}

WORDLOOM_FUNCTION bool FirstLines::is_doubtful(char delimiter, const EdgeRows& rows, char other,
                                               const EdgeRows& others) const {
  const std::string extension = in_lower_case(path_.extension().string());
  if (rows == others || (delimiter == ',' && extension == ".csv") ||
      (delimiter == '\t' && (extension == ".tsv" || other != GraphOptions::any_white_space ||
                             options_.format == GraphOptions::Format::adjacency)))
    return false;
  // 'a, b' does not have a column 'a,'.
  return std::none_of(others.begin(), others.end(), [&](const auto& fields) {
    return std::any_of(fields.begin(), fields.end(), [&](const std::string& field) {
      return field.starts_with(delimiter) || field.ends_with(delimiter);
    });
  });
}

WORDLOOM_FUNCTION bool FirstLines::is_lgl() const {
  if (headings_.size() < 2) return false;
  bool names_a_node = false;
  for (const auto& fields : cut(GraphOptions::any_white_space)) {
    if (fields.size() != 2 || !weight_in(fields[1])) return false;
    names_a_node |= std::find(headings_.begin(), headings_.end(), fields[0]) != headings_.end();
  }
  return names_a_node;
}

WORDLOOM_FUNCTION void FirstLines::refuse_foreign_graph() const {
  const std::string_view first = trimmed_field(lines_[0].text);
  if (first.size() == 5 && in_lower_case(first).starts_with("sep="))
    refuse(lines_[0], {"an edge or a header",
                       joined({shown(first), ", a line of Excel (remove it: tail -n +2 <FILE)"})});
  ForeignGraph foreign =
      foreign_graph(path_, first, lines_.size() > 1 ? lines_[1].text : std::string_view());
  if (foreign.name.empty()) {
    std::vector<std::string_view> texts;
    for (const Line& line : lines_) texts.push_back(line.text);
    foreign = is_lgl() ? ForeignGraph{"LGL", ""} : foreign_lines(texts);
  }
  if (foreign.name.empty()) return;
  const std::string read = foreign.reader.empty() ? "graph"
                           : foreign.name == "JSON"
                               ? joined({"nx.node_link_graph(json.load(open('", path_, "')))"})
                               : joined({"nx.", foreign.reader, "('", path_, "')"});
  refuse(lines_[0], {"an edge 'node node'",
                     joined({shown(lines_[0].text), ": this is a graph in ", foreign.name,
                             " (convert it, for example with NetworkX: nx.write_weighted_edgelist(",
                             read, ", 'edges.txt'))"})});
}

WORDLOOM_FUNCTION EdgeListLayout FirstLines::layout() const {
  EdgeListLayout layout;
  if (options_.delimiter != '\0') layout.delimiter = options_.delimiter;
  if (is_of_konect_) layout.weight_columns = 2;
  if (lines_.empty()) return layout;
  refuse_foreign_graph();
  if (options_.delimiter == '\0') layout.delimiter = find_delimiter();
  const EdgeRows rows = cut(layout.delimiter);
  layout.first = lines_[0].number;
  if (options_.header == GraphOptions::Header::present) {
    layout.header = lines_[0].number;
    auto roles = column_roles(rows[0], options_.weighted);
    if (roles.missing != nullptr)
      refuse(lines_[0], {roles.missing, shown(lines_[0].text) + roles.help});
    layout.by_place = std::move(roles.by_place);
    layout.roles = std::move(roles.of_columns);
    // R writes the names of rows in a column without a name.
    if (rows.size() > 1 && std::all_of(rows.begin() + 1, rows.end(), [&](const auto& row) {
          return row.size() == rows[0].size() + 1;
        }))
      layout.roles.insert(layout.roles.begin(), ColumnRole::other);
    return layout;
  }
  const bool is_table = layout.delimiter != GraphOptions::any_white_space ||
                        lines_[0].text.find('"') != std::string_view::npos;
  if (options_.header == GraphOptions::Header::refuse &&
      options_.format == GraphOptions::Format::edges && is_header(rows, is_table))
    refuse(
        lines_[0],
        {"an edge",
         joined({"the header ", shown(lines_[0].text),
                 trimmed_field(lines_[0].text).starts_with("//") ? " (comments begin with # or %; "
                                                                 : " (",
                 "--header reads its columns by their names, --no-header takes it for an edge; "
                 "GraphOptions::header)"})});
  layout.first_columns = rows[0].size();
  layout.has_whole_third = rows[0].size() == 3 && is_whole_number(rows[0][2]);
  if (options_.format == GraphOptions::Format::adjacency &&
      (rows[0].size() == 2 || rows[0].size() == 3))
    if (const auto nodes = number_in<std::uint64_t>(rows[0][0]))
      if (const auto edges = number_in<std::uint64_t>(rows[0][1])) layout.metis = {*nodes, *edges};
  return layout;
}

WORDLOOM_FUNCTION EdgeListLayout edge_list_layout(const std::filesystem::path& path,
                                                  std::string_view begin,
                                                  const GraphOptions& options) {
  return FirstLines(path, begin, options).layout();
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
