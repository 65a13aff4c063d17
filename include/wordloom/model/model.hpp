#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/section_file.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/corpus/subwords.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/model/composed_vectors.hpp>
#include <wordloom/model/embeddings.hpp>
#include <wordloom/model/row_sources.hpp>

namespace wordloom::inline WORDLOOM_ABI {

/// The sizes of a model of V words.
struct ModelShape {
  std::size_t dimension;
  std::size_t input_rows = 0;   // at least V; 0: V, and those of subwords
  std::size_t output_rows = 0;  // 0: V
  bool one_matrix = false;      // both sides are `input`; output_rows is then 0 or input_rows
  std::optional<SubwordOptions> subwords = {};  // input_rows is then 0, or V and their rows
};

/// The trainable whole: a vocabulary of V words and a list of named row matrices, of which the
/// first two are `input` [R_in x D] and `output` [R_out x D]. During training all threads read and
/// write rows without locks (Hogwild, Recht et al. 2011); otherwise a model is an ordinary value.
///
/// A model of one matrix (ModelShape::one_matrix) scores rows of `input` against each other, as
/// first-order LINE does: `output` has the rows of `input` in the same memory and is not listed,
/// saved or sent. Code that moves the rows of `input` must call tie_output() afterwards.
struct Model {
  Vocabulary vocabulary;           // word w has row w of `input`; empty: a model without words
  RowMatrix input;                 // rows [0, V): words; [V, R_in): others, such as n-gram buckets
  RowMatrix output;                // words, inner nodes of a Huffman tree, or both
  std::vector<NamedMatrix> state;  // of an optimizer, "input.NAME" or "output.NAME" each
  /// Where there are some, the vector of a word is the mean of its bag (SubwordTable): its own row
  /// of `input` and those of its n-grams, which stand behind the words.
  std::optional<SubwordOptions> subwords;

  /// Initializes a model as word2vec does, input uniform in [-0.5/D, 0.5/D) and output zero, with
  /// one row for each word. The same for any number of threads. Throws std::bad_alloc when the
  /// model does not fit into memory.
  Model(Vocabulary words, std::size_t dimension, std::uint64_t seed = 1)
      : Model(std::move(words), ModelShape{.dimension = dimension}, seed) {}

  /// The same with a shape of its own. Also throws InvalidArgument when a word has no input row,
  /// when one matrix is to have two row counts, and when the options of subwords are out of bounds
  /// or the input does not have their rows.
  Model(Vocabulary words, const ModelShape& shape, std::uint64_t seed = 1);

  /// Initializes a model without words, for kernels alone: trainers refuse it.
  Model(std::size_t rows, std::size_t dimension, std::uint64_t seed = 1)
      : Model(Vocabulary(), ModelShape{dimension, rows, rows}, seed) {}

  std::size_t rows() const noexcept { return input.rows(); }
  std::size_t dimension() const noexcept { return input.columns(); }

  /// Whether both sides are one matrix.
  bool has_one_matrix() const noexcept { return output.is_borrowed(); }
  /// Makes `output` the rows of `input`, where they are now.
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

  /// Puts back what `copy_of_matrices` returned, in place of all matrices. Throws InvalidArgument
  /// unless the first are an input and, if there are two sides, an output of the present shapes.
  void set_matrices(std::vector<NamedMatrix> copies);

  /// Returns the state matrix `name` [rows x columns], columns = 0: D, and adds it, made of zeros,
  /// when there is none. The reference is valid until another one is added. Throws InvalidArgument
  /// when it exists and has another shape.
  RowMatrix& state_matrix(std::string_view name, std::size_t rows, std::size_t columns = 0);

  /// Returns the input vectors of the words: copies, or from a temporary model without further
  /// rows the matrix itself; the means of their bags where there are subwords (SubwordEmbeddings
  /// has vectors of other words too). Throws InvalidArgument for a model without words.
  [[nodiscard]] Embeddings embeddings() const&;
  [[nodiscard]] Embeddings embeddings() &&;

