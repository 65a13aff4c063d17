#pragma once
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/model/embeddings.hpp>

/// The words that several files of vectors have in common.
class CommonWords {
 public:
  void add(const wordloom::Embeddings& vectors) {
    std::vector<std::string> words;
    for (const auto& [word, vector] : vectors) words.emplace_back(word);
    std::sort(words.begin(), words.end());
    if (is_first_) {
      common_ = std::move(words);
    } else if (words != common_) {
      std::vector<std::string> both;
      std::set_intersection(common_.begin(), common_.end(), words.begin(), words.end(),
                            std::back_inserter(both));
      common_ = std::move(both);
      are_fewer_ = true;
    }
    is_first_ = false;
  }
  std::size_t size() const { return common_.size(); }
  /// Returns whether a file has other words than another.
  bool are_fewer() const { return are_fewer_; }

  /// Returns the vectors of the common words, in the order of `vectors`.
  wordloom::Embeddings of(const wordloom::Embeddings& vectors) const {
    std::vector<std::string> words;
    std::vector<std::size_t> ids;
    for (std::size_t id = 0; id < vectors.size(); ++id) {
      std::string word(vectors.word(id));
      if (!std::binary_search(common_.begin(), common_.end(), word)) continue;
      words.push_back(std::move(word));
      ids.push_back(id);
    }
    wordloom::RowMatrix rows(ids.size(), vectors.dimension());
    for (std::size_t i = 0; i < ids.size(); ++i)
      std::copy_n(vectors.vector(ids[i]).data(), vectors.dimension(), rows.row(i).data());
    return {wordloom::WordList::from(words), std::move(rows)};
  }

 private:
  std::vector<std::string> common_;  // ascending
  bool is_first_ = true, are_fewer_ = false;
};
