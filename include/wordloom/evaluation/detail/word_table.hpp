#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/encoder/detail/symbol_batch.hpp>
#include <wordloom/evaluation/letter_case.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The vectors of the words of sentences, as symbols of a network from 1 on; row 0 is padding. A
/// word without a vector has one drawn uniformly from +- 0.25 (Kim 2014).
class WordTable {
 public:
  /// `for_each(call)` calls `call(word)` with each word of the sentences.
  template <class ForEach>
  WordTable(const Embeddings& embeddings, LetterCase letter_case, std::uint64_t seed,
            const ForEach& for_each) {
    for_each([&](const std::string& word) { symbols_.try_emplace(word, 0); });
    rows_ = RowMatrix(symbols_.size() + 1, embeddings.dimension());
    Random random(seed, 1);
    std::uint32_t symbol = 0;
    for (auto& [word, its_symbol] : symbols_) {
      its_symbol = ++symbol;
      const auto id = find_spelling(embeddings.words(), word, letter_case);
      if (id && !std::ranges::all_of(embeddings.vector(*id), is_finite<float>))
        throw InvalidArgument{"the vector of '", word, "' is not finite"};
      known_ += id.has_value();
      for (std::size_t d = 0; d < rows_.columns(); ++d)
        rows_.row(symbol)[d] =
            id ? embeddings.vector(*id)[d] : static_cast<float>((random.uniform() - 0.5) / 2);
    }
  }

  RowMatrix& rows() noexcept { return rows_; }
  std::uint32_t symbol(const std::string& word) const { return symbols_.find(word)->second; }
  /// Returns the number of words that have a vector.
  std::size_t known() const noexcept { return known_; }

 private:
  std::map<std::string, std::uint32_t> symbols_;
  RowMatrix rows_;  // [words + 1 x D]
  std::size_t known_ = 0;
};

/// Divides training items: every tenth of them decides when training ends.
struct HeldOut {
  explicit HeldOut(std::span<const std::uint32_t> items) {
    for (std::size_t i = 0; i < items.size(); ++i)
      (i % 10 == 9 ? decides : trained).push_back(items[i]);
  }
  std::vector<std::uint32_t> trained, decides;
};

/// Trains a network, and returns the classes of the tested sequences after the epoch with the best
/// score of those that decide, of equal ones the first. `score(classes)`: of those that decide.
template <class Network, class Sequence, class Score>
std::vector<std::uint32_t> classes_at_best_epoch(
    Network& network, std::span<const Sequence> sequences, std::span<const std::uint32_t> labels,
    const HeldOut& held_out, std::span<const std::uint32_t> tested, std::size_t epochs,
    std::size_t batch, const Score& score) {
  const auto trained = chosen_of<Sequence>(sequences, held_out.trained);
  const auto their_labels = chosen_of<std::uint32_t>(labels, held_out.trained);
  const auto decides = chosen_of<Sequence>(sequences, held_out.decides);
  const auto tests = chosen_of<Sequence>(sequences, tested);
  std::vector<std::uint32_t> classes;
  double best = -1;
  for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
    network.train(trained, their_labels, batch);
    if (const double value = score(network.classify(decides)); value > best) {
      best = value;
      classes = network.classify(tests);
    }
  }
  return classes;
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
