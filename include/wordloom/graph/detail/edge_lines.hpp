#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <wordloom/core/error.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/graph/detail/edge_fields.hpp>
#include <wordloom/graph/detail/edge_list_layout.hpp>
#include <wordloom/graph/detail/edge_parts.hpp>
#include <wordloom/graph/detail/matrix_market.hpp>
#include <wordloom/graph/graph_options.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Returns whether there is a comma or semicolon between two names that white space separates.
inline bool has_separator(std::string_view from, std::string_view to) noexcept {
  const auto separates = [](char c) { return c == ',' || c == ';'; };
  return separates(from.back()) || separates(to.front());
}

/// Reads the lines of a piece of a file.
class EdgeLines {
 public:
  EdgeLines(const GraphOptions& options, const EdgeListLayout& layout,
            const std::optional<MatrixMarketHeader>& market)
      : options_(options), layout_(layout), market_(market), cutter_(layout.delimiter) {
    const bool has_edges = options.format == GraphOptions::Format::edges || market;
    is_plain_ = has_edges && layout.header == 0 && !market;
    // A third column of numbers is checked, because it may be weights.
    usual_columns_ = options.weighted || layout.header != 0 ? 3 : layout.first_columns == 3 ? 0 : 2;
  }

  /// Adds the edges of a line to `part`. Returns the error of a malformed line.
  std::optional<BadLine> read(std::string_view line, NodeNumbers& numbers, EdgeList::Part& part) {
    if (is_plain_ && (layout_.delimiter == GraphOptions::any_white_space
                          ? read_usual<true>(line, numbers, part)
                          : read_usual<false>(line, numbers, part)))
      return std::nullopt;
    return read_any(line, numbers, part);
  }

 private:
  /// Adds the edge of a line in the usual form, fast. Returns false without doing anything if the
  /// line has another form or may be malformed.
  template <bool runs>
  bool read_usual(std::string_view line, NodeNumbers& numbers, EdgeList::Part& part);

  std::optional<BadLine> read_any(std::string_view line, NodeNumbers& numbers,
                                  EdgeList::Part& part);
  std::optional<BadLine> read_adjacency(std::string_view line, NodeNumbers& numbers,
                                        EdgeList::Part& part);
  /// Moves the columns that a header names to their places without a header; the type is fourth.
  std::optional<BadLine> order_columns(std::string_view line, Fields& fields);
  /// Returns the error of nodes that are missing or, in a Matrix Market file, out of range.
  std::optional<BadLine> check_nodes(std::string_view line, const Fields& fields) const;
  /// Returns the error of columns after those of an edge, unless they may be left unread.
  std::optional<BadLine> check_columns(std::string_view line, const Fields& fields) const;
  std::optional<BadLine> bad_weight(std::string_view line, const Fields& fields) const;

  const GraphOptions& options_;
  const EdgeListLayout& layout_;
  const std::optional<MatrixMarketHeader>& market_;
  LineCutter cutter_;
  bool is_plain_ = false;          // whether read_usual reads edges
  std::size_t usual_columns_ = 0;  // a number of columns that needs no check_columns
};

#if WORDLOOM_DEFINES_FUNCTIONS

template <bool runs>
bool EdgeLines::read_usual(std::string_view line, NodeNumbers& numbers, EdgeList::Part& part) {
  std::string_view fields[3];
  std::size_t count = 0;
  const char* at = line.data();
  const char* end = at + line.size();
  if (!line.empty() && end[-1] == '\r') --end;
  const auto separates = [&](char c) {
    return runs ? is_white_space(c) : c == layout_.delimiter || c == '\r';
  };
  for (;; ++at) {
    for (; runs && at != end && is_white_space(*at); ++at)
      if (*at == '\r') return false;
    if (runs && at == end) break;
    const char* const first = at;
    if (!runs && at == end) return false;
    while (at != end && !separates(*at)) ++at;
    if (count == 3 || *first == '"') return false;
    if (!runs && (at == first || is_white_space(*first) || is_white_space(at[-1]))) return false;
    fields[count++] = {first, static_cast<std::size_t>(at - first)};
    if (at == end) break;
    if (*at == '\r') return false;
  }
  if (count < 2 || fields[0][0] == '#' || fields[0][0] == '%' || fields[0][0] == '/') return false;
  if (runs && has_separator(fields[0], fields[1])) return false;
  float weight = 1;
  if (options_.weighted) {
    const auto number = number_in<double>(fields[2]);
    if (!number || !is_weight(*number)) return false;
    weight = static_cast<float>(*number);
  } else if (count != layout_.first_columns || (count == 3 && !is_like_weight(fields[2]))) {
    return false;
  }
  part.add_edge(fields, numbers);
  if (options_.weighted)
    part.weights.push_back(weight);
  else
    part.has_unread_columns |= count > 2;
  return true;
}

