#pragma once
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <wordloom/core/detail/processors.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/sync/thread_ranks.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// Returns the processors of each NUMA node that has some of them, in the order of the nodes.
/// Processors without a known node, which are all on a machine without nodes, form the last list.
/// `folder`: where Linux describes nodes.
inline std::vector<std::vector<std::size_t>> by_node(
    std::vector<std::size_t> processors, const std::string& folder = "/sys/devices/system/node") {
  std::vector<std::pair<std::size_t, std::string>> nodes;  // and their processors: 0-3,8-11
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("node")) continue;
    const auto node = number_in<std::size_t>(std::string_view(name).substr(4));
    std::string list;
    if (node && std::getline(std::ifstream(entry.path() / "cpulist"), list))
      nodes.emplace_back(*node, list);
  }
  std::sort(nodes.begin(), nodes.end());
  std::vector<std::vector<std::size_t>> result;
  for (const auto& [node, list] : nodes) {
    std::vector<std::size_t> own;
    std::istringstream ranges(list);
    for (std::string range; std::getline(ranges, range, ',');) {
      const auto dash = (std::min)(range.find('-'), range.size());
      const auto first = number_in<std::size_t>(std::string_view(range).substr(0, dash));
      const auto last = dash == range.size()
                            ? first
                            : number_in<std::size_t>(std::string_view(range).substr(dash + 1));
      if (!first || !last) continue;
      std::erase_if(processors, [&](std::size_t processor) {
        if (processor < *first || processor > *last) return false;
        own.push_back(processor);
        return true;
      });
    }
    if (!own.empty()) result.push_back(std::move(own));
  }
  if (!processors.empty()) result.push_back(std::move(processors));
  return result;
}

/// Returns the processors of each NUMA node, of those that the calling thread may run on; one list
/// of all on a machine without nodes. Throws InvalidArgument if the system does not tell.
inline std::vector<std::vector<std::size_t>> numa_nodes() { return by_node(allowed_processors()); }

}  // namespace detail

/// Trains a replica of a model on each node, a list of processors: calls `work(rank, threads)`,
/// where `rank` is one of ThreadRanks for a sync policy and `threads` the number of the node's
/// processors. The call, and all threads that it starts, run on these alone, so that the replica is
/// in their memory, and nodes exchange only the data of the sync policy. Throws the exception of a
/// call, like ThreadRanks::run, and InvalidArgument if threads cannot be kept on a node.
template <class Work>
void run_on_nodes(const std::vector<std::vector<std::size_t>>& nodes, Work work) {
  ThreadRanks::run(nodes.size(), [&](ThreadRanks rank) {
    const auto& processors = nodes[rank.rank()];
    const detail::PinnedThread here(processors);
    work(std::move(rank), processors.size());
  });
}

/// Trains a replica on each NUMA node of the processors that the calling thread may run on: one on
/// a machine without nodes. Also throws InvalidArgument if the system does not tell.
template <class Work>
void run_on_nodes(Work work) {
  run_on_nodes(detail::numa_nodes(), std::move(work));
}

}}  // namespace wordloom::WORDLOOM_ABI
