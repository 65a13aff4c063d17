#pragma once
#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <wordloom/core/words.hpp>
#include <wordloom/graph/detail/edge_fields.hpp>

/// Recognizes graph files of other formats that are text, so that no graph is made of their tags.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The name of a format, empty if unknown, and the function of NetworkX that reads it, if any.
struct ForeignGraph {
  std::string_view name, reader;
};

/// Returns the format of a file by its first line that is not blank, the next one and its name.
ForeignGraph foreign_graph(const std::filesystem::path& path, std::string_view line,
                           std::string_view next_line);

/// Returns the format of lines that could be read as edges: Python's tuples, arrows between nodes,
/// lists of neighbours over several lines.
ForeignGraph foreign_lines(const std::vector<std::string_view>& lines);

#if WORDLOOM_DEFINES_FUNCTIONS

/// Returns whether a line is a triple of RDF: <subject> <predicate> object .
inline bool is_triple(std::string_view line) {
  const auto is_name = [](std::string_view field) {
    return field.starts_with("_:") ||
           (field.starts_with('<') && field.ends_with('>') && field.find(':') != field.npos);
  };
  std::array<std::string_view, 2> first;
  std::string_view last;
  const std::size_t count =
      for_each_run(line, by_white_space, [&](std::size_t i, std::size_t, std::string_view field) {
        if (i < 2) first[i] = field;
        last = field;
      });
  return count >= 3 && last.ends_with('.') && is_name(first[0]) && is_name(first[1]);
}

WORDLOOM_FUNCTION ForeignGraph foreign_graph(const std::filesystem::path& path,
                                             std::string_view line, std::string_view next_line) {
  line = trimmed_field(line);
  next_line = trimmed_field(next_line);
  const std::string lower = in_lower_case(line);
  const auto begins = [&](auto... beginnings) { return (lower.starts_with(beginnings) || ...); };
  const auto holds = [&](std::string_view tag) {
    return lower.find(tag) != lower.npos || in_lower_case(next_line).find(tag) != std::string::npos;
  };
  if (begins("<?xml", "<!--", "<!doctype", "<html", "<graph", "<gexf", "<rdf:", "<xgmml", "<gxl") ||
      (begins("<") && lower.find(" xmlns") != lower.npos)) {
    if (holds("<graphml")) return {"GraphML", "read_graphml"};
    return holds("<gexf") ? ForeignGraph{"GEXF", "read_gexf"} : ForeignGraph{"XML", ""};
  }
  if ((begins("@prefix ", "@base ", "prefix ", "base ") && line.find('<') != line.npos) ||
      is_triple(line))
    return {"RDF (triples)", ""};
  if (lower == "{" || lower == "[" || begins("{\"", "{ \"", "[{", "[[", "[\"", "[ {", "[ ["))
    return {"JSON", "node_link_graph"};
  if (begins("*vertices", "*network", "*arcs", "*edges")) return {"Pajek", "read_pajek"};
  const auto opens = [&](char bracket) {
    return line.ends_with(bracket) || next_line.starts_with(bracket);
  };
  if (begins("creator \"") || (begins("graph") && opens('['))) return {"GML", "read_gml"};
  if (begins("graph", "digraph", "strict graph", "strict digraph") &&
      (opens('{') || line.find(" {") != line.npos))
    return {"Graphviz", "nx_pydot.read_dot"};
  if (begins("p edge ", "p col ", "p sp ", "p max ")) return {"DIMACS", ""};
  if (begins("nodedef>")) return {"GDF", ""};
  if (begins("id,label", "id;label", "id\tlabel")) return {"Gephi's table of nodes", ""};
  if (begins("leda.graph")) return {"LEDA", "read_leda"};
  if (begins("dl") && (lower.find("n=") != lower.npos || lower.find("n =") != lower.npos))
    return {"UCINET DL", ""};
  if (begins(">>graph6<<")) return {"graph6", "read_graph6"};
  if (begins(">>sparse6<<")) return {"sparse6", "read_sparse6"};
  const std::string extension = in_lower_case(path.extension().string());
  if (extension == ".tgf") return {"Trivial Graph Format", ""};
  if (extension == ".lgl") return {"LGL", ""};
  if (extension == ".metis") return {"METIS", ""};
  return {};
}

/// Returns whether a line is a tuple or list of Python, such as (1, 2) or [(1, 2), (2, 3)].
inline bool is_tuple(std::string_view line) {
  while (line.ends_with(',') || line.ends_with(';')) line.remove_suffix(1);
  if (line.starts_with("[(")) return line.find(',') != line.npos;
  for (const std::string_view brackets : {"()", "[]"})
    if (line.starts_with(brackets[0]) && line.ends_with(brackets[1]) &&
        line.find(brackets[0], 1) == line.npos && line.find(brackets[1]) + 1 == line.size())
      return line.find(',') != line.npos;
  return false;
}

WORDLOOM_FUNCTION ForeignGraph foreign_lines(const std::vector<std::string_view>& lines) {
  const auto separates = [](char c) {
    return is_white_space(c) || c == ',' || c == ';' || c == '|';
  };
  bool are_tuples = !lines.empty(), have_arrows = !lines.empty();
  bool counts_neighbours = false, is_multiline = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = trimmed_field(lines[i]);
    std::array<std::string_view, 2> first;
    const std::size_t count =
        for_each_run(line, separates, [&](std::size_t f, std::size_t, std::string_view field) {
          if (f < 2) first[f] = field;
        });
    are_tuples = are_tuples && is_tuple(line);
    have_arrows = have_arrows && count > 2 &&
                  (first[1] == "->" || first[1] == "--" || first[1] == "-->" || first[1] == "<-" ||
                   first[1] == "=>" || first[1] == "<->");
    // The first line is a node and its number of neighbours, which follow with their data.
    if (i == 0)
      counts_neighbours = count == 2 && is_whole_number(first[1]);
    else if (first[1] == "{}" || (first[1].starts_with("{'") && line.ends_with('}')))
      is_multiline = is_multiline || (counts_neighbours && first[0].find('{') == first[0].npos);
  }
  if (are_tuples) return {"tuples of Python", ""};
  if (have_arrows) return {"lines with arrows between nodes", ""};
  if (is_multiline) return {"NetworkX's multi-line adjacency lists", "read_multiline_adjlist"};
  return {};
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