inline constexpr auto decimal_comma_help = " (the decimal sign is a point: 1.5)";

WORDLOOM_FUNCTION std::optional<BadLine> EdgeLines::read_any(std::string_view line,
                                                             NodeNumbers& numbers,
                                                             EdgeList::Part& part) {
  Fields fields;
  if (auto bad = cutter_.end(line)) return bad;
  if (cutter_.is_skipped(line)) {
    ++part.without_edge;
    return std::nullopt;
  }
  if (options_.format == GraphOptions::Format::adjacency && !market_)
    return read_adjacency(line, numbers, part);
  if (auto bad = layout_.header != 0 ? order_columns(line, fields) : fields.cut(cutter_, line))
    return bad;
  if (fields.count < 2 || market_ || fields.fields[0].empty() || fields.fields[1].empty() ||
      fields.fields[0][0] == '/' || has_separator(fields.fields[0], fields.fields[1]))
    if (auto bad = check_nodes(line, fields)) return bad;
  float weight = 1;
  if (options_.weighted) {
    const auto number = fields.weight();
    if (!number || !is_weight(*number)) return bad_weight(line, fields);
    weight = static_cast<float>(*number);
  }
  if (fields.last != usual_columns_) {
    if (auto bad = check_columns(line, fields)) return bad;
    part.has_unread_columns |= fields.last > (options_.weighted ? 3 : 2);
  }
  part.add_edge(fields.fields.data(), numbers);
  const WordId from = part.nodes.end()[-2], to = part.nodes.back();
  const auto type = layout_.header != 0 ? in_lower_case(fields.fields[Fields::type]) : "";
  const bool both =
      options_.directed && from != to && (market_ ? market_->symmetric : type == "undirected");
  part.ignores_directions |= !options_.directed && type == "directed";
  if (both) part.nodes.insert(part.nodes.end(), {to, from}), ++part.mirrored;
  if (options_.weighted) part.weights.insert(part.weights.end(), both ? 2 : 1, weight);
  return std::nullopt;
}

WORDLOOM_FUNCTION std::optional<BadLine> EdgeLines::read_adjacency(std::string_view line,
                                                                   NodeNumbers& numbers,
                                                                   EdgeList::Part& part) {
  std::string_view names[2];
  std::size_t empty = 0;  // the column of the first empty field
  bool has_gap = false, has_edge = false;
  auto bad = cutter_.cut(line, [&](std::size_t i, std::size_t at, std::string_view name) {
    if (name.empty()) {
      if (empty == 0) empty = at + 1;
    } else if (empty != 0) {
      has_gap = true;
    } else {
      names[i == 0 ? 0 : 1] = name;
      if (i == 0) return;
      part.add_edge(names, numbers);
      has_edge = true;
    }
  });
  if (bad) return bad;
  if (has_gap || names[0].empty()) return BadLine{"a node", "an empty field", empty};
  if (!has_edge) {
    names[1] = names[0];
    part.add_edge(names, numbers);
    part.weights.resize(part.nodes.size() / 2, 1);
    part.weights.back() = 0;
    ++part.alone;
  } else if (!part.weights.empty()) {
    part.weights.resize(part.nodes.size() / 2, 1);
  }
  return std::nullopt;
}

WORDLOOM_FUNCTION std::optional<BadLine> EdgeLines::order_columns(std::string_view line,
                                                                  Fields& fields) {
  const std::size_t count = layout_.roles.size();
  std::size_t columns = 0;
  std::optional<BadLine> extra;
  auto bad = cutter_.cut(line, [&](std::size_t i, std::size_t at, std::string_view field) {
    columns = i + 1;
    if (i >= count) {
      if (!field.empty() && !extra)
        extra = BadLine{joined({count, " columns, as the header has"}),
                        "another one, " + shown(field), at + 1};
      return;
    }
    const auto place = static_cast<std::size_t>(layout_.roles[i]);
    if (place >= Fields::max_count) return;
    fields.fields[place] = field;
    fields.columns[place] = at + 1;
  });
  if (bad) return bad;
  if (extra) return extra;
  if (columns < count && fields.columns[0] != 0 && fields.columns[1] != 0)
    return BadLine{joined({count, " columns, as the header has"}), std::to_string(columns),
                   line.size() + 1};
  fields.count = fields.last = usual_columns_;
  return std::nullopt;
}

