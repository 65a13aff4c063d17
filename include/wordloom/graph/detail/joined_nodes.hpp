#pragma once
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include <wordloom/core/types.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Sets of nodes that edges connect (union-find with path halving).
class JoinedNodes {
 public:
  explicit JoinedNodes(std::size_t nodes) : parents_(nodes) {
    std::iota(parents_.begin(), parents_.end(), WordId{0});
  }

  /// Joins the sets of two nodes; returns whether they were different.
  bool join(WordId a, WordId b) {
    a = first_of(a);
    b = first_of(b);
    parents_[(std::max)(a, b)] = (std::min)(a, b);
    return a != b;
  }

 private:
  /// Returns the first node of the set of a node.
  WordId first_of(WordId node) {
    while (parents_[node] != node) node = parents_[node] = parents_[parents_[node]];
    return node;
  }

  std::vector<WordId> parents_;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
