#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/query/nearest_rows.hpp>
#include <wordloom/query/row_queries.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

class CompressedEmbeddings;
enum class VectorFormat;
struct LoadOptions;

/// Words and their vectors [V x D], V and D above 0, immutable. Copies share the vectors; all
/// members are thread-safe. References, spans and views that members return are valid as long as
/// any copy of the embeddings; these members cannot be called on a temporary. A moved-from object
/// may only be assigned to or destroyed.
///
/// Queries have the names and meanings of gensim's KeyedVectors. They throw UnknownWord, and
/// InvalidArgument where a list has no word. Answers come best first and leave the words of the
/// question out; there are fewer than k where there are no more words.
class Embeddings {
  /// The type of a list of words in braces.
  using List = std::initializer_list<std::string_view>;

  struct Store {
    WordList words;
    RowMatrix vectors;
    std::vector<float> inverse_lengths;
    std::vector<std::uint64_t> counts;
    std::shared_ptr<const void> memory;  // holds the vectors if they are a view
  };

 public:
  /// A query: the sum of the unit vectors of `positive` minus those of `negative`.
  struct Sum {
    std::vector<std::string_view> positive, negative = {};
  };

  struct Compression;

  /// `counts` [V]: how often each word occurs in the text, empty where that is unknown. Throws
  /// InvalidArgument unless `vectors` has one row for each word, and something in each, and for
  /// another number of counts. `memory` is kept: it may hold the vectors (RowMatrix::view).
  Embeddings(WordList words, RowMatrix vectors, std::span<const std::uint64_t> counts = {},
             std::shared_ptr<const void> memory = nullptr);

  /// Writes word2vec's binary format, or another one; the file appears whole or not at all. Throws
  /// IoError, and InvalidArgument for a word that the format cannot hold (check_words) and for
  /// formats of whole models. `save` and `load`: io/embeddings_file.hpp (wordloom.hpp).
  void save(const std::filesystem::path& path, VectorFormat format = {}) const;
  /// Reads a file in any format of vectors or models, see VectorFile, which also takes a format.
  /// Throws IoError, and FormatError with the place that is wrong.
  [[nodiscard]] static Embeddings load(const std::filesystem::path& path);
  [[nodiscard]] static Embeddings load(const std::filesystem::path& path,
                                       const LoadOptions& options);

  /// Returns the vectors of `a` and `b` joined [V x (D_a + D_b)], each first divided by its length
  /// (zeros stay). This is how LINE joins first and second order (Tang et al. 2015, section 4.1.2).
  /// Throws InvalidArgument unless both have the same words in the same order.
  [[nodiscard]] static Embeddings concatenate(const Embeddings& a, const Embeddings& b);

  std::size_t size() const noexcept { return store_->words.size(); }
  std::size_t dimension() const noexcept { return store_->vectors.columns(); }
  const WordList& words() const& noexcept { return store_->words; }
  void words() const&& = delete;
  /// Returns the vectors [V x D], row-major.
  const RowMatrix& vectors() const& noexcept { return store_->vectors; }
  void vectors() const&& = delete;
  /// Returns 1 / length of each vector [V], 0 for a vector of zeros.
  std::span<const float> inverse_lengths() const& noexcept { return store_->inverse_lengths; }
  void inverse_lengths() const&& = delete;
  /// [V] how often each word occurs in the text: vectors that were just trained and files of whole
  /// models have counts, other files have none. Empty where there are none.
  std::span<const std::uint64_t> counts() const& noexcept { return store_->counts; }
  void counts() const&& = delete;
  /// Returns the count of a word, if there are counts. Throws UnknownWord.
  std::optional<std::uint64_t> count(std::string_view word) const {
    const WordId id = words().at(word);
    return counts().empty() ? std::nullopt : std::optional(counts()[id]);
  }

  bool contains(std::string_view word) const noexcept { return find(word).has_value(); }
  [[nodiscard]] std::optional<WordId> find(std::string_view word) const noexcept {
    return words().find(word);
  }
  std::string_view word(std::size_t id) const& noexcept { return words()[id]; }
  void word(std::size_t id) const&& = delete;
  std::span<const float> vector(std::size_t id) const& noexcept { return vectors().row(id); }
  void vector(std::size_t id) const&& = delete;
  /// Returns the vector of a word. Throws UnknownWord.
  std::span<const float> vector(std::string_view word) const& { return vector(words().at(word)); }
  void vector(std::string_view word) const&& = delete;
  /// Returns vector(id) or vector(word).
  std::span<const float> operator[](std::size_t id) const& noexcept { return vector(id); }
  std::span<const float> operator[](std::string_view word) const& { return vector(word); }
  void operator[](std::size_t id) const&& = delete;
  void operator[](std::string_view word) const&& = delete;

