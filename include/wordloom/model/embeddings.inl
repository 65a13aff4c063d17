#pragma once
#include <algorithm>

#include <wordloom/model/embeddings.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

WORDLOOM_FUNCTION Embeddings::Embeddings(WordList words, RowMatrix vectors,
                                         std::span<const std::uint64_t> counts,
                                         std::shared_ptr<const void> memory) {
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
  store_ = std::make_shared<const Store>(Store{std::move(words),
                                               std::move(vectors),
                                               std::move(inverse),
                                               {counts.begin(), counts.end()},
                                               std::move(memory)});
}

WORDLOOM_FUNCTION Embeddings Embeddings::concatenate(const Embeddings& a, const Embeddings& b) {
  if (a.size() != b.size())
    throw InvalidArgument{"cannot concatenate the vectors of ", a.size(), " words and of ",
                          b.size()};
  RowMatrix both(a.size(), a.dimension() + b.dimension());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a.word(i) != b.word(i))
      throw InvalidArgument{"cannot concatenate the vectors of different words: word ",
                            i,
                            " is '",
                            a.word(i),
                            "' and '",
                            b.word(i),
                            "'"};
    auto to = both.row(i).begin();
    for (const Embeddings* part : {&a, &b})
      to = std::transform(part->vector(i).begin(), part->vector(i).end(), to,
                          [scale = part->inverse_lengths()[i]](float x) { return x * scale; });
  }
  return Embeddings(a.words(), std::move(both), a.counts());
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

WORDLOOM_FUNCTION Embeddings Embeddings::first(std::size_t count) const {
  if (count >= size()) return *this;
  WordList first;
  for (std::size_t i = 0; i < count; ++i) first.append(word(i));
  return {std::move(first), vectors().copy(count),
          counts().first((std::min)(count, counts().size()))};
}

WORDLOOM_FUNCTION Embeddings Embeddings::by_id(std::size_t rows) const {
  constexpr std::size_t most = 4294967294;  // of a WordList
  const std::size_t limit = rows == 0 ? most : (std::min)(rows, most);
  std::vector<std::size_t> rows_of;
  std::size_t needed = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    const auto id = detail::number_in<std::size_t>(word(i));
    if (!id || *id >= limit || (word(i).size() > 1 && word(i).starts_with('0')))
      throw InvalidArgument{"the word ", detail::shown(word(i)),
                            " is not the number of a row below ", limit};
    rows_of.push_back(*id);
    needed = (std::max)(needed, *id + 1);
  }
  RowMatrix vectors(rows == 0 ? needed : rows, dimension());
  std::vector<std::uint64_t> counts(this->counts().empty() ? 0 : vectors.rows());
  for (std::size_t i = 0; i < size(); ++i) {
    std::ranges::copy(vector(i), vectors.row(rows_of[i]).begin());
    if (!counts.empty()) counts[rows_of[i]] = this->counts()[i];
  }
  WordList names;
  for (std::size_t i = 0; i < vectors.rows(); ++i) names.append(std::to_string(i));
  return {std::move(names), std::move(vectors), counts};
}

WORDLOOM_FUNCTION std::vector<Neighbour> Embeddings::named(
    const std::vector<detail::NearestRow>& found) const {
  std::vector<Neighbour> result;
  for (const detail::NearestRow& nearest : found)
    result.push_back({std::string(word(nearest.row)), nearest.score});
  return result;
}

}}  // namespace wordloom::WORDLOOM_ABI
