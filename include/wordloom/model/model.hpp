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
/// locks (Hogwild, Recht et al. 2011); otherwise a model is an ordinary value.
///
/// A model of one matrix (Model::Shape::one_matrix) scores rows of `input` against each other, as
/// first-order LINE does: `output` has the rows of `input` in the same memory and is not listed,
/// saved or sent. Code that moves the rows of `input` must call tie_output() afterwards.
struct Model {
  /// The sizes of a model of V words.
  struct Shape {
    std::size_t dimension;
    std::size_t input_rows = 0;   // at least V; 0: V, and those of subwords
    std::size_t output_rows = 0;  // 0: V
    bool one_matrix = false;      // both sides are `input`; output_rows is then 0 or input_rows
    std::optional<SubwordOptions> subwords = {};  // input_rows is then 0, or V plus their rows
  };

  /// The matrix of a model that a row belongs to.
  enum class Side : std::uint8_t { input, output };

  Vocabulary vocabulary;           // word w has row w of `input`; empty: a model without words
  RowMatrix input;                 // rows [0, V): words; [V, R_in): others, such as n-gram buckets
  RowMatrix output;                // words, inner nodes of a Huffman tree, or both
  std::vector<NamedMatrix> state;  // of an optimizer, "input.NAME" or "output.NAME" each
  /// If set, the vector of a word is the mean of its bag (SubwordTable): its own row of `input` and
  /// those of its n-grams, which follow the words.
  std::optional<SubwordOptions> subwords;

  /// Initializes a model like word2vec, input uniform in [-0.5/D, 0.5/D) and output zero, with one
  /// row for each word. The number of threads does not change the result. Throws std::bad_alloc if
  /// the model does not fit into memory.
  Model(Vocabulary words, std::size_t dimension, std::uint64_t seed = 1)
      : Model(std::move(words), Shape{.dimension = dimension}, seed) {}

  /// Initializes a model of a given shape. Also throws InvalidArgument if a word has no input row,
  /// if one matrix has two row counts, and if the options of subwords are out of bounds or the
  /// input does not have their rows.
  Model(Vocabulary words, const Shape& shape, std::uint64_t seed = 1);

  /// Initializes a model without words, for kernels alone: trainers refuse it.
  Model(std::size_t rows, std::size_t dimension, std::uint64_t seed = 1)
      : Model(Vocabulary(), Shape{dimension, rows, rows}, seed) {}

  std::size_t rows() const noexcept { return input.rows(); }
  std::size_t dimension() const noexcept { return input.columns(); }

  /// Returns whether both sides are one matrix.
  bool has_one_matrix() const noexcept { return output.is_borrowed(); }
  /// Makes `output` refer to the rows of `input` at their current place.
  void tie_output() noexcept { output = input.borrow(); }

  /// A matrix of a model and its name; both are valid as long as no state matrix is added.
  template <class Matrix>
  struct MatrixRef {
    std::string_view name;
    Matrix* matrix;
  };

  /// Returns "input", "output" unless it is the same, then `state` in its order.
  std::vector<MatrixRef<RowMatrix>> matrices() { return list<RowMatrix>(*this); }
  std::vector<MatrixRef<const RowMatrix>> matrices() const { return list<const RowMatrix>(*this); }

  /// Returns deep copies of `matrices()`.
  [[nodiscard]] std::vector<NamedMatrix> copy_of_matrices() const {
    std::vector<NamedMatrix> copies;
    for (const auto& [name, matrix] : matrices())
      copies.push_back({std::string(name), matrix->copy()});
    return copies;
  }

  /// Replaces all matrices by those that `copy_of_matrices` returned. Throws InvalidArgument unless
  /// the first are an input and, if there are two sides, an output of the current shapes.
  void set_matrices(std::vector<NamedMatrix> copies);

  /// Returns the state matrix `name` [rows x columns], columns = 0: D; if there is none, adds it,
  /// filled with zeros. The reference is valid until another one is added. Throws InvalidArgument
  /// if it exists with another shape.
  RowMatrix& state_matrix(std::string_view name, std::size_t rows, std::size_t columns = 0);

  /// Returns the vectors of the words: copies of their input rows, or from a temporary model
  /// without further rows the matrix itself. With subwords they are the means of the words' bags
  /// (SubwordEmbeddings has vectors of other words too). Throws InvalidArgument for a model without
  /// words.
  [[nodiscard]] Embeddings embeddings() const&;
  [[nodiscard]] Embeddings embeddings() &&;

  /// Starts words from known vectors (fastText: -pretrainedVectors): each word of the model that
  /// has a known vector gets it as its own input row. Returns the number of these words. Throws
  /// InvalidArgument for vectors of another dimension.
  std::size_t set_vectors(const Embeddings& known);

  /// Adds the words of `more` (gensim: build_vocab with update). The new vocabulary is the union by
  /// descending count, in which counts of words in both are added; a minimum count is up to the
  /// caller, who counts `more` with it. Known words keep their rows of every matrix bit for bit, in
  /// new places. New words start as in a new model, from streams of random numbers that depend on
  /// `seed` and on the number of words before, so that no vector occurs twice.
  ///
  /// Other input rows still follow the words. Output rows must belong, for V words, to V words, V -
  /// 1 inner nodes of a Huffman tree, or 2V - 1 of both (word w in row 2w, inner node k in row 2k +
  /// 1). Nodes are zero afterwards, because they have no meaning in another tree. State matrices
  /// "input.NAME" and "output.NAME" of as many rows are moved likewise, with zeros for new rows;
  /// others stay.
  ///
  /// Takes the memory of a second model until it returns. Throws std::bad_alloc, and
  /// InvalidArgument for a model without words or with other numbers of rows and for counts that
  /// exceed 64 bits; the model is then unchanged.
  void extend(const Vocabulary& more, std::uint64_t seed = 1);

  /// Writes the model as one file, whole or not at all (SectionWriter, "wordloom model 1"): words
  /// as a text with a newline after each, their counts, the number of matrices (followed by a 1 if
  /// both sides are one matrix, or by a 0 and minn, maxn and buckets of subwords), the matrices.
  /// Throws IoError, and InvalidArgument for two matrices of the same name and for a word that
  /// contains a newline.
  void save(const std::filesystem::path& path) const;

  /// Returns whether `text` begins like a file of `save`.
  [[nodiscard]] static bool recognizes(std::string_view text) noexcept {
    return text.starts_with(format);
  }

  /// Reads a file of `save`, plain or .gz. Throws IoError, FormatError with the byte for a file
  /// that is cut short, damaged or not a model, and std::bad_alloc.
  [[nodiscard]] static Model load(const std::filesystem::path& path) {
    return load(detail::InputFile(path));
  }
  [[nodiscard]] static Model load(const detail::InputFile& file);

 private:
  static constexpr std::string_view format = "wordloom model 1";
  // An "epoch" that no training reaches, so that these streams are never drawn from again. `extend`
  // uses the epoch as many before it as there were words.
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

  /// Returns a name that two matrices have.
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
