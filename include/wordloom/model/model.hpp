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

#include <wordloom/core/error.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/section_file.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/model/embeddings.hpp>
#include <wordloom/model/row_sources.hpp>
#include <wordloom/model/vocabulary_union.hpp>

namespace wordloom {

/// The sizes of a model of V words.
struct ModelShape {
  std::size_t dimension;
  std::size_t input_rows = 0;   // at least V; 0: V
  std::size_t output_rows = 0;  // 0: V
};

/// The trainable whole: a vocabulary of V words and a list of named row matrices, of which the
/// first two are `input` [R_in x D] and `output` [R_out x D]. During training all threads read and
/// write rows without locks (Hogwild, Recht et al. 2011); otherwise a model is an ordinary value.
struct Model {
  Vocabulary vocabulary;           // word w has row w of `input`; empty: a model without words
  RowMatrix input;                 // rows [0, V): words; [V, R_in): others, such as n-gram buckets
  RowMatrix output;                // words, inner nodes of a Huffman tree, or both
  std::vector<NamedMatrix> state;  // of an optimizer, "input.NAME" or "output.NAME" each

  /// Initializes a model as word2vec does, input uniform in [-0.5/D, 0.5/D) and output zero, with
  /// one row for each word. The same for any number of threads. Throws std::bad_alloc when the
  /// model does not fit into memory.
  Model(Vocabulary words, std::size_t dimension, std::uint64_t seed = 1)
      : Model(std::move(words), ModelShape{.dimension = dimension}, seed) {}

  /// The same with row counts of its own. Also throws InvalidArgument when a word has no input row.
  Model(Vocabulary words, const ModelShape& shape, std::uint64_t seed = 1)
      : vocabulary(std::move(words)),
        input(shape.input_rows == 0 ? vocabulary.size() : shape.input_rows, shape.dimension),
        output(shape.output_rows == 0 ? vocabulary.size() : shape.output_rows, shape.dimension) {
    if (input.rows() < vocabulary.size())
      throw InvalidArgument("input_rows is " + std::to_string(input.rows()) +
                            ", expected at least one row for each of " +
                            std::to_string(vocabulary.size()) + " words");
    detail::draw_rows(input, {}, seed, init_stream);
  }

  /// Initializes a model without words, for kernels alone: trainers refuse it.
  Model(std::size_t rows, std::size_t dimension, std::uint64_t seed = 1)
      : Model(Vocabulary(), ModelShape{dimension, rows, rows}, seed) {}

  /// Rows of `input`.
  std::size_t rows() const noexcept { return input.rows(); }
  std::size_t dimension() const noexcept { return input.columns(); }

  /// A matrix of a model and its name; both are valid as long as no state matrix is added.
  template <class Matrix>
  struct MatrixRef {
    std::string_view name;
    Matrix* matrix;
  };

  /// Returns "input", "output", then `state` in its order.
  std::vector<MatrixRef<RowMatrix>> matrices() { return list<RowMatrix>(*this); }
  std::vector<MatrixRef<const RowMatrix>> matrices() const { return list<const RowMatrix>(*this); }

  /// Returns deep copies of `matrices()`.
  std::vector<NamedMatrix> copy_of_matrices() const {
    std::vector<NamedMatrix> copies;
    for (const auto& [name, matrix] : matrices())
      copies.push_back({std::string(name), matrix->copy()});
    return copies;
  }

  /// Puts back what `copy_of_matrices` returned, in place of all matrices. Throws InvalidArgument
  /// unless the first two are an input and an output of the present shapes.
  void set_matrices(std::vector<NamedMatrix> copies) {
    const auto present = matrices();
    for (std::size_t i = 0; i < 2; ++i)
      if (i >= copies.size() || copies[i].name != present[i].name ||
          copies[i].matrix.rows() != present[i].matrix->rows() ||
          copies[i].matrix.columns() != present[i].matrix->columns())
        throw InvalidArgument("expected matrix '" + std::string(present[i].name) + "' of " +
                              shape_of(*present[i].matrix) + ", got " +
                              (i >= copies.size()
                                   ? std::string("none")
                                   : "'" + copies[i].name + "' of " + shape_of(copies[i].matrix)));
    input = std::move(copies[0].matrix);
    output = std::move(copies[1].matrix);
    copies.erase(copies.begin(), copies.begin() + 2);
    state = std::move(copies);
  }

