#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/core/detail/section_file.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/corpus/subwords.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/model/detail/composed_vectors.hpp>
#include <wordloom/model/detail/row_sources.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// A vocabulary of V words and a list of named row matrices, of which the first two are `input`
/// [R_in x D] and `output` [R_out x D]. During training all threads read and write rows without
/// locks (Hogwild, Recht et al. 2011); otherwise a model is an ordinary value. One that was moved
/// from may only be assigned to or destroyed.
///
/// A model of one matrix (Model::Shape::one_matrix) scores rows of `input` against each other, as
/// first-order LINE does: `output` is a second name for the rows of `input`. It is not listed by
/// matrices(), not saved and not exchanged between ranks. Code that moves the rows of `input` must
/// call tie_output() afterwards.
struct Model {
  /// A matrix and its name, for example "input".
  using NamedMatrix = detail::NamedMatrix;

  /// The sizes of a model of V words.
  struct Shape {
    std::size_t dimension;
    std::size_t input_rows = 0;   // at least V; 0: V plus the rows of subwords
    std::size_t output_rows = 0;  // 0: V
    bool one_matrix = false;      // `output` is `input`; output_rows is then 0 or input_rows
    std::optional<SubwordOptions> subwords = {};  // input_rows is then 0 or V + subwords->rows()
  };

  /// The matrix of a model that a row belongs to.
  enum class Side : std::uint8_t { input, output };

  Vocabulary vocabulary;           // word w has row w of `input`; empty: a model without words
  RowMatrix input;                 // rows [0, V): words; [V, R_in): others, such as n-gram buckets
  RowMatrix output;                // words, inner nodes of a Huffman tree, or both
  std::vector<NamedMatrix> state;  // of an optimizer ("input.NAME", "output.NAME") or an encoder
  /// If set, the vector of a word is the mean of its bag (SubwordTable): its own row of `input` and
  /// the rows of its n-grams, which follow the rows of the words.
  std::optional<SubwordOptions> subwords;

  /// Initializes a model as word2vec does: `input` uniform in [-0.5/D, 0.5/D), `output` zero, with
  /// one row for each word in each. The result does not depend on the number of threads. Throws
  /// std::bad_alloc if the model does not fit into memory.
  Model(Vocabulary words, std::size_t dimension, std::uint64_t seed = 1)
      : Model(std::move(words), Shape{.dimension = dimension}, seed) {}

  /// Initializes a model of a given shape. Also throws InvalidArgument if a word has no input row,
  /// if `output_rows` of a single matrix is neither 0 nor its number of rows, and if the subword
  /// options are out of bounds, the input does not have their rows or there is only one matrix.
  Model(Vocabulary words, const Shape& shape, std::uint64_t seed = 1);

  /// Initializes a model without words, to test or measure a kernel. Trainers refuse it.
  Model(std::size_t rows, std::size_t dimension, std::uint64_t seed = 1)
      : Model(Vocabulary(), Shape{dimension, rows, rows}, seed) {}

  std::size_t rows() const noexcept { return input.rows(); }
  std::size_t dimension() const noexcept { return input.columns(); }

  /// Returns whether `output` is a second name for the rows of `input`.
  bool has_one_matrix() const noexcept { return output.is_borrowed(); }
  /// Makes `output` refer to the current memory of `input`.
  void tie_output() noexcept { output = input.borrow(); }

  /// A matrix of a model and its name. Both are valid until a state matrix is added.
  template <class Matrix>
  struct MatrixRef {
    std::string_view name;
    Matrix* matrix;
  };

  /// Returns "input", then "output" if it is another matrix, then `state` in its order.
  std::vector<MatrixRef<RowMatrix>> matrices() { return list<RowMatrix>(*this); }
  std::vector<MatrixRef<const RowMatrix>> matrices() const { return list<const RowMatrix>(*this); }

  /// Returns deep copies of `matrices()`.
  [[nodiscard]] std::vector<NamedMatrix> copy_of_matrices() const;

  /// Replaces all matrices with those that `copy_of_matrices` returned. Throws InvalidArgument
  /// unless the list begins with "input" and, if the model has two matrices, "output", in the
  /// current shapes.
  void set_matrices(std::vector<NamedMatrix> copies);

  /// Returns the state matrix `name` [rows x columns]; `columns` = 0 means D. Adds it, filled with
  /// zeros, if it does not exist. The reference is valid until another one is added. Throws
  /// InvalidArgument if the matrix exists with another shape.
  RowMatrix& state_matrix(std::string_view name, std::size_t rows, std::size_t columns = 0);

  /// Returns the vectors of the words, copied from their input rows. A temporary model that has no
  /// other input rows gives away its matrix without a copy. With subwords, a vector is the mean of
  /// the word's bag; use SubwordEmbeddings for vectors of unknown words. Throws InvalidArgument for
  /// a model without words.
  [[nodiscard]] Embeddings embeddings() const&;
  [[nodiscard]] Embeddings embeddings() &&;

  /// Initializes words from known vectors (fastText: -pretrainedVectors): copies the vector of each
  /// word that is in `known` to the word's own input row. Returns the number of these words. Throws
  /// InvalidArgument for vectors of another dimension.
  std::size_t set_vectors(const Embeddings& known);

