#pragma once
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/parameters.hpp>
#include <wordloom/model/compressed_embeddings.hpp>
#include <wordloom/model/detail/compressed_rows.hpp>
#include <wordloom/model/detail/product_centres.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// Divides a vector by its length; zeros stay.
inline void scale_to_unit(std::span<float> vector) noexcept {
  const double scale = inverse_length(vector);
  for (float& x : vector) x = static_cast<float>(static_cast<double>(x) * scale);
}

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
  return static_cast<float>(detail::dot_in_double(vector(a), vector(b))) * inverse[a] * inverse[b];
}

WORDLOOM_FUNCTION void CompressedEmbeddings::add_unit(WordId id, float sign,
                                                      std::span<float> sum) const {
  const float scale = detail::CompressedRows(*file_).inverse_lengths()[id] * sign;
  const std::vector<float> row = vector(id);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += row[i] * scale;
}

WORDLOOM_FUNCTION std::vector<std::vector<Neighbour>> CompressedEmbeddings::search(
    const RowMatrix& questions, std::size_t each, float (*score)(const float*),
    const std::vector<Ids>& without, std::size_t k, QueryOptions options) const {
  constexpr std::size_t questions_at_once = 64, rows_at_once = 64;
  const detail::CompressedRows rows(*file_);
  const std::size_t first_words = options.restrict_vocabulary;
  const std::size_t count = first_words == 0 ? size() : (std::min)(first_words, size());
  const std::size_t blocks = (count + rows_at_once - 1) / rows_at_once;
  const std::size_t threads = (std::min)(
      detail::threads_for(count * questions.rows() * dimension(), options.threads), blocks);
  std::vector<std::vector<Neighbour>> result(without.size());
  if (k == 0) return result;
  for (std::size_t begin = 0; begin < without.size(); begin += questions_at_once) {
    const std::size_t some = (std::min)(questions_at_once, without.size() - begin);
    RowMatrix asked(some * each, dimension());
    for (std::size_t v = 0; v < asked.rows(); ++v)
      std::ranges::copy(questions.row(begin * each + v), asked.row_data(v));
    const RowMatrix prepared = rows.prepared(asked);
    // [threads][questions] heaps of up to k rows, the worst first
    std::vector<std::vector<std::vector<detail::NearestRow>>> best(threads);
    std::atomic<std::size_t> next{0};
    detail::run_threads(threads, [&](std::size_t thread) {
      best[thread].resize(some);
      std::vector<float> products(each * rows_at_once), cosines(each);
      for (std::size_t first; (first = next.fetch_add(rows_at_once)) < count;) {
        const std::size_t last = (std::min)(count, first + rows_at_once);
        for (std::size_t q = 0; q < some; ++q) {
          for (std::size_t v = 0; v < each; ++v)
            rows.cosines(prepared.row_data(q * each + v), first, last - first,
                         products.data() + v * rows_at_once);
          auto& found = best[thread][q];
          for (std::size_t row = first; row < last; ++row) {
            for (std::size_t v = 0; v < each; ++v)
              cosines[v] = products[v * rows_at_once + (row - first)];
            float s = score(cosines.data());
            if (detail::is_nan(s)) s = -std::numeric_limits<float>::infinity();
            const detail::NearestRow candidate{static_cast<WordId>(row), s};
            if (found.size() == k && !(candidate < found.front())) continue;
            if (std::ranges::find(without[begin + q], candidate.row) != without[begin + q].end())
              continue;
            if (found.size() == k) {
              std::pop_heap(found.begin(), found.end());
              found.pop_back();
            }
            found.push_back(candidate);
            std::push_heap(found.begin(), found.end());
          }
        }
      }
    });
    for (std::size_t q = 0; q < some; ++q) {
      std::vector<detail::NearestRow> all;
      for (const auto& of_thread : best)
        all.insert(all.end(), of_thread[q].begin(), of_thread[q].end());
      std::sort(all.begin(), all.end());
      all.resize((std::min)(all.size(), k));
      for (const auto& [row, s] : all) result[begin + q].push_back({std::string(word(row)), s});
    }
  }
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
  return search(question, 1, detail::cosine_score, {all}, k, options).front();
}

WORDLOOM_FUNCTION std::vector<Neighbour> CompressedEmbeddings::most_similar(
    std::span<const float> vector, std::size_t k, QueryOptions options) const {
  if (vector.size() != dimension())
    throw InvalidArgument{"the vector has ", vector.size(), " numbers, the embeddings ",
                          dimension()};
  RowMatrix question(1, dimension());
  std::ranges::copy(vector, question.row_data(0));
  detail::scale_to_unit(question.row(0));
  return search(question, 1, detail::cosine_score, {{}}, k, options).front();
}

WORDLOOM_FUNCTION std::vector<std::vector<Neighbour>> CompressedEmbeddings::nearest_to_each(
    const Ids& ids, std::size_t k, QueryOptions options) const {
  RowMatrix questions(ids.size(), dimension());
  std::vector<Ids> without;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    add_unit(ids[i], 1, questions.row(i));
    without.push_back({ids[i]});
  }
  return search(questions, 1, detail::cosine_score, without, k, options);
}

WORDLOOM_FUNCTION std::vector<Neighbour> CompressedEmbeddings::analogy(
    std::string_view a, std::string_view b, std::string_view c, std::size_t k, AnalogyMethod method,
    QueryOptions options) const {
  const Ids ids{at(a), at(b), at(c)};
  if (method == AnalogyMethod::cos_add) {
    RowMatrix question(1, dimension());
    for (std::size_t i = 0; i < 3; ++i) add_unit(ids[i], i == 0 ? -1.0f : 1.0f, question.row(0));
    detail::scale_to_unit(question.row(0));
    return search(question, 1, detail::cosine_score, {ids}, k, options).front();
  }
  RowMatrix questions(3, dimension());
  for (std::size_t i = 0; i < 3; ++i) add_unit(ids[i], 1, questions.row(i));
  return search(questions, 3, detail::cos_mul_score, {ids}, k, options).front();
}

}}  // namespace wordloom::WORDLOOM_ABI