  /// Returns the state matrix `name` [rows x columns], columns = 0: D, and adds it, made of zeros,
  /// when there is none. The reference is valid until another one is added. Throws InvalidArgument
  /// when it exists and has another shape.
  RowMatrix& state_matrix(std::string_view name, std::size_t rows, std::size_t columns = 0) {
    if (columns == 0) columns = dimension();
    for (NamedMatrix& named : state) {
      if (named.name != name) continue;
      if (named.matrix.rows() != rows || named.matrix.columns() != columns)
        throw InvalidArgument("state matrix '" + named.name + "' is of " + shape_of(named.matrix) +
                              ", expected " + std::to_string(rows) + " x " +
                              std::to_string(columns) +
                              ": it was made by another optimizer or for another model");
      return named.matrix;
    }
    state.push_back({std::string(name), RowMatrix(rows, columns)});
    return state.back().matrix;
  }

  /// Returns the input vectors of the words: copies, or from a temporary model without further
  /// rows the matrix itself. Throws InvalidArgument for a model without words.
  Embeddings embeddings() const& {
    require_words("has no embeddings");
    return Embeddings(vocabulary.words(), input.copy(std::min(vocabulary.size(), input.rows())));
  }
  Embeddings embeddings() && {
    if (input.rows() != vocabulary.size()) return std::as_const(*this).embeddings();
    require_words("has no embeddings");
    return Embeddings(vocabulary.words(), std::move(input));
  }

  /// Adds the words of `more` (gensim: build_vocab with update). The new vocabulary is the union
  /// by falling count, counts of words in both are added; a minimum count is up to the caller, who
  /// counts `more` with it. Known words keep their rows of every matrix bit for bit, in new places,
  /// new words start as in a new model, from streams of random numbers that depend on `seed` and on
  /// the number of words before, so that no vector comes twice.
  ///
  /// Further input rows stay behind the words. Output rows are, for V words, V words, V - 1 inner
  /// nodes of a Huffman tree, or 2V - 1 of both (word w in row 2w, inner node k in row 2k + 1).
  /// Nodes are zero afterwards: they have no meaning in another tree. State matrices "input.NAME"
  /// and "output.NAME" of as many rows are moved likewise, with zeros for new rows; others stay.
  ///
  /// Takes the memory of a second model until it returns. Throws std::bad_alloc, and
  /// InvalidArgument for a model without words or of other numbers of rows and for counts that
  /// exceed 64 bits; the model is then unchanged.
  void extend(const Vocabulary& more, std::uint64_t seed = 1) {
    require_words("cannot be extended");
    const detail::VocabularyUnion all(vocabulary, more);
    if (all.words().fingerprint() == vocabulary.fingerprint()) return;
    const auto inputs = all.input(input.rows()), outputs = all.output(output.rows());
    RowMatrix new_input = detail::gather_rows(input, inputs);
    RowMatrix new_output = detail::gather_rows(output, outputs);
    detail::draw_rows(new_input, inputs, seed, init_stream - vocabulary.size());
    std::vector<NamedMatrix> new_state;
    for (const auto& [name, matrix] : state) {
      const bool of_input = name.starts_with("input.") && matrix.rows() == input.rows();
      const bool of_output = name.starts_with("output.") && matrix.rows() == output.rows();
      new_state.push_back({name, of_input    ? detail::gather_rows(matrix, inputs)
                                 : of_output ? detail::gather_rows(matrix, outputs)
                                             : matrix.copy()});
    }
    vocabulary = all.words();
    input = std::move(new_input);
    output = std::move(new_output);
    state = std::move(new_state);
  }

  /// Writes the model as one file, whole or not at all (SectionWriter, "wordloom model 1"): words
  /// as a text with a newline after each, their counts, the number of matrices, the matrices.
  /// Throws IoError, and InvalidArgument when two matrices have the same name.
  void save(const std::filesystem::path& path) const {
    if (const auto name = duplicate_name())
      throw InvalidArgument("cannot save a model with two matrices '" + std::string(*name) + "'");
    detail::SectionWriter file(path, format);
    std::string words;
    for (WordId id = 0; id < vocabulary.size(); ++id)
      words.append(vocabulary.word(id)).append(1, '\n');
    file.text(words);
    file.numbers(vocabulary.counts());
    const std::uint64_t count = 2 + state.size();
    file.numbers({&count, 1});
    for (const auto& [name, matrix] : matrices()) file.matrix(name, *matrix);
    file.commit();
  }

