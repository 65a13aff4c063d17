#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/word_list.hpp>
#include <wordloom/model/nearest.hpp>

namespace wordloom {

/// A word that a query found; `word` lives as long as any copy of the embeddings.
struct Neighbour {
  std::string_view word;
  float score;
};

/// How an analogy a : b = c : ? is answered, with unit vectors: by the largest cos(d, b - a + c)
/// (3CosAdd, Mikolov et al. 2013c) or cos(d, b) cos(d, c) / cos(d, a) (3CosMul, Levy and Goldberg
/// 2014).
enum class AnalogyMethod { cos_add, cos_mul };

/// Words and their vectors [V x D], immutable. Copies share the vectors; all members are
/// thread-safe. Queries compare with every word, on all threads, and their results do not depend on
/// the number of threads.
class Embeddings {
 public:
  /// Throws InvalidArgument unless `vectors` has one row for each word.
  Embeddings(WordList words, RowMatrix vectors) : words_(std::move(words)) {
    if (words_.size() != vectors.rows())
      throw InvalidArgument("embeddings need one vector for each word, got " +
                            std::to_string(words_.size()) + " words and " +
                            std::to_string(vectors.rows()) + " vectors");
    auto inverse = wordloom::inverse_lengths(vectors);
    store_ = std::make_shared<const Store>(Store{std::move(vectors), std::move(inverse)});
  }

  std::size_t size() const noexcept { return words_.size(); }
  std::size_t dimension() const noexcept { return vectors().columns(); }
  const WordList& words() const noexcept { return words_; }
  /// [V x D], row-major.
  const RowMatrix& vectors() const noexcept { return store_->vectors; }
  /// [V] 1 / length of each vector, 0 for a vector of zeros.
  std::span<const float> inverse_lengths() const noexcept { return store_->inverse_lengths; }
  std::string_view word(std::size_t id) const noexcept { return words_[id]; }
  std::span<const float> vector(std::size_t id) const noexcept { return vectors().row(id); }
  /// Throws UnknownWord.
  std::span<const float> vector(std::string_view word) const { return vector(words_.at(word)); }

  /// Cosine of two words by id, 0 when a vector is all zeros.
  float similarity(WordId a, WordId b) const noexcept {
    double sum = 0;
    const auto x = vector(a), y = vector(b);
    for (std::size_t i = 0; i < x.size(); ++i)
      sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    return static_cast<float>(sum) * inverse_lengths()[a] * inverse_lengths()[b];
  }
  /// Cosine of two words. Throws UnknownWord.
  float similarity(std::string_view a, std::string_view b) const {
    return similarity(words_.at(a), words_.at(b));
  }

  /// The k words nearest to `word` by cosine, best first, itself left out; all when there are
  /// fewer. Throws UnknownWord.
  std::vector<Neighbour> most_similar(std::string_view word, std::size_t k) const {
    return std::move(most_similar(std::span(&word, 1), k).front());
  }

  /// The same for many words at once, which costs much less than one after the other.
  std::vector<std::vector<Neighbour>> most_similar(std::span<const std::string_view> words,
                                                   std::size_t k) const {
    std::vector<WordId> ids;
    for (const std::string_view word : words) ids.push_back(words_.at(word));
    detail::Questions questions(static_cast<Eigen::Index>(ids.size()), columns());
    for (std::size_t i = 0; i < ids.size(); ++i)
      questions.row(static_cast<Eigen::Index>(i)) = unit(ids[i]);
    return named(nearest_rows(vectors(), inverse_lengths(), size(), questions, 1, k, cosine_score,
                              [&](std::size_t q, std::size_t row) { return row == ids[q]; }));
  }

  /// The k words nearest to a vector [D] by cosine, best first. Throws InvalidArgument for another
  /// length than dimension().
  std::vector<Neighbour> most_similar(std::span<const float> vector, std::size_t k) const {
    if (vector.size() != dimension())
      throw InvalidArgument("the vector has " + std::to_string(vector.size()) +
                            " numbers, the embeddings " + std::to_string(dimension()));
    detail::Questions questions =
        Eigen::Map<const Eigen::RowVectorXf>(vector.data(), columns()).stableNormalized();
    return std::move(
        named(nearest_rows(vectors(), inverse_lengths(), size(), questions, 1, k, cosine_score,
                           [](std::size_t, std::size_t) { return false; }))
            .front());
  }

  /// The k best answers to "a is to b as c is to ?", a, b and c left out. Throws UnknownWord.
  std::vector<Neighbour> analogy(std::string_view a, std::string_view b, std::string_view c,
                                 std::size_t k,
                                 AnalogyMethod method = AnalogyMethod::cos_add) const {
    const Analogy ids{words_.at(a), words_.at(b), words_.at(c)};
    return std::move(named(analogies(std::span(&ids, 1), k, method, size())).front());
  }

  /// Words a, b and c of an analogy by id.
  struct Analogy {
    WordId a, b, c;
  };

  /// The k best answers to each of many analogies among the first `count` words, by id.
  std::vector<std::vector<NearestRow>> analogies(std::span<const Analogy> asked, std::size_t k,
                                                 AnalogyMethod method, std::size_t count) const {
    const auto skip = [&](std::size_t q, std::size_t row) {
      return row == asked[q].a || row == asked[q].b || row == asked[q].c;
    };
    const bool add = method == AnalogyMethod::cos_add;
    const std::size_t each = add ? 1 : 3;
    detail::Questions questions(static_cast<Eigen::Index>(asked.size() * each), columns());
    for (std::size_t q = 0; q < asked.size(); ++q) {
      const auto row = static_cast<Eigen::Index>(q * each);
      const auto [a, b, c] = asked[q];
      if (add) {
        questions.row(row) = (unit(b) - unit(a) + unit(c)).stableNormalized();
      } else {
        questions.row(row) = unit(a);
        questions.row(row + 1) = unit(b);
        questions.row(row + 2) = unit(c);
      }
    }
    return nearest_rows(vectors(), inverse_lengths(), std::min(count, size()), questions, each, k,
                        add ? cosine_score : cos_mul_score, skip);
  }

 private:
  struct Store {
    RowMatrix vectors;
    std::vector<float> inverse_lengths;
  };

  Eigen::Index columns() const noexcept { return static_cast<Eigen::Index>(dimension()); }

  Eigen::RowVectorXf unit(WordId id) const {
    return vectors().view().row(id) * inverse_lengths()[id];
  }

  std::vector<std::vector<Neighbour>> named(
      const std::vector<std::vector<NearestRow>>& found) const {
    std::vector<std::vector<Neighbour>> result(found.size());
    for (std::size_t q = 0; q < found.size(); ++q)
      for (const NearestRow& nearest : found[q])
        result[q].push_back({word(nearest.row), nearest.score});
    return result;
  }

  WordList words_;
  std::shared_ptr<const Store> store_;
};

}  // namespace wordloom