  /// A word and its vector [D], which iteration gives: `for (auto [word, vector] : embeddings)`.
  struct Entry {
    std::string_view word;
    std::span<const float> vector;
  };
  /// An input iterator over entries. Valid as long as any copy of the embeddings.
  class Iterator {
   public:
    using value_type = Entry;
    using difference_type = std::ptrdiff_t;

    Entry operator*() const noexcept { return {store_->words[id_], store_->vectors.row(id_)}; }
    Iterator& operator++() noexcept {
      ++id_;
      return *this;
    }
    Iterator operator++(int) noexcept {
      Iterator before = *this;
      ++id_;
      return before;
    }
    bool operator==(const Iterator&) const noexcept = default;

   private:
    friend Embeddings;
    const Store* store_ = nullptr;
    std::size_t id_ = 0;
  };
  Iterator begin() const& noexcept { return iterator_at(0); }
  Iterator end() const& noexcept { return iterator_at(size()); }
  void begin() const&& = delete;
  void end() const&& = delete;

  /// Returns the cosine of two words, 0 when a vector is all zeros.
  [[nodiscard]] float similarity(WordId a, WordId b) const noexcept {
    return queries().cosine(a, b);
  }
  [[nodiscard]] float similarity(std::string_view a, std::string_view b) const {
    return similarity(words().at(a), words().at(b));
  }
  /// Returns the cosine of the means of two lists of words, whose vectors are taken as they are.
  template <class A = List, class B = List>
  requires WordRange<const A&> && WordRange<const B&>
  [[nodiscard]] float n_similarity(const A& a, const B& b) const {
    return queries().cosine_of_means(ids_of(a), ids_of(b));
  }

  /// Returns 1 - cosine of a word and each word [V] by id, or each of `others`.
  [[nodiscard]] std::vector<float> distances(std::string_view word) const {
    return distances(vector(word));
  }
  template <class Words = List>
  requires WordRange<const Words&>
  [[nodiscard]] std::vector<float> distances(std::string_view word, const Words& others) const {
    return distances_to(word, ids_of(others));
  }
  /// Returns 1 - cosine of a vector [D] and each word [V] by id. Throws InvalidArgument for another
  /// length than dimension().
  [[nodiscard]] std::vector<float> distances(std::span<const float> vector) const;

  /// Returns the words that are nearer to `a` than `b` is, by id.
  [[nodiscard]] std::vector<std::string> closer_than(std::string_view a, std::string_view b) const;
  /// Returns the place of `b` among the words nearest to `a`, from 1.
  [[nodiscard]] std::size_t rank(std::string_view a, std::string_view b) const {
    return queries().closer_than(words().at(a), words().at(b)).size() + 1;
  }

  /// Returns the k words nearest to `word` by cosine.
  [[nodiscard]] std::vector<Neighbour> most_similar(std::string_view word, std::size_t k = 10,
                                                    QueryOptions options = {}) const {
    return named(queries().nearest_to_each({words().at(word)}, k, options).front());
  }
  /// Returns the k words nearest to the sum of the unit vectors of some words minus those of
  /// others: `most_similar({.positive = {"king", "woman"}, .negative = {"man"}}, 3)`.
  [[nodiscard]] std::vector<Neighbour> most_similar(const Sum& sum, std::size_t k = 10,
                                                    QueryOptions options = {}) const {
    return named(queries().nearest_to_sum(ids_of(sum.positive), ids_of(sum.negative), k, options));
  }
  /// Returns the k words nearest to the sum of the unit vectors of some words.
  template <class Words = List>
  requires WordRange<const Words&>
  [[nodiscard]] std::vector<Neighbour> most_similar(const Words& words, std::size_t k = 10,
                                                    QueryOptions options = {}) const {
    return named(queries().nearest_to_sum(ids_of(words), {}, k, options));
  }
  /// Returns the k words nearest to a vector [D]. Throws InvalidArgument for another length than
  /// dimension() and numbers that are not finite.
  [[nodiscard]] std::vector<Neighbour> most_similar(std::span<const float> vector,
                                                    std::size_t k = 10,
                                                    QueryOptions options = {}) const;

  /// Returns the k words nearest to each of many, which costs less than one query after the other.
  template <class Words = List>
  requires WordRange<const Words&>
  [[nodiscard]] std::vector<std::vector<Neighbour>> most_similar_each(
      const Words& words, std::size_t k = 10, QueryOptions options = {}) const {
    return named(queries().nearest_to_each(ids_of(words), k, options));
  }