  /// Starts words from known vectors (fastText: -pretrainedVectors): each word of both gets the
  /// vector as its own input row. Returns how many. Throws InvalidArgument for vectors of another
  /// dimension.
  std::size_t set_vectors(const Embeddings& known);

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
  void extend(const Vocabulary& more, std::uint64_t seed = 1);

  /// Writes the model as one file, whole or not at all (SectionWriter, "wordloom model 1"): words
  /// as a text with a newline after each, their counts, the number of matrices (and a 1 where both
  /// sides are one; or a 0 and minn, maxn and buckets of subwords), the matrices. Throws IoError,
  /// and InvalidArgument for two of the same name.
  void save(const std::filesystem::path& path) const;

  /// Whether `text` begins as a file that `save` has written.
  [[nodiscard]] static bool is_in(std::string_view text) noexcept {
    return text.starts_with(format);
  }

  /// Reads a file that `save` has written. Throws IoError, FormatError with the byte for a file
  /// that is cut short, damaged or no model, and std::bad_alloc.
  [[nodiscard]] static Model load(const std::filesystem::path& path);

 private:
  static constexpr std::string_view format = "wordloom model 1";
  // An "epoch" that no training reaches, so that these streams are never drawn from again. The
  // streams of `extend` are as many before it as there were words.
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

  static std::size_t input_rows_of(const ModelShape& shape, std::size_t words) {
    if (shape.input_rows != 0) return shape.input_rows;
    return words + (shape.subwords ? shape.subwords->rows() : 0);
  }
  static std::size_t output_rows_of(const ModelShape& shape, std::size_t words) {
    return shape.one_matrix ? 0 : shape.output_rows == 0 ? words : shape.output_rows;
  }
  std::size_t side_count() const noexcept { return has_one_matrix() ? 1 : 2; }
  void set_sides(RowMatrix new_input, RowMatrix new_output) noexcept {
    input = std::move(new_input);
    output = has_one_matrix() ? input.borrow() : std::move(new_output);
  }

  static std::string shape_of(std::size_t rows, std::size_t columns) {
    return std::to_string(rows) + " x " + std::to_string(columns);
  }

  /// Returns a name that two matrices have.
  std::optional<std::string_view> duplicate_name() const {
    WordList names;
    for (const auto& [name, matrix] : matrices())
      if (!names.append(name)) return name;
    return std::nullopt;
  }

  void require_words(const char* what) const {
    if (vocabulary.empty()) throw InvalidArgument(std::string("a model without words ") + what);
  }