  /// Reads a file that `save` has written. Throws IoError, FormatError with the byte for a file
  /// that is cut short, damaged or no model, and std::bad_alloc.
  static Model load(const std::filesystem::path& path) {
    detail::SectionReader file(path, format);
    Model model;
    model.vocabulary = read_vocabulary(file);
    const auto counts = file.numbers();
    if (counts.size() != 1 || counts[0] < 2)
      file.refuse_section("the number of matrices", "another section");
    for (std::uint64_t i = 0; i < counts[0]; ++i) {
      NamedMatrix named = file.matrix();
      if (i >= 2) {
        model.state.push_back(std::move(named));
        continue;
      }
      const std::string expected = i == 0 ? "input" : "output";
      if (named.name != expected)
        file.refuse_section("the matrix '" + expected + "'", detail::shown(named.name));
      if (i == 0 && named.matrix.rows() < model.vocabulary.size())
        file.refuse_section("an input row for each word", shape_of(named.matrix));
      if (i == 1 && named.matrix.columns() != model.dimension())
        file.refuse_section("an output of " + std::to_string(model.dimension()) + " columns",
                            shape_of(named.matrix));
      (i == 0 ? model.input : model.output) = std::move(named.matrix);
    }
    if (const auto name = model.duplicate_name())
      file.refuse_section("each matrix once", detail::shown(*name) + " twice");
    file.end();
    return model;
  }

 private:
  static constexpr detail::SectionFormat format{"wordloom model", 1};
  // An "epoch" that no training reaches, so that these streams are never drawn from again. The
  // streams of `extend` are as many before it as there were words.
  static constexpr std::uint64_t init_stream = ~std::uint64_t{0};

  Model() = default;

  template <class Matrix, class Self>
  static std::vector<MatrixRef<Matrix>> list(Self& model) {
    std::vector<MatrixRef<Matrix>> all{{"input", &model.input}, {"output", &model.output}};
    for (auto& named : model.state) all.push_back({named.name, &named.matrix});
    return all;
  }

  static std::string shape_of(const RowMatrix& matrix) {
    return std::to_string(matrix.rows()) + " x " + std::to_string(matrix.columns());
  }

  /// Returns a name that two matrices have.
  std::optional<std::string_view> duplicate_name() const {
    std::vector<std::string_view> names;
    for (const auto& [name, matrix] : matrices()) names.push_back(name);
    std::sort(names.begin(), names.end());
    const auto found = std::adjacent_find(names.begin(), names.end());
    if (found == names.end()) return std::nullopt;
    return *found;
  }

  void require_words(const char* what) const {
    if (vocabulary.empty()) throw InvalidArgument(std::string("a model without words ") + what);
  }

  static Vocabulary read_vocabulary(detail::SectionReader& file) {
    std::string_view text = file.text();
    const auto counts = file.numbers();
    std::vector<std::pair<std::string, std::uint64_t>> words;
    words.reserve(counts.size());
    for (const std::uint64_t count : counts) {
      const std::size_t end = text.find('\n');
      if (end == std::string_view::npos) break;
      words.emplace_back(text.substr(0, end), count);
      text.remove_prefix(end + 1);
    }
    if (words.size() != counts.size() || !text.empty())
      file.refuse_section("a count for each word", std::to_string(counts.size()) + " counts");
    if (words.empty()) return {};
    const auto vocabulary = [&] {
      try {
        return Vocabulary::from_counts(words);
      } catch (const Error& error) {
        file.refuse_section("a vocabulary", error.what());
      }
    }();
    for (std::size_t i = 0; i < words.size(); ++i)
      if (vocabulary.word(static_cast<WordId>(i)) != words[i].first)
        file.refuse_section("words by falling count", detail::shown(words[i].first));
    return vocabulary;
  }
};

}  // namespace wordloom