  /// Returns the k words with the largest product of cosines with the positive words over that with
  /// the negative ones, cosines moved to [0, 1] (3CosMul, Levy and Goldberg 2014, for any number of
  /// words). Throws InvalidArgument where no word is positive.
  [[nodiscard]] std::vector<Neighbour> most_similar_cosmul(const Sum& words, std::size_t k = 10,
                                                           QueryOptions options = {}) const {
    return named(
        queries().nearest_by_product(ids_of(words.positive), ids_of(words.negative), k, options));
  }

  /// Returns the k best answers to "a is to b as c is to ?".
  [[nodiscard]] std::vector<Neighbour> analogy(std::string_view a, std::string_view b,
                                               std::string_view c, std::size_t k = 10,
                                               AnalogyMethod method = AnalogyMethod::cos_add,
                                               QueryOptions options = {}) const {
    const detail::AnalogyIds ids{words().at(a), words().at(b), words().at(c)};
    return named(queries().analogies(std::span(&ids, 1), k, method, options).front());
  }

  /// Returns the word of `words` that is least similar to the mean of their unit vectors.
  template <class Words = List>
  requires WordRange<const Words&>
  [[nodiscard]] std::string doesnt_match(const Words& words) const {
    return std::string(word(queries().odd_one(ids_of(words))));
  }

  /// Returns the mean of the unit vectors of `words` [D], not divided by its length.
  template <class Words = List>
  requires WordRange<const Words&>
  [[nodiscard]] std::vector<float> mean_vector(const Words& words) const {
    return queries().mean(ids_of(words));
  }

  /// Returns the same words with vectors of length 1; vectors of zeros stay.
  [[nodiscard]] Embeddings normalized() const;
  /// Returns the vectors of words that are numbers, such as those of EncodedCorpus::from_ids, in
  /// rows of these numbers: `vector(42)` is that of "42", `similarity(42, 7)` of "42" and "7", and
  /// `save` writes them in this order. Numbers without a vector, which never occur or too rarely,
  /// have zeros: a similarity of 0, a count of 0. `rows` is the number of rows, 0: the highest
  /// number + 1. Throws InvalidArgument if a word is not a number, begins with a needless 0, or is
  /// not below `rows` and 4294967294.
  [[nodiscard]] Embeddings by_id(std::size_t rows = 0) const;
  /// Returns a smaller form: see model/compressed_embeddings.hpp (wordloom.hpp).
  [[nodiscard]] CompressedEmbeddings compress(const Compression& compression) const;
  /// Returns the first `words` words, all if there are fewer; those of trained vectors are the most
  /// frequent.
  [[nodiscard]] Embeddings first(std::size_t words) const;
  /// Returns the vectors without their mean and projected onto the `dimension` directions of the
  /// largest variance (principal component analysis). Any number of threads gives the same bits.
  /// Throws InvalidArgument unless `dimension` is 1 to D and all numbers are finite. Defined in
  /// algebra/principal_components.hpp, as without_top.
  [[nodiscard]] Embeddings reduced(std::size_t dimension, std::size_t threads = 0) const;
  /// Returns the vectors without their mean and 0 to D - 1 directions of the largest variance
  /// ("all but the top", Mu and Viswanath 2018, with D / 100). Throws as reduced().
  [[nodiscard]] Embeddings without_top(std::size_t components, std::size_t threads = 0) const;

  /// Returns a copy: code for any vectors uses it, see AnyWordEmbeddings.
  [[nodiscard]] Embeddings in_vocabulary() const { return *this; }

 private:
  detail::RowQueries queries() const noexcept { return {vectors(), inverse_lengths()}; }
  Iterator iterator_at(std::size_t id) const noexcept {
    Iterator iterator;
    iterator.store_ = store_.get();
    iterator.id_ = id;
    return iterator;
  }

  template <class Words>
  std::vector<WordId> ids_of(const Words& words) const {
    std::vector<WordId> ids;
    for (const auto& word : words) ids.push_back(store_->words.at(word));
    return ids;
  }

  void require_dimension(std::span<const float> vector) const;
  std::vector<float> distances_to(std::string_view word, const std::vector<WordId>& others) const;

  std::vector<Neighbour> named(const std::vector<detail::NearestRow>& found) const;
  std::vector<std::vector<Neighbour>> named(
      const std::vector<std::vector<detail::NearestRow>>& found) const {
    std::vector<std::vector<Neighbour>> result;
    for (const auto& nearest : found) result.push_back(named(nearest));
    return result;
  }

  std::shared_ptr<const Store> store_;
};

}}  // namespace wordloom::WORDLOOM_ABI

#if WORDLOOM_DEFINES_FUNCTIONS
#include <wordloom/model/embeddings.inl>
#endif
