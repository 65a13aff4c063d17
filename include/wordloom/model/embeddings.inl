#pragma once
#include <wordloom/model/embeddings.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

WORDLOOM_FUNCTION Embeddings::Embeddings(WordList words, RowMatrix vectors,
                                         std::span<const std::uint64_t> counts) {
  if (words.size() != vectors.rows())
    throw InvalidArgument{"embeddings need one vector for each word, got ", words.size(),
                          " words and ", vectors.rows(), " vectors"};
  if (vectors.rows() == 0 || vectors.columns() == 0)
    throw InvalidArgument{"embeddings need at least one word and one dimension, got ",
                          vectors.rows(), " x ", vectors.columns()};
  if (!counts.empty() && counts.size() != words.size())
    throw InvalidArgument{"embeddings need one count for each word or none, got ", words.size(),
                          " words and ", counts.size(), " counts"};
  auto inverse = detail::inverse_lengths(vectors);
  store_ = std::make_shared<const Store>(Store{
      std::move(words), std::move(vectors), std::move(inverse), {counts.begin(), counts.end()}});
}

WORDLOOM_FUNCTION void Embeddings::require_dimension(std::span<const float> vector) const {
  if (vector.size() != dimension())
    throw InvalidArgument{"the vector has ", vector.size(), " numbers, the embeddings ",
                          dimension()};
}

WORDLOOM_FUNCTION std::vector<float> Embeddings::distances(std::span<const float> vector) const {
  require_dimension(vector);
  std::vector<float> result = queries().cosines(vector);
  for (float& x : result) x = 1.0f - x;
  return result;
}

WORDLOOM_FUNCTION std::vector<float> Embeddings::distances_to(
    std::string_view word, const std::vector<WordId>& others) const {
  const WordId id = words().at(word);
  std::vector<float> result;
  for (const WordId other : others) result.push_back(1.0f - similarity(id, other));
  return result;
}

WORDLOOM_FUNCTION std::vector<std::string> Embeddings::closer_than(std::string_view a,
                                                                   std::string_view b) const {
  std::vector<std::string> closer;
  for (const WordId id : queries().closer_than(words().at(a), words().at(b)))
    closer.emplace_back(word(id));
  return closer;
}

WORDLOOM_FUNCTION std::vector<Neighbour> Embeddings::most_similar(std::span<const float> vector,
                                                                  std::size_t k,
                                                                  QueryOptions options) const {
  require_dimension(vector);
  return named(queries().nearest_to(vector, {}, k, options));
}

WORDLOOM_FUNCTION Embeddings Embeddings::normalized() const {
  RowMatrix unit(size(), dimension());
  for (std::size_t i = 0; i < size(); ++i)
    queries().add_unit(static_cast<WordId>(i), 1, unit.row(i));
  return {words(), std::move(unit), counts()};
}

WORDLOOM_FUNCTION std::vector<Neighbour> Embeddings::named(
    const std::vector<detail::NearestRow>& found) const {
  std::vector<Neighbour> result;
  for (const detail::NearestRow& nearest : found)
    result.push_back({std::string(word(nearest.row)), nearest.score});
  return result;
}

}}  // namespace wordloom::WORDLOOM_ABI
