#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <wordloom/graph.hpp>

#include "options.hpp"

/// Returns the text that is printed about the graph before it is walked on: with --verbose the
/// separator of columns of its file, and unless --quiet the numbers of nodes and edges and of those
/// left out.
inline std::string text_of_graph(const Options& options, const wordloom::Graph& graph) {
  const wordloom::Graph::Report& report = graph.report();
  const auto counted = [](std::uint64_t count, const std::string& one, const std::string& several) {
    return std::to_string(count) + ' ' + (count == 1 ? one : several);
  };
  std::string text;
  if (options.verbose)
    text += options.input + ": " +
            (report.delimiter == '\0' ? std::string("a Matrix Market file")
                                      : "columns are separated by " + report.delimiter_name()) +
            (options.quiet ? "" : "\n");
  if (options.quiet) return text;
  text += options.input + ": " + counted(graph.node_count(), "node", "nodes") + ", " +
          counted(graph.edge_count(), "edge", "edges");
  if (report.merged_edges > 0) text += " (" + std::to_string(report.merged_edges) + " merged)";
  const auto add = [&](std::uint64_t count, const std::string& one, const std::string& several) {
    if (count > 0) text += ", " + counted(count, one, several);
  };
  add(report.lines_without_edge, "line without an edge", "lines without an edge");
  add(report.zero_weights, "edge of weight 0 dropped", "edges of weight 0 dropped");
  add(report.dropped_self_loops, "self-loop dropped", "self-loops dropped");
  add(report.dropped_nodes, "node without an edge dropped", "nodes without an edge dropped");
  if (report.has_unread_columns)
    text += options.weighted ? "; the fourth column is not read"
            : options.header ? "; the weights are not read without --weighted"
                             : "; the third column is not read without --weighted";
  if (!report.assumed_columns.empty()) text += "; " + report.assumed_columns;
  if (report.ignores_directions) text += "; directed edges lead both ways without --directed";
  return text;
}

/// Adds the numbers of merged and left out edges and nodes.
inline void add_graph_report(nlohmann::ordered_json& json, const wordloom::Graph::Report& report) {
  json["merged_edges"] = report.merged_edges;
  json["lines_without_edge"] = report.lines_without_edge;
  json["zero_weight_edges"] = report.zero_weights;
  json["dropped_self_loops"] = report.dropped_self_loops;
  json["dropped_nodes"] = report.dropped_nodes;
}
