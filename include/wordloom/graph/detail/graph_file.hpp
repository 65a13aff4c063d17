#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <wordloom/core/detail/section_file.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/corpus/detail/corpus_file.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/graph/detail/graph_rows.hpp>
#include <wordloom/graph/graph_options.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The content of a graph.
struct GraphData {
  Vocabulary nodes;
  GraphRows rows;
  std::uint64_t fingerprint = 0;
  GraphReport report;
};

/// The format of a graph file (SectionWriter). Its first line has 24 bytes and each of its arrays a
/// multiple of 8, so that arrays can be used in the mapping.
inline constexpr std::string_view graph_format = "wordloom graph arrays 2";
static_assert(graph_format.size() == 23);

/// The first section of the file, as numbers.
struct GraphFileStart {
  std::uint64_t directed = 0, weighted = 0, simple = 0;
  std::uint64_t nodes = 0, entries = 0, edges = 0;
  std::uint64_t fingerprint = 0;
  // The members of the report; its text is the last section, if there is one.
  std::uint64_t read_edges = 0, merged_edges = 0, zero_weights = 0, dropped_self_loops = 0;
  std::uint64_t dropped_nodes = 0, lines_without_edge = 0, columns = 0;
  CorpusSource source = {};  // the edge list; its `vocabulary` is a hash of the options

  using Numbers = std::array<std::uint64_t, 14 + sizeof(CorpusSource) / sizeof(std::uint64_t)>;
};

/// Writes a graph. `source`: the edge list that it was read from, if any. Throws IoError.
void write_graph_file(const std::filesystem::path& path, const GraphData& graph,
                      const CorpusSource& source);

/// Maps a graph. With a `source`, returns nothing if the file does not exist or is empty, or if its
/// graph is damaged or has another source or version: it must then be made again, and throws as
/// open_replaceable. Without one, throws IoError, and FormatError for any fault.
std::optional<GraphData> open_graph_file(const std::filesystem::path& path,
                                         const CorpusSource* source);

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void write_graph_file(const std::filesystem::path& path, const GraphData& graph,
                                        const CorpusSource& source) {
  SectionWriter writer(path, graph_format);
  const GraphRows& rows = graph.rows;
  const GraphReport& report = graph.report;
  const auto columns = static_cast<unsigned char>(report.delimiter) +
                       (report.has_unread_columns ? std::uint64_t{256} : 0) +
                       (report.ignores_directions ? std::uint64_t{512} : 0) +
                       (report.assumed_columns.empty() ? 0 : std::uint64_t{1024});
  writer.numbers(std::bit_cast<GraphFileStart::Numbers>(
      GraphFileStart{rows.directed, rows.weighted, rows.simple, rows.nodes(),
                     rows.neighbours.size(), rows.edges, graph.fingerprint, report.edges,
                     report.merged_edges, report.zero_weights, report.dropped_self_loops,
                     report.dropped_nodes, report.lines_without_edge, columns, source}));
  const auto array = [&](const auto& values) {
    const std::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    if (bytes.size() % 8 == 0) return writer.text(bytes);
    std::string padded(bytes);
    padded.resize((bytes.size() + 7) / 8 * 8);
    writer.text(padded);
  };
  array(rows.ends);
  array(rows.neighbours);
  array(rows.weights);
  array(rows.aliases);
  // Names may contain any bytes.
  std::string names;
  std::vector<std::uint64_t> ends;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    names.append(graph.nodes.word(static_cast<WordId>(i)));
    ends.push_back(names.size());
  }
  writer.text(names);
  writer.numbers(ends);
  writer.numbers(graph.nodes.counts());
  if (!report.assumed_columns.empty()) writer.text(report.assumed_columns);
  writer.commit();
}

