#pragma once
#include <algorithm>
#include <utility>

#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/parameters.hpp>
#include <wordloom/model/compressed_embeddings.hpp>
#include <wordloom/model/detail/compressed_rows.hpp>
#include <wordloom/model/detail/product_centres.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// The cosines of questions with compressed rows, for nearest_rows.
class CompressedCosines {
 public:
  static constexpr std::size_t questions_at_once = 64;

  explicit CompressedCosines(const CompressedRows& rows) : rows_(rows) {}

  std::size_t rows_at_once() const noexcept { return 64; }
  void prepare(const RowMatrix& questions, std::size_t first, std::size_t count) {
    RowMatrix some(count, questions.columns());
    for (std::size_t i = 0; i < count; ++i)
      std::ranges::copy(questions.row(first + i), some.row_data(i));
    questions_ = rows_.prepared(some);
  }
  void cosines(std::size_t question, std::size_t count, std::size_t row, std::size_t size,
               float* products, std::size_t to_next) const {
    for (std::size_t q = 0; q < count; ++q)
      rows_.cosines(questions_.row_data(question + q), row, size, products + q * to_next);
  }

 private:
  const CompressedRows& rows_;
  RowMatrix questions_;
};

}  // namespace detail

WORDLOOM_FUNCTION CompressedEmbeddings
CompressedEmbeddings::load(const std::filesystem::path& path) {
  return load(std::make_shared<const detail::InputFile>(path));
}

WORDLOOM_FUNCTION CompressedEmbeddings
CompressedEmbeddings::load(std::shared_ptr<const detail::InputFile> file) {
  const detail::InputFile& opened = *file;
  return {std::move(file), opened.text(), opened.path()};
}

WORDLOOM_FUNCTION std::vector<float> CompressedEmbeddings::vector(std::size_t id) const {
  std::vector<float> result(dimension());
  detail::CompressedRows(*file_).decode(id, result);
  return result;
}

WORDLOOM_FUNCTION Embeddings CompressedEmbeddings::decoded() const {
  validate();
  WordList words;
  for (std::size_t id = 0; id < size(); ++id) words.append(word(id));
  RowMatrix vectors(size(), dimension());
  const detail::CompressedRows rows(*file_);
  detail::for_word_blocks(size(), detail::threads_for(size() * dimension(), 0),
                          [&](std::size_t first, std::size_t last) {
                            for (std::size_t id = first; id < last; ++id)
                              rows.decode(id, vectors.row(id));
                          });
  return {std::move(words), std::move(vectors), counts()};
}

WORDLOOM_FUNCTION float CompressedEmbeddings::similarity(WordId a, WordId b) const {
  const auto inverse = detail::CompressedRows(*file_).inverse_lengths();
  return detail::cosine_of(vector(a), vector(b), inverse[a], inverse[b]);
}

WORDLOOM_FUNCTION void CompressedEmbeddings::add_unit(WordId id, float sign,
                                                      std::span<float> sum) const {
  const float scale = detail::CompressedRows(*file_).inverse_lengths()[id] * sign;
  const std::vector<float> row = vector(id);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += row[i] * scale;
}

template <class Score>
std::vector<std::vector<Neighbour>> CompressedEmbeddings::search(
    const RowMatrix& questions, std::size_t each, const Score& score,
    const std::vector<Ids>& without, std::size_t k, QueryOptions options) const {
  const detail::CompressedRows rows(*file_);
  const std::size_t first = options.restrict_vocabulary;
  const auto skip = [&](std::size_t question, std::size_t row) {
    return std::ranges::find(without[question], row) != without[question].end();
  };
  std::vector<std::vector<Neighbour>> result(without.size());
  const auto found = detail::nearest_rows(detail::CompressedCosines(rows),
                                          first == 0 ? size() : (std::min)(first, size()),
                                          questions, each, k, score, skip, options.threads);
  for (std::size_t q = 0; q < found.size(); ++q)
    for (const auto& [row, s] : found[q]) result[q].push_back({std::string(word(row)), s});
  return result;
}

WORDLOOM_FUNCTION std::vector<Neighbour> CompressedEmbeddings::nearest_to_sum(
    const Ids& positive, const Ids& negative, std::size_t k, QueryOptions options) const {
  if (positive.empty() && negative.empty())
    throw InvalidArgument("a query needs at least one word");
  RowMatrix question(1, dimension());
  for (const WordId id : positive) add_unit(id, 1, question.row(0));
  for (const WordId id : negative) add_unit(id, -1, question.row(0));
  detail::scale_to_unit(question.row(0));
  Ids all = positive;
  all.insert(all.end(), negative.begin(), negative.end());
  return search(question, 1, detail::CosineScore(), {all}, k, options).front();
}

WORDLOOM_FUNCTION std::vector<Neighbour> CompressedEmbeddings::most_similar(
    std::span<const float> vector, std::size_t k, QueryOptions options) const {
  if (vector.size() != dimension())
    throw InvalidArgument{"the vector has ", vector.size(), " numbers, the embeddings ",
                          dimension()};
  detail::check_question(vector);
  RowMatrix question(1, dimension());
  std::ranges::copy(vector, question.row_data(0));
  detail::scale_to_unit(question.row(0));
  return search(question, 1, detail::CosineScore(), {{}}, k, options).front();
}

WORDLOOM_FUNCTION std::vector<std::vector<Neighbour>> CompressedEmbeddings::nearest_to_each(
    const Ids& ids, std::size_t k, QueryOptions options) const {
  RowMatrix questions(ids.size(), dimension());
  std::vector<Ids> without;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    add_unit(ids[i], 1, questions.row(i));
    without.push_back({ids[i]});
  }
  return search(questions, 1, detail::CosineScore(), without, k, options);
}

WORDLOOM_FUNCTION std::vector<Neighbour> CompressedEmbeddings::analogy(
    std::string_view a, std::string_view b, std::string_view c, std::size_t k, AnalogyMethod method,
    QueryOptions options) const {
  const Ids ids{at(a), at(b), at(c)};
  if (method == AnalogyMethod::cos_add) {
    RowMatrix question(1, dimension());
    for (std::size_t i = 0; i < 3; ++i) add_unit(ids[i], i == 0 ? -1.0f : 1.0f, question.row(0));
    detail::scale_to_unit(question.row(0));
    return search(question, 1, detail::CosineScore(), {ids}, k, options).front();
  }
  RowMatrix questions(3, dimension());
  for (std::size_t i = 0; i < 3; ++i) add_unit(ids[i], 1, questions.row(i));
  return search(questions, 3, detail::cos_mul_score, {ids}, k, options).front();
}

}}  // namespace wordloom::WORDLOOM_ABI