  /// Adds the words of `more` (gensim: build_vocab with update). The new vocabulary is the union of
  /// both, by descending count; counts of words in both are added. To leave out rare words, count
  /// `more` with a minimum count. Known words keep the values of their rows in every matrix, at new
  /// positions. New words are initialized as in a new model. Their random numbers depend on `seed`
  /// and on the previous number of words, so that no vector occurs twice.
  ///
  /// The rows of n-grams still follow those of the words. For V words, `output` must have V rows
  /// (words), V - 1 rows (inner nodes of a Huffman tree) or 2V - 1 rows (both: word w in row 2w,
  /// inner node k in row 2k + 1). Rows of inner nodes are set to zero, because they have no meaning
  /// in the new tree. State matrices "input.NAME" and "output.NAME" with the number of rows of that
  /// side are rearranged in the same way, with zeros for new rows. Other state matrices stay.
  ///
  /// Needs the memory of a second model until it returns. Throws std::bad_alloc, and
  /// InvalidArgument for a model without words, for other numbers of rows and for counts that
  /// exceed 64 bits. The model is then unchanged.
  void extend(const Vocabulary& more, std::uint64_t seed = 1);

  /// Writes the model to one file. If writing fails, no incomplete file is left at `path`. Format
  /// (SectionWriter, "wordloom model 1"): the words as a text with a newline after each, their
  /// counts, the number of matrices (then 1 for a single matrix, or 0, minn, maxn and buckets for
  /// subwords), the matrices. Throws IoError, and InvalidArgument for two matrices with one name
  /// and for a word that contains a newline.
  void save(const std::filesystem::path& path) const;

  struct FastTextOptions;
  /// Writes version 12 of fastText's .bin, with the loss ns, whole or not at all. Input rows other
  /// than those of words and n-grams and an optimizer's state are left out. Throws IoError, and,
  /// before the first byte, InvalidArgument for options out of bounds and for a model without
  /// words, with one matrix for both sides, with other than V output rows (hierarchical softmax),
  /// with more than 2^31 - 1 words and buckets, or with a zero byte in a word. Defined in
  /// io/fasttext_file.hpp, which wordloom.hpp includes.
  void save_fasttext(const std::filesystem::path& path) const;
  void save_fasttext(const std::filesystem::path& path, const FastTextOptions& options) const;

  /// Returns whether `text` begins like a file that `save` wrote.
  [[nodiscard]] static bool recognizes(std::string_view text) noexcept {
    return text.starts_with(format);
  }

  /// Reads a file that `save` wrote, plain or .gz. Throws IoError, std::bad_alloc, and FormatError
  /// with the byte offset for a file that is truncated, damaged or not a model.
  [[nodiscard]] static Model load(const std::filesystem::path& path) {
    return load(detail::InputFile(path));
  }
  [[nodiscard]] static Model load(const detail::InputFile& file);

 private:
  static constexpr std::string_view format = "wordloom model 1";
  // An "epoch" that no training reaches, so that initial values share no random stream with
  // training. `extend` subtracts the previous number of words, which gives it streams of its own.
  static constexpr std::uint64_t init_stream = ~std::uint64_t{0};

  Model() = default;

  void require_subword_rows() const;

  template <class Matrix, class Self>
  static std::vector<MatrixRef<Matrix>> list(Self& model) {
    std::vector<MatrixRef<Matrix>> all{{"input", &model.input}};
    if (!model.has_one_matrix()) all.push_back({"output", &model.output});
    for (auto& named : model.state) all.push_back({named.name, &named.matrix});
    return all;
  }

  static std::size_t input_rows_of(const Shape& shape, std::size_t words) {
    if (shape.input_rows != 0) return shape.input_rows;
    return words + (shape.subwords ? shape.subwords->rows() : 0);
  }
  static std::size_t output_rows_of(const Shape& shape, std::size_t words) {
    return shape.one_matrix ? 0 : shape.output_rows == 0 ? words : shape.output_rows;
  }
  std::size_t side_count() const noexcept { return has_one_matrix() ? 1 : 2; }
  void set_sides(RowMatrix new_input, RowMatrix new_output) noexcept {
    input = std::move(new_input);
    output = has_one_matrix() ? input.borrow() : std::move(new_output);
  }

  static std::string shape_of(std::size_t rows, std::size_t columns) {
    return detail::joined({rows, " x ", columns});
  }

  /// Returns the name of a matrix if another matrix has it too; nothing if all names differ.
  std::optional<std::string_view> duplicate_name() const {
    WordList names;
    for (const auto& [name, matrix] : matrices())
      if (!names.append(name)) return name;
    return std::nullopt;
  }

  void require_words(const char* what) const {
    if (vocabulary.empty()) throw InvalidArgument{"a model without words ", what};
  }

  static Vocabulary read_vocabulary(detail::SectionReader& file);
};

using ModelShape [[deprecated("use Model::Shape")]] = Model::Shape;

}}  // namespace wordloom::WORDLOOM_ABI

#if WORDLOOM_DEFINES_FUNCTIONS
#include <wordloom/model/detail/model.inl>
#endif