  static Vocabulary read_vocabulary(detail::SectionReader& file);
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION Model::Model(Vocabulary words, const ModelShape& shape, std::uint64_t seed)
    : vocabulary(std::move(words)),
      input(input_rows_of(shape, vocabulary.size()), shape.dimension),
      output(output_rows_of(shape, vocabulary.size()), shape.dimension),
      subwords(shape.subwords) {
  if (input.rows() < vocabulary.size())
    throw InvalidArgument("input_rows is " + std::to_string(input.rows()) +
                          ", expected at least one row for each of " +
                          std::to_string(vocabulary.size()) + " words");
  if (shape.one_matrix && shape.output_rows != 0 && shape.output_rows != input.rows())
    throw InvalidArgument("output_rows is " + std::to_string(shape.output_rows) +
                          ", the one matrix has " + std::to_string(input.rows()));
  if (shape.one_matrix) tie_output();
  if (subwords) require_subword_rows();
  detail::draw_rows(input, {}, seed, init_stream);
}

WORDLOOM_FUNCTION void Model::set_matrices(std::vector<NamedMatrix> copies) {
  const auto described = [](std::string_view name, const RowMatrix& matrix) {
    return "'" + std::string(name) + "' of " + shape_of(matrix.rows(), matrix.columns());
  };
  const auto present = matrices();
  const std::size_t sides = side_count();
  for (std::size_t i = 0; i < sides; ++i) {
    const auto expected = described(present[i].name, *present[i].matrix);
    const auto got = i < copies.size() ? described(copies[i].name, copies[i].matrix) : "none";
    if (got != expected) throw InvalidArgument("expected matrix " + expected + ", got " + got);
  }
  if (sides == 1 && copies.size() > 1 && copies[1].name == "output")
    throw InvalidArgument("expected one matrix for both sides, got 'input' and 'output'");
  set_sides(std::move(copies[0].matrix), sides == 2 ? std::move(copies[1].matrix) : RowMatrix());
  copies.erase(copies.begin(), copies.begin() + static_cast<std::ptrdiff_t>(sides));
  state = std::move(copies);
}

WORDLOOM_FUNCTION RowMatrix& Model::state_matrix(std::string_view name, std::size_t rows,
                                                 std::size_t columns) {
  if (columns == 0) columns = dimension();
  for (NamedMatrix& known : state) {
    if (known.name != name) continue;
    if (known.matrix.rows() == rows && known.matrix.columns() == columns) return known.matrix;
    throw InvalidArgument("state matrix '" + known.name + "' is of " +
                          shape_of(known.matrix.rows(), known.matrix.columns()) + ", expected " +
                          shape_of(rows, columns) +
                          ": it was made by another optimizer or for another model");
  }
  state.push_back({std::string(name), RowMatrix(rows, columns)});
  return state.back().matrix;
}

WORDLOOM_FUNCTION Embeddings Model::embeddings() const& {
  require_words("has no embeddings");
  if (subwords)
    return Embeddings(vocabulary.words(),
                      detail::composed_vectors(vocabulary.words(), input, *subwords));
  return Embeddings(vocabulary.words(), input.copy(std::min(vocabulary.size(), input.rows())));
}

WORDLOOM_FUNCTION Embeddings Model::embeddings() && {
  if (subwords) output = {};  // makes room for the means
  if (input.rows() != vocabulary.size()) return std::as_const(*this).embeddings();
  require_words("has no embeddings");
  if (has_one_matrix()) output = {};  // would outlive its rows
  return Embeddings(vocabulary.words(), std::move(input));
}

WORDLOOM_FUNCTION std::size_t Model::set_vectors(const Embeddings& known) {
  if (known.dimension() != dimension())
    throw InvalidArgument("the known vectors have dimension " + std::to_string(known.dimension()) +
                          ", the model " + std::to_string(dimension()));
  std::size_t found = 0;
  for (WordId id = 0; id < vocabulary.size(); ++id)
    if (const auto row = known.words().find(vocabulary.word(id))) {
      std::ranges::copy(known.vector(*row), input.row_data(id));
      ++found;
    }
  return found;
}

WORDLOOM_FUNCTION void Model::extend(const Vocabulary& more, std::uint64_t seed) {
  require_words("cannot be extended");
  const detail::VocabularyUnion all(vocabulary, more);
  if (all.words.fingerprint() == vocabulary.fingerprint()) return;
  const auto inputs = all.input(input.rows());
  const auto outputs = has_one_matrix() ? inputs : all.output(output.rows());
  RowMatrix new_input = detail::gather_rows(input, inputs);
  RowMatrix new_output = has_one_matrix() ? RowMatrix() : detail::gather_rows(output, outputs);
  detail::draw_rows(new_input, inputs, seed, init_stream - vocabulary.size());
  std::vector<NamedMatrix> new_state;
  for (const auto& [name, matrix] : state) {
    const bool of_input = name.starts_with("input.") && matrix.rows() == input.rows();
    const bool of_output = name.starts_with("output.") && matrix.rows() == output.rows();
    new_state.push_back({name, of_input    ? detail::gather_rows(matrix, inputs)
                               : of_output ? detail::gather_rows(matrix, outputs)
                                           : matrix.copy()});
  }
  vocabulary = all.words;
  set_sides(std::move(new_input), std::move(new_output));
  state = std::move(new_state);
}

WORDLOOM_FUNCTION void Model::save(const std::filesystem::path& path) const {
  if (const auto name = duplicate_name())
    throw InvalidArgument("cannot save a model with two matrices '" + std::string(*name) + "'");
  detail::SectionWriter file(path, format);
  std::string words;
  for (WordId id = 0; id < vocabulary.size(); ++id)
    words.append(vocabulary.word(id)).append(1, '\n');
  file.text(words);
  file.numbers(vocabulary.counts());
  std::vector<std::uint64_t> count{side_count() + state.size()};
  if (has_one_matrix() || subwords) count.push_back(has_one_matrix() ? 1 : 0);
  if (subwords) count.insert(count.end(), {subwords->minn, subwords->maxn, subwords->buckets});
  file.numbers(count);
  for (const auto& [name, matrix] : matrices()) file.matrix(name, *matrix);
  file.commit();
}

WORDLOOM_FUNCTION Model Model::load(const std::filesystem::path& path) {
  detail::SectionReader file(path, format);
  Model model;
  model.vocabulary = read_vocabulary(file);
  const auto counts = file.numbers();
  const bool one_matrix = counts.size() == 2 && counts[1] == 1;
  const bool has_subwords = counts.size() == 5 && counts[1] == 0;
  const std::size_t sides = one_matrix ? 1 : 2;
  if ((!one_matrix && !has_subwords && counts.size() != 1) || counts[0] < sides)
    file.refuse_section("the number of matrices", "another section");
  if (has_subwords) {
    model.subwords = {counts[2], counts[3], counts[4]};
    try {
      detail::validate(*model.subwords);
    } catch (const InvalidArgument& error) {
      file.refuse_section("options of subwords", error.what());
    }
  }
  const auto matrix = [&](const std::string& name) {
    NamedMatrix named = file.matrix();
    if (named.name != name)
      file.refuse_section("the matrix '" + name + "'", detail::shown(named.name));
    return std::move(named.matrix);
  };
  RowMatrix &input = model.input, &output = model.output;
  input = matrix("input");
  if (input.rows() < model.vocabulary.size())
    file.refuse_section("an input row for each word", shape_of(input.rows(), input.columns()));
  if (has_subwords && input.rows() != model.vocabulary.size() + model.subwords->rows())
    file.refuse_section("an input row for each word and bucket",
                        shape_of(input.rows(), input.columns()));
  output = one_matrix ? input.borrow() : matrix("output");
  if (output.columns() != input.columns())
    file.refuse_section("an output of " + std::to_string(input.columns()) + " columns",
                        shape_of(output.rows(), output.columns()));
  for (std::uint64_t i = sides; i < counts[0]; ++i) model.state.push_back(file.matrix());
  if (const auto name = model.duplicate_name())
    file.refuse_section("each matrix once", detail::shown(*name) + " twice");
  file.end();
  return model;
}

WORDLOOM_FUNCTION void Model::require_subword_rows() const {
  detail::validate(*subwords);
  if (input.rows() != vocabulary.size() + subwords->rows() || has_one_matrix())
    throw InvalidArgument("a model with subwords needs two matrices and an input of " +
                          std::to_string(vocabulary.size()) + " words and " +
                          std::to_string(subwords->rows()) + " buckets, got " +
                          std::to_string(input.rows()) + " rows");
}

WORDLOOM_FUNCTION Vocabulary Model::read_vocabulary(detail::SectionReader& file) {
  const std::string_view text = file.text();
  const auto counts = file.numbers();
  std::vector<std::pair<std::string, std::uint64_t>> words;
  for_each_line(text, [&](std::string_view word, std::uint64_t line) {
    words.emplace_back(word, line <= counts.size() ? counts[line - 1] : 0);
  });
  if (words.size() != counts.size() || (!text.empty() && text.back() != '\n'))
    file.refuse_section("a count for each word", std::to_string(counts.size()) + " counts");
  Vocabulary vocabulary;
  if (words.empty()) return vocabulary;
  try {
    vocabulary = Vocabulary::from_counts(words);
  } catch (const Error& error) {
    file.refuse_section("a vocabulary", error.what());
  }
  for (std::size_t i = 0; i < words.size(); ++i)
    if (vocabulary.word(static_cast<WordId>(i)) != words[i].first)
      file.refuse_section("words by falling count", detail::shown(words[i].first));
  return vocabulary;
}

#endif

}  // namespace wordloom::inline WORDLOOM_ABI