WORDLOOM_FUNCTION std::optional<BadLine> EdgeLines::check_nodes(std::string_view line,
                                                                const Fields& fields) const {
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string_view name = fields.fields[i];
    if (i >= fields.count || fields.columns[i] == 0) {
      const std::string got =
          fields.count == 0 ? "an empty line" : "only " + shown(trimmed_field(line));
      const bool by_runs = layout_.delimiter == GraphOptions::any_white_space;
      return BadLine{
          by_runs ? "two nodes"
                  : joined({"two nodes, separated by ", name_of_delimiter(layout_.delimiter),
                            options_.delimiter == '\0' ? std::string(" as in the first lines")
                                                       : std::string()}),
          got, line.size() + 1};
    }
    if (name.empty()) return BadLine{"a node", "an empty field", fields.columns[i]};
    if (!market_) continue;
    const auto number = number_in<std::uint64_t>(name);
    if (!number || *number == 0 || *number > market_->nodes)
      return BadLine{"a number from 1 to " + std::to_string(market_->nodes), shown(name),
                     fields.columns[i]};
  }
  if (fields.fields[0] == "//" && line[fields.columns[0] - 1] == '/')  // without quotation marks
    return BadLine{"a node", "'//' (comments begin with # or %)", fields.columns[0]};
  if (options_.delimiter == '\0' && layout_.delimiter == GraphOptions::any_white_space &&
      !market_ && line.find('"') == line.npos && has_separator(fields.fields[0], fields.fields[1]))
    return BadLine{"nodes separated by white space alone, as in the first lines",
                   joined({shown(line.substr(fields.columns[0] - 1)),
                           " (if the comma or semicolon belongs to a name: --delimiter whitespace, "
                           "GraphOptions::delimiter)"}),
                   fields.columns[0]};
  return std::nullopt;
}

WORDLOOM_FUNCTION std::optional<BadLine> EdgeLines::bad_weight(std::string_view line,
                                                               const Fields& fields) const {
  const auto expected = "a weight, a number from 0 on";
  if (fields.count < 3) return BadLine{expected, "the end of the line", line.size() + 1};
  const std::string_view field = fields.fields[2];
  std::string_view number = weight_text(field);
  if (number.starts_with('+')) number.remove_prefix(1);
  if (is_number(number) && (number[0] == '.' || (number[0] >= '0' && number[0] <= '9')))
    return BadLine{"a weight that a float can hold, 0 or from 1.4e-45 to 3.4e38", shown(field),
                   fields.columns[2]};
  return BadLine{expected,
                 field.empty()
                     ? "an empty field"
                     : shown(field) + (has_decimal_comma(field) ? decimal_comma_help : ""),
                 fields.columns[2]};
}

WORDLOOM_FUNCTION std::optional<BadLine> EdgeLines::check_columns(std::string_view line,
                                                                  const Fields& fields) const {
  const auto help =
      " (an adjacency list is read with --input-format adjacency, a table by the names in its "
      "header with --header; of other columns, leave the first two: cut -f1,2; "
      "GraphOptions::format)";
  const std::string_view third = fields.fields[2];
  if (!options_.weighted && fields.last > 2 && !is_like_weight(third))
    return BadLine{"the end of the line after two nodes, or a weight",
                   (third.empty() ? "an empty field" : shown(third)) +
                       (has_decimal_comma(third) ? decimal_comma_help : help),
                   fields.columns[2]};
  const std::size_t most = market_ ? 3 : 2 + layout_.weight_columns;
  if (fields.last > most) {
    const std::string_view next =
        most < Fields::max_count ? fields.fields[most] : line.substr(line.size());
    const bool is_fraction = layout_.delimiter == ',' && is_whole_number(third) &&
                             is_whole_number(next) && fields.last == 4;
    return BadLine{"the end of the line after two nodes and a weight",
                   (next.empty() ? "more columns" : shown(next)) +
                       (is_fraction && options_.weighted ? decimal_comma_help : help),
                   most < Fields::max_count ? fields.columns[most] : line.size() + 1};
  }
  // If some lines have two numbers and others three, they are an adjacency list.
  if (options_.weighted || market_ || fields.last == layout_.first_columns) return std::nullopt;
  if (fields.last == 3 ? layout_.first_columns == 2 && is_whole_number(third)
                       : layout_.first_columns == 3 && layout_.has_whole_third)
    return BadLine{joined({layout_.first_columns, " columns, as line ", layout_.first, " has"}),
                   joined({fields.last, help}),
                   fields.last == 3 ? fields.columns[2] : line.size() + 1};
  return std::nullopt;
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