WORDLOOM_FUNCTION std::optional<GraphData> open_graph_file(const std::filesystem::path& path,
                                                           const CorpusSource* source) {
  constexpr std::string_view kind = graph_format.substr(0, graph_format.size() - 1);
  if (source != nullptr && !open_replaceable(path, kind, "a graph")) return std::nullopt;
  try {
    const auto reader = std::make_shared<SectionReader>(path, graph_format);
    const auto numbers = reader->numbers();
    GraphFileStart::Numbers raw;
    if (numbers.size() != raw.size())
      reader->refuse_section("the numbers of a graph", joined({numbers.size(), " numbers"}));
    std::copy(numbers.begin(), numbers.end(), raw.begin());
    const auto start = std::bit_cast<GraphFileStart>(raw);
    if (source != nullptr && !(start.source == *source)) return std::nullopt;
    GraphData graph;
    graph.rows.directed = start.directed != 0;
    graph.rows.weighted = start.weighted != 0;
    graph.rows.simple = start.simple != 0;
    graph.rows.edges = start.edges;
    graph.fingerprint = start.fingerprint;
    graph.report = {start.read_edges,
                    start.merged_edges,
                    start.zero_weights,
                    start.dropped_self_loops,
                    start.dropped_nodes,
                    start.lines_without_edge,
                    static_cast<char>(start.columns),
                    (start.columns & 256) != 0,
                    (start.columns & 512) != 0,
                    {}};
    const std::uint64_t nodes = start.nodes, entries = start.entries;
    const auto array = [&]<class Number>(std::span<const Number>& values, std::uint64_t count) {
      const std::string_view bytes = reader->text();
      if (bytes.size() / 8 != (count * sizeof(Number) + 7) / 8 || bytes.size() % 8 != 0 ||
          count > bytes.size())
        reader->refuse_section(joined({count, " numbers"}), joined({bytes.size(), " bytes"}));
      values = {reinterpret_cast<const Number*>(bytes.data()), count};
    };
    array(graph.rows.ends, nodes);
    std::uint64_t before = 0;
    for (const std::uint64_t end : graph.rows.ends) {
      if (end < before || end > entries)
        reader->refuse_section(joined({"ascending ends of rows up to ", entries}),
                               std::to_string(end));
      before = end;
    }
    if (before != entries)
      reader->refuse_section(joined({entries, " neighbours"}), std::to_string(before));
    array(graph.rows.neighbours, entries);
    for (const WordId node : graph.rows.neighbours)
      if (node >= nodes)
        reader->refuse_section(joined({"nodes below ", nodes}), std::to_string(node));
    array(graph.rows.weights, start.weighted != 0 ? entries : 0);
    array(graph.rows.aliases, start.weighted != 0 ? entries : 0);
    const std::string_view names = reader->text();
    const auto ends = reader->numbers();
    std::vector<std::string_view> words;
    for (const std::uint64_t end : ends) {
      const std::uint64_t begin = words.empty() ? 0 : ends[words.size() - 1];
      if (end <= begin || end > names.size())
        reader->refuse_section("ascending ends of names", std::to_string(end));
      words.push_back(names.substr(begin, end - begin));
    }
    const auto counts = reader->numbers();
    if ((start.columns & 1024) != 0) graph.report.assumed_columns = reader->text();
    reader->end();
    if (words.size() != nodes || counts.size() != nodes ||
        (nodes > 0 ? ends.back() : 0) != names.size())
      reader->refuse_section(joined({nodes, " nodes"}), std::to_string(words.size()));
    WordCounter counter;
    for (std::size_t i = 0; i < words.size(); ++i)
      if (counts[i] == 0 || !counter.add(words[i], counts[i]))
        reader->refuse_section("names of nodes, each once, and counts above 0", shown(words[i]));
    graph.nodes = Vocabulary::from_counter(counter, {.min_count = 1}, path);
    for (std::size_t i = 0; i < words.size(); ++i)
      if (graph.nodes.word(static_cast<WordId>(i)) != words[i])
        reader->refuse_section("names of nodes by descending count", shown(words[i]));
    graph.rows.memory = reader;
    return graph;
  } catch (const FormatError&) {
    if (source == nullptr) throw;
    return std::nullopt;
  }
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
