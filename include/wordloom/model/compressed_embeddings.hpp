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
#include <wordloom/core/files.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/model/compression.hpp>
#include <wordloom/model/detail/compressed_file.hpp>
#include <wordloom/model/embeddings.hpp>
#include <wordloom/query/nearest_rows.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {
class InputFile;
}  // namespace detail

/// Words and their vectors [V x D] in a small form, immutable, which Embeddings::compress makes.
/// Queries compute with the small form: a product of a float32 vector with each row of 16 bits, 8
/// bits or codes. They have the names, meanings and errors of Embeddings; scores are those of the
/// decoded vectors up to the rounding of float32, and do not depend on the number of threads.
///
/// The file is mapped, not read, so that load() takes less than a millisecond and processes that
/// have it open share its memory. It must not be changed in place or cut while a copy uses it;
/// save() over it is safe. Copies share the vectors; all members are thread-safe. Views and
/// references are valid as long as any copy. The content is little-endian.
class CompressedEmbeddings {
  using List = std::initializer_list<std::string_view>;
  using Ids = std::vector<WordId>;

 public:
  using Format = Embeddings::Compression::Format;
  using Sum = Embeddings::Sum;

  /// Maps a file of save(). Only its header is checked; validate() reads all. Throws IoError, and
  /// FormatError with the byte that is wrong, for another version too. Members throw FormatError
  /// where they find that a word of a mapped file is damaged.
  [[nodiscard]] static CompressedEmbeddings load(const std::filesystem::path& path);
  /// Shares a file that is already open.
  [[nodiscard]] static CompressedEmbeddings load(std::shared_ptr<const detail::InputFile> file);
  /// Writes a file, which appears whole or not at all. Throws IoError.
  void save(const std::filesystem::path& path) const {
    AtomicFile file(path);
    write(file);
    file.commit();
  }
  /// Writes into a file that is already open; does not commit.
  void write(AtomicFile& file) const { file.write(file_->content()); }
  /// Reads all of a mapped file and compares it with its checksums. Throws FormatError with the
  /// byte at which the damaged section begins.
  void validate() const { file_->validate(); }

  Format format() const noexcept { return static_cast<Format>(file_->header().format); }
  std::size_t size() const noexcept { return file_->header().words; }
  std::size_t dimension() const noexcept { return file_->header().dimension; }
  /// Returns the size of the file, with words.
  std::size_t bytes() const noexcept { return file_->content().size(); }
  /// Returns the bytes of the vectors, with scales, lengths and centres, without words.
  std::size_t vector_bytes() const noexcept { return bytes() - file_->layout().scales; }
  /// Returns how often each word occurs in the text [V], as Embeddings do; empty if unknown.
  std::span<const std::uint64_t> counts() const& noexcept {
    return file_->section<std::uint64_t>(file_->layout().counts,
                                         file_->header().has_counts * size());
  }
  void counts() const&& = delete;

  bool contains(std::string_view word) const { return find(word).has_value(); }
  [[nodiscard]] std::optional<WordId> find(std::string_view word) const {
    return file_->find(word);
  }
  std::string_view word(std::size_t id) const& { return file_->word(id); }
  void word(std::size_t id) const&& = delete;

  /// Returns the decoded vector [D] of a word.
  [[nodiscard]] std::vector<float> vector(std::size_t id) const;
  [[nodiscard]] std::vector<float> vector(std::string_view word) const { return vector(at(word)); }
  /// Returns all words and their decoded vectors. Calls validate().
  [[nodiscard]] Embeddings decoded() const;
  /// Returns a copy: code for any vectors uses it, see AnyWordEmbeddings.
  [[nodiscard]] CompressedEmbeddings in_vocabulary() const { return *this; }

  /// Returns the cosine of two words, 0 when a vector is all zeros.
  [[nodiscard]] float similarity(WordId a, WordId b) const;
  [[nodiscard]] float similarity(std::string_view a, std::string_view b) const {
    return similarity(at(a), at(b));
  }

  /// Returns the k words nearest to `word` by cosine.
  [[nodiscard]] std::vector<Neighbour> most_similar(std::string_view word, std::size_t k = 10,
                                                    QueryOptions options = {}) const {
    return nearest_to_each({at(word)}, k, options).front();
  }
  /// Returns the k words nearest to the sum of the unit vectors of some words minus those of
  /// others.
  [[nodiscard]] std::vector<Neighbour> most_similar(const Sum& sum, std::size_t k = 10,
                                                    QueryOptions options = {}) const {
    return nearest_to_sum(ids_of(sum.positive), ids_of(sum.negative), k, options);
  }
  /// Returns the k words nearest to the sum of the unit vectors of some words.
  template <class Words = List>
  requires WordRange<const Words&>
  [[nodiscard]] std::vector<Neighbour> most_similar(const Words& words, std::size_t k = 10,
                                                    QueryOptions options = {}) const {
    return nearest_to_sum(ids_of(words), {}, k, options);
  }
  /// Returns the k words nearest to a vector [D]. Throws InvalidArgument for another length than
  /// dimension() and numbers that are not finite.
  [[nodiscard]] std::vector<Neighbour> most_similar(std::span<const float> vector,
                                                    std::size_t k = 10,
                                                    QueryOptions options = {}) const;
  /// Returns the k words nearest to each of many.
  template <class Words = List>
  requires WordRange<const Words&>
  [[nodiscard]] std::vector<std::vector<Neighbour>> most_similar_each(
      const Words& words, std::size_t k = 10, QueryOptions options = {}) const {
    return nearest_to_each(ids_of(words), k, options);
  }
  /// Returns the k best answers to "a is to b as c is to ?".
  [[nodiscard]] std::vector<Neighbour> analogy(std::string_view a, std::string_view b,
                                               std::string_view c, std::size_t k = 10,
                                               AnalogyMethod method = AnalogyMethod::cos_add,
                                               QueryOptions options = {}) const;

 private:
  friend Embeddings;

  CompressedEmbeddings(std::shared_ptr<const void> memory, std::string_view content,
                       const std::filesystem::path& path)
      : memory_(std::move(memory)),
        file_(std::make_shared<const detail::CompressedFile>(content, path)) {}

  WordId at(std::string_view word) const {
    if (const auto id = find(word)) return *id;
    throw UnknownWord(word);
  }
  template <class Words>
  Ids ids_of(const Words& words) const {
    Ids ids;
    for (const auto& word : words) ids.push_back(at(word));
    return ids;
  }

  /// Adds the vector of a word, divided by its length and times `sign`, to `sum` [D].
  void add_unit(WordId id, float sign, std::span<float> sum) const;
  std::vector<Neighbour> nearest_to_sum(const Ids& positive, const Ids& negative, std::size_t k,
                                        QueryOptions options) const;
  std::vector<std::vector<Neighbour>> nearest_to_each(const Ids& ids, std::size_t k,
                                                      QueryOptions options) const;
  /// Returns the k rows nearest to each question, as detail::nearest_rows does; `without`: for each
  /// question, the rows that are left out.
  template <class Score>
  std::vector<std::vector<Neighbour>> search(const RowMatrix& questions, std::size_t each,
                                             const Score& score, const std::vector<Ids>& without,
                                             std::size_t k, QueryOptions options) const;

  std::shared_ptr<const void> memory_;  // holds the content
  std::shared_ptr<const detail::CompressedFile> file_;
};

}}  // namespace wordloom::WORDLOOM_ABI

#if WORDLOOM_DEFINES_FUNCTIONS
#include <wordloom/model/compressed_embeddings.inl>
#include <wordloom/model/detail/compress.inl>
#endif
