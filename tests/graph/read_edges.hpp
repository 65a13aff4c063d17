#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <wordloom/graph/graph.hpp>

#include "support.hpp"

// Graphs that tests read from the text of an edge list.
namespace read_edges {

using namespace wordloom;

/// The edges of a graph by name with their weights; each undirected one once, its lower name first.
using Edges = std::map<std::pair<std::string, std::string>, float>;

inline Edges edges_of(const Graph& graph) {
  Edges edges;
  const Vocabulary& nodes = graph.vocabulary();
  for (WordId v = 0; v < graph.node_count(); ++v)
    for (std::size_t i = 0; i < graph.neighbours(v).size(); ++i) {
      std::pair edge(std::string(nodes.word(v)), std::string(nodes.word(graph.neighbours(v)[i])));
      if (graph.is_directed() || edge.first <= edge.second)
        edges[edge] = graph.is_weighted() ? graph.weights(v)[i] : 1;
    }
  return edges;
}

inline Graph read(std::string_view text, const GraphOptions& options = {},
                  const char* name = "graph") {
  const TemporaryFolder folder;
  write_file(folder / name, text);
  return Graph::from_edge_list(folder / name, options);
}
inline Edges edges(std::string_view text, const GraphOptions& options = {},
                   const char* name = "graph") {
  return edges_of(read(text, options, name));
}
inline std::string refusal(std::string_view text, const GraphOptions& options = {},
                           const char* name = "graph") {
  const TemporaryFolder folder;
  write_file(folder / name, text);
  const auto message = message_of<FormatError>(
      [&] { static_cast<void>(Graph::from_edge_list(folder / name, options)); });
  return message.substr(std::min(message.size(), (folder / name).string().size() + 2));
}

}  // namespace read_edges
