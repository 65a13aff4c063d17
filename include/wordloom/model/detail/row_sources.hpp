#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/vocabulary.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// For each row of a new matrix, the row of an old one that it is a copy of; `no_row`: none.
using RowSources = std::vector<std::size_t>;
inline constexpr std::size_t no_row = (std::numeric_limits<std::size_t>::max)();

/// Calls `work(i)` for each row of `matrix`, on all threads if it is large.
template <class Work>
void for_each_row(const RowMatrix& matrix, const Work& work) {
  constexpr std::size_t large = std::size_t{1} << 24;  // bytes
  const std::size_t threads = matrix.bytes() > large ? resolve_threads(0) : 1;
  run_threads(threads, [&](std::size_t thread) {
    const auto [first, last] = detail::part_of(matrix.rows(), thread, threads);
    for (std::size_t i = first; i < last; ++i) work(i);
  });
}

/// Returns a matrix whose row i is a copy of row sources[i] of `from`, or zeros.
RowMatrix gather_rows(const RowMatrix& from, std::span<const std::size_t> sources);

/// Fills the rows of `matrix` that have no source (all, if `sources` is empty) with numbers uniform
/// in [-0.5/D, 0.5/D), row i from the stream Random(seed, i, stream).
void draw_rows(RowMatrix& matrix, std::span<const std::size_t> sources, std::uint64_t seed,
               std::uint64_t stream);

/// The union of two vocabularies, and the places of the first one's words in it. Counts of words in
/// both are added.
struct VocabularyUnion {
  std::size_t old_size;
  Vocabulary words;
  RowSources sources;  // of words

  /// Throws InvalidArgument when the counts add up to more than 2^64 - 1.
  VocabularyUnion(const Vocabulary& old, const Vocabulary& more);

  /// Returns the sources of an input matrix that had `rows` rows: words, then any others, which
  /// follow the words in their order. Throws InvalidArgument if there are too few rows.
  RowSources input(std::size_t rows) const {
    if (rows < old_size) refuse("input", rows, joined({"at least ", old_size}));
    RowSources result = sources;
    for (std::size_t row = old_size; row < rows; ++row) result.push_back(row);
    return result;
  }

  /// Returns the sources of an output matrix that had `rows` rows: V, V - 1 or 2V - 1, see
  /// Model::extend. Nodes have no sources. Throws InvalidArgument for another number.
  RowSources output(std::size_t rows) const;

 private:
  [[noreturn]] void refuse(const std::string& matrix, std::size_t rows,
                           const std::string& expected) const {
    throw InvalidArgument{
        "cannot extend a model of ", old_size, " words whose matrix '", matrix, "' has ", rows,
        " rows; expected ",          expected};
  }
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION RowMatrix gather_rows(const RowMatrix& from,
                                        std::span<const std::size_t> sources) {
  RowMatrix result(sources.size(), from.columns());
  for_each_row(result, [&](std::size_t i) {
    if (sources[i] == no_row) return;
    const auto row = from.row(sources[i]);
    std::copy(row.begin(), row.end(), result.row(i).begin());
  });
  return result;
}

WORDLOOM_FUNCTION void draw_rows(RowMatrix& matrix, std::span<const std::size_t> sources,
                                 std::uint64_t seed, std::uint64_t stream) {
  for_each_row(matrix, [&](std::size_t i) {
    if (!sources.empty() && sources[i] != no_row) return;
    Random random(seed, i, stream);
    for (float& x : matrix.row(i))
      x = static_cast<float>((random.uniform() - 0.5) / static_cast<double>(matrix.columns()));
  });
}

WORDLOOM_FUNCTION VocabularyUnion::VocabularyUnion(const Vocabulary& old, const Vocabulary& more)
    : old_size(old.size()) {
  WordCounter counter;
  for (WordId id = 0; id < old.size(); ++id) counter.add(old.word(id), old.count(id));
  for (WordId id = 0; id < more.size(); ++id) counter.add(more.word(id), more.count(id));
  words = Vocabulary::from_counter(counter, {.min_count = 1}, "both vocabularies");
  sources.assign(words.size(), no_row);
  for (WordId id = 0; id < words.size(); ++id)
    if (const auto known = old.find(words.word(id))) sources[id] = *known;
}

WORDLOOM_FUNCTION RowSources VocabularyUnion::output(std::size_t rows) const {
  if (rows == old_size) return sources;
  if (rows == old_size - 1) return RowSources(words.size() - 1, no_row);
  if (rows != 2 * old_size - 1)
    refuse("output", rows, joined({old_size, ", ", old_size - 1, " or ", 2 * old_size - 1}));
  RowSources result(2 * words.size() - 1, no_row);
  for (std::size_t id = 0; id < words.size(); ++id)
    if (sources[id] != no_row) result[2 * id] = 2 * sources[id];
  return result;
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
