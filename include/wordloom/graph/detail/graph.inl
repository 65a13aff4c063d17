// Functions of Graph (graph/graph.hpp).
namespace wordloom { inline namespace WORDLOOM_ABI {

WORDLOOM_FUNCTION Graph Graph::from_edge_list(const std::filesystem::path& path,
                                              const GraphOptions& options) {
  options.validate();
  const auto read = [&] {
    return Graph(detail::EdgeListReader(path, options).read(), options, path);
  };
  if (options.cache.empty()) return read();
  const auto source = detail::CorpusSource::of(path, hash_of(options), 0, {});
  if (auto stored = detail::open_graph_file(options.cache, &source))
    return Graph(std::move(*stored));
  Graph made = read();
  detail::write_graph_file(options.cache, made.data_, source);
  return made;
}

WORDLOOM_FUNCTION Graph Graph::from_edges(std::span<const Edge> edges, std::size_t nodes,
                                          const GraphOptions& options) {
  detail::EdgeList list;
  for (std::size_t i = 0; i < nodes; ++i) list.names.insert(std::to_string(i));
  list.parts.resize(1);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    for (const WordId node : {edges[i].from, edges[i].to})
      if (node >= nodes)
        throw InvalidArgument{"edges[", i, "] has node ", node, ", must be below ", nodes};
    add(list.parts[0], i, edges[i].from, edges[i].to, edges[i].weight, options.weighted);
  }
  return Graph(std::move(list), options, "the list of edges");
}

WORDLOOM_FUNCTION Graph Graph::from_edges(std::span<const NamedEdge> edges,
                                          const GraphOptions& options) {
  detail::EdgeList list;
  list.parts.resize(1);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    for (const std::string_view name : {edges[i].from, edges[i].to})
      if (name.empty()) throw InvalidArgument{"edges[", i, "] has a node without a name"};
    const WordId from = list.names.insert(edges[i].from), to = list.names.insert(edges[i].to);
    add(list.parts[0], i, from, to, edges[i].weight, options.weighted);
  }
  return Graph(std::move(list), options, "the list of edges");
}

WORDLOOM_FUNCTION void Graph::save_edge_list(const std::filesystem::path& path) const {
  AtomicFile file(path);
  std::string line;
  for (WordId from = 0; from < node_count(); ++from) {
    const std::string start = detail::quoted_name(vocabulary().word(from)) + '\t';
    const auto row = neighbours(from);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!is_directed() && row[i] < from) continue;
      line = start + detail::quoted_name(vocabulary().word(row[i]));
      if (is_weighted()) {
        char weight[32];
        const auto end = std::to_chars(weight, weight + sizeof weight, weights(from)[i]).ptr;
        line.append(1, '\t').append(weight, end);
      }
      file.write(line += '\n');
    }
  }
  file.commit();
}

WORDLOOM_FUNCTION Graph Graph::without(std::span<const Edge> edges) const {
  std::vector<std::pair<WordId, WordId>> gone;
  for (const Edge& edge : edges) {
    gone.emplace_back(edge.from, edge.to);
    if (!is_directed()) gone.emplace_back(edge.to, edge.from);
  }
  std::sort(gone.begin(), gone.end());
  detail::RowMemory rows;
  for (WordId node = 0; node < node_count(); ++node) {
    const auto row = neighbours(node);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (std::binary_search(gone.begin(), gone.end(), std::pair(node, row[i]))) continue;
      rows.neighbours.push_back(row[i]);
      if (is_weighted()) rows.weights.push_back(weights(node)[i]);
    }
    rows.ends.push_back(rows.neighbours.size());
  }
  Graph result = *this;
  result.data_.rows = detail::finish_rows(std::move(rows), is_directed(), is_weighted(), 1);
  result.data_.fingerprint = result.hash();
  return result;
}

WORDLOOM_FUNCTION void Graph::add(detail::EdgeList::Part& part, std::size_t i, WordId from,
                                  WordId to, float weight, bool weighted) {
  if (weighted && (!(weight >= 0) || !detail::is_finite(weight)))
    throw InvalidArgument{"edges[", i, "] has a weight of ", weight,
                          ", must be finite and not negative"};
  part.nodes.insert(part.nodes.end(), {from, to});
  if (weighted) part.weights.push_back(weight);
}

WORDLOOM_FUNCTION std::uint64_t Graph::hash_of(const GraphOptions& options) {
  detail::Hash hash;
  hash.add(std::uint64_t{2});  // the version of the reading: a graph of another one is made again
  for (const bool option :
       {options.directed, options.weighted, options.self_loops, options.isolated_nodes,
        options.duplicate_edges == GraphOptions::Duplicates::merge})
    hash.add(std::uint64_t{option});
  hash.add(std::uint64_t{static_cast<unsigned char>(options.delimiter)});
  hash.add(static_cast<std::uint64_t>(options.format));
  hash.add(static_cast<std::uint64_t>(options.header));
  return hash.value();
}

WORDLOOM_FUNCTION Graph::Graph(detail::EdgeList list, const GraphOptions& options,
                               const detail::MessagePart& source) {
  const std::size_t threads = resolve_threads(options.threads);
  const auto raw = detail::make_rows(list, options, threads, source);
  detail::GraphReport& report = data_.report;
  report = detail::count_edges(list, options);
  list.parts.clear();
  const std::vector<std::uint64_t> counts = detail::node_counts(raw);
  detail::WordCounter counter;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0 || options.isolated_nodes || raw.ends[i] > raw.begin(i))
      counter.add(list.names[i], (std::max<std::uint64_t>)(counts[i], 1));
  if (counter.size() == 0 && report.edges == 0 && report.lines_without_edge > 0)
    throw CorpusError{source, ": no edges: all its ", report.lines_without_edge,
                      " lines are blank or comments, which begin with # or %"};
  if (counter.size() == 0 && report.edges > 0)
    throw CorpusError{source,
                      ": no edges: of ",
                      report.edges,
                      " that it names, ",
                      report.zero_weights,
                      " have weight 0 and ",
                      report.dropped_self_loops,
                      " join a node to itself"};
  if (counter.size() == 0) throw CorpusError{source, ": no edges"};
  report.dropped_nodes += list.names.size() - counter.size();
  data_.nodes = Vocabulary::from_counter(counter, {.min_count = 1}, source);
  counter = {};
  std::vector<WordId> order(data_.nodes.size());
  std::vector<WordId> numbers;
  detail::resize_for_random_reads(numbers, list.names.size());
  for (WordId i = 0; i < numbers.size(); ++i)
    if (const auto id = data_.nodes.find(list.names[i])) {
      numbers[i] = *id;
      order[*id] = i;
    }
  list.names = {};
  data_.rows = detail::finish_rows(detail::renumber(raw, order, numbers, threads), options.directed,
                                   options.weighted, threads);
  report.merged_edges =
      report.edges - report.zero_weights - report.dropped_self_loops - data_.rows.edges;
  data_.fingerprint = hash();
}

WORDLOOM_FUNCTION std::uint64_t Graph::hash() const noexcept {
  detail::Hash hash;
  hash.add(data_.nodes.fingerprint());
  hash.add(std::uint64_t{data_.rows.directed});
  hash.add(data_.rows.ends.data(), data_.rows.ends.size_bytes());
  hash.add(data_.rows.neighbours.data(), data_.rows.neighbours.size_bytes());
  hash.add(data_.rows.weights.data(), data_.rows.weights.size_bytes());
  return hash.value();
}

}}  // namespace wordloom::WORDLOOM_ABI
