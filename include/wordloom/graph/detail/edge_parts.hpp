#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/graph/graph_options.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Numbers the nodes that a thread reads. As long as all names are whole numbers below 2^32 without
/// leading zeros, as in most files, each name is its own number and no hash table is needed.
class NodeNumbers {
 public:
  /// Returns the number of a name. At the first name that is not a number, all nodes read so far
  /// are renumbered in `nodes`.
  WordId number(std::string_view name, std::vector<WordId>& nodes) {
    if (are_numbers_) {
      if (const WordId number = small_number(name); number != 0) return number;
      const auto number = number_in<WordId>(name);
      if (number && (name[0] != '0' || name.size() == 1)) return *number;
      name_numbers(nodes);
    }
    return names_.insert(name);
  }

  bool are_numbers() const noexcept { return are_numbers_; }
  /// Returns the names by number, unless names are numbers.
  const WordList& names() const noexcept { return names_; }
  /// Renumbers numeric names in order of appearance, as if they were words.
  void name_numbers(std::vector<WordId>& nodes) {
    for (WordId& node : nodes) node = names_.insert(std::to_string(node));
    are_numbers_ = false;
  }

 private:
  /// Returns the number of a name of up to 9 digits without leading zeros, which is the usual form;
  /// 0 for others. Faster than number_in.
  static WordId small_number(std::string_view name) noexcept {
    if (name.size() > 9 || name[0] == '0') return 0;
    WordId number = 0;
    for (const char c : name) {
      if (c < '0' || c > '9') return 0;
      number = number * 10 + static_cast<WordId>(c - '0');
    }
    return number;
  }

  bool are_numbers_ = true;
  WordList names_;
};

/// The edges of a file or of memory. Nodes are numbered in any order.
struct EdgeList {
  struct Part {
    std::vector<WordId> nodes;       // from, to, from, to, ...
    std::vector<float> weights;      // [edges], empty without weights; 0: not an edge
    std::uint64_t mirrored = 0;      // edges that were added for others that lead both ways
    std::uint64_t without_edge = 0;  // lines
    std::uint64_t alone = 0;         // single nodes in a line, which are edges of weight 0 here
    bool has_unread_columns = false;
    bool ignores_directions = false;

    /// Adds an edge from ends[0] to ends[1].
    void add_edge(const std::string_view* ends, NodeNumbers& numbers) {
      for (std::size_t i = 0; i < 2; ++i) {
        const WordId node = numbers.number(ends[i], nodes);
        nodes.push_back(node);
      }
    }
  };
  WordList names;
  std::vector<Part> parts;
  GraphReport report;  // on the input, not on the graph made of it
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
